"""Compiled: tables added up for rows. Importing this module imports numba.

Per leaf: the pattern of every row (comparisons of small integers, many rows at a time), the row of the table that it
stands for, and one gather and add per feature. A row's sum runs over the leaves in one fixed order, so that its bits
do not depend on the rows beside it.
"""

from shap_asv.kernels import kernel


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
def add_tables(leaves, tables, span, codes, pattern, scaled, out):  # type: ignore[no-untyped-def]
    """out (k, n, r) += phi of the leaves ``span`` at rows with ``codes`` (n, r); pattern (r,), scaled: room."""
    n_rows = codes.shape[1]
    for leaf in range(span[0], span[1]):
        start = leaves.start[leaf]
        d = leaves.start[leaf + 1] - start
        find_patterns(leaves, leaf, codes, pattern)
        local = leaf - tables.first
        cells = tables.cell_at[tables.set_of[local]]
        base = tables.entry_at[local]
        rows = (tables.entry_at[local + 1] - base) // d
        if rows < 1 << d:
            for r in range(n_rows):
                pattern[r] = tables.row_of[cells + pattern[r]]
        for o in range(out.shape[0]):
            value = leaves.values[leaf, o]
            if value == 0.0:
                continue
            for j in range(d):
                for b in range(rows):
                    scaled[b] = value * tables.phi[base + j * rows + b]
                target = out[o, leaves.feature[start + j]]
                for r in range(n_rows):
                    target[r] += scaled[pattern[r]]
