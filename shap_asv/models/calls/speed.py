"""How long a model takes for a row, and how much memory, as far as a plan has to know.

Models differ by a factor of a million: a vectorised sum takes microseconds for a thousand rows, a call over the wire
takes a second for one. A plan that does not ask would promise seconds and take days. So the model is timed: by its
first call, which has to be made anyway, and only where that leaves the matter open by a few calls more.

Neurons of a layer, or the columns of an encoder, are held for all rows of a call, and may well be more than its input:
two small calls show how much. What libraries take behind Python's back is not seen.
"""

import math
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: No row is taken for faster than this: preparing the model's input takes about as long.
FASTEST = 5e-7
# Work that may be planned by an upper bound: nobody waits for it. Calls that take longer than the second figure are
# made with no more than twice the rows of the one before.
_AT_ONCE, _SLOW = 0.1, 1.0
# Neither a call that takes as long as the first nor a few milliseconds tell what a row costs.
_LONG_ENOUGH, _SO_MUCH_LONGER = 0.02, 3.0
#: Most bytes that a model is taken to need: those that would need more work in chunks, which few rows do not show.
LARGEST_MODEL = 2**31
# Work that would take longer than this is not believed at once: something else may have held up a call that was timed.
_DOUBTED = 30.0
# After a call that takes longer than this the model is not asked again.
_PATIENCE = 0.25
#: Rows of the largest call that is made only to be timed.
MOST = 512
# A call of fewer rows than this takes little memory. Two calls show how much, which differ by the second figure.
_MANY, _MORE = 4096, 4


@dataclass(frozen=True)
class Timed:
    """A call of the model: how many rows, how many seconds."""

    n_rows: int
    seconds: float


@dataclass(frozen=True)
class Speed:
    """Seconds of a call beside its rows, and of a row."""

    per_call: float
    per_row: float

    def seconds(self, n_rows: int, n_calls: int) -> float:
        """``n_rows`` rows in ``n_calls`` calls."""
        return n_calls * self.per_call + n_rows * self.per_row


