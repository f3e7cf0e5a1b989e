"""Small problems: what a call costs at least, how soon the first row is there, and ten rows beside a joint table.

A decision tree on the network asia, 7 features, in fresh processes, one thread, CPU time. Imports are not
counted. *First row* is setting up and explaining one row: we read the model and the network, check them and make a
plan; the paper's baseline is taken as in the experiment ``peers``, with its network built beforehand, and once more
with that counted. *Warm* is a call when nothing is new any more, the median over the calls of a process.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table, draw_nothing
from benchmarks.peers.comparison import answer_of
from benchmarks.peers.environments import Missing
from benchmarks.peers.exchange import Problem
from benchmarks.peers.tasks import OURS, Participant, tasks

CAUSASV = "causasv, nu from the joint table"
BASELINE = "the paper's baseline: ancestral sets, a pgmpy query each"
BASELINE_SET_UP = f"{BASELINE}, set-up counted"
PARTICIPANTS = (
    Participant(OURS, "ours", {"work": "network", "rounds": 15}),
    Participant(CAUSASV, "causasv", {"values": "joint", "rounds": 15}, "causasv"),
    Participant(BASELINE, "naive", {"memory": "sets", "rounds": 3}),
    Participant(BASELINE_SET_UP, "naive", {"memory": "sets", "rounds": 3, "set up": True}),
)
ASKED_CALL, ASKED_FIRST, ASKED_ROWS = 2.0, 2.0, 1.0
# ours by this experiment on the code before it was looked at (f729b74): one row warm, first row, ten rows warm; ms
BEFORE = (3.59, 34.4, 3.30)


def run(size: Size, progress: Progress) -> Result:
    small = size == "small"
    problem = next(task for task in tasks(size) if task.name == "asia_network").problem()
    single = replace(problem, rows=problem.rows[:1])
    found: dict[str, list[tuple[float, float, float]]] = {}
    missing: dict[str, str] = {}
    for _ in progress.over(range(1 if small else 3), "small"):  # in turns: what is divided was taken close together
        for participant in PARTICIPANTS:
            times = _times(participant, single, problem, small)
            if isinstance(times, Missing):
                missing[participant.name] = times.reason
            else:
                found.setdefault(participant.name, []).append(times)
    rows = {
        name: tuple(1e3 * float(np.median(column)) for column in zip(*times, strict=True))
        for name, times in found.items()
    }
    n_rows = len(problem.rows)
    columns = ("participant", "one row, warm (ms)", "first row (ms)", f"{n_rows} rows, warm (ms)")
    caption = "CPU milliseconds, one thread; medians over processes that took turns."
    table = [
        (name, *(None if np.isnan(cell) else cell for cell in times))
        for name, times in {f"{OURS}, before": BEFORE, **rows}.items()
    ]
    notes = tuple(f"{name} did not take part: {why}." for name, why in missing.items())
    return Result("small", SMALL.title, (Table("times", columns, tuple(table), caption),), claims(rows, small), notes)


def _times(participant: Participant, single: Problem, problem: Problem, small: bool) -> tuple[float, ...] | Missing:
    """Seconds of a warm call with one row (ours only), of the first row, and of a warm call with all rows."""
    warm = [float("nan")]
    for asked in (single, problem) if participant.name == OURS else (problem,):
        with tempfile.TemporaryDirectory() as folder:
            asked.write(Path(folder))
            answer = answer_of(participant, Path(folder), small)
        if isinstance(answer, Missing):
            return answer
        warm.append(float(np.median(answer.warm)))
        first = answer.first
    return warm[-2], first, warm[-1]


def claims(rows: dict[str, tuple[float, ...]], small: bool) -> tuple[Claim, ...]:
    ours, baseline = rows[OURS], rows[BASELINE]
    late = ours[1] / baseline[1]
    all_told = ours[1] / rows[BASELINE_SET_UP][1]
    made = [
        Claim(
            "the fixed cost of a call: one row of asia, everything warm",
            f"at most {ASKED_CALL:g} ms",
            f"{ours[0]:.2f} ms ({BEFORE[0]:.2f} ms before)",
            None if small else ours[0] <= ASKED_CALL,
        ),
        Claim(
            "first row in a fresh process, against the paper's baseline",
            f"at most {ASKED_FIRST:g} times",
            f"{late:.2f} times, {ours[1]:.1f} ms against {baseline[1]:.1f} ms ({BEFORE[1]:.1f} ms before); "
            f"{all_told:.2f} times where its set-up is counted too",
            None if small else late <= ASKED_FIRST,
        ),
    ]
    if CAUSASV in rows:
        ratio = ours[2] / rows[CAUSASV][2]
        made.append(
            Claim(
                "ten rows, against causasv with its joint table",
                f"at most {ASKED_ROWS:g} times",
                f"{ratio:.2f} times, {ours[2]:.2f} ms against {rows[CAUSASV][2]:.2f} ms ({BEFORE[2]:.2f} ms before)",
                None if small else ratio <= ASKED_ROWS,
            )
        )
    return tuple(made)


SMALL = Experiment(
    "small",
    "Small problems",
    run,
    draw_nothing,
    "A decision tree on the network asia: what a call costs at least, how soon the first row is there, and ten rows "
    "beside causasv with a joint table. Imports are not counted. Our first row includes reading and "
    "checking model and network, a plan, and what scikit-learn does once in a process before it answers at all.",
)
