"""Planned seconds and memory against what is taken: a grid of networks, tables, models, rows and backends.

``python -m tests.reliability.plans`` runs all problems and keeps a record; ``python -m tests.reliability.plans WORD``
runs those whose name contains the word and only prints. Each problem runs in a process of its own that is forked when
everything is imported. What is compiled lies on disk and is loaded before: explainers are made anew until one call is
not the first of its kind any more.
"""

import gc
import json
import os
import sys
import time
import traceback
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
from shap_asv.backgrounds.pgmpy_networks import read_network
from tests.reliability.jobs import network as random_network
from tests.reliability.peaks import Peak
from tests.reliability.records import Figure, Record, keep

#: A plan says "< 0.1 s" below this, and nobody waits: such times are all alike. So is memory below the second figure.
AT_ONCE, LITTLE = 0.1, 64 * 2**20
#: Factors between planned and taken seconds: of nearly all problems, and of all.
CLOSE, FAR, NEARLY_ALL = 3.0, 10.0, 0.9
#: The first call of a process loads what is compiled; where a call is as short as this, it is made again.
SHORT = 6.0


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

N_COLUMNS = 12
NAMES = [f"x{v}" for v in range(N_COLUMNS)]
EDGES = [(f"x{v // 2}", f"x{v}") for v in range(1, N_COLUMNS)]
WIDE = [("x0", "x6"), ("x1", "x6"), ("x6", "x11")]


