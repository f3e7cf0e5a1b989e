"""How times are taken: CPU seconds of the process, which other work on the machine hardly changes.

What is timed here runs in one thread, so that these are the wall times of an idle machine.
"""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """CPU seconds of one run, and what it returns."""
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def shortest(work: Callable[[], object], repeats: int, enough: float = float("inf")) -> float:
    """CPU seconds of the shortest of several runs: what the work takes when nothing disturbs it.

    A run that takes longer than ``enough`` seconds is the last one.
    """
    taken: list[float] = []
    while len(taken) < repeats and (not taken or taken[-1] < enough):
        taken.append(timed(work)[0])
    return min(taken)
