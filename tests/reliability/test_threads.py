"""One explainer in several threads at once, and the same bits again: in other processes, for any number of them, and
on systems without ``/proc``, ``resource``, control groups and ``fork`` (Windows, macOS).

Here each backend and each kind of background has one job; ``python -m tests.reliability.reproducible`` has all pairs.
"""

import builtins
import os
import sys
from pathlib import Path
from threading import Barrier, Event, Thread
from time import sleep

import numpy as np
import pytest

from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Stopped, paced
from shap_asv.explainer import blocks
from shap_asv.explainer.progress import ProgressBar
from tests.reliability.jobs import FEW, JOBS, rows_for
from tests.reliability.reproducible import (
    in_threads,
    numbers,
    same_in_processes,
)

N_ROWS = 32
COMPILED = ("forest", "ideals x closures", "orders x closures", "paths, no background")


def assert_same_bits(one, other):
    for a, b in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", FEW)
def test_threads_get_what_one_gets_alone(name):
    alone, shared = JOBS[name](), JOBS[name]()
    rows = rows_for(alone, 12)
    pieces = [rows[:8], rows[4:], rows[:8], rows[3:4]]
    for piece, explanation in zip(pieces, in_threads(shared, pieces), strict=True):
        assert_same_bits(explanation, alone(piece, silent=True))


@pytest.mark.parametrize("name", ["forest", "ideals x closures"])
def test_rows_do_not_see_one_another(name, monkeypatch):
    """What is said of backends that are ``rowwise``, by which their rows may be cut anywhere."""
    explainer = JOBS[name]()
    rows = rows_for(explainer, N_ROWS)
    expected = explainer(rows, silent=True).values
    alone = np.concatenate([explainer(rows[i : i + 1], silent=True).values for i in range(3)])
    np.testing.assert_array_equal(alone, expected[:3])
    monkeypatch.setattr(blocks, "BLOCK_LIMIT", 1)  # row by row
    np.testing.assert_array_equal(explainer(rows[:6], silent=True).values, expected[:6])
    execution = explainer._known_execution()
    assert execution._ready[1].rowwise


def never(*_):
    raise AssertionError("nothing has to travel to another process")


@pytest.mark.parametrize("name", COMPILED)
def test_threads_share_what_is_compiled(name, monkeypatch):
    one, two = JOBS[name](), JOBS[name](n_jobs=2)
    rows = rows_for(one, N_ROWS)
    monkeypatch.setattr(blocks, "SMALLEST_BLOCK", 8)
    monkeypatch.setattr(blocks, "pack", never)
    assert_same_bits(two(rows, silent=True), one(rows, silent=True))


def test_models_of_others_are_called_in_processes(monkeypatch):
    explainer = JOBS["monte_carlo"](n_jobs=2)
    monkeypatch.setattr(blocks, "SMALLEST_BLOCK", 8)
    monkeypatch.setattr(blocks, "pack", never)
    with pytest.raises(AssertionError, match="nothing has to travel"):
        explainer(rows_for(explainer, N_ROWS), silent=True)


class Blockwise:
    """An attributor of one feature that does what it is told with the first number of a block."""

    rowwise = compiled = True

    def __init__(self, work):
        self.work = work

    def attribute(self, rows, report):
        self.work(rows[0, 0], report)
        return Attribution(rows[:, :, None], np.zeros(1))


def in_two_threads(work, n_blocks, silent=True):
    rows = np.arange(float(n_blocks))[:, None]
    cuts = [slice(i, i + 1) for i in range(n_blocks)]
    with ProgressBar(n_blocks, silent) as bar:
        for block, part in blocks.run_blocks(Blockwise(work), rows, np.ones(n_blocks), cuts, 2, bar):
            yield block.start, part.phi.item(), bar.done


def test_two_blocks_at_one_time_and_results_in_their_sequence():
    both = Barrier(2, timeout=60)  # nobody passes alone
    assert list(in_two_threads(lambda block, report: both.wait(), 6)) == [(i, float(i), i + 1) for i in range(6)]


def test_blocks_ahead_of_the_caller_are_few():
    begun = []
    found = in_two_threads(lambda block, report: begun.append(block), 100)
    next(found)
    found.close()
    assert len(begun) <= 6


def reporting(report):
    for _ in range(10_000):
        report(0.5)
        sleep(0.001)


def in_pieces(report):
    for _ in paced(10_000_000):
        sleep(0.001)


@pytest.mark.parametrize("busy", [reporting, in_pieces])
def test_an_error_in_a_thread_stops_the_others_soon(busy):
    heard = []

    def work(block, report):
        if block == 0:
            raise ZeroDivisionError("the first block")
        try:
            busy(report)
        except Stopped:
            heard.append(block)
            raise

    with pytest.raises(ZeroDivisionError, match="the first block"):
        list(in_two_threads(work, 8))
    assert 1 <= len(heard) <= 2  # whoever worked on later blocks, in two threads


def test_the_bar_moves_while_threads_work(monkeypatch):
    shown = []
    monkeypatch.setattr(blocks, "GLANCE", 0.01)
    monkeypatch.setattr(ProgressBar, "reach", lambda bar, n_rows: shown.append(n_rows))
    reported, seen = Barrier(3, timeout=60), Event()

    def work(block, report):
        report(0.25)
        if block < 2:
            reported.wait()
            seen.wait(60)

    caller = Thread(target=lambda: list(in_two_threads(work, 2)))
    caller.start()
    reported.wait()  # both have reported a quarter
    for _ in range(1000):
        if 0.5 in shown:
            break
        sleep(0.01)
    seen.set()
    caller.join()
    assert 0.5 in shown


def test_real_processes_share_blocks_of_rows_that_see_one_another():
    assert same_in_processes("monte_carlo", 2)


# --- systems that tell nothing -------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("name", ["forest", "monte_carlo", "paths, no background"])
def test_elsewhere_plans_and_bits_are_the_same(name, monkeypatch):
    plain = builtins.open

    def opened(path, *arguments, **options):
        if str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(2, "no such file or directory", str(path))
        return plain(path, *arguments, **options)

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(builtins, "open", opened)
        elsewhere.setitem(sys.modules, "resource", None)  # importing it is an ImportError
        for missing in ("fork", "sched_getaffinity", "getuid"):
            elsewhere.delattr(os, missing, raising=False)
        explainer = JOBS[name]()
        rows = rows_for(explainer, 12)
        found, chosen = explainer(rows, silent=True), explainer.plan(rows).chosen.name
    again = JOBS[name]()
    assert_same_bits(found, again(rows, silent=True))
    assert chosen == again.plan(rows).chosen.name


def test_no_file_of_the_package_asks_the_system():
    """What does needs a fallback, and a test above."""
    package = Path(blocks.__file__).parents[1]
    asking = [path for path in package.rglob("*.py") if any(word in path.read_text() for word in LINUX_ONLY)]
    assert asking == []