class Stopwatch:
    """Predicts what calls of a model take; ``ask(n)`` has it answer n rows, ``first`` was a call of few.

    Nothing is asked where an upper bound says that the work is done at once, and no call is larger than those that are
    planned, nor than :data:`MOST` rows: a model that takes a batch at a time gets no more than that. Before somebody is
    told to wait for long, all is timed once more, and the shorter time counts.
    """

    def __init__(self, ask: Callable[[int], Any], first: Timed) -> None:
        self._ask, self._first = ask, first
        self._known: dict[int, Speed] = {}
        self._bytes_per_row: int | None = None
        self._doubted = first.seconds >= _SLOW  # then it is slow, and asking again would take long

    def seconds(self, n_rows: int, n_calls: int, most: int = MOST) -> float:
        """What ``n_rows`` rows in ``n_calls`` calls will take; a call made to be timed has at most ``most`` rows."""
        found = self._seconds(n_rows, n_calls, most)
        if found <= _DOUBTED or self._doubted:
            return found
        self._doubted, first, known, start = True, self._first, self._known, clock()
        self._ask(first.n_rows)
        self._first, self._known = Timed(first.n_rows, min(first.seconds, clock() - start)), {}
        again = self._seconds(n_rows, n_calls, most)
        if again > found:  # held up this time: what was known stays, so that the same question has the same answer
            self._first, self._known = first, known
        return min(found, again)

    def memory(self, n_rows: int) -> int:
        """Bytes that the model takes for a call of ``n_rows``; not known of few rows, nor of a model that is slow."""
        if n_rows < _MANY:
            return 0
        if self._bytes_per_row is None:
            self._bytes_per_row = self._look_at_memory()
        return min(LARGEST_MODEL, n_rows * self._bytes_per_row)

    def _look_at_memory(self) -> int:
        """Bytes for each row, by two calls that nobody waits for; 0 where there are none."""
        n_rows, seconds = self._first.n_rows, self._first.seconds
        if _AT_ONCE <= seconds < _SLOW:  # the first call of all may have loaded something
            start = clock()
            self._ask(n_rows)
            seconds = min(seconds, clock() - start)
        if seconds > _PATIENCE:
            return 0
        more = n_rows * _MORE
        while more * _MORE <= MOST and more * _MORE * seconds <= _AT_ONCE * n_rows:
            more *= _MORE
        return bytes_per_row(self._ask, more // _MORE, more)

    def _seconds(self, n_rows: int, n_calls: int, most: int) -> float:
        first, n_calls = self._first, max(1, n_calls)
        size = n_rows / n_calls
        bound = max(n_rows * FASTEST, n_calls * first.seconds * max(1.0, size / first.n_rows))
        growth = 4 if first.seconds < _SLOW else 2
        largest = min(MOST, most, int(size))
        if bound <= max(_AT_ONCE, n_rows * FASTEST) or first.n_rows * growth > largest:
            return bound
        steps = int(math.log(largest / first.n_rows, growth) + 1e-9)
        if steps not in self._known:
            self._known[steps] = measure(self._ask, first, growth, steps)
        return self._known[steps].seconds(n_rows, n_calls)


def measure(ask: Callable[[int], Any], first: Timed, growth: int, steps: int) -> Speed:
    """What a call costs, and what a row more costs: calls grow ``steps`` times at most, each by the factor ``growth``.

    They stop when one shows that the model is fast, or takes clearly longer than the first, which is made once more
    where it was short. Figures are rounded up to half powers of two (of :data:`FASTEST`): plans should not hang on the
    last digit of a stopwatch.

    >>> import time
    >>> speed = measure(lambda n: time.sleep(n / 1000), Timed(4, 0.004), 4, 3)
    >>> 1e-3 < speed.per_row < 4e-3
    True
    """
    if first.seconds < _LONG_ENOUGH:  # the first call of all may have loaded something: the model is quicker than that
        start = clock()
        ask(first.n_rows)
        first = Timed(first.n_rows, min(first.seconds, clock() - start))
    n_rows, taken = first.n_rows, first.seconds
    long_enough = min(_PATIENCE, max(_LONG_ENOUGH, _SO_MUCH_LONGER * first.seconds))
    for step in range(steps):
        if step and not n_rows * FASTEST < taken < long_enough:
            break
        n_rows *= growth
        start = clock()
        ask(n_rows)
        taken = clock() - start
    per_row = max(0.0, (taken - first.seconds) / (n_rows - first.n_rows))
    per_call = max(0.0, first.seconds - first.n_rows * per_row)
    return Speed(_round_up(per_call), _round_up(per_row))


# a model may plan another explanation: what it takes is then not looked at
_watching = threading.RLock()


def bytes_per_row(ask: Callable[[int], Any], few: int, more: int) -> int:
    """What a call of ``more`` rows takes beyond one of ``few``, for each row; 0 where somebody else is watching.

    >>> 800 <= bytes_per_row(lambda n: [0.5 * i for i in range(100 * n)], 4, 16) <= 4000
    True
    """
    with _watching:
        if tracemalloc.is_tracing():  # the user's own figures are left alone
            return 0
        tracemalloc.start()
        try:
            peaks = []
            for n_rows in (few, more):
                before = tracemalloc.get_traced_memory()[0]
                tracemalloc.reset_peak()
                ask(n_rows)
                peaks.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
    return max(0, peaks[1] - peaks[0]) // (more - few)


def clock() -> float:
    """Seconds, without those in which this thread could have run and the machine had other things to do.

    A model that waits for an answer over the wire is waited for; a model that others keep from running is not slow.
    """
    return time.perf_counter() - kept_waiting()


def kept_waiting() -> float:
    """Seconds that this thread has stood in the queue for a processor, where the system tells (Linux); else 0."""
    try:
        with open("/proc/thread-self/schedstat") as numbers:
            return int(numbers.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _round_up(seconds: float) -> float:
    return FASTEST * 2.0 ** (math.ceil(2 * math.log2(max(1.0, seconds / FASTEST))) / 2)
