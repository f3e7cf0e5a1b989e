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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.models.inputs import TableInputs, require_numbers
from shap_asv.models.products import NotSumOfProducts, SumOfProducts

#: cells (row, tree) that are walked at a time
_CELLS = 1 << 18
# What a node that no background row reaches weighs, times its weight in the training.
_NEXT_TO_NOTHING = 1e-13


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
    n_columns : int
    dtype : numpy float type
        What the library rounds its input to.
    category_set : int64 array (N,)
        Which of ``sets`` a categorical node asks for; -1 at numeric nodes.
    member_left : bool array (N,)
        Do members of the set go left? All other categories go the other way.
    sets : tuple of int64 arrays
        Categories, as whole numbers.
    zero_missing : bool array (n_columns,)
        Columns where zero means missing (LightGBM's ``zero_as_missing``).
    labels : tuple, one entry per column
        Labels behind the numbers 0, 1, 2, ... of a column, or None where numbers are numbers.
    tiny : float
        Numbers up to this size are taken for zero.
    takes_missing : bool
        Does the model answer to rows with missing values at all?
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
    n_columns: int
    dtype: Any = np.float64
    category_set: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    member_left: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    sets: tuple[np.ndarray, ...] = ()
    zero_missing: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    labels: tuple[tuple[Any, ...] | None, ...] = ()
    tiny: float = 0.0
    takes_missing: bool = True
    missing: float = math.nan

    def __post_init__(self) -> None:
        if not len(self.category_set):
            object.__setattr__(self, "category_set", np.full(len(self.left), -1, dtype=np.int64))
            object.__setattr__(self, "member_left", np.zeros(len(self.left), dtype=bool))
        if not len(self.zero_missing):
            object.__setattr__(self, "zero_missing", np.zeros(self.n_columns, dtype=bool))
        if not self.labels:
            object.__setattr__(self, "labels", (None,) * self.n_columns)

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
        numbers = np.empty(np.shape(rows))
        for j in range(self.n_columns):
            numbers[:, j] = self.rounded_column(rows[:, j], j)
        return numbers

    def rounded_column(self, numbers: np.ndarray, column: int) -> np.ndarray:
        """One column of :meth:`rounded`."""
        return self.rounding(column)(numbers)

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
        numbers, cover = self.rounded(rows), np.zeros(len(self.left))
        row, tree = np.divmod(np.arange(len(rows) * self.n_trees), self.n_trees)
        at = self.roots[tree]
        while len(at):
            cover += np.bincount(at, minlength=len(cover))
            inner = self.left[at] >= 0
            at, row = at[inner], row[inner]
            at = np.where(self.goes_left(at, numbers[row, self.column[at]]), self.left[at], self.right[at])
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


def code_column(column: Any, labels: tuple[Any, ...] | None) -> np.ndarray:
    """One column as float64: labels by their place in ``labels``, everything else as the number it is.

    >>> code_column(np.array(["b", "a", "?"], dtype=object), ("a", "b")).tolist()
    [1.0, 0.0, nan]
    """
    if labels is not None:
        place = {label: float(code) for code, label in enumerate(labels)}
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
# The trees of an ensemble are walked together, level by level, in arrays: per open node the features on its path with
# the id of a state set each (0 = all states). State sets are interned as integers whose bits are states, so that an
# intersection is computed once per distinct (set, split) pair. Children whose set is empty are never opened: no
# combination of states reaches them. Leaves with the same region, in whatever trees, are added up.


@dataclass(frozen=True, eq=False)
class Splits:
    """Distinct splits: ``goes_left[s]`` is a bool vector over the states of ``feature[s]``."""

    feature: np.ndarray
    goes_left: tuple[np.ndarray, ...]


def node_splits(
    ensemble: FloatEnsemble, tables: Mapping[int, np.ndarray], source: np.ndarray
) -> tuple[Splits, np.ndarray]:
    """Distinct splits over states, and for each node which of them it makes, int64 (N,) (anything at leaves).

    ``tables`` hold the columns that nodes look at, over states, as the nodes compare them
    (:meth:`FloatEnsemble.rounded_column`); column j is a function of feature ``source[j]``.
    """
    categorical = (ensemble.left >= 0) & (ensemble.category_set >= 0)
    numeric = (ensemble.left >= 0) & ~categorical
    keys = np.empty(int(numeric.sum()), dtype=[("column", np.int64), ("threshold", np.float64), ("nan_left", np.bool_)])
    for name in ("column", "threshold", "nan_left"):
        keys[name] = getattr(ensemble, name)[numeric]
    distinct, which = np.unique(keys, return_inverse=True)
    split = np.zeros(len(numeric), dtype=np.int64)
    split[numeric] = which.ravel()
    goes_left = [
        np.where(np.isnan(tables[column]), nan_left, tables[column] <= threshold)
        for column, threshold, nan_left in distinct.tolist()
    ]
    columns = distinct["column"].tolist()
    for i in np.flatnonzero(categorical).tolist():
        columns.append(int(ensemble.column[i]))
        table = tables[columns[-1]]
        member = is_member(table, ensemble.sets[ensemble.category_set[i]])
        split[i] = len(goes_left)
        goes_left.append(np.where(np.isnan(table), ensemble.nan_left[i], member == ensemble.member_left[i]))
    return Splits(source[np.array(columns, dtype=np.int64)], tuple(goes_left)), split


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
    tables = {j: ensemble.rounded_column(numbers[j], j) for j in used}
    splits, split = node_splits(ensemble, tables, columns.source)
    return leaf_regions(ensemble, splits, split, cardinalities)


def _numbers_of(table: Any, labels: tuple[Any, ...] | None) -> Any:
    """A table over states as the numbers that the nodes compare, where the model says what they are."""
    return code_column(table, labels) if labels is not None or hasattr(table, "categories") else table


class StateSets:
    """State sets of each feature, interned: set 0 of a feature is all its states."""

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self.full = [(1 << int(card)) - 1 for card in cardinalities]
        self.members = [[full] for full in self.full]
        self.ids = [{full: 0} for full in self.full]

    def intern(self, feature: int, members: int) -> int:
        """The id of a state set, -1 for the empty one."""
        if not members:
            return -1
        known = self.ids[feature]
        if members not in known:
            known[members] = len(self.members[feature])
            self.members[feature].append(members)
        return known[members]

    def indicator(self, feature: int, ids: Sequence[int]) -> np.ndarray:
        """0/1 rows over the states of ``feature``, one per id."""
        card = self.full[feature].bit_length()
        size = (card + 7) // 8
        packed = b"".join(self.members[feature][i].to_bytes(size, "little") for i in ids)
        bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8).reshape(len(ids), size), axis=1, bitorder="little")
        return bits[:, :card].astype(np.float64)


