"""Planned seconds and memory against what is taken, over the grid of ``problems.py``.

``python -m tests.reliability.plans`` runs all problems and keeps a record; ``python -m tests.reliability.plans WORD``
runs those whose name contains the word and only prints. Each problem runs in a process of its own. What is compiled
lies on disk and is loaded before: an explainer is made twice, and the second one is timed. The factors by which
constants of ``shap_asv.costs`` are off are printed, too.
"""

import argparse
import gc
import json
import math
import os
import sys
import time
import warnings
from typing import Any

from shap_asv.costs import SECONDS
from tests.reliability.apart import Peak, apart
from tests.reliability.problems import GRID
from tests.reliability.records import Figure, Record, keep

#: A plan says "< 0.1 s" below this, and nobody waits: such times are all alike. So is memory below the second figure.
AT_ONCE, LITTLE = 0.1, 64 * 2**20
#: Factors between planned and taken seconds: of nearly all problems, and of all.
CLOSE, FAR, NEARLY_ALL = 3.0, 10.0, 0.8
#: Libraries read this once, when they are loaded: threads that wait for a busy core would be timed, too.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def measure(name: str) -> dict[str, Any]:
    """One problem in this process: planned and taken seconds (of the CPU) and bytes."""
    case = GRID[name]
    rows = case.rows(case.n_rows)
    # the fit of model and background, and the network as read, are the user's
    for _ in range(2):
        explainer = case.make(**{"seed": 0, **case.options})
        plan = explainer.plan(rows)
        gc.collect()
        start = time.process_time()
        with Peak() as peak:
            explainer(rows, silent=True)
        seconds = time.process_time() - start
    cost = plan.chosen.cost
    spent = {name: count * SECONDS[name] for name, count in cost.operations.items()}
    spent["the model, as timed"] = plan.seconds - cost.seconds
    return {
        "backend": plan.chosen.name,
        "most": max(spent, key=spent.__getitem__),
        "planned": plan.seconds,
        "taken": seconds,
        "planned_memory": plan.memory,
        "taken_memory": peak.used,
    }


def ratio(planned: float, taken: float) -> float:
    """How many times too long (or, below 1, too short) a plan is; times that nobody notices are all alike."""
    return max(planned, AT_ONCE) / max(taken, AT_ONCE)


def judge(found: dict[str, Any]) -> tuple[float, bool]:
    """The factor between planned and taken seconds, at least 1, and whether the memory is enough."""
    factor = ratio(found["planned"], found["taken"])
    enough = found["planned_memory"] >= found["taken_memory"] / 2 or found["taken_memory"] <= LITTLE
    return max(factor, 1 / factor), enough


def summarise(measured: dict[str, dict[str, Any]]) -> list[Figure]:
    """What is asked of the grid, and what was found."""
    factors = {name: judge(found)[0] for name, found in measured.items()}
    close = sum(factor <= CLOSE for factor in factors.values())
    enough = sum(judge(found)[1] for found in measured.values())
    worst = max(factors, key=factors.__getitem__)
    return [
        Figure(
            f"planned seconds within a factor {CLOSE:g} of those taken",
            f"{close} of {len(factors)} problems",
            f"{NEARLY_ALL:.0%}",
            close >= NEARLY_ALL * len(factors),
        ),
        Figure("the worst factor", f"{factors[worst]:.1f} ({worst})", f"at most {FAR:g}", factors[worst] <= FAR),
        Figure(
            "planned memory at least half of what is taken",
            f"{enough} of {len(factors)} problems",
            "all",
            enough == len(factors),
        ),
    ]


def paces(measured: list[dict[str, Any]]) -> list[Figure]:
    """By how much the constant of an operation is off: over the problems that it has most of the planned seconds of."""
    factors: dict[str, list[float]] = {}
    for found in measured:
        if max(found["planned"], found["taken"]) > AT_ONCE:
            factors.setdefault(found["most"], []).append(math.log(ratio(found["taken"], found["planned"])))
    return [
        Figure(
            f"{operation}: its constant should be larger by the factor",
            f"{math.exp(sum(logs) / len(logs)):.2f}, by {len(logs)} problems",
            "near 1",
            abs(sum(logs) / len(logs)) <= math.log(CLOSE),
        )
        for operation, logs in sorted(factors.items())
    ]


def main(word: str = "") -> None:
    warnings.simplefilter("ignore")
    measured = {}
    for name in GRID:
        if word in name:
            found = measured[name] = apart("plans", "--one", name)[0]
            print(f"{ratio(found['planned'], found['taken']):7.2f}  {name} ({found['backend']})", flush=True)
    figures = [
        Figure(
            f"{name} ({found['backend']})",
            f"planned {found['planned']:,.2f} s, {found['planned_memory'] / 2**20:,.0f} MiB; "
            f"taken {found['taken']:,.2f} s, {found['taken_memory'] / 2**20:,.0f} MiB",
            f"factor at most {FAR:g}, half of the memory",
            bool(judge(found)[0] <= FAR and judge(found)[1]),
        )
        for name, found in measured.items()
    ]
    summary = summarise(measured) + paces(list(measured.values()))
    if word:
        for figure in summary + figures:
            print(figure)
        return
    notes = [
        "Each problem runs in a process of its own, one thread, all compiled and loaded; seconds of the CPU. "
        f"Seconds below {AT_ONCE:g} count as {AT_ONCE:g} (a plan says no more than that), and memory below "
        f"{LITTLE // 2**20} MiB is not asked for.",
    ]
    keep(Record("plans", "Plans against what is taken", "python -m tests.reliability.plans", summary + figures, notes))


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description="Planned seconds and memory against what is taken.")
    reader.add_argument("word", nargs="?", default="", help="run the problems whose name contains it, keep no record")
    reader.add_argument("--one", help="run this problem in this process, and print what was measured")
    options = reader.parse_args()
    if not ONE_THREAD.items() <= os.environ.items():
        again = [sys.executable, "-m", "tests.reliability.plans", *sys.argv[1:]]
        os.execve(sys.executable, again, os.environ | ONE_THREAD)
    if options.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(options.one)))
    else:
        main(options.word)
