"""How well mechanisms do: proper scores, smallest on average for the true conditional distribution, and a report."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shap_asv.backgrounds.structural.mechanisms import Mechanism
from shap_asv.backgrounds.tables.copies import error_of_mean

if TYPE_CHECKING:
    import pandas as pd


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


def clearly_better(errors: np.ndarray, than: np.ndarray, margin: float = 1.0, copies: np.ndarray | None = None) -> bool:
    """Whether the mean of ``errors`` lies below that of ``than`` by ``margin`` standard errors of the difference."""
    gain = than - errors
    return bool(gain.mean() > 0 and gain.mean() > margin * error_of_mean(gain, copies))


# --- the report ---------------------------------------------------------------------------------------------


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
    def improvement(self) -> float:
        """Share of the marginal's score that knowing the causes saves; 0 for roots."""
        return 1 - self.score / self.marginal if self.marginal > 0 else 0.0


@dataclass(frozen=True, eq=False)
class MechanismReport:
    """The nodes of a fitted structural model, causes first; print it, or take :meth:`to_frame`.

    Scores are of held-out rows: CRPS for numbers (in the units of the column), log score for categories.
    """

    nodes: tuple[FittedNode, ...]

    def __getitem__(self, name: str) -> FittedNode:
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def to_frame(self) -> "pd.DataFrame":
        """One row per node."""
        import pandas as pd

        rows = [
            {
                "causes": ", ".join(node.causes),
                "mechanism": node.mechanism.describe(),
                "measure": node.measure,
                "score": node.score,
                "marginal": node.marginal,
                "improvement": node.improvement,
            }
            for node in self.nodes
        ]
        return pd.DataFrame(rows, index=pd.Index([node.name for node in self.nodes], name="node"))

    def __str__(self) -> str:
        shown = self.to_frame().rename(columns={"improvement": "saved"})
        shown["saved"] = [f"{100 * node.improvement:.0f}%" if node.causes else "-" for node in self.nodes]
        return shown.reset_index().to_string(index=False, float_format=lambda number: f"{number:.4g}")
