"""Did a change of the house change a number? ``python -m tests.reliability.bits 7b614db HEAD`` (``make bits``).

Both commits explain the random cases of ``make fuzz``, each with its own sources and its own ``properties.py``; the
cases are those of the first commit, word by word. Every explanation that a case asks for is kept, and the two are
compared: which bits differ, by how much of the largest value, by which backend and model.

What was computed is kept in ``.bits/`` beside this file (not under version control): a run that was stopped goes on
where it was. No record is kept of fewer than 10,000 cases.
"""

import argparse
import base64
import json
import os
import subprocess
import sys
import tarfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tests.reliability.records import Figure, Record, keep

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STORE = HERE / ".bits"
ASKED = 10_000  # cases that make a record
#: What two explanations may be to one another: equal, of another backend that was chosen, means of other draws, or of
#: the same backend with other last bits, or other numbers.
SAME, OTHER, SAMPLE, LAST_BITS, NUMBERS = "same bits", "other backend", "sample", "last bits", "numbers"
KINDS = {
    LAST_BITS: "the same backend, other last bits",
    OTHER: "another backend was chosen, exact or of the same draws",
    SAMPLE: "other draws",
    NUMBERS: "the same backend, other numbers",
}
#: XGBoost adds up in float32: another way through its trees is another sum of floats.
ABOUT = (
    "Each commit explains the cases of `make fuzz` with its own sources; the cases are those of the first commit. An "
    "explanation is the same if values, base values and standard errors are, bit by bit."
)
LIMITS = {LAST_BITS: 1e-13, OTHER: 3e-6, SAMPLE: 6.0, NUMBERS: 0.0}

# --- one side: what a tree of sources gives -----------------------------------------------------------------------


def packed(array: Any) -> list | None:
    """An array as (shape, bytes in base64); None stays None."""
    if array is None:
        return None
    array = np.ascontiguousarray(array, dtype=np.float64)
    return [list(array.shape), base64.b64encode(array.tobytes()).decode()]


def unpacked(given: list | None) -> np.ndarray | None:
    return None if given is None else np.frombuffer(base64.b64decode(given[1])).reshape(given[0])


@contextmanager
def heard(explainer_class: type, found: list[dict]) -> Iterator[None]:
    """Whatever an explainer gives within is added to ``found``, with what was asked and what ran."""
    call = explainer_class.__call__

    def listen(self: Any, X: Any, *arguments: Any, **more: Any) -> Any:
        explanation = call(self, X, *arguments, **more)
        ready = getattr(self._execution, "_ready", None)
        found.append(
            {
                "asked": self.algorithm,
                "backend": ready[0][0] if ready else self.plan(X).backend.name,  # what ran, where it is kept
                "features": list(explanation.feature_names),
                "values": packed(explanation.values),
                "base": packed(explanation.base_values),
                "error": packed(explanation.error_std),
            }
        )
        return explanation

    explainer_class.__call__ = listen
    try:
        yield
    finally:
        explainer_class.__call__ = call


def write_cases(path: Path, cases: int) -> None:
    """The words of cases 0 .. ``cases - 1``: case k is drawn by ``default_rng(k)`` from the words of this tree."""
    from tests.reliability.cases import CHOICES

    with path.open("w") as file:
        for k in range(cases):
            rng = np.random.default_rng(k)
            words = {name: known[int(rng.integers(len(known)))] for name, known in CHOICES.items()}
            file.write(json.dumps({"seed": k, **words}) + "\n")


