"""Peers on the same work: same graph, same value function, same rows, each participant in a fresh process.

Every participant sets itself up, explains one row (*first*), then all rows several times (*warm*, the median), in one
thread. Participants of one piece of work follow each other, so that times which are divided by one another were taken
close together. Errors are against exact values from plain definitions (:mod:`benchmarks.peers.reference`). Small runs
stay inside this process and install nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.experiment import Claim, Experiment, Plot, Progress, Result, Size, Table
from benchmarks.peers.environments import ENVIRONMENTS, Missing, installing_allowed, prepare
from benchmarks.peers.exchange import Answer, Problem
from benchmarks.peers.reference import lattice
from benchmarks.peers.tasks import OURS, SAMPLED, Participant, Task, tasks

ROOT = Path(__file__).parents[2]
TIME_LIMIT = 240
COLUMNS = (
    "work",
    "participant",
    "version",
    "rows",
    "first row, s",
    "all rows, s",
    "all rows, wall s",
    "times ours",
    "first, times ours",
    "model calls",
    "rows through the model",
    "largest error",
    "remark",
)
ABOUT = """Others on the same work: the same graph, the same value function, the same rows. *First row* is setting up
and explaining one row in a fresh process (imports apart, compilers included), *all rows* what all rows take after that
(CPU seconds in one thread; those of a clock on the wall are given too), and *times ours* how many times our time a
participant takes, by the CPU: **below 1, it is faster than we are**. Model calls are those for all rows. The paper's
baseline enumerates topological orders by `networkx.all_topological_sorts` and asks pgmpy for each mean prediction."""


@dataclass
class Outcome:
    """The answer of one participant, or why there is none; its largest error against the exact values."""

    participant: Participant
    answer: Answer | None = None
    missing: str = ""
    error: float | None = None

    @property
    def seconds(self) -> float:
        return float(np.median(self.answer.warm))

    @property
    def first(self) -> float:
        return self.answer.first


def run(size: Size, progress: Progress) -> Result:
    """Every task by every participant."""
    rows: list[tuple] = []
    outcomes: dict[str, list[Outcome]] = {}
    chosen = tasks(size)
    for task in progress.over(chosen, "peers"):
        found = perform(task, size, progress)
        outcomes[task.name] = found
        rows += [table_row(task, outcome, found) for outcome in found if outcome.answer]
    skipped = {
        (outcome.participant.environment or outcome.participant.name, outcome.missing)
        for found in outcomes.values()
        for outcome in found
        if outcome.missing
    }
    tables = [Table("work", COLUMNS, tuple(rows))]
    if skipped:
        tables.append(Table("left_out", ("participant", "why it did not take part"), tuple(sorted(skipped))))
    return Result("peers", "Peers on the same work", tuple(tables), claims(outcomes), notes(outcomes, chosen))


def perform(task: Task, size: Size, progress: Progress) -> list[Outcome]:
    """One task: write the problem, let all work in turns, compare with exact values."""
    small = size == "small"
    outcomes = [Outcome(participant) for participant in task.participants]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        problem = task.problem()
        problem.write(folder)
        for outcome in progress.over(outcomes, task.name):
            answer = answer_of(outcome.participant, folder, small)
            if isinstance(answer, Missing):
                outcome.missing = answer.reason
                continue
            outcome.answer = answer
            if answer.nu is not None:  # others are given what was found
                members = lattice(len(problem.features), problem.edges).members()
                problem.extra.update(nu=np.array(answer.nu), members=members)
                problem.write(folder)
    exact = task.reference(problem) if task.reference else np.array(outcomes[0].answer.values)
    for outcome in outcomes:
        if outcome.answer is not None and outcome.answer.values is not None and outcome.participant.same:
            outcome.error = float(np.abs(np.array(outcome.answer.values) - exact).max())
    return outcomes


def answer_of(participant: Participant, folder: Path, small: bool) -> Answer | Missing:
    """Run one participant; in this process when small, else in a fresh one."""
    options = {"rounds": 1 if small else 3, **participant.options}
    module = f"benchmarks.peers.run_{participant.runner}"
    interpreter = Path(sys.executable)
    if participant.environment is not None:
        if small:
            return Missing("a small run installs nothing")
        prepared = prepare(ENVIRONMENTS[participant.environment], installing_allowed())
        if isinstance(prepared, Missing):
            return prepared
        interpreter = prepared
    if small:
        return importlib.import_module(module).run(folder, Problem.read(folder), options)
    path = folder / "answer.json"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = [str(interpreter), "-W", "ignore", "-m", module, str(folder), json.dumps(options), str(path)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **threads}, capture_output=True, text=True, timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        return Missing(f"stopped after {TIME_LIMIT} s")
    if done.returncode:
        if participant.runner == "ours":
            raise RuntimeError(done.stderr)
        return Missing(done.stderr.strip().splitlines()[-1])
    return Answer.read(path)


def ours(participant: Participant, outcomes: list[Outcome]) -> Outcome:
    """The outcome that this participant's times are divided by."""
    return next(outcome for outcome in outcomes if outcome.participant.name == participant.against)


def table_row(task: Task, outcome: Outcome, outcomes: list[Outcome]) -> tuple:
    participant, answer = outcome.participant, outcome.answer
    base = ours(participant, outcomes)
    remarks = [answer.extrapolated, answer.note]
    if not participant.same:
        remarks.append("another definition: only the time compares")
    if outcome is outcomes[0] and task.reference is None:
        remarks.append("the reference")
    if answer.calls is None:
        remarks.append(f"model calls not counted: {answer.uncounted or 'the participant does not tell'}")
    is_ours = participant.name.startswith(OURS)
    n_rows = None if answer.values is None else len(answer.values)
    return (
        task.title,
        participant.name,
        answer.version,
        n_rows,
        outcome.first,
        outcome.seconds,
        float(np.median(answer.wall)) if answer.wall else None,
        None if is_ours else outcome.seconds / base.seconds,
        None if is_ours else outcome.first / base.first,
        answer.calls,
        answer.evaluated,
        outcome.error,
        "; ".join(remark for remark in remarks if remark),
    )


