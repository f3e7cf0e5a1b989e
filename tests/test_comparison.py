"""Comparison: both explanations are what the explainers give, tables are in causal order, others can join."""

import numpy as np
import pytest
import shap

from shap_asv import AsymmetricExplainer, Comparison, compare
from shap_asv.errors import ExplanationError, ShapAsvWarning, UnknownMethodError
from tests.explainer.conftest import asia, asia_score  # noqa: F401


@pytest.fixture(scope="module")
def result(asia_score):  # noqa: F811
    network, score, X = asia_score
    return compare(score, network, X[:30], feature_names=list(X.columns))


def test_both_sides_are_the_explainers_own(result, asia_score):  # noqa: F811
    network, score, X = asia_score
    explainer = AsymmetricExplainer(score, network, feature_names=list(X.columns))
    np.testing.assert_array_equal(result.asv.values, explainer(X[:30]).values)
    np.testing.assert_array_equal(result.shap.values, explainer.symmetric()(X[:30]).values)
    np.testing.assert_allclose(result.difference, result.asv.values - result.shap.values)
    assert np.abs(result.difference).max() > 0.01


def test_frame_lists_causes_first(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["SHAP", "ASV", "ASV - SHAP"]
    names = list(frame.index)
    for cause, effect in result.order.edges:
        assert names.index(cause) < names.index(effect)
    position = result.asv.feature_names.index("smoke")
    assert np.isclose(frame.loc["smoke", "ASV"], np.abs(result.asv.values[:, position]).mean())
    one = result.to_frame(row=3)
    assert one.loc["smoke", "value"] == result.asv.display_data[3, position]
    assert np.isclose(one["ASV"].sum(), result.asv.values[3].sum())


def test_further_explanations_are_aligned_by_name(result):
    reversed_ = result.asv[:, list(range(7))[::-1]]
    joined = result.add("mine", reversed_)
    np.testing.assert_array_equal(joined.explanations["mine"].values, result.asv.values)
    assert "mine" in joined.to_frame().columns
    with pytest.raises(ExplanationError, match="already"):
        joined.add("mine", reversed_)
    with pytest.raises(ExplanationError, match="shape"):
        result.add("short", result.asv[:5])
    with pytest.raises(ExplanationError, match="no feature"):
        result.add("other", shap.Explanation(np.zeros((30, 1)), np.zeros(30), feature_names=["nothing"]))


def test_outputs_are_picked_by_name(asia):  # noqa: F811
    network, model, X = asia
    result = compare(model, network, X[:10])
    assert result.to_frame().shape == (7, 3)
    one = result.output("yes")
    np.testing.assert_array_equal(one.asv.values, result.asv.values[..., 1])
    with pytest.raises(UnknownMethodError, match="pick one"):
        result.to_frame(row=0)
    with pytest.raises(UnknownMethodError, match="no output 'maybe'"):
        result.output("maybe")
    with pytest.raises(UnknownMethodError, match="one output"):
        one.output(0)


def test_arguments_of_the_call_are_passed_on(asia):  # noqa: F811
    network, model, X = asia
    whole = compare(model, network, X[:5])
    one = compare(model, network, X[:5], outputs="yes")
    np.testing.assert_array_equal(one.asv.values, whole.output("yes").asv.values)


def test_what_a_comparison_needs(result):
    with pytest.raises(ExplanationError, match="no explanation called 'ASV'; it has SHAP"):
        _ = Comparison({"SHAP": result.shap}).asv
    with pytest.raises(ExplanationError, match="at least one"):
        Comparison({})
    with pytest.raises(ExplanationError, match="has no feature_names"):
        result.add("bare", shap.Explanation(np.zeros((30, 7)), np.zeros(30)))


def test_another_output_is_not_compared_in_silence(asia):  # noqa: F811
    network, model, X = asia
    both = compare(model, network, X[:10])
    with pytest.warns(ShapAsvWarning, match="adds up to"):
        both.output("yes").add("other class", both.asv[..., 0])
    with pytest.raises(ExplanationError, match=r"must be a shap\.Explanation, not a ndarray"):
        both.add("array", np.zeros(3))
