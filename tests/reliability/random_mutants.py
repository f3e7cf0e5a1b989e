"""Random mutants: ``python -m tests.reliability.random_mutants --count 100`` flips operators and numbers at random.

A mutant is a place in the rooms that compute values (orders, backgrounds, models, values, backends), and what stands
there instead: ``+`` for ``-``, ``<`` for ``<=``, ``and`` for ``or``, a number that is off by one, a comparison turned
round. Places are put in the order of a hash of their text, so that mutant ``k`` stays the same while the code around it
changes. It is written into a copy of the tree, never into the tree itself. Tests run in stages until one fails: those
that import the file, or import somebody who does, then the tests of its room, then the property tests and the tests of
the explainer; ``--whole`` ends with all of them. A test that fails is run again without the mutant, once, and has to
pass. Kernels that the mutant touches are compiled anew, others are kept (:mod:`shap_asv.kernels`).

What was found is kept in ``random_mutants.json`` beside this file, by the text of the place; a mutant whose place is
still the same is not run again. What survives is judged by hand: a test is written, or its verdict there becomes
"equivalent: " and the reason why nothing that a user sees depends on it. A mutant that is still there after
``--seconds`` is undecided, and counts as left.
"""

import argparse
import ast
import copy
import hashlib
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from tests.reliability.forked import CAUGHT, SURVIVES, Forked
from tests.reliability.mutants import environment, imported_modules, make_copy
from tests.reliability.records import ROOT, Figure, Record, keep

ROOMS = ("orders", "backgrounds", "models", "values", "backends")
FOUND = Path(__file__).with_suffix(".json")
FOLDER = ROOT / "build" / "random_mutants"
ASKED = 100
EQUIVALENT = "equivalent: "
SECONDS = 600  # of the clock, for one mutant
#: Parts of names of functions and files that only plans, prints and errors see.
UNSEEN = ("cost", "estimate", "describe", "seconds", "obstacle", "__repr__", "__str__", "pace", "speed")

FLIPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Place:
    """A piece of source (``old``, from ``start`` to ``end`` in bytes) and what may stand there instead."""

    file: str
    function: str
    old: str
    new: str
    start: int
    end: int
    occurrence: int = 1

    @property
    def key(self) -> str:
        again = f" ({self.occurrence})" if self.occurrence > 1 else ""
        return f"{self.file}: {self.function}: {self.old} -> {self.new}{again}"


