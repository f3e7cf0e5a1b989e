"""Tables, trees and mixtures at the edge, a row of ``EXTREMES_OF_TABLES`` each: weights of graphs over 300 orders of
magnitude, covariances that are nearly singular, hundreds of features in levels, trees of depth 30, one background row,
constant columns, ten thousand states.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, CopulaModel, GaussianModel, GraphMixture
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import ShapAsvWarning
from tests.oracles import tree_games, tree_readers
from tests.reliability.gaps import Extreme, Gaps, gaps_of


def line(slopes: Any, names: list[str]) -> LinearRegression:
    """A fitted linear model with these slopes."""
    X = pd.DataFrame(np.vstack([np.zeros(len(names)), np.eye(len(names))]), columns=names)
    return LinearRegression().fit(X, X.to_numpy() @ slopes)


# --- weights, covariances, levels ---------------------------------------------------------------------------------


def weights_of_graphs(weights: list[float], share: float) -> Gaps:
    """Two graphs: the first counts ``share``, whatever the size of the numbers."""
    background = GaussianModel([0.0, 0.0], [[1.0, 0.5], [0.5, 2.0]], ["a", "b"])
    forth, back = (CausalOrder.from_edges([edge], features=["a", "b"]) for edge in (("a", "b"), ("b", "a")))
    row, model = pd.DataFrame({"a": [1.0], "b": [-2.0]}), line([1.0, 3.0], ["a", "b"])
    one, other = (AsymmetricExplainer(model, background, order)(row).values for order in (forth, back))
    assert not np.allclose(one, other)
    found = AsymmetricExplainer(model, background, GraphMixture([forth, back], weights))(row)
    return gaps_of(found, model.predict(row), share * one + (1 - share) * other)


def nearly_singular(gap: float) -> Gaps:
    """Correlation 1 - gap, condition number 2 / gap: E[b | a] = (1 - gap) a in closed form."""
    near = 1 - gap
    background = GaussianModel([0.0, 0.0], [[1.0, near], [near, 1.0]], ["a", "b"])
    row, model = pd.DataFrame({"a": [1.5], "b": [1.5 + np.sqrt(gap)]}), line([2.0, 5.0], ["a", "b"])
    found = AsymmetricExplainer(model, background, [("a", "b")])(row)
    expected = [2.0 * 1.5 + 5.0 * near * 1.5, 5.0 * (row["b"][0] - near * 1.5)]
    return gaps_of(found, model.predict(row), np.array([expected]))


def trees_in_levels() -> Gaps:
    """500 features in five levels: those that no split names get exactly nothing."""
    rng = np.random.default_rng(0)
    names = [f"f{k}" for k in range(500)]
    X = pd.DataFrame(rng.normal(size=(300, 500)), columns=names)
    y = X["f3"] * X["f450"] + X["f120"] - np.abs(X["f260"])
    model = DecisionTreeRegressor(max_depth=8, random_state=0).fit(X, y)
    levels = CausalOrder.from_levels([names[k : k + 100] for k in range(0, 500, 100)])
    found = AsymmetricExplainer(model, causal_graph=levels, feature_perturbation="tree_path_dependent")(
        X[:20], silent=True
    )
    used = set(model.tree_.feature[model.tree_.feature >= 0].tolist())
    unused = [k for k in range(500) if k not in used]
    assert len(unused) > 300
    assert (found.values[:, unused] == 0).all()
    return gaps_of(found, model.predict(X[:20]))


def walk_in_levels(n: int = 500) -> Gaps:
    """A random walk of 500 steps, two to a level, and a linear model: means are those of a bridge, by hand.

    Given all earlier steps and the second of a level alone, its first is halfway between its neighbours; whatever is
    later has the mean of the last step that is known.
    """
    names = [f"f{k:03d}" for k in range(n)]
    place = np.arange(1.0, n + 1)
    background = GaussianModel(np.zeros(n), np.minimum.outer(place, place), names)
    levels = CausalOrder.from_levels([names[k : k + 2] for k in range(0, n, 2)])
    rng = np.random.default_rng(0)
    slopes, rows = rng.normal(size=n), rng.normal(size=(2, n)).cumsum(axis=1)
    X, model = pd.DataFrame(rows, columns=names), line(slopes, names)
    expected = np.empty_like(rows)
    for r, row in enumerate(rows):
        for a in range(0, n, 2):
            b, before = a + 1, row[a - 1] if a else 0.0
            from_a, from_b = slopes[a:].sum(), slopes[b:].sum()
            nothing, both = before * from_a, slopes[a] * row[a] + from_b * row[b]
            first, second = row[a] * from_a, slopes[a] * (before + row[b]) / 2 + from_b * row[b]
            expected[r, a] = ((first - nothing) + (both - second)) / 2
            expected[r, b] = ((second - nothing) + (both - first)) / 2
    found = AsymmetricExplainer(model, background, levels)(X, silent=True)
    assert found.error_std is None
    return gaps_of(found, model.predict(X), expected)


# --- deep trees, few rows -----------------------------------------------------------------------------------------


def depth_thirty(n_background: int | None) -> Gaps:
    """Each split cuts one row off, and outputs reach from 1 to 3^30; all orders, and the tree walked by hand."""
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
    options = {"feature_perturbation": "tree_path_dependent"} if ground is None else {"values": "marginal"}
    explainer = AsymmetricExplainer(model, masker, [("a", "b"), ("c", "d")], **options)
    X = pd.DataFrame(values[[0, 12, 30]] + 0.25, columns=names)
    found = explainer(X, silent=True)
    expected = np.stack([tree_games.brute_force([tree], row, orders, background=ground)[:, 0] for row in X.to_numpy()])
    np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-12 * y.max())
    return gaps_of(found, model.predict(X), expected)


def one_background_row() -> Gaps:
    """What a coalition lacks comes from that row, so that orders alone decide: by hand."""
    ground, row = pd.DataFrame({"a": [1.0], "b": [2.0]}), pd.DataFrame({"a": [3.0], "b": [-1.0]})

    def product(X: pd.DataFrame) -> np.ndarray:
        return np.asarray(X["a"]) * np.asarray(X["b"])

    found = AsymmetricExplainer(product, ground, [("a", "b")], values="marginal")(row, silent=True)
    np.testing.assert_allclose(found.base_values, [2.0], rtol=0, atol=1e-12)
    return gaps_of(found, product(row), np.array([[3.0 * 2.0 - 2.0, -3.0 - 6.0]]))


# --- columns that are constant ------------------------------------------------------------------------------------


def with_constant(n: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": 0.7 * a + rng.normal(size=n), "flat": np.full(n, 3.25)})


def plus_flat(X: pd.DataFrame) -> np.ndarray:
    return np.abs(np.asarray(X["a"])) + 2.0 * np.asarray(X["b"]) + 10.0 * np.asarray(X["flat"])


DATA = with_constant()
ORDER = CausalOrder.from_levels([["flat", "a"], ["b"]])
#: What a table with a constant column is handed over as, and what is known of causes.
WITH_CONSTANT: dict[str, Callable[[], tuple[Any, Any, str]]] = {
    "Gaussian": lambda: (GaussianModel.fit(DATA), ORDER, "auto"),
    "copula": lambda: (CopulaModel(DATA), ORDER, "auto"),
    "donors": lambda: (ConditionalTable(DATA), ORDER, "auto"),
    "DAG": lambda: (DATA, [("a", "b"), ("flat", "b")], "conditional"),
    "levels": lambda: (DATA, ORDER, "conditional"),
    "rows": lambda: (DATA, ORDER, "marginal"),
}


def constant_column(background: str) -> Gaps:
    """It tells nothing and is told nothing: 0, though the model uses it. The other values have no oracle here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShapAsvWarning)  # that the column is constant
        given, causes, meaning = WITH_CONSTANT[background]()
        options = {"values": meaning, "seed": 0, "n_draws": 64, "silent": True}
        rows = DATA.iloc[[3, 50]]
        found = AsymmetricExplainer(plus_flat, given, causes, **options)(rows, silent=True)
    flat = found.values[:, list(DATA.columns).index("flat")]
    outputs = plus_flat(rows)
    return Gaps(gaps_of(found, outputs).efficiency, float(np.abs(flat).max() / np.abs(outputs).max()))


