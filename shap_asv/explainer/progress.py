"""The progress bar: rows explained out of rows handed in.

It appears when a call has been running for a few seconds, moves while a block of rows is being worked on, and ends at
its total. ``silent=True`` keeps it away.
"""

from typing import Any

from shap_asv.backends.pace import Report

#: Seconds before a bar appears: short calls show none.
DELAY = 3.0
TITLE = "AsymmetricExplainer"


class ProgressBar:
    """A tqdm bar over ``total`` rows; equal rows are explained once, and count as often as they occur."""

    def __init__(self, total: int, silent: bool) -> None:
        from tqdm.auto import tqdm

        self.total = total
        self.done = 0
        self._bar = tqdm(total=total, desc=TITLE, unit="row", unit_scale=True, delay=DELAY, disable=silent, leave=True)

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._bar.close()

    def finish(self, n_rows: int) -> None:
        """So many rows more are done for good."""
        self.done += n_rows
        self._show(self.done)

    def within(self, n_rows: int) -> Report:
        """A report on the way through the next ``n_rows``."""

        def report(share: float) -> None:
            self._show(self.done + int(share * n_rows))

        return report

    def _show(self, done: int) -> None:
        if done > self._bar.n:
            self._bar.update(done - self._bar.n)
