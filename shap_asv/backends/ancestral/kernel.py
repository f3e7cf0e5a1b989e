"""Numba kernels for :mod:`~shap_asv.backends.ancestral.closures`: lay ideals out, fill tables, walk rows."""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import kernel


class Layout(NamedTuple):
    """The ideals of a closure in spanning-tree order; ``order`` (q,) maps a position to the row of the masks given."""

    order: np.ndarray
    skip: np.ndarray
    parent: np.ndarray
    last: np.ndarray
    step: np.ndarray
    next_ideal: np.ndarray
    starts: np.ndarray
    strides: np.ndarray


class Walk(NamedTuple):
    """What a row needs to walk the ideals of a closure; see :class:`shap_asv.backends.ancestral.closures.Closure`."""

    skip: np.ndarray
    parent: np.ndarray
    last: np.ndarray
    weight_starts: np.ndarray
    weight_members: np.ndarray
    weights: np.ndarray
    starts: np.ndarray
    strides: np.ndarray
    active_starts: np.ndarray
    active_members: np.ndarray
    active_strides: np.ndarray


def lay_out_ideals(masks: np.ndarray, children: np.ndarray, cards: np.ndarray) -> Layout:
    """Ideals as bit masks (q,), local members causes first -> :class:`Layout`.

    The spanning tree hangs T below T without its highest member. Read a mask from its lowest member on, as a word:
    preorder of the tree is the order of these words, so that one sort lays the tree out.
    """
    a = len(children)
    members = ((masks[:, None] >> np.arange(a)) & 1).astype(bool)
    depth = members.sum(axis=1)
    # the members of T in increasing order, padded by -1, compared as words: a prefix comes before its extensions
    words = np.full((len(masks), a + 1), -1, dtype=np.int64)
    rows, columns = np.nonzero(members)
    words[rows, (np.cumsum(members, axis=1) - 1)[rows, columns]] = columns
    order = np.lexsort(words.T[::-1])
    sorted_masks = masks[order]
    sorted_depth = depth[order]
    by_mask = np.argsort(sorted_masks)
    return Layout(order, *link_ideals(sorted_masks, sorted_depth, by_mask, children, cards))


@kernel
def _find(masks, by_mask, mask):  # type: ignore[no-untyped-def]
    low, high = 0, len(masks) - 1
    while low < high:
        middle = (low + high) // 2
        if masks[by_mask[middle]] < mask:
            low = middle + 1
        else:
            high = middle
    return by_mask[low]


@kernel
def link_ideals(masks, depth, by_mask, children, cards):  # type: ignore[no-untyped-def]
    """Skip pointers, tree parents, summation steps and tables of ideals in spanning-tree order."""
    q, a = len(masks), len(children)
    skip = np.empty(q, np.int64)
    parent = np.full(q, -1, np.int64)
    last = np.full(q, -1, np.int64)
    step = np.full(q, -1, np.int64)
    next_ideal = np.full(q, -1, np.int64)
    starts = np.zeros(q + 1, np.int64)
    strides = np.zeros((q, a), np.int64)
    everything = (np.int64(1) << a) - 1
    open_at = np.full(a + 2, -1, np.int64)
    for t in range(q):
        d = depth[t]
        for deeper in range(d, a + 1):
            if open_at[deeper] >= 0:
                skip[open_at[deeper]] = t
                open_at[deeper] = -1
        open_at[d] = t
        mask = masks[t]
        if mask:
            highest = a - 1
            while not (mask >> highest) & 1:
                highest -= 1
            last[t] = highest
            parent[t] = _find(masks, by_mask, mask ^ (np.int64(1) << highest))
        rest = everything ^ mask
        if rest:
            v = 0
            while not (rest >> v) & 1:
                v += 1
            step[t] = v
            next_ideal[t] = _find(masks, by_mask, mask | (np.int64(1) << v))
        size = np.int64(1)
        for u in range(a):
            if (mask >> u) & 1 and children[u] & rest:
                strides[t, u] = size
                size *= cards[u]
                if size > 1 << 40:
                    size = np.int64(1) << 40  # far past every limit: only to be noticed by the caller
        starts[t + 1] = starts[t] + size
    for deeper in range(a + 1):
        if open_at[deeper] >= 0:
            skip[open_at[deeper]] = q
    return skip, parent, last, step, next_ideal, starts, strides


class Tables(NamedTuple):
    """What it takes to fill the tables V_T of a term; ``order`` (q,) visits T + v before T."""

    order: np.ndarray
    step: np.ndarray
    next_ideal: np.ndarray
    cpts: np.ndarray
    cpt_offsets: np.ndarray
    cpt_strides: np.ndarray
    cards: np.ndarray
    offsets: np.ndarray


def largest_first(next_ideal: np.ndarray) -> np.ndarray:
    """Positions such that T + v comes before T."""
    distance = np.zeros(len(next_ideal), dtype=np.int64)
    at = next_ideal.copy()
    while (at >= 0).any():
        inside = at >= 0
        distance[inside] += 1
        at[inside] = next_ideal[at[inside]]
    return np.argsort(distance, kind="stable")


