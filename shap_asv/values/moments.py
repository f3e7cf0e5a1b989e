"""Linear models under a background that knows its conditional means: ``nu(S) = offset + E[X | X_S = e_S] @ weights``.

Exact for every coalition, without a single draw or call of the model. Where the means are affine in the row with slopes
that the background knows, all rows share them (:meth:`LinearInMeans.slopes`).
"""

from typing import Protocol, runtime_checkable

import numpy as np

from shap_asv.backgrounds.contract import MOMENTS, Background, Moments
from shap_asv.costs import Cost
from shap_asv.models.predictor import AFFINE, Predictor
from shap_asv.values.contract import ValueMethod, ValueOptions, Workload, evidence_of

#: Slopes that are held at a time, at most; and entries of what they are computed from.
_SLOPES_HELD = 2**18


@runtime_checkable
class MeansBySlopes(Protocol):
    """``E[X | x_S] @ weights = mean @ weights + (x - mean) @ slopes_S``: what a background may know beside
    its means; one set of slopes for all rows."""

    mean: np.ndarray

    def mean_slopes(self, coalitions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """bool (m, n) and weights (n, k) -> float64 (m, n, k), zero outside each coalition."""
        ...


class LinearInMeans:
    """nu of an affine model, exactly."""

    def __init__(self, background: Background, predictor: Predictor, options: ValueOptions) -> None:
        assert predictor.affine is not None
        self.background = background
        self.affine = predictor.affine
        self.n_outputs = predictor.n_outputs
        #: Rows are measured from here where :meth:`slopes` are known; None where they are not.
        self.centre = background.mean if isinstance(background, MeansBySlopes) else None

    def slopes(self, coalitions: np.ndarray) -> np.ndarray:
        """``nu(S) = nu({}) + (x - centre) @ slopes_S``: bool (m, n) -> float64 (m, n, k)."""
        assert isinstance(self.background, MeansBySlopes)
        return self.background.mean_slopes(coalitions, self.affine.weights)

    @property
    def coalitions_at_a_time(self) -> int:
        """Coalitions whose slopes are to be asked for together."""
        return max(1, _SLOPES_HELD // self.affine.weights.size)

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and rows (r, n) -> float64 (r, m, k)."""
        assert isinstance(self.background, Moments)
        means = self.background.means(evidence_of(coalitions, rows, self.background.free))
        return self.affine(means).reshape(len(rows), len(coalitions), self.n_outputs)


def _cost(background: Background, predictor: Predictor, work: Workload) -> Cost:
    if isinstance(background, MeansBySlopes) and not work.linked:
        return _cost_of_slopes(predictor.n_outputs, work)
    evidence = work.n_rows * work.n_coalitions
    operations = {
        "mean": evidence + 10 * work.n_coalitions,
        "mean x feature^3": work.n_coalitions * work.n_features**3,
    }
    return Cost(operations, 8 * evidence * (3 * work.n_features + predictor.n_outputs))


def _cost_of_slopes(n_outputs: int, work: Workload) -> Cost:
    n, m = work.n_features, work.n_coalitions
    operations = {
        "slope": m * n,
        "slope x feature^2": m * n**3,
        "row x slope": work.n_rows * n**2 * n_outputs,
    }
    held = 4 * min(m * n * n_outputs, _SLOPES_HELD) + 4 * min(m * n**2, max(n**2, _SLOPES_HELD))
    return Cost(operations, 8 * (held + 3 * n * work.n_columns * n_outputs))


LINEAR_IN_MEANS = ValueMethod("moments", True, MOMENTS, AFFINE, _cost, LinearInMeans)
