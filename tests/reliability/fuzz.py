"""The long run of the property tests: ``python -m tests.reliability.fuzz`` (``make fuzz``), 10,000 cases.

Case ``k`` depends on the number ``k`` alone, so a failure is repeated by its number:

    python -m tests.reliability.fuzz --case 4711

How far each thousand has come is kept in ``.fuzz.json`` beside this file (not under version control): a run that was
stopped goes on where it was. ``--fresh`` starts over.
"""

import argparse
import hashlib
import json
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tests.reliability.cases import case_of
from tests.reliability.properties import check
from tests.reliability.records import Figure, Record, keep

STATE = Path(__file__).parent / ".fuzz.json"
SPAN = 1000  # cases counted together
SAVE_EVERY = 5.0  # seconds
ROOT = Path(__file__).parents[2]
COMMAND = "python -m tests.reliability.fuzz"


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
    files += [Path(__file__).parent / f"{name}.py" for name in ("cases", "building", "properties")]
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
            check(case_of(k))
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return f"{type(error).__name__}: {lines[0]}"
    return None


def run(cases: int, path: Path = STATE, silent: bool = False) -> list[Span]:
    """Run what is left of the first ``cases`` cases, span by span; the state is kept as it goes."""
    spans = read_state(path)
    code = sources()
    plan = [(first, min(SPAN, cases - first)) for first in range(0, cases, SPAN)]
    before = sum(min(spans[first].done, size) for first, size in plan if first in spans)
    bar = tqdm(total=cases, initial=before, unit="case", disable=silent, smoothing=0.02)
    saved = time.monotonic()
    try:
        for first, size in plan:
            span = spans.setdefault(first, Span(first))
            while span.done < size:
                k, start = first + span.done, time.process_time()
                problem = failure_of(k)
                taken = time.process_time() - start
                span.done += 1
                span.seconds += taken
                span.slowest = max(span.slowest, taken)
                span.sources = sorted({*span.sources, code})
                if problem is not None:
                    span.failures.append(k)
                    bar.write(f"case {k} fails: {problem}\n  repeat it with: {COMMAND} --case {k}")
                bar.update()
                if time.monotonic() - saved > SAVE_EVERY:
                    write_state(path, spans)
                    saved = time.monotonic()
    finally:
        bar.close()
        write_state(path, spans)
    return [spans[first] for first, _ in plan]


def record_of(cases: int, spans: list[Span]) -> Record:
    """The figures of a finished run."""
    failures = [k for span in spans for k in span.failures]
    seconds = sum(span.seconds for span in spans)
    slowest = max(span.slowest for span in spans)
    versions = {code for span in spans for code in span.sources}
    notes = [
        "A case is a random network (1 to 6 nodes, 1 to 4 states, up to 3 parents, latent nodes, zeros), a causal "
        "graph (the network's, sparser, denser, contradicting, unrelated, with nodes too many or too few, levels, "
        "explicit orders), an encoder, one of 20 kinds of model and rows in one of 8 forms; beside the values it asks "
        "for one thing more: every exact backend by name, `symmetric()`, `compare`, main effects, a choice of outputs, "
        "the logit link, sampled orders, Monte Carlo, `save` and `load`, impossible rows, or a matrix background "
        "beside `shap.ExactExplainer`. A third of the cases forces the compiled kernels that otherwise wait for large "
        "problems.",
        "The oracle enumerates all orders and the full joint distribution and imports nothing of this package. "
        "Agreement is asked to 1e-9 of the largest output, 3e-6 for XGBoost, which adds up in float32.",
    ]
    if len(versions) > 1:
        notes.append(f"The sources changed {len(versions) - 1} times while these cases ran.")
    figures = [
        Figure("cases tried", f"{sum(span.done for span in spans):,}", f"{cases:,}"),
        Figure("failures", str(len(failures)), "0", not failures),
        Figure("processor time of a case, mean and largest", f"{seconds / cases * 1e3:.0f} ms, {slowest:.1f} s"),
        Figure("processor time in all", f"{seconds / 60:.1f} minutes"),
    ]
    return Record("fuzz", "Property tests against the definition", "make fuzz", figures, notes)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000, help="run cases 0 .. CASES - 1")
    parser.add_argument("--case", type=int, help="run this one case, with its traceback")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has done")
    parser.add_argument("--silent", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    with threadpool_limits(1):  # models of a few rows: threads only get in each other's way
        if options.case is not None:
            print(case_of(options.case))
            try:
                with strict_warnings():
                    check(case_of(options.case))
            except Exception:
                traceback.print_exc()
                return 1
            print("holds")
            return 0
        if options.fresh:
            STATE.unlink(missing_ok=True)
        spans = run(options.cases, silent=options.silent)
    keep(record_of(options.cases, spans))
    failures = [k for span in spans for k in span.failures]
    for k in failures:
        print(f"case {k} failed; repeat it with: {COMMAND} --case {k}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
