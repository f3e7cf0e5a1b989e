"""Numerical extremes through the public API: ``python -m tests.reliability.extremes`` keeps what they measure.

Every measurement explains rows and returns the largest gap of efficiency, ``|base + sum of values - M(e)|``, and where
an oracle reaches that far, the largest distance of a value from it; both relative to the largest output. Nothing may be
NaN, and no warning (overflow, division) may be raised. ``EXTREMES`` states the tolerance of each.
"""

import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, CopulaModel, GaussianModel, GraphMixture
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import MethodNotApplicableError, ShapAsvWarning
from tests.oracles import brute_force, rational, tree_games, tree_readers
from tests.oracles.random_problems import random_edges, random_network
from tests.reliability.fuzz import strict_warnings
from tests.reliability.records import Figure, Record, keep

TINY = 1e-300
PLANNING = 20.0  # seconds of processor time that a plan of 1000 features may take, on a slow machine


@dataclass(frozen=True)
class Gaps:
    """Relative to the largest output: efficiency, and the distance from an oracle (None where there is none)."""

    efficiency: float
    values: float | None = None

    def worst_with(self, other: "Gaps") -> "Gaps":
        values = [gap for gap in (self.values, other.values) if gap is not None]
        return Gaps(max(self.efficiency, other.efficiency), max(values, default=None))


@dataclass(frozen=True)
class Extreme:
    """What is measured, how large the gaps may be, and whether it is quick enough for every test run."""

    name: str
    tolerance: float
    measure: Callable[[], Gaps]
    quick: bool = True


def gaps_of(explanation: Any, outputs: np.ndarray, expected: np.ndarray | None = None) -> Gaps:
    """Gaps of an explanation whose model gives ``outputs`` (r,) or (r, k); ``expected`` are its values."""
    values, base = np.asarray(explanation.values), np.asarray(explanation.base_values)
    assert np.isfinite(values).all()
    assert np.isfinite(base).all()
    scale = np.abs(outputs).max()
    efficiency = np.abs(base + values.sum(axis=1) - outputs).max() / scale
    return Gaps(float(efficiency), None if expected is None else float(np.abs(values - expected).max() / scale))


def binary_network(parents: list[tuple[int, ...]], tables: list[np.ndarray]) -> DiscreteNetwork:
    names = tuple(f"x{v}" for v in range(len(parents)))
    return DiscreteNetwork(names, tuple(tuple(range(len(t))) for t in tables), tuple(parents), tuple(tables))


def exact_backends(explainer: AsymmetricExplainer) -> list[str]:
    return [c.name for c in explainer.plan(1).candidates if c.runnable and c.backend.exact]


# --- probabilities of 0, 1 and 1e-300 -----------------------------------------------------------------------------


def tiny_network() -> DiscreteNetwork:
    """Five nodes whose tables hold 0, 1 and 1e-300; some rows are far rarer than the smallest double."""
    almost = np.array([[1 - TINY, 0.5], [TINY, 0.5]])
    parents = [(), (0,), (0,), (1,), (1, 2)]
    last = np.array([[[1.0, TINY], [0.25, 1.0]], [[0.0, 1.0], [0.75, TINY]]])
    tables = [
        np.array([1 - TINY, TINY]),
        almost,
        np.array([[1.0, 0.0], [TINY, 1.0]]),
        np.array([[1.0, 0.25], [TINY, 0.75]]),
        last,
    ]
    return binary_network(parents, tables)


def interacting(states: Any) -> Any:
    """A function of five binary states without symmetries."""
    x = np.asarray(states, dtype=float)
    return x @ np.array([1.0, -2.0, 3.0, 0.5, 4.0]) + 2.0 * x[..., 0] * x[..., 3] - 3.0 * x[..., 1] * x[..., 4]


