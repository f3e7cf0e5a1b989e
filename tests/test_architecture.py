"""Imports go one way through the house; pgmpy is touched in one file only, shap's private trees in none."""

import ast
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import shap_asv

ROOT = Path(shap_asv.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# room -> rooms it may import from (itself, errors, arguments, costs, frames, kernels and notebook always)
ALLOWED = {
    "errors": set(),
    "arguments": set(),
    "frames": set(),
    "notebook": set(),
    "kernels": set(),
    "costs": set(),
    "strata": set(),
    "times": set(),
    "orders": {"strata", "times"},
    "backgrounds": {"times"},
    "models": set(),
    "values": {"backgrounds", "models", "strata"},
    "backends": {"strata", "orders", "backgrounds", "models", "values"},
    "planning": {"orders", "backgrounds", "models", "values", "backends"},
    "explanation": set(),
    "explainer": {
        "orders",
        "backgrounds",
        "models",
        "strata",
        "values",
        "backends",
        "planning",
        "explanation",
        "comparison",
        "sensitivity",
    },
    "plots": {"orders", "explanation", "times"},
    "report": {"backgrounds", "orders", "plots"},
    "saving": {"orders"},
    "comparison": {"orders", "explanation", "report", "saving"},
    "datasets": {"backgrounds"},
    "sensitivity": {"explanation"},
    "discovery": {"orders", "backgrounds"},
    "windows": {"orders", "times"},
}
TOP = {"__init__", "__main__", "command"}  # may import anything


def room_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports, so that rooms are visible"
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    room = room_of(path)
    if room in TOP:
        return
    assert room in ALLOWED, f"a new room {room!r}: give it a row in ALLOWED and in docs/architecture.md"
    inside = {name.split(".")[1] for name in imported_modules(path) if name.startswith("shap_asv.")}
    surplus = inside - ALLOWED[room] - {room, "errors", "arguments", "costs", "frames", "kernels", "notebook"}
    assert not surplus, f"{room} may not import {surplus}"


@pytest.mark.parametrize(
    ("module", "homes"),
    [("pgmpy", {"backgrounds/pgmpy_networks.py"}), ("shap.explainers._tree", set())],  # shap's trees are private
)
def test_foreign_module_has_one_home(module, homes):
    users = {
        str(path.relative_to(ROOT))
        for path in FILES
        if any(name == module or name.startswith(module + ".") for name in imported_modules(path))
    }
    assert users == homes


@pytest.mark.parametrize("room", ["orders", "backgrounds", "values", "backends"])
def test_rooms_do_not_know_shap(room):
    for path in FILES:
        if room_of(path) == room and path.name != "marginal.py":
            assert not any(name.split(".")[0] == "shap" for name in imported_modules(path)), path


# --- imports inside functions --------------------------------------------------------------------------------------

MODULES = {
    ".".join(("shap_asv", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in FILES
}
#: Libraries that take long to import, or that not everyone has: they are imported where they are needed.
HEAVY = {"shap", "pgmpy", "matplotlib", "pandas", "sklearn", "scipy", "joblib", "tqdm", "cloudpickle", "distributed",
         "threadpoolctl", "catboost"}  # fmt: skip
#: Imports inside functions that are neither heavy nor bring numba in. This list only shrinks: what is not needed any
#: more has to go.
KNOWN: set[tuple[str, str]] = set()


@cache
def imports_of(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """What a module imports at its top, and inside of functions; what is for type checkers alone is left out."""
    top, inner = set(), set()

    def walk(node: ast.AST, within: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.Import):
                (inner if within else top).update(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                for alias in child.names:
                    full = f"{child.module}.{alias.name}"
                    (inner if within else top).add(full if full in MODULES else str(child.module))
            walk(child, within or isinstance(child, ast.FunctionDef | ast.Lambda))

    walk(ast.parse(MODULES[name].read_text()), False)
    return frozenset(top), frozenset(inner)


@cache
def bring_numba() -> set[str]:
    """Modules whose import imports the decorator of kernels."""
    graph = nx.DiGraph([(a, b) for a in MODULES for b in imports_of(a)[0] if b in MODULES])
    return {"shap_asv.kernels", *nx.ancestors(graph, "shap_asv.kernels")}


def cycles(left_out: set[tuple[str, str]]) -> list[set[str]]:
    """Modules that import one another, in functions or not; ``shap_asv`` itself is imported for its version alone."""
    pairs = ((a, b) for a in MODULES for b in frozenset().union(*imports_of(a)) if b in MODULES and b != "shap_asv")
    graph = nx.DiGraph(pair for pair in pairs if tuple(each.removeprefix("shap_asv.") for each in pair) not in left_out)
    return [group for group in nx.strongly_connected_components(graph) if len(group) > 1]


def test_imports_inside_functions_are_of_what_is_heavy():
    closing = cycles(set())
    found = {
        (name.removeprefix("shap_asv."), other.removeprefix("shap_asv."))
        for name in MODULES
        for other in imports_of(name)[1]
        if any({name, other} <= group for group in closing)
        or (other.split(".")[0] not in HEAVY and not (other in bring_numba() and name not in bring_numba()))
    }
    assert found - KNOWN == set(), "import them at the top of the module; an import that closes a cycle has to be moved"
    assert KNOWN - found == set(), "not needed any more: take them out of KNOWN"


def test_no_module_imports_itself_by_a_detour():
    """Imports inside of functions count, apart from those in KNOWN: these are walls in the wrong place, to be moved."""
    assert cycles(KNOWN) == []


def asked_by_name(path: Path) -> set[str]:
    """What ``getattr`` and ``hasattr`` ask of a background in a module."""
    return {
        ast.literal_eval(node.args[1])
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("getattr", "hasattr")
        and ast.unparse(node.args[0]).split(".")[-1] in ("background", "natural", "component")
        and isinstance(node.args[1], ast.Constant)
    }


def test_a_background_is_asked_for_a_capability_and_never_by_name():
    assert {name for path in FILES for name in asked_by_name(path)} == set()


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "oracles").glob("*.py")), ids=lambda path: path.stem)
def test_an_oracle_imports_nothing_of_ours(path):
    ours = {name for name in imported_modules(path) if name.split(".")[0] in ("shap_asv", "tests", "benchmarks")}
    assert {name for name in ours if not name.startswith("tests.oracles")} == set()
