"""A line for each step, with the seconds since the start: whoever waits should know for what."""

import time


class Steps:
    """Prints what has been done, and when.

    >>> Steps().say("read the table")  # doctest: +ELLIPSIS
    [...s] read the table
    """

    def __init__(self) -> None:
        self.start = time.monotonic()

    def say(self, words: str) -> None:
        print(f"[{time.monotonic() - self.start:5.1f} s] {words}", flush=True)
