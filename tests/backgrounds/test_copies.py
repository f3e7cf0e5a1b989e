"""Copies of a row are held out together: fits that are compared on held-out rows must not have seen them."""

import numpy as np
import pandas as pd
import pytest

from shap_asv import AsymmetricExplainer, StructuralModel
from shap_asv.backgrounds.choice.choosing import CANDIDATES, choose_background
from shap_asv.backgrounds.structural import model as structural_model
from shap_asv.backgrounds.tables.copies import error_of_mean, kept_together, originals


def noise_table(n=80, seed=0):
    """x says nothing of the number y, nor of the category k."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n), "k": rng.choice(["p", "q"], n)})


def test_labels_and_values_make_copies():
    table = pd.DataFrame({"x": [1.0, 1.0, 2.0]}, index=[7, 7, 7])
    assert originals(table, table.to_numpy()).tolist() == [0, 0, 1]
    assert originals(table.reset_index(drop=True), table.to_numpy()) is None
    differing = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[7, 7, 7])
    assert originals(differing, differing.to_numpy()) is None


def test_arrays_have_copies_where_a_column_tells_rows_apart():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, 100), rng.normal(size=100)])
    places = rng.integers(0, 100, 100)
    found = originals(rows[places], rows[places])
    assert np.array_equal(np.equal.outer(found, found), np.equal.outer(places, places))
    assert originals(rows, rows) is None
    few = rng.integers(0, 3, (100, 4)).astype(float)
    assert originals(few[places], few[places]) is None
    rows[1, 1] = rows[0, 1]  # two rows that differ share a number
    rows[0, 0], rows[1, 0] = 0, 1
    assert originals(rows, rows) is None


def test_folds_hold_rows_with_all_their_copies():
    rng = np.random.default_rng(0)
    copies = rng.integers(0, 60, 100)
    folds = kept_together(copies, 100, 5, rng)
    assert all(len(set(folds[copies == k])) <= 1 for k in range(60))
    sizes = np.bincount([folds[copies == k][0] for k in np.unique(copies)])
    assert len(sizes) == 5
    assert np.ptp(sizes) <= 1
    assert set(kept_together(np.zeros(6, dtype=int), 6, 5, rng)) == set(range(5))  # a single row: there is no other way


def test_copies_are_not_further_rows():
    values = np.random.default_rng(0).normal(size=50)
    copies = np.repeat(np.arange(50), 3)
    assert error_of_mean(np.repeat(values, 3), copies) == pytest.approx(error_of_mean(values, None), rel=1e-12)


def test_noise_stays_noise_when_its_rows_are_repeated():
    table = noise_table()
    again = table.iloc[np.repeat(np.arange(len(table)), 3)]
    graph = [("x", "y"), ("x", "k")]

    def described(data):
        model = StructuralModel.fit(data, graph, seed=0, silent=True)
        return {name: mechanism.describe() for name, mechanism in zip(model.nodes, model.mechanisms, strict=True)}

    simple = described(again)
    assert simple["y"].startswith(("empirical", "linear + residuals"))
    assert simple["k"] == "frequencies"
    # rows that do not say what they are copies of: each is predicted by its own copies, and what bends most is best
    fooled = described(again.reset_index(drop=True))
    assert not fooled["y"].startswith(("empirical", "linear"))
    assert fooled["k"] == "forest"


def test_backgrounds_are_compared_on_rows_that_they_have_no_copies_of():
    rng = np.random.default_rng(0)
    table = noise_table(100)[["x", "y"]]
    again = table.iloc[rng.integers(0, 100, 100)]
    seen = []

    def fit(data, seed, earlier=None):
        seen.append(data.index)
        return CANDIDATES["gaussian"][0](data, seed)

    coalitions, weights = np.array([[True, False], [False, True]]), np.ones(2)
    candidates = {"watched": (fit, True), **CANDIDATES}
    choose_background(again, lambda X: X["x"] + X["y"], coalitions, weights, candidates=candidates)
    kept, counts = np.unique(seen[0], return_counts=True)
    assert 50 <= counts.sum() <= 70
    assert np.array_equal(counts, again.index.value_counts()[kept])


@pytest.mark.parametrize("form", ["frame", "array"])
def test_the_bootstrap_says_which_rows_are_copies(form, monkeypatch):
    found = []
    monkeypatch.setattr(
        structural_model, "originals", lambda data, rows: found.append(originals(data, rows)) or found[-1]
    )
    table = noise_table(40)[["x", "y"]]
    data, graph = (table, [("x", "y")]) if form == "frame" else (table.to_numpy(), [(0, 1)])
    explainer = AsymmetricExplainer(
        lambda X: np.asarray(X, dtype=float).sum(axis=1), data, graph, values="conditional", seed=0, silent=True
    )
    explainer.bootstrap(data[:1], n=2, silent=True)
    assert found[0] is None
    assert [15 < one.max() + 1 < 35 for one in found[1:]] == [True, True]


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_and_tuples_of_rows_are_not_tables_with_labels(kind):
    rows = np.arange(12.0).reshape(4, 3)
    assert originals(kind(rows.tolist()), rows) is None
    twice = rows[[0, 1, 1, 3]]
    assert originals(kind(twice.tolist()), twice).tolist() == originals(twice, twice).tolist()
