"""The same bits from every job: for any number of processes, from threads, in a fresh process; other seeds differ.

``python -m tests.reliability.reproducible`` looks at all jobs; ``python -m tests.reliability.reproducible JOB ...``
prints a digest of what each of a few jobs gives.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from unittest.mock import patch

import joblib
import numpy as np
import shap

from shap_asv import AsymmetricExplainer
from shap_asv.explainer import blocks
from tests.reliability.apart import apart
from tests.reliability.jobs import JOBS, depends_on_seed, rows_for
from tests.reliability.records import Figure, Record, keep

#: Rows that are explained, and those of one block: several blocks for every number of processes, though equal rows
#: (a small network has few others) are computed once.
N_ROWS, BLOCK = 24, 2
PROCESSES = (2, 3)
N_THREADS = 4


def numbers(explanation: shap.Explanation) -> list[np.ndarray]:
    """Everything that was computed."""
    parts = [explanation.values, explanation.base_values]
    return parts if explanation.error_std is None else [*parts, explanation.error_std]


def digest(explanation: shap.Explanation) -> str:
    """Equal for equal bits only."""
    return hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in numbers(explanation))).hexdigest()


def digests(names: list[str]) -> list[str]:
    """What fresh explainers give in this process."""
    return [explained(JOBS[name]()) for name in names]


def explained(explainer: AsymmetricExplainer, n_rows: int = N_ROWS) -> str:
    return digest(explainer(rows_for(explainer, n_rows), silent=True))


def digests_elsewhere(names: list[str]) -> list[str]:
    """The same in a process of its own."""
    return apart("reproducible", *names)


def with_seed(explainer: AsymmetricExplainer, seed: int) -> AsymmetricExplainer:
    """The same explainer with another seed."""
    return AsymmetricExplainer(**{**explainer._constructor_arguments(), "seed": seed})


def in_threads(explainer: AsymmetricExplainer, pieces: list) -> list[shap.Explanation]:
    """Each piece of rows in a thread; the first calls are made at once: plans and caches are built meanwhile."""
    start = Barrier(len(pieces))

    def explain(piece):
        start.wait()
        return explainer(piece, silent=True)

    with ThreadPoolExecutor(len(pieces)) as pool:
        return list(pool.map(explain, pieces))


class Watch:
    """Stands before the processes and counts the blocks that went there."""

    sent = 0

    def in_processes(self, parcel, rows, cuts, n_jobs) -> Iterator:
        self.sent += len(cuts)
        yield from _in_processes(parcel, rows, cuts, n_jobs)


_in_processes = blocks._in_processes


def same_in_processes(name: str, n_jobs: int) -> bool:
    """Several small blocks, in real processes, give what one process gives."""
    watch = Watch()
    with patch.object(blocks, "SMALLEST_BLOCK", BLOCK), patch.object(blocks, "_in_processes", watch.in_processes):
        alone = explained(JOBS[name](n_jobs=1))
        assert watch.sent == 0
        with joblib.parallel_config(backend="loky"):  # else threads, where the work is compiled
            shared = explained(JOBS[name](n_jobs=n_jobs))
    if watch.sent < n_jobs:
        raise AssertionError(f"{name}: {watch.sent} blocks went to {n_jobs} processes")
    return alone == shared


def same_in_threads(name: str) -> bool:
    alone, shared = JOBS[name](), JOBS[name]()
    rows = rows_for(alone, N_ROWS)
    found = in_threads(shared, [rows] * N_THREADS)
    return {digest(explanation) for explanation in found} == {explained(alone)}


def main() -> int:
    names = list(JOBS)
    expected = digests(names)
    elsewhere = digests_elsewhere(names)
    other = {name: explained(with_seed(JOBS[name](), 1)) for name in names}
    differs = {name for name, before in zip(names, expected, strict=True) if other[name] != before}
    again = [name for name, one, two in zip(names, expected, elsewhere, strict=True) if one == two]
    sampled = [name for name in names if depends_on_seed(JOBS[name]())]
    exact = [name for name in names if name not in sampled]
    checks: list[tuple[str, list[str], list[str]]] = []
    for n_jobs in PROCESSES:
        holds = [name for name in names if same_in_processes(name, n_jobs)]
        checks.append((f"the same bits from {n_jobs} processes as from one", holds, names))
    checks += [
        (f"the same bits from {N_THREADS} threads that share an explainer", [*filter(same_in_threads, names)], names),
        ("the same bits in a second, fresh process", again, names),
        ("other bits with another seed, where something is sampled", [n for n in sampled if n in differs], sampled),
        ("the same bits with another seed, where nothing is", [n for n in exact if n not in differs], exact),
    ]
    figures = [
        Figure(what, f"{len(holds)} of {len(asked)}{_missing(holds, asked)}", "all", holds == asked)
        for what, holds, asked in checks
    ]
    notes = [
        f"{len(names)} jobs, one for each backend under each kind of background that it runs on, {N_ROWS} rows. "
        "Bits: values, base values and standard errors.",
        "Processes are real ones on one machine, and several blocks of rows went to them. Everything on one machine: "
        "other processors and other versions of NumPy may round differently.",
    ]
    command = "python -m tests.reliability.reproducible"
    return keep(Record("reproducible", "Threads, processes, seeds", command, figures, notes))


def _missing(holds: list[str], asked: list[str]) -> str:
    left = [name for name in asked if name not in holds]
    return f", not {', '.join(left)}" if left else ""


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(*map(json.dumps, digests(sys.argv[1:])), sep="\n")
    else:
        sys.exit(main())
