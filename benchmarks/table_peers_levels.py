"""Peers on tables without a DAG: ``python -m benchmarks table_peers_levels``.

Gaussian features in levels, bike rentals, and Shapley values without causes of linear models and of trees, by the
participants of :mod:`benchmarks.table_peers` and by shap's own explainers and woodelf.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.peers.table_participants import (
    CONDITIONAL,
    DOWHY,
    GAUSSIAN,
    GROUND,
    LINEAR,
    SHAPIQ,
    answers,
    tree_peers,
)
from benchmarks.peers.table_tasks import bike_work, level_work, linear_work
from benchmarks.peers.workers import Workers
from benchmarks.table_peers import (
    COLUMNS,
    Outcome,
    left_out_table,
    outcomes_of,
    relative_error,
    winners,
    workers_of,
)

BIKES = "bike rentals"
#: Times of trees that are compared: rows once two of them have gone first, and with that and the reading of the model.
TIMES = {"once set up": attrgetter("answer.seconds"), "setting up included": attrgetter("seconds")}


def of_levels(full: bool, progress: Progress, workers: Workers | None, left_out: set) -> list[Outcome]:
    outcomes = []
    for width in progress.over((12, 16) if full else (4,), "levels"):
        work, weights, truth = level_work(width, full)
        name = f"{width} Gaussian features in four levels, XGBoost"
        for one in outcomes_of(name, work, (GAUSSIAN, SHAPIQ["gaussian"], SHAPIQ["copula"]), workers, left_out):
            one.error = relative_error(np.array(one.answer.nu) @ weights.matrix, truth)
            outcomes.append(one)
    return outcomes


def of_bikes(full: bool, workers: Workers | None, left_out: set) -> list[Outcome]:
    """The root mean square of ``f(x) - nu(S)`` over held-out days and coalitions, by their weight: no truth is needed,
    and nothing can beat the true conditional mean.
    """
    work, weights, predicted = bike_work(full)
    inner = work.coalitions.any(axis=1) & ~work.coalitions.all(axis=1)
    share = np.abs(np.asarray(weights.matrix.todense() if hasattr(weights.matrix, "todense") else weights.matrix))
    share = share.sum(axis=1)[inner] / share.sum(axis=1)[inner].sum()
    outcomes = outcomes_of(BIKES, work, (CONDITIONAL, GAUSSIAN, DOWHY[0], *SHAPIQ.values()), workers, left_out)
    for one in outcomes:
        if one.peer.peeks:
            one.answer.note += ": does not count"
        misses = (predicted[:, None] - np.array(one.answer.nu)[:, inner]) ** 2
        one.error = float(np.sqrt((misses @ share).mean()))
    return outcomes


def of_linear_models(full: bool, progress: Progress, workers: Workers | None, left_out: set) -> list[Outcome]:
    outcomes = []
    for width in progress.over((12, 16) if full else (4,), "linear"):
        work, exact = linear_work(width, full)
        for one in outcomes_of(f"linear model, {width} Gaussian features", work, LINEAR, workers, left_out):
            one.error = relative_error(np.array(one.answer.values), exact)
            outcomes.append(one)
    return outcomes


def of_trees(full: bool, workers: Workers | None, left_out: set) -> list[Outcome]:
    """XGBoost on the days that it was fitted to, with its cover counts and with background rows."""
    work = bike_work(full)[0]
    work = replace(work, rows=work.table[: None if full else 20])
    outcomes = []
    for ground in (0, GROUND):
        peers = tree_peers(ground)
        # here, not where it is timed: what we compile is then on disk, as on any machine but for the first call
        answers(work, tuple(peer for peer in peers if peer.ours), None)
        behind = f"{ground} background rows" if ground else "cover counts"
        found = outcomes_of(
            f"XGBoost on {len(work.rows)} days of bike rentals, {behind}", work, peers, workers, left_out
        )
        exact = next(np.array(one.answer.values) for one in found if one.peer == peers[1])
        for one in found:
            one.error = (
                relative_error(np.array(one.answer.values), exact) if one.peer.same and one.peer != peers[1] else None
            )
        outcomes += found
    return outcomes


def tree_claims(trees: list[Outcome], full: bool) -> list[Claim]:
    """Claims a piece of work, with the setting up and without: our time is shorter than that of each peer."""
    made = []
    for work in dict.fromkeys(one.work for one in trees):
        own = [one for one in trees if one.work == work]
        for what, seconds in TIMES.items():
            mine = next(seconds(one) for one in own if one.peer.ours and one.peer.same)
            others = {one.peer.name: seconds(one) / mine for one in own if not one.peer.ours}
            made.append(
                Claim(
                    f"trees without a network: faster than every peer, {what}, {work}",
                    "each takes more than 1 times our time",
                    ", ".join(f"{name} {ratio:.2g} times" for name, ratio in others.items()),
                    min(others.values()) > 1 if full else None,
                )
            )
    return made


def quickest(trees: list[Outcome]) -> list[str]:
    """A sentence a piece of work on trees, where all compute the same."""
    told = []
    for work in dict.fromkeys(one.work for one in trees):
        sentence = f"**{work}.**"
        own = [one for one in trees if one.work == work and one.peer.same]
        for what, seconds in TIMES.items():
            taken = sorted((seconds(one), one.peer.name) for one in own)
            sentence += f" Quickest, {what}: " + ", ".join(f"{name} ({took:.2g} s)" for took, name in taken) + "."
        told.append(sentence)
    return told


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    left_out: set[tuple[str, str, str]] = set()
    with workers_of(size) as workers:
        levels = of_levels(full, progress, workers, left_out)
        bikes = of_bikes(full, workers, left_out)
        linear = of_linear_models(full, progress, workers, left_out)
        trees = of_trees(full, workers, left_out)
    tables = (
        Table(
            "levels",
            COLUMNS,
            tuple(one.row() for one in levels),
            "Relative error is mean |error| / mean |ASV|, against the Gaussian that the rows were drawn from; 2,000 "
            "rows, 20 of them explained, 1,024 draws each.",
        ),
        Table(
            "bikes",
            (*COLUMNS[:4], "miss on held-out days", *COLUMNS[5:]),
            tuple(one.row() for one in bikes),
            "Bike rentals have no known mechanisms. The root mean square of prediction minus nu(S), over held-out days "
            "and the coalitions of three levels, by their weight in ASV: smaller is better. 512 draws each.",
        ),
        Table(
            "shapley",
            COLUMNS,
            tuple(one.row() for one in linear + trees),
            "Shapley values without causes. Errors of the linear models are against all coalitions in closed form, "
            "those of the trees against shap.TreeExplainer. Two rows go first and count as *fit*: what is compiled, "
            "loaded or sampled once is in it. Then all rows, the shortest of up to five times.",
        ),
    )
    told = winners(levels) + winners(bikes, truth=False) + winners(linear) + quickest(trees)
    made = tuple(tree_claims(trees, full))
    return Result(
        TABLE_PEERS_LEVELS.name, TABLE_PEERS_LEVELS.title, tables + left_out_table(left_out), made, tuple(told)
    )


TABLE_PEERS_LEVELS = Experiment(
    "table_peers_levels",
    "Peers on tables without a DAG",
    run,
    about="Others on the same table, the same model and the same coalitions, where no DAG is known: shapiq's imputers, "
    "dowhy.gcm with arrows from each level to all later ones, shap's LinearExplainer with covariance, and for trees "
    "shap's and shapiq's TreeExplainer and woodelf, with cover counts and with background rows (more rows, larger "
    "models: *Tree ensembles without a network*). CPU seconds of one thread, imports apart; what peers compile is "
    "included, what we compile once on a machine is on disk (*The first call on a machine* has what that takes).",
)
