"""shap's interface: shapes, inputs of every kind, outputs, links, saving, pickling, progress."""

import io

import numpy as np
import pandas as pd
import pytest
import shap

from shap_asv import AsymmetricExplainer, CausalOrder


def test_explanation_has_the_shape_that_plots_need(explainer, asia):
    _, model, X = asia
    explanation = explainer(X[:7])
    assert type(explanation) is shap.Explanation
    assert isinstance(explainer, shap.Explainer)
    assert explanation.values.shape == (7, 7, 2)
    assert explanation.values.dtype == np.float64
    assert explanation.base_values.shape == (7, 2)
    assert explanation.data.dtype == np.float64
    assert explanation.display_data.dtype == object
    assert explanation.display_data.tolist() == X[:7].to_numpy().tolist()
    assert explanation.feature_names == list(X.columns)
    assert explanation.output_names == [str(c) for c in model.classes_]
    assert isinstance(explanation.compute_time, float)
    assert explanation.error_std is None
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X[:7]), atol=1e-9)


def test_data_go_from_low_to_high(explainer, asia):
    network, _, X = asia
    explanation = explainer(X[:5])
    for v, name in enumerate(explanation.feature_names):
        assert network.get_cpds(name).state_names[name] == ["yes", "no"]  # yes would be 0, and blue
        assert [["no", "yes"][int(c)] for c in explanation.data[:, v]] == list(explanation.display_data[:, v])


def test_single_output_has_no_output_axis(score_explainer, asia):
    _, _, X = asia
    explanation = score_explainer(X[:3])
    assert explanation.values.shape == (3, 7)
    assert explanation.base_values.shape == (3,)
    assert explanation.output_names is None
    assert isinstance(score_explainer.expected_value, float)
    assert np.isclose(score_explainer.expected_value, explanation.base_values[0])


def test_shap_values_shapes(explainer, score_explainer, asia):
    _, _, X = asia
    assert explainer.shap_values(X[:3]).shape == (3, 7, 2)
    assert explainer.shap_values(X.iloc[0]).shape == (7, 2)
    assert score_explainer.shap_values(X[:3]).shape == (3, 7)
    assert score_explainer.shap_values(X.iloc[0].tolist()).shape == (7,)


@pytest.mark.parametrize(
    ("outputs", "picked", "shape"),
    [
        (1, [1], (4, 7)),
        ("yes", None, (4, 7)),
        ([1], [1], (4, 7, 1)),
        ([1, 0], [1, 0], (4, 7, 2)),
        (slice(0, 1), [0], (4, 7, 1)),
    ],
)
def test_outputs(explainer, asia, outputs, picked, shape):
    _, model, X = asia
    whole, part = explainer(X[:4]), explainer(X[:4], outputs=outputs)
    picked = picked or [[str(c) for c in model.classes_].index("yes")]
    assert part.values.shape == shape
    np.testing.assert_array_equal(part.values.reshape(4, 7, -1), whole.values[..., picked])
    np.testing.assert_array_equal(part.base_values.reshape(4, -1), whole.base_values[:, picked])


def test_link_is_applied_to_the_expectation(asia):
    network, model, X = asia

    def calibrated(table):
        return 0.05 + 0.9 * model.predict_proba(table)[:, 1]

    plain = AsymmetricExplainer(calibrated, network, feature_names=list(X.columns))
    linked = AsymmetricExplainer(calibrated, network, feature_names=list(X.columns), link=shap.links.logit)
    explanation = linked(X[:5])
    total = explanation.base_values + explanation.values.sum(axis=1)
    logit = np.log(calibrated(X[:5]) / (1 - calibrated(X[:5])))
    np.testing.assert_allclose(total, logit, atol=1e-9)
    assert np.isclose(explanation.base_values[0], np.log(plain.expected_value / (1 - plain.expected_value)))


def test_global_generator_is_left_alone(asia):
    network, model, X = asia
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.RandomState(0).random(3)
    AsymmetricExplainer(model, network, algorithm="sampling", n_orders=20, seed=1)(X[:2])
    np.testing.assert_array_equal(np.random.random(3), expected)  # noqa: NPY002


def test_exact_error_bounds_are_zero(explainer, asia):
    _, _, X = asia
    explanation = explainer(X[:2], error_bounds=True)
    assert explanation.error_std.shape == explanation.values.shape
    assert not explanation.error_std.any()


def test_feature_names_come_from_columns_when_nothing_else_tells(asia):
    network, _, X = asia
    explainer = AsymmetricExplainer(lambda table: (pd.DataFrame(table)["smoke"] == "yes").astype(float), network)
    explanation = explainer(X[:3])
    assert explanation.feature_names == list(X.columns)


@pytest.mark.parametrize("through", [AsymmetricExplainer, shap.Explainer])
def test_save_and_load(asia, through):
    network, model, X = asia
    graph = CausalOrder.from_edges([("smoke", "lung"), ("lung", "xray")], features=list(X.columns))
    original = AsymmetricExplainer(model, network, graph, algorithm="sampling", n_orders=64)
    stream = io.BytesIO()
    original.save(stream)
    stream.seek(0)
    loaded = through.load(stream)
    assert type(loaded) is AsymmetricExplainer
    np.testing.assert_array_equal(loaded(X[:4]).values, original(X[:4]).values)
