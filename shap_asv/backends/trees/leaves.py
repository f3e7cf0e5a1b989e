"""Numbers to bits: codes of numbers, the leaves of an ensemble as paths, and how many background rows lie in them.

An ensemble tells apart only finitely many values of a column. With its thresholds sorted, ``code(x)`` = how many of
them are below x, so that ``x <= threshold[k]`` is ``code(x) <= k`` and the condition of a path is an interval of
codes. Categories are numbered; one more code stands for all others. NaN has the last code of a column.

Leaves lie end to end in flat arrays. Those that look at the same features stand together, so that what depends on D
alone is computed once; the order of the leaves is the order in which every row adds them up.
"""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from shap_asv.backends.trees import kernels
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, is_member

# start (leaves + 1,); per path entry: feature, low .. high (codes that satisfy the condition), nan (does NaN?), offset
# (of a row of `allowed` for categories, else -1), ratio (product of cover ratios); values (leaves, k).
Leaves = namedtuple("Leaves", "start feature low high nan offset ratio values allowed nan_code")

#: Background rows that are turned into bits together.
BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class TreeCoding:
    """How rows of an ensemble become codes.

    Attributes
    ----------
    ensemble : FloatEnsemble
    thresholds : tuple of float64 arrays, one per column
        Sorted; empty where a column is categorical or unused.
    categories : tuple of int64 arrays or None, one per column
    nan_code : int32 array (n,)
        The last code of each column.
    """

    ensemble: FloatEnsemble
    thresholds: tuple[np.ndarray, ...]
    categories: tuple[np.ndarray | None, ...]
    nan_code: np.ndarray

    def codes(self, rows: np.ndarray) -> np.ndarray:
        """Rows (r, n) -> int32 (n, r), one contiguous row per column. O(n r log thresholds)."""
        codes = np.zeros((self.ensemble.n_columns, len(rows)), dtype=np.int32)
        for j, (thresholds, categories) in enumerate(zip(self.thresholds, self.categories, strict=True)):
            if categories is None and not len(thresholds):
                continue
            numbers = self.ensemble.rounding(j)(rows[:, j])
            if categories is None:
                codes[j] = np.searchsorted(thresholds, numbers)
            else:
                member = is_member(numbers, categories)
                codes[j] = len(categories)
                codes[j, member] = np.searchsorted(categories, numbers[member].astype(np.int64))
            codes[j, np.isnan(numbers)] = self.nan_code[j]
        return codes


def code_ensemble(ensemble: FloatEnsemble) -> TreeCoding:
    """The codes that the nodes of an ensemble need."""
    inner = ensemble.left >= 0
    categorical = inner & (ensemble.category_set >= 0)
    thresholds: list[np.ndarray] = []
    categories: list[np.ndarray | None] = []
    for j in range(ensemble.n_columns):
        here = inner & (ensemble.column == j)
        sets = ensemble.category_set[here & categorical]
        if not len(sets):
            thresholds.append(np.unique(ensemble.threshold[here]))
            categories.append(None)
            continue
        if (here & ~categorical).any():
            raise NotSumOfProducts(f"the trees take column {j} for numbers at some nodes and for categories at others")
        thresholds.append(np.zeros(0))
        categories.append(np.unique(np.concatenate([ensemble.sets[s] for s in np.unique(sets)])))
    widths = [len(t) if c is None else len(c) for t, c in zip(thresholds, categories, strict=True)]
    return TreeCoding(ensemble, tuple(thresholds), tuple(categories), np.array(widths, dtype=np.int32) + 1)


