"""Compiled: the paths of trees, which rows satisfy their conditions, and phi of a leaf for each of its patterns.

The kernels of this room write into arrays that they are given, and copy element by element: each array expression
costs the compiler as much as a page of plain loops, and the first call waits for it.

Background rows are bits. Per column there is one row of words for each code that occurs, with a bit for each row that
has *at most* that code (categories: exactly that code); a condition is two of them combined, and

    F(Q) * number of rows = bits that are set in the conditions of Q, combined by "and"

is found for all 2^d sets Q along a binary counter: one "and" per set, over words of 64 rows.

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
# Gauss-Legendre points and weights on [0, 1]: row q has q of each.
Rule = namedtuple("Rule", "points weights")
# Room for a leaf: pattern (r,); phi (widest,); side (2, widest + 1); kept (2^12, widest), is_kept (2^12,).
Room = namedtuple("Room", "pattern phi side kept is_kept")
# Bits of patterns for which phi is kept while a leaf is worked on.
KEPT_BITS = 12


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


# --- tables ---------------------------------------------------------------------------------------------------------


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