def leaf_regions(
    trees: FloatEnsemble, splits: Splits, split_of: np.ndarray, cardinalities: Sequence[int]
) -> SumOfProducts:
    """The ensemble as a sum of products over states, node i making split ``split_of[i]``. O(leaves x depth) array work.

    The region of an open node is kept in slots, one per distinct feature on its path: ``slots[i, d]`` is a feature
    (-1 when the slot is empty) and ``ids[i, d]`` its state set.
    """
    sets = StateSets(cardinalities)
    left_sets = [sum(1 << s for s in np.flatnonzero(mask).tolist()) for mask in splits.goes_left]
    nodes = trees.roots
    slots = np.full((len(nodes), 0), -1, dtype=np.int32)
    ids = np.zeros((len(nodes), 0), dtype=np.int32)
    leaves = []
    while len(nodes):
        at_leaf = trees.left[nodes] < 0
        if at_leaf.any():
            leaves.append((slots[at_leaf], ids[at_leaf], trees.values[nodes[at_leaf]]))
            nodes, slots, ids = nodes[~at_leaf], slots[~at_leaf], ids[~at_leaf]
        if not len(nodes):
            break
        split = split_of[nodes]
        feature = splits.feature[split].astype(np.int32)
        slots, ids, slot = _slot_of(slots, ids, feature)
        here = np.arange(len(nodes))
        to_left, to_right = _intersect(sets, splits.feature, left_sets, split, ids[here, slot])
        parts = []
        for child, new in ((trees.left, to_left), (trees.right, to_right)):
            open_ = np.flatnonzero(new >= 0)
            below = ids[open_]
            below[np.arange(len(open_)), slot[open_]] = new[open_]
            parts.append((child[nodes[open_]], slots[open_], below))
        nodes, slots, ids = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return _collect(sets, leaves, trees.n_outputs, trees.offset)


