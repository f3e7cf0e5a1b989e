"""A line for each step, with the seconds since the start: whoever waits should know for what."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shap_asv.errors import ShapAsvWarning


class Steps:
    """Prints what has been done, and when.

    >>> Steps().say("read the table")  # doctest: +ELLIPSIS
    [...s] read the table
    """

    def __init__(self) -> None:
        self.start = time.monotonic()

    def say(self, words: str) -> None:
        print(f"[{time.monotonic() - self.start:5.1f} s] {words}", flush=True)

    @contextmanager
    def saying_warnings(self) -> Iterator[None]:
        """Our warnings as lines like any other: no file, no line of code."""
        with warnings.catch_warnings():
            usual = warnings.showwarning

            def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
                if issubclass(category, ShapAsvWarning):
                    self.say(f"Note: {message}.")
                else:
                    usual(message, category, *place, **more)

            warnings.showwarning = show
            yield
