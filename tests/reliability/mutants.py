"""Do the tests notice? ``python -m tests.reliability.mutants`` (``make mutants``) breaks the code in known ways.

Each mutant is one wrong line, written into a copy of the tree in a temporary folder, never into the tree itself. The
tests named beside it run there and have to fail, or, where none are named, the neighbours of its file: the tests that
import it, and the contract tests of its room. Before that, the copy without a mutant has to pass them all. A mutant
that survives means that a test is missing. If the line that a mutant breaks no longer occurs exactly once, the run
stops: the list has to follow the code.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

from tests.reliability.mutations import MUTANTS
from tests.reliability.mutations.mutant import ROOT, Mutant
from tests.reliability.records import Figure, Record, keep

COPIED = ("shap_asv", "tests", "benchmarks", "pyproject.toml")


def environment(copy: Path, cache: Path) -> dict[str, str]:
    """Python finds the copy first; kernels are compiled into a folder of their own."""
    return {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}


def run_tests(copy: Path, tests: list[str], cache: Path) -> tuple[bool, str]:
    """Whether the tests pass in the copy, and the end of what they said."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=copy, env=environment(copy, cache), capture_output=True, text=True)
    if done.returncode not in (0, 1):  # nothing collected, or an error of usage: says nothing about the mutant
        raise SystemExit(f"pytest could not run {' '.join(tests)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0, done.stdout[-1500:]


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


def is_caught(copy: Path, mutant: Mutant, folder: Path) -> bool:
    """Break the copy, run the mutant's tests, mend the copy again."""
    path, text = place_of(copy, mutant)
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        passed, _ = run_tests(copy, list(mutant.asked), folder / "cache")
    finally:
        path.write_text(text)
    return not passed


def check(mutants: list[Mutant], number: int, folder: Path, bar: tqdm) -> list[Mutant]:
    """One worker with a copy of its own: the copy passes all tests, then each mutant; returns those that survive."""
    folder = folder / f"worker{number}"
    folder.mkdir()
    copy = make_copy(folder)
    for mutant in mutants:
        place_of(copy, mutant)
    tests = sorted({test for mutant in mutants for test in mutant.asked})
    passed, said = run_tests(copy, tests, folder / "cache")
    if not passed:
        raise SystemExit(f"the tests fail without any mutant:\n{said}")
    survivors = []
    for mutant in mutants:
        caught = is_caught(copy, mutant, folder)
        bar.write(f"{'caught  ' if caught else 'SURVIVES'}  {mutant.what}")
        bar.update()
        if not caught:
            survivors.append(mutant)
    return survivors


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="run the mutants whose description holds this text; keeps no record")
    parser.add_argument(
        "--jobs", type=int, default=min(4, os.cpu_count() or 1), help="copies that are broken at a time"
    )
    parser.add_argument("--silent", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.what]
    if not chosen:
        raise SystemExit(f"no mutant is described by {options.only!r}")
    started = time.monotonic()
    shares = [chosen[number :: options.jobs] for number in range(min(options.jobs, len(chosen)))]
    bar = tqdm(total=len(chosen), unit="mutant", disable=options.silent)
    with tempfile.TemporaryDirectory(prefix="mutants") as name, ThreadPoolExecutor(len(shares)) as pool:
        running = [pool.submit(check, share, number, Path(name), bar) for number, share in enumerate(shares)]
        survivors = [mutant for work in running for mutant in work.result()]
    bar.close()
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
