"""Monte Carlo values against the model alone: ``python -m benchmarks monte_carlo``, or ``python -m benchmarks.values``.

How much the draws and the bookkeeping add to the time that the model itself needs to predict the same rows, and that
memory follows ``batch_size`` and not the number of rows.
"""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table

ASKED_RATIO = 1.3
BATCH = 20_000


def child_forest(n_trees: int) -> tuple[Any, Any, np.ndarray]:
    """(background, predictor, rows) of a random forest on the Child network."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    from shap_asv import AsymmetricExplainer, load_network, sample_rows

    network = load_network("child")
    table = sample_rows(network, 3000, seed=0)
    X, y = table.drop(columns="XrayReport"), table["XrayReport"]
    model = make_pipeline(OrdinalEncoder(), RandomForestClassifier(n_trees, max_depth=8, random_state=0)).fit(X, y)
    problem = AsymmetricExplainer(model, network)._execution.problem
    return problem.background, problem.predictor, problem.background.read(X)


class Counting:
    """A predictor that keeps the time spent inside the model."""

    def __init__(self, predictor: Any) -> None:
        self.predictor, self.seconds, self.rows = predictor, 0.0, 0
        self.n_outputs = predictor.n_outputs

    def predict(self, codes: np.ndarray) -> np.ndarray:
        start = time.perf_counter()
        outputs = self.predictor.predict(codes)
        self.seconds += time.perf_counter() - start
        self.rows += len(codes)
        return outputs


def run(size: Size, progress: Progress) -> Result:
    from shap_asv.values.contract import ValueOptions
    from shap_asv.values.monte_carlo import MonteCarlo

    full = size == "full"
    background, predictor, rows = child_forest(100 if full else 5)
    n_draws, n_evaluations = (500, 2000) if full else (50, 40)
    n = background.n_features
    order = [background.features.index(name) for name in background.network.names if name in background.features]
    prefixes = np.zeros((n + 1, n), dtype=bool)
    for length in range(1, n + 1):
        prefixes[length, order[:length]] = True
    anywhere = np.random.default_rng(0).random((200 if full else 20, n)) < 0.5
    times = []
    for name, coalitions in progress.over([("ancestral", prefixes), ("any", anywhere)], "monte carlo"):
        counting = Counting(predictor)
        values = MonteCarlo(background, counting, ValueOptions(n_draws, seed=0))
        values.values(coalitions[:2], rows[:1])
        counting.seconds = counting.rows = 0
        start = time.perf_counter()
        values.values(coalitions, rows[: n_evaluations // len(coalitions) + 1])
        whole = time.perf_counter() - start
        times.append((name, counting.rows, whole, counting.seconds, whole / counting.seconds))
    # kernels are loaded once there has been some work, and stay
    MonteCarlo(background, predictor, ValueOptions(n_draws, seed=0)).values(prefixes, rows[: 20 if full else 2])
    peaks = []
    for n_rows in progress.over((2, 20) if full else (1, 2), "memory"):
        values = MonteCarlo(background, predictor, ValueOptions(n_draws, seed=0, batch_size=BATCH))
        tracemalloc.start()
        values.values(prefixes, rows[:n_rows])
        peaks.append((n_rows, tracemalloc.get_traced_memory()[1] / 2**20))
        tracemalloc.stop()
    most = max(row[4] for row in times)
    claims = (
        Claim(
            "Monte Carlo values against the model's own time on the same rows",
            f"at most {ASKED_RATIO:g} times",
            "; ".join(f"{row[0]} coalitions {row[4]:.2f} times" for row in times),
            most <= ASKED_RATIO if full else None,
        ),
        Claim(
            f"memory follows batch_size ({BATCH:,}), not the rows",
            "10 times the rows, at most 1.5 times the memory",
            f"{peaks[0][1]:.0f} MiB for {peaks[0][0]} rows, {peaks[1][1]:.0f} MiB for {peaks[1][0]}",
            peaks[1][1] <= 1.5 * peaks[0][1] if full else None,
        ),
    )
    tables = (
        Table("times", ("coalitions", "model rows", "all (s)", "model (s)", "all / model"), tuple(times)),
        Table("memory", ("rows explained", "peak (MiB)"), tuple(peaks)),
    )
    return Result("monte_carlo", MONTE_CARLO.title, tables, claims)


MONTE_CARLO = Experiment(
    "monte_carlo",
    "Monte Carlo values",
    run,
    about="Values of a model that cannot be looked into, by exact draws from the network: a random forest of 100 trees "
    "on the Child network, 500 draws per coalition.",
)


def main() -> None:
    for claim in run("full", Progress(False)).claims:
        print(f"{claim.text}: {claim.measured} (asked: {claim.asked})")


if __name__ == "__main__":
    main()
