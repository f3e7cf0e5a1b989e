"""Linear models under a background that knows its conditional means: ``nu(S) = offset + E[X | X_S = e_S] @ weights``.

Exact for every coalition, without a single draw or call of the model.
"""

import numpy as np

from shap_asv.backgrounds.contract import MOMENTS, Background, Moments
from shap_asv.models.contract import AFFINE, Predictor
from shap_asv.values.contract import Cost, ValueMethod, ValueOptions, Workload, evidence_of

_SECONDS_PER_EVIDENCE = 1e-6


class LinearInMeans:
    """nu of an affine model, exactly."""

    def __init__(self, background: Background, predictor: Predictor, options: ValueOptions) -> None:
        assert predictor.affine is not None
        self.background = background
        self.affine = predictor.affine
        self.n_outputs = predictor.n_outputs

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and rows (r, n) -> float64 (r, m, k)."""
        assert isinstance(self.background, Moments)
        means = self.background.means(evidence_of(coalitions, rows, self.background.free))
        return self.affine(means).reshape(len(rows), len(coalitions), self.n_outputs)


def _cost(background: Background, predictor: Predictor, work: Workload) -> Cost:
    evidence = work.n_rows * work.n_coalitions
    seconds = evidence * _SECONDS_PER_EVIDENCE + work.n_coalitions * (1e-5 + 1e-9 * work.n_features**3)
    return Cost(0, evidence, seconds, 8 * evidence * (3 * work.n_features + predictor.n_outputs))


LINEAR_IN_MEANS = ValueMethod("moments", True, MOMENTS, AFFINE, _cost, LinearInMeans)
