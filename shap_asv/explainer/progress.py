"""What a call says while it runs: a bar over rows, and a line when kernels are being compiled.

The bar appears when a call has been running for a few seconds, moves while a block of rows is being worked on, says how
long the rest will take at the pace of the rows that are done, and ends at its total. Compiling, which happens once on a
machine, is said at once, before the first of the seconds that it takes. ``silent=True`` keeps both away.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm.auto import tqdm

from shap_asv.backends.pace import Report
from shap_asv.kernels import COMPILING, listening

#: Seconds before a bar appears: short calls show none.
DELAY = 3.0
TITLE = "AsymmetricExplainer"


class ProgressBar:
    """A tqdm bar over ``total`` rows; equal rows are explained once, and count as often as they occur."""

    def __init__(self, total: int, silent: bool) -> None:
        self.done = 0
        self._bar = tqdm(total=total, desc=TITLE, unit="row", unit_scale=True, delay=DELAY, leave=True, disable=silent)

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._bar.close()

    def finish(self, n_rows: int) -> None:
        """So many rows more are done for good."""
        self.done += n_rows
        self.reach(0)

    def within(self, n_rows: int) -> Report:
        """A report on the way through the next ``n_rows``."""
        return lambda share: self.reach(share * n_rows)

    def reach(self, n_rows: float) -> None:
        """So many rows beyond those that are done have been worked on."""
        reached = self.done + int(n_rows)
        if reached > self._bar.n:
            self._bar.update(reached - self._bar.n)


@contextmanager
def saying_that_it_compiles(silent: bool) -> Iterator[None]:
    """One line when the first kernel is compiled."""
    said = False

    def hear(begins: bool) -> None:
        nonlocal said
        if begins and not said and not silent:
            said = True
            tqdm.write(f"shap_asv: {COMPILING}", file=sys.stderr)
            sys.stderr.flush()

    with listening(hear):
        yield