def tiny_probabilities(kind: str, graph: str) -> Gaps:
    network = tiny_network()
    n = len(network.names)
    states = np.array(list(np.ndindex(*(2,) * n)))
    model: Any = {
        "callable": lambda: lambda X: interacting(X),
        "tree": lambda: DecisionTreeRegressor(random_state=0).fit(states, interacting(states)),
        "linear": lambda: LinearRegression().fit(states, states @ np.arange(1.0, n + 1)),
    }[kind]()
    predict = model if kind == "callable" else model.predict
    joint = rational.joint_of([2] * n, network.parents, network.tables)
    rows = np.array([row for row, chance in joint.items() if chance > 0])
    rarest = min(chance for chance in joint.values() if chance > 0)
    assert rarest <= Fraction(TINY) ** 2  # no double is that small
    edges = [(p, v) for v, parents in enumerate(network.parents) for p in parents] if graph == "own" else []
    orders = brute_force.topological_orders(n, edges)
    outputs = predict(rows)
    table = dict(zip(map(tuple, states.tolist()), predict(states), strict=True))
    expected = np.array([rational.asv(joint, table.__getitem__, tuple(row), orders) for row in rows.tolist()])
    order = None if graph == "own" else CausalOrder.from_edges([], features=network.names)
    first = AsymmetricExplainer(model, network, order, feature_names=network.names)
    worst = gaps_of(first(rows, silent=True), outputs, expected)
    for name in exact_backends(first):
        explainer = AsymmetricExplainer(model, network, order, feature_names=network.names, algorithm=name)
        try:
            explanation = explainer(rows, silent=True)
        except MethodNotApplicableError:  # an honest answer of a backend that was asked for by name
            continue
        worst = worst.worst_with(gaps_of(explanation, outputs, expected))
    sampled = AsymmetricExplainer(
        model, network, order, feature_names=network.names, algorithm="sampling", n_orders=20, seed=0
    )
    return worst.worst_with(gaps_of(sampled(rows, silent=True), outputs))


# --- graphs of 1000 nodes, and more orders than doubles can count -----------------------------------------------------


def large_network(n: int, parents: list[tuple[int, ...]], seed: int = 0) -> tuple[DiscreteNetwork, np.ndarray]:
    """Random tables on a graph, and rows drawn from it."""
    rng = np.random.default_rng(seed)
    tables = []
    for causes in parents:
        chance = rng.uniform(0.1, 0.9, size=(2,) * len(causes))
        tables.append(np.stack([1 - chance, chance]))
    rows = np.empty((3, n), dtype=int)
    for v, causes in enumerate(parents):
        rows[:, v] = rng.random(len(rows)) < tables[v][(1, *(rows[:, p] for p in causes))]
    return binary_network(parents, tables), rows


