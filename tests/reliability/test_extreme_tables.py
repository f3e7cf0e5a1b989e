"""Tables, trees and mixtures at the edge: weights over 300 orders of magnitude, covariances that are nearly singular,
hundreds of features in levels, trees of depth 30, one background row, constant columns, ten thousand states."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, CopulaModel, GaussianModel, GraphMixture
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
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


@pytest.mark.parametrize("gap", [1e-6, 1e-10, 1e-13, 2e-14])
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


# --- columns that are constant ---------------------------------------------------------------------------------------


def with_constant(n=120, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": 0.7 * a + rng.normal(size=n), "flat": np.full(n, 3.25)})


def plus_flat(X):
    return np.abs(np.asarray(X["a"])) + 2.0 * np.asarray(X["b"]) + 10.0 * np.asarray(X["flat"])


@pytest.mark.parametrize("background", ["Gaussian", "copula", "donors", "DAG", "levels", "rows"])
@pytest.mark.filterwarnings("ignore::shap_asv.errors.ShapAsvWarning")  # that the column is constant
def test_a_constant_column_gets_nothing(background):
    """It tells nothing and is told nothing: exactly 0, though the model uses it, and the rest adds up."""
    data, order = with_constant(), CausalOrder.from_levels([["flat", "a"], ["b"]])
    options = {"seed": 0, "n_draws": 64, "silent": True}
    made = {
        "Gaussian": lambda: AsymmetricExplainer(plus_flat, GaussianModel.fit(data), order, **options),
        "copula": lambda: AsymmetricExplainer(plus_flat, CopulaModel(data), order, **options),
        "donors": lambda: AsymmetricExplainer(plus_flat, ConditionalTable(data), order, **options),
        "DAG": lambda: AsymmetricExplainer(
            plus_flat, data, [("a", "b"), ("flat", "b")], values="conditional", **options
        ),
        "levels": lambda: AsymmetricExplainer(plus_flat, data, order, values="conditional", **options),
        "rows": lambda: AsymmetricExplainer(plus_flat, data, order, values="marginal", **options),
    }
    rows = data.iloc[[3, 50]]
    found = made[background]()(rows, silent=True)
    np.testing.assert_allclose(found.values[:, list(data.columns).index("flat")], 0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), plus_flat(rows), rtol=0, atol=1e-9)


def test_one_background_row_of_a_table():
    """What a coalition lacks comes from that row, so that orders alone decide: by hand."""
    ground = pd.DataFrame({"a": [1.0], "b": [2.0]})
    row = pd.DataFrame({"a": [3.0], "b": [-1.0]})

    def product(X):
        return np.asarray(X["a"]) * np.asarray(X["b"])

    found = AsymmetricExplainer(product, ground, [("a", "b")], values="marginal")(row)
    np.testing.assert_allclose(found.values[0], [3.0 * 2.0 - 2.0, -3.0 - 6.0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.base_values, [2.0], rtol=0, atol=1e-12)


# --- ten thousand states ---------------------------------------------------------------------------------------------


def test_a_category_with_ten_thousand_states_of_a_network():
    """town -> rich, and a third feature: E[f | town], E[f | town, rich] as plain sums."""
    rng = np.random.default_rng(0)
    n = 10_000
    p_town = rng.dirichlet(np.ones(n))
    p_rich = rng.uniform(size=n)
    network = DiscreteNetwork(
        ("town", "rich"), (tuple(range(n)), (0, 1)), ((), (0,)), (p_town, np.stack([1 - p_rich, p_rich]))
    )

    def model(X):
        x = np.asarray(X, dtype=float)
        return np.sin(x[:, 0]) + 2.0 * x[:, 1] * (x[:, 0] % 3)

    everything = np.array([[town, rich] for town in range(n) for rich in (0, 1)], dtype=float)
    outputs = model(everything).reshape(n, 2)
    given_town = (1 - p_rich) * outputs[:, 0] + p_rich * outputs[:, 1]
    base = p_town @ given_town
    rows = pd.DataFrame({"town": [0, 777, n - 1], "rich": [1, 0, 1]})
    found = AsymmetricExplainer(model, network, feature_names=["town", "rich"])(rows, silent=True)
    towns = rows["town"].to_numpy()
    expected = np.stack([given_town[towns] - base, outputs[towns, rows["rich"]] - given_town[towns]], axis=1)
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.base_values, base, rtol=0, atol=1e-9)


def test_a_category_with_ten_thousand_labels_of_a_table():
    """Fitted along a DAG: every label is known afterwards, and the values add up."""
    rng = np.random.default_rng(1)
    labels = np.array([f"t{k}" for k in range(10_000)])
    place = np.concatenate([np.arange(10_000), rng.integers(0, 10_000, 2000)])
    data = pd.DataFrame({"town": labels[place], "height": 0.001 * place + rng.normal(size=len(place))})

    def model(X):
        return np.asarray(X["height"], dtype=float) ** 2 + X["town"].astype(str).str.len().to_numpy()

    explainer = AsymmetricExplainer(
        model, data, [("town", "height")], values="conditional", seed=0, n_draws=64, silent=True
    )
    rows = data.iloc[[0, 5000, 9999]]
    found = explainer(rows, silent=True)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model(rows), rtol=0, atol=1e-6)
