"""The leaves of an ensemble as paths: distinct features, one condition on each, and cover ratios.

All leaves lie end to end in flat arrays. Leaves that look at the same features stand together, so that what depends on
D alone is computed once; the order of the leaves is the order in which every row adds them up.
"""

from collections import namedtuple

import numpy as np

from shap_asv.backends.trees.coding import Coding

# start (leaves + 1,); per path entry: feature, low .. high (codes that satisfy the condition), nan (does NaN?), offset
# (of a row of `allowed` for categories, else -1), ratio (product of cover ratios); values (leaves, k).
Leaves = namedtuple("Leaves", "start feature low high nan offset ratio values allowed nan_code")


def find_leaves(coding: Coding, rank: np.ndarray) -> tuple[Leaves, np.ndarray]:
    """All paths of the ensemble, and the sum of the values of leaves without any condition: (Leaves, (k,)).

    ``rank`` (n,) says in which sequence the features of a path are listed: by levels where the causal order has them.
    A node without any cover passes half of its (zero) weight to each child. O(leaves * depth).
    """
    from shap_asv.backends.trees.kernels.leaves import Nodes, Paths, State, walk_paths

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
    nodes = Nodes(
        ensemble.left, ensemble.right, ensemble.column, split, ensemble.nan_left, ensemble.cover, offset, mask
    )
    levels = int(depth.max(initial=0)) + 1
    state = State(
        np.zeros(levels, dtype=np.int64),
        np.zeros((levels, levels, 5), dtype=np.int64),
        np.ones((levels, levels)),
        np.zeros((2 * levels + 2, 3), dtype=np.int64),
    )
    n_leaves = int(leaf.sum())
    room = 2 * len(mask)  # both children of a categorical node have a row each
    paths = Paths._make(
        [np.zeros(size, dtype=np.int64) for size in (n_leaves, n_leaves + 1, entries)]
        + [np.zeros(entries, dtype=dtype) for dtype in (np.int32, np.int32, bool, np.int64, np.float64)]
        + [np.zeros(room, dtype=bool)]
    )
    _, used = walk_paths(nodes, ensemble.roots, rank, coding.nan_code, state, paths)
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
