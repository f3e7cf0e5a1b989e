"""What a call says while it runs: a bar over rows, and a line when kernels are being compiled.

The bar appears when a call has been running for a few seconds, moves while a block of rows is being worked on, and ends
at its total. Compiling, which happens once on a machine, is said at once, before the first of the seconds that it
takes. ``silent=True`` keeps both away.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any

from shap_asv.backends.pace import Report
from shap_asv.kernels import COMPILING, listening

#: Seconds before a bar appears: short calls show none.
DELAY = 3.0
#: Seconds of work after which the pace is believed.
SURE = 5.0
TITLE = "AsymmetricExplainer"


class ProgressBar:
    """A tqdm bar over ``total`` rows; equal rows are explained once, and count as often as they occur.

    ``watch`` is told how many seconds all rows will take, as those that are done let expect.
    """

    def __init__(self, total: int, silent: bool, watch: Callable[[float], None] | None = None) -> None:
        self.total = total
        self._watch, self._start = watch, perf_counter()
        self.done = 0
        self._silent = silent
        self._bar: Any = None
        if not silent:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, desc=TITLE, unit="row", unit_scale=True, delay=DELAY, leave=True)
        self._compiling = 0
        self._listening = ExitStack()

    def __enter__(self) -> "ProgressBar":
        if not self._silent:
            self._listening.enter_context(listening(self._compile))
        return self

    def __exit__(self, *exception: Any) -> None:
        self._listening.close()
        if self._bar is not None:
            self._bar.close()

    def finish(self, n_rows: int) -> None:
        """So many rows more are done for good."""
        self.done += n_rows
        self._show(self.done)

    def within(self, n_rows: int) -> Report:
        """A report on the way through the next ``n_rows``."""

        def report(share: float) -> None:
            self.reach(share * n_rows)

        return report

    def reach(self, n_rows: float) -> None:
        """So many rows beyond those that are done have been worked on."""
        self._show(self.done + int(n_rows))

    def _show(self, done: int) -> None:
        elapsed = perf_counter() - self._start
        if self._watch is not None and 0 < done < self.total and elapsed > SURE:
            self._watch(elapsed * self.total / done)
        if self._bar is not None and done > self._bar.n:
            self._bar.update(done - self._bar.n)

    def _compile(self, begins: bool) -> None:
        """The bar says what the rows are waiting for; kernels that are called by others are compiled within them."""
        before = self._compiling
        self._compiling += 1 if begins else -1
        if bool(before) != bool(self._compiling):
            self._bar.set_description(f"{TITLE}, compiling" if self._compiling else TITLE)


@contextmanager
def saying_that_it_compiles(silent: bool) -> Iterator[None]:
    """One line when the first kernel is compiled."""
    said = False

    def hear(begins: bool) -> None:
        nonlocal said
        if begins and not said and not silent:
            said = True
            from tqdm import tqdm

            tqdm.write(f"shap_asv: {COMPILING}", file=sys.stderr)
            sys.stderr.flush()

    with listening(hear):
        yield
