"""Leaves of decision trees as products of state sets.

A split on a column is a split of the states of one feature: those that go left and those that go right. The region
of a leaf is the intersection of the splits on its path, i.e. one state set per feature, and the ensemble is

    M(x) = offset + sum over leaves of  value[leaf] * prod over v of [x_v in R_leaf,v]

The trees of an ensemble are walked together, level by level, in arrays: per open node the features on its path with the
id of a state set each (0 = all states). State sets are interned as integers whose bits are states, so that an
intersection is computed once per distinct (set, split) pair. Children whose set is empty are never opened: no
combination of states reaches them. Leaves with the same region, in whatever trees, are added up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.models.calls.inputs import TableInputs, require_numbers
from shap_asv.models.products import NotSumOfProducts, SumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, code_column, is_member


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
    """Add up equal regions, move the unconstrained one to the offset, drop zeros and state sets that nobody uses."""
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