def write_side(path: Path, like: Path) -> None:
    """A line for each case of the file ``like``, by the modules that this process imports."""
    from threadpoolctl import threadpool_limits

    from shap_asv import AsymmetricExplainer
    from tests.reliability.cases import Case
    from tests.reliability.fuzz import strict_warnings
    from tests.reliability.properties import check

    done = sum(1 for _ in lines_of(path))
    with path.open("a") as file, threadpool_limits(1):
        for words in list(lines_of(like))[done:]:
            found: list[dict] = []
            start, failure = time.process_time(), None
            try:
                with strict_warnings(), heard(AsymmetricExplainer, found):
                    check(Case(**words))
            except Exception as error:
                failure = f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"
            line = {"case": words, "found": found, "failure": failure, "seconds": time.process_time() - start}
            file.write(json.dumps(line) + "\n")
            file.flush()


def lines_of(path: Path) -> Iterator[dict]:
    """The cases that are there; a last line that was cut short is cut off the file."""
    if not path.exists():
        return
    whole = path.read_bytes()
    if not whole.endswith(b"\n"):
        whole = whole[: whole.rfind(b"\n") + 1]
        path.write_bytes(whole)
    for line in whole.splitlines():
        yield json.loads(line)


def elsewhere(commit: str, *arguments: str) -> subprocess.Popen:
    """This file in a process that imports the sources of ``commit``, which are checked out below ``STORE``."""
    tree = STORE / commit
    if not tree.exists():
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(tree, filter="data")
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    # -P: the folder of this file is not on the path, where statistics.py would hide Python's own
    return subprocess.Popen([sys.executable, "-P", __file__, *arguments], cwd=tree, env=environment)


def finish(*processes: subprocess.Popen) -> None:
    """Wait for all; one that failed has said why."""
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit(1)


# --- both sides ---------------------------------------------------------------------------------------------------


def by_question(found: list[dict]) -> dict[tuple[str, int], dict]:
    """Explanations by what was asked for: the name of an algorithm, and which time it was asked for."""
    times: Counter = Counter()
    questions = {}
    for one in found:
        questions[one["asked"], times[one["asked"]]] = one
        times[one["asked"]] += 1
    return questions


def compare_explanations(old: dict, new: dict) -> tuple[str, float]:
    """(kind of the difference, its size): relative to the largest value, or in standard errors for other draws.

    The kinds are those of :data:`KINDS`. Exact backends have standard errors of zero where they are asked for any. The
    draws are the same where values and standard errors both are, up to rounding: others would move them by far more.
    """
    if old["features"] == new["features"] and all(old[part] == new[part] for part in ("values", "base", "error")):
        return SAME, 0.0
    places = [new["features"].index(name) for name in old["features"]]
    a, b = (np.atleast_3d(unpacked(one["values"])) for one in (old, new))
    gap = np.abs(a - b[:, places])
    largest = max(1e-300, np.abs(a).max(), np.abs(unpacked(old["base"])).max())
    relative = float(gap.max() / largest)
    errors = [np.zeros_like(a) if one["error"] is None else np.atleast_3d(unpacked(one["error"])) for one in (old, new)]
    before, after = errors[0], errors[1][:, places]
    if max(gap.max(), np.abs(before - after).max()) > LIMITS[OTHER] * largest and (before.any() or after.any()):
        return SAMPLE, float((gap / np.maximum(np.hypot(before, after), 1e-12)).max())
    if old["backend"] != new["backend"]:
        return OTHER, relative
    return (LAST_BITS if relative < 1e-13 else NUMBERS), relative


@dataclass(frozen=True)
class Difference:
    """An explanation that is not the same to the last bit: its kind and size, the backends, the case."""

    kind: str
    size: float
    backends: str
    case: str

    @property
    def shown(self) -> str:
        unit = "standard errors" if self.kind == SAMPLE else "of the largest value"
        return f"{self.size:.1e} {unit} ({self.case})"


