"""How long a model that is called as a function takes, by its first call and at most one more.

Models differ by a factor of a million: a sum of columns takes microseconds for a thousand rows, a call over the wire a
second for one. The first call, of a few rows, has to be made anyway. Where that leaves open whether time goes by calls
or by rows, a call of more rows tells.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: No row is taken for faster than this: preparing the model's input takes about as long.
FASTEST = 5e-7
# Work that may be planned by an upper bound; a first call after which the model is not called to be timed.
_AT_ONCE, _SLOW = 0.1, 0.25
# Rows of the call that is made to be timed, at most.
_MOST = 256


@dataclass(frozen=True)
class Timed:
    """A call of the model: how many rows, how many seconds."""

    n_rows: int
    seconds: float


class Stopwatch:
    """Predicts what calls of a model take; ``ask(n)`` has it answer n rows, ``first`` was a call of few."""

    def __init__(self, ask: Callable[[int], Any], first: Timed) -> None:
        self._ask, self._first = ask, first
        self._speed: tuple[float, float] | None = None

    def seconds(self, n_rows: int, n_calls: int) -> float:
        """What ``n_rows`` rows in ``n_calls`` calls will take."""
        first, n_calls = self._first, max(1, n_calls)
        size = n_rows / n_calls
        bound = max(n_rows * FASTEST, n_calls * first.seconds * max(1.0, size / first.n_rows))
        more = min(_MOST, int(size))
        if self._speed is None:
            if bound <= _AT_ONCE or first.seconds > _SLOW or more < 4 * first.n_rows:
                return bound
            self._speed = measure(self._ask, first, more)
        per_call, per_row = self._speed
        return n_calls * per_call + n_rows * per_row


def measure(ask: Callable[[int], Any], first: Timed, n_rows: int) -> tuple[float, float]:
    """Seconds of a call beside its rows, and of a row, from the first call and one of ``n_rows``.

    The few rows are asked once more: the first call may have loaded something. Figures are rounded up to half powers of
    two, because plans should not hang on the last digit of a stopwatch.

    >>> per_call, per_row = measure(lambda n: time.sleep(n / 1000), Timed(4, 0.004), 16)
    >>> 1e-3 < per_row < 4e-3
    True
    """
    few, many = _time(ask, first.n_rows), _time(ask, n_rows)
    few = min(few, first.seconds)
    per_row = max(0.0, (many - few) / (n_rows - first.n_rows))
    return _round_up(few - first.n_rows * per_row), _round_up(per_row)


def _time(ask: Callable[[int], Any], n_rows: int) -> float:
    start = time.perf_counter()
    ask(n_rows)
    return time.perf_counter() - start


def _round_up(seconds: float) -> float:
    return FASTEST * 2.0 ** (math.ceil(2 * math.log2(max(1.0, seconds / FASTEST))) / 2)
