"""Numerical extremes through the public API: ``python -m tests.reliability.extremes`` keeps what they measure.

Every measurement explains rows and returns the largest gap of efficiency, ``|base + sum of values - M(e)|``, and where
an oracle reaches that far, the largest distance of a value from it; both relative to the largest output. Nothing may be
NaN, and no warning (overflow, division) may be raised. The tolerance of each is stated beside it.
"""

import math
import sys
import time
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import MethodNotApplicableError
from tests.oracles import brute_force, rational
from tests.oracles.random_problems import random_edges, random_network
from tests.reliability.extreme_tables import EXTREMES_OF_TABLES
from tests.reliability.fuzz import strict_warnings
from tests.reliability.gaps import Extreme, Gaps, gaps_of
from tests.reliability.records import Figure, Record, keep

TINY = 1e-300
PLANNING = 20.0  # seconds of processor time that a plan of 1000 features may take, on a slow machine


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


def all_states(joint: np.ndarray) -> np.ndarray:
    return np.array(list(np.ndindex(joint.shape)))


def by_every_backend(model: Any, predict: Any, seed: int) -> Gaps:
    """Every exact backend against the oracle, for the network's own graph."""
    network, joint, rows = small_problem(seed)
    edges = [(p, v) for v, parents in enumerate(network.parents) for p in parents]
    states = all_states(joint)
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


def scaled(factor: float, kind: str, shift: float = 0.0) -> Gaps:
    worst = Gaps(0.0, 0.0)
    for seed in range(3):
        _, joint, _ = small_problem(seed)
        states = all_states(joint)
        y = factor * np.random.default_rng(seed).normal(size=len(states)) + shift
        if kind == "callable":
            table = y.reshape(joint.shape)
            model: Any = lambda X, table=table: table[tuple(np.asarray(X).astype(int).T)]  # noqa: E731
            found = by_every_backend(model, model, seed)
        else:
            model = {
                "tree": DecisionTreeRegressor(random_state=0),
                "boosting": GradientBoostingRegressor(n_estimators=8, random_state=0),
                "linear": LinearRegression(),
            }[kind].fit(states, y)
            found = by_every_backend(model, model.predict, seed)
        worst = worst.worst_with(found)
    return worst


def single_precision(kind: str) -> Gaps:
    worst = Gaps(0.0, 0.0)
    for seed in range(3):
        _, joint, _ = small_problem(seed)
        states = all_states(joint)
        y = np.random.default_rng(seed).normal(size=len(states)).astype(np.float32)
        if kind == "callable":
            table = y.reshape(joint.shape)
            model: Any = lambda X, table=table: table[tuple(np.asarray(X).astype(int).T)]  # noqa: E731
            predict: Any = model
        elif kind == "xgboost":
            import xgboost

            model = xgboost.XGBRegressor(n_estimators=20, max_depth=3, n_jobs=1).fit(states, y)
            predict = model.predict
        else:  # trained on float32 states and targets, and asked in float32
            model = RandomForestRegressor(5, random_state=0).fit(states.astype(np.float32), y)
            predict = lambda X, model=model: model.predict(np.asarray(X, dtype=np.float32))  # noqa: E731
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


EXTREMES = (
    *(
        Extreme(f"CPT entries of 0, 1, 1e-300: {kind}, {graph} graph", 1e-12, partial(tiny_probabilities, kind, graph),
                quick=graph == "own")
        for kind in ("callable", "tree", "linear")
        for graph in ("own", "edgeless")
    ),
    *(
        Extreme(f"1000 nodes: {shape}", 1e-10, partial(thousand_nodes, shape), quick=shape == "no edges")
        for shape in ("binary tree", "chain", "star", "no edges")
    ),
    Extreme("1000 nodes: zigzag, sampled orders", 1e-10, lambda: thousand_nodes("zigzag", "sampling"), False),
    Extreme("1000 nodes: 250 diamonds, sampled orders", 1e-10, lambda: thousand_nodes("diamonds", "sampling"), False),
    Extreme("400! orders: linear model, no edges", 1e-10, linear_without_edges),
    Extreme("720^110 orders: linear model, levels, by ideals", 1e-10, levels),
    *(
        Extreme(f"outputs of {factor:g}: {kind}", 1e-12, lambda f=factor, k=kind: scaled(f, k))
        for factor in (1e12, 1e-12)
        for kind in ("callable", "tree", "boosting", "linear")
    ),
    Extreme("outputs of 1e12 that differ by 1: tree", 1e-12, lambda: scaled(1.0, "tree", 1e12)),
    Extreme("float32 outputs: callable", 1e-12, lambda: single_precision("callable")),
    Extreme("float32 states and targets: random forest", 1e-12, lambda: single_precision("forest")),
    Extreme("float32 sums: XGBoost", 1e-6, lambda: single_precision("xgboost")),
    Extreme("float32 neighbours as states", 1e-12, near_thresholds),
    *EXTREMES_OF_TABLES,
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
    keep(Record("extremes", title, "python -m tests.reliability.extremes", figures, notes))
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
