"""Windows of series: features that are variables at several times, explained past first or recent first.

Linear forecasts of a Gaussian autoregressive process have closed forms. A structural model has a mechanism for each
variable, shared by its times, whose noise has few levels: all worlds are enumerated (as in ``structural.py``). Where
mechanisms are learned without causes, each time has the values that the series has at any, each counted once.
"""

import warnings
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from shap_asv import CausalOrder, GaussianModel, StructuralModel, lagged
from shap_asv.backends.joint import JointAttributor
from shap_asv.errors import CausalGraphError, ShapAsvWarning, TimeError
from shap_asv.orders.time import window_graph
from shap_asv.times import Times
from tests.oracles import gaussians
from tests.oracles.autoregressions import precedence, window_of_process, windows_by_hand
from tests.reliability.kinds.asking import ALSO_ANCESTRAL, Kind, Question, ask, asked
from tests.reliability.kinds.causality import Causes, digraph, of_graphs, random_edges

CHOICES: dict[str, tuple] = {
    "n_variables": (2, 2, 3, 1),
    "n_lags": (2, 2, 3),
    "static": (False, False, True),
    "order": ("past first", "past first", "recent first"),
    "told": ("distances", "lags", "moments"),
    "graph": ("none", "none", "variables", "features"),
    "background": ("Gaussian", "Gaussian", "mechanisms", "own distributions"),
    "memory": (1, 2),
    "groups": ("none", "none", "time", "variable"),
    "outputs": (1, 1, 2),
    "table": ("series", "panel", "gaps", "polars"),
    "also": ALSO_ANCESTRAL,
}
Moment = tuple[str, int | None]


def _named(moments: list[Moment], told: str) -> tuple[list[str], Any]:
    """Names of features, and what ``from_time`` is told of their times."""
    if told in ("distances", "lags"):
        spelled = {"distances": "{}(t-{})", "lags": "{}_lag{}"}[told]
        names = [name if time is None else spelled.format(name, -time) for name, time in moments]
        return names, names
    names = [f"f{k}" for k in range(len(moments))]
    return names, dict(zip(names, moments, strict=True))


class Mechanism:
    """``X_v(t)`` of what is there of its causes, by how long before t they are, and of the level of its noise."""

    def __init__(self, slopes: dict[str, float], shift: float, noise: np.ndarray) -> None:
        self.slopes, self.shift, self.noise = slopes, shift, noise

    def __call__(self, causes: dict[str, np.ndarray], noise: np.ndarray) -> np.ndarray:
        return self.at(causes, (np.asarray(noise) >= 0.5).astype(int))

    def at(self, causes: dict[str, np.ndarray], level: np.ndarray) -> np.ndarray:
        score = self.shift + self.noise[level]
        for name, values in causes.items():
            score = score + self.slopes[name] * np.sin(2 * np.asarray(values, dtype=float))
        return np.asarray(score)


def _causes_of(moments: list[Moment], edges: list, memory: int, k: int) -> dict[str, int]:
    """The causes of a feature within the memory, by the words of the documentation: seen from it -> position."""
    name, time = moments[k]
    found = {}
    for j, (cause, before) in enumerate(moments):
        if time is None or j == k:
            continue
        if before is None:
            linked, seen = edges is None or (cause, name) in edges, cause
        else:
            later = time - before
            near = 0 <= later <= memory
            own = later > 0 and (edges is None or cause == name)
            linked = near and (own or (edges is not None and (cause, name) in edges))
            seen = f"{cause}(t-{later})" if later else f"{cause}(t)"
        if linked:
            found[seen] = j
    return found


def _worlds(
    mechanisms: dict[str, Mechanism], moments: list[Moment], causes: list, fixed: dict[int, float]
) -> np.ndarray:
    """Every combination of the levels of the noise, equally likely, (worlds, n); what is known is held."""
    levels = np.array(list(product(range(2), repeat=len(moments))), dtype=int)
    values = np.full((len(levels), len(moments)), np.nan)
    waiting = list(range(len(moments)))
    while waiting:
        k = next(k for k in waiting if not set(causes[k].values()) & set(waiting))
        waiting.remove(k)
        seen = {name: values[:, j] for name, j in causes[k].items()}
        values[:, k] = fixed.get(k, mechanisms[moments[k][0]].at(seen, levels[:, k]))
    return values


