"""100,000 rows of a tree ensemble through the explainer: memory and time.

``python -m benchmarks.many_rows N`` explains N rows in this process and prints what memory that took.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.timing import timed
from benchmarks.trees_alone import ROOT, N, causal_orders, data, models, one_thread


def explain_many(n_rows: int, size: Size = "full") -> dict[str, float]:
    """Megabytes before and at the peak, and CPU seconds, of one call of the explainer with levels; in this process."""
    from shap_asv import AsymmetricExplainer

    rows, target = data(max(n_rows, 6000))
    forest = models(size, rows[:6000], target[:6000])["random forest"]
    explainer = AsymmetricExplainer(
        forest, causal_graph=causal_orders()["levels"], feature_perturbation="tree_path_dependent"
    )
    explainer(rows[:64], silent=True)
    before = peak_megabytes()
    seconds, found = timed(lambda: explainer(rows[:n_rows], silent=True))
    some = np.linspace(0, n_rows - 1, 100).astype(int)
    gap = found.base_values[some] + found.values[some].sum(axis=1) - forest.predict(rows[some])
    return {"before": before, "peak": peak_megabytes(), "seconds": seconds, "gap": float(np.abs(gap).max())}


def peak_megabytes() -> float:
    """The most memory that this process has held. ``getrusage`` would count what its parent held before it began."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status has no VmHWM")


def run(size: Size, progress: Progress) -> Result:
    """Two numbers of rows, each in a process of its own."""
    counts = (25_000, 100_000) if size == "full" else (100, 200)
    found = []
    for count in progress.over(counts, "many rows"):
        if size == "full":
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.many_rows", str(count)]
            done = subprocess.run(command, cwd=ROOT, env=one_thread(), capture_output=True, text=True, check=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
        else:
            found.append(explain_many(count, size))
    table = Table(
        "memory",
        ("rows", "seconds", "memory before (MB)", "memory at the peak (MB)", "result (MB)", "largest gap"),
        tuple(
            (count, one["seconds"], one["before"], one["peak"], count * N * 8 / 1e6, one["gap"])
            for count, one in zip(counts, found, strict=True)
        ),
        "Rows through the explainer, levels, cover counts, the random forest; one process each.",
    )
    first, last = (one["peak"] - one["before"] for one in found)
    # rows, codes, result and what is shown beside it: a few numbers for each entry of the table
    more = (last - first) * 1e6 / ((counts[1] - counts[0]) * N * 8)
    claim = Claim(
        f"{counts[1]:,} rows in bounded memory",
        "at most 1 GB above the model, and 10 numbers for each entry of the table",
        f"{last:.0f} MB, {more:.1f} numbers",
        0 < last <= 1000 and more <= 10 if size == "full" else None,
    )
    return Result("many_rows", MANY_ROWS.title, (table,), (claim,))


MANY_ROWS = Experiment(
    "many_rows",
    "100,000 rows of a tree ensemble",
    run,
    about=(
        "A random forest (100 trees of depth 8, 20 features) without a network, explained by one call of the "
        "explainer; the most memory that a fresh process held before and after."
    ),
)

if __name__ == "__main__":
    sys.stdout.write(json.dumps(explain_many(int(sys.argv[1]))) + "\n")
