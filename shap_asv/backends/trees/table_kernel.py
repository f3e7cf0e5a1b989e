"""Compiled: phi of a leaf for each of its patterns, as a table. Importing this module imports numba.

Cells are subsets B of D as bits. ``outside[B] = F(D - B)``; with the steps of the order the cells

    cell[B]      = -w(i, B) F(D - B)                        (i not in B)
    cell[B + i]  =  w(i, B) (F(D - B - i) - F(D - B))

summed over subsets (all bits but i) are phi_i for every pattern at once: O(d 2^d) additions per feature.
Patterns that hold the same ideal have the same phi and share a row of the table.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from shap_asv.backends.trees.orderings import ORDERS
from shap_asv.backends.trees.weight_kernel import list_steps

# Of some leaves: row_of (cells of all leaves,) is the row of a pattern in its leaf's table, from cell_at (leaves + 1,)
# on; phi lies feature by feature from entry_at (leaves + 1,) on: phi[entry_at + place * rows + row].
Tables = namedtuple("Tables", "row_of cell_at entry_at phi")


@njit(nogil=True, cache=True)
def add_bits(codes, leaves, entry, bit, pattern):  # type: ignore[no-untyped-def]
    """pattern (r,) |= (does the row satisfy a path entry's condition?) << bit; ``codes`` (r,) of its column."""
    low, high, offset = leaves.low[entry], leaves.high[entry], leaves.offset[entry]
    if offset >= 0:
        for r in range(len(codes)):
            pattern[r] |= np.int64(leaves.allowed[offset + codes[r]]) << bit
    elif leaves.nan[entry]:
        last = leaves.nan_code[leaves.feature[entry]]
        for r in range(len(codes)):
            code = codes[r]
            pattern[r] |= np.int64(((code >= low) & (code <= high)) | (code == last)) << bit
    else:
        for r in range(len(codes)):
            code = codes[r]
            pattern[r] |= np.int64((code >= low) & (code <= high)) << bit


@njit(nogil=True, cache=True)
def fill_outside(leaves, leaf, background, pattern, outside):  # type: ignore[no-untyped-def]
    """outside[B] = F(D - B) for all B: products of cover ratios, or shares of the ``background`` codes (n, m)."""
    first, d = leaves.start[leaf], leaves.start[leaf + 1] - leaves.start[leaf]
    m = background.shape[1]
    if m == 0:
        outside[0] = 1.0
        for j in range(d):
            b = leaves.ratio[first + j]
            for cell in range(1 << j):
                outside[cell | 1 << j] = outside[cell]
                outside[cell] *= b
        return
    pattern[:] = 0
    for j in range(d):
        add_bits(background[leaves.feature[first + j]], leaves, first + j, j, pattern)
    full = (1 << d) - 1
    outside[: full + 1] = 0.0
    for r in range(m):
        outside[full ^ pattern[r]] += 1.0  # the conditions that fail have to be in B
    for j in range(d):
        for cell in range(full + 1):
            if cell >> j & 1:
                outside[cell] += outside[cell ^ 1 << j]
    for cell in range(full + 1):
        outside[cell] /= m


@njit(nogil=True, cache=True)
def fill_cells(d, place, weight, outside, cell):  # type: ignore[no-untyped-def]
    """phi of the feature at ``place`` for every pattern: cell (2^d,), from weight (2^d,) of the steps that add it."""
    own = 1 << place
    for b in range(1 << d):
        if not b & own:
            w = weight[b]
            cell[b] = -w * outside[b]
            cell[b | own] = w * (outside[b | own] - outside[b])
    for j in range(d):
        if j == place:
            continue
        step = 1 << j
        for high in range(0, 1 << d, 2 * step):
            for b in range(high, high + step):
                cell[b + step] += cell[b]


@njit(nogil=True, cache=True)
def number_patterns(d, weights, closed, ideal, number):  # type: ignore[no-untyped-def]
    """Which row of the table each pattern has: number (2^d,); returns how many rows there are.

    ``ideal`` (2^d,) is the largest ideal inside a pattern. Ideals are closed under unions; coalitions that listed
    orders pass are not, and then (``closed`` false) each pattern has a row of its own.
    """
    rows = 0
    for pattern in range(1 << d):
        reached = pattern == 0 or not closed
        inside = 0
        for j in range(d):
            if pattern >> j & 1:
                before = pattern ^ 1 << j
                inside |= ideal[before]
                if ideal[before] == before and weights[j, before] > 0:
                    reached = True
        if reached:
            ideal[pattern] = pattern
            number[pattern] = rows
            rows += 1
        else:
            ideal[pattern] = inside
            number[pattern] = number[inside]
    return rows


@njit(nogil=True, cache=True)
def build_tables(leaves, order, steps, background, span, cells):  # type: ignore[no-untyped-def]
    """Tables of the leaves ``span[0]:span[1]``; ``cells`` is a first guess at the numbers that they hold.

    Returns the fields of :data:`Tables`; without entry offsets when the steps of an order did not fit.
    """
    first_leaf, last_leaf = span
    n_leaves = last_leaf - first_leaf
    widest = leaves.start[last_leaf] - leaves.start[last_leaf - 1]  # sorted by length
    size = 1 << widest
    cell_at = np.zeros(n_leaves + 1, dtype=np.int64)
    entry_at = np.zeros(n_leaves + 1, dtype=np.int64)
    for leaf in range(n_leaves):
        d = leaves.start[first_leaf + leaf + 1] - leaves.start[first_leaf + leaf]
        cell_at[leaf + 1] = cell_at[leaf] + (1 << d)
    row_of = np.empty(cell_at[n_leaves], dtype=np.int32)
    phi = np.empty(cells)
    outside, cell = np.empty(size), np.empty(size)
    weights = np.zeros((widest, size))
    ideal, number = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int32)
    pattern = np.zeros(background.shape[1], dtype=np.int32)
    known = -1
    rows = 0
    for leaf in range(n_leaves):
        at = first_leaf + leaf
        start, d = leaves.start[at], leaves.start[at + 1] - leaves.start[at]
        features = leaves.feature[start : start + d]
        same = known >= 0 and leaves.start[known + 1] - leaves.start[known] == d
        if same:
            for j in range(d):
                same = same and leaves.feature[leaves.start[known] + j] == features[j]
        if not same:
            known = at
            count = list_steps(order, features, steps)
            if count < 0:
                return row_of, cell_at, entry_at[:0], phi
            weights[:d, : 1 << d] = 0.0
            for s in range(count):
                weights[steps.place[s], steps.code[s]] += steps.weight[s]
            rows = number_patterns(d, weights, order.kind != ORDERS, ideal, number)
        needed = entry_at[leaf] + rows * d
        if needed > len(phi):
            larger = np.empty(max(needed, 2 * len(phi)))
            larger[: entry_at[leaf]] = phi[: entry_at[leaf]]
            phi = larger
        fill_outside(leaves, at, background, pattern, outside)
        row_of[cell_at[leaf] : cell_at[leaf + 1]] = number[: 1 << d]
        for j in range(d):
            fill_cells(d, j, weights[j], outside, cell)
            base = entry_at[leaf] + j * rows
            for b in range(1 << d):
                if ideal[b] == b:
                    phi[base + number[b]] = cell[b]
        entry_at[leaf + 1] = needed
    return row_of, cell_at, entry_at, phi[: entry_at[n_leaves]].copy()
