"""Errors that include the fit: they cover what other tables would have given, where errors of draws do not."""

import io

import numpy as np
import pandas as pd
import pytest

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel
from shap_asv.errors import ArgumentError, MethodNotApplicableError, TableError
from shap_asv.explainer import fitting
from shap_asv.explainer.worth import resampled

X = pd.DataFrame({"a": [1.5], "b": [0.0]})


def table(seed, n=60):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": 0.5 * a + rng.normal(size=n)})


def model(rows):
    return 2.0 * np.asarray(rows["b"], dtype=float)


def explainer_of(data, seed=0):
    return AsymmetricExplainer(model, data, [("a", "b")], values="conditional", seed=seed, silent=True)


@pytest.fixture(scope="module")
def result():
    return explainer_of(table(0)).bootstrap(X, n=12, silent=True)


def test_errors_are_those_of_other_tables(result):
    """By hand: with 60 rows the slope of b on a has error 1 / sqrt(60), and nu(a) = 2 slope 1.5 + 2 mean(b)."""
    expected = 2 * np.sqrt(1.5**2 / 60 + 1 / 60)
    found = result.standard_error[0, 0]
    assert 0.9 * expected < found < 2.0 * expected
    assert result.monte_carlo_error[0, 0] < 0.3 * found
    assert result.standard_error.shape == result.explanation.values.shape


@pytest.mark.parametrize("form", ["frame", "array"])
def test_the_choice_is_taken_over_unless_it_is_to_be_made_anew(form, monkeypatch):
    """Levels: what the whole table has settled, background and mechanisms, is fitted to each resample."""
    data = table(0, 200)
    data["a"] = data["a"].abs()
    rows, order = (data, [["a"], ["b"]]) if form == "frame" else (data.to_numpy(), [["Feature 0"], ["Feature 1"]])
    explainer = AsymmetricExplainer(
        lambda rows: np.asarray(rows, dtype=float)[:, 1] ** 2,
        rows,
        CausalOrder.from_levels(order),
        values="conditional",
        seed=0,
        silent=True,
    )
    chosen, fitted = [], []
    choose, fit = fitting.choose_background, fitting._fit
    monkeypatch.setattr(fitting, "choose_background", lambda *a, **k: chosen.append(1) or choose(*a, **k))
    monkeypatch.setattr(fitting, "_fit", lambda *a: fitted.append(fit(*a)) or fitted[-1])
    explainer.bootstrap(rows[:1], n=2, silent=True)
    assert not chosen
    assert [masker.describe() for masker, _ in fitted] == [explainer.masker.describe()] * 2
    explainer.bootstrap(rows[:1], n=2, choose=True, silent=True)
    assert len(chosen) == 2
    with pytest.raises(ArgumentError, match="neither True nor False"):
        explainer.bootstrap(rows[:1], n=2, choose="auto", silent=True)


def test_a_table_is_needed():
    ready = AsymmetricExplainer(model, GaussianModel([0, 0], [[1.0, 0.5], [0.5, 1.25]], ["a", "b"]), [("a", "b")])
    with pytest.raises(MethodNotApplicableError, match="data="):
        ready.bootstrap(X)
    explainer, stream = explainer_of(table(0, 40)), io.BytesIO()
    explainer.save(stream)
    stream.seek(0)
    loaded = AsymmetricExplainer.load(stream)
    with pytest.raises(MethodNotApplicableError, match="loaded from a file"):
        loaded.bootstrap(X)
    again = loaded.bootstrap(X, n=2, data=table(0, 40), silent=True)
    assert (again.replicas == explainer.bootstrap(X, n=2, silent=True).replicas).all()
    with pytest.raises(ArgumentError, match="at least 2"):
        explainer.bootstrap(X, n=1)


def test_labels_and_gaps_are_not_lost():
    data = pd.DataFrame({"x": np.arange(30.0), "town": ["Ulm"] * 28 + ["Bonn"] * 2})
    numbers = data[["x"]].assign(y=[np.nan] * 2 + [1.0] * 28)
    for seed in range(20):
        assert set(resampled(data, np.random.default_rng(seed))["town"]) == {"Ulm", "Bonn"}
        assert resampled(numbers, np.random.default_rng(seed))["y"].isna().any()
        assert np.isnan(resampled(numbers.to_numpy(), np.random.default_rng(seed))).any()
    every = pd.DataFrame({"x": np.arange(40.0), "name": [f"n{k}" for k in range(40)]})
    with pytest.raises(TableError, match="'name' has labels or gaps so rare"):
        resampled(every, np.random.default_rng(0))
