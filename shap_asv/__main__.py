"""``shap-asv demo``, ``explain`` and ``check``, also as ``python -m shap_asv``: SHAP and ASV side by side, as a report.

Words and files are checked first: the libraries that take seconds to import are imported once nothing is known to be
wrong.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shap_asv.command.request import JOBS, check_out, check_request, find_network, make_parser
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
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or (given[0] not in JOBS and given[0] not in ("-h", "--help")):
        given = ["demo", *given]  # `python -m shap_asv --network asia` is the demo
    options = make_parser().parse_args(given)
    console = Console()
    try:
        if options.job != "demo":
            request = check_request(options)
        else:
            find_network(options.network)
            check_out(options.out)
        console.say("loading shap, scikit-learn and pgmpy")
        from shap_asv.command.jobs import run_check, run_demo, run_explain

        with console.saying_warnings():
            if options.job == "explain":
                run_explain(request, console.say)
            elif options.job == "check":
                return 0 if run_check(request, console.say) else 1
            else:
                run_demo(options, console.say)
    except (ShapAsvError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
