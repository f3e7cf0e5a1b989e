"""The score of a background: right above wrong, any kind of background, and the words where it cannot be had."""

import numpy as np
import pandas as pd
import pytest

from shap_asv import ConditionalTable, GaussianModel, StructuralModel, load_network, sample_rows, score_background
from shap_asv.errors import ArgumentError, MethodNotApplicableError
from tests.independent import IndependentColumns

CHAIN = [("a", "b"), ("b", "c")]


def table(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = 2 * a + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": -b + 0.5 * rng.normal(size=n)})


def model(X):
    return np.asarray(X["c"], dtype=float) + (np.asarray(X["a"], dtype=float) > 0)


@pytest.fixture(scope="module")
def scores():
    fit, held_out = table(300, 0), table(200, 1)
    backgrounds = {
        "independent": IndependentColumns(fit),
        "gaussian": GaussianModel.fit(fit),
        "structural": StructuralModel.fit(fit, CHAIN, "linear", seed=0, silent=True),
        "reversed": StructuralModel.fit(fit[::-1].assign(a=fit["a"].to_numpy()), CHAIN, "linear", seed=0, silent=True),
    }
    return score_background(backgrounds, model, held_out, CHAIN)


def test_right_above_wrong(scores):
    found = scores["score"]
    assert max(found["gaussian"], found["structural"]) < 0.8 * min(found["independent"], found["reversed"])
    assert scores.index[0] in ("gaussian", "structural")
    np.testing.assert_allclose(scores["above_best"], found - found.iloc[0], atol=1e-12)
    assert (scores[["standard_error", "above_best_error"]].iloc[1:] > 0).all(axis=None)


def test_score_is_the_variance_that_is_left():
    """By hand: M = c under a -> b -> c; nu(a) = -2a and nu(ab) = -b leave variances 1.25 and 0.25, half each."""
    truth = np.array([[1.0, 2.0, -2.0], [2.0, 5.0, -5.0], [-2.0, -5.0, 5.25]])
    right = GaussianModel(np.zeros(3), truth, list("abc"))
    score = score_background(right, lambda X: X["c"], table(4000, 3), CHAIN)
    assert score["score"].iloc[0] == pytest.approx(0.75, abs=0.06)


def test_networks_are_scored_too():
    network = load_network("cancer")
    rows = sample_rows(network, 60, seed=0)
    right = score_background(network, lambda X: 1.0 * (X["Xray"] == "positive"), rows)
    assert 0 < right["score"].iloc[0] < 1


def test_what_cannot_be_scored():
    held_out = table(30, 1)
    with pytest.raises(MethodNotApplicableError, match="not a distribution yet"):
        score_background(held_out, model, held_out, CHAIN)
    structural = StructuralModel.fit(table(50, 0), CHAIN, "linear", seed=0, silent=True)
    with pytest.raises(MethodNotApplicableError, match=r"cannot be scored.*holds the causes"):
        score_background({"structural": structural}, model, held_out, [("c", "b"), ("b", "a")])
    with pytest.raises(ArgumentError, match="no backgrounds"):
        score_background({}, model, held_out)
    with pytest.raises(ArgumentError, match="cannot be compared"):
        score_background(
            {"one": ConditionalTable(held_out), "other": ConditionalTable(held_out[["a", "c"]])}, model, held_out
        )
