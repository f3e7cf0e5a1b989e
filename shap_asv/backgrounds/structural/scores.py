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


def pit_of_draws(draws: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Place of each value among its draws, in [0, 1]: uniform if the mechanism is right.

    Draw k of d, in order, stands for the quantiles about ``(k + 1/2) / d``; between two draws, and among draws that
    equal the value (counts, rounded numbers), the place is drawn at random, which keeps it uniform.
    """
    d = draws.shape[1]
    below, upto = (draws < values[:, None]).sum(axis=1), (draws <= values[:, None]).sum(axis=1)
    low, high = np.maximum(below - 0.5, 0), np.minimum(upto + 0.5, d)
    return (low + rng.random(len(values)) * (high - low)) / d


def pit_of_probabilities(probabilities: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same for categories, in the order of their codes."""
    bounds = np.cumsum(probabilities, axis=1)
    at = np.arange(len(codes))
    return np.clip(bounds[at, codes] - rng.random(len(codes)) * probabilities[at, codes], 0.0, 1.0)


def miscalibration(pit: np.ndarray) -> float:
    """Largest distance between the distribution function of the PIT and the diagonal: 0 is perfect."""
    ordered = np.sort(pit)
    n = len(ordered)
    return float(max(np.max(np.arange(1, n + 1) / n - ordered), np.max(ordered - np.arange(n) / n)))


def clearly_better(errors: np.ndarray, than: np.ndarray, margin: float = 1.0, copies: np.ndarray | None = None) -> bool:
    """Whether the mean of ``errors`` lies below that of ``than`` by ``margin`` standard errors of the difference."""
    gain = than - errors
    return bool(gain.mean() > 0 and gain.mean() > margin * error_of_mean(gain, copies))


# --- the report ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FittedNode:
    """One node: its mechanism, and how well that does on rows that it was not fitted to.

    ``score`` and ``marginal`` are mean CRPS or log scores (smaller is better) of the mechanism and of the node's own
    distribution without its causes; ``pit`` (r,) is uniform if the mechanism is right.
    """

    name: str
    causes: tuple[str, ...]
    mechanism: Mechanism
    measure: str
    score: float
    marginal: float
    pit: np.ndarray

    @property
    def improvement(self) -> float:
        """Share of the marginal's score that knowing the causes saves; 0 for roots."""
        return 1 - self.score / self.marginal if self.marginal > 0 else 0.0

    @property
    def miscalibration(self) -> float:
        """Largest distance of the PIT's distribution function from the diagonal."""
        return miscalibration(self.pit)

    @property
    def calibrated(self) -> bool:
        """Whether that distance is within what chance gives in 99 of 100 tables (Kolmogorov's bound)."""
        return self.miscalibration <= 1.63 / np.sqrt(len(self.pit))


@dataclass(frozen=True, eq=False)
class MechanismReport:
    """The nodes of a fitted structural model, causes first; print it, or take :meth:`to_frame`.

    Scores are of held-out rows: CRPS for numbers (in the units of the column), log score for categories. ``PIT`` is the
    largest distance between the distribution of the place of each held-out value in its predicted distribution and the
    uniform one: up to about ``1.6 / sqrt(rows)`` is chance, and a star marks what is more.
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
                "miscalibration": node.miscalibration,
                "calibrated": node.calibrated,
            }
            for node in self.nodes
        ]
        return pd.DataFrame(rows, index=pd.Index([node.name for node in self.nodes], name="node"))

    def __str__(self) -> str:
        shown = self.to_frame().drop(columns="calibrated")
        shown["improvement"] = [f"{100 * node.improvement:.0f}%" if node.causes else "-" for node in self.nodes]
        shown["miscalibration"] = [f"{node.miscalibration:.3f}{'' if node.calibrated else ' *'}" for node in self.nodes]
        shown = shown.rename(columns={"improvement": "saved", "miscalibration": "PIT"})
        return shown.reset_index().to_string(index=False, float_format=lambda number: f"{number:.4g}")