def compare_sides(old_path: Path, new_path: Path) -> tuple[Counter, list[Difference]]:
    """Counts, and every difference, of the cases that both sides have."""
    counts: Counter = Counter()
    differences = []
    for k, (old, new) in enumerate(zip(lines_of(old_path), lines_of(new_path), strict=False)):
        if old["case"] != new["case"]:
            raise SystemExit(f"line {k + 1} is of another case on each side; write both sides again")
        counts["cases"] += 1
        counts["failures before"] += old["failure"] is not None
        counts["failures after"] += new["failure"] is not None
        sides = [by_question(side["found"]) for side in (old, new)]
        for question in sorted(sides[0].keys() & sides[1].keys()):
            one, other = (side[question] for side in sides)
            kind, size = compare_explanations(one, other)
            counts["explanations"] += 1
            counts[kind] += 1
            if kind != SAME:
                backends = " -> ".join(dict.fromkeys((one["backend"], other["backend"])))
                case = f"case {k}: {old['case']['model']}, {old['case']['also']}"
                differences.append(Difference(kind, size, backends, case))
    return counts, differences


def summary(differences: list[Difference]) -> list[str]:
    """A line for each kind of difference and pair of backends: how many, and the largest."""
    groups: defaultdict[tuple[str, str], list[Difference]] = defaultdict(list)
    for difference in differences:
        groups[difference.kind, difference.backends].append(difference)
    return [
        f"{kind}, {backends}: {len(members)}, at most {max(members, key=lambda d: d.size).shown}"
        for (kind, backends), members in sorted(groups.items())
    ]


def record_of(commits: list[str], counts: Counter, differences: list[Difference]) -> Record:
    """The figures of a comparison."""
    figures = [
        Figure("cases compared", f"{counts['cases']:,}", f"{ASKED:,}", counts["cases"] >= ASKED),
        Figure("cases that fail, before and after", f"{counts['failures before']}, {counts['failures after']}"),
        Figure("explanations asked on both sides", f"{counts['explanations']:,}"),
        Figure("the same to the last bit", f"{counts[SAME]:,}"),
    ]
    for kind, words in KINDS.items():
        largest = max((d.size for d in differences if d.kind == kind), default=0.0)
        size = f"{largest:.1g} {'standard errors' if kind == SAMPLE else 'of the largest value'}"
        value = f"{counts[kind]:,}, at most {size}" if counts[kind] else "0"
        figures.append(Figure(words, value, f"at most {LIMITS[kind]:g}", largest <= LIMITS[kind]))
    command = f"python -m tests.reliability.bits {' '.join(commits)}"
    return Record("bits", f"The same numbers as {commits[0]}", command, figures, [ABOUT, *summary(differences)])


def tell(commits: list[str], sides: list[Path]) -> int:
    """Compare both files and keep the record; 1 where a limit is passed."""
    counts, differences = compare_sides(*sides)
    record = record_of(commits, counts, differences)
    return keep(record, fewer_than="" if counts["cases"] >= ASKED else f"{ASKED:,} cases")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.reliability.bits", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="before and after")
    parser.add_argument("--cases", type=int, default=ASKED, help="compare cases 0 .. CASES - 1")
    parser.add_argument("--write", type=Path, help="only write what the modules on the path give, into this file")
    parser.add_argument("--like", type=Path, help="with --write: the file of the cases; else that file is written")
    options = parser.parse_args(arguments)
    if options.write:
        if options.like:
            write_side(options.write, options.like)
        else:
            write_cases(options.write, options.cases)
        return 0
    if len(options.commits) != 2:
        parser.error("two commits are compared: before and after")
    git = ["git", "rev-parse", "--short"]
    commits = [subprocess.check_output([*git, name], cwd=ROOT, text=True).strip() for name in options.commits]
    STORE.mkdir(exist_ok=True)
    words = STORE / "cases.jsonl"
    finish(elsewhere(commits[0], "--write", str(words), "--cases", str(options.cases)))
    sides = [STORE / f"{commit}.jsonl" for commit in commits]
    finish(*(elsewhere(c, "--write", str(side), "--like", str(words)) for c, side in zip(commits, sides, strict=True)))
    return tell(commits, sides)


if __name__ == "__main__":
    sys.exit(main())
