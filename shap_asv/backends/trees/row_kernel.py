"""Compiled: tables added up for rows. Importing this module imports numba.

Per leaf: the pattern of every row (comparisons of small integers, many rows at a time), the row of the table that it
stands for, and one gather and add per feature. A row's sum runs over the leaves in one fixed order, so that its bits
do not depend on the rows beside it.
"""

import numpy as np
from numba import njit

from shap_asv.backends.trees.table_kernel import add_bits


@njit(nogil=True, cache=True)
def add_tables(leaves, tables, first_leaf, span, codes, out):  # type: ignore[no-untyped-def]
    """out (k, n, r) += phi of the leaves ``span`` at rows with ``codes`` (n, r); tables start at ``first_leaf``."""
    n_rows, k = codes.shape[1], out.shape[0]
    pattern = np.empty(n_rows, dtype=np.int32)
    scaled = np.empty(1)
    for leaf in range(span[0], span[1]):
        start, d = leaves.start[leaf], leaves.start[leaf + 1] - leaves.start[leaf]
        pattern[:] = 0
        for j in range(d):
            add_bits(codes[leaves.feature[start + j]], leaves, start + j, j, pattern)
        local = leaf - first_leaf
        row_of = tables.row_of[tables.cell_at[local] : tables.cell_at[local + 1]]
        base = tables.entry_at[local]
        rows = (tables.entry_at[local + 1] - base) // d
        if rows < len(row_of):
            for r in range(n_rows):
                pattern[r] = row_of[pattern[r]]
        if rows > len(scaled):
            scaled = np.empty(rows)
        for o in range(k):
            value = leaves.values[leaf, o]
            if value == 0.0:
                continue
            for j in range(d):
                for b in range(rows):
                    scaled[b] = value * tables.phi[base + j * rows + b]
                target = out[o, leaves.feature[start + j]]
                for r in range(n_rows):
                    target[r] += scaled[pattern[r]]