def flipped(node: ast.AST) -> list[ast.AST]:
    """The nodes that may stand in place of one, each with one thing changed."""
    found: list[ast.AST] = []
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in FLIPS:
        other = copy.deepcopy(node)
        other.op = FLIPS[type(node.op)]()
        found.append(other)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPS:
        turned = copy.deepcopy(node)
        turned.ops[0] = FLIPS[type(node.ops[0])]()
        found.append(turned)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        found.append(copy.deepcopy(node.operand))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        found.append(ast.Constant(not node.value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        found.append(ast.Constant(node.value + 1))
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        found.append(ast.Constant(2 * node.value + (node.value == 0)))
    return found


def walk(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every expression with the function that it stands in; no annotations, texts, imports or unseen functions."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        if any(word in node.name for word in UNSEEN):
            return
        function = f"{function}.{node.name}" if function else node.name
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return
    yield node, function
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from walk(child, function)


def places_in(file: str, source: str) -> list[Place]:
    """All places of a file, in the order of its text."""
    lines = np.cumsum([0, *(len(line.encode()) for line in source.splitlines(keepends=True))])
    raw = source.encode()
    found = []
    seen: Counter[str] = Counter()
    for node, function in walk(ast.parse(source)):
        for other in flipped(node):
            assert isinstance(node, ast.expr)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start, end = (
                int(lines[node.lineno - 1]) + node.col_offset,
                int(lines[node.end_lineno - 1]) + node.end_col_offset,
            )
            new = ast.unparse(other)
            new = new if isinstance(node, ast.Constant) else f"({new})"  # whatever stands around it binds as before
            place = Place(file, function, raw[start:end].decode(), new, start, end)
            seen[place.key] += 1
            found.append(replace(place, occurrence=seen[place.key]))
    return found


def all_places(root: Path = ROOT) -> list[Place]:
    """All places, in the order in which they are tried."""
    package = root / "shap_asv"
    files = sorted(path for room in ROOMS for path in (package / room).rglob("*.py"))
    files = [path for path in files if path.stem not in UNSEEN]
    places = [place for path in files for place in places_in(path.relative_to(package).as_posix(), path.read_text())]
    return sorted(places, key=lambda place: hashlib.sha256(place.key.encode()).digest())


def mutated(source: str, place: Place) -> str:
    raw = source.encode()
    assert raw[place.start : place.end].decode() == place.old
    return (raw[: place.start] + place.new.encode() + raw[place.end :]).decode()


def module_of(file: str) -> str:
    return "shap_asv." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def importers(file: str, root: Path = ROOT) -> list[str]:
    """Test files that are called like the module, then those that import it, then those that import a module of the
    same folder that does.
    """
    module, folder = module_of(file), root / "shap_asv" / Path(file).parent
    inner = {
        module_of(path.relative_to(root / "shap_asv").as_posix())
        for path in folder.glob("*.py")
        if module in imported_modules(path)
    }
    tests = sorted((root / "tests").rglob("test_*.py"))
    named = [test for test in tests if test.name == f"test_{Path(file).name}"]
    direct = [test for test in tests if module in imported_modules(test)]
    near = [test for test in tests if inner & imported_modules(test)]
    return list(dict.fromkeys(test.relative_to(root).as_posix() for test in [*named, *direct, *near]))


def stages(file: str, whole: bool) -> list[list[str]]:
    """Tests to run one after the other until one fails; none twice but for whole folders."""
    room = file.split("/")[0]
    wide = ["tests/values", "tests/reliability/test_properties.py", "tests/explainer", "tests/statistics"]
    listed = [importers(file), [f"tests/{room}"], wide]
    return [tests for tests in [*listed, ["tests"] if whole else []] if tests]


def verdict(copied: Path, place: Place, forked: Forked, seconds: float, whole: bool) -> str:
    """What happens to the copy with the mutant in it: who notices, or that nobody does."""
    path = copied / "shap_asv" / place.file
    said = forked.judge(path, mutated(path.read_text(), place), stages(place.file, whole), seconds)
    return said + " all tests" if said == SURVIVES and whole else said


def known(path: Path = FOUND) -> dict[str, str]:
    """Verdicts by the text of the place."""
    return json.loads(path.read_text()) if path.exists() else {}


def remember(place: Place, said: str, path: Path = FOUND) -> None:
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps({**known(path), place.key: said}, indent=1, sort_keys=True) + "\n")
    partial.replace(path)


def record_of(found: dict[str, str], places: list[Place]) -> Record:
    """Of those whose place is still there."""
    there = {place.key for place in places}
    found = {key: said for key, said in found.items() if key in there}
    caught, equivalent = ([key for key in found if found[key].startswith(word)] for word in (CAUGHT, EQUIVALENT))
    left = sorted(set(found) - set(caught) - set(equivalent))
    figures = [
        Figure("random mutants tried", str(len(found)), f"at least {ASKED}", len(found) >= ASKED),
        Figure("noticed by the tests", str(len(caught))),
        Figure("judged equivalent, with a reason", str(len(equivalent))),
        Figure("left", str(len(left)), "0", not left),
    ]
    notes = [
        "Operators, comparisons and numbers flipped at random in orders, backgrounds, models, values and backends, one "
        "at a time in a copy of the tree, with compiled code made anew; what only plans and prints see is left out.",
        *(f"`{key}`: {found[key]}" for key in [*equivalent, *left]),
    ]
    command = "python -m tests.reliability.random_mutants --count 100"
    return Record("random_mutants", "Random mutants", command, figures, notes)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.random_mutants", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--count", type=int, default=ASKED, help="how many numbers are tried")
    parser.add_argument("--only", default="", help="mutants whose description holds this text")
    parser.add_argument("--again", action="store_true", help="run survivors of earlier runs again")
    parser.add_argument("--whole", action="store_true", help="survivors meet all tests")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="after which a mutant is undecided")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="for the copy of the tree")
    parser.add_argument("--silent", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    places = all_places()
    chosen = [place for place in places if options.only in place.key][options.first : options.first + options.count]
    # always the same place, for compiled code is kept by the path of its source
    options.folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(options.folder / "tree", ignore_errors=True)
    copied = make_copy(options.folder)
    with Forked(copied, environment(copied, options.folder / "cache")) as forked:
        bar = tqdm(chosen, unit="mutant", disable=options.silent)
        for place in bar:
            before = known().get(place.key, "")
            if before and (before.startswith((CAUGHT, EQUIVALENT)) or not options.again):
                continue
            start = time.monotonic()
            said = verdict(copied, place, forked, options.seconds, options.whole)
            remember(place, said)
            bar.write(f"{said} ({time.monotonic() - start:.0f} s)\n    {place.key}")
    record = record_of(known(), places)
    return keep(record, fewer_than="" if record.figures[0].holds else f"{ASKED} mutants")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
