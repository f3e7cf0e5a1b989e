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

import numpy as np
from numba import njit

from shap_asv.backends.trees.orderings import LEVELS
from shap_asv.backends.trees.table_kernel import add_bits
from shap_asv.backends.trees.weight_kernel import list_steps

# Gauss-Legendre points and weights on [0, 1]: row q has q of each.
Rule = namedtuple("Rule", "points weights")
# Bits of patterns for which phi is kept while a leaf is worked on.
_KEPT_BITS = 12


@njit(nogil=True, cache=True)
def add_deep(leaves, order, steps, rule, background, span, codes, out):  # type: ignore[no-untyped-def]
    """out (k, n, r) += phi of the leaves ``span`` at rows with ``codes`` (n, r); False when steps did not fit."""
    n_rows, k = codes.shape[1], out.shape[0]
    pattern = np.empty(n_rows, dtype=np.int64)
    others = np.empty(background.shape[1], dtype=np.int64)
    widest = 0
    for leaf in range(span[0], span[1]):
        widest = max(widest, leaves.start[leaf + 1] - leaves.start[leaf])
    phi, side, ratio = np.empty(widest), np.empty((2, widest + 1)), np.empty(widest)
    level = np.empty(widest, dtype=np.int64)
    kept = np.empty((1 << min(_KEPT_BITS, widest), widest))
    is_kept = np.zeros(len(kept), dtype=np.bool_)
    before, after = np.empty(len(steps.code)), np.empty(len(steps.code))
    for leaf in range(span[0], span[1]):
        start, d = leaves.start[leaf], leaves.start[leaf + 1] - leaves.start[leaf]
        features = leaves.feature[start : start + d]
        ratio[:d] = leaves.ratio[start : start + d]
        pattern[:] = 0
        others[:] = 0
        for j in range(d):
            level[j] = order.level[features[j]]
            add_bits(codes[features[j]], leaves, start + j, j, pattern)
            add_bits(background[features[j]], leaves, start + j, j, others)
        count = 0
        if order.kind != LEVELS:
            count = merge_steps(steps, list_steps(order, features, steps), d)
            if count < 0:
                return False
            for s in range(count):
                inside = steps.code[s]
                before[s] = outside_of(inside, d, ratio, others)
                after[s] = outside_of(inside | np.int64(1) << steps.place[s], d, ratio, others)
        keep = d <= _KEPT_BITS
        if keep:
            is_kept[: 1 << d] = False
        for r in range(n_rows):
            if keep and is_kept[pattern[r]]:
                phi[:d] = kept[pattern[r], :d]
            else:
                if order.kind != LEVELS:
                    phi_of_steps(pattern[r], d, steps, (count, before, after), phi)
                elif len(others):
                    phi_of_rows(pattern[r], d, level, others, phi)
                else:
                    phi_of_ratios(pattern[r], d, level, ratio, rule, side, phi)
                if keep:
                    is_kept[pattern[r]] = True
                    kept[pattern[r], :d] = phi[:d]
            for o in range(k):
                value = leaves.values[leaf, o]
                if value != 0.0:
                    for j in range(d):
                        out[o, features[j], r] += value * phi[j]
    return True


@njit(nogil=True, cache=True)
def phi_of_ratios(pattern, d, level, ratio, rule, side, phi):  # type: ignore[no-untyped-def]
    """Level by level; ``side`` (2, d + 1) is room for products from the left and from the right."""
    phi[:d] = 0.0
    later = 1.0
    for j in range(d):
        later *= ratio[j]
    first = 0
    while first < d:
        last = first + 1
        while last < d and level[last] == level[first]:
            last += 1
        later = 1.0  # anew: a ratio of zero cannot be divided out
        for j in range(last, d):
            later *= ratio[j]
        m = last - first
        n_points = (m + 1) // 2
        for q in range(n_points):
            t, weight = rule.points[n_points, q], rule.weights[n_points, q]
            side[0, 0] = side[1, m] = 1.0
            for j in range(m):
                side[0, j + 1] = side[0, j] * _blend(pattern, first + j, ratio, t)
            for j in range(m - 1, -1, -1):
                side[1, j] = side[1, j + 1] * _blend(pattern, first + j, ratio, t)
                phi[first + j] += weight * side[0, j] * side[1, j + 1]
        failed = False
        for j in range(first, last):
            p = (pattern >> j) & 1
            phi[j] *= later * (p - ratio[j])
            failed = failed or p == 0
        if failed:
            return
        first = last