# --- ten thousand states ------------------------------------------------------------------------------------------


def states_of_a_network(n: int = 10_000) -> Gaps:
    """town -> rich: E[f | town], E[f | town, rich] as plain sums."""
    rng = np.random.default_rng(0)
    p_town, p_rich = rng.dirichlet(np.ones(n)), rng.uniform(size=n)
    tables = (p_town, np.stack([1 - p_rich, p_rich]))
    network = DiscreteNetwork(("town", "rich"), (tuple(range(n)), (0, 1)), ((), (0,)), tables)

    def model(X: Any) -> np.ndarray:
        x = np.asarray(X, dtype=float)
        return np.sin(x[:, 0]) + 2.0 * x[:, 1] * (x[:, 0] % 3)

    outputs = model(np.array([[town, rich] for town in range(n) for rich in (0, 1)], dtype=float)).reshape(n, 2)
    given_town = (1 - p_rich) * outputs[:, 0] + p_rich * outputs[:, 1]
    base = p_town @ given_town
    rows = pd.DataFrame({"town": [0, 777, n - 1], "rich": [1, 0, 1]})
    found = AsymmetricExplainer(model, network, feature_names=["town", "rich"])(rows, silent=True)
    towns = rows["town"].to_numpy()
    expected = np.stack([given_town[towns] - base, outputs[towns, rows["rich"]] - given_town[towns]], axis=1)
    np.testing.assert_allclose(found.base_values, base, rtol=0, atol=1e-9)
    return gaps_of(found, outputs[towns, rows["rich"]], expected)


