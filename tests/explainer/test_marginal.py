"""Matrix backgrounds: without a causal graph the numbers are shap.ExactExplainer's, an oracle we did not write."""

import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.linear_model import LogisticRegression

from shap_asv import AsymmetricExplainer


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int) + (X[:, 3] > 1)
    return X, y


def one_output(X):
    X = np.asarray(X)
    return 1 / (1 + np.exp(-(X[:, 0] * X[:, 1] + X[:, 2] - 0.5 * X[:, 3])))


def two_outputs(X):
    p = one_output(X)
    return np.stack([p, 0.8 * p**2 + 0.1], axis=1)


@pytest.mark.parametrize("model", [one_output, two_outputs])
@pytest.mark.parametrize("link", [shap.links.identity, shap.links.logit])
@pytest.mark.parametrize("linearize", [True, False])
@pytest.mark.parametrize("as_frame", [False, True])
def test_equals_exact_explainer(data, model, link, linearize, as_frame):
    X, _ = data
    background, rows = X[:20], X[20:26]
    if as_frame:
        names = ["a", "b", "c", "d"]
        background, rows = pd.DataFrame(background, columns=names), pd.DataFrame(rows, columns=names)
    theirs = shap.ExactExplainer(model, shap.maskers.Independent(background), link=link, linearize_link=linearize)(rows)
    ours = AsymmetricExplainer(model, background, link=link, linearize_link=linearize)(rows)
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, rtol=0, atol=1e-9)
    assert ours.feature_names == list(theirs.feature_names)


def test_classifier_and_masker_object(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    masker = shap.maskers.Independent(X[:15])
    theirs = shap.ExactExplainer(model.predict_proba, masker)(X[:4])
    ours = AsymmetricExplainer(model, masker)(X[:4])
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-9)
    assert ours.output_names == ["0", "1", "2"]


def test_any_callable_masker(data):
    X, _ = data

    def zeros(mask, x):
        return (x * mask).reshape(1, len(x))

    ours = AsymmetricExplainer(one_output, zeros, feature_names=list("abcd"))(X[:3])
    theirs = shap.ExactExplainer(one_output, np.zeros((1, 4)))(X[:3])
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-9)


def test_causal_graph_over_a_matrix(data):
    """A chain over a matrix background telescopes along its one order."""
    X, _ = data
    background, row = X[:10], X[30]
    explainer = AsymmetricExplainer(one_output, background, [(2, 0), (0, 3), (3, 1)], values="marginal")
    nu, known = [one_output(background).mean()], np.zeros(4, dtype=bool)
    for feature in (2, 0, 3, 1):
        known[feature] = True
        nu.append(one_output(np.where(known, row, background)).mean())
    expected = np.empty(4)
    expected[[2, 0, 3, 1]] = np.diff(nu)
    np.testing.assert_allclose(explainer(row).values[0], expected, rtol=0, atol=1e-12)


def test_single_background_row_with_a_logit_link_is_finite(data):
    X, _ = data
    values = AsymmetricExplainer(one_output, X[:1], link=shap.links.logit)(X[5:6]).values
    assert np.isfinite(values).all()
    assert np.isclose(values.sum(), shap.links.logit(one_output(X[5:6]))[0] - shap.links.logit(one_output(X[:1]))[0])


def test_columns_of_a_dataframe_win_over_feature_names(data):
    X, _ = data
    names = ["a", "b", "c", "d"]
    background, rows = pd.DataFrame(X[:20], columns=names), pd.DataFrame(X[20:23], columns=names)
    plain = AsymmetricExplainer(one_output, background)(rows)
    named = AsymmetricExplainer(one_output, background, feature_names=names[::-1])(rows)
    assert named.feature_names == names
    np.testing.assert_array_equal(named.values, plain.values)