def find_leaves(coding: TreeCoding, rank: np.ndarray) -> tuple[Leaves, np.ndarray]:
    """All paths of the ensemble, and the sum of the values of leaves without any condition: (Leaves, (k,)).

    ``rank`` (n,) says in which sequence the features of a path are listed: by levels where the causal order has them.
    A node without any cover passes half of its (zero) weight to each child. O(leaves * depth).
    """
    ensemble = coding.ensemble
    inner = ensemble.left >= 0
    n_nodes = len(ensemble.left)
    split = np.zeros(n_nodes, dtype=np.int32)
    offset = np.full(n_nodes, -1, dtype=np.int64)
    masks: list[np.ndarray] = []
    used = 0
    for j in np.unique(ensemble.column[inner]).tolist():
        here = np.flatnonzero(inner & (ensemble.column == j))
        categories = coding.categories[j]
        if categories is None:
            split[here] = np.searchsorted(coding.thresholds[j], ensemble.threshold[here])
            continue
        for node in here.tolist():
            member = np.isin(categories, ensemble.sets[ensemble.category_set[node]])
            left = np.concatenate([member, [False]]) == ensemble.member_left[node]  # the last: all other categories
            masks.append(np.append(left, ensemble.nan_left[node]))
            offset[node] = used
            used += len(masks[-1])
    depth = node_depths(ensemble.left, ensemble.right, ensemble.roots)
    leaf = (ensemble.left < 0) & (depth >= 0)
    entries = int(depth[leaf].sum())
    mask = np.concatenate(masks) if masks else np.zeros(0, dtype=bool)
    nodes = kernels.Nodes(
        ensemble.left, ensemble.right, ensemble.column, split, ensemble.nan_left, ensemble.cover, offset, mask
    )
    levels = int(depth.max(initial=0)) + 1
    state = kernels.State(
        np.zeros(levels, dtype=np.int64),
        np.zeros((levels, levels, 5), dtype=np.int64),
        np.ones((levels, levels)),
        np.zeros((2 * levels + 2, 3), dtype=np.int64),
    )
    n_leaves = int(leaf.sum())
    room = 2 * len(mask)  # both children of a categorical node have a row each
    paths = kernels.Paths._make(
        [np.zeros(size, dtype=np.int64) for size in (n_leaves, n_leaves + 1, entries)]
        + [np.zeros(entries, dtype=dtype) for dtype in (np.int32, np.int32, bool, np.int64, np.float64)]
        + [np.zeros(room, dtype=bool)]
    )
    _, used = kernels.walk_paths(nodes, ensemble.roots, rank, coding.nan_code, state, paths)
    end = paths.start[-1]
    entry_arrays = [array[:end] for array in paths[2:8]]
    leaves = Leaves._make(
        [paths.start, *entry_arrays, ensemble.values[paths.node], paths.allowed[:used], coding.nan_code]
    )
    return _by_features(leaves)


def node_depths(left: np.ndarray, right: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """How many splits lead to each node: int64 (N,); -1 for nodes that no root leads to."""
    depth = np.full(len(left), -1, dtype=np.int64)
    level, here = 0, roots
    while len(here):
        depth[here] = level
        here = here[left[here] >= 0]
        here = np.concatenate([left[here], right[here]])
        level += 1
    return depth


def _by_features(leaves: Leaves) -> tuple[Leaves, np.ndarray]:
    """Leaves with the same features side by side, those with few features first; leaves without features apart."""
    lengths = np.diff(leaves.start)
    width = int(lengths.max(initial=0))
    keys = np.full((len(lengths), width), -1, dtype=np.int64)
    row = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(leaves.feature)) - np.repeat(leaves.start[:-1], lengths)
    keys[row, place] = leaves.feature
    order = np.lexsort((*[keys[:, j] for j in range(width - 1, -1, -1)], lengths))
    free = leaves.values[lengths == 0].sum(axis=0)
    order = order[(lengths[order] > 0) & (leaves.values[order] != 0).any(axis=1)]
    taken = np.concatenate([[0], np.cumsum(lengths[order])]).astype(np.int64)
    entries = np.repeat(leaves.start[order] - taken[:-1], lengths[order]) + np.arange(taken[-1])
    arrays = [array[entries] for array in leaves[1:7]]
    values = np.ascontiguousarray(leaves.values[order])
    return Leaves._make([taken, *arrays, values, leaves.allowed, leaves.nan_code]), free


@dataclass(frozen=True, eq=False)
class Grounds:
    """The codes of m background rows, int32 (n, m); m = 0 stands for cover counts."""

    codes: np.ndarray
    nan_code: np.ndarray
    categorical: np.ndarray

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[1])

    def count_outside(self, leaves: Leaves, span: tuple[int, int], outside_at: np.ndarray, outside: np.ndarray) -> None:
        """outside[B] = F(D - B) for all B of the leaves ``span``, from ``outside_at`` on."""
        widest = int(np.diff(leaves.start[span[0] : span[1] + 1]).max())
        outside[:] = 0.0
        for start in range(0, self.n_rows, BLOCK):
            codes = self.codes[:, start : start + BLOCK]
            row_at = np.full((len(codes), int(self.nan_code.max(initial=0)) + 1), -1, dtype=np.int64)
            np.put_along_axis(row_at, codes.astype(np.int64), 0, axis=1)
            words = np.zeros((int((row_at == 0).sum()), (codes.shape[1] + 63) // 64), dtype=np.uint64)
            ground = kernels.Ground(codes.shape[1], words, row_at)
            kernels.fill_ground(codes, self.nan_code, self.categorical, ground)
            room = np.zeros((2 * widest + 1, words.shape[1]), dtype=np.uint64)
            kernels.count_ground(leaves, span, ground, outside_at, outside, room)
        outside /= self.n_rows