def labels_of_a_table(n: int = 10_000) -> Gaps:
    """Fitted along a DAG: every label is known afterwards, and the values add up."""
    rng = np.random.default_rng(1)
    labels = np.array([f"t{k}" for k in range(n)])
    place = np.concatenate([np.arange(n), rng.integers(0, n, n // 5)])
    data = pd.DataFrame({"town": labels[place], "height": 0.001 * place + rng.normal(size=len(place))})

    def model(X: pd.DataFrame) -> np.ndarray:
        return np.asarray(X["height"], dtype=float) ** 2 + X["town"].astype(str).str.len().to_numpy()

    options = {"values": "conditional", "seed": 0, "n_draws": 64, "silent": True}
    explainer = AsymmetricExplainer(model, data, [("town", "height")], **options)
    rows = data.iloc[[0, n // 2, n - 1]]
    return gaps_of(explainer(rows, silent=True), model(rows))


EXTREMES_OF_TABLES = (
    *(
        Extreme(f"weights of graphs {one:g} and {two:g}", 1e-13, partial(weights_of_graphs, [one, two], share))
        for one, two, share in (
            (1e-300, 1.0, 0.0),
            (1e300, 1e-5, 1.0),
            (5e-324, 5e-324, 0.5),
            (1e308, 1e308, 0.5),
            (3e-300, 1e-300, 0.75),
        )
    ),
    *(
        Extreme(f"covariance of condition {2 / gap:.0e}", 1e-10, partial(nearly_singular, gap))
        for gap in (1e-6, 1e-10, 1e-13, 2e-14)
    ),
    Extreme("500 features in 5 levels: a tree with cover counts", 1e-10, trees_in_levels),
    Extreme("500 features in 250 levels: linear model of a Gaussian walk", 1e-10, walk_in_levels),
    Extreme("tree of depth 30, cover counts", 1e-12, partial(depth_thirty, None)),
    Extreme("tree of depth 30, one background row", 1e-12, partial(depth_thirty, 1)),
    Extreme("tree of depth 30, five background rows", 1e-12, partial(depth_thirty, 5)),
    Extreme("any model, one background row", 1e-12, one_background_row),
    *(Extreme(f"a constant column: {kind}", 1e-11, partial(constant_column, kind)) for kind in WITH_CONSTANT),
    Extreme("a category with 10,000 states: network", 1e-10, states_of_a_network),
    Extreme("a category with 10,000 labels: table with a DAG", 1e-9, labels_of_a_table),
)
