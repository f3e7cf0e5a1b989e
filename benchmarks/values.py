"""Monte Carlo values against the model alone: ``python -m benchmarks.values``.

How much the draws and the bookkeeping add to the time that the model itself needs to predict the same rows, and that
memory follows ``batch_size`` and not the number of rows.
"""

import time
import tracemalloc

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from shap_asv.values.monte_carlo import MonteCarlo


def child_forest():
    network = load_network("child")
    table = sample_rows(network, 3000, seed=0)
    X, y = table.drop(columns="XrayReport"), table["XrayReport"]
    model = make_pipeline(OrdinalEncoder(), RandomForestClassifier(100, max_depth=8, random_state=0)).fit(X, y)
    problem = AsymmetricExplainer(model, network)._execution.problem
    return problem.background, problem.predictor, problem.background.encode(X)


class Counting:
    """A predictor that keeps the time spent inside the model."""

    def __init__(self, predictor):
        self.predictor, self.seconds, self.rows = predictor, 0.0, 0
        self.n_outputs = predictor.n_outputs

    def predict(self, codes):
        start = time.perf_counter()
        outputs = self.predictor.predict(codes)
        self.seconds += time.perf_counter() - start
        self.rows += len(codes)
        return outputs


def main():
    background, predictor, rows = child_forest()
    rng = np.random.default_rng(0)
    kinds = {"ancestral": None, "any": rng.random((200, background.n_features)) < 0.5}
    order = [background.features.index(name) for name in background.network.names if name in background.features]
    prefixes = np.zeros((len(order) + 1, len(order)), dtype=bool)
    for size in range(1, len(order) + 1):
        prefixes[size, order[:size]] = True
    kinds["ancestral"] = prefixes
    for name, coalitions in kinds.items():
        counting = Counting(predictor)
        values = MonteCarlo(background, counting, n_draws=500, seed=0)
        values.values(coalitions[:2], rows[:1])
        counting.seconds = counting.rows = 0
        start = time.perf_counter()
        values.values(coalitions, rows[: 2000 // len(coalitions) + 1])
        whole = time.perf_counter() - start
        print(
            f"Monte Carlo, {name} coalitions: {whole / counting.seconds:.2f}x the model's own time over "
            f"{counting.rows:,} rows (at most 1.3x asked)"
        )
    for n_rows in (2, 20):
        values = MonteCarlo(background, predictor, n_draws=500, seed=0, batch_size=20_000)
        tracemalloc.start()
        values.values(prefixes, rows[:n_rows])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"peak memory with batch_size 20,000 and {n_rows} rows: {peak / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
