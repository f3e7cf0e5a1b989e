"""Compiled code on disk is taken back only while all of its source is the same."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shap_asv import kernels

MODULES = {
    "__init__.py": "",
    "innermost.py": """
from shap_asv.kernels import kernel

SHIFT = 10

@kernel(no_cpython_wrapper=True, no_cfunc_wrapper=True)
def combine(a, b):
    return a * b
""",
    "inner.py": """
from shap_asv import innermost
from shap_asv.kernels import kernel

combine = innermost.combine

@kernel
def twice(a, b):
    return 2 * combine(a, b) + innermost.SHIFT
""",
    "outer.py": """
from shap_asv.inner import (
    twice,
)
from shap_asv.kernels import kernel

@kernel
def run(a, b):
    return twice(a, b)
""",
}
SCRIPT = "from shap_asv.outer import run; print(run(6, 3), sum(run.stats.cache_hits.values()))"


@pytest.fixture
def package(tmp_path):
    """A package of three files with kernels, each calling the next, beside a copy of our decorator."""
    folder = tmp_path / "shap_asv"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / name).write_text(text)
    shutil.copy(Path(kernels.__file__), folder / "kernels.py")
    return folder


def run(package, cache, script=SCRIPT):
    """(value, hits in the cache) of the outermost kernel in a fresh process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=package.parent, env=environment, capture_output=True, text=True, check=True
    )
    value, hits = done.stdout.split()
    return int(value), int(hits)


def test_a_change_in_an_inner_file_is_noticed_under_warm_caches(package, tmp_path):
    cache = tmp_path / "cache"
    assert run(package, cache) == (46, 0)
    assert run(package, cache) == (46, 1)
    innermost = package / "innermost.py"
    innermost.write_text(MODULES["innermost.py"].replace("a * b", "a + b"))
    assert run(package, cache) == (28, 0)
    assert run(package, cache) == (28, 1)
    innermost.write_text(innermost.read_text().replace("SHIFT = 10", "SHIFT = 20"))  # constants are compiled in, too
    assert run(package, cache) == (38, 0)


# A leaf that asks for a code of at most 1, and the one step of its one feature: twice phi of a row that has code 1.
REAL = """
import numpy as np
from shap_asv.backends.trees.deep_kernel import Room, add_steps
from shap_asv.backends.trees.leaves import Leaves
from shap_asv.backends.trees.weight_kernel import Steps

one, none = np.array([1]), np.array([0])
leaves = Leaves(np.array([0, 1]), none, none, one, none > 0, none - 1, one / 2, np.ones((1, 1)), none, none + 9)
room = Room(np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros((2, 2)), np.zeros((1, 1)), none > 0)
steps, codes, out = Steps(none, none, none, np.ones(1)), np.ones((1, 1), dtype=np.int32), np.zeros((1, 1, 1))
add_steps(leaves, 0, steps, one / 2, np.ones(1), codes, room, out)
print(int(2 * out[0, 0, 0]), sum(add_steps.stats.cache_hits.values()))
"""


def test_a_mutant_of_a_real_inner_kernel_is_noticed_under_warm_caches(tmp_path):
    """The outer kernel stands in one file, what it calls in another: only the inner one is broken."""
    package, cache = tmp_path / "shap_asv", tmp_path / "cache"
    shutil.copytree(Path(kernels.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    assert run(package, cache, REAL) == (1, 0)
    assert run(package, cache, REAL) == (1, 1)
    inner = package / "backends" / "trees" / "row_kernel.py"
    text = inner.read_text()
    condition = "((code >= low) & (code <= high)) << bit"
    assert text.count(condition) == 1
    inner.write_text(text.replace(condition, condition.replace("<= high", "< high")))
    assert run(package, cache, REAL) == (-1, 0)


def test_the_digest_covers_what_is_imported_and_nothing_else():
    from shap_asv.backends.ancestral import kernel as alone
    from shap_asv.backends.forest import kernels as outer
    from shap_asv.backends.forest import passes

    digests = {kernels.digest_sources(module.__name__) for module in (kernels, alone, outer, passes)}
    assert len(digests) == 4


def test_every_kernel_is_kept_this_way():
    package = Path(kernels.__file__).parent
    users = {path.relative_to(package).as_posix() for path in package.rglob("*.py") if "njit" in path.read_text()}
    assert users == {"kernels.py"}