@cache
def _table(n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {"x0": rng.normal(size=n)}
    for cause, effect in EDGES:
        columns[effect] = 0.7 * columns[cause] + rng.normal(size=n)
    return pd.DataFrame(columns)


def _outcome(table: pd.DataFrame) -> np.ndarray:
    return np.asarray(np.sin(table["x0"]) * table["x3"] + table.sum(axis=1))


def sines(table: Any) -> np.ndarray:
    """A black box that is quick."""
    return np.sin(np.asarray(table, dtype=float)).sum(axis=1)


def slowly(table: Any) -> np.ndarray:
    """A black box that takes about a twentieth of a millisecond for a row."""
    matrix = np.asarray(table, dtype=float)
    return np.array([sum(float(value) ** 2 for value in row for _ in range(40)) for row in matrix])


@cache
def neurons_of_numbers() -> Any:
    return MLPRegressor(hidden_layer_sizes=(20,), max_iter=20, random_state=0).fit(_table(), _outcome(_table()))


@cache
def forest_of_numbers(trees: int = 100, depth: int = 8) -> Any:
    return RandomForestRegressor(trees, max_depth=depth, random_state=0).fit(_table(), _outcome(_table()))


@cache
def boosted() -> Any:
    return GradientBoostingRegressor(n_estimators=200, max_depth=4, random_state=0).fit(_table(), _outcome(_table()))


@cache
def linear() -> Any:
    return LinearRegression().fit(_table(), _outcome(_table()))


@cache
def _background(kind: str) -> Any:
    table = _table()
    return {
        "gaussian": lambda: GaussianModel.fit(table),
        "copula": lambda: GaussianModel.fit(table, marginals="empirical"),
        "donors": lambda: ConditionalTable(table, seed=0),
        "structural": lambda: StructuralModel.fit(table, EDGES, seed=0, silent=True),
        "rows": lambda: table[:100],
        "covers": lambda: None,
    }[kind]()


def of_numbers(kind: str, model: Callable[[], Any], n_rows: int, graph: Any = EDGES, **options: Any) -> Case:
    """A model of numbers under a background made from a table."""

    def make(**more: Any) -> AsymmetricExplainer:
        background = _background(kind)
        if kind == "rows":
            more["values"] = "marginal"
        return AsymmetricExplainer(model(), background, graph, feature_names=NAMES, **more)

    return Case(make, lambda n: _table(3000)[-n:], n_rows, options)


def a_black_box(model: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: model


# --- the grid -------------------------------------------------------------------------------------------------------

CASES: dict[str, Case] = {
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
    "gaussian, linear model, 200 rows": of_numbers("gaussian", linear, 200),
    "gaussian, sines, 5 rows": of_numbers("gaussian", a_black_box(sines), 5),
    "gaussian, neurons, 2 rows": of_numbers("gaussian", neurons_of_numbers, 2),
    "gaussian, slow black box, 1 row": of_numbers("gaussian", a_black_box(slowly), 1, n_orders=10, n_draws=50),
    "copula, sines, 3 rows": of_numbers("copula", a_black_box(sines), 3, n_draws=200),
    "donors, sines, 2 rows": of_numbers("donors", a_black_box(sines), 2, n_draws=100),
    "structural, sines, 5 rows": of_numbers("structural", a_black_box(sines), 5, n_draws=100),
    "structural, 100 trees, 1 row": of_numbers("structural", forest_of_numbers, 1, n_draws=100),
    "background rows, sines, 10 rows": of_numbers("rows", a_black_box(sines), 10),
    "background rows, slow black box, 2 rows": of_numbers("rows", a_black_box(slowly), 2, n_orders=10),
    "background rows, 100 trees, 200 rows": of_numbers("rows", forest_of_numbers, 200),
    # trees without a network
    "covers, 100 trees, 1,000 rows": of_numbers("covers", forest_of_numbers, 1000),
    "covers, 200 boosted trees, 3,000 rows": of_numbers("covers", boosted, 3000),
    "covers, wide graph, 100 trees, 500 rows": of_numbers("covers", forest_of_numbers, 500, graph=WIDE),
}


def measure(name: str) -> dict[str, Any]:
    """One problem in this process: planned and taken seconds (of the CPU) and bytes."""
    case = CASES[name]
    rows = case.rows(case.n_rows)
    # the fit of model and background, and the network as read, are the user's
    for _ in range(2):
        explainer = case.make(**{"seed": 0, **case.options})
        plan = explainer.plan(rows)
        compiled = plan.compile_seconds == 0
        gc.collect()
        start = time.process_time()
        with Peak() as peak:
            explainer(rows, silent=True)
        seconds = time.process_time() - start
        if compiled and seconds > SHORT:
            break
    estimate = plan.chosen.estimate
    assert estimate is not None
    return {
        "backend": plan.chosen.name,
        "planned": estimate.seconds,
        "taken": seconds,
        "planned_memory": estimate.memory,
        "taken_memory": peak.used,
    }


def measure_apart(name: str) -> dict[str, Any]:
    """The same in a forked process, which gives all of its memory back."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # never returns: exits at once, whatever happens
        code = 1
        try:
            os.write(writing, json.dumps(measure(name)).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    if not found:
        raise RuntimeError(f"the process that ran {name!r} ended without an answer")
    return dict(json.loads(found))


def ratio(planned: float, taken: float) -> float:
    """How many times too long (or, below 1, too short) a plan is; times that nobody notices are all alike."""
    return max(planned, AT_ONCE) / max(taken, AT_ONCE)


def judge(found: dict[str, Any]) -> tuple[float, bool]:
    """The factor between planned and taken seconds, at least 1, and whether the memory is enough."""
    factor = ratio(found["planned"], found["taken"])
    enough = found["planned_memory"] >= found["taken_memory"] / 2 or found["taken_memory"] <= LITTLE
    return max(factor, 1 / factor), enough


def main(word: str = "") -> None:
    warnings.simplefilter("ignore")
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    figures, factors, short_of_memory = [], {}, []
    for name in CASES:
        if word not in name:
            continue
        found = measure_apart(name)
        factors[name], enough = judge(found)
        if not enough:
            short_of_memory.append(name)
        figures.append(
            Figure(
                f"{name} ({found['backend']})",
                f"planned {found['planned']:,.2f} s, {found['planned_memory'] / 2**20:,.0f} MiB; "
                f"taken {found['taken']:,.2f} s, {found['taken_memory'] / 2**20:,.0f} MiB",
                f"factor at most {FAR:g}, half of the memory",
                bool(factors[name] <= FAR and enough),
            )
        )
        print(f"{ratio(found['planned'], found['taken']):7.2f}  {figures[-1].what}: {figures[-1].value}", flush=True)
    close = sum(factor <= CLOSE for factor in factors.values())
    worst = max(factors, key=factors.__getitem__)
    summary = [
        Figure(
            f"planned seconds within a factor {CLOSE:g} of those taken",
            f"{close} of {len(factors)} problems",
            f"{NEARLY_ALL:.0%}",
            close >= NEARLY_ALL * len(factors),
        ),
        Figure("the worst factor", f"{factors[worst]:.1f} ({worst})", f"at most {FAR:g}", factors[worst] <= FAR),
        Figure(
            "planned memory at least half of what is taken",
            f"{len(factors) - len(short_of_memory)} of {len(factors)} problems",
            "all",
            not short_of_memory,
        ),
    ]
    record = Record(
        "plans",
        "Plans against what is taken",
        "python -m tests.reliability.plans",
        summary + figures,
        [
            "Each problem runs in a process of its own, one thread, all compiled and loaded; seconds of the CPU. "
            f"Seconds below {AT_ONCE:g} count as {AT_ONCE:g} (a plan says no more than that), and memory below "
            f"{LITTLE // 2**20} MiB is not asked for.",
        ],
    )
    if word:
        for figure in summary:
            print(figure)
    else:
        keep(record)


if __name__ == "__main__":
    main(*sys.argv[1:2])