def _slot_of(slots: np.ndarray, ids: np.ndarray, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The slot of each node's feature; a free one (a new column if need be) when the path did not meet it yet."""
    match = slots == feature[:, None]
    known = match.any(axis=1)
    n_used = (slots >= 0).sum(axis=1)
    slot = np.where(known, match.argmax(axis=1) if slots.shape[1] else 0, n_used)
    if (slot >= slots.shape[1]).any():
        slots = np.pad(slots, ((0, 0), (0, 1)), constant_values=-1)
        ids = np.pad(ids, ((0, 0), (0, 1)))
    slots[np.arange(len(slots)), slot] = feature
    return slots, ids, slot


def _intersect(
    sets: StateSets, features: np.ndarray, left_sets: list[int], split: np.ndarray, current: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ids of (current set & goes left) and (current set - goes left) for each open node."""
    width = int(current.max(initial=0)) + 1
    pairs, which = np.unique(split * width + current, return_inverse=True)
    left = np.empty(len(pairs), dtype=np.int32)
    right = np.empty(len(pairs), dtype=np.int32)
    for p, pair in enumerate(pairs.tolist()):
        s, held = divmod(pair, width)
        v = int(features[s])
        members = sets.members[v][held]
        left[p] = sets.intern(v, members & left_sets[s])
        right[p] = sets.intern(v, members & ~left_sets[s])
    return left[which], right[which]


def _collect(
    sets: StateSets, leaves: list[tuple[np.ndarray, np.ndarray, np.ndarray]], k: int, offset: np.ndarray
) -> SumOfProducts:
    """Add up equal regions, move the unconstrained one to the offset, drop zeros and state sets that no term uses."""
    n = len(sets.members)
    n_slots = max((slots.shape[1] for slots, _, _ in leaves), default=0)
    widen = [(0, 0), (0, n_slots)]
    slots = np.concatenate([np.pad(s, widen, constant_values=-1)[:, :n_slots] for s, _, _ in leaves])
    ids = np.concatenate([np.pad(i, widen)[:, :n_slots] for _, i, _ in leaves])
    # one number per (feature, state set); 0 = no constraint, also where splits left a feature all its states
    starts = np.cumsum([0] + [len(members) for members in sets.members])
    keys = np.where(ids > 0, starts[slots] + ids, 0)
    keys, values = merge_terms(np.sort(keys, axis=1), np.concatenate([v for _, _, v in leaves]))
    free = ~keys.any(axis=1)
    offset = offset + values[free].sum(axis=0)
    keep = ~free & (values != 0).any(axis=1)
    keys, values = keys[keep], values[keep]
    used = np.zeros(starts[-1], dtype=bool)
    used[keys.ravel()] = True
    used[starts[:-1]] = True
    numbers = np.cumsum(used) - 1
    feature_of = np.repeat(np.arange(n), np.diff(starts))
    row, slot = np.nonzero(keys)
    at = keys[row, slot]
    terms = np.zeros((len(keys), n), dtype=np.int32)
    terms[row, feature_of[at]] = numbers[at] - numbers[starts[feature_of[at]]]
    vectors = tuple(sets.indicator(v, np.flatnonzero(used[starts[v] : starts[v + 1]]).tolist()) for v in range(n))
    return SumOfProducts(vectors, terms, values.reshape(-1, k), offset)


def merge_terms(terms: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add the coefficients of equal rows of ``terms``; the order of first occurrence is kept. O(T n + T log T).

    >>> merge_terms(np.array([[0, 1], [2, 0], [0, 1]]), np.array([[1.0], [2.0], [3.0]]))
    (array([[0, 1],
           [2, 0]]), array([[4.],
           [2.]]))
    """
    if not len(terms):
        return terms, coefficients
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 2**63, size=terms.shape[1], dtype=np.uint64) | np.uint64(1)
    hashes = terms.astype(np.uint64) @ factors
    _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    which = which.ravel()
    if not np.array_equal(terms[first[which]], terms):  # two different rows with one hash
        _, first, which = np.unique(terms, axis=0, return_index=True, return_inverse=True)
        which = which.ravel()
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(len(first)))
    sums = np.add.reduceat(coefficients[order], starts, axis=0)
    by_occurrence = np.argsort(first)
    return terms[first[by_occurrence]], sums[by_occurrence]
