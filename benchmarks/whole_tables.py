"""A whole table explained by conditional values: ``python -m benchmarks whole_tables``.

The tables that people make a beeswarm of, each with a model fitted to it: seconds to fit a background and to explain
1,000 rows, the error of drawing, and, where the mechanisms are known, the error against the truth; the same for other
things that one may hand over in place of the table, and for peers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.tables import relative_error
from benchmarks.timing import timed

DATA = Path(__file__).resolve().parents[1] / "examples" / "data"


@dataclass(frozen=True)
class Asked:
    """Seconds of the fit and of the explanation, and the error of drawing, at most; or how many times the seconds of
    the model's own calls.
    """

    fit: float | None
    explain: float | None
    drawing: float
    calls: float | None = None


@dataclass(frozen=True)
class Work:
    """A table, the model that is explained, what is known of causes, and where the truth is known: values of rows."""

    name: str
    table: Any
    model: Any
    causes: Any
    asked: Asked
    truth: Callable[[], tuple[Any, np.ndarray]] | None = None


def booster(table: Any, target: Any, size: Size, n_trees: int = 100, depth: int = 4, classes: bool = False) -> Any:
    """XGBoost on one thread, for numbers and categories."""
    import xgboost

    kind = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
    n_trees = n_trees if size == "full" else 5
    return kind(n_estimators=n_trees, max_depth=depth, enable_categorical=True, n_jobs=1).fit(table, target)


# --- known mechanisms ---------------------------------------------------------------------------------------


def levels_of(model: Any) -> list[list[str]]:
    """Features by the length of the longest path that leads to them: no member of a level causes another one."""
    depth: dict[str, int] = {}
    for name in model.names:
        depth[name] = 1 + max((depth[cause] for cause in model.parents[name]), default=-1)
    return [[name for name in model.names if depth[name] == k] for k in range(1 + max(depth.values()))]


def in_three_levels(kind: str) -> Any:
    """The first variant of this kind whose graph has three levels."""
    from tests.oracles.structural_models import KINDS

    return next(model for model in map(KINDS[kind], range(1000)) if len(levels_of(model)) == 3)


def as_categories(table: Any) -> Any:
    """Labels as categories, which is how XGBoost takes them."""
    labels = [name for name in table if table[name].dtype.kind not in "bfi"]
    return table.astype(dict.fromkeys(labels, "category"))


def true_values(model: Any, levels: Sequence[Sequence[str]] | None, trees: Any, like: Any, full: bool) -> Any:
    """Rows, and their ASV by simulation with the true mechanisms: along the DAG, or level after level."""
    from scipy.stats import qmc

    rows = model.sample(12 if full else 1, 777)
    uniforms = qmc.Sobol(len(model.names), seed=np.random.default_rng(3)).random(2**11 if full else 2**4)
    uniforms = np.clip(uniforms, 1e-12, 1 - 1e-12)
    order = model
    if levels is not None:
        earlier = {
            name: tuple(name for level in levels[:k] for name in level)
            for k, level in enumerate(levels)
            for name in level
        }
        order = replace(model, parents=earlier)

    def predict(table: Any) -> np.ndarray:
        return np.asarray(trees.predict(table.astype(like.dtypes)), dtype=float)

    ideals = order.ideals()
    nu = np.empty((len(rows), len(ideals)))
    for r in range(len(rows)):
        for k, ideal in enumerate(ideals):
            held = {name: rows[name].iloc[r] for name in ideal}
            drawn = model.simulate(uniforms, held) if len(ideal) < len(model.names) else rows.iloc[[r]]
            nu[r, k] = predict(drawn).mean()
    return rows.astype(like.dtypes), order.asv(nu)


def known_works(size: Size) -> list[Work]:
    """The four kinds of structural models, with their DAG and with their three levels."""
    from benchmarks.tables import ASKED, graph_of
    from shap_asv import CausalOrder

    full = size == "full"
    found = []
    for kind in ASKED if full else ["nonlinear"]:
        model = in_three_levels(kind)
        plain = model.sample(2000 if full else 150, 100)
        table, levels = as_categories(plain), levels_of(model)
        trees = booster(table, model.explained(plain), size)
        ways = (("DAG", graph_of(model), None, 1.5), ("levels", CausalOrder.from_levels(levels), levels, 4.0))
        for words, causes, known, seconds in ways:
            asked = Asked(seconds, 3.0, 0.03)
            truth = partial(true_values, model, known, trees, table, full)
            found.append(Work(f"{kind}, {words}", table, trees, causes, asked, truth))
    return found


# --- tables as they are -------------------------------------------------------------------------------------


def wide_work(size: Size, neural: bool = False) -> Work:
    """20 features in levels of 4, 8 and 8 that depend on one another within levels, too, half of them skewed."""
    import pandas as pd

    from shap_asv import CausalOrder

    n_rows = 2000 if size == "full" else 100
    rng = np.random.default_rng(4)
    loadings = rng.normal(size=(6, 20))
    X = rng.normal(size=(n_rows, 6)) @ loadings / 2 + rng.normal(size=(n_rows, 20))
    X[:, ::2] = np.exp(X[:, ::2] / 2)
    names = [f"x{k:02d}" for k in range(20)]
    table = pd.DataFrame(X, columns=names)
    target = X @ rng.normal(size=20) + 3 * (X[:, 0] > 1) * X[:, 5] + 2 * (X[:, 9] * X[:, 13] > 1)
    causes = CausalOrder.from_levels([names[:4], names[4:12], names[12:]])
    if not neural:
        model = booster(table, target, size, 200, 5)
        return Work("20 features, levels of 4/8/8", table, model, causes, Asked(8.0, 25.0, 0.04))
    from sklearn.neural_network import MLPRegressor

    network = MLPRegressor(hidden_layer_sizes=(50, 50), max_iter=200 if size == "full" else 5, random_state=0).fit(
        table, target
    )
    return Work("20 features, a neural network", table, network, causes, Asked(None, None, 0.04, calls=1.5))


def forest_work(size: Size) -> Work:
    """A random forest on the nonlinear kind."""
    from sklearn.ensemble import RandomForestRegressor

    from shap_asv import CausalOrder

    model = in_three_levels("nonlinear")
    table = model.sample(2000 if size == "full" else 100, 100)
    n_trees = 100 if size == "full" else 5
    forest = RandomForestRegressor(n_trees, max_depth=8, random_state=0).fit(table, model.explained(table))
    causes = CausalOrder.from_levels(levels_of(model))
    return Work("random forest, 8 features, levels", table, forest, causes, Asked(None, 6.0, 0.03))


def bike_work(size: Size) -> Work:
    """731 days: what day it is, then the weather."""
    import pandas as pd

    from shap_asv import CausalOrder

    bike = pd.read_csv(DATA / "bike_daily.csv").astype({"season": "category"})
    levels = [["year", "season", "weekday", "workingday"], ["temp", "feel_temp", "humidity", "windspeed"]]
    table = bike[[name for level in levels for name in level]][:: 1 if size == "full" else 7]
    model = booster(table, bike["count"][table.index], size, 200, 5)
    return Work("bike rentals", table, model, CausalOrder.from_levels(levels), Asked(4.0, 6.0, 0.03))


def census_work(size: Size) -> Work:
    """Persons: what they are born with, then education, family and work; categories with gaps."""
    import pandas as pd

    from shap_asv import CausalOrder

    census = pd.read_csv(DATA / "census_income.csv")[:: 1 if size == "full" else 20]
    table = as_categories(census.drop(columns="income"))
    first = ["age", "race", "sex", "native_country"]
    causes = CausalOrder.from_levels([first, [name for name in table if name not in first]])
    model = booster(table, census["income"] == ">50K", size, 200, 5, classes=True)
    return Work("census income", table, model, causes, Asked(8.0, 40.0, 0.04))


# --- what is measured ---------------------------------------------------------------------------------------

WORK_COLUMNS = ("work", "rows", "fit (s)", "explain (s)", "model calls (s)", "standard error", "error against truth")


def counted(model: Any) -> list[float]:
    """CPU seconds of every call of ``model.predict`` from now on."""
    seconds: list[float] = []
    predict = model.predict

    def timed_predict(X: Any) -> Any:
        took, answer = timed(lambda: predict(X))
        seconds.append(took)
        return answer

    model.predict = timed_predict
    return seconds


def measure(work: Work, size: Size) -> tuple:
    """A row of the table of results."""
    from shap_asv import AsymmetricExplainer

    rows = work.table.iloc[:1000] if size == "full" else work.table.iloc[:3]
    options: dict[str, Any] = {"values": "conditional", "seed": 0, "silent": True}
    if size == "small":
        options["n_draws"] = 16
    fit, explainer = timed(lambda: AsymmetricExplainer(work.model, work.table, work.causes, **options))
    calls = counted(work.model) if work.asked.calls else [0.0]
    explain, found = timed(lambda: explainer(rows, silent=True, error_bounds=True))
    drawing = float(np.mean(found.error_std) / np.abs(found.values).mean())
    error = None
    if work.truth is not None:
        known, truth = work.truth()
        error = relative_error(explainer(known, silent=True).values, truth)
    background = str(explainer.masker).splitlines()[0]
    return work.name, len(rows), fit, explain, sum(calls) or None, drawing, error, background


def claims_of(work: Work, row: tuple, full: bool) -> list[Claim]:
    """What is asked of a work, and what came out."""
    _, n_rows, fit, explain, calls, drawing, _, _ = row
    asked = work.asked
    found = [
        (f"{work.name}: seconds to fit", asked.fit, fit, "{:.1f} s"),
        (f"{work.name}: seconds to explain {n_rows:,} rows", asked.explain, explain, "{:.1f} s"),
        (f"{work.name}: seconds to explain / seconds of the model's own calls", asked.calls, explain, "{:.2f}"),
        (f"{work.name}: standard error / mean |value|", asked.drawing, drawing, "{:.3f}"),
    ]
    found[2] = (*found[2][:2], explain / (calls or np.inf), found[2][3])
    return [
        Claim(text, f"at most {most:g}", form.format(value), value <= most if full else None)
        for text, most, value, form in found
        if most is not None
    ]


# --- what else one may hand over ------------------------------------------------------------------------------


def ways(work: Work) -> dict[str, Callable[[], Any]]:
    """Explainers of a model along its DAG, in place of the table's conditional values."""
    from shap_asv import AsymmetricExplainer

    options: dict[str, Any] = {"seed": 0, "silent": True}
    model, table, dag = work.model, work.table, work.causes
    return {
        '`values="marginal"`, X and the DAG': lambda: AsymmetricExplainer(
            model, table, dag, values="marginal", **options
        ),
        "cover counts of the trees and the DAG": lambda: AsymmetricExplainer(
            model, causal_graph=dag, feature_perturbation="tree_path_dependent", **options
        ),
    }


