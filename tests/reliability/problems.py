"""The grid of problems whose plans are compared with what they take: networks, tables, models, rows and backends."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.base import is_regressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBRegressor

from shap_asv import (
    AsymmetricExplainer,
    ConditionalTable,
    CopulaModel,
    GaussianModel,
    StructuralModel,
    load_network,
    sample_rows,
)
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.pgmpy_networks import read_network
from tests.independent import IndependentColumns
from tests.reliability.jobs import network as random_network


@dataclass(frozen=True)
class Case:
    """A problem: explainers for it can be made again and again, and rows to explain; ``options`` of the explainer."""

    make: Callable[..., AsymmetricExplainer]
    rows: Callable[[int], Any]
    n_rows: int
    options: dict[str, Any] = field(default_factory=dict)


# --- models -----------------------------------------------------------------------------------------------------------

tree = partial(DecisionTreeClassifier, max_depth=8, random_state=0)
few_trees = partial(RandomForestClassifier, 20, max_depth=6, random_state=0)
hundred_trees = partial(RandomForestClassifier, 100, max_depth=8, random_state=0)
neurons = partial(MLPClassifier, hidden_layer_sizes=(20,), max_iter=20, random_state=0)
#: Regressors, which on a network have the number of a state for a target.
line = partial(LinearRegression)
deep_trees = partial(RandomForestRegressor, 30, random_state=0)
boosted = partial(GradientBoostingRegressor, n_estimators=200, max_depth=4, random_state=0)
boosted_more = partial(GradientBoostingRegressor, n_estimators=400, max_depth=5, random_state=0)
xgboost = partial(XGBRegressor, n_estimators=60, max_depth=4, n_jobs=1, random_state=0)
lightgbm = partial(LGBMRegressor, n_estimators=50, num_leaves=15, n_jobs=1, random_state=0, verbose=-1)
catboost = partial(
    CatBoostRegressor, iterations=40, depth=4, thread_count=1, random_seed=0, verbose=False, allow_writing_files=False
)
OF_ONE_HOT = (neurons, line)


def sines(table: Any) -> np.ndarray:
    """A black box that is quick."""
    return np.sin(np.asarray(table, dtype=float)).sum(axis=1)


def slowly(table: Any) -> np.ndarray:
    """A black box that takes about a twentieth of a millisecond for a row."""
    matrix = np.asarray(table, dtype=float)
    return np.array([sum(float(value) ** 2 for value in row for _ in range(40)) for row in matrix])


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
    encoder = OneHotEncoder if model in OF_ONE_HOT else OrdinalEncoder
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = make_pipeline(encoder(categories=[list(states[column]) for column in names]), model())
        return network, fitted.fit(train[names], asked)


def on(
    name: str,
    target: str,
    model: Callable[[], Any],
    n_rows: int,
    turned: tuple[str, str] | None = None,
    **options: Any,
) -> Case:
    """A model on an example network, of all nodes but the target.

    The graph is the network's; with an edge ``turned`` it is uncertain: the network's, or the same with that edge
    turned round.
    """

    def make(**more: Any) -> AsymmetricExplainer:
        network, fitted = _fitted(name, target, model)
        if turned is not None:
            edges = [edge for edge in network.edges() if target not in edge]
            more["causal_graph"] = [edges, [edge[::-1] if edge == turned else edge for edge in edges]]
        return AsymmetricExplainer(fitted, network, **more)

    def rows(n: int) -> pd.DataFrame:
        return sample_rows(load_network(name), n, seed=1).drop(columns=target)

    return Case(make, rows, n_rows, options)


def of_network(
    network: DiscreteNetwork, model: Callable[[], Any], n_rows: int, outputs: int = 1, **options: Any
) -> Case:
    """A model of numbers that depend on every node of a random network."""

    @cache
    def fitted() -> Any:
        train = sample_rows(network, 1000, seed=0)
        asked = [(train == f"s{k % 2}").sum(axis=1) * (train["x0"] == f"s{k // 2}") for k in range(outputs)]
        pipeline = make_pipeline(OrdinalEncoder(categories=[list(labels) for labels in network.states]), model())
        return pipeline.fit(train, asked[0] if outputs == 1 else np.stack(asked, axis=1))

    return Case(
        lambda **more: AsymmetricExplainer(fitted(), network, **more),
        lambda rows: sample_rows(network, rows, seed=1),
        n_rows,
        options,
    )


def on_random(kind: str, n: int, trees: int, depth: int, n_rows: int, **options: Any) -> Case:
    """A random forest on a random network of that shape."""
    forest = partial(RandomForestRegressor, trees, max_depth=depth, random_state=0)
    return of_network(random_network(kind, n), forest, n_rows, **options)


# --- tables -----------------------------------------------------------------------------------------------------------

Edges = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Numbers:
    """A table of numbers along a causal graph."""

    edges: Edges
    slope: float = 0.7
    n: int = 1000

    @property
    def names(self) -> list[str]:
        return ["x0", *(effect for _, effect in self.edges)]

    def table(self, n: int = 0) -> pd.DataFrame:
        rng = np.random.default_rng(0)
        n = n or self.n
        columns = {"x0": rng.normal(size=n)}
        for cause, effect in self.edges:
            columns[effect] = self.slope * columns[cause] + rng.normal(size=n)
        return pd.DataFrame(columns)


@cache
def fitted_to(numbers: Numbers, make: Callable[[], Any]) -> Any:
    """A model of something that depends on every column."""
    table = numbers.table()
    return make().fit(table, np.asarray(np.sin(table["x0"]) * table["x3"] + table.sum(axis=1)))


@cache
def background_of(numbers: Numbers, kind: str) -> Any:
    table = numbers.table()
    return {
        "gaussian": lambda: GaussianModel.fit(table),
        "copula": lambda: CopulaModel(table),
        "donors": lambda: ConditionalTable(table, seed=0),
        "structural": lambda: StructuralModel.fit(table, list(numbers.edges), seed=0, silent=True),
        "independent": lambda: IndependentColumns(table),
        "rows": lambda: table[:100],
        "table": lambda: table,
        "covers": lambda: None,
    }[kind]()


FIRST = Numbers(tuple((f"x{v // 2}", f"x{v}") for v in range(1, 12)))
SECOND = Numbers(tuple((f"x{max(0, v - 3)}", f"x{v}") for v in range(1, 10)), -0.5, 700)
CROSSED: Edges = (*SECOND.edges, ("x1", "x5"), ("x2", "x7"))
FOURTH = Numbers((("x0", "x1"), ("x0", "x2"), ("x1", "x3"), ("x2", "x4"), ("x3", "x5")), 0.6, 400)


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
        meant = {"rows": {"values": "marginal"}, "table": {"values": "conditional", "silent": True}}.get(kind, {})
        chosen = model if model in (sines, slowly) else fitted_to(numbers, model)
        edges = list(numbers.edges if graph is None else graph)
        told = {"feature_names": numbers.names, **meant, **more}
        return AsymmetricExplainer(chosen, background_of(numbers, kind), edges, **told)

    return Case(make, lambda n: numbers.table(n + 2000)[-n:], n_rows, options)


# --- the grid ---------------------------------------------------------------------------------------------------------

GRID: dict[str, Case] = {
    "asia, neurons, 200 rows": on("asia", "dysp", neurons, 200),
    "asia, a group, 20 trees, 50 rows": on("asia", "dysp", few_trees, 50, groups={"ill": ["tub", "lung", "bronc"]}),
    "survey, 100 trees, 500 rows": on("survey", "T", hundred_trees, 500),
    "sachs, two graphs, xgboost, 30 rows": on("sachs", "Akt", xgboost, 30, turned=("Raf", "Mek")),
    "sachs, no order, causal values, 20 trees, 5 rows": on(
        "sachs", "Akt", few_trees, 5, causal_graph=[], values="causal"
    ),
    "child, LowerBodyO2, decision tree, 1,000 rows": on("child", "LowerBodyO2", tree, 1000),
    "child, LowerBodyO2, neurons, 2 rows": on("child", "LowerBodyO2", neurons, 2, n_draws=100),
    "child, latent LungFlow, decision tree, 300 rows": on("child", "LungFlow", tree, 300),
    "child, a group of reports, decision tree, 20 rows": on(
        "child", "Age", tree, 20, groups={"reports": ["LVHreport", "GruntingReport", "CO2Report", "XrayReport"]}
    ),
    "child, decision tree, ideals x trees, 5 rows": on("child", "XrayReport", tree, 5, algorithm="ideals x trees"),
    "child, RUQO2, linear model of codes, ideals x linear, 50 rows": on(
        "child", "RUQO2", line, 50, algorithm="ideals x linear"
    ),
    "child, neurons, monte_carlo, 10 rows": on(
        "child", "XrayReport", neurons, 10, algorithm="monte_carlo", n_orders=20, n_draws=50
    ),
    "child, CO2Report, 20 trees, ideals x terms, 20 rows": on(
        "child", "CO2Report", few_trees, 20, algorithm="ideals x terms"
    ),
    "insurance, Airbag, 20 trees, orders x closures, 10 rows": on(
        "insurance", "Airbag", few_trees, 10, algorithm="orders x closures", n_orders=100
    ),
    "insurance, MedCost, 100 trees, 2 rows": on("insurance", "MedCost", hundred_trees, 2),
    "insurance, decision tree, orders x trees, 5 rows": on(
        "insurance", "PropCost", tree, 5, algorithm="orders x trees", n_orders=100
    ),
    "alarm, decision tree, orders x terms, 5 rows": on(
        "alarm", "BP", tree, 5, algorithm="orders x terms", n_orders=100
    ),
    "alarm, neurons, monte_carlo, 2 rows": on(
        "alarm", "BP", neurons, 2, algorithm="monte_carlo", n_orders=20, n_draws=50
    ),
    "water, decision tree, 5 rows": on("water", "CKNN_12_45", tree, 5, n_orders=100),
    "forest of 30 nodes, 100 trees, 100 rows": on_random("forest", 30, 100, 8, 100),
    "forest of 300 nodes, 20 trees, 50 rows": on_random("forest", 300, 20, 6, 50),
    "polytree of 28 nodes, 4 trees, polytree, 4 rows": on_random("polytree", 28, 4, 5, 4, algorithm="polytree"),
    "dag of 16 nodes, 30 trees, 200 rows": on_random("dag", 16, 30, 7, 200),
    "gaussian, linear model, 200 rows": of_numbers("gaussian", line, 200),
    "gaussian, sines, 5 rows": of_numbers("gaussian", sines, 5),
    "gaussian, slow black box, 1 row": of_numbers("gaussian", slowly, 1, n_orders=10, n_draws=50),
    "copula, boosted trees, 2 rows": of_numbers("copula", boosted_more, 2, SECOND),
    "donors, sines, 2 rows": of_numbers("donors", sines, 2, n_draws=100),
    "structural, sines, 5 rows": of_numbers("structural", sines, 5, n_draws=100),
    "structural, causal values, lightgbm, 10 rows": of_numbers("structural", lightgbm, 10, FOURTH, values="causal"),
    "independent columns, deep trees, 2 rows": of_numbers("independent", deep_trees, 2, SECOND, CROSSED),
    "background rows, sines, 10 rows": of_numbers("rows", sines, 10),
    "background rows, 400 boosted trees, 2,000 rows": of_numbers("rows", boosted_more, 2000, SECOND),
    "covers, 200 boosted trees, 3,000 rows": of_numbers("covers", boosted, 3000),
    "covers, deep trees, 1,000 rows": of_numbers("covers", deep_trees, 1000, SECOND, CROSSED),
    "covers, deep trees, sampled orders, 500 rows": of_numbers(
        "covers", deep_trees, 500, SECOND, CROSSED, algorithm="sampling", n_orders=200
    ),
}
