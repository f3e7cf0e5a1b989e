"""A process that is interrupted (SIGINT, as Ctrl-C sends) in the middle of each of a few jobs, and goes on afterwards.

``python -m tests.reliability.interrupted <n_jobs> <job> ...`` prints a line of JSON per job: the seconds between the
signal and the KeyboardInterrupt, and whether the explainer then gives what a fresh one gives.
"""

import json
import os
import signal
import sys
import threading
import time
from unittest.mock import patch

import numpy as np

from shap_asv.explainer.running import blocks, execution
from tests.reliability.jobs import LONG_JOBS, rows_for

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


if __name__ == "__main__":
    # a process that was started in the background may have inherited that SIGINT is to be ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for job in sys.argv[2:]:
        print(json.dumps(interrupt(job, int(sys.argv[1]))), flush=True)
