"""Compiled: the paths of trees, and which rows satisfy their conditions. Importing this module imports numba.

The kernels of this room write into arrays that they are given, and copy element by element: each array expression
costs the compiler as much as a page of plain loops, and the first call waits for it.

Background rows are bits. Per column there is one row of words for each code that occurs, with a bit for each row that
has *at most* that code (categories: exactly that code); a condition is two of them combined, and

    F(Q) * number of rows = bits that are set in the conditions of Q, combined by "and"

is found for all 2^d sets Q along a binary counter: one "and" per set, over words of 64 rows.
"""

from collections import namedtuple

import numpy as np

from shap_asv.kernels import count_bits, kernel

# FloatEnsemble with thresholds as codes; mask holds, from offset on, which codes go left at a categorical node.
Nodes = namedtuple("Nodes", "left right column split nan_left cover offset mask")
# Where paths go: see Leaves; node (leaves,) is where each ends.
Paths = namedtuple("Paths", "node start feature low high nan offset ratio allowed")
# Per depth: count (depth,) of slots in use; slot (depth, place, 5) = feature, low, high, nan, offset; ratio (depth,
# place); and the stack of nodes (., 3) = node, parent, depth.
State = namedtuple("State", "count slot ratio stack")
# n_rows; words (bitsets, w); row_at (n, codes + 1): the bitset of a code in its column, for codes up to the column's
# NaN code, where a number means "at most" the code and a category "equal"; -1: no row.
Ground = namedtuple("Ground", "n_rows words row_at")


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


# --- which rows satisfy the conditions of a leaf ---------------------------------------------------------------------


@kernel
def find_patterns(leaves, leaf, codes, pattern):  # type: ignore[no-untyped-def]
    """pattern (r,) = bit j says whether the row satisfies the leaf's condition on its j-th feature; codes (n, r)."""
    for r in range(len(pattern)):
        pattern[r] = 0
    for entry in range(leaves.start[leaf], leaves.start[leaf + 1]):
        bit = entry - leaves.start[leaf]
        column = codes[leaves.feature[entry]]
        low, high, offset = leaves.low[entry], leaves.high[entry], leaves.offset[entry]
        if offset >= 0:
            for r in range(len(pattern)):
                pattern[r] |= leaves.allowed[offset + column[r]] << bit
        elif leaves.nan[entry]:
            last = leaves.nan_code[leaves.feature[entry]]
            for r in range(len(pattern)):
                code = column[r]
                pattern[r] |= (((code >= low) & (code <= high)) | (code == last)) << bit
        else:
            for r in range(len(pattern)):
                code = column[r]
                pattern[r] |= ((code >= low) & (code <= high)) << bit


@kernel
def fill_ground(codes, nan_code, categorical, ground):  # type: ignore[no-untyped-def]
    """Set the bits of ``codes`` (n, m). ``ground.row_at`` holds 0 for the codes that occur, else -1."""
    used = 0
    for column in range(codes.shape[0]):
        rows = ground.row_at[column]
        for code in range(nan_code[column] + 1):
            if rows[code] >= 0:
                rows[code] = used
                used += 1
        for r in range(codes.shape[1]):
            ground.words[rows[codes[column, r]], r >> 6] |= np.uint64(1) << np.uint64(r & 63)
        if categorical[column]:
            continue
        below = -1
        for code in range(nan_code[column]):  # a row with a code has at most any larger one
            if rows[code] < 0:
                rows[code] = below
            elif below >= 0:
                for w in range(ground.words.shape[1]):
                    ground.words[rows[code], w] |= ground.words[below, w]
            below = rows[code]


@kernel
def count_ground(leaves, span, ground, outside_at, outside, stack):  # type: ignore[no-untyped-def]
    """outside[B] += rows that satisfy all conditions outside of B, for the leaves ``span``.

    stack (2 d + 1, w) is room: the conditions, and running "and"s.
    """
    n_words = ground.words.shape[1]
    for leaf in range(span[0], span[1]):
        start = leaves.start[leaf]
        d = leaves.start[leaf + 1] - start
        for j in range(d):
            meet_condition(leaves, start + j, ground, stack[j])
        base = outside_at[leaf - span[0]]
        full = (1 << d) - 1
        outside[base + full] += ground.n_rows
        for w in range(n_words):
            stack[d, w] = ~np.uint64(0)
        for wanted in range(1, full + 1):
            # the "and" of the bits above the lowest one was left at its depth when that set had its turn
            low = 0
            while not (wanted >> low) & 1:
                low += 1
            depth = 0
            for j in range(low + 1, d):
                depth += (wanted >> j) & 1
            above, own, both = stack[d + depth], stack[low], stack[d + depth + 1]
            count = np.uint64(0)
            for w in range(n_words):
                both[w] = above[w] & own[w]
                count += count_bits(both[w])
            outside[base + (full ^ wanted)] += count


@kernel
def meet_condition(leaves, entry, ground, bits):  # type: ignore[no-untyped-def]
    """bits (w,) = the background rows that satisfy the condition of one path entry."""
    rows = ground.row_at[leaves.feature[entry]]
    last = leaves.nan_code[leaves.feature[entry]]
    offset = leaves.offset[entry]
    for w in range(len(bits)):
        bits[w] = 0
    if offset >= 0:
        for code in range(last + 1):
            if leaves.allowed[offset + code] and rows[code] >= 0:
                for w in range(len(bits)):
                    bits[w] |= ground.words[rows[code], w]
        return
    low, high = leaves.low[entry], leaves.high[entry]
    if high >= low and rows[high] >= 0:
        for w in range(len(bits)):
            bits[w] = ground.words[rows[high], w]
        if low > 0 and rows[low - 1] >= 0:
            for w in range(len(bits)):
                bits[w] &= ~ground.words[rows[low - 1], w]
    if leaves.nan[entry] and rows[last] >= 0:
        for w in range(len(bits)):
            bits[w] |= ground.words[rows[last], w]
