"""Independent columns, each with its empirical distribution: the features have nothing to do with one another.

    nu(S) = E[M(e_S, X_rest)],    the columns of X_rest drawn apart from one another and from e_S

Background rows break the dependence between S and the rest, but keep the one within the rest. Here that is gone too.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np

from shap_asv.backgrounds.contract import Conditions
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.tables.codec import TableCodec


class IndependentColumns:
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

    latent: ClassVar[tuple[str, ...]] = ()
    graph: ClassVar[None] = None
    conditions_on: ClassVar[Conditions] = "any"
    free: ClassVar[np.float64] = np.float64("nan")

    def __init__(self, data: Any) -> None:
        self.data = data
        self.codec = TableCodec.learn(data)  # an empty table, dates and infinities are errors there
        self.features = self.codec.names
        self._sorted = np.sort(self.codec.read(data), axis=0)

    def only(self, features: Sequence[str], impossible: str = "raise") -> "IndependentColumns":
        """Some of the columns, in this order; no row is impossible here."""
        kept = [self.features.index(str(name)) for name in features]
        narrowed = copy(self)
        narrowed.codec = self.codec.only(self.features[i] for i in kept)
        narrowed.features, narrowed._sorted = narrowed.codec.names, self._sorted[:, kept]
        return narrowed

    @property
    def n_uniforms(self) -> int:
        return len(self.features)

    def describe(self) -> str:
        return f"independent columns of a table of {len(self._sorted)} rows"

    def read(self, table: Any) -> np.ndarray:
        return self.codec.read(table)

    def check(self, rows: np.ndarray) -> None:
        self.codec.check(rows)

    def inputs(self, rows: np.ndarray) -> Any:
        return self.codec.inputs(rows)

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        return self.codec.labels(rows)

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Each free entry is the quantile of its column at its uniform number."""
        places = (uniforms * len(self._sorted)).astype(np.intp)
        drawn = np.take_along_axis(self._sorted, places, axis=0)
        return np.where(np.isnan(evidence)[:, None, :], drawn, evidence[:, None, :])


def is_independent_columns(thing: Any) -> bool:
    return isinstance(thing, IndependentColumns)


def read_independent_columns(given: IndependentColumns, masker: Any) -> NamedDistribution:
    words = ("a column of the table", "its columns are")
    return NamedDistribution(given.features, given.only, words, given, features_by_default=given.features)
