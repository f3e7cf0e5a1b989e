"""How well mechanisms do: proper scores, smallest on average for the true conditional distribution."""

from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.structural.mechanisms import Mechanism
from shap_asv.backgrounds.tables.copies import error_of_mean


def crps(draws: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Continuous ranked probability score of each row: ``E|X - y| - E|X - X'| / 2`` (r,), from draws (r, d).

    For draws at the quantiles ``(k + 1/2) / d`` this is twice the mean of their quantile losses. O(r d log d).

    Examples
    --------
    >>> crps(np.array([[0.0, 1.0]]), np.array([0.0])).tolist()
    [0.25]
    """
    d = draws.shape[1]
    ordered = np.sort(draws, axis=1)
    away = np.abs(ordered - values[:, None]).mean(axis=1)
    return away - ordered @ (2.0 * np.arange(1, d + 1) - d - 1) / d**2


def log_score(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """``-log p(y)`` of each row (r,), from probabilities (r, k)."""
    return -np.log(np.maximum(probabilities[np.arange(len(codes)), codes], 1e-12))


def clearly_better(errors: np.ndarray, than: np.ndarray, copies: np.ndarray | None = None) -> bool:
    """Whether the mean of ``errors`` lies below that of ``than`` by a standard error of the difference."""
    gain = than - errors
    return bool(gain.mean() > 0 and gain.mean() > error_of_mean(gain, copies))


@dataclass(frozen=True, eq=False)
class FittedNode:
    """One node: its mechanism, and how well that does on rows that it was not fitted to.

    ``score`` and ``marginal`` are mean CRPS or log scores (smaller is better) of the mechanism and of the node's own
    distribution without its causes.
    """

    name: str
    causes: tuple[str, ...]
    mechanism: Mechanism
    measure: str
    score: float
    marginal: float

    @property
    def saved(self) -> float:
        """Share of the marginal's score that knowing the causes saves; 0 for roots."""
        return 1 - self.score / self.marginal if self.marginal > 0 else 0.0
