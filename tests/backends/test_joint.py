"""Noises and orders drawn together: draws as rows need them, honest errors, bits that do not know of other rows."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, CopulaModel, GaussianModel, StructuralModel
from shap_asv.backends.joint import Block, Stage
from shap_asv.errors import ModelError
from shap_asv.explainer import blocks

NAMES = ["a", "b", "c", "d"]
LEVELS = CausalOrder.from_levels([["a"], ["b", "c"], ["d"]])
DAG = [("a", "b"), ("a", "c"), ("b", "d")]


def table(n_rows=200):
    rng = np.random.default_rng(1)
    a, noise = rng.normal(size=n_rows), rng.normal(size=(3, n_rows))
    b = 0.8 * a + noise[0]
    return pd.DataFrame({"a": a, "b": b, "c": np.round(a + noise[1]), "d": np.exp((b + noise[2]) / 3)})


def jumps(X):
    x = np.asarray(X, dtype=float)
    return 2.0 * (x[:, 0] + x[:, 1] > 0.5) + x[:, 2] * np.abs(x[:, 3])


def backgrounds():
    rows = table()
    return {
        "Gaussian": (GaussianModel.fit(rows), LEVELS),
        "copula": (CopulaModel(rows), None),
        "donors": (ConditionalTable(rows, n_trees=2), LEVELS),
        "mechanisms": (StructuralModel.fit(rows, DAG, seed=0, silent=True), None),
    }


@pytest.mark.parametrize("kind", backgrounds())
def test_bits_do_not_know_of_other_rows_nor_of_jobs(kind):
    background, graph = backgrounds()[kind]
    rows = table()
    X = pd.concat([rows[:70], rows[:3]])  # three rows twice
    options = {"causal_graph": graph, "feature_names": NAMES, "seed": 3, "algorithm": "monte_carlo"}
    whole = AsymmetricExplainer(jumps, background, **options)(X, silent=True)
    in_jobs = AsymmetricExplainer(jumps, background, n_jobs=2, **options)(X, silent=True)
    alone = AsymmetricExplainer(jumps, background, **options)
    for name in ("values", "base_values", "error_std"):
        found = getattr(whole, name)
        np.testing.assert_array_equal(getattr(in_jobs, name), found)
        np.testing.assert_array_equal(found[70:], found[:3])
        for row in (0, 41, 69):
            np.testing.assert_array_equal(getattr(alone(X[row : row + 1], silent=True), name)[0], found[row])
    total = whole.base_values + whole.values.sum(axis=1)
    np.testing.assert_allclose(total, jumps(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["donors", "mechanisms"])
def test_threads_share_what_is_ready_and_give_the_same_bits(kind, monkeypatch):
    """Models of libraries let other threads run; functions of the user are called in processes, as above."""
    background, graph = backgrounds()[kind]
    rows = table()
    model = HistGradientBoostingRegressor(max_iter=10).fit(rows, jumps(rows))
    options = {"causal_graph": graph, "feature_names": NAMES, "seed": 3, "algorithm": "monte_carlo", "n_draws": 64}
    alone = AsymmetricExplainer(model, background, **options)(rows, silent=True)
    monkeypatch.setattr(blocks, "pack", lambda attributor: pytest.fail("nothing has to travel to another process"))
    together = AsymmetricExplainer(model, backgrounds()[kind][0], n_jobs=2, **options)(rows, silent=True)
    np.testing.assert_array_equal(together.values, alone.values)
    np.testing.assert_array_equal(together.error_std, alone.error_std)


@pytest.mark.parametrize("n_draws", [64, 512, None])
def test_an_event_that_all_sets_meet_equally_often_has_an_error(n_draws):
    """One jump in one number: P = 0.2516 is off by 0.0015 where each Sobol set has a quarter of its points below."""
    from scipy.special import ndtri

    edge = float(ndtri(0.2516))
    explainer = AsymmetricExplainer(
        lambda X: (np.asarray(X)[:, 0] < edge) * 1.0,
        GaussianModel([0.0, 0.0], np.eye(2), ["a", "b"]),
        seed=0,
        n_draws=n_draws,
        feature_names=["a", "b"],
    )
    found = explainer(np.array([[-2.0, 0.0]]), silent=True)
    off = abs(found.values[0, 0] - (1 - 0.2516))
    assert 0 < off <= 1.96 * found.error_std[0, 0]


def test_rows_get_the_draws_that_they_need_and_the_plan_says_what_was_reached():
    rows = table()
    explainer = AsymmetricExplainer(
        lambda X: np.where(np.asarray(X)[:, 0] > 1, 50.0, 1.0) * np.asarray(X)[:, 3],
        GaussianModel.fit(rows),
        LEVELS,
        feature_names=NAMES,
        seed=0,
    )
    explainer(rows[:50], silent=True)
    assert "each row" in str(explainer.plan(50))
    said = str(explainer.plan())
    assert re.search(r"64 to [\d,]+ \(mean [\d,]+\) draws of noise", said)
    assert re.search(r"mean standard error \d\.\d% of the model's deviation", said)


@pytest.mark.parametrize("kind", ["Gaussian", "mechanisms"])
def test_nan_for_a_draw_is_an_error_that_shows_the_draw(kind):
    background, graph = backgrounds()[kind]

    def fails(X):
        return np.where(np.asarray(X)[:, 1] > 2.0, np.nan, 1.0)

    X = table().query("b < 2")[:5]
    explainer = AsymmetricExplainer(fails, background, graph, feature_names=NAMES, seed=0)
    with pytest.raises(ModelError, match=r"returned nan .* for the row number \d+, .*[23]\.\d+.* rows that are drawn"):
        explainer(X, silent=True)


@pytest.mark.parametrize(("n_coalitions", "n_noises"), [(3, 40), (40, 3)])
def test_products_of_coalitions_and_noises_hold_every_pair_once(n_coalitions, n_noises):
    rng = np.random.default_rng(0)
    noises = [np.arange(n_noises)]  # all meet the empty coalition, one the full one
    noises += [np.flatnonzero(rng.random(n_noises) < 0.6) for _ in range(n_coalitions - 2)]
    noises.append(np.array([1]))
    coalitions = np.tri(n_coalitions, n_coalitions - 1, -1, dtype=bool)
    stage = Stage(rng.random((n_noises, 2)), coalitions, noises, None)
    pairs = [(c, noise) for c, own in enumerate(noises) for noise in own]
    met = []
    for block in stage.blocks(most=7):
        assert len(block.pairs) == len(block.coalitions) * len(block.noises) <= 7
        assert len(block.coalitions) == 1 or not coalitions[block.coalitions].all(axis=1).any()
        product = [(c, noise) for c in block.coalitions for noise in block.noises]
        assert product == [pairs[pair] for pair in block.pairs]
        met += block.pairs.tolist()
    assert sorted(met) == list(range(len(pairs)))


def test_orders_of_many_features_ask_for_draws_by_noise(monkeypatch):
    """Coalitions of many orders meet a noise or two each: they are drawn together, to the same bits."""
    names = [f"x{k}" for k in range(12)]
    model = StructuralModel(
        [(f"x{k}", f"x{k + 4}") for k in range(8)],
        {
            name: (lambda causes, u: np.arctanh(2 * u - 1) + sum(np.sin(one) for one in causes.values()))
            for name in names
        },
    )
    rows = model.sample(5, seed=2)
    order = CausalOrder.from_levels([names[:4], names[4:8], names[8:]])

    def explain():
        explainer = AsymmetricExplainer(
            lambda X: np.abs(np.asarray(X)).sum(axis=1), model, order, feature_names=names, seed=0, n_draws=16
        )
        return explainer(rows[names], silent=True).values

    together = explain()
    monkeypatch.setattr(
        Stage,
        "blocks",
        lambda self, most: (
            Block(np.array([c]), noises[k : k + 1], np.array([sum(map(len, self.noises[:c])) + k]))
            for c, noises in enumerate(self.noises)
            for k in range(len(noises))
        ),
    )
    np.testing.assert_array_equal(explain(), together)
