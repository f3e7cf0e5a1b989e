"""The long run of the property tests: ``python -m tests.reliability.fuzz`` (``make fuzz``), 20,000 cases.

Case ``k`` depends on the number ``k`` alone, so a failure is repeated by its number:

    python -m tests.reliability.fuzz --case 4711

How far each thousand has come is kept in ``.fuzz.json`` beside this file (not under version control): a run that was
stopped goes on where it was, unless the sources have changed since: a thousand of other sources is run again.
``--matrix`` runs every cell of the questions of an explainer once (``kinds/questions.py``) and leaves the cases alone.
``--fresh`` starts over, ``--workers`` takes several processes. No record is kept of fewer than 20,000 cases.
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
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tests.reliability.kinds import questions
from tests.reliability.kinds.table import KINDS, case_of, check, kind_of
from tests.reliability.records import Figure, Record, keep, show

STATE = Path(__file__).parent / ".fuzz.json"
ASKED = 20_000  # cases that make a record
SPAN = 1000  # cases counted together
BATCH = 20  # cases that another process runs before it reports
SAVE_EVERY = 5.0  # seconds
ROOT = Path(__file__).parents[2]
COMMAND = "python -m tests.reliability.fuzz"

Judge = Callable[[int], str | None]
Outcome = tuple[int, str | None, float]  # a case, what went wrong, seconds of the processor


@dataclass
class Span:
    """What came of the cases ``first .. first + done - 1``; seconds of the processor, not of the clock."""

    first: int
    done: int = 0
    failures: list[int] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0
    sources: list[str] = field(default_factory=list)


def sources() -> str:
    """A fingerprint of the code that is tried and of the code that tries it."""
    files = [*sorted((ROOT / "shap_asv").rglob("*.py")), *sorted((ROOT / "tests" / "oracles").glob("*.py"))]
    here = Path(__file__).parent
    files += [here / f"{name}.py" for name in ("cases", "building", "properties")] + sorted(here.glob("kinds/*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def read_state(path: Path) -> dict[int, Span]:
    if not path.exists():
        return {}
    return {int(first): Span(**span) for first, span in json.loads(path.read_text()).items()}


def write_state(path: Path, spans: dict[int, Span]) -> None:
    partial = path.with_suffix(".part")  # a run that is killed while writing leaves the old state whole
    partial.write_text(json.dumps({str(first): asdict(span) for first, span in spans.items()}, indent=1))
    partial.replace(path)


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
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return f"{type(error).__name__}: {lines[0]}"
    return None


def outcomes(first: int, count: int, judge: Judge) -> list[Outcome]:
    """Run the cases ``first .. first + count - 1``."""
    found = []
    for k in range(first, first + count):
        start = time.process_time()
        problem = judge(k)
        found.append((k, problem, time.process_time() - start))
    return found


def outcomes_elsewhere(first: int, count: int, judge: Judge) -> list[Outcome]:
    """The same in a worker."""
    with threadpool_limits(1):
        return outcomes(first, count, judge)


def start_worker(code: str) -> None:
    """Ctrl-C is for the parent; a worker that has read other sources than the parent is of no use."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sources() != code:
        raise RuntimeError("the sources changed while workers were started")


def in_turn(plan: list[tuple[Span, int]], judge: Judge) -> Iterator[tuple[Span, list[Outcome]]]:
    """What is left of each span up to its size, case by case; whoever takes an outcome counts it in its span."""
    for span, size in plan:
        while span.done < size:
            yield span, outcomes(span.first + span.done, 1, judge)


def side_by_side(
    plan: list[tuple[Span, int]], judge: Judge, workers: int, code: str
) -> Iterator[tuple[Span, list[Outcome]]]:
    """The same by several processes, each at a span of its own; a span goes on when its last batch is counted."""
    waiting = [(span, size) for span, size in plan if span.done < size][::-1]
    running: dict[Future[list[Outcome]], tuple[Span, int]] = {}
    # spawned, not forked: the libraries of some models do not survive a fork
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, start_worker, (code,))

    def submit(span: Span, size: int) -> None:
        first = span.first + span.done
        running[pool.submit(outcomes_elsewhere, first, min(BATCH, size - span.done), judge)] = (span, size)

    try:
        while running or waiting:
            while waiting and len(running) < workers:
                submit(*waiting.pop())
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                span, size = running.pop(future)
                yield span, future.result()
                if span.done < size:
                    submit(span, size)
    finally:
        pool.shutdown(cancel_futures=True)


def run(
    cases: int, path: Path = STATE, silent: bool = False, workers: int = 1, judge: Judge = failure_of
) -> list[Span]:
    """Run what is left of the first ``cases`` cases, span by span; the state is kept as it goes."""
    spans = read_state(path)
    code = sources()
    stale = [first for first in range(0, cases, SPAN) if first in spans and set(spans[first].sources) - {code}]
    if stale:
        print(f"{sum(spans[first].done for first in stale):,} cases were run with other sources; they are run again")
    plan = []
    for first in range(0, cases, SPAN):
        if first in stale or first not in spans:
            spans[first] = Span(first, sources=[code])
        plan.append((spans[first], min(SPAN, cases - first)))
    before = sum(min(span.done, size) for span, size in plan)
    bar = tqdm(total=cases, initial=before, unit="case", disable=silent, smoothing=0.02)
    saved = time.monotonic()
    work = in_turn(plan, judge) if workers == 1 else side_by_side(plan, judge, workers, code)
    try:
        for span, found in work:
            for k, problem, taken in found:
                span.done += 1
                span.seconds += taken
                span.slowest = max(span.slowest, taken)
                if problem is not None:
                    span.failures.append(k)
                    bar.write(f"case {k} fails: {problem}\n  repeat it with: {COMMAND} --case {k}")
            bar.update(len(found))
            if time.monotonic() - saved > SAVE_EVERY:
                write_state(path, spans)
                saved = time.monotonic()
    finally:
        bar.close()
        write_state(path, spans)
        work.close()
    return [span for span, _ in plan]


def record_of(spans: list[Span]) -> Record:
    """The figures of a finished run."""
    tried = sum(span.done for span in spans)
    failures = [k for span in spans for k in span.failures]
    seconds = sum(span.seconds for span in spans)
    slowest = max(span.slowest for span in spans)
    counts = Counter(kind_of(k).name for span in spans for k in range(span.first, span.first + span.done))
    shares = ", ".join(f"{kind.name} {counts[kind.name]:,} ({counts[kind.name] / tried:.0%})" for kind in KINDS)
    notes = [f"{kind.name[0].upper()}{kind.name[1:]}: {kind.note}" for kind in KINDS]
    notes.append("No oracle imports anything of this package.")
    figures = [
        Figure("cases tried", f"{tried:,}", f"at least {ASKED:,}", tried >= ASKED),
        Figure("kinds of cases and their shares", shares),
        Figure("failures", str(len(failures)), "0", not failures),
        Figure("processor time of a case, mean and largest", f"{seconds / tried * 1e3:.0f} ms, {slowest:.1f} s"),
        Figure("processor time in all", f"{seconds / 60:.1f} minutes"),
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
        spans = run(options.cases, STATE, options.silent, options.workers)
    if options.cases < ASKED:
        show(record_of(spans))
        print(f"no record is kept of fewer than {ASKED:,} cases")
    else:
        keep(record_of(spans))
    failures = [k for span in spans for k in span.failures]
    for k in failures:
        print(f"case {k} failed; repeat it with: {COMMAND} --case {k}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
