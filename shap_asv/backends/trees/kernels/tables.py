"""Compiled: phi of a leaf for each of its patterns, as a table. Importing this module imports numba.

Cells are subsets B of D as bits. ``outside[B] = F(D - B)``; with the steps of the order the cells

    cell[B]      = -w(i, B) F(D - B)                        (i not in B)
    cell[B + i]  =  w(i, B) (F(D - B - i) - F(D - B))

summed over subsets (all bits but i) are phi_i for every pattern at once: O(d 2^d) additions per feature.
Patterns that hold the same ideal have the same phi and share a row of the table.
"""

from shap_asv.kernels import kernel


@kernel
def number_patterns(lengths, steps, closed, cell_at, row_of, ideal, n_rows):  # type: ignore[no-untyped-def]
    """Which row of a table each pattern has, for sets with ``lengths`` (sets,) features; n_rows (sets,) rows each.

    ``ideal`` (2^d,) is the largest ideal inside a pattern. Ideals are closed under unions; coalitions that listed
    orders pass are not, and then (``closed`` false) each pattern has a row of its own.
    """
    for at in range(len(lengths)):
        d, base, rows = lengths[at], cell_at[at], 0
        for pattern in range(1 << d):
            ideal[pattern] = 0 if closed else pattern
        for s in range(steps.start[at], steps.start[at + 1]):
            here = steps.code[s]
            above = here | (1 << steps.place[s])
            ideal[here], ideal[above] = here, above
        for pattern in range(1 << d):
            if ideal[pattern] == pattern:
                row_of[base + pattern] = rows
                rows += 1
                continue
            inside = 0
            for j in range(d):
                if (pattern >> j) & 1:
                    inside |= ideal[pattern ^ (1 << j)]
            ideal[pattern] = inside
            row_of[base + pattern] = row_of[base + inside]
        n_rows[at] = rows


@kernel
def multiply_ratios(start, ratio, span, outside_at, outside):  # type: ignore[no-untyped-def]
    """outside[B] = product of the cover ratios outside of B, for the leaves ``span``, from outside_at (leaves,) on."""
    for leaf in range(span[0], span[1]):
        base = outside_at[leaf - span[0]]
        outside[base] = 1.0
        for j in range(start[leaf + 1] - start[leaf]):
            b = ratio[start[leaf] + j]
            for cell in range(1 << j):
                outside[base + (cell | 1 << j)] = outside[base + cell]
                outside[base + cell] *= b


@kernel
def fill_tables(lengths, tables, n_rows, steps, outside_at, outside, weight, cell):  # type: ignore[no-untyped-def]
    """phi of all leaves of ``tables``. weight (widest, 2^widest), all zero, and cell (2^widest,) are room."""
    known = -1
    for leaf in range(len(tables.set_of)):
        at = tables.set_of[leaf]
        if at != known:
            if known >= 0:
                for s in range(steps.start[known], steps.start[known + 1]):
                    weight[steps.place[s], steps.code[s]] = 0.0
            for s in range(steps.start[at], steps.start[at + 1]):
                weight[steps.place[s], steps.code[s]] += steps.weight[s]
            known = at
        d, rows, base = lengths[at], n_rows[at], outside_at[leaf]
        for place in range(d):
            own = 1 << place
            for b in range(1 << d):
                if not b & own:
                    w, before = weight[place, b], outside[base + b]
                    cell[b] = -w * before
                    cell[b | own] = w * (outside[base + (b | own)] - before)
            for j in range(d):
                if j == place:
                    continue
                step = 1 << j
                for high in range(0, 1 << d, 2 * step):
                    for b in range(high, high + step):
                        cell[b + step] += cell[b]
            target = tables.entry_at[leaf] + place * rows
            for b in range((1 << d) - 1, -1, -1):  # the smallest pattern of a row, its ideal, is written last
                tables.phi[target + tables.row_of[tables.cell_at[at] + b]] = cell[b]