@njit(nogil=True, cache=True)
def _blend(pattern, j, ratio, t):  # type: ignore[no-untyped-def]
    return ((pattern >> j) & 1) * t + ratio[j] * (1.0 - t)


@njit(nogil=True, cache=True)
def phi_of_rows(pattern, d, level, others, phi):  # type: ignore[no-untyped-def]
    """One background row at a time: ``others`` (m,) holds their bits."""
    phi[:d] = 0.0
    full = (np.int64(1) << d) - 1
    for other in others:
        if (pattern | other) != full:
            continue
        only_row, only_other = pattern & ~other, other & ~pattern
        last, first = -1, d  # the last of A, the first of C
        for j in range(d):
            if (only_row >> j) & 1:
                last = j
            if first == d and (only_other >> j) & 1:
                first = j
        own = level[last] if last >= 0 else -1
        theirs = level[first] if first < d else np.int64(1) << 62
        if own > theirs:
            continue
        gaining = losing = 0
        for j in range(d):
            if (only_row >> j) & 1 and level[j] == own:
                gaining += 1
            if (only_other >> j) & 1 and level[j] == theirs:
                losing += 1
        up = 1.0 / gaining if gaining else 0.0
        down = 1.0 / losing if losing else 0.0
        if own == theirs:  # all of A before all of C, in one level: 1 / C(a + c, a), shared
            chance = 1.0
            for s in range(1, losing + 1):
                chance *= s / (gaining + s)
            up *= chance
            down *= chance
        for j in range(d):
            if (only_row >> j) & 1 and level[j] == own:
                phi[j] += up
            if (only_other >> j) & 1 and level[j] == theirs:
                phi[j] -= down
    phi[:d] /= len(others)


@njit(nogil=True, cache=True)
def phi_of_steps(pattern, d, steps, values, phi):  # type: ignore[no-untyped-def]
    """phi_i += w (p_i F(D - B - i) - F(D - B)) over the steps with B inside the pattern."""
    count, before, after = values
    phi[:d] = 0.0
    for s in range(count):
        if steps.code[s] & ~pattern:
            continue
        place = steps.place[s]
        phi[place] += steps.weight[s] * (((pattern >> place) & 1) * after[s] - before[s])


@njit(nogil=True, cache=True)
def outside_of(inside, d, ratio, others):  # type: ignore[no-untyped-def]
    """F(D - B) for one B."""
    if not len(others):
        product = 1.0
        for j in range(d):
            if not (inside >> j) & 1:
                product *= ratio[j]
        return product
    full = (np.int64(1) << d) - 1
    count = 0
    for other in others:
        count += (inside | other) == full
    return count / len(others)


@njit(nogil=True, cache=True)
def merge_steps(steps, count, d):  # type: ignore[no-untyped-def]
    """Add up equal steps, in place; how many are left, or -1 as it came."""
    if count < 1:
        return count
    by_key = np.argsort(steps.code[:count] * 64 + steps.place[:count], kind="mergesort")
    code, place = steps.code[:count][by_key], steps.place[:count][by_key]
    weight = steps.weight[:count][by_key]
    left = 0
    for s in range(count):
        if s and code[s] == code[s - 1] and place[s] == place[s - 1]:
            steps.weight[left - 1] += weight[s]
        else:
            steps.code[left], steps.place[left], steps.weight[left] = code[s], place[s], weight[s]
            left += 1
    return left
