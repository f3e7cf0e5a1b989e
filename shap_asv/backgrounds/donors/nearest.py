"""Nearest rows: what goes with x_S is what goes with the training rows that look like x_S.

    P(X = row r | x_S)  ~  exp(-d_S(r, x)^2 / (2 h^2)),    d_S^2 = mean over S of the squared distance in each feature

The distance in a number is the difference in standard deviations of its column; in a category it is 0 or 1, and so it
is where one of two numbers is missing. A column whose numbers are all the same counts as a category. The mean over S,
rather than the sum, keeps the meaning of the bandwidth h whatever the size of S (Aas, Jullum and Løland, 2021).
"""

from typing import Any, ClassVar

import numpy as np

from shap_asv.backgrounds.tables.border import TableBorder
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import ArgumentError

#: Standard deviations past which rows are not told apart: the square of a larger number might not be one.
_FAR = 1e100


class NearestRows(TableBorder):
    """The rows of a table, weighted by how near they are to what is known.

    Parameters
    ----------
    data : DataFrame
        Numbers and categories, with gaps or without. An array of numbers will do; its columns are called
        "Feature 0", "Feature 1" and so on.
    bandwidth : float
        The standard deviation h of the Gaussian kernel, in standard deviations of the columns. Near 0 only the nearest
        row counts (all of them, where several are equally near); where it is large, all rows count alike.

    Examples
    --------
    The row at 0.9 is near to the second and the third, and y comes from these:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.0, 0.8, 1.0, 5.0], "y": ["low", "low", "high", "high"]})
    >>> background = NearestRows(table, bandwidth=0.1)
    >>> evidence = np.array([[0.9, background.free]])
    >>> background.weights(evidence[0]).round(2).tolist()
    [0.0, 0.5, 0.5, 0.0]
    >>> background.inputs(background.draws(evidence, np.array([[0.2], [0.7]]))[0])
         x     y
    0  0.9   low
    1  0.9  high
    """

    n_uniforms: ClassVar[int] = 1

    def __init__(self, data: Any, bandwidth: float = 0.25) -> None:
        self.bandwidth = _checked_bandwidth(bandwidth)
        self.data = data
        self.codec = TableCodec.learn(data)
        self._hold(self.codec.read(data))

    def _hold(self, rows: np.ndarray) -> None:
        # sorted: near uniform numbers draw rows that are alike, and the order of the table does not matter
        self.rows = rows[np.lexsort(rows.T[::-1])]
        self._columns = np.ascontiguousarray(self.rows.T)
        kinds = self.codec.kinds
        self._scales = [
            0.0 if kind.category else _spread(column) for kind, column in zip(kinds, self._columns, strict=True)
        ]

    def _keep(self, kept: list[int], impossible: str) -> None:
        self._hold(self.rows[:, kept])

    def describe(self) -> str:
        return f"nearest rows of a table of {len(self.rows)} rows (bandwidth {self.bandwidth:g})"

    def weights(self, evidence: np.ndarray) -> np.ndarray:
        """One line of evidence (n,) -> the probability (N,) of each row of :attr:`rows`. O(N n)."""
        kernel = self._kernel(evidence)
        return kernel / kernel.sum()

    @property
    def n_weighted(self) -> int:
        return len(self.rows)

    def weighted(self, evidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every row of the table with the known entries, (E, N, n), and its probability (E, N). O(E N n)."""
        rows = np.where(np.isnan(evidence)[:, None], self.rows, evidence[:, None])
        return rows, np.stack([self.weights(line) for line in evidence])

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """The free entries of training rows, drawn by weight. O(E (N n + D log N)).

        Evidence is treated line by line, by operations on arrays whose shapes do not know of the other lines: so the
        bits of a draw do not know of them either.
        """
        drawn = np.empty((len(evidence), len(uniforms), len(self.features)))
        for line, known in enumerate(evidence):
            summed = np.cumsum(self._kernel(known))
            # rows without weight are stepped over; rounding must not lead past the last one with any
            last = np.searchsorted(summed, summed[-1])
            places = np.searchsorted(summed, uniforms[:, 0] * summed[-1], side="right")
            drawn[line] = np.where(np.isnan(known), self.rows[np.minimum(places, last)], known)
        return drawn

    def _kernel(self, evidence: np.ndarray) -> np.ndarray:
        """(N,), 1 for the nearest rows."""
        squares = np.zeros(len(self.rows))
        members = np.flatnonzero(~np.isnan(evidence))
        for k in members:
            squares += _squared_distance(self._columns[k], evidence[k], self._scales[k])
        excess = (squares - squares.min()) / max(len(members), 1)
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(-0.5 * (excess / self.bandwidth / self.bandwidth))  # the square of a small one might be 0


def _checked_bandwidth(bandwidth: Any) -> float:
    try:
        number = float(bandwidth)
    except (TypeError, ValueError):
        number = np.nan
    if not 0 < number < np.inf:
        raise ArgumentError(
            f"bandwidth is a positive number of standard deviations, such as 0.25 (the default), not {bandwidth!r}"
        )
    return number


def _spread(column: np.ndarray) -> float:
    """The standard deviation of the numbers that are not missing; 0 where they are all the same."""
    numbers = column[np.isfinite(column)]
    if len(numbers) == 0 or numbers.min() == numbers.max():
        return 0.0
    size = np.abs(numbers).max()  # the squares of large numbers might not be numbers
    return float(np.std(numbers / size) * size)


def _squared_distance(column: np.ndarray, entry: float, scale: float) -> np.ndarray:
    """(N,): 0 or 1 where ``scale`` is 0 or a number is missing."""
    differs = (column != entry).astype(float)
    if scale == 0 or np.isinf(entry):
        return differs
    with np.errstate(over="ignore"):
        apart = np.minimum(np.abs(column - entry) / scale, _FAR) ** 2
    return np.where(np.isinf(column), differs, apart)
