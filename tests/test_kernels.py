"""Compiled code on disk is taken back only while all of its source is the same, and compiling is never silent."""

import ast
import gc
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, compiling, kernels

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
    for module in (kernels, compiling):
        shutil.copy(Path(module.__file__), folder / Path(module.__file__).name)
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
from shap_asv.backends.trees.kernels.deep import Room, add_steps
from shap_asv.backends.trees.leaves import Leaves
from shap_asv.orders.restricted_kernels import Steps

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
    inner = package / "backends" / "trees" / "kernels" / "rows.py"
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


def test_what_python_cannot_call_is_not_called():
    """A kernel with an underscore has no entry for Python: a call would take the process down."""
    package, n_inner = Path(kernels.__file__).parent, 0
    for path in sorted(package.rglob("*.py")):
        module = ast.parse(path.read_text())
        compiled = [node for node in module.body if isinstance(node, ast.FunctionDef) and _is_kernel(node)]
        inner = {node.name for node in compiled if node.name.startswith("_")}
        within = {part for node in compiled for part in ast.walk(node)}
        outside = {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and node not in within}
        taken = {alias.name for node in ast.walk(module) if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert not inner & outside, f"{path}: {inner & outside}"
        assert not {name for name in taken if name.startswith("_")}, f"{path} imports what is private elsewhere"
        n_inner += len(inner)
    assert n_inner > 20


def _is_kernel(function):
    named = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in function.decorator_list]
    return any(isinstance(name, ast.Name) and name.id in ("kernel", "inner") for name in named)


# --- nobody waits for the compiler without a word ---------------------------------------------------------------------

FIRST_CALL = """
import sys
from sklearn.tree import DecisionTreeRegressor
from shap_asv import AsymmetricExplainer

tree = DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0])
explainer = AsymmetricExplainer(tree, causal_graph=[(0, 1)])
print(explainer.plan(1).compile_seconds)
print("compiling, once on this machine" in str(explainer.plan(1)))
print(explainer([[1, 1]], silent="silent" in sys.argv).values.tolist())
print(explainer.plan(1).compile_seconds)
"""


def first_call(cache, *arguments):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", FIRST_CALL, *arguments], env=environment, capture_output=True, text=True, check=True
    )


def test_a_first_call_says_that_it_compiles_and_the_plan_knows(tmp_path):
    cold = first_call(tmp_path)
    before, in_plan, values, after = cold.stdout.splitlines()
    assert 1 < float(before) < 20
    assert in_plan == "True"
    assert float(after) == 0
    assert re.search(r"shap_asv: compiling, once on this machine, about \d+ s", cold.stderr)
    assert "AsymmetricExplainer, compiling" in cold.stderr  # the bar
    warm = first_call(tmp_path)
    assert warm.stdout.splitlines() == ["0.0", "False", values, "0.0"]
    assert "compiling" not in warm.stderr


LOADED = """
import sys
from shap_asv.outer import run
assert run(6, 3) == 46
assert run.stats.cache_hits, "it was not on disk"
assert "numba.cpython.unicode" not in sys.modules, "the compiler was made ready"
assert run(6.0, 3.0) == 46.0  # now it is needed
assert "numba.cpython.unicode" in sys.modules
print(run(6, 3), 1)
"""


def test_code_on_disk_is_loaded_without_the_compiler(package, tmp_path):
    """A quarter of a second of every first call; what is not on disk is compiled as ever, in the same process."""
    run(package, tmp_path / "cache")
    assert run(package, tmp_path / "cache", LOADED) == (46, 1)


def test_silent_is_silent(tmp_path):
    assert first_call(tmp_path, "silent").stderr == ""


def test_what_a_kernel_calls_is_counted_once():
    from shap_asv.backends.trees.kernels import rows as row_kernel

    missing = {}
    inner = row_kernel.find_patterns
    if not kernels.is_compiled(inner):
        kernels._collect_missing(row_kernel.add_tables, missing)
        assert set(missing) == {f"{row_kernel.__name__}:{name}" for name in ("add_tables", "find_patterns")}
    lines = len(inspect.getsource(inner.py_func).splitlines())
    assert lines / 2 < len(set(kernels._lines_of(inner.py_func.__code__))) <= lines
    assert kernels.compile_time([]) == 0.0


def test_listeners_hear_of_nested_compilations():
    heard = []

    @kernels.kernel(cache=False)
    def within(a):
        return a + 1

    @kernels.kernel(cache=False)
    def around(a):
        return within(a)

    # a kernel of another package is not ours to speak of
    with compiling.listening(heard.append):
        around(1)
    assert heard == []
    for function in (within, around):
        function.py_func.__module__ = "shap_asv.somewhere"
    with compiling.listening(heard.append):
        around(1.5)
    assert [told is None for told in heard] == [False, False, True, True]
    assert heard[0] > 0