def claims(outcomes: dict[str, list[Outcome]]) -> tuple[Claim, ...]:
    """What was hoped for, and what came out."""
    every = [(task, outcome) for task, found in outcomes.items() for outcome in found if outcome.answer]
    exact = [
        outcome for _, outcome in every if outcome.participant.runner == "ours" and outcome.participant.name != SAMPLED
    ]
    worst = max((outcome.error or 0.0 for outcome in exact), default=0.0)
    made = [Claim("Our exact values are exact on all of it", "error of at most 1e-9", f"{worst:.0e}", worst <= 1e-9)]
    for text, runner in (
        ("Faster than the paper's baseline (orders or sets, one pgmpy query each)", "naive"),
        ("Faster than causasv", "causasv"),
        ("Faster than pyAgrum on its conditional values", "pyagrum"),
        ("Faster than shap's explainers on Shapley values over a background matrix", "shap"),
    ):
        ratios = [
            (outcome.seconds / ours(outcome.participant, outcomes[task]).seconds, task, outcome.participant.name)
            for task, outcome in every
            if outcome.participant.runner == runner and outcome.participant.same
        ]
        if not ratios:
            made.append(Claim(text, "a ratio above 1 on every piece of work", "did not take part"))
            continue
        low, high = min(ratios), max(ratios)
        measured = f"{low[0]:.2g} ({low[2]}, {low[1]}) to {high[0]:.2g} ({high[2]}, {high[1]}) times our time"
        made.append(Claim(text, "a ratio above 1 on every piece of work", measured, low[0] > 1))
    return tuple(made)


def notes(outcomes: dict[str, list[Outcome]], chosen: list[Task]) -> tuple[str, ...]:
    """Where peers win, said plainly; and what the table does not show."""
    titles = {task.name: task.title for task in chosen}
    wins, early = [], []
    for name, found in outcomes.items():
        for outcome in found:
            participant = outcome.participant
            if not outcome.answer or participant.name.startswith(OURS) or not participant.same:
                continue
            base = ours(participant, found)
            faster, sooner = base.seconds / outcome.seconds, base.first / outcome.first
            error = f" (approximate, error {outcome.error:.0e})" if outcome.error and outcome.error > 1e-6 else ""
            if faster > 1:
                wins.append(f"{participant.name} is {times(faster)} times as fast{error}: {titles[name]}")
            elif sooner > 1:
                early.append(f"{participant.name} by {times(sooner)} times{error}: {titles[name]}")
    said = [f"**Where a peer wins.** {win}." for win in wins]
    said += [f"**Slower in the long run, but sooner done with the first row.** {win}." for win in early]
    said += [f"{task.title}. {task.remark}" for task in chosen if task.remark]
    used = {outcome.participant.environment for found in outcomes.values() for outcome in found if outcome.answer}
    said += [f"{name} has its own environment: {ENVIRONMENTS[name].why}." for name in sorted(filter(None, used))]
    said.append(
        "pyAgrum's causal values intervene on ancestors of the target and average over all orders of them, from a "
        "background sample; ASV conditions (the same as intervening, on ancestral sets) and averages over causal "
        "orders. The two are different answers, so no error is given."
    )
    return tuple(said)


def times(ratio: float) -> str:
    """A ratio for a sentence."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def draw(result: Result) -> list[Plot]:
    """Time of each participant over ours: left of the line they win, right of it we do."""
    import matplotlib.pyplot as plt

    table = result.table("work")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    works = list(dict.fromkeys(row["work"] for row in rows))
    lines = [row for work in works for row in rows if row["work"] == work and row["times ours"] is not None]
    figure, axes = plt.subplots(figsize=(9, 1 + 0.36 * (len(lines) + len(works))))
    place, labels, ticks = 0.0, [], []
    for work in works:
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        transform = axes.get_yaxis_transform()
        axes.text(0.005, place, work, transform=transform, fontsize=8, weight="bold", va="center", bbox=box)
        place += 1
        for row in (line for line in lines if line["work"] == work):
            error = row["largest error"]
            exact = error is not None and error < 1e-6
            colour = "tab:blue" if exact else "tab:orange" if error is not None else "tab:gray"
            axes.plot(row["times ours"], place, "o", color=colour)
            axes.plot(row["first, times ours"], place, "|", color=colour, markersize=11)
            labels.append(row["participant"])
            ticks.append(place)
            place += 1
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", ylim=(place, -1), xlabel="time of the participant / our time (left of the line: faster)")
    axes.set_yticks(ticks, labels, fontsize=8)
    axes.grid(axis="x", alpha=0.3)
    handles = [
        plt.Line2D([], [], linestyle="", marker="o", color="tab:blue", label="exact"),
        plt.Line2D([], [], linestyle="", marker="o", color="tab:orange", label="approximate"),
        plt.Line2D([], [], linestyle="", marker="o", color="tab:gray", label="extrapolated, or another definition"),
        plt.Line2D([], [], linestyle="", marker="|", color="black", markersize=11, label="first row, set-up included"),
    ]
    axes.legend(handles=handles, fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.06), ncols=4, frameon=False)
    return [Plot("ratios", "Times of the peers over ours in the same run; dots: all rows, bars: the first row", figure)]


PEERS = Experiment("peers", "Peers on the same work", run, draw, ABOUT)
