"""Compiled code on disk is taken back only while all of its source is the same, and compiling is never silent."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from shap_asv import kernels
from shap_asv.explainer.progress import saying_that_it_compiles

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
    shutil.copy(kernels.__file__, folder / "kernels.py")
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


def test_what_a_version_with_other_modules_left_on_disk_is_compiled_again(package, tmp_path):
    """An upgrade leaves numba's files; types of arguments in them may be of modules that are gone."""
    types = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
    (package / "old.py").write_text(types)
    source = "from shap_asv.kernels import kernel\n@kernel\ndef run(p):\n    return p[0] * p[1]\n"
    (package / "outer.py").write_text(source)
    script = "from shap_asv.outer import run; from shap_asv.{0} import Pair; "
    script += "print(run(Pair(6, 3)), sum(run.stats.cache_hits.values()))"
    assert run(package, tmp_path / "cache", script.format("old")) == (18, 0)
    (package / "old.py").rename(package / "new.py")
    assert run(package, tmp_path / "cache", script.format("new")) == (18, 0)
    assert run(package, tmp_path / "cache", script.format("new")) == (18, 1)


def test_the_digest_covers_what_is_imported_and_nothing_else():
    from shap_asv.backends.closures import kernels as alone
    from shap_asv.backends.forest import kernels as outer
    from shap_asv.orders import kernels as of_orders

    digests = {kernels.digest_sources(module.__name__) for module in (kernels, alone, outer, of_orders)}
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
    assert n_inner > 5


def _is_kernel(function):
    named = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in function.decorator_list]
    return any(isinstance(name, ast.Name) and name.id in ("kernel", "inner") for name in named)


# --- nobody waits for the compiler without a word ---------------------------------------------------------------------

FIRST_CALL = """
from sklearn.tree import DecisionTreeRegressor
from shap_asv import AsymmetricExplainer

tree = DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0])
explainer = AsymmetricExplainer(tree, causal_graph=[(0, 1)], feature_perturbation="tree_path_dependent")
print(explainer([[1, 1]]).values.tolist())
"""


def first_call(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", FIRST_CALL], env=environment, capture_output=True, text=True, check=True
    )


def test_a_first_call_says_once_that_it_compiles(tmp_path):
    cold, warm = first_call(tmp_path), first_call(tmp_path)
    assert cold.stderr.count("shap_asv: compiling, once on this machine") == 1
    assert "compiling" not in warm.stderr
    assert warm.stdout == cold.stdout


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


@pytest.mark.parametrize("silent", [True, False])
def test_silent_is_silent(silent, capsys):
    @kernels.kernel(cache=False)
    def ours(a):
        return a + 1

    ours.py_func.__module__ = "shap_asv.somewhere"
    with saying_that_it_compiles(silent):
        ours(1)
    assert bool(capsys.readouterr().err) is not silent


def test_listeners_hear_of_nested_compilations():
    heard = []

    @kernels.kernel(cache=False)
    def within(a):
        return a + 1

    @kernels.kernel(cache=False)
    def around(a):
        return within(a)

    # a kernel of another package is not ours to speak of
    with kernels.listening(heard.append):
        around(1)
    assert heard == []
    for function in (within, around):
        function.py_func.__module__ = "shap_asv.somewhere"
    with kernels.listening(heard.append):
        around(1.5)
    assert heard == [True, True, False, False]


def test_functions_without_a_module_are_none_of_ours():
    scope = {"numba": numba}
    exec("@numba.njit\ndef double(x):\n    return 2 * x\n", scope)
    assert scope["double"].py_func.__module__ is None
    heard = []
    with kernels.listening(heard.append):
        assert scope["double"](21) == 42
    assert heard == []