def fitted(n: int, seed: int = 0) -> RandomForestRegressor:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(400, n))
    y = X[:, : n // 2].sum(axis=1) - X[:, n // 2 :].sum(axis=1) + 3.0 * X[:, 0] * X[:, -1]
    return RandomForestRegressor(2, max_depth=4, random_state=seed).fit(X, y)


def thousand_nodes(shape: str, algorithm: str = "auto") -> Gaps:
    n = 1000
    parents: list[tuple[int, ...]] = {
        "binary tree": lambda: [()] + [((v - 1) // 2,) for v in range(1, n)],
        "chain": lambda: [()] + [(v - 1,) for v in range(1, n)],
        "star": lambda: [()] + [(0,)] * (n - 1),
        "no edges": lambda: [()] * n,
        "zigzag": lambda: [() if v % 2 == 0 else tuple(u for u in (v - 1, v + 1) if u < n) for v in range(n)],
        "diamonds": lambda: [((), (v - 1,), (v - 2,), (v - 2, v - 1))[v % 4] for v in range(n)],
    }[shape]()
    place = np.arange(n)
    if shape == "zigzag":  # causes first: the even nodes
        place = np.argsort([v % 2 for v in range(n)], kind="stable").argsort()
        parents = [tuple(int(place[p]) for p in parents[int(v)]) for v in place.argsort()]
    network, rows = large_network(n, parents)
    model = fitted(n)
    explainer = AsymmetricExplainer(
        model, network, feature_names=network.names, algorithm=algorithm, n_orders=4, seed=0
    )
    started = time.process_time()
    explainer.plan(rows)
    assert time.process_time() - started < PLANNING, "a plan may not cost more than the work"
    return gaps_of(explainer(rows, silent=True), model.predict(rows))


def linear_without_edges() -> Gaps:
    """400 independent features, a linear model: 400! orders, and the values are known, w_i (x_i - E x_i)."""
    n = 400
    network, rows = large_network(n, [()] * n)
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(900, n))
    model = LinearRegression().fit(X, X @ rng.normal(size=n))
    explainer = AsymmetricExplainer(model, network, feature_names=network.names, algorithm="exact")
    assert explainer.causal_order.count_topological_orders() == math.factorial(n)
    mean = np.array([table[1] for table in network.tables])
    return gaps_of(explainer(rows, silent=True), model.predict(rows), model.coef_ * (rows - mean))


def levels() -> Gaps:
    """110 levels of six: 6,931 ideals and 720^110 > 1e314 orders, of which each one counts the same.

    The features are independent, so that the values of a linear model are known.
    """
    n, width = 660, 6
    network, rows = large_network(n, [()] * n)
    names = network.names
    order = CausalOrder.from_levels([names[v : v + width] for v in range(0, n, width)])
    assert order.count_topological_orders() == math.factorial(width) ** (n // width) > 10**308
    model = LinearRegression().fit(np.eye(n), np.zeros(n))
    used = np.random.default_rng(2).choice(n, size=12, replace=False)
    model.coef_[used] = np.arange(1.0, 13.0)
    explainer = AsymmetricExplainer(model, network, order, feature_names=names, algorithm="ideals x linear")
    mean = np.array([table[1] for table in network.tables])
    return gaps_of(explainer(rows[:2], silent=True), model.predict(rows[:2]), model.coef_ * (rows[:2] - mean))


# --- outputs of 1e12 and 1e-12, and models in float32 ---------------------------------------------------------------


def small_problem(seed: int) -> tuple[DiscreteNetwork, np.ndarray, np.ndarray]:
    """Five nodes of two or three states: network, its joint and rows."""
    rng = np.random.default_rng(seed)
    cards, parents, tables = random_network(rng, 5, random_edges(rng, 5, "dag"), max_states=3)
    network = binary_network(parents, tables)
    joint = brute_force.joint_table(cards, parents, tables)
    rows = np.argwhere(joint > 0)
    return network, joint, rows[rng.integers(len(rows), size=4)]


def by_every_backend(model: Any, predict: Any, seed: int) -> Gaps:
    """Every exact backend against the oracle, for the network's own graph."""
    network, joint, rows = small_problem(seed)
    edges = [(p, v) for v, parents in enumerate(network.parents) for p in parents]
    states = np.array(list(np.ndindex(joint.shape)))
    table = np.asarray(predict(states), dtype=float).reshape(*joint.shape, 1)
    expected = np.stack([brute_force.asv(joint, table, row, edges)[:, 0] for row in rows])
    outputs = np.asarray(predict(rows), dtype=float)
    # rows may all have small outputs: gaps count beside the largest output there is
    scale = np.abs(outputs).max() / np.abs(table).max()
    worst = Gaps(0.0, 0.0)
    for name in exact_backends(AsymmetricExplainer(model, network, feature_names=network.names)):
        explainer = AsymmetricExplainer(model, network, feature_names=network.names, algorithm=name)
        found = gaps_of(explainer(rows, silent=True), outputs, expected)
        worst = worst.worst_with(Gaps(float(found.efficiency * scale), float((found.values or 0.0) * scale)))
    return worst


def on_small_networks(kind: str, factor: float = 1.0, shift: float = 0.0, single: bool = False) -> Gaps:
    """A model of random targets of some size, on three networks; with ``single`` all it knows is float32."""
    worst = Gaps(0.0, 0.0)
    for seed in range(3):
        _, joint, _ = small_problem(seed)
        states = np.array(list(np.ndindex(joint.shape)))
        y = factor * np.random.default_rng(seed).normal(size=len(states)) + shift
        if single:
            y = y.astype(np.float32)
        if kind == "callable":
            table = y.reshape(joint.shape)
            model: Any = lambda X, table=table: table[tuple(np.asarray(X).astype(int).T)]  # noqa: E731
            worst = worst.worst_with(by_every_backend(model, model, seed))
            continue
        model = {
            "tree": lambda: DecisionTreeRegressor(random_state=0),
            "forest": lambda: RandomForestRegressor(5, random_state=0),
            "boosting": lambda: GradientBoostingRegressor(n_estimators=8, random_state=0),
            "xgboost": lambda: XGBRegressor(n_estimators=20, max_depth=3, n_jobs=1),
            "linear": lambda: LinearRegression(),
        }[kind]()
        model.fit(states.astype(np.float32) if single else states, y)
        number = np.float32 if single else float
        predict = lambda X, model=model, number=number: model.predict(np.asarray(X, dtype=number))  # noqa: E731
        worst = worst.worst_with(by_every_backend(model, predict, seed))
    return worst


def near_thresholds() -> Gaps:
    """States that differ in the last bits of a float32, with thresholds between them: rounded states decide alike."""
    low = np.float32(0.1)
    labels = (float(low), float(np.nextafter(low, np.float32(1))), 0.5)
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(3)) for _ in range(3)]
    network = DiscreteNetwork(("a", "b", "c"), (labels,) * 3, ((), (), ()), tuple(tables))
    states = np.array([[labels[i] for i in codes] for codes in np.ndindex(3, 3, 3)])
    model = DecisionTreeRegressor(random_state=0).fit(states, rng.normal(size=len(states)))
    rows = states[[0, 5, 13, 26]]
    joint = np.einsum("i,j,k->ijk", *tables)
    table = model.predict(states).reshape(3, 3, 3, 1)
    codes = [tuple(labels.index(value) for value in row) for row in rows.tolist()]
    expected = np.stack([brute_force.asv(joint, table, row, [])[:, 0] for row in codes])
    explanation = AsymmetricExplainer(model, network, feature_names=["a", "b", "c"])(rows, silent=True)
    return gaps_of(explanation, model.predict(rows), expected)


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
    orders = brute_force.topological_orders(4, [(0, 1), (2, 3)])
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


EXTREMES = (
    *(
        Extreme(f"CPT entries of 0, 1, 1e-300: {kind}, {graph} graph", 1e-12, partial(tiny_probabilities, kind, graph),
                quick=graph == "own")
        for kind in ("callable", "tree", "linear")
        for graph in ("own", "edgeless")
    ),
    *(
        Extreme(f"1000 nodes: {shape}", 1e-10, partial(thousand_nodes, shape), quick=False)
        for shape in ("binary tree", "chain", "star", "no edges")
    ),
    Extreme("1000 nodes: zigzag, sampled orders", 1e-10, lambda: thousand_nodes("zigzag", "sampling"), False),
    Extreme("1000 nodes: 250 diamonds, sampled orders", 1e-10, lambda: thousand_nodes("diamonds", "sampling"), False),
    Extreme("400! orders: linear model, no edges", 1e-10, linear_without_edges),
    Extreme("720^110 orders: linear model, levels, by ideals", 1e-10, levels),
    *(
        Extreme(f"outputs of {factor:g}: {kind}", 1e-12, partial(on_small_networks, kind, factor))
        for factor in (1e12, 1e-12)
        for kind in ("callable", "tree", "boosting", "linear")
    ),
    Extreme("outputs of 1e12 that differ by 1: tree", 1e-12, partial(on_small_networks, "tree", 1.0, 1e12)),
    Extreme("float32 outputs: callable", 1e-12, partial(on_small_networks, "callable", single=True)),
    Extreme("float32 states and targets: random forest", 1e-12, partial(on_small_networks, "forest", single=True)),
    Extreme("float32 sums: XGBoost", 1e-6, partial(on_small_networks, "xgboost", single=True)),
    Extreme("float32 neighbours as states", 1e-12, near_thresholds),
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
)  # fmt: skip


def main() -> int:
    figures = []
    for extreme in EXTREMES:
        start = time.perf_counter()
        with strict_warnings():
            gaps = extreme.measure()
        values = "" if gaps.values is None else f", values {gaps.values:.1e}"
        worst = max(gaps.efficiency, gaps.values or 0.0)
        print(f"{extreme.name}: {gaps} in {time.perf_counter() - start:.1f} s", file=sys.stderr)
        asked = f"at most {extreme.tolerance:g}"
        figures.append(
            Figure(extreme.name, f"efficiency {gaps.efficiency:.1e}{values}", asked, worst <= extreme.tolerance)
        )
    notes = [
        "Gaps are relative to the largest output; nothing was NaN, and no warning was raised. `values` is the largest "
        "distance from an oracle: exact fractions for the tables of 1e-300, all orders times the full joint for small "
        "networks, `w (x - E x)` for a linear model of independent features, conditional means of Gaussians in closed "
        "form, trees walked by hand under all orders, and the mean of the values of each graph for mixtures.",
        "Small networks are explained by every exact backend that can run, by name; the gap is that of the worst.",
    ]
    title = "Numerical extremes"
    return keep(Record("extremes", title, "python -m tests.reliability.extremes", figures, notes))


if __name__ == "__main__":
    sys.exit(main())
