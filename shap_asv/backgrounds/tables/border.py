"""The border of a background that was learned from a table: what all of them share.

The codec says what a row is, how a table becomes rows and what the model is called with. What is left to each kind is
its distribution: ``draws`` (and whatever else it can be asked for), a line that describes it, and what becomes of its
numbers when only some of the columns are features.

Evidence over such rows is checked here, and grouped by the coalition that it holds.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Background, Conditions, DrawsGivenEvidence, Probed
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import ArgumentError, RowsError


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
    def n_codes(self) -> tuple[int, ...]:
        """How many codes each feature has; 0 where it holds numbers."""
        return tuple(kind.n_codes if kind.category else 0 for kind in self.codec.kinds)

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

    def only(self, features: Sequence[str]) -> Self:
        """The same distribution of some of the features, in this order."""
        kept = [self.features.index(str(name)) for name in features]
        narrowed = copy(self)
        narrowed.codec = self.codec.only([self.features[i] for i in kept])
        narrowed._keep(kept)
        return narrowed

    @abstractmethod
    def _keep(self, kept: list[int]) -> None:
        """What was learned about the features is to be about those at ``kept``, which ``codec`` holds by now."""

    @abstractmethod
    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Evidence (E, n) and uniforms (D, n_uniforms), the same for all evidence -> rows (E, D, n)."""

    def paired_draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """A draw for each row of evidence (Q, n) by its own uniforms (Q, n_uniforms), as ``draws`` gives it: (Q, n)."""
        pairs = zip(evidence[:, None], uniforms[:, None], strict=True)
        return np.concatenate([np.empty((0, self.n_features)), *(self.draws(*pair)[0] for pair in pairs)])

    def read(self, table: Any) -> np.ndarray:
        """Rows float (r, n) of a DataFrame (columns by name) or an array (columns by position)."""
        return self.codec.read(table)

    def check(self, rows: np.ndarray) -> None:
        """Raise where a row cannot be conditioned on: what was read can be, unless a background knows better."""
        return

    def inputs(self, rows: np.ndarray) -> Any:
        """What a model is called with, in the dtypes of the table; whole numbers are rounded here."""
        return self.codec.inputs(rows)

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        return self.codec.labels(rows)

    def shown_numbers(self, rows: np.ndarray) -> np.ndarray:
        return np.where(np.isinf(rows), np.nan, rows)


def read_table_background(given: TableBorder, masker: Any) -> NamedDistribution:
    """A background over columns: all of them are features, unless the user, the model or X names some."""
    words = ("a column of the table", "its columns are")
    return NamedDistribution(given.features, given.only, words, given, features_by_default=given.features)


# --- evidence -------------------------------------------------------------------------------------------------------


def checked_evidence(evidence: np.ndarray, n_features: int) -> np.ndarray:
    """Evidence as float64 (E, n), NaN where free."""
    try:
        evidence = np.asarray(evidence, dtype=float)
    except (TypeError, ValueError):
        raise RowsError(f"evidence is an array of numbers, not {evidence!r:.80}") from None
    if evidence.ndim != 2 or evidence.shape[1] != n_features:
        raise RowsError(f"evidence of shape {evidence.shape} does not fit {n_features} features")
    return evidence


def checked_uniforms(uniforms: np.ndarray, n_uniforms: int) -> np.ndarray:
    """Uniform numbers as float64 (D, n_uniforms) in [0, 1)."""
    uniforms = np.asarray(uniforms, dtype=float)
    if uniforms.ndim != 2 or uniforms.shape[1] != n_uniforms:
        raise ArgumentError(f"uniforms of shape {uniforms.shape} are given; (draws, {n_uniforms}) is needed")
    if uniforms.size and not ((uniforms >= 0) & (uniforms < 1)).all():
        raise ArgumentError("uniform numbers lie in [0, 1)")
    return uniforms


def patterns(evidence: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(members bool (n,), rows intp) for every distinct coalition of the evidence.

    Examples
    --------
    >>> nan = np.nan
    >>> [(m.tolist(), r.tolist()) for m, r in patterns(np.array([[nan, 1.0], [2.0, 3.0], [nan, 4.0]]))]
    [([False, True], [0, 2]), ([True, True], [1])]
    """
    held = ~np.isnan(evidence)
    if not len(held):
        return
    if (held == held[0]).all():
        yield held[0], np.arange(len(held))
        return
    distinct, inverse = np.unique(held, axis=0, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    bounds = np.cumsum(np.bincount(inverse.ravel(), minlength=len(distinct)))[:-1]
    yield from zip(distinct, np.split(order, bounds), strict=True)


def rowwise_product(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """``rows @ matrix`` (r, m) x (m, k) with the same bits whatever rows come along: a library's product has other sums
    for other shapes, and results must not depend on how rows are cut into blocks.

    Examples
    --------
    >>> rowwise_product(np.array([[1.0, 2.0]]), np.array([[1.0], [10.0]])).tolist()
    [[21.0]]
    """
    result = np.zeros((len(rows), matrix.shape[1]))
    for column, weights in zip(rows.T, matrix, strict=True):
        result += column[:, None] * weights
    return result


def some_rows(background: Background, n_rows: int = 5) -> np.ndarray | None:
    """A few rows to try a model on: the background's own, else drawn; None where only the user has some."""
    if isinstance(background, Probed):
        return background.probe()
    if not isinstance(background, DrawsGivenEvidence):
        return None
    nothing = np.full((1, len(background.features)), background.free)
    # a lattice, so that no two of the rows share a number
    places = np.add.outer(np.arange(n_rows), np.arange(background.n_uniforms)) * 0.618
    return background.draws(nothing, places % 1.0)[0]


def quantile_between(ordered: np.ndarray, uniforms: np.ndarray, start: Any = 0, count: Any = None) -> np.ndarray:
    """Quantiles of sorted values, linear between them (the middle of the k-th of n values is at ``(k + 1/2) / n``); of
    ``count`` values from ``start`` on where many stretches stand one after the other.
    """
    count = len(ordered) if count is None else count
    x = np.clip(uniforms * count - 0.5, 0, count - 1)
    low = x.astype(np.intp)
    first = ordered[start + low]
    return first + (x - low) * (ordered[start + np.minimum(low + 1, count - 1)] - first)
