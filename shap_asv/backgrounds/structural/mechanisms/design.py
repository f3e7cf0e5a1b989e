"""What a regression sees of the causes of a node: numbers and codes of any kind as a few real columns.

Each parent becomes one variable, or two: a number is itself (the median of the training rows where it is missing) and,
if any was missing in training, a second variable says whether it is; a category is its code. From these variables come

- ``linear``: one column per number, standardised, and one 0/1 column per code (rare codes past the 30th share one);
- ``smooth``: what :mod:`~shap_asv.backgrounds.structural.mechanisms.splines` builds on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.tables.columns import ColumnKind

MOST_CODES = 30


@dataclass(frozen=True, eq=False)
class Variable:
    """One variable of the causes of a node.

    Attributes
    ----------
    parent : int
        Column of the parents.
    n_codes : int
        0 for a number, else the number of codes ``places`` maps to.
    places : int array or None
        For categories: variable code of each column code (frequent first; what is rare or was never met shares the
        last one). For a gap variable: None.
    filled : float
        What a missing number counts as.
    """

    parent: int
    n_codes: int
    places: np.ndarray | None = None
    filled: float = 0.0
    centre: float = 0.0
    scale: float = 1.0

    def values(self, parents: np.ndarray) -> np.ndarray:
        """Numbers standardised, or integer codes as intp (m,)."""
        column = parents[:, self.parent]
        if self.n_codes == 0:
            if np.isinf(column).any():
                column = np.where(np.isinf(column), self.filled, column)
            return (column - self.centre) / self.scale
        if self.places is None:
            return np.isinf(column).astype(np.intp)
        return self.places[np.minimum(column.astype(np.intp), len(self.places) - 1)]


@dataclass(frozen=True, eq=False)
class Design:
    """The variables of the causes of one node; learn it with :meth:`learn`.

    ``relevance`` (one number per variable) says which of many variables matter most; None where all are few.
    """

    variables: tuple[Variable, ...]
    relevance: tuple[float, ...] | None = None

    @classmethod
    def learn(cls, parents: np.ndarray, kinds: Sequence[ColumnKind]) -> "Design":
        """From training rows (r, p) of the parents and their kinds. Columns that never change are left out."""
        variables = []
        for k, kind in enumerate(kinds):
            column = parents[:, k]
            if kind.category:
                counts = np.bincount(column.astype(np.intp), minlength=kind.n_codes)
                frequent = np.argsort(-counts, kind="stable")
                frequent = frequent[counts[frequent] > 0][:MOST_CODES]
                places = np.full(kind.n_codes + 1, min(len(frequent), MOST_CODES - 1), dtype=np.intp)
                places[frequent] = np.minimum(np.arange(len(frequent)), MOST_CODES - 1)
                if len(frequent) > 1:
                    variables.append(Variable(k, int(places.max()) + 1, places))
                continue
            known = column[np.isfinite(column)]
            if len(known) and known.min() < known.max():
                centre, scale = float(known.mean()), float(known.std())
                variables.append(Variable(k, 0, None, float(np.median(known)), centre, scale if scale > 0 else 1.0))
            if 0 < len(known) < len(column):
                variables.append(Variable(k, 2))
        return cls(tuple(variables))

    def ranked(self, importance: np.ndarray) -> "Design":
        """The same with the relevance of its variables, from the importance of each of the linear columns."""
        sizes = [max(1, variable.n_codes) for variable in self.variables]
        sums = np.add.reduceat(importance, np.cumsum([0, *sizes[:-1]]))
        return Design(self.variables, tuple(sums.tolist()))

    @property
    def n_linear(self) -> int:
        return sum(max(1, variable.n_codes) for variable in self.variables)

    def linear(self, parents: np.ndarray) -> np.ndarray:
        """Columns for linear models and trees, float64 (m, n_linear)."""
        columns = np.empty((self.n_linear, len(parents)))
        at = 0
        for variable in self.variables:
            values = variable.values(parents)
            if variable.n_codes == 0:
                columns[at] = values
                at += 1
            else:
                for code in range(variable.n_codes):
                    columns[at] = values == code
                    at += 1
        return columns.T

    def rows(self, parents: np.ndarray) -> np.ndarray:
        """The same, row by row in memory: what estimators like."""
        return np.ascontiguousarray(self.linear(parents))
