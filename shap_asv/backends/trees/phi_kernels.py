"""Compiled: phi of a leaf for each of its patterns. Importing this module imports numba.

*Tables*, where paths are short. Cells are subsets B of D as bits. ``outside[B] = F(D - B)``; with the steps of the
order the cells

    cell[B]      = -w(i, B) F(D - B)                        (i not in B)
    cell[B + i]  =  w(i, B) (F(D - B - i) - F(D - B))

summed over subsets (all bits but i) are phi_i for every pattern at once: O(d 2^d) additions per feature. Patterns that
hold the same ideal have the same phi and share a row of the table. Rows then take one gather and add per leaf and
feature, and a row's sum runs over the leaves in one fixed order, so that its bits do not depend on the rows beside it.

*Long paths* have more patterns than rows to meet them. Three ways to phi of one pattern p:

- levels and cover ratios: with i's own level L, ``b`` the ratios, all earlier levels in and all later ones out,
  ``phi_i = (prod of later b) (p_i - b_i) integral over t in [0, 1] of prod_{j in L, j != i} (p_j t + b_j (1 - t))``, a
  polynomial, exact by Gauss-Legendre; a level with a failed condition ends the walk;
- levels and background rows: for a background row with bits q the leaf is reached once A = {p, not q} is in and before
  any of C = {q, not p} is, so that the last level of A and the first of C share what it is worth;
- any other order: the steps B -> B + i with B inside p, as they are listed.
"""

from collections import namedtuple

from shap_asv.backends.trees.path_kernels import find_patterns
from shap_asv.kernels import kernel

# Gauss-Legendre points and weights on [0, 1]: row q has q of each.
Rule = namedtuple("Rule", "points weights")
# Room for a leaf: pattern (r,); phi (widest,); side (2, widest + 1); kept (2^12, widest), is_kept (2^12,).
Room = namedtuple("Room", "pattern phi side kept is_kept")
# Bits of patterns for which phi is kept while a leaf is worked on.
KEPT_BITS = 12


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


# --- long paths ------------------------------------------------------------------------------------------------------


@kernel
def add_ratios(leaves, level, rule, span, codes, room, out):  # type: ignore[no-untyped-def]
    """out (k, n, r) += phi of the leaves ``span`` under levels and cover ratios."""
    for leaf in range(span[0], span[1]):
        start = leaves.start[leaf]
        d = leaves.start[leaf + 1] - start
        find_patterns(leaves, leaf, codes, room.pattern)
        keep = d <= KEPT_BITS
        if keep:
            for b in range(1 << d):
                room.is_kept[b] = False
        for r in range(codes.shape[1]):
            pattern = room.pattern[r]
            if keep and room.is_kept[pattern]:
                for j in range(d):
                    room.phi[j] = room.kept[pattern, j]
            else:
                phi_of_ratios(pattern, leaves, leaf, level, rule, room)
                if keep:
                    room.is_kept[pattern] = True
                    for j in range(d):
                        room.kept[pattern, j] = room.phi[j]
            for o in range(out.shape[0]):
                for j in range(d):
                    out[o, leaves.feature[start + j], r] += leaves.values[leaf, o] * room.phi[j]


