"""Work cut into pieces that end soon: nothing stops a compiled call, so Ctrl-C waits for the piece that is running.

How long a piece takes is not known beforehand. The first one is small, and the next ones grow or shrink with the time
that the last one took. Where the cuts are never changes a result: what is cut this way is added up item by item.

Ctrl-C reaches the main thread alone. A thread that works for it looks between two pieces whether it still waits.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, local
from time import perf_counter

#: Seconds that one compiled call should take.
SECONDS_PER_CALL = 0.15

#: Told how much of a piece of work is done, as a share between 0 and 1.
Report = Callable[[float], None]


def keep_silent(share: float) -> None:
    """The report of work whose progress is not shown."""


_THREAD = local()


class Stopped(Exception):
    """The caller has given up on the work of this thread."""


@contextmanager
def stopped_by(event: Event) -> Iterator[None]:
    """What this thread does within ends at the next :func:`look_up` after the event."""
    _THREAD.event = event
    try:
        yield
    finally:
        del _THREAD.event


def look_up() -> None:
    """Raise :class:`Stopped` if the caller has given up on this thread.

    Examples
    --------
    >>> event = Event()
    >>> with stopped_by(event):
    ...     look_up()
    ...     event.set()
    ...     look_up()
    Traceback (most recent call last):
    shap_asv.backends.pace.Stopped
    """
    event = getattr(_THREAD, "event", None)
    if event is not None and event.is_set():
        raise Stopped


def paced(total: int, first: int = 1) -> Iterator[slice]:
    """Consecutive slices that cover ``range(total)``, sized so that the body of the loop takes a fraction of a second.

    Examples
    --------
    The loop is done at once, so that pieces grow:

    >>> [(piece.start, piece.stop) for piece in paced(10)]
    [(0, 1), (1, 5), (5, 10)]
    """
    start, size = 0, max(1, first)
    while start < total:
        look_up()
        stop = min(start + size, total)
        began = perf_counter()
        yield slice(start, stop)
        taken = max(perf_counter() - began, 1e-6)
        size = max(1, min(4 * size, int((stop - start) * SECONDS_PER_CALL / taken)))
        start = stop


def part_of(report: Report, first: float, last: float) -> Report:
    """A report for a part of the work, which reaches from share ``first`` to share ``last``.

    Examples
    --------
    >>> part_of(print, 0.5, 1.0)(0.5)
    0.75
    """

    def report_part(share: float) -> None:
        report(first + (last - first) * share)

    return report_part
