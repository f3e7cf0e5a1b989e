"""Compiled: every path of every tree, once. Importing this module imports numba."""

from collections import namedtuple

import numpy as np
from numba import njit

# FloatEnsemble with thresholds as codes; mask holds, from offset on, which codes go left at a categorical node.
Nodes = namedtuple("Nodes", "left right column split nan_left cover offset mask")


@njit(nogil=True, cache=True)
def walk_paths(nodes, roots, rank, nan_code, sizes):  # type: ignore[no-untyped-def]
    """Paths of all leaves in depth-first order; ``sizes`` = (leaves, entries at most, deepest level).

    The state of a node lies in row ``depth`` of small arrays, and stays there while its subtree is walked.
    """
    n_leaves, n_entries, deepest = sizes
    node_of = np.empty(n_leaves, dtype=np.int64)
    start = np.zeros(n_leaves + 1, dtype=np.int64)
    feature = np.empty(n_entries, dtype=np.int64)
    low = np.empty(n_entries, dtype=np.int32)
    high = np.empty(n_entries, dtype=np.int32)
    nan = np.empty(n_entries, dtype=np.bool_)
    offset = np.empty(n_entries, dtype=np.int64)
    ratio = np.empty(n_entries)
    room = 0
    for node in range(len(nodes.left)):
        if nodes.offset[node] >= 0:
            room += 2 * (nan_code[nodes.column[node]] + 1)
    allowed = np.zeros(room, dtype=np.bool_)
    used = 0
    # state per depth: count, and per slot feature, low, high, nan, offset; ratios apart
    count = np.zeros(deepest + 1, dtype=np.int64)
    slots = np.zeros((deepest + 1, deepest + 1, 5), dtype=np.int64)
    ratios = np.ones((deepest + 1, deepest + 1))
    stack = np.empty((2 * deepest + 4, 3), dtype=np.int64)
    leaf = 0
    for root in roots:
        top = 0
        stack[0, 0], stack[0, 1], stack[0, 2] = root, -1, 0
        top = 1
        while top:
            top -= 1
            node, parent, depth = stack[top, 0], stack[top, 1], stack[top, 2]
            if parent < 0:
                count[0] = 0
            else:
                d = count[depth - 1]
                slots[depth, :d] = slots[depth - 1, :d]
                ratios[depth, :d] = ratios[depth - 1, :d]
                column = nodes.column[parent]
                place = 0
                while place < d and slots[depth, place, 0] != column:
                    place += 1
                if place == d:
                    slots[depth, place, 0] = column
                    slots[depth, place, 1] = 0
                    slots[depth, place, 2] = nan_code[column] - 1
                    slots[depth, place, 3] = 1
                    slots[depth, place, 4] = -1
                    ratios[depth, place] = 1.0
                    d += 1
                count[depth] = d
                is_left = nodes.left[parent] == node
                if nodes.offset[parent] >= 0:
                    before = slots[depth, place, 4]
                    for code in range(nan_code[column] + 1):
                        here = nodes.mask[nodes.offset[parent] + code] == is_left
                        allowed[used + code] = here and (before < 0 or allowed[before + code])
                    slots[depth, place, 4] = used
                    used += nan_code[column] + 1
                elif is_left:
                    slots[depth, place, 2] = min(slots[depth, place, 2], nodes.split[parent])
                else:
                    slots[depth, place, 1] = max(slots[depth, place, 1], nodes.split[parent] + 1)
                if nodes.nan_left[parent] != is_left:
                    slots[depth, place, 3] = 0
                weight = nodes.cover[parent]
                ratios[depth, place] *= nodes.cover[node] / weight if weight > 0 else 0.5
            if nodes.left[node] >= 0:
                for child in (nodes.right[node], nodes.left[node]):
                    stack[top, 0], stack[top, 1], stack[top, 2] = child, node, depth + 1
                    top += 1
                continue
            d = count[depth]
            first = start[leaf]
            for s in range(d):  # insertion sort by rank
                at = first + s
                key = rank[slots[depth, s, 0]]
                while at > first and rank[feature[at - 1]] > key:
                    feature[at], low[at], high[at] = feature[at - 1], low[at - 1], high[at - 1]
                    nan[at], offset[at], ratio[at] = nan[at - 1], offset[at - 1], ratio[at - 1]
                    at -= 1
                feature[at], low[at], high[at] = slots[depth, s, 0], slots[depth, s, 1], slots[depth, s, 2]
                nan[at], offset[at], ratio[at] = slots[depth, s, 3] == 1, slots[depth, s, 4], ratios[depth, s]
            node_of[leaf] = node
            leaf += 1
            start[leaf] = first + d
    end = start[leaf]
    return (
        node_of[:leaf],
        start[: leaf + 1],
        feature[:end].copy(),
        low[:end].copy(),
        high[:end].copy(),
        nan[:end].copy(),
        offset[:end].copy(),
        ratio[:end].copy(),
        allowed[:used].copy(),
    )