DECLARED = """
import sys
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from numba.core.dispatcher import Dispatcher
from shap_asv import AsymmetricExplainer, kernels

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 16))
shallow, deep = (RandomForestRegressor(2, max_depth=d, max_features=2, random_state=0).fit(X, X.sum(axis=1))
                 for d in (4, 20))
GRAPHS = {"levels": None, "forest": [(0, 1), (0, 2)], "lattice": [(a, b) for a in (0, 1) for b in range(2, 14)] +
          [(2, 15), (3, 15), (2, 14)] + [(v, v + 1) for v in range(4, 13)]}


def loaded():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(("shap_asv.backends.trees.", "shap_asv.orders.restricted")):
            found.update({f"{k.py_func.__module__}:{k.__name__}": k for k in vars(module).values()
                          if isinstance(k, Dispatcher) and k.overloads})
    return found


def called(names):
    found = set()
    for name in names:
        module, function = name.split(":")
        code = getattr(sys.modules[module], function).py_func
        inner = [code.__globals__.get(n) for n in code.__code__.co_names]
        inner = [f"{k.py_func.__module__}:{k.__name__}" for k in inner if isinstance(k, Dispatcher)]
        found |= {name, *called(inner)}
    return found


declared = set()
for model in (shallow, deep):
    for background in (None, X[:20]):
        for kind, graph in GRAPHS.items():
            explainer = AsymmetricExplainer(model, background, graph, values="auto" if background is None else
                                            "marginal", algorithm="paths", ideal_limit=10**6)
            explainer(X[:2], silent=True)
            declared |= set(explainer.plan(2).kernels)
            used = set(loaded())
            assert declared <= used, (kind, "declared in vain", declared - used)
            assert used <= called(declared), (kind, "not declared", used - called(declared))
print(len(declared))
"""


def test_trees_declare_the_kernels_that_they_use():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", DECLARED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) >= 14


# --- a plan names everything that will be compiled --------------------------------------------------------------------


def test_samplers_and_draws_are_in_the_plan():
    from sklearn.tree import DecisionTreeRegressor

    from shap_asv import load_network

    rows = np.random.default_rng(0).normal(size=(50, 6))
    tree = DecisionTreeRegressor(max_depth=3).fit(rows, rows.sum(axis=1))
    zigzag = [(0, 3), (1, 3), (1, 4), (2, 4), (0, 4), (3, 5)]
    for method, kernel in (("perfect", "redraw_times"), ("mcmc", "swap_steps")):
        asv = AsymmetricExplainer(tree, None, zigzag, algorithm="sampling", order_method=method, n_orders=5, seed=0)
        assert f"shap_asv.orders.topological.chains_kernel:{kernel}" in asv.plan(1).kernels

    names = sorted(load_network("child").nodes())
    black_box = AsymmetricExplainer(
        lambda X: np.zeros(len(X)), load_network("child"), feature_names=names, algorithm="ideals x monte_carlo", seed=0
    )
    assert black_box.plan(1000).kernels == ("shap_asv.backgrounds.discrete.draw_kernel:draw_forward",)


@kernels.kernel(cache=False)
def fill(row, value):
    row[:] = value
    if value < 0:
        raise ValueError("below zero")


@kernels.kernel(cache=False)
def fill_apart(address, row, value):
    kernels.call_apart(address, (row, value))


def test_a_kernel_called_by_its_address_is_not_linked():
    row = np.zeros(2)
    fill_apart(kernels.address_of(fill, row, 1.0), row, 3.0)
    assert row.tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="below zero"):
        fill_apart(kernels.address_of(fill, row, 1.0), row, -1.0)
    (compiled,) = fill_apart.overloads.values()
    assert "fill_apart" in compiled.library.get_llvm_str()
    (inner,) = fill.overloads.values()
    assert inner.fndesc.llvm_func_name not in compiled.library.get_llvm_str()


def test_an_address_is_for_its_types_alone():
    """Called with others, the kernel would read arguments that are not there."""
    row = np.zeros(2)
    address = kernels.address_of(fill, row, 1)
    with pytest.raises(TypeError, match="types that it was not compiled for"):
        fill_apart(address, row, 1.0)
    assert row.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_again_after_compiling(collects, monkeypatch):
    seen = []
    monkeypatch.setattr(kernels, "tell", lambda seconds: seen.append((seconds is None, gc.isenabled())))

    @kernels.kernel(cache=False)
    def inner(a):
        return a + 1

    @kernels.kernel(cache=False)
    def outer(a):
        return inner(a)

    # compilations are told of by the module in which they stand
    inner.py_func.__module__ = outer.py_func.__module__ = "shap_asv.kernels"
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        assert outer(1) == 2
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [(False, False), (False, False), (True, False), (True, collects)]


def test_functions_without_a_module_are_none_of_ours():
    scope = {"numba": numba}
    exec("@numba.njit\ndef double(x):\n    return 2 * x\n", scope)
    assert scope["double"].py_func.__module__ is None
    assert scope["double"](21) == 42
