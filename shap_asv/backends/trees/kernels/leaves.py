"""Compiled: every path of every tree, once. Importing this module imports numba.

The kernels of this room write into arrays that they are given, and copy element by element: each array expression
costs the compiler as much as a page of plain loops, and somebody has to wait for it.
"""

from collections import namedtuple

from shap_asv.kernels import kernel

# FloatEnsemble with thresholds as codes; mask holds, from offset on, which codes go left at a categorical node.
Nodes = namedtuple("Nodes", "left right column split nan_left cover offset mask")
# Where paths go: see Leaves; node (leaves,) is where each ends.
Paths = namedtuple("Paths", "node start feature low high nan offset ratio allowed")
# Per depth: count (depth,) of slots in use; slot (depth, place, 5) = feature, low, high, nan, offset; ratio (depth,
# place); and the stack of nodes (., 3) = node, parent, depth.
State = namedtuple("State", "count slot ratio stack")


@kernel
def walk_paths(nodes, roots, rank, nan_code, state, paths):  # type: ignore[no-untyped-def]
    """All leaves in depth-first order -> (leaves, entries of ``allowed`` in use).

    The state of a node lies in row ``depth`` of small arrays, and stays there while its subtree is walked.
    """
    count, slot, ratio, stack = state.count, state.slot, state.ratio, state.stack
    leaf = used = 0
    for root in roots:
        stack[0, 0], stack[0, 1], stack[0, 2] = root, -1, 0
        top = 1
        while top:
            top -= 1
            node, parent, depth = stack[top, 0], stack[top, 1], stack[top, 2]
            if parent < 0:
                count[0] = 0
            else:
                d = count[depth - 1]
                column = nodes.column[parent]
                place = d
                for s in range(d):
                    for f in range(5):
                        slot[depth, s, f] = slot[depth - 1, s, f]
                    ratio[depth, s] = ratio[depth - 1, s]
                    if slot[depth, s, 0] == column:
                        place = s
                if place == d:
                    slot[depth, place, 0], slot[depth, place, 1] = column, 0
                    slot[depth, place, 2] = nan_code[column] - 1
                    slot[depth, place, 3], slot[depth, place, 4] = 1, -1
                    ratio[depth, place] = 1.0
                    d += 1
                count[depth] = d
                is_left = nodes.left[parent] == node
                if nodes.offset[parent] >= 0:
                    before = slot[depth, place, 4]
                    for code in range(nan_code[column] + 1):
                        here = nodes.mask[nodes.offset[parent] + code] == is_left
                        paths.allowed[used + code] = here and (before < 0 or paths.allowed[before + code])
                    slot[depth, place, 4] = used
                    used += nan_code[column] + 1
                elif is_left:
                    slot[depth, place, 2] = min(slot[depth, place, 2], nodes.split[parent])
                else:
                    slot[depth, place, 1] = max(slot[depth, place, 1], nodes.split[parent] + 1)
                if nodes.nan_left[parent] != is_left:
                    slot[depth, place, 3] = 0
                weight = nodes.cover[parent]
                ratio[depth, place] *= nodes.cover[node] / weight if weight > 0 else 0.5
            if nodes.left[node] >= 0:
                stack[top, 0], stack[top, 1], stack[top, 2] = nodes.right[node], node, depth + 1
                stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = nodes.left[node], node, depth + 1
                top += 2
                continue
            d = count[depth]
            first = paths.start[leaf]
            for s in range(d):
                at = first  # how many of the path's features come before this one
                for other in range(d):
                    at += rank[slot[depth, other, 0]] < rank[slot[depth, s, 0]]
                paths.feature[at], paths.low[at], paths.high[at] = (
                    slot[depth, s, 0],
                    slot[depth, s, 1],
                    slot[depth, s, 2],
                )
                paths.nan[at] = slot[depth, s, 3] == 1
                paths.offset[at], paths.ratio[at] = slot[depth, s, 4], ratio[depth, s]
            paths.node[leaf] = node
            leaf += 1
            paths.start[leaf] = first + d
    return leaf, used