@kernel
def phi_of_ratios(pattern, leaves, leaf, level, rule, room):  # type: ignore[no-untyped-def]
    """Level by level, with products from the left and from the right of each place."""
    begin, end = leaves.start[leaf], leaves.start[leaf + 1]
    phi, side, ratio = room.phi, room.side, leaves.ratio
    for j in range(end - begin):
        phi[j] = 0.0
    first = begin
    while first < end:
        last = first + 1
        while last < end and level[leaves.feature[last]] == level[leaves.feature[first]]:
            last += 1
        later = 1.0
        for e in range(last, end):
            later *= ratio[e]
        m, shift = last - first, first - begin
        for q in range((m + 1) // 2):
            t, weight = rule.points[(m + 1) // 2, q], rule.weights[(m + 1) // 2, q]
            side[0, 0] = 1.0
            side[1, m] = 1.0
            for j in range(m):
                side[0, j + 1] = side[0, j] * (((pattern >> (shift + j)) & 1) * t + ratio[first + j] * (1.0 - t))
            for j in range(m - 1, -1, -1):
                side[1, j] = side[1, j + 1] * (((pattern >> (shift + j)) & 1) * t + ratio[first + j] * (1.0 - t))
                phi[shift + j] += weight * side[0, j] * side[1, j + 1]
        failed = False
        for j in range(m):
            p = (pattern >> (shift + j)) & 1
            phi[shift + j] *= later * (p - ratio[first + j])
            failed = failed or p == 0
        if failed:
            return
        first = last


@kernel
def add_rows(leaves, level, background, others, span, codes, room, out):  # type: ignore[no-untyped-def]
    """out (k, n, r) += phi of the leaves ``span`` under levels and background codes (n, m); others (m,) is room."""
    for leaf in range(span[0], span[1]):
        start = leaves.start[leaf]
        d = leaves.start[leaf + 1] - start
        find_patterns(leaves, leaf, codes, room.pattern)
        find_patterns(leaves, leaf, background, others)
        for r in range(codes.shape[1]):
            phi_of_rows(room.pattern[r], leaves, leaf, level, others, room.phi)
            for o in range(out.shape[0]):
                for j in range(d):
                    out[o, leaves.feature[start + j], r] += leaves.values[leaf, o] * room.phi[j]


@kernel
def phi_of_rows(pattern, leaves, leaf, level, others, phi):  # type: ignore[no-untyped-def]
    """One background row at a time: ``others`` (m,) holds their bits."""
    start = leaves.start[leaf]
    d = leaves.start[leaf + 1] - start
    for j in range(d):
        phi[j] = 0.0
    full = (1 << d) - 1
    for other in others:
        if (pattern | other) != full:
            continue
        only_row, only_other = pattern & ~other, other & ~pattern
        own, theirs = -1, 1 << 62  # the level of the last of A, of the first of C
        gaining = losing = 0  # members of A and of C in these levels
        for j in range(d):
            here = level[leaves.feature[start + j]]
            if (only_row >> j) & 1:
                gaining = gaining + 1 if here == own else 1
                own = here
            if (only_other >> j) & 1:
                theirs = min(theirs, here)
                losing += here == theirs
        if own > theirs:
            continue
        up = 1.0 / gaining if gaining else 0.0
        down = 1.0 / losing if losing else 0.0
        if own == theirs:  # all of A before all of C, in one level: 1 / C(a + c, a), shared
            chance = 1.0
            for s in range(1, losing + 1):
                chance *= s / (gaining + s)
            up *= chance
            down *= chance
        for j in range(d):
            here = level[leaves.feature[start + j]]
            if (only_row >> j) & 1 and here == own:
                phi[j] += up
            if (only_other >> j) & 1 and here == theirs:
                phi[j] -= down
    for j in range(d):
        phi[j] /= len(others)


@kernel
def add_steps(leaves, leaf, steps, before, after, codes, room, out):  # type: ignore[no-untyped-def]
    """out (k, n, r) += phi of one leaf: w (p_i F(D - B - i) - F(D - B)) over the steps with B inside the pattern."""
    start = leaves.start[leaf]
    d = leaves.start[leaf + 1] - start
    find_patterns(leaves, leaf, codes, room.pattern)
    for r in range(codes.shape[1]):
        pattern = room.pattern[r]
        for j in range(d):
            room.phi[j] = 0.0
        for s in range(len(steps.code)):
            if not steps.code[s] & ~pattern:
                place = steps.place[s]
                gained = after[s] if (pattern >> place) & 1 else 0.0
                room.phi[place] += steps.weight[s] * (gained - before[s])
        for o in range(out.shape[0]):
            for j in range(d):
                out[o, leaves.feature[start + j], r] += leaves.values[leaf, o] * room.phi[j]


@kernel
def weigh_outside(leaves, leaf, inside, others, outside):  # type: ignore[no-untyped-def]
    """outside[s] = F(D - B) for B = inside[s]: products of ratios, or shares of ``others`` (m,) where m > 0."""
    start = leaves.start[leaf]
    d = leaves.start[leaf + 1] - start
    full = (1 << d) - 1
    for s in range(len(inside)):
        if len(others):
            count = 0
            for other in others:
                count += (inside[s] | other) == full
            outside[s] = count / len(others)
            continue
        outside[s] = 1.0
        for j in range(d):
            if not (inside[s] >> j) & 1:
                outside[s] *= leaves.ratio[start + j]
