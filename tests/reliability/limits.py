"""Ctrl-C in the middle of every backend, alone and with two processes: ``python -m tests.reliability.limits``."""

import json
import subprocess
import sys
from pathlib import Path

from tests.reliability.jobs import LONG_JOBS
from tests.reliability.records import Figure, Record, keep

ROOT = Path(__file__).parents[2]


def interrupted(n_jobs: int) -> list[dict]:
    command = [sys.executable, "-m", "tests.reliability.interrupted", str(n_jobs), *LONG_JOBS]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def main() -> None:
    figures = []
    for n_jobs in (1, 2):
        found = interrupted(n_jobs)
        worst = max(found, key=lambda result: result["seconds"] or 0.0)
        over = [result["job"] for result in found if result["seconds"] is None]
        stopped = not over
        figures += [
            Figure(
                f"n_jobs={n_jobs}: backends interrupted in mid-work",
                f"{len(found) - len(over)} of {len(LONG_JOBS)}" + "".join(f"; {job} was over before" for job in over),
                "all",
                stopped,
            ),
            Figure(
                f"n_jobs={n_jobs}: longest wait for KeyboardInterrupt",
                f"{worst['seconds']:.2f} s ({worst['job']})",
                "1 s",
                stopped and worst["seconds"] < 1.0,
            ),
            Figure(
                f"n_jobs={n_jobs}: explainers that give the right values afterwards",
                f"{sum(result['usable'] for result in found)} of {len(found)}",
                "all",
                all(result["usable"] for result in found),
            ),
        ]
    notes = [
        "SIGINT is sent to the process while it works off rows, after everything was compiled.",
        "While a kernel is being compiled, once, then kept on disk, Ctrl-C is heard between the steps of "
        "the compiler: at once when tried, but a single step of LLVM cannot be stopped, nor can a call of the model.",
    ]
    keep(Record("interrupts", "Ctrl-C", "make limits", figures, notes))


if __name__ == "__main__":
    main()
