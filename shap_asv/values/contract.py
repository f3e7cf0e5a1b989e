"""The one small protocol behind which every way to compute nu(S) stands.

    nu(S) = E[M(X) | X_S = e_S]        (or E[M(e_S, X_rest)] for a matrix background, shap's marginal expectation)

A value method knows a model and a background. It knows no causal order: which coalitions it is asked for, and with
which weight they count, is not its business.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from shap_asv.backgrounds.contract import Background, Capability, CountsDraws
from shap_asv.costs import Cost
from shap_asv.models.predictor import Form, Predictor


class Values(Protocol):
    """``values(coalitions, rows)[r, m] = nu of coalition m for row r``."""

    n_outputs: int

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and rows (r, n) -> float64 (r, m, k)."""
        ...


@runtime_checkable
class SampledValues(Values, Protocol):
    """Values that are means of draws in groups, which tell their error.

    ``widening``: what the spread of the groups is multiplied with, so that 1.96 errors are a 95% interval.
    ``resolution``: what the variance of single draws is multiplied with for the least variance of a mean.
    """

    n_groups: int
    widening: float
    resolution: float

    def groups_and_sample(self, coalitions: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means of the groups of draws (G, r, m, k), and some of the draws one by one (S, r, m, k)."""
        ...


@runtime_checkable
class Sloping(Values, Protocol):
    """Values that are affine in the row: ``nu(S) = nu({}) + (x - centre) @ slopes_S``; ``centre`` None: not known."""

    @property
    def centre(self) -> np.ndarray | None: ...
    @property
    def coalitions_at_a_time(self) -> int: ...

    def slopes(self, coalitions: np.ndarray) -> np.ndarray:
        """bool (m, n) -> float64 (m, n, k)."""
        ...


@dataclass(frozen=True)
class Workload:
    """What a value method is asked to do: so many rows, so many coalitions, so many features.

    ``ancestral``: all coalitions hold the causes of their members, which makes conditioning cheap. ``linked``: a link
    is applied to the values, so that they are needed one by one. ``n_columns``: columns of W that they meet.
    """

    n_rows: int
    n_coalitions: int
    n_features: int
    n_draws: int = 0
    ancestral: bool = False
    batch_size: int = 65_536
    linked: bool = False
    n_columns: int = 0

    def rows_per_call(self, predictor: Predictor) -> int:
        """Rows that the model gets in one call, at most."""
        return min(self.batch_size, predictor.batch_size or self.batch_size)

    def calls(self, predictor: Predictor, n_rows: int) -> int:
        """Calls of the model for so many rows, a batch at a time."""
        return -(-n_rows // self.rows_per_call(predictor))


def drawing_cost(background: Any, work: Workload, n_draws: int) -> Cost:
    """Conditioning and ``n_draws`` draws (or donors) for each row and coalition."""
    if isinstance(background, CountsDraws):
        return background.drawing_cost(work.n_coalitions, work.n_rows, n_draws, work.ancestral)
    return Cost({"draw": work.n_coalitions * work.n_rows * n_draws})


@dataclass(frozen=True)
class ValueMethod:
    """A row of the table of value methods: what it needs of a background and reads of a model.

    Attributes
    ----------
    name : str
        For the plan, and to ask for the method by name.
    exact : bool
        False where values are means of random draws, which come in groups and so know their standard error.
    needs : Capability
    reads : Form
    cost : callable (background, predictor, workload) -> Cost
    build : callable (background, predictor, options) -> Values
        The class of the values itself, where it is made from these three.
    limit : callable (background, predictor) -> str or None
        Why a background that has what it takes is too large all the same.
    applies_link : bool
        The values come with the link applied.
    grows_with : str or None
        The setting that makes the sample larger, for a tolerance.
    asks_first : bool
        The model is asked about every state before the first row: what is ready is worth keeping.
    """

    name: str
    exact: bool
    needs: Capability
    reads: Form
    cost: Callable[[Any, Any, Workload], Cost]
    build: Callable[[Any, Any, "ValueOptions"], Values]
    limit: Callable[[Any, Any], str | None] = lambda background, predictor: None
    applies_link: bool = False
    grows_with: str | None = None
    asks_first: bool = False

    def obstacle(self, background: Background, predictor: Predictor) -> str | None:
        """None where the method applies, else a sentence that says why not."""
        return self.needs.obstacle(background) or self.reads.obstacle(predictor) or self.limit(background, predictor)


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


def evidence_of(coalitions: np.ndarray, rows: np.ndarray, free: Any) -> np.ndarray:
    """All (row, coalition) pairs as evidence: the row's entry where the coalition holds the feature, else ``free``.

    bool (m, n) and rows (r, n) -> (r * m, n) of the type of ``free``, the coalition running fastest.
    """
    evidence = np.where(coalitions[None, :, :], rows[:, None, :].astype(np.asarray(free).dtype, copy=False), free)
    return evidence.reshape(-1, rows.shape[1])


def distinct_rows(evidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every evidence row once, and where each row is among them; floats are compared by their bits."""
    keys = evidence.view(np.int64) if evidence.dtype.kind == "f" else evidence
    _, chosen, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return evidence[chosen], back.reshape(-1)


def blocks(total: int, size: int) -> list[slice]:
    """Consecutive slices of at most ``size`` that cover ``range(total)``."""
    size = max(1, int(size))
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]
