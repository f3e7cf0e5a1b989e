"""Values of any model at any size: the mean of the model over draws of X | e_S, with a standard error.

The same uniform numbers drive the draws of every coalition and every row (common random numbers), so the difference
``nu(S + i) - nu(S)`` is far less noisy than either value, and a result does not depend on how the rows were split
into blocks. The draws come in independent groups, each spread evenly (:mod:`shap_asv.strata`); how
much the groups disagree is the standard error, of a value and of anything that is linear in the values.
"""

import numpy as np

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.models.predictor import Predictor
from shap_asv.strata import spread_uniforms
from shap_asv.values.contract import Cost, ValueMethod, ValueOptions, Workload, blocks, evidence_of

#: Independent groups of draws; the standard error has one degree of freedom less.
N_GROUPS = 50
_STREAM = 1
_SECONDS_PER_DRAW = 1e-6


class MonteCarlo:
    """nu of any model under a discrete network, estimated from draws.

    Parameters
    ----------
    n_draws : int
        Draws per (row, coalition); rounded up to a multiple of the number of groups, at least two per value.
    seed : int or None
        Fixes every draw.
    batch_size : int
        Rows per call of the model; bounds the memory.
    """

    exact = False

    def __init__(
        self,
        background: DiscreteBackground,
        predictor: Predictor,
        n_draws: int = 500,
        seed: int | None = None,
        batch_size: int = 65_536,
    ) -> None:
        self.background = background
        self.predictor = predictor
        self.n_outputs = predictor.n_outputs
        self.batch_size = batch_size
        self.n_groups = min(N_GROUPS, max(2, n_draws))
        self.n_draws = -(-max(2, n_draws) // self.n_groups) * self.n_groups
        # a stream of its own: sampled orders start from the same seed, and must not know of the draws
        rng = np.random.default_rng(None if seed is None else [seed, _STREAM])
        self._uniforms = spread_uniforms(rng, background.n_nodes, self.n_draws, self.n_groups).T

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and codes (r, n) -> float64 (r, m, k)."""
        return self.groups(coalitions, rows).mean(axis=0)

    def estimate(self, coalitions: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and their standard errors, each float64 (r, m, k)."""
        groups = self.groups(coalitions, rows)
        return groups.mean(axis=0), groups.std(axis=0, ddof=1) / np.sqrt(self.n_groups)

    def groups(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Means of the groups of draws -> float64 (G, r, m, k)."""
        evidence, back = np.unique(evidence_of(coalitions, rows), axis=0, return_inverse=True)
        means = np.empty((self.n_groups, len(evidence), self.n_outputs))
        for block in blocks(len(evidence), self.batch_size // self.n_draws):
            means[:, block] = self._group_means(evidence[block])
        return means[:, back.reshape(-1)].reshape(self.n_groups, len(rows), len(coalitions), self.n_outputs)

    def _group_means(self, evidence: np.ndarray) -> np.ndarray:
        n = evidence.shape[1]
        complete = (evidence >= 0).all(axis=1)
        outputs = np.empty((len(evidence), self.n_draws, self.n_outputs))
        if complete.any():  # nothing is random: one call each
            outputs[complete] = self.predictor.predict(evidence[complete])[:, None, :]
        if not complete.all():
            open_ = np.flatnonzero(~complete)
            per_piece = max(1, self.batch_size // len(open_))  # one evidence row may want more draws than a batch
            for piece in blocks(self.n_draws, per_piece):
                draws = self.background.draws(evidence[open_], self._uniforms[piece])
                predicted = self.predictor.predict(draws.reshape(-1, n))
                outputs[open_, piece] = predicted.reshape(len(open_), -1, self.n_outputs)
        grouped = outputs.reshape(len(evidence), self.n_groups, -1, self.n_outputs)
        return grouped.mean(axis=2).transpose(1, 0, 2)


def _obstacle(background: object, predictor: Predictor) -> str | None:
    if not isinstance(background, DiscreteBackground):
        return "needs a discrete Bayesian network as background"
    return None


def _cost(background: DiscreteBackground, predictor: Predictor, work: Workload) -> Cost:
    calls = work.n_rows * work.n_coalitions * work.n_draws
    memory = 8 * N_GROUPS * work.n_rows * work.n_coalitions * predictor.n_outputs + 8 * 65_536 * work.n_features
    # a call of the model has all draws of some pairs of row and coalition, or some draws of one
    size = min(work.rows_per_call(predictor), max(1, calls))
    seconds = calls * _SECONDS_PER_DRAW + predictor.seconds(calls, -(-calls // size), most=background.size)
    return Cost(model_calls=calls, queries=0, seconds=seconds, memory=memory)


def _build(background: DiscreteBackground, predictor: Predictor, options: ValueOptions) -> MonteCarlo:
    return MonteCarlo(background, predictor, options.n_draws, options.seed, options.batch_size)


MONTE_CARLO = ValueMethod("monte_carlo", False, _obstacle, _cost, _build)
