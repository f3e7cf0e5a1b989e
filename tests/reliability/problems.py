"""How problems are made whose plans are compared with what they take: networks, tables, models, rows and backends.

``fitted_problems.py`` has those on which the constants of the cost models were looked at, ``seen_problems.py`` those
that were held out at first, and ``held_out_problems.py`` those on which nothing was ever fitted. Models and questions
that only the last ones have are in ``other_problems.py``.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_regressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shap_asv import (
    AsymmetricExplainer,
    ConditionalTable,
    GaussianModel,
    StructuralModel,
    load_network,
    sample_rows,
)
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.independent import IndependentColumns
from shap_asv.backgrounds.pgmpy_networks import read_network
from tests.oracles.random_problems import random_network as random_tables
from tests.reliability.jobs import network as random_network


@dataclass(frozen=True)
class Case:
    """A problem: explainers for it can be made again and again, and rows to explain; ``options`` of the explainer."""

    make: Callable[..., AsymmetricExplainer]
    rows: Callable[[int], Any]
    n_rows: int
    options: dict[str, Any] = field(default_factory=dict)


# --- models ---------------------------------------------------------------------------------------------------------


def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=8, random_state=0)


def few_trees() -> RandomForestClassifier:
    return RandomForestClassifier(20, max_depth=6, random_state=0)


def hundred_trees() -> RandomForestClassifier:
    return RandomForestClassifier(100, max_depth=8, random_state=0)


def neurons() -> MLPClassifier:
    return MLPClassifier(hidden_layer_sizes=(20,), max_iter=20, random_state=0)


def logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=200)


def codes_of_states() -> LinearRegression:
    """One output: the number of a state."""
    return LinearRegression()


def codes_by_tree() -> DecisionTreeRegressor:
    return DecisionTreeRegressor(max_depth=7, random_state=0)


def codes_by_forest() -> RandomForestRegressor:
    return RandomForestRegressor(40, max_depth=7, random_state=0)


def boosted_states() -> GradientBoostingClassifier:
    """As many trees at every step as there are classes."""
    return GradientBoostingClassifier(n_estimators=30, max_depth=3, random_state=0)


# --- networks -------------------------------------------------------------------------------------------------------


@cache
def _fitted(name: str, target: str, model: Callable[[], Any]) -> tuple[Any, Any]:
    """A network, and a model of ``target`` fitted to rows of it."""
    network = load_network(name)
    train = sample_rows(network, 2000, seed=0)
    known = read_network(network)
    states = dict(zip(known.names, known.states, strict=True))
    names = [column for column in train.columns if column != target]
    asked = train[target]
    if is_regressor(model()):
        asked = asked.map({label: code for code, label in enumerate(states[target])}).astype(float)
    one_hot = model in (neurons, logistic, codes_of_states)
    encoder = (OneHotEncoder if one_hot else OrdinalEncoder)(categories=[list(states[column]) for column in names])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = make_pipeline(encoder, model()).fit(train[names], asked)
    return network, fitted


def on(
    name: str,
    target: str,
    model: Callable[[], Any],
    n_rows: int,
    reverse: tuple[str, str] | None = None,
    **options: Any,
) -> Case:
    """A model on an example network; the graph is the network's, with an edge reversed where asked for."""

    def make(**more: Any) -> AsymmetricExplainer:
        network, fitted = _fitted(name, target, model)
        if reverse is not None:
            edges = [edge for edge in network.edges() if target not in edge and edge != reverse]
            more["causal_graph"] = [*edges, reverse[::-1]]
        return AsymmetricExplainer(fitted, network, **more)

    def rows(n: int) -> pd.DataFrame:
        return sample_rows(_fitted(name, target, model)[0], n, seed=1).drop(columns=target)

    return Case(make, rows, n_rows, options)


@cache
def many_states(n: int, max_parents: int, max_states: int) -> DiscreteNetwork:
    """A random network with large tables."""
    rng = np.random.default_rng(n)
    cards, parents, tables = random_tables(rng, n, max_parents=max_parents, max_states=max_states)
    states = tuple(tuple(f"s{i}" for i in range(c)) for c in cards)
    return DiscreteNetwork(tuple(f"x{v}" for v in range(n)), states, tuple(parents), tuple(tables))


def of_network(
    network: DiscreteNetwork, model: Callable[[], Any], n_rows: int, outputs: int = 1, **options: Any
) -> Case:
    """A model of numbers that depend on every node of a random network; linear ones see states one by one."""

    @cache
    def fitted() -> Any:
        train = sample_rows(network, 1000, seed=0)
        coder = OneHotEncoder if model is LinearRegression else OrdinalEncoder
        asked = [(train == f"s{k % 2}").sum(axis=1) * (train["x0"] == f"s{k // 2}") for k in range(outputs)]
        pipeline = make_pipeline(coder(categories=[list(labels) for labels in network.states]), model())
        return pipeline.fit(train, asked[0] if outputs == 1 else np.stack(asked, axis=1))

    return Case(
        lambda **more: AsymmetricExplainer(fitted(), network, **more),
        lambda rows: sample_rows(network, rows, seed=1),
        n_rows,
        options,
    )


