"""Imports go one way through the house; pgmpy is touched in one file only, shap's private trees in none."""

import ast
from pathlib import Path

import pytest

import shap_asv

ROOT = Path(shap_asv.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# room -> rooms it may import from (itself, errors, arguments, costs, frames and kernels always)
ALLOWED = {
    "errors": set(),
    "arguments": set(),
    "frames": set(),
    "compiling": set(),  # its way to kernels is lazy: it must not bring numba in
    "kernels": {"compiling"},
    "costs": set(),
    "strata": set(),
    "orders": {"strata"},
    "backgrounds": set(),
    "models": set(),
    "values": {"backgrounds", "models", "strata"},
    "backends": {"strata", "orders", "backgrounds", "models", "values"},
    "planning": {"compiling", "orders", "backgrounds", "models", "values", "backends"},
    "explanation": set(),
    "explainer": {
        "compiling",
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
    "plots": {"orders", "explanation"},
    "report": {"plots"},
    "comparison": {"orders", "explanation", "report"},
    "datasets": {"backgrounds"},
    "sensitivity": {"explanation"},
    "discovery": {"orders", "backgrounds"},
    "maskers": {"backgrounds"},
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
    surplus = inside - ALLOWED[room] - {room, "errors", "arguments", "costs", "frames", "kernels"}
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
