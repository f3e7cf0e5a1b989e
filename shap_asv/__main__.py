"""``shap-asv explain`` and ``shap-asv check``, also as ``python -m shap_asv``: SHAP and ASV side by side, as a report.

Words and files are checked first: the libraries that take seconds to import are imported once nothing is known to be
wrong.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shap_asv.command.request import check_request, make_parser
from shap_asv.errors import ShapAsvError, ShapAsvWarning


class Console:
    """Prints what has been done, and when.

    >>> Console().say("read the table")  # doctest: +ELLIPSIS
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


def main(arguments: list[str] | None = None) -> int:
    options = make_parser().parse_args(arguments)
    console = Console()
    try:
        request = check_request(options)
        console.say("loading shap and scikit-learn")
        from shap_asv.command.jobs import run_check, run_explain

        with console.saying_warnings():
            if options.job == "check":
                return 0 if run_check(request, console.say) else 1
            run_explain(request, console.say)
    except (ShapAsvError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
