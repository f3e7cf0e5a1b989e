"""Compiled: long paths, pattern by pattern and without tables. Importing this module imports numba.

A leaf with many features has more patterns than rows to meet them. Three ways to phi of one pattern p:

- levels and cover ratios: with i's own level L, ``b`` the ratios, all earlier levels in and all later ones out,
  ``phi_i = (prod of later b) (p_i - b_i) integral over t in [0, 1] of prod_{j in L, j != i} (p_j t + b_j (1 - t))``, a
  polynomial, exact by Gauss-Legendre; a level with a failed condition ends the walk;
- levels and background rows: for a background row with bits q the leaf is reached once A = {p, not q} is in and before
  any of C = {q, not p} is, so that the last level of A and the first of C share what it is worth;
- any other order: the steps B -> B + i with B inside p, as they are listed.
"""

from collections import namedtuple

from shap_asv.backends.trees.kernels.rows import find_patterns
from shap_asv.kernels import kernel

# Gauss-Legendre points and weights on [0, 1]: row q has q of each.
Rule = namedtuple("Rule", "points weights")
# Room for a leaf: pattern (r,); phi (widest,); side (2, widest + 1); kept (2^12, widest), is_kept (2^12,).
Room = namedtuple("Room", "pattern phi side kept is_kept")
# Bits of patterns for which phi is kept while a leaf is worked on.
KEPT_BITS = 12


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
