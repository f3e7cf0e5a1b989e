"""Ctrl-C in the middle of every backend, alone and with two processes: ``python -m tests.reliability.limits``.

``python -m tests.reliability.limits N_JOBS JOB ...`` interrupts this process (SIGINT, as Ctrl-C sends) in the middle of
each job, and prints a line of JSON per job: the seconds between the signal and the KeyboardInterrupt, and whether the
explainer then gives what a fresh one gives.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from unittest.mock import patch

import numpy as np

from shap_asv.explainer import blocks, execution
from tests.reliability.apart import apart
from tests.reliability.jobs import LONG_JOBS, rows_for
from tests.reliability.records import Figure, Record, keep

#: Rows of the long call: far more than can be explained before the signal comes.
N_ROWS = 20_000
#: Seconds from the first block of rows to the signal; the next one where a job was over before it came.
DELAYS = (0.4, 0.2, 0.1, 0.05, 0.02)


class Alarm:
    """Sends SIGINT to this process, some time after the first block of rows has been started, and notes when."""

    def __init__(self, delay: float) -> None:
        self.sent = float("nan")
        self.delay = delay

    def run_blocks(self, *arguments):
        """Stands before the loop over the blocks."""
        self.timer = threading.Timer(self.delay, self._ring)
        self.timer.start()
        yield from blocks.run_blocks(*arguments)

    def _ring(self) -> None:
        self.sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)


def interrupt(name: str, n_jobs: int) -> dict:
    """Run one job and interrupt it; the first rows are explained before, so that everything is compiled."""
    explainer = LONG_JOBS[name](n_jobs=n_jobs)
    rows = rows_for(explainer, N_ROWS)
    expected = LONG_JOBS[name]()(rows[:3], silent=True).values
    seconds = next(
        (found for delay in DELAYS if (found := wait_for_interrupt(explainer, rows, delay)) is not None), None
    )
    again = explainer(rows[:3], silent=True).values
    return {"job": name, "seconds": seconds, "usable": bool(np.array_equal(again, expected))}


def wait_for_interrupt(explainer, rows, delay: float) -> float | None:
    """Seconds from the signal to the KeyboardInterrupt; None where the job was over before."""
    alarm = Alarm(delay)
    over = False
    try:
        with patch.object(execution, "run_blocks", alarm.run_blocks):
            explainer(rows, silent=True)
        over = True
        alarm.timer.join()
        time.sleep(0.1)  # the signal that came too late arrives here
    except KeyboardInterrupt:
        return None if over else time.perf_counter() - alarm.sent
    return None


def interrupted(n_jobs: int, jobs: Iterable[str]) -> list[dict]:
    """What became of each job, interrupted in a process of its own."""
    return apart("limits", str(n_jobs), *jobs)


def main() -> None:
    figures = []
    for n_jobs in (1, 2):
        found = interrupted(n_jobs, LONG_JOBS)
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
    if len(sys.argv) == 1:
        main()
    else:
        # a process that was started in the background may have inherited that SIGINT is to be ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for job in sys.argv[2:]:
            print(json.dumps(interrupt(job, int(sys.argv[1]))), flush=True)