def compare_ways(works: Sequence[Work], rows: Sequence[tuple], size: Size) -> tuple[tuple, ...]:
    """For each way: mean, least and greatest error against the truth, and mean seconds, over the four models."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for work, row in zip(works, rows, strict=True):
        found.setdefault(f"X and the {work.name.split(', ')[1]}", []).append((row[6], row[2], row[3]))
        if not work.name.endswith("DAG"):
            continue
        assert work.truth is not None
        known, truth = work.truth()
        for way, make in ways(work).items():
            fit, explainer = timed(make)
            table = work.table.iloc[:1000] if size == "full" else work.table.iloc[:3]
            explain, _ = timed(partial(explainer, table, silent=True))
            error = relative_error(explainer(known, silent=True).values, truth)
            found.setdefault(way, []).append((error, fit, explain))
    told = []
    for way, each in found.items():
        errors, fits, explains = np.array(each).T
        told.append((way, errors.mean(), errors.min(), errors.max(), fits.mean(), explains.mean()))
    return tuple(sorted(told, key=lambda row: row[1]))


# --- peers ------------------------------------------------------------------------------------------------------


def peer_work(work: Work, model: Any, full: bool) -> tuple[Any, Any]:
    """A work of numbers as everybody can read it, and from nu (rows, coalitions) to attributions."""
    from benchmarks.peers.table_work import TableWork
    from shap_asv import CausalOrder
    from shap_asv.orders.weights import weigh_ideals

    names = list(work.table)
    dag = isinstance(work.causes, CausalOrder) is False
    order = CausalOrder.from_edges(model.edges, features=names) if dag else work.causes
    weights = weigh_ideals(order)
    at = [order.features.index(name) for name in names]
    known = work.truth()[0] if work.truth is not None else work.table[:0]
    rows = np.concatenate([known.to_numpy(dtype=float), work.table.to_numpy(dtype=float)])[: 1000 if full else 2]
    told = TableWork(
        names,
        "f" * len(names),
        work.table.to_numpy(dtype=float),
        rows,
        np.asarray(weights.coalitions)[:, at],
        {"xgboost": bytes(work.model.get_booster().save_raw("json")).decode()},
        edges=[list(edge) for edge in model.edges] if dag else None,
        levels=None if dag else levels_of(model),
        n_draws=1024 if full else 16,
    )
    return told, weights.matrix[:, at]


def compare_peers(works: Sequence[Work], size: Size) -> tuple[list[tuple], list[Claim]]:
    """1,000 rows by peers and by us; errors against the truth, of the first rows."""
    from benchmarks.peers.environments import Missing
    from benchmarks.peers.table_participants import SOME_ROWS, WHOLE_TABLE, answers
    from benchmarks.table_peers import workers_of

    full, rows, claims = size == "full", [], []
    with workers_of(size) as workers:
        for work in works:
            kind, way = work.name.split(", ")
            if kind == "mixed" or work.truth is None:
                continue
            told, matrix = peer_work(work, in_three_levels(kind), full)
            truth = work.truth()[1]
            mine, others = None, {}
            for peer, answer in answers(told, (WHOLE_TABLE, *SOME_ROWS[way]), workers).items():
                if isinstance(answer, Missing):
                    rows.append((work.name, peer.name, "", None, None, None, answer.reason))
                    continue
                found = np.array(answer.nu) @ matrix if answer.values is None else np.array(answer.values)
                error = relative_error(found[: len(truth)], truth[: len(found)])
                rows.append((work.name, peer.name, answer.version, error, answer.fit, answer.seconds, answer.note))
                if peer.ours:
                    mine = (error, answer.fit + answer.seconds)
                else:
                    others[peer.name] = (error, answer.fit + answer.seconds)
            assert mine is not None
            ratios = [(other / mine[0], took / mine[1]) for other, took in others.values()]
            words = "; ".join(f"{name} {other:.3f} in {took:.1f} s" for name, (other, took) in others.items())
            claims.append(
                Claim(
                    f"{work.name}, 1,000 rows, fit included: no peer has the smaller error, none is a quarter as slow",
                    "error at least ours, at least 4 times our seconds",
                    f"ours {mine[0]:.3f} in {mine[1]:.1f} s; {words or 'no peer took part'}",
                    all(error >= 1 and took >= 4 for error, took in ratios) if full and ratios else None,
                )
            )
    return rows, claims


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    known = known_works(size)
    others = (wide_work(size), census_work(size), bike_work(size), forest_work(size), wide_work(size, neural=True))
    rows, claims = [], []
    for work in progress.over([*known, *others], "whole tables"):
        rows.append(measure(work, size))
        claims += claims_of(work, rows[-1], full)
    told, told_claims = compare_peers(known, size)
    tables = (
        Table(
            "works",
            (*WORK_COLUMNS, "background"),
            tuple(rows),
            "CPU seconds of one thread. Standard errors of drawing and errors against the true mechanisms (over 12 "
            "rows) are relative to the mean |value|.",
        ),
        Table(
            "ways",
            ("what is handed over", "error", "least", "greatest", "fit (s)", "explain (s)"),
            compare_ways(known, rows[: len(known)], size),
            "Errors against the true conditional values of the same orders, over the four models with known "
            "mechanisms, and CPU seconds for 1,000 rows (means). The most exact way comes first.",
        ),
        Table(
            "peers",
            ("work", "participant", "version", "error against truth", "fit (s)", "explain (s)", "remark"),
            tuple(told),
            "1,000 rows of the three models of numbers; peers get 1,024 draws, and the weights of the same orders make "
            "attributions of what they say. CPU seconds of one thread.",
        ),
    )
    return Result("whole_tables", WHOLE_TABLES.title, tables, (*claims, *told_claims))


WHOLE_TABLES = Experiment(
    "whole_tables",
    "A whole table, conditional values",
    run,
    about="A background is fitted to a table with a DAG or with levels, and 1,000 of its rows are explained: XGBoost "
    "(100 trees of depth 4; 200 of depth 5 for the wide, the census and the bike table), a random forest and a neural "
    "network. 2,000 rows of the four kinds of structural models, of which the truth is known; census income and bike "
    "rentals. On the models whose truth is known, also what else one may hand over, and peers in the same run.",
)
