"""dowhy.gcm as a participant: mechanisms that it chooses and fits along the DAG.

``options["what"]``: "samples" (means of the model over its interventional samples: on ancestral sets, to intervene is
to condition) or "influence" (its own ``intrinsic_causal_influence_sample``, which attributes to the noise of each
node). ``options["rows"]``: as many rows are explained, and the time of samples is multiplied. ``options["quality"]``
is that of ``assign_causal_mechanisms``. With levels alone, arrows go from each level to all later ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.table_work import TableAnswer, TableWork, serve, timed_answer

TARGET = "the model"
LIBRARIES = ("dowhy.gcm.influence", "networkx", "pandas", "tests.oracles.structural_models", "xgboost")


def arrows(work: TableWork) -> list[tuple[str, str]]:
    if work.edges is not None:
        return [(cause, effect) for cause, effect in work.edges]
    levels = work.levels or []
    return [(a, b) for k, level in enumerate(levels) for later in levels[k + 1 :] for a in level for b in later]


def one_by_one(values: np.ndarray) -> Callable[[Any], Any]:
    """A function that gives one value after the other, whatever it is called with."""
    left = iter(values)
    return lambda _: next(left)


def run(work: TableWork, options: dict[str, Any]) -> TableAnswer:
    import dowhy
    import networkx as nx
    from dowhy import gcm
    from dowhy.gcm.influence import intrinsic_causal_influence_sample

    gcm.config.disable_progress_bars()
    gcm.config.set_default_n_jobs(1)
    gcm.util.general.set_random_seed(0)
    table, asked = work.frame(work.table), work.rows[: options.get("rows")]
    influence = options["what"] == "influence"

    def fit() -> Any:
        graph = nx.DiGraph(arrows(work))
        graph.add_nodes_from(work.names)
        kind = gcm.InvertibleStructuralCausalModel if influence else gcm.StructuralCausalModel
        causes = kind(graph)
        quality = getattr(gcm.auto.AssignmentQuality, options.get("quality", "GOOD"))
        gcm.auto.assign_causal_mechanisms(causes, table, quality=quality)
        gcm.fit(causes, table)
        return causes

    def values(causes: Any) -> np.ndarray:
        rows = work.frame(asked)
        nu = np.empty((len(rows), len(work.coalitions)))
        # what it would draw anew for each coalition, and set in it: once is enough
        unset = gcm.draw_samples(causes, len(rows) * work.n_draws)
        for s, members in enumerate(work.coalitions):
            if members.all():
                nu[:, s] = work.predict_frame(rows)
            elif members.any():
                held = [name for name, member in zip(work.names, members, strict=True) if member]
                # one call for all rows: it asks for the value of one sample after the other
                setting = {name: one_by_one(np.repeat(rows[name].to_numpy(), work.n_draws)) for name in held}
                drawn = gcm.interventional_samples(causes, setting, observed_data=unset)
                nu[:, s] = work.predict_frame(drawn).reshape(len(rows), -1).mean(axis=1)
            else:
                nu[:, s] = work.predict_frame(unset).mean()
        return nu

    def influences(causes: Any) -> np.ndarray:
        class Model(gcm.ml.PredictionModel):
            def fit(self, X: np.ndarray, Y: np.ndarray) -> None:
                """Nothing is learned."""

            def predict(self, X: np.ndarray) -> np.ndarray:
                return work.predict(np.asarray(X, dtype=float)[:, order]).reshape(-1, 1)

            def clone(self) -> Model:
                return Model()

        order = [sorted(work.names).index(name) for name in work.names]  # dowhy hands causes over sorted
        causes.graph.add_edges_from((name, TARGET) for name in work.names)
        # noise that cannot be seen: without any the node would not be invertible
        noise = gcm.ScipyDistribution(_norm(), loc=0.0, scale=1e-9)
        causes.set_causal_mechanism(TARGET, gcm.AdditiveNoiseModel(Model(), noise))
        causes.graph.nodes[TARGET]["parents_during_fit"] = sorted(work.names)
        rows = work.frame(asked).assign(**{TARGET: work.predict(asked)})
        found = intrinsic_causal_influence_sample(
            causes, TARGET, rows, prediction_model="exact", num_noise_feature_samples=work.n_draws
        )
        return np.array([[float(np.ravel(one[name, TARGET])[0]) for name in work.names] for one in found])

    if influence:
        note = f"attributes to the noise of each node: another definition; first {options['rows']} rows only"
        return timed_answer(dowhy.__version__, fit, influences, "values", note)
    return timed_answer(dowhy.__version__, fit, values).for_rows(len(work.rows), len(asked))


def _norm() -> Any:
    from scipy import stats

    return stats.norm


if __name__ == "__main__":
    serve(run, LIBRARIES)
