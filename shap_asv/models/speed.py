"""How long a model takes for a row, as far as a plan has to know.

Models differ by a factor of a million: a vectorised sum takes microseconds for a thousand rows, a call over the wire
takes a second for one. A plan that does not ask would promise seconds and take days. So the model is timed: by its
first call, which has to be made anyway, and only where that leaves the matter open by a few calls more.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: No model is taken for faster than this: preparing its input takes about as long.
FASTEST = 5e-6
# Work that may be planned by an upper bound: nobody waits for it.
_AT_ONCE = 1.0
# A call that takes as long as the first is not enough, nor are a few milliseconds, to tell what a row costs.
_LONG_ENOUGH, _SO_MUCH_LONGER = 0.02, 3.0
# After a call that takes as long as this the model is not asked again.
_PATIENCE = 0.25
_GROWTH, _MOST = 4, 16_384


@dataclass(frozen=True)
class Timed:
    """A call of the model: how many rows, how many seconds."""

    n_rows: int
    seconds: float

    def at_most(self, n_rows: int) -> float | None:
        """What ``n_rows`` take when each takes as long as one of this call's; None if that is worth a closer look.

        An upper bound: what a call costs beside its rows is counted for each of them.

        >>> Timed(4, 0.002).at_most(100), Timed(4, 0.002).at_most(10**6)
        (0.05, None)
        """
        each = max(FASTEST, self.seconds / self.n_rows)
        return n_rows * each if n_rows * each <= _AT_ONCE or each <= FASTEST else None


def seconds_per_row(ask: Callable[[int], Any], first: Timed) -> float:
    """What a row more costs in a large call: ``ask(n)`` has the model answer n rows, ``first`` was a call of few.

    Calls grow until one shows that the model is fast, or takes clearly longer than the first; the slope between the
    two counts, since what a call costs beside its rows is not theirs. A model that took a second for its first rows is
    not asked again. Never less than :data:`FASTEST`, and rounded up to it times a power of two: plans should not hang
    on the last digit of a stopwatch.

    >>> import time
    >>> 1e-3 < seconds_per_row(lambda n: time.sleep(n / 1000), Timed(4, 0.004)) < 4e-3
    True
    """
    each = first.seconds / first.n_rows
    if first.seconds < _AT_ONCE:
        n_rows, taken = first.n_rows, first.seconds
        long_enough = min(_PATIENCE, max(_LONG_ENOUGH, _SO_MUCH_LONGER * first.seconds))
        while n_rows == first.n_rows or (n_rows * FASTEST < taken < long_enough and n_rows < _MOST):
            n_rows *= _GROWTH
            start = time.perf_counter()
            ask(n_rows)
            taken = time.perf_counter() - start
        each = (taken - first.seconds) / (n_rows - first.n_rows)
    steps = 1.0
    while steps * FASTEST < each:
        steps *= 2.0
    return steps * FASTEST
