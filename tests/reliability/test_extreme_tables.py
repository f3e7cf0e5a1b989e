"""Tables, trees and mixtures at the edge: weights over 300 orders of magnitude, covariances that are nearly singular,
hundreds of features in levels, trees of depth 30, one background row."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel, GraphMixture
from tests.oracles import tree_games, tree_readers

PAIR = GaussianModel([0.0, 0.0], [[1.0, 0.5], [0.5, 2.0]], ["a", "b"])
FORTH, BACK = (CausalOrder.from_edges([edge], features=["a", "b"]) for edge in (("a", "b"), ("b", "a")))
ROW = pd.DataFrame({"a": [1.0], "b": [-2.0]})


def line(slopes, names):
    """A fitted linear model with these slopes."""
    X = pd.DataFrame(np.vstack([np.zeros(len(names)), np.eye(len(names))]), columns=names)
    return LinearRegression().fit(X, X.to_numpy() @ slopes)


@pytest.mark.parametrize(
    ("weights", "share"),
    [
        ([1e-300, 1.0], 0.0),
        ([1e300, 1e-5], 1.0),
        ([5e-324, 5e-324], 0.5),
        ([1e308, 1e308], 0.5),
        ([3e-300, 1e-300], 0.75),
    ],
)
def test_weights_of_graphs_over_300_orders_of_magnitude(weights, share):
    model = line([1.0, 3.0], ["a", "b"])
    one, other = (AsymmetricExplainer(model, PAIR, order)(ROW).values for order in (FORTH, BACK))
    assert not np.allclose(one, other)
    found = AsymmetricExplainer(model, PAIR, GraphMixture([FORTH, BACK], weights))(ROW).values
    np.testing.assert_allclose(found, share * one + (1 - share) * other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gap", [1e-6, 1e-10, 1e-13])
def test_a_covariance_that_is_nearly_singular(gap):
    """Correlation 1 - gap, condition number 2 / gap: E[b | a] = (1 - gap) a in closed form."""
    near = 1 - gap
    background = GaussianModel([0.0, 0.0], [[1.0, near], [near, 1.0]], ["a", "b"])
    row = pd.DataFrame({"a": [1.5], "b": [1.5 + np.sqrt(gap)]})
    found = AsymmetricExplainer(line([2.0, 5.0], ["a", "b"]), background, [("a", "b")])(row)
    given_a = 2.0 * 1.5 + 5.0 * near * 1.5
    np.testing.assert_allclose(found.values[0], [given_a, 5.0 * (row["b"][0] - near * 1.5)], rtol=0, atol=1e-9)


def test_five_hundred_features_in_levels():
    """Features that no split names get exactly nothing, and the values add up to the model."""
    rng = np.random.default_rng(0)
    names = [f"f{k}" for k in range(500)]
    X = pd.DataFrame(rng.normal(size=(300, 500)), columns=names)
    y = X["f3"] * X["f450"] + X["f120"] - np.abs(X["f260"])
    model = DecisionTreeRegressor(max_depth=8, random_state=0).fit(X, y)
    levels = CausalOrder.from_levels([names[k : k + 100] for k in range(0, 500, 100)])
    found = AsymmetricExplainer(model, causal_graph=levels)(X[:20])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(X[:20]), rtol=0, atol=1e-9)
    used = set(model.tree_.feature[model.tree_.feature >= 0].tolist())
    unused = [k for k in range(500) if k not in used]
    assert len(unused) > 300
    assert (found.values[:, unused] == 0).all()


@pytest.mark.parametrize("n_background", [None, 1, 5])
def test_a_tree_of_depth_thirty(n_background):
    """Each split cuts one row off; all orders, and the tree walked by hand."""
    values = np.zeros((31, 4))
    for k in range(31):
        values[k:, k % 4] += 1.0  # the features take turns
    y = 3.0 ** np.arange(30, -1, -1)
    names = list("abcd")
    model = DecisionTreeRegressor(random_state=0).fit(pd.DataFrame(values, columns=names), y)
    assert model.get_depth() == 30
    tree = tree_readers.from_scikit_learn(model)
    ground = None if n_background is None else values[3 : 3 + n_background]
    orders = tree_games.topological_orders(4, [(0, 1), (2, 3)])
    masker = None if ground is None else pd.DataFrame(ground, columns=names)
    options = {} if ground is None else {"values": "marginal"}
    explainer = AsymmetricExplainer(model, masker, [("a", "b"), ("c", "d")], **options)
    rows = values[[0, 12, 30]] + 0.25
    found = explainer(pd.DataFrame(rows, columns=names))
    for row, phi in zip(rows, found.values, strict=True):
        expected = tree_games.brute_force([tree], row, orders, background=ground)
        np.testing.assert_allclose(phi, expected[:, 0], rtol=1e-9, atol=1e-12 * y.max())
