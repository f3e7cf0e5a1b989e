"""Do the tests notice? ``python -m tests.reliability.mutants`` (``make mutants``) breaks the code in known ways.

Each mutant is one wrong line, written into a copy of the tree, never into the tree itself. They are in ``mutants.txt``:

    ## what is wrong
    shap_asv/orders/weights.py
    by tests/orders/test_weights.py::test_of_a_name
    - the line as it is
    + the line as it is broken

One of the tests behind "by" has to fail, or, where there are none, of the neighbours of the file: the tests that import
it, and the contract tests of its room. The test that fails has to pass without the mutant. A mutant that survives means
that a test is missing. If the line that a mutant breaks no longer occurs exactly once, the run stops: the list has to
follow the code. A run that was stopped goes on where it was, as long as the commit is the same.
"""

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tqdm import tqdm

from tests.reliability.forked import CAUGHT, Forked
from tests.reliability.records import ROOT, Figure, Record, keep, present_commit

COPIED = ("shap_asv", "tests", "benchmarks", "examples", "pyproject.toml")
#: For the copy and what is compiled: always the same place, for compiled code is kept by the path of its source.
FOLDER = ROOT / "build" / "mutants"
SECONDS = 900  # of the clock; tests that take longer are taken for tests that do not notice


@dataclass(frozen=True)
class Mutant:
    """``old`` becomes ``new`` in ``shap_asv/<file>``; ``tests`` are node ids, by default the neighbours of the file."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        return self.tests or neighbours(self.file)


def neighbours(file: str, root: Path = ROOT) -> tuple[str, ...]:
    """Test files beside ``shap_asv/<file>``, in the same room: those that import it or are called like it, and the
    contract tests. A row in a table is tested by these, whichever file it comes from; so nothing has to be listed.

    >>> neighbours("backgrounds/discrete/border.py")
    ('tests/backgrounds/test_contract.py', 'tests/backgrounds/test_encoding.py')
    """
    path = Path(file)
    module = ".".join(("shap_asv", *path.with_suffix("").parts)).removesuffix(".__init__")
    named = ("test_contract.py", f"test_{path.name}")
    inside = len(path.parts) > 1
    beside = (root / "tests" / path.parts[0]).rglob("test_*.py") if inside else (root / "tests").glob("test_*.py")
    found = [test for test in beside if test.name in named or module in imported_modules(test)]
    return tuple(sorted(test.relative_to(root).as_posix() for test in found))


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """Modules and names that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def read_mutants(text: str) -> tuple[Mutant, ...]:
    """Those of a text like ``mutants.txt``.

    >>> read_mutants("## a sign\\nshap_asv/strata.py\\n- a + b\\n+ a - b\\n")
    (Mutant(what='a sign', file='strata.py', old='a + b', new='a - b', tests=()),)
    """
    found = []
    for entry in text.split("## ")[1:]:
        what, file, *lines = (line for line in entry.splitlines() if line and not line.startswith("#"))
        old, new = ("\n".join(line[2:] for line in lines if line.startswith(sign)) for sign in "-+")
        tests = tuple(line.removeprefix("by ") for line in lines if line.startswith("by "))
        found.append(Mutant(what, file.removeprefix("shap_asv/"), old, new, tests))
    return tuple(found)


MUTANTS = read_mutants(Path(__file__).with_suffix(".txt").read_text())


def environment(copy: Path, cache: Path) -> dict[str, str]:
    """Python finds the copy first; kernels are compiled into a folder of their own."""
    return {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}


def make_copy(folder: Path) -> Path:
    """The tree without what was generated; checked that Python imports it and not the original."""
    copy = folder / "tree"
    copy.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", ".peers", "results", "*.nbi", "*.nbc")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=ignore)
        else:
            shutil.copy2(source, copy / name)
    code = "import shap_asv, tests; print(shap_asv.__file__); print(tests.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=copy,
        env=environment(copy, folder),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    if not all(Path(path).resolve().is_relative_to(copy.resolve()) for path in found):
        raise SystemExit(f"Python imports {found}, not the copy in {copy}")
    return copy


def place_of(copy: Path, mutant: Mutant) -> tuple[Path, str]:
    """The file that a mutant breaks and its text; an error unless the line is there once."""
    path = copy / "shap_asv" / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"{mutant.what}: the text {mutant.old!r} occurs {text.count(mutant.old)} times in shap_asv/{mutant.file}; "
            "mend the list of mutants"
        )
    return path, text


def judged(copy: Path, mutant: Mutant, forked: Forked) -> str:
    """Break the copy, run the mutant's tests, mend the copy again."""
    path, text = place_of(copy, mutant)
    return forked.judge(path, text.replace(mutant.old, mutant.new), [list(mutant.asked)], SECONDS)


def known(path: Path, again: bool) -> dict[str, str]:
    """What an earlier run at the same commit found."""
    return json.loads(path.read_text()) if path.exists() and not again else {}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="run the mutants whose description holds this text; keeps no record")
    parser.add_argument("--again", action="store_true", help="also those that were run at this commit before")
    parser.add_argument("--silent", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.what]
    if not chosen:
        raise SystemExit(f"no mutant is described by {options.only!r}")
    for mutant in chosen:
        place_of(ROOT, mutant)
    FOLDER.mkdir(parents=True, exist_ok=True)
    commit = present_commit()
    path = FOLDER / f"chosen-{commit}.json"
    found = known(path, options.again or not commit or commit.endswith("-dirty"))
    started = time.monotonic()
    shutil.rmtree(FOLDER / "tree", ignore_errors=True)
    copy = make_copy(FOLDER)
    with Forked(copy, environment(copy, FOLDER / "cache")) as forked:
        bar = tqdm([mutant for mutant in chosen if mutant.what not in found], unit="mutant", disable=options.silent)
        for mutant in bar:
            found[mutant.what] = judged(copy, mutant, forked)
            bar.write(f"{found[mutant.what]}  {mutant.what}")
            path.write_text(json.dumps(found, indent=1))
    survivors = [mutant for mutant in chosen if not found[mutant.what].startswith(CAUGHT)]
    if not options.only:
        keep(record_of(survivors, time.monotonic() - started))
    return 1 if survivors else 0


def record_of(survivors: list[Mutant], seconds: float) -> Record:
    figures = [
        Figure("ways in which the code was broken", str(len(MUTANTS)), "at least 60", len(MUTANTS) >= 60),
        Figure("noticed by the tests", str(len(MUTANTS) - len(survivors)), str(len(MUTANTS)), not survivors),
        Figure("time in all", f"{seconds / 60:.1f} minutes"),
    ]
    notes = [
        "One wrong line at a time in a copy of the tree; the tests beside it have to fail, and pass without it. "
        "Broken were: "
        + "; ".join(mutant.what + (" (survives)" if mutant in survivors else "") for mutant in MUTANTS)
        + "."
    ]
    return Record("mutants", "Mutation check", "make mutants", figures, notes)


if __name__ == "__main__":
    sys.exit(main())
