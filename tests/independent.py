"""Independent columns, each with its empirical distribution: the features have nothing to do with one another.

    nu(S) = E[M(e_S, X_rest)],    the columns of X_rest drawn apart from one another and from e_S

Background rows break the dependence between S and the rest, but keep the one within the rest. Here that is gone too.
"""

from typing import Any

import numpy as np

from shap_asv.backgrounds.tables.border import TableBorder
from shap_asv.backgrounds.tables.codec import TableCodec


class IndependentColumns(TableBorder):
    """A table whose columns are taken apart.

    Parameters
    ----------
    data : DataFrame
        The values of a column, as often as they occur, are its distribution.

    Examples
    --------
    >>> import pandas as pd
    >>> background = IndependentColumns(pd.DataFrame({"x": [0.0, 1.0], "y": [5.0, 7.0]}))
    >>> background.draws(np.array([[1.0, np.nan]]), np.array([[0.1, 0.1], [0.2, 0.6]])).tolist()
    [[[1.0, 5.0], [1.0, 7.0]]]
    """

    dependent = False

    def __init__(self, data: Any) -> None:
        self.data = data
        self.codec = TableCodec.learn(data)  # an empty table, dates and infinities are errors there
        self._sorted = np.sort(self.codec.read(data), axis=0)

    def _keep(self, kept: list[int]) -> None:
        self._sorted = self._sorted[:, kept]

    def describe(self) -> str:
        return f"independent columns of a table of {len(self._sorted)} rows"

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Each free entry is the quantile of its column at its uniform number."""
        places = (uniforms * len(self._sorted)).astype(np.intp)
        drawn = np.take_along_axis(self._sorted, places, axis=0)
        return np.where(np.isnan(evidence)[:, None, :], drawn, evidence[:, None, :])
