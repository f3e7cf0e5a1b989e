"""Numba kernels for :mod:`~shap_asv.backends.ancestral.completed`: classes of coalitions, posteriors of missing causes.

Sets of network nodes are bits of one signed integer.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import kernel


class Coalitions(NamedTuple):
    """Coalitions with what they lack, in groups that are independent given the rest.

    Attributes
    ----------
    held, closed : int64 arrays (m,)
        The members of a coalition; the members and all that stands above them.
    starts : int64 array (m + 1,)
        Coalition s lacks the groups ``groups[starts[s] : starts[s + 1]]``.
    groups : int64 array
    missing, seen : int64 arrays (d,)
        Of each distinct group: the missing nodes, and the members that its posterior depends on.
    """

    held: np.ndarray
    closed: np.ndarray
    starts: np.ndarray
    groups: np.ndarray
    missing: np.ndarray
    seen: np.ndarray


class Factors(NamedTuple):
    """The tables of a network end to end: the entry of node v is ``offsets[v] + sum of strides[v, u] * code(u)``."""

    tables: np.ndarray
    offsets: np.ndarray
    strides: np.ndarray
    families: np.ndarray
    cards: np.ndarray


@kernel
def find_groups(held, closed, families):  # type: ignore[no-untyped-def]
    """The groups of missing nodes of every coalition -> starts (m + 1,), missing and seen masks end to end.

    Two missing nodes are in one group if a table of the completed coalition holds both.
    """
    m, n_nodes = len(held), len(families)
    starts = np.empty(m + 1, np.int64)
    starts[0] = 0
    missing = np.empty(m * 2 + 16, np.int64)
    seen = np.empty(m * 2 + 16, np.int64)
    count = 0
    for s in range(m):
        left = closed[s] & ~held[s]
        while left:
            group = left & -left
            around = np.int64(0)
            grown = True
            while grown:
                grown = False
                for v in range(n_nodes):
                    if (closed[s] >> v) & 1 and families[v] & group:
                        around |= families[v]
                        more = families[v] & left & ~group
                        if more:
                            group |= more
                            grown = True
            if count == len(missing):  # a loop compiles sooner than numpy's append
                more_missing, more_seen = np.empty(2 * count, np.int64), np.empty(2 * count, np.int64)
                for i in range(count):
                    more_missing[i], more_seen[i] = missing[i], seen[i]
                missing, seen = more_missing, more_seen
            missing[count], seen[count] = group, around & ~group
            count += 1
            left &= ~group
        starts[s + 1] = count
    return starts, missing[:count].copy(), seen[:count].copy()


@kernel
def classify(coalitions, some, inside):  # type: ignore[no-untyped-def]
    """Number coalitions ``some`` (s,) by what nodes ``inside`` can tell: members inside, and the posterior of what is
    missing inside.

    Returns the class of each (s,), one of each class as a place in ``some`` (q,), and what makes the class (q, 3):
    members inside, missing nodes of groups that reach inside, and what these depend on.
    """
    size = 16
    while size < 2 * len(some):
        size *= 2
    slots = np.empty(size, np.int64)
    for slot in range(size):
        slots[slot] = -1
    classes = np.empty(len(some), np.int64)
    chosen = np.empty(len(some), np.int64)
    keys = np.empty((len(some), 3), np.int64)
    count = 0
    for i in range(len(some)):
        s = some[i]
        held = coalitions.held[s] & inside
        missing, seen = np.int64(0), np.int64(0)
        for j in range(coalitions.starts[s], coalitions.starts[s + 1]):
            group = coalitions.groups[j]
            if coalitions.missing[group] & inside:
                missing |= coalitions.missing[group]
                seen |= coalitions.seen[group]
        mixed = (held * 0x9E3779B97F4A7C1) ^ (missing * 0x632BE59BD9B4E01) ^ (seen * 0x2545F4914F6CDD1)
        slot = (mixed ^ (mixed >> 29)) & (size - 1)
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot] = count
                keys[count, 0], keys[count, 1], keys[count, 2] = held, missing, seen
                chosen[count] = i
                classes[i] = count
                count += 1
                break
            if keys[known, 0] == held and keys[known, 1] == missing and keys[known, 2] == seen:
                classes[i] = known
                break
            slot = (slot + 1) & (size - 1)
    return classes, chosen[:count].copy(), keys[:count].copy()


@kernel
def weigh_groups(missing, seen, starts, factors, codes, out, possible):  # type: ignore[no-untyped-def]
    """``P(missing nodes | what they depend on)`` of every group and row into ``out`` (rows, states of all groups).

    The completed coalition is closed under causes, so that its probability is a product of entries of tables; the ones
    that hold no missing node cancel. Codes (rows, nodes). Rows that are not possible become False in ``possible``.
    """
    n_rows, n_nodes = codes.shape
    state = np.empty(n_nodes, np.int64)
    for group in range(len(missing)):
        inside = missing[group] | seen[group]
        first, last = starts[group], starts[group + 1]
        for row in range(n_rows):
            for v in range(n_nodes):  # a loop compiles two seconds sooner than the assignment of an array
                state[v] = 0 if (missing[group] >> v) & 1 else codes[row, v]
            total = 0.0
            for place in range(first, last):
                product = 1.0
                for v in range(n_nodes):
                    if (inside >> v) & 1 and factors.families[v] & missing[group]:
                        entry = factors.offsets[v]
                        for u in range(v + 1):
                            if factors.strides[v, u] > 0:
                                entry += factors.strides[v, u] * state[u]
                        product *= factors.tables[entry]
                out[row, place] = product
                total += product
                for v in range(n_nodes):  # count on, the first node fastest
                    if (missing[group] >> v) & 1:
                        state[v] += 1
                        if state[v] < factors.cards[v]:
                            break
                        state[v] = 0
            if total > 0.0:
                for place in range(first, last):
                    out[row, place] /= total
            else:
                possible[row] = False


class Margins(NamedTuple):
    """Posteriors of missing nodes inside ancestral sets: products of the margins of their groups.

    Attributes
    ----------
    starts : int64 array (g + 1,)
        Margin g takes the places ``starts[g] : starts[g + 1]``, one for each state of its nodes, the first fastest.
    group_starts, groups : int64 arrays (g + 1,) and (all groups,)
    shown : int64 array (g,)
        The nodes, as bits.
    """

    starts: np.ndarray
    group_starts: np.ndarray
    groups: np.ndarray
    shown: np.ndarray


@kernel
def fill_margins(margins, missing, group_starts, cards, posteriors, group_looks, out, looks):  # type: ignore[no-untyped-def]
    """``out`` (rows, states of all margins) from ``posteriors`` (rows, states of all groups).

    Rows of equal ``group_looks`` (rows, groups), numbers below the rows, have equal posteriors of a group; so do
    ``looks`` (rows, margins).
    """
    n_rows = len(out)
    widest, longest = 1, 1
    for g in range(len(margins.starts) - 1):
        widest = max(widest, margins.starts[g + 1] - margins.starts[g])
    for group in margins.groups:
        longest = max(longest, group_starts[group + 1] - group_starts[group])
    place = np.empty(longest, np.int64)
    before = np.empty(widest, np.float64)
    for g in range(len(margins.starts) - 1):
        first, size = margins.starts[g], margins.starts[g + 1] - margins.starts[g]
        n_groups = margins.group_starts[g + 1] - margins.group_starts[g]
        for row in range(n_rows):
            for x in range(size):  # a loop compiles sooner than a slice
                out[row, first + x] = 1.0 if x == 0 else 0.0
            # rows that look alike to the only group; of several groups, nobody looks for them
            looks[row, g] = group_looks[row, margins.groups[margins.group_starts[g]]] if n_groups == 1 else row
        for j in range(margins.group_starts[g], margins.group_starts[g + 1]):
            group = margins.groups[j]
            start = group_starts[group]
            length = group_starts[group + 1] - start
            _number_states(missing[group], margins.shown[g], cards, length, place)
            for row in range(n_rows):
                for x in range(size):
                    before[x] = out[row, first + x]
                    out[row, first + x] = 0.0
                for x in range(size):
                    if before[x] != 0.0:
                        for y in range(length):
                            out[row, first + x + place[y]] += before[x] * posteriors[row, start + y]


@kernel
def _number_states(nodes, shown, cards, length, place):  # type: ignore[no-untyped-def]
    """Where each state of ``nodes`` (the first node fastest) is among those of ``shown``: ``length`` places."""
    for y in range(length):
        rest, stride, at = y, 1, 0
        for v in range(len(cards)):
            if (nodes >> v) & 1:
                if (shown >> v) & 1:
                    at += stride * (rest % cards[v])
                rest //= cards[v]
            if (shown >> v) & 1:
                stride *= cards[v]
        place[y] = at