@cache
def _ensemble(kind: str, n: int, trees: int, depth: int) -> Any:
    train = sample_rows(random_network(kind, n), 1000, seed=0)
    states = [list(labels) for labels in random_network(kind, n).states]
    model = RandomForestRegressor(trees, max_depth=depth, random_state=0)
    return make_pipeline(OrdinalEncoder(categories=states), model).fit(train, (train == "s1").sum(axis=1))


def on_random(kind: str, n: int, trees: int, depth: int, n_rows: int, **options: Any) -> Case:
    """A random forest on a random network of that shape."""
    return Case(
        lambda **more: AsymmetricExplainer(_ensemble(kind, n, trees, depth), random_network(kind, n), **more),
        lambda rows: sample_rows(random_network(kind, n), rows, seed=1),
        n_rows,
        options,
    )


# --- tables ---------------------------------------------------------------------------------------------------------

Edges = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Numbers:
    """A table of numbers along a causal graph, with models and backgrounds of it."""

    edges: Edges
    slope: float = 0.7
    n: int = 1000

    @property
    def names(self) -> list[str]:
        return ["x0", *(effect for _, effect in self.edges)]


@cache
def table_of(numbers: Numbers, n: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = n or numbers.n
    columns = {"x0": rng.normal(size=n)}
    for cause, effect in numbers.edges:
        columns[effect] = numbers.slope * columns[cause] + rng.normal(size=n)
    return pd.DataFrame(columns)


@cache
def fitted_to(numbers: Numbers, make: Callable[[], Any]) -> Any:
    """A model of something that depends on every column; ``pairs`` of it where the model has two outputs."""
    table = table_of(numbers)
    asked = np.asarray(np.sin(table["x0"]) * table["x3"] + table.sum(axis=1))
    if make in (pairs_by_line, pairs_by_forest):
        asked = np.stack([asked, np.asarray(table["x1"] ** 2 - table["x2"])], axis=1)
    return make().fit(table, asked)


@cache
def background_of(numbers: Numbers, kind: str) -> Any:
    table = table_of(numbers)
    return {
        "gaussian": lambda: GaussianModel.fit(table),
        "copula": lambda: GaussianModel.fit(table, marginals="empirical"),
        "donors": lambda: ConditionalTable(table, seed=0),
        "structural": lambda: StructuralModel.fit(table, list(numbers.edges), seed=0, silent=True),
        "independent": lambda: IndependentColumns(table),
        "rows": lambda: table[:100],
        "covers": lambda: None,
    }[kind]()


FIRST = Numbers(tuple((f"x{v // 2}", f"x{v}") for v in range(1, 12)))
WIDE: Edges = (("x0", "x6"), ("x1", "x6"), ("x6", "x11"))
SECOND = Numbers(tuple((f"x{max(0, v - 3)}", f"x{v}") for v in range(1, 10)), -0.5, 700)
CROSSED: Edges = (*SECOND.edges, ("x1", "x5"), ("x2", "x7"))
THIRD = Numbers(tuple((f"x{v - 1}" if v % 3 else "x0", f"x{v}") for v in range(1, 9)), 0.4, 1500)
STAR = Numbers(tuple(("x0", f"x{v}") for v in range(1, 14)), 0.9, 500)


def sines(table: Any) -> np.ndarray:
    """A black box that is quick."""
    return np.sin(np.asarray(table, dtype=float)).sum(axis=1)


def slowly(table: Any) -> np.ndarray:
    """A black box that takes about a twentieth of a millisecond for a row."""
    matrix = np.asarray(table, dtype=float)
    return np.array([sum(float(value) ** 2 for value in row for _ in range(40)) for row in matrix])


def neurons_of_numbers() -> Any:
    return MLPRegressor(hidden_layer_sizes=(20,), max_iter=20, random_state=0)


def many_neurons() -> Any:
    return MLPRegressor(hidden_layer_sizes=(100, 50), max_iter=5, random_state=0)


def forest_of_numbers() -> Any:
    return RandomForestRegressor(100, max_depth=8, random_state=0)


def deep_trees() -> Any:
    return RandomForestRegressor(30, random_state=0)


def boosted() -> Any:
    return GradientBoostingRegressor(n_estimators=200, max_depth=4, random_state=0)


def binned() -> Any:
    return HistGradientBoostingRegressor(max_iter=100, random_state=0)


def pairs_by_line() -> Any:
    return LinearRegression()


def pairs_by_forest() -> Any:
    return RandomForestRegressor(50, max_depth=6, random_state=0)


def boosted_more() -> Any:
    return GradientBoostingRegressor(n_estimators=400, max_depth=5, random_state=0)


def of_numbers(
    kind: str,
    model: Callable[..., Any],
    n_rows: int,
    numbers: Numbers = FIRST,
    graph: Edges | None = None,
    **options: Any,
) -> Case:
    """A model of numbers, to be fitted or a black box, under a background made from a table."""

    def make(**more: Any) -> AsymmetricExplainer:
        if kind == "rows":
            more["values"] = "marginal"
        chosen = model if model in (sines, slowly) else fitted_to(numbers, model)
        return AsymmetricExplainer(
            chosen,
            background_of(numbers, kind),
            list(numbers.edges if graph is None else graph),
            feature_names=numbers.names,
            **more,
        )

    return Case(make, lambda n: table_of(numbers, n + 2000)[-n:], n_rows, options)
