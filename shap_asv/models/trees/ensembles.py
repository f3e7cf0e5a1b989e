"""Tree ensembles as their libraries grow them: nodes that compare numbers, covers, leaf values.

    M(x) = offset + sum over trees of  values[the leaf that x reaches]

Every library's file parses its own format into one :class:`FloatEnsemble`, once. Two consumers follow: rows of numbers
are sent down the trees as they are (:meth:`FloatEnsemble.predict`, and the backends that need no network), and
:func:`state_regions` turns leaves into sets of states for discrete networks.

What a node asks is the same everywhere: ``x <= threshold`` goes left, or *x is one of these categories* goes left (or
right, ``member_left``), and a missing value goes where ``nan_left`` says. Libraries that compare otherwise (``<``,
``>``) are translated by their parsers. Numbers are rounded to ``dtype`` first where the library does so.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from shap_asv.models.inputs import TableInputs, require_numbers
from shap_asv.models.products import NotSumOfProducts, SumOfProducts

#: cells (row, tree) that are walked at a time
_CELLS = 1 << 18
# What a node that no background row reaches weighs, times its weight in the training.
_NEXT_TO_NOTHING = 1e-13


@dataclass(frozen=True, eq=False)
class HashedLabels:
    """The labels of a column where a model keeps hashes alone, and only those that its nodes ask for.

    Attributes
    ----------
    numbers : dict
        The number of each hash: first those that nodes ask for, then others as they are met.
    hashed : callable (labels) -> hash of each
    met : dict
        The number of each label that rows have held; no other can be shown to the model.
    """

    numbers: dict[int, int]
    hashed: Callable[[Sequence[Any]], Sequence[int]]
    met: dict[Any, int] = field(default_factory=dict)

    def places(self, column: Iterable[Any]) -> Mapping[Any, int]:
        """The numbers of labels, of those in a column at least."""
        new = [label for label in dict.fromkeys(column) if label not in self.met and not pd.isna(label)]
        for label, own in zip(new, self.hashed(new) if new else (), strict=True):
            self.met[label] = self.numbers.setdefault(own, len(self.numbers))
        return self.met

    def forget(self, n_met: int) -> None:
        """All labels but the first ones."""
        for label in list(self.met)[n_met:]:
            del self.met[label]


Labels = tuple[Any, ...] | HashedLabels


@dataclass(frozen=True, eq=False)
class FloatEnsemble:
    """All trees of an ensemble end to end (N nodes), over ``n_columns`` columns of numbers.

    Attributes
    ----------
    left, right : int64 arrays (N,)
        Children as positions in these arrays; -1 marks a leaf.
    column : int64 array (N,)
        The column that an inner node looks at.
    threshold : float64 array (N,)
        ``x <= threshold`` goes left, at nodes with ``category_set < 0``.
    nan_left : bool array (N,)
    cover : float64 array (N,)
        Training weight that passed a node.
    values : float64 array (N, k)
        What a leaf adds to each output.
    roots : int64 array (trees,)
    offset : float64 array (k,)
    dtype : numpy float type
        What the library rounds its input to.
    category_set : int64 array (N,)
        Which of ``sets`` a categorical node asks for; -1 at numeric nodes.
    member_left : bool array (N,)
        Do members of the set go left? All other categories go the other way.
    sets : tuple of int64 arrays
        Categories, as whole numbers.
    zero_missing : bool array (columns,)
        Columns where zero means missing (LightGBM's ``zero_as_missing``).
    labels : tuple, one entry per column
        Labels behind the numbers 0, 1, 2, ... of a column (or :class:`HashedLabels`), None where numbers are numbers.
    tiny : float
        Numbers up to this size are taken for zero.
    refuses_missing : bool array (columns,), or None
        Columns in which the model takes no missing values: an encoder in front of it has not met them there.
    missing : float
        A number that stands for a missing value, besides NaN (``XGBModel.missing``).
    """

    left: np.ndarray
    right: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    nan_left: np.ndarray
    cover: np.ndarray
    values: np.ndarray
    roots: np.ndarray
    offset: np.ndarray
    dtype: Any
    category_set: np.ndarray
    member_left: np.ndarray
    sets: tuple[np.ndarray, ...]
    zero_missing: np.ndarray
    labels: tuple[Labels | None, ...]
    tiny: float = 0.0
    refuses_missing: np.ndarray | None = None
    missing: float = math.nan

    @property
    def n_columns(self) -> int:
        return len(self.labels)

    @property
    def n_outputs(self) -> int:
        return int(self.values.shape[1])

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees together."""
        return int((self.left < 0).sum())

    def rounded(self, rows: np.ndarray) -> np.ndarray:
        """Numbers as the nodes compare them: rounded to ``dtype``, NaN where they mean missing. Float64, a copy."""
        return np.stack([self.rounding(j)(rows[:, j]) for j in range(self.n_columns)], axis=1)

    def rounding(self, column: int) -> "Rounding":
        """How the nodes see one column, without the trees."""
        return Rounding(self.dtype, self.tiny, bool(self.zero_missing[column]), self.missing)

    def rows(self, table: Any) -> np.ndarray:
        """A DataFrame or matrix as the model takes it -> float64 (r, n_columns) as the nodes take it.

        Labels (pandas categories, text) become the numbers that the model gave them while it was trained; a label that
        it never saw becomes NaN.
        """
        if hasattr(table, "iloc"):
            columns = [code_column(table.iloc[:, j], self.labels[j]) for j in range(self.n_columns)]
            return np.stack(columns, axis=1) if len(table) else np.empty((0, self.n_columns))
        matrix = np.asarray(table)
        if matrix.dtype.kind in "biuf" and not any(self.labels):
            return matrix.astype(np.float64)
        return np.stack([code_column(matrix[:, j], self.labels[j]) for j in range(self.n_columns)], axis=1)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """M at rows of numbers (r, n_columns) -> float64 (r, k). O(r * trees * depth)."""
        return self.add_up(rows, (self.values, self.offset))[0]

    def add_up(self, rows: np.ndarray, *tables: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
        """``offset + sum over trees of values`` at the leaves that rows reach, for each of the tables (values, offset):
        (r, k) each. The leaves are looked for once.
        """
        outputs = [np.empty((len(rows), self.n_outputs)) for _ in tables]
        step = max(1, _CELLS // max(1, self.n_trees))
        for start in range(0, len(rows), step):
            leaves = self.leaves_of(rows[start : start + step])
            for output, (values, offset) in zip(outputs, tables, strict=True):
                output[start : start + step] = offset + values[leaves].sum(axis=1)
        return outputs

    def leaves_of(self, rows: np.ndarray) -> np.ndarray:
        """The leaf of each tree that each row reaches: int64 (r, trees)."""
        numbers = self.rounded(rows)
        at = np.tile(self.roots, (len(numbers), 1))
        row, tree = np.nonzero(self.left[at] >= 0)
        while len(row):
            node = at[row, tree]
            at[row, tree] = np.where(
                self.goes_left(node, numbers[row, self.column[node]]), self.left[node], self.right[node]
            )
            inner = self.left[at[row, tree]] >= 0
            row, tree = row[inner], tree[inner]
        return at

    def counted(self, rows: np.ndarray) -> "FloatEnsemble":
        """The same trees, whose cover counts are those of rows (r, n_columns).

        A node that no row reaches weighs next to nothing; below it the shares are those of the training.
        """
        cover = np.bincount(self.leaves_of(rows).ravel(), minlength=len(self.left)).astype(float)
        for node in np.flatnonzero(self.left >= 0)[::-1].tolist():  # all libraries number parents before their children
            cover[node] = cover[self.left[node]] + cover[self.right[node]]
        cover = np.where(cover > 0, cover, _NEXT_TO_NOTHING * self.cover)
        return replace(self, cover=cover)

    def goes_left(self, node: np.ndarray, number: np.ndarray) -> np.ndarray:
        """Does ``number[i]`` go left at inner node ``node[i]``? Numbers as :meth:`rounded` returns them."""
        with np.errstate(invalid="ignore"):
            left = number <= self.threshold[node]
        if len(self.sets):
            asked = self.category_set[node]
            member = is_member(number, self._listed, np.maximum(asked, 0))
            left = np.where(asked >= 0, member == self.member_left[node], left)
        return np.where(np.isnan(number), self.nan_left[node], left)

    @cached_property
    def _listed(self) -> np.ndarray:
        """All sets in one sorted array, see :func:`is_member`."""
        return np.sort(np.concatenate([(s << 32) + members for s, members in enumerate(self.sets)]))


def numbers_alone(n_nodes: int, n_columns: int) -> dict[str, Any]:
    """The fields of an ensemble in which no column has categories, and zero is a number like any other."""
    return {
        "category_set": np.full(n_nodes, -1, dtype=np.int64),
        "member_left": np.zeros(n_nodes, dtype=bool),
        "sets": (),
        "zero_missing": np.zeros(n_columns, dtype=bool),
        "labels": (None,) * n_columns,
    }


@dataclass(frozen=True)
class Rounding:
    """Numbers as the nodes of a library compare them; see :class:`FloatEnsemble` for the attributes."""

    dtype: Any
    tiny: float
    zero_missing: bool
    missing: float = math.nan

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of any shape -> float64, a copy; NaN where they mean missing."""
        with np.errstate(over="ignore"):
            rounded = np.asarray(numbers, dtype=np.float64).astype(self.dtype).astype(np.float64)
        if self.tiny or self.zero_missing:
            rounded[np.abs(rounded) <= self.tiny] = np.nan if self.zero_missing else 0.0
        if not math.isnan(self.missing):
            rounded[rounded == float(self.dtype(self.missing))] = np.nan
        return rounded


def is_member(numbers: np.ndarray, categories: np.ndarray, sets: np.ndarray | int = 0) -> np.ndarray:
    """Is a number one of the sorted categories? What follows the decimal point is cut off, as all libraries do.

    Several sets of categories are one array of ``(set << 32) + category``, and ``sets`` are those that are asked for.

    >>> is_member(np.array([1.0, 1.5, 2.0, np.nan, -1.0]), np.array([0, 1]))
    array([ True,  True, False, False, False])
    """
    usable = (numbers > -1) & (numbers < 2.0**31)  # NaN is neither
    wanted = np.where(usable, numbers, 0).astype(np.int64) + (np.asarray(sets) << 32)
    return usable & (np.searchsorted(categories, wanted) < np.searchsorted(categories, wanted, side="right"))


def numbers_of_labels(labels: Labels, column: Iterable[Any] = ()) -> Mapping[Any, int]:
    """The number of each label; of hashed ones, of those that rows have held and those in a column."""
    if isinstance(labels, HashedLabels):
        return labels.places(column)
    return {label: code for code, label in enumerate(labels)}


def labels_of_numbers(labels: Labels) -> dict[float, Any]:
    """The label behind each number; gaps, which an encoder may list, are none."""
    known = numbers_of_labels(labels).items()
    return {float(number): label for label, number in known if label is not None and label == label}


def code_column(column: Any, labels: Labels | None) -> np.ndarray:
    """One column as float64: labels by their place in ``labels``, everything else as the number it is.

    >>> code_column(np.array(["b", "a", "?"], dtype=object), ("a", "b")).tolist()
    [1.0, 0.0, nan]
    """
    if labels is not None:
        place = numbers_of_labels(labels, column)
        return np.array([place.get(label, np.nan) for label in column], dtype=np.float64)
    categories = getattr(column, "cat", None)
    if categories is not None or hasattr(column, "categories"):  # a model that stored no labels took pandas' codes
        codes = np.asarray(column.codes if categories is None else categories.codes, dtype=np.float64)
        return np.where(codes < 0, np.nan, codes)
    if hasattr(column, "to_numpy"):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(column).astype(np.float64)


def joined(parts: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
    """One array per tree -> all end to end."""
    return np.concatenate([np.asarray(part, dtype=dtype) for part in parts]) if parts else np.zeros(0, dtype=dtype)


def children(*sides: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Children numbered within each tree (negative at leaves) -> numbered over all trees; last, the roots.

    >>> children([np.array([1, -1, -1]), np.array([-1])], [np.array([2, -1, -1]), np.array([-1])])
    (array([ 1, -1, -1, -1]), array([ 2, -1, -1, -1]), array([0, 3]))
    """
    sizes = [len(part) for part in sides[0]]
    starts = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    numbers = [joined(parts, np.int64) for parts in sides]
    return *(np.where(own >= 0, own + np.repeat(starts, sizes), -1) for own in numbers), starts


class NodeList:
    """Nodes of all trees, appended one by one by parsers of nested formats."""

    def __init__(self, n_outputs: int) -> None:
        self.left: list[int] = []
        self.right: list[int] = []
        self.column: list[int] = []
        self.threshold: list[float] = []
        self.cover: list[float] = []
        self.values: list[np.ndarray] = []
        self._nothing = np.zeros(n_outputs)

    def add(self) -> int:
        """A leaf that adds nothing yet, by its number."""
        for numbers in (self.left, self.right, self.column):
            numbers.append(-1)
        self.threshold.append(0.0)
        self.cover.append(0.0)
        self.values.append(self._nothing.copy())
        return len(self.left) - 1


# --- leaves as products of state sets ---------------------------------------------------------------------------------
#
# A split on a column is a split of the states of one feature: those that go left and those that go right. The region
# of a leaf is the intersection of the splits on its path, i.e. one state set per feature, and the ensemble is
#
#     M(x) = offset + sum over leaves of  value[leaf] * prod over v of [x_v in R_leaf,v]
#
# Children whose set is empty are never opened: no combination of states reaches them. Leaves with the same region, in
# whatever trees, are added up.


def node_splits(
    ensemble: FloatEnsemble, tables: Mapping[int, np.ndarray], source: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """The features of the distinct splits, which of their states go left in each (bool), and for each node which of the
    splits it makes, int64 (N,) (anything at leaves).

    ``tables`` hold the columns that nodes look at, over states, as the nodes compare them
    (:meth:`FloatEnsemble.rounding`); column j is a function of feature ``source[j]``.
    """
    inner = ensemble.left >= 0
    fields = ("column", "threshold", "category_set", "member_left", "nan_left")
    keys = np.empty(int(inner.sum()), dtype=[(name, getattr(ensemble, name).dtype) for name in fields])
    for name in fields:
        keys[name] = getattr(ensemble, name)[inner]
    distinct, which = np.unique(keys, return_inverse=True)
    split = np.zeros(len(inner), dtype=np.int64)
    split[inner] = which.ravel()
    goes_left = []
    for column, threshold, chosen, member_left, nan_left in distinct.tolist():
        table = tables[column]
        side = table <= threshold if chosen < 0 else is_member(table, ensemble.sets[chosen]) == member_left
        goes_left.append(np.where(np.isnan(table), nan_left, side))
    return source[distinct["column"]], goes_left, split


def state_regions(
    ensemble: FloatEnsemble, columns: TableInputs, cardinalities: Sequence[int], name: str
) -> SumOfProducts:
    """A parsed ensemble over the states of discrete features; ``columns`` are what it eats, ``name`` is for messages.

    Nodes that make the same split share one state set: O(distinct splits x states + leaves x depth).
    """
    used = np.unique(ensemble.column[ensemble.left >= 0]).tolist()
    if used and used[-1] >= columns.n_columns:
        raise NotSumOfProducts(f"{name} splits on a column that its input does not have")
    labels = (*ensemble.labels, *[None] * columns.n_columns)
    numbers = tuple(_numbers_of(table, own) for table, own in zip(columns.tables, labels, strict=False))
    require_numbers(replace(columns, tables=numbers), name)
    tables = {j: ensemble.rounding(j)(numbers[j]) for j in used}
    return leaf_regions(ensemble, *node_splits(ensemble, tables, columns.source), cardinalities)


def _numbers_of(table: Any, labels: Labels | None) -> Any:
    """A table over states as the numbers that the nodes compare, where the model says what they are."""
    return code_column(table, labels) if labels is not None or hasattr(table, "categories") else table


def leaf_regions(
    trees: FloatEnsemble,
    features: np.ndarray,
    goes_left: Sequence[np.ndarray],
    split_of: np.ndarray,
    cardinalities: Sequence[int],
) -> SumOfProducts:
    """The ensemble as a sum of products over states; splits as of :func:`node_splits`. O(nodes + leaves x features).

    A region is one integer, the state sets of all features side by side, each in bytes of its own.
    """
    ends = np.cumsum([(int(card) + 7) // 8 for card in cardinalities]).tolist()
    starts = [0, *ends[:-1]]
    own = [(1 << int(card)) - 1 << 8 * start for card, start in zip(cardinalities, starts, strict=True)]
    everything = sum(own)
    parted = []  # for each split the states of its feature, and what stays of a region to the right and to the left
    for v, mask in zip(features.tolist(), goes_left, strict=True):
        on_left = sum(1 << s for s in np.flatnonzero(mask).tolist()) << 8 * starts[v]
        parted.append((own[v], everything ^ on_left, everything ^ own[v] ^ on_left))
    left, right, split = (array.tolist() for array in (trees.left, trees.right, split_of))
    terms = {everything: 0}
    leaves, term_of = [], []
    stack = [(root, everything) for root in trees.roots.tolist()[::-1]]
    while stack:
        node, region = stack.pop()
        if left[node] < 0:
            leaves.append(node)
            term_of.append(terms.setdefault(region, len(terms)))
            continue
        states, to_right, to_left = parted[split[node]]
        for child, below in ((right[node], region & to_right), (left[node], region & to_left)):
            if below & states:
                stack.append((child, below))
    coefficients = np.zeros((len(terms), trees.n_outputs))
    np.add.at(coefficients, term_of, trees.values[leaves])
    told = np.append(False, coefficients[1:].any(axis=1))  # the first one constrains nothing
    packed = np.frombuffer(b"".join(region.to_bytes(ends[-1], "little") for region in terms), dtype=np.uint8)
    packed = packed.reshape(len(terms), -1)[told]
    rows = np.zeros((len(packed), len(own)), dtype=np.int32)
    vectors = []
    for v, (start, end) in enumerate(zip(starts, ends, strict=True)):
        sets = np.ascontiguousarray(packed[:, start:end])
        bits = np.unpackbits(sets, axis=1, bitorder="little", count=int(cardinalities[v]))
        cut = np.flatnonzero(~bits.all(axis=1))
        _, first, which = np.unique(sets[cut].view(f"V{end - start}"), return_index=True, return_inverse=True)
        rows[cut, v] = 1 + which.ravel()
        vectors.append(np.vstack([np.ones(bits.shape[1]), bits[cut[first]]]))
    return SumOfProducts(tuple(vectors), rows, coefficients[told], trees.offset + coefficients[0])
