"""SHAP beside ASV where the background cannot condition on the sets that SHAP asks for."""

import numpy as np
import pandas as pd
import pytest

from shap_asv import GaussianModel, StructuralModel, compare
from shap_asv.errors import MethodNotApplicableError

EDGES = [("a", "b")]


def linear_pair():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    return pd.DataFrame({"a": a, "b": 0.8 * a + 0.6 * rng.normal(size=400)})


def model(X):
    return 2.0 * np.asarray(X["b"], dtype=float)


@pytest.fixture(scope="module")
def structural():
    return StructuralModel.fit(linear_pair(), EDGES, "linear", seed=0, silent=True)


def test_shap_by_a_background_that_conditions_on_any_set(structural):
    """By hand: E[2b | a] = 1.6 a, so ASV gives a 1.6 a and SHAP half of it; b the rest."""
    X = pd.DataFrame({"a": [1.5, -1.0], "b": [0.5, 1.0]})
    result = compare(model, structural, X, seed=0, silent=True)
    np.testing.assert_allclose(result.asv.values[:, 0], [2.4, -1.6], atol=0.35)
    np.testing.assert_allclose(result.shap.values[:, 0], [1.2, -0.8], atol=0.35)
    for explanation in (result.asv, result.shap):
        np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), model(X), atol=1e-9)
    assert "structural model" in result.backgrounds["ASV"]
    assert "structural model" not in result.backgrounds["SHAP"]
    assert f"SHAP over: {result.backgrounds['SHAP']}" in repr(result)


def test_the_same_background_where_it_can():
    background = GaussianModel([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], ["a", "b"])
    result = compare(model, background, pd.DataFrame({"a": [1.0], "b": [0.0]}), EDGES, seed=0)
    assert result.backgrounds["SHAP"] == result.backgrounds["ASV"]
    assert "over:" not in repr(result)


def test_the_symmetric_explainer_says_that_it_cannot(structural):
    from shap_asv import AsymmetricExplainer

    explainer = AsymmetricExplainer(model, structural, feature_names=["a", "b"], seed=0)
    with pytest.raises(MethodNotApplicableError, match="a background that can condition on any set"):
        explainer.symmetric()(linear_pair().iloc[:1])
