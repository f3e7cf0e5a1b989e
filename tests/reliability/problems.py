"""Problems whose plans are compared with what they take: networks, tables, models, rows and backends.

``FITTED`` are those on which the constants of the cost models were looked at; nothing was ever fitted on ``HELD_OUT``,
which has other networks, targets, models, tables and rows.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import (
    AsymmetricExplainer,
    ConditionalTable,
    GaussianModel,
    StructuralModel,
    load_network,
    sample_rows,
)
from shap_asv.backgrounds.independent import IndependentColumns
from shap_asv.backgrounds.pgmpy_networks import read_network
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


# --- networks -------------------------------------------------------------------------------------------------------


@cache
def _fitted(name: str, target: str, model: Callable[[], Any]) -> tuple[Any, Any]:
    """A network, and a model of ``target`` fitted to rows of it."""
    network = load_network(name)
    train = sample_rows(network, 2000, seed=0)
    known = read_network(network)
    states = dict(zip(known.names, known.states, strict=True))
    names = [column for column in train.columns if column != target]
    one_hot = model in (neurons, logistic)
    encoder = (OneHotEncoder if one_hot else OrdinalEncoder)(categories=[list(states[column]) for column in names])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = make_pipeline(encoder, model()).fit(train[names], train[target])
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
    """A model of something that depends on every column."""
    table = table_of(numbers)
    return make().fit(table, np.asarray(np.sin(table["x0"]) * table["x3"] + table.sum(axis=1)))


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
            chosen, background_of(numbers, kind), list(graph or numbers.edges), feature_names=numbers.names, **more
        )

    return Case(make, lambda n: table_of(numbers, n + 2000)[-n:], n_rows, options)


# --- the problems ---------------------------------------------------------------------------------------------------

FITTED: dict[str, Case] = {
    # the planner's choice on networks
    "asia, decision tree, 200 rows": on("asia", "dysp", tree, 200),
    "asia, 100 trees, 20 rows": on("asia", "dysp", hundred_trees, 20),
    "asia, neurons, 200 rows": on("asia", "dysp", neurons, 200),
    "sachs, 100 trees, 100 rows": on("sachs", "Akt", hundred_trees, 100),
    "sachs, logistic regression, 100 rows": on("sachs", "Akt", logistic, 100),
    "sachs, neurons, 50 rows": on("sachs", "Akt", neurons, 50),
    "child, decision tree, 100 rows": on("child", "XrayReport", tree, 100),
    "child, decision tree, 10,000 rows": on("child", "XrayReport", tree, 10_000),
    "child, 100 trees, 100 rows": on("child", "XrayReport", hundred_trees, 100),
    "child, 20 trees, 2,000 rows": on("child", "XrayReport", few_trees, 2000),
    "child, latent disease, decision tree, 100 rows": on("child", "Disease", tree, 100),
    "child, latent disease, 20 trees, 20 rows": on("child", "Disease", few_trees, 20),
    "child, logistic regression, 20 rows": on("child", "XrayReport", logistic, 20),
    "insurance, decision tree, 1 row": on("insurance", "PropCost", tree, 1),
    "insurance, decision tree, 50 rows": on("insurance", "PropCost", tree, 50),
    "insurance, 20 trees, 5 rows": on("insurance", "PropCost", few_trees, 5),
    "alarm, decision tree, 2 rows": on("alarm", "BP", tree, 2),
    "alarm, decision tree, 20 rows": on("alarm", "BP", tree, 20),
    "hailfinder, decision tree, 2 rows": on("hailfinder", "R5Fcst", tree, 2, n_orders=50),
    # backends that were asked for
    "child, decision tree, ideals x terms, 20 rows": on("child", "XrayReport", tree, 20, algorithm="ideals x terms"),
    "child, decision tree, ideals x trees, 5 rows": on("child", "XrayReport", tree, 5, algorithm="ideals x trees"),
    "child, decision tree, orders x trees, 20 rows": on(
        "child", "XrayReport", tree, 20, algorithm="orders x trees", n_orders=100
    ),
    "child, decision tree, orders x terms, 20 rows": on(
        "child", "XrayReport", tree, 20, algorithm="orders x terms", n_orders=100
    ),
    "child, an edge reversed, decision tree, 20 rows": on(
        "child", "XrayReport", tree, 20, reverse=("BirthAsphyxia", "Disease")
    ),
    "child, neurons, orders x monte_carlo, 10 rows": on(
        "child", "XrayReport", neurons, 10, algorithm="orders x monte_carlo", n_orders=20, n_draws=50
    ),
    "child, neurons, orders x monte_carlo, 100 rows": on(
        "child", "XrayReport", neurons, 100, algorithm="orders x monte_carlo", n_orders=10, n_draws=50
    ),
    "insurance, neurons, orders x monte_carlo, 5 rows": on(
        "insurance", "PropCost", neurons, 5, algorithm="orders x monte_carlo", n_orders=20, n_draws=50
    ),
    "insurance, decision tree, orders x trees, 5 rows": on(
        "insurance", "PropCost", tree, 5, algorithm="orders x trees", n_orders=100
    ),
    "insurance, decision tree, orders x closures, 2 rows": on(
        "insurance", "PropCost", tree, 2, algorithm="orders x closures", n_orders=100
    ),
    "alarm, decision tree, orders x terms, 5 rows": on(
        "alarm", "BP", tree, 5, algorithm="orders x terms", n_orders=100
    ),
    "alarm, neurons, orders x monte_carlo, 2 rows": on(
        "alarm", "BP", neurons, 2, algorithm="orders x monte_carlo", n_orders=20, n_draws=50
    ),
    # random networks
    "forest of 30 nodes, 100 trees, 100 rows": on_random("forest", 30, 100, 8, 100),
    "forest of 300 nodes, 20 trees, 50 rows": on_random("forest", 300, 20, 6, 50),
    "polytree of 9 nodes, 2 trees, 20 rows": on_random("polytree", 9, 2, 4, 20, algorithm="polytree"),
    "polytree of 20 nodes, 5 trees, 10 rows": on_random("polytree", 20, 5, 6, 10),
    "dag of 16 nodes, 30 trees, 200 rows": on_random("dag", 16, 30, 7, 200),
    # tables
    "gaussian, linear model, 200 rows": of_numbers("gaussian", LinearRegression, 200),
    "gaussian, sines, 5 rows": of_numbers("gaussian", sines, 5),
    "gaussian, neurons, 2 rows": of_numbers("gaussian", neurons_of_numbers, 2),
    "gaussian, slow black box, 1 row": of_numbers("gaussian", slowly, 1, n_orders=10, n_draws=50),
    "copula, sines, 3 rows": of_numbers("copula", sines, 3, n_draws=200),
    "donors, sines, 2 rows": of_numbers("donors", sines, 2, n_draws=100),
    "structural, sines, 5 rows": of_numbers("structural", sines, 5, n_draws=100),
    "structural, 100 trees, 1 row": of_numbers("structural", forest_of_numbers, 1, n_draws=100),
    "background rows, sines, 10 rows": of_numbers("rows", sines, 10),
    "background rows, slow black box, 2 rows": of_numbers("rows", slowly, 2, n_orders=10),
    "background rows, 100 trees, 200 rows": of_numbers("rows", forest_of_numbers, 200),
    # trees without a network
    "covers, 100 trees, 1,000 rows": of_numbers("covers", forest_of_numbers, 1000),
    "covers, 200 boosted trees, 3,000 rows": of_numbers("covers", boosted, 3000),
    "covers, wide graph, 100 trees, 500 rows": of_numbers("covers", forest_of_numbers, 500, graph=WIDE),
}

HELD_OUT: dict[str, Case] = {
    # the planner's choice on networks
    "survey, 100 trees, 500 rows": on("survey", "T", hundred_trees, 500),
    "sachs, Jnk, neurons, 300 rows": on("sachs", "Jnk", neurons, 300),
    "child, Age, 100 trees, 300 rows": on("child", "Age", hundred_trees, 300),
    "child, CO2Report, 20 trees, 500 rows": on("child", "CO2Report", few_trees, 500),
    "child, latent LungFlow, decision tree, 300 rows": on("child", "LungFlow", tree, 300),
    "child, latent Sick, 20 trees, 50 rows": on("child", "Sick", few_trees, 50),
    "child, GruntingReport, logistic regression, 5 rows": on("child", "GruntingReport", logistic, 5),
    "insurance, MedCost, decision tree, 20 rows": on("insurance", "MedCost", tree, 20),
    "insurance, DrivHist, 20 trees, 10 rows": on("insurance", "DrivHist", few_trees, 10),
    "insurance, latent Accident, decision tree, 5 rows": on("insurance", "Accident", tree, 5),
    "insurance, MedCost, 100 trees, 2 rows": on("insurance", "MedCost", hundred_trees, 2),
    "alarm, HRBP, decision tree, 5 rows": on("alarm", "HRBP", tree, 5),
    "alarm, PRESS, 20 trees, 1 row": on("alarm", "PRESS", few_trees, 1),
    "alarm, latent CO, decision tree, 2 rows": on("alarm", "CO", tree, 2),
    "water, decision tree, 5 rows": on("water", "CKNN_12_45", tree, 5, n_orders=100),
    "win95pts, decision tree, 10 rows": on("win95pts", "Problem1", tree, 10, n_orders=100),
    "hepar2, decision tree, 20 rows": on("hepar2", "fatigue", tree, 20, n_orders=100),
    # backends that were asked for
    "win95pts, 20 trees, orders x trees, 10 rows": on(
        "win95pts", "Problem3", few_trees, 10, algorithm="orders x trees", n_orders=20
    ),
    "hepar2, neurons, orders x monte_carlo, 5 rows": on(
        "hepar2", "pain", neurons, 5, algorithm="orders x monte_carlo", n_orders=50, n_draws=50
    ),
    "alarm, HRSAT, neurons, orders x monte_carlo, 10 rows": on(
        "alarm", "HRSAT", neurons, 10, algorithm="orders x monte_carlo", n_orders=50, n_draws=100
    ),
    "insurance, ILiCost, logistic regression, orders x monte_carlo, 20 rows": on(
        "insurance", "ILiCost", logistic, 20, algorithm="orders x monte_carlo", n_orders=50, n_draws=100
    ),
    "insurance, ILiCost, decision tree, ideals x closures, 3 rows": on(
        "insurance", "ILiCost", tree, 3, algorithm="ideals x closures"
    ),
    "child, Age, 20 trees, orders x closures, 20 rows": on(
        "child", "Age", few_trees, 20, algorithm="orders x closures", n_orders=50
    ),
    "child, CO2Report, 20 trees, ideals x terms, 20 rows": on(
        "child", "CO2Report", few_trees, 20, algorithm="ideals x terms"
    ),
    "child, Age, another edge reversed, 20 trees, 10 rows": on(
        "child", "Age", few_trees, 10, reverse=("Disease", "LVH")
    ),
    # random networks
    "forest of 60 nodes, 50 trees, 300 rows": on_random("forest", 60, 50, 7, 300),
    "forest of 120 nodes, 30 trees, 20 rows": on_random("forest", 120, 30, 5, 20),
    "polytree of 14 nodes, 10 trees, 50 rows": on_random("polytree", 14, 10, 5, 50),
    "polytree of 24 nodes, 3 trees, polytree, 5 rows": on_random("polytree", 24, 3, 5, 5, algorithm="polytree"),
    "dag of 12 nodes, 50 trees, 500 rows": on_random("dag", 12, 50, 6, 500),
    "dag of 20 nodes, 10 trees, 50 rows": on_random("dag", 20, 10, 6, 50),
    # tables
    "gaussian, many neurons, 10 rows": of_numbers("gaussian", many_neurons, 10, SECOND),
    "gaussian, slow black box, 2 rows": of_numbers("gaussian", slowly, 2, SECOND, n_draws=100),
    "copula, boosted trees, 2 rows": of_numbers("copula", boosted_more, 2, SECOND),
    "donors, neurons, 1 row": of_numbers("donors", many_neurons, 1, SECOND),
    "structural, many neurons, 10 rows": of_numbers("structural", many_neurons, 10, SECOND),
    "structural, boosted trees, 5 rows": of_numbers("structural", boosted_more, 5, SECOND),
    "independent columns, deep trees, 2 rows": of_numbers("independent", deep_trees, 2, SECOND, CROSSED),
    "background rows, many neurons, 50 rows": of_numbers("rows", many_neurons, 50, SECOND, CROSSED),
    "background rows, 400 boosted trees, 2,000 rows": of_numbers("rows", boosted_more, 2000, SECOND),
    "background rows, deep trees, 500 rows": of_numbers("rows", deep_trees, 500, SECOND, CROSSED),
    # trees without a network
    "covers, 400 boosted trees, 20,000 rows": of_numbers("covers", boosted_more, 20_000, SECOND),
    "covers, deep trees, 1,000 rows": of_numbers("covers", deep_trees, 1000, SECOND, CROSSED),
    "covers, deep trees, sampled orders, 500 rows": of_numbers(
        "covers", deep_trees, 500, SECOND, CROSSED, algorithm="sampling", n_orders=200
    ),
}
