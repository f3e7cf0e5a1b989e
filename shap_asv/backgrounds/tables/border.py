"""The border of a background that was learned from a table: what all of them share.

The codec says what a row is, how a table becomes rows and what the model is called with. What is left to each kind is
its distribution: ``draws`` (and whatever else it can be asked for), a line that describes it, and what becomes of its
numbers when only some of the columns are features.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Conditions
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.tables.codec import TableCodec


class TableBorder(ABC):
    """A :class:`~shap_asv.backgrounds.contract.Background` over the columns of ``codec``.

    A missing number is ``+inf`` in a row; NaN is what a free entry of evidence looks like.
    """

    codec: TableCodec
    conditions_on: ClassVar[Conditions] = "any"
    dependent: ClassVar[bool] = True
    free: ClassVar[np.float64] = np.float64("nan")

    @property
    def features(self) -> tuple[str, ...]:
        return self.codec.names

    @property
    def n_features(self) -> int:
        return len(self.codec.columns)

    @property
    def latent(self) -> tuple[str, ...]:
        return ()

    @property
    def graph(self) -> nx.DiGraph | None:
        return None

    @property
    def n_uniforms(self) -> int:
        """Uniform numbers that a draw takes: one per feature."""
        return self.n_features

    @abstractmethod
    def describe(self) -> str:
        """One line for the plan: what the numbers are an expectation over."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.describe()})"

    def only(self, features: Sequence[str], impossible: str = "raise") -> Self:
        """The same distribution of some of the features, in this order."""
        kept = [self.features.index(str(name)) for name in features]
        narrowed = copy(self)
        narrowed.codec = self.codec.only([self.features[i] for i in kept])
        narrowed._keep(kept, impossible)
        return narrowed

    @abstractmethod
    def _keep(self, kept: list[int], impossible: str) -> None:
        """What was learned about the features is to be about those at ``kept``, which ``codec`` holds by now."""

    def read(self, table: Any) -> np.ndarray:
        """Rows float (r, n) of a DataFrame (columns by name) or an array (columns by position)."""
        rows = self.codec.read(table)
        self.check(rows)
        return rows

    def check(self, rows: np.ndarray) -> None:
        """Raise where a row is not a row of codes."""
        self.codec.check(rows)

    def inputs(self, rows: np.ndarray) -> Any:
        """What a model is called with, in the dtypes of the table; whole numbers are rounded here."""
        return self.codec.inputs(rows)

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        return self.codec.labels(rows)


def read_table_background(given: TableBorder, masker: Any) -> NamedDistribution:
    """A background over columns: all of them are features, unless the user, the model or X names some."""
    words = ("a column of the table", "its columns are")
    return NamedDistribution(given.features, given.only, words, given, features_by_default=given.features)
