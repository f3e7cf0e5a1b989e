"""What the modules of all peers share: a problem is read, rows are explained under a clock, values are written."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.truth.reading import Problem, read, write_values

Explain = Callable[[np.ndarray], Any]
#: From a problem and a kind of values to a function of rows: what is done once is done before it is returned.
Way = Callable[[Problem, str], Explain]


def serve(package: str, ways: dict[str, Way]) -> None:
    """Explains ``PROBLEM KIND WAY FILE`` of the command line; the last line that is printed is a record as JSON.

    Seconds are of the CPU, imports apart; megabytes are by how much the process grew.
    """
    name, kind, way, file = sys.argv[1:]
    problem = read(name)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    explain = ways[way](problem, kind)
    fitted = time.process_time()
    values = np.asarray(explain(problem.explain), dtype=float)
    end = time.process_time()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024  # kilobytes on Linux
    write_values(Path(file), problem.features, values)
    told = {"version": version(package), "fit": fitted - start, "seconds": end - fitted, "megabytes": grown}
    print(json.dumps(told), flush=True)
