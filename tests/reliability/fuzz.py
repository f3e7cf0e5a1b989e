"""The long run of the property tests: ``python -m tests.reliability.fuzz`` (``make fuzz``), 20,000 cases.

Case ``k`` depends on the number ``k`` alone, so a failure is repeated by its number:

    python -m tests.reliability.fuzz --case 4711

How far it has come is kept in ``.fuzz.json`` beside this file (not under version control): a run that was stopped goes
on where it was, unless the sources have changed since; ``--fresh`` starts over. ``--matrix`` runs every cell of the
questions of an explainer once (``kinds/questions.py``) and leaves the cases alone. ``--workers`` takes several
processes. No record is kept of fewer than 20,000 cases.
"""

import argparse
import hashlib
import json
import multiprocessing
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tests.reliability.kinds import questions
from tests.reliability.kinds.table import KINDS, case_of, check, kind_of
from tests.reliability.records import ROOT, Figure, Record, keep

STATE = Path(__file__).parent / ".fuzz.json"
ASKED = 20_000  # cases that make a record
BATCH = 20  # cases that another process runs before it reports
SAVE_EVERY = 5.0  # seconds
COMMAND = "python -m tests.reliability.fuzz"

Judge = Callable[[int], str | None]


@dataclass
class Progress:
    """What came of the cases ``0 .. done - 1``; seconds of the processor, not of the clock."""

    sources: str
    done: int = 0
    failures: list[int] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0


def sources() -> str:
    """A fingerprint of the code that is tried and of the code that tries it."""
    files = [*sorted((ROOT / "shap_asv").rglob("*.py")), *sorted((ROOT / "tests" / "oracles").glob("*.py"))]
    here = Path(__file__).parent
    files += [here / f"{name}.py" for name in ("cases", "building", "properties")] + sorted(here.glob("kinds/*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def read_state(path: Path) -> Progress:
    """What an earlier run of the same sources has done, else nothing."""
    code = sources()
    before = Progress(**json.loads(path.read_text())) if path.exists() else Progress(code)
    if before.sources != code:
        print(f"{before.done:,} cases were run with other sources; they are run again")
        return Progress(code)
    return before


def write_state(path: Path, progress: Progress) -> None:
    partly = path.with_suffix(".part")  # a run that is killed while writing leaves the old state whole
    partly.write_text(json.dumps(asdict(progress), indent=1))
    partly.replace(path)


@contextmanager
def strict_warnings() -> Iterator[None]:
    """The same rule as in the tests: a warning that nobody expected is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", category)
        yield


def failure_of(k: int) -> str | None:
    """Run case ``k``: None, or the first line of what went wrong."""
    try:
        with strict_warnings():
            check(k)
    except (Exception, pytest.fail.Exception) as error:  # a warning that does not come is no Exception to pytest
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return f"{type(error).__name__}: {lines[0]}"
    return None


def outcome(judge: Judge, k: int) -> tuple[int, str | None, float]:
    """Run case ``k``: its number, what went wrong, and seconds of the processor."""
    start = time.process_time()
    return k, judge(k), time.process_time() - start


def start_worker(code: str) -> None:
    """Ctrl-C is for the parent; a worker that has read other sources than the parent is of no use."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    if sources() != code:
        raise RuntimeError("the sources changed while workers were started")


def run(cases: int, path: Path = STATE, silent: bool = False, workers: int = 1, judge: Judge = failure_of) -> Progress:
    """Run what is left of the first ``cases`` cases; the state is kept as it goes."""
    progress = read_state(path)
    bar = tqdm(total=cases, initial=progress.done, unit="case", disable=silent, smoothing=0.02)
    saved = time.monotonic()
    left, judged, pool = range(progress.done, cases), partial(outcome, judge), None
    if workers > 1:
        # spawned, not forked: the libraries of some models do not survive a fork
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, context, start_worker, (progress.sources,))
    try:
        for k, problem, taken in map(judged, left) if pool is None else pool.map(judged, left, chunksize=BATCH):
            progress.done += 1
            progress.seconds += taken
            progress.slowest = max(progress.slowest, taken)
            if problem is not None:
                progress.failures.append(k)
                bar.write(f"case {k} fails: {problem}\n  repeat it with: {COMMAND} --case {k}")
            bar.update()
            if time.monotonic() - saved > SAVE_EVERY:
                write_state(path, progress)
                saved = time.monotonic()
    finally:
        bar.close()
        write_state(path, progress)
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    return progress


def record_of(progress: Progress) -> Record:
    """The figures of a finished run."""
    tried, failures = progress.done, progress.failures
    counts = Counter(kind_of(k).name for k in range(tried))
    shares = ", ".join(f"{kind.name} {counts[kind.name]:,} ({counts[kind.name] / tried:.0%})" for kind in KINDS)
    notes = [f"{kind.name[0].upper()}{kind.name[1:]}: {kind.note}" for kind in KINDS]
    notes.append("No oracle imports anything of this package.")
    mean = progress.seconds / tried * 1e3
    figures = [
        Figure("cases tried", f"{tried:,}", f"at least {ASKED:,}", tried >= ASKED),
        Figure("kinds of cases and their shares", shares),
        Figure("failures", str(len(failures)), "0", not failures),
        Figure("processor time of a case, mean and largest", f"{mean:.0f} ms, {progress.slowest:.1f} s"),
        Figure("processor time in all", f"{progress.seconds / 60:.1f} minutes"),
    ]
    return Record("fuzz", "Property tests against the definition", "make fuzz", figures, notes)


def run_matrix(silent: bool = False) -> int:
    """Every question x background x meaning x order x groups or not: how many cells fail, each told with its number."""
    failed, answers = 0, Counter[str]()
    for case in tqdm(list(questions.cells()), unit="cell", disable=silent):
        try:
            answers["refused" if questions.outcome(case) != "holds" else "holds"] += 1
        except Exception as error:
            failed += 1
            tqdm.write(f"{case} fails: {type(error).__name__}: {str(error)[:300]}")
    print(f"{answers['holds']:,} cells hold, {answers['refused']:,} are refused with a reason, {failed} fail")
    return failed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=ASKED, help="run cases 0 .. CASES - 1")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the cases")
    parser.add_argument("--case", type=int, help="run this one case, with its traceback")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has done")
    parser.add_argument("--matrix", action="store_true", help="run every cell of the questions once")
    parser.add_argument("--silent", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    with threadpool_limits(1):  # models of a few rows: threads only get in each other's way
        if options.case is not None:
            print(f"{kind_of(options.case).name}: {case_of(options.case)}")
            try:
                with strict_warnings():
                    check(options.case)
            except Exception:
                traceback.print_exc()
                return 1
            print("holds")
            return 0
        if options.matrix:
            return 1 if run_matrix(options.silent) else 0
        if options.fresh:
            STATE.unlink(missing_ok=True)
        progress = run(options.cases, STATE, options.silent, options.workers)
    keep(record_of(progress), fewer_than="" if options.cases >= ASKED else f"{ASKED:,} cases")
    for k in progress.failures:
        print(f"case {k} failed; repeat it with: {COMMAND} --case {k}")
    return 1 if progress.failures else 0


if __name__ == "__main__":
    sys.exit(main())