@kernel
def explain_closure(walk, tables, patterns, factors, coefficients, found, base):  # type: ignore[no-untyped-def]
    """Add every term's share of phi to ``found`` (u, a, k) for patterns (u, a) of codes, and of nu({}) to ``base``
    (k,).

    Patterns that a term cannot tell apart are walked once: codes that its factor sends to zero all look the same to it.
    """
    q, (n_patterns, a) = len(walk.skip), patterns.shape
    n_terms, k = coefficients.shape
    values = np.empty(walk.starts[-1])
    product = np.empty(q)
    looks = np.empty(tables.offsets[-1], np.int64)
    size = 16
    while size < 2 * n_patterns:
        size *= 2
    slot_sign = np.empty(size, np.int64)
    slot_row = np.empty(size, np.int64)
    met = np.empty(n_patterns, np.int64)
    phi = np.empty((n_patterns, a))
    for term in range(n_terms):
        factor = factors[term]
        fill_tables(walk, tables, factor, values)
        for output in range(k):
            base[output] += values[walk.starts[0]] * coefficients[term, output]
        packed = _number_looks(tables, factor, looks)
        slot_row[:] = -1
        n_met = 0
        for pattern in range(n_patterns):
            row = -1
            if packed:
                sign = np.int64(0)
                for u in range(a):
                    sign += looks[tables.offsets[u] + patterns[pattern, u]]
                slot = (sign * 0x9E3779B97F4A7C1 >> 20) & (size - 1)
                while slot_row[slot] >= 0 and slot_sign[slot] != sign:
                    slot = (slot + 1) & (size - 1)
                row = slot_row[slot]
                if row < 0:
                    slot_sign[slot] = sign
                    slot_row[slot] = n_met
            if row < 0:
                row = n_met
                n_met += 1
                _walk(walk, tables.offsets, factor, values, patterns[pattern], product, phi[row])
            met[pattern] = row
        for pattern in range(n_patterns):
            for i in range(a):
                share = phi[met[pattern], i]
                if share != 0.0:
                    for output in range(k):
                        found[pattern, i, output] += share * coefficients[term, output]


@kernel
def _number_looks(tables, factor, looks):  # type: ignore[no-untyped-def]
    """How each code of each member looks to the term, as digits of one integer; False when they do not fit."""
    radix = np.int64(1)
    for u in range(len(tables.cards)):
        number = np.int64(1)
        for x in range(tables.cards[u]):
            at = tables.offsets[u] + x
            if factor[at] == 0.0:
                looks[at] = 0
            else:
                looks[at] = number * radix
                number += 1
        if radix > (np.int64(1) << 62) // number:
            return False
        radix *= number
    return True


@kernel
def fill_tables(walk, tables, factor, values):  # type: ignore[no-untyped-def]
    """V_T of one term for all ideals T, at the states that its factors leave alive."""
    cards, offsets, starts, strides = tables.cards, tables.offsets, walk.starts, walk.strides
    a = len(cards)
    codes = np.zeros(a, np.int64)
    first = np.zeros(a, np.int64)
    active = np.empty(a, np.int64)
    for u in range(a):
        while first[u] < cards[u] and factor[offsets[u] + first[u]] == 0.0:
            first[u] += 1
        if first[u] == cards[u]:  # a term that is zero everywhere
            values[:] = 0.0
            return
    for t in tables.order:
        v, after = tables.step[t], tables.next_ideal[t]
        if v < 0:
            values[starts[t]] = 1.0
            continue
        n_active = 0
        entry, base, cell = starts[t], starts[after], tables.cpt_offsets[v]
        for u in range(a):
            if strides[t, u] > 0:
                active[n_active] = u
                n_active += 1
                codes[u] = first[u]
                entry += strides[t, u] * codes[u]
                base += strides[after, u] * codes[u]
                cell += tables.cpt_strides[v, u] * codes[u]
        reach = strides[after, v]
        while True:
            total = 0.0
            for x in range(first[v], cards[v]):
                g = factor[offsets[v] + x]
                if g != 0.0:
                    total += tables.cpts[cell + x] * g * values[base + reach * x]
            values[entry] = total
            j = 0
            while j < n_active:  # count on, over the codes that are alive
                u = active[j]
                before = codes[u]
                codes[u] += 1
                while codes[u] < cards[u] and factor[offsets[u] + codes[u]] == 0.0:
                    codes[u] += 1
                turned = codes[u] == cards[u]
                if turned:
                    codes[u] = first[u]
                moved = codes[u] - before
                entry += strides[t, u] * moved
                base += strides[after, u] * moved
                cell += tables.cpt_strides[v, u] * moved
                if not turned:
                    break
                j += 1
            if j == n_active:
                break


@kernel
def _walk(walk, offsets, factor, values, codes, product, phi):  # type: ignore[no-untyped-def]
    """phi (a,) of one term for one pattern: down the spanning tree of the ideals, past branches that are dead."""
    phi[:] = 0.0
    t, q = 0, len(walk.skip)
    while t < q:
        alive = 1.0
        if t > 0:
            v = walk.last[t]
            alive = product[walk.parent[t]] * factor[offsets[v] + codes[v]]
            if alive == 0.0:
                t = walk.skip[t]
                continue
        product[t] = alive
        entry = walk.starts[t]
        for u in range(walk.active_starts[t], walk.active_starts[t + 1]):
            entry += walk.active_strides[u] * codes[walk.active_members[u]]
        nu = alive * values[entry]
        if nu != 0.0:
            for w in range(walk.weight_starts[t], walk.weight_starts[t + 1]):
                phi[walk.weight_members[w]] += walk.weights[w] * nu
        t += 1
