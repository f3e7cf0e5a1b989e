"""The one small protocol behind which every way to compute nu(S) stands.

    nu(S) = E[M(X) | X_S = e_S]        (or E[M(e_S, X_rest)] for a matrix background, shap's marginal expectation)

A value method knows a model and a background. It knows no causal order: which coalitions it is asked for, and with
which weight they count, is not its business.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Values(Protocol):
    """``values(coalitions, rows)[r, m] = nu of coalition m for row r``."""

    exact: bool
    n_outputs: int

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and rows (r, n) -> float64 (r, m, k)."""
        ...


class GroupedValues(Values, Protocol):
    """Values that are means of random draws: the groups of draws tell how far they can be trusted."""

    def groups(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Means of independent groups of draws -> float64 (G, r, m, k); ``values`` is their mean over axis 0."""
        ...


@dataclass(frozen=True)
class Workload:
    """What a value method is asked to do: so many rows, so many coalitions, so many features.

    ``ancestral``: all coalitions are closed under network ancestors, which makes conditioning cheap.
    """

    n_rows: int
    n_coalitions: int
    n_features: int
    n_draws: int = 0
    ancestral: bool = False
    batch_size: int = 65_536

    def rows_per_call(self, predictor: Any) -> int:
        """Rows that the model gets in one call, at most."""
        return min(self.batch_size, predictor.batch_size or self.batch_size)


@dataclass(frozen=True)
class Cost:
    """What it would take. ``seconds`` is a rough figure for comparing candidates, not a promise."""

    model_calls: int
    queries: int
    seconds: float
    memory: int


@dataclass(frozen=True)
class ValueMethod:
    """A row of the table of value methods.

    ``obstacle(background, predictor)`` is None where the method applies, else a sentence that says why not.
    ``cost(background, predictor, workload)`` predicts; ``build(background, predictor, options)`` makes the
    :class:`Values`.
    """

    name: str
    exact: bool
    obstacle: Callable[[Any, Any], str | None]
    cost: Callable[[Any, Any, Workload], Cost]
    build: Callable[[Any, Any, "ValueOptions"], Values]


@dataclass(frozen=True)
class ValueOptions:
    """What a caller may set: draws and their seed (Monte Carlo), rows per model call, shap's link (matrix only),
    and whether progress is shown where it takes long before the first row.
    """

    n_draws: int = 500
    seed: int | None = None
    batch_size: int = 65_536
    link: Callable[[np.ndarray], np.ndarray] | None = None
    linearize_link: bool = True
    silent: bool = True


def evidence_of(coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """All (row, coalition) pairs as evidence: codes where the coalition holds the feature, -1 elsewhere.

    bool (m, n) and codes (r, n) -> codes (r * m, n), the coalition running fastest.
    """
    # int16: there are millions of these, and no variable has 32,768 states
    evidence = np.where(coalitions[None, :, :], rows[:, None, :].astype(np.int16), np.int16(-1))
    return evidence.reshape(-1, rows.shape[1])


def blocks(total: int, size: int) -> list[slice]:
    """Consecutive slices of at most ``size`` that cover ``range(total)``."""
    size = max(1, int(size))
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]
