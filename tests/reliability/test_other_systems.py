"""Systems without ``/proc``, ``resource``, control groups and ``fork`` (Windows, macOS): plans and values are the same.

Nothing of the package may fail there, and nothing may be guessed: what the system does not tell is not known.
"""

import builtins
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import joblib
import numpy as np
import pytest

from shap_asv import planning
from shap_asv.explainer import blocks
from tests.reliability.jobs import JOBS, rows_for

PACKAGE = Path(planning.__file__).parent
#: Names of the standard library that Windows does not have, or that tell nothing outside of Linux.
LINUX_ONLY = (
    "/proc",
    "/sys/",
    "resource.",
    "os.fork",
    "os.sched_",
    "os.getuid",
    "os.kill",
    "fcntl",
    "SIGKILL",
    "SIGALRM",
)


@pytest.fixture
def elsewhere(monkeypatch):
    """A system that has none of it."""
    plain = builtins.open

    def opened(path, *arguments, **options):
        if str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(2, "no such file or directory", str(path))
        return plain(path, *arguments, **options)

    monkeypatch.setattr(builtins, "open", opened)
    monkeypatch.setitem(sys.modules, "resource", None)  # importing it is an ImportError
    for name in ("fork", "sched_getaffinity", "getuid"):
        monkeypatch.delattr(os, name, raising=False)


@pytest.mark.parametrize(
    "name", ["forest", "ideals x monte_carlo", "ideals x moments, Gaussian", "paths, no background"]
)
def test_the_same_plan_and_the_same_bits(name, elsewhere, monkeypatch):
    explainer = JOBS[name]()
    rows = rows_for(explainer, 12)
    found, chosen = explainer(rows, silent=True), explainer.plan(rows).chosen.name
    monkeypatch.undo()
    again = JOBS[name]()
    np.testing.assert_array_equal(found.values, again(rows, silent=True).values)
    assert chosen == again.plan(rows).chosen.name


def test_processes_that_are_spawned_give_the_same_bits(monkeypatch):
    """Fresh interpreters, as Windows and macOS start them; nothing may be inherited by a fork."""
    started = []

    def in_spawned(parcel, rows, cuts, n_jobs):
        with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
            tasks = [pool.submit(blocks.attribute_parcel, parcel.name, parcel.content, rows[block]) for block in cuts]
            started.extend(pool._processes.values())
            yield from (task.result() for task in tasks)

    monkeypatch.setattr(blocks, "SMALLEST_BLOCK", 4)
    monkeypatch.setattr(blocks, "_in_processes", in_spawned)
    name = "ideals x monte_carlo, donors"
    expected = JOBS[name]()(rows_for(JOBS[name](), 12), silent=True)
    explainer = JOBS[name](n_jobs=2)
    with joblib.parallel_config(backend="loky"):  # else threads, where the work is compiled
        found = explainer(rows_for(explainer, 12), silent=True)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.base_values, expected.base_values)
    assert {type(process).__name__ for process in started} == {"SpawnProcess"}


def test_only_these_files_ask_the_system():
    """Whoever else does needs a fallback, and a test here."""
    asking = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in LINUX_ONLY)
    }
    assert asking == set()