def _check_windows(case: SimpleNamespace, rng: np.random.Generator) -> None:
    """``lagged`` against a loop over the rows."""
    n_ids = 2 if case.table == "panel" else 1
    dates = np.concatenate([rng.integers(5) + np.arange(rng.integers(6, 14)) for _ in range(n_ids)])
    ids = np.cumsum(np.concatenate([[0], np.diff(dates) != 1]))
    table = pd.DataFrame({"id": ids, "date": dates, "y": rng.normal(size=len(ids)), "x": rng.normal(size=len(ids))})
    table["day"], table["size"] = dates % 7, ids + 0.5
    table.loc[rng.random(len(table)) < 0.1, "y"] = np.nan
    if case.table == "gaps":
        table = table[(rng.random(len(table)) > 0.15) | (np.arange(len(table)) < 2)]
    table = table.sample(frac=1.0, random_state=int(rng.integers(99))).sort_values("date").reset_index(drop=True)
    lags = {name: sorted(rng.choice(np.arange(1, 5), rng.integers(1, 4), replace=False).tolist()) for name in "xy"}
    horizons = sorted(rng.choice(np.arange(1, 4), case.outputs, replace=False).tolist())
    expected = windows_by_hand(table.to_dict("records"), "y", lags, horizons, ["day"])
    told: dict[str, Any] = {"lags": lags, "horizon": horizons, "time": "date", "by": "id", "known": ["day"]}
    given = pl.from_pandas(table) if case.table == "polars" else table
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "dates are missing", ShapAsvWarning)
        if not expected:
            with pytest.raises(TimeError, match="no window fits"):
                lagged(given, "y", **told, static=["size"])
            return
        windows = lagged(given, "y", **told, static=["size"])
    assert windows.rows.tolist() == list(expected)
    X = windows.X.to_pandas() if case.table == "polars" else windows.X
    for (name, time), column in zip(windows.times.moments, X.to_numpy(dtype=float).T, strict=True):
        cells = [table.loc[row, name] if time is None else held[name, time] for row, (held, _) in expected.items()]
        np.testing.assert_array_equal(column, cells)
    assert len(windows.times.moments) == 1 + len(next(iter(expected.values()))[0])
    assert np.asarray(windows.y).tolist() == [targets for _, targets in expected.values()]


def check(case: SimpleNamespace) -> None:
    rng = np.random.default_rng([case.seed, 8])
    _check_windows(case, rng)
    structural = case.background != "Gaussian"
    # 64 worlds: 4,096 draws have each of them equally often
    many = structural and case.n_variables * case.n_lags + case.static > 6
    n_lags, static = (2, False) if many else (case.n_lags, case.static)
    moments, mean, covariance = window_of_process(rng, case.n_variables, n_lags, static)
    shuffled = rng.permutation(len(moments))
    moments, mean, covariance = [moments[k] for k in shuffled], mean[shuffled], covariance[np.ix_(shuffled, shuffled)]
    order = "past first" if case.background == "mechanisms" else case.order
    names, told = _named(moments, case.told)
    times, n = Times.read(told), len(names)

    # edges between variables, at all times; or between features of one time
    variables = [f"x{v}" for v in range(case.n_variables)]
    summary = [(variables[a], variables[b]) for a, b in random_edges(case.n_variables, rng)]
    if static and rng.random() < 0.5:
        summary.append(("age", variables[0]))
    at = {moment: k for k, moment in enumerate(moments)}
    inner = [(at[a, -lag], at[b, -lag]) for lag in range(1, n_lags + 1) for a, b in summary if a != "age"]
    graph: Any = {"none": None, "variables": summary}.get(case.graph, [(names[a], names[b]) for a, b in inner])
    within = [] if graph is None else inner
    edges = precedence(moments, order, within)
    causal_order = CausalOrder.from_time(told, order, graph)
    causes = Causes({"causal_graph": causal_order}, *of_graphs(n, [edges]), one_graph=True)

    slopes = rng.normal(size=(n, case.outputs))
    inputs = rng.normal(size=(3 * n + 3, n))
    target = inputs @ slopes + 0.7
    model = LinearRegression().fit(pd.DataFrame(inputs, columns=names), target if case.outputs > 1 else target[:, 0])
    background: Any
    sampled = None
    if case.background == "Gaussian":
        background = GaussianModel(mean, covariance, names)
        rows = rng.multivariate_normal(mean, covariance, size=2)

        def means(row: np.ndarray, members: list[int]) -> np.ndarray:
            return gaussians.conditional(mean, covariance, row, members)[0]

    elif case.background == "mechanisms":
        known = None if graph is None else summary
        known_causes = [_causes_of(moments, known, case.memory, k) for k in range(n)]
        if case.graph == "features":  # what is static causes nothing then, and nothing passes a time but one's own
            known_causes = [
                {seen: j for seen, j in own.items() if moments[j][1] == moments[k][1] or moments[j][0] == moments[k][0]}
                for k, own in enumerate(known_causes)
            ]
        every = {seen for own in known_causes for seen in own}
        mechanisms = {
            name: Mechanism({seen: rng.normal() for seen in sorted(every)}, rng.normal(), np.sort(rng.normal(size=2)))
            for name in times.variables
        }
        whole = _worlds(mechanisms, moments, known_causes, {})
        rows = whole[rng.integers(len(whole), size=2)]
        background = StructuralModel.fit(
            pd.DataFrame(whole, columns=names),
            window_graph(times, graph, case.memory),
            dict(mechanisms),
            seed=0,
            silent=True,
            shared=times,
        )

        def means(row: np.ndarray, members: list[int]) -> np.ndarray:
            return _worlds(mechanisms, moments, known_causes, {k: row[k] for k in members}).mean(axis=0)

    else:
        series = {name: np.arange(1.0, 15) ** 2 * rng.uniform(0.5, 2) + rng.normal(size=14) for name in variables}
        last = 14 - n_lags + 1
        table = np.stack(
            [np.full(last, 1.5) if time is None else series[name][n_lags + time :][:last] for name, time in moments],
            axis=1,
        )
        rows = table[rng.integers(last, size=2)]
        empty = digraph(names, [])
        background = StructuralModel.fit(pd.DataFrame(table, columns=names), empty, seed=0, silent=True, shared=times)
        pooled = np.array([1.5 if time is None else series[name].mean() for name, time in moments])

        def means(row: np.ndarray, members: list[int]) -> np.ndarray:
            found = pooled.copy()
            found[members] = row[members]
            return found

    def nu(r: int, members: frozenset[int]) -> np.ndarray:
        return np.asarray(means(rows[r], sorted(members)) @ slopes + 0.7)

    scale = max(1.0, float(np.abs(rows).max() * np.abs(slopes).sum()))
    if case.background == "own distributions":
        sampled = 0.005 * scale
    elif structural:
        sampled = 1e-9 * scale
    explainer = asked(model, background, causes, names, case)
    question = Question(explainer, pd.DataFrame(rows, columns=names), names, causes, nu, 1e-9 * scale, sampled)
    with pytest.MonkeyPatch.context() as patch:
        if case.background == "mechanisms":
            patch.setattr(JointAttributor, "_fewest_rows", lambda *_: 0)  # all orders for each noise
        if case.groups == "none" or (case.groups == "variable" and case.background == "mechanisms"):
            ask(question, case.also)
            _check_sums(question, times, order)
        else:
            _ask_groups(question, times, order, case, rng)


def _check_sums(question: Question, times: Times, order: str) -> None:
    """Values of a time add up to what it adds to the mean of the forecast, time after time."""
    found = times.summed(question.explainer()(question.X, silent=True))
    levels = [
        time for time in (-np.inf, *(times.steps if order == "past first" else times.steps[::-1])) if time in times.at
    ]
    labels = ["static" if time == -np.inf else f"t{time:+g}" for time in levels]
    values = np.asarray(found.values).reshape(len(question.X), len(labels), -1)
    atol = question.slack(found.error_std)
    for r in range(len(question.X)):
        members: frozenset[int] = frozenset()
        for label, level in zip(labels, levels, strict=True):
            before, members = members, members | frozenset(np.flatnonzero(times.at == level).tolist())
            gained = question.nu(r, members) - question.nu(r, before)
            np.testing.assert_allclose(values[r, found.feature_names.index(label)], gained, rtol=0, atol=atol)


def _ask_groups(question: Question, times: Times, order: str, case: SimpleNamespace, rng: np.random.Generator) -> None:
    """Times as players in their order; variables come before each other: as players they have causes of their own."""
    groups = times.groups(case.groups)
    alone = [name for name, time in zip(times.features, times.moments, strict=True) if time[1] is None]
    players = [*alone, *groups]
    sets = [tuple(question.names.index(name) for name in groups.get(player, [player])) for player in players]
    told: dict[str, Any] = {"groups": groups}
    if case.groups == "time":
        steps = times.steps if order == "past first" else times.steps[::-1]
        chain = [*alone, *(f"t{step:+g}" for step in steps)]
        assert set(chain) == set(players)
        causes = Causes({}, [tuple(players.index(player) for player in chain)], np.ones(1))
    else:
        if case.n_variables > 1:
            with pytest.raises(CausalGraphError, match="come before each other"):
                question.explainer(**told)
        edges = random_edges(len(players), rng)
        causes = Causes({}, *of_graphs(len(players), [edges]))
        told["causal_graph"] = digraph(players, edges)

    def nu(r: int, members: frozenset[int]) -> Any:
        return question.nu(r, frozenset(v for g in members for v in sets[g]))

    def of_groups(**more: Any) -> Any:
        return question.explainer(**{**told, **more})

    grouped = Question(of_groups, question.X, players, causes, nu, question.exact, question.sampled)
    ask(grouped, case.also)


TIME = Kind(
    "time",
    2,
    CHOICES,
    check,
    "up to 3 variables at up to 3 times, sometimes with one that has none, past first or recent first, with or without "
    "a graph between variables or between features, times told in three ways; players are features, times or "
    "variables. Linear forecasts of Gaussian autoregressive processes by closed forms, shared mechanisms with noise of "
    "two levels by all worlds, both to 1e-9 of the scale; distributions learned from all times by the mean of the "
    "series, each value counted once. What the times add up to is the update of the mean, and windows (panels, gaps, "
    "several horizons, polars) are those of a loop over rows.",
)
