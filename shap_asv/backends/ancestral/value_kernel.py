"""Numba kernels for :mod:`~shap_asv.backends.ancestral.completed`: the values of a closure's terms for all classes."""

from typing import NamedTuple

import numpy as np

from shap_asv.backends.ancestral.kernel import fill_tables
from shap_asv.kernels import count_bits, kernel

_COLUMNS = 64
_ONE, _ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


class Shapes(NamedTuple):
    """Where the table V_T of each ideal T starts, and how far apart the states of its active members are."""

    starts: np.ndarray
    strides: np.ndarray


class Places(NamedTuple):
    """Pairs of an ideal and what is missing of it, with their classes.

    Attributes
    ----------
    held : int64 array (p,)
        The members that are known, as bits.
    tables : int64 array (p,)
        Where the table of the ideal starts.
    active_starts, active_members, active_strides : int64 arrays
        Known members that the table reads.
    kinds : int64 array (p,)
        Which set of members is missing; -1 for none.
    offset_starts, offsets : int64 arrays
        For each state of the missing members: how far to go in the table.
    class_starts : int64 array (p + 1,)
    margins : int64 array (classes,)
        Which posterior of the missing members a class has; 0 where nothing is missing.
    """

    held: np.ndarray
    tables: np.ndarray
    active_starts: np.ndarray
    active_members: np.ndarray
    active_strides: np.ndarray
    kinds: np.ndarray
    offset_starts: np.ndarray
    offsets: np.ndarray
    class_starts: np.ndarray
    margins: np.ndarray


class Kinds(NamedTuple):
    """Sets of missing members: kind j has the members ``members[member_starts[j] : member_starts[j + 1]]`` and as many
    states as ``starts[j + 1] - starts[j]``.
    """

    starts: np.ndarray
    member_starts: np.ndarray
    members: np.ndarray


class RowMargins(NamedTuple):
    """Posteriors of some rows: margin g has the columns ``starts[g] : starts[g + 1]`` of ``posteriors`` (rows, states).

    Rows with equal ``looks`` (rows, margins) have the same posterior.
    """

    starts: np.ndarray
    posteriors: np.ndarray
    looks: np.ndarray


class Leaves(NamedTuple):
    """Terms of one closure: their functions at every state of every member (t, states), and coefficients (t, k)."""

    factors: np.ndarray
    coefficients: np.ndarray


@kernel
def add_values(shapes, tables, places, kinds, leaves, codes, margins, out):  # type: ignore[no-untyped-def]
    """Add the expectation of every term to ``out`` (classes, rows, k).

        nu(S) = prod over known v of g_v(e_v) * sum over states x of what is missing of
                P(x | e_S) * prod of g(x) * V_T(e, x),        T = known and missing members

    Codes (rows, members), -1 for members that are never known. Place by place, so that what is added to stays in the
    cache. Rows that a term sends to zero are passed 64 at a time. A sum over x is done once for all rows that agree on
    what the table and the posterior look at.
    """
    n_rows, a = codes.shape
    n_terms, n_outputs = leaves.coefficients.shape
    n_words = (n_rows + 63) // 64
    values = np.empty((n_terms, shapes.starts[-1]))
    functions = np.empty((n_terms, kinds.starts[-1]))
    alive = np.empty((n_terms, kinds.starts[-1]), np.int64)
    n_alive = np.empty((n_terms, len(kinds.starts)), np.int64)
    rows_left = np.empty((n_terms, a, n_words), np.uint64)
    killers = np.empty((n_terms, a), np.int64)
    n_killers = np.empty(n_terms, np.int64)
    plain = np.empty(n_terms, np.bool_)
    for term in range(n_terms):
        fill_tables(shapes, tables, leaves.factors[term], values[term])
        _multiply_functions(kinds, tables, leaves.factors[term], functions[term])
        _list_alive(kinds, functions[term], alive[term], n_alive[term])
        n_killers[term], plain[term] = _find_rows_left(
            tables, leaves.factors[term], codes, rows_left[term], killers[term]
        )
    at = np.empty(n_rows, np.int64)
    first_alike = np.empty(n_rows, np.int64)
    total, known = np.empty(n_rows), np.zeros(n_rows, np.int64)
    stamp = 0
    for place in range(len(places.held)):
        held, kind = places.held[place], places.kinds[place]
        for row in range(n_rows):
            at[row] = places.tables[place]
        for j in range(places.active_starts[place], places.active_starts[place + 1]):
            for row in range(n_rows):
                at[row] += places.active_strides[j] * codes[row, places.active_members[j]]
        for number in range(places.class_starts[place], places.class_starts[place + 1]):
            added = out[number]
            if kind >= 0:
                _find_alike(at, margins.looks, places.margins[number], first_alike)
                posterior = margins.starts[places.margins[number]]
                moves = places.offsets[places.offset_starts[place] : places.offset_starts[place + 1]]
            for term in range(n_terms):
                if kind >= 0 and n_alive[term, kind] == 0:
                    continue
                stamp += 1
                for word in range(n_words):
                    left = _ALL
                    if word == n_words - 1:
                        left >>= np.uint64(64 * n_words - n_rows)
                    for j in range(n_killers[term]):
                        if (held >> killers[term, j]) & 1:
                            left &= rows_left[term, killers[term, j], word]
                    while left:
                        lowest = left & (~left + _ONE)
                        left ^= lowest
                        row = 64 * word + np.int64(count_bits(lowest - _ONE))
                        if kind < 0:
                            value = values[term, at[row]]
                        else:
                            alike = first_alike[row]
                            if known[alike] != stamp:
                                value = 0.0
                                first = kinds.starts[kind]
                                for j in range(first, first + n_alive[term, kind]):
                                    x = alive[term, j]
                                    value += (
                                        functions[term, first + x]
                                        * margins.posteriors[row, posterior + x]
                                        * values[term, at[row] + moves[x]]
                                    )
                                total[alike], known[alike] = value, stamp
                            value = total[alike]
                        if not plain[term]:
                            for v in range(a):
                                if (held >> v) & 1:
                                    value *= leaves.factors[term, tables.offsets[v] + codes[row, v]]
                        for output in range(n_outputs):
                            added[row, output] += value * leaves.coefficients[term, output]


@kernel
def _find_alike(at, looks, margin, first_alike):  # type: ignore[no-untyped-def]
    """The first row that reads the same entry of the table and has the same posterior, for each row."""
    n_rows = len(at)
    size = 16
    while size < 2 * n_rows:
        size *= 2
    slots = np.full(size, -1, np.int64)
    for row in range(n_rows):
        mixed = at[row] * 0x9E3779B1 + looks[row, margin] * 0x85EBCA6B
        slot = (mixed ^ (mixed >> 15)) & (size - 1)
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot] = row
                first_alike[row] = row
                break
            if at[known] == at[row] and looks[known, margin] == looks[row, margin]:
                first_alike[row] = known
                break
            slot = (slot + 1) & (size - 1)


@kernel
def _find_rows_left(tables, factor, codes, rows_left, killers):  # type: ignore[no-untyped-def]
    """Of each member the rows, as bits (members, words), that a term does not send to zero there.

    Returns how many members send any row to zero, listed in ``killers``, and whether all other functions are 1.
    """
    plain, n_killers = True, 0
    rows_left[:] = _ALL
    for v in range(codes.shape[1]):
        kills = False
        for row in range(len(codes)):
            if codes[row, v] >= 0:
                g = factor[tables.offsets[v] + codes[row, v]]
                if g == 0.0:
                    kills = True
                    rows_left[v, row // 64] &= ~(_ONE << np.uint64(row % 64))
                elif g != 1.0:
                    plain = False
        if kills:
            killers[n_killers] = v
            n_killers += 1
    return n_killers, plain


@kernel
def _list_alive(kinds, functions, alive, n_alive):  # type: ignore[no-untyped-def]
    """The states of each kind at which the product of the functions is not zero, and how many they are."""
    for kind in range(len(kinds.starts) - 1):
        first = kinds.starts[kind]
        count = 0
        for x in range(kinds.starts[kind + 1] - first):
            if functions[first + x] != 0.0:
                alive[first + count] = x
                count += 1
        n_alive[kind] = count


@kernel
def _multiply_functions(kinds, tables, factor, functions):  # type: ignore[no-untyped-def]
    """The product of a term's functions at every state of every kind of missing members, the first member fastest."""
    for kind in range(len(kinds.starts) - 1):
        size = 1
        functions[kinds.starts[kind]] = 1.0
        for j in range(kinds.member_starts[kind], kinds.member_starts[kind + 1]):
            v = kinds.members[j]
            for x in range(tables.cards[v] - 1, -1, -1):  # the states that are there already are used last
                g = factor[tables.offsets[v] + x]
                for y in range(size):
                    functions[kinds.starts[kind] + x * size + y] = functions[kinds.starts[kind] + y] * g
            size *= tables.cards[v]


@kernel
def lay_out_states(kind_of, kinds, cards, strides, starts, offsets):  # type: ignore[no-untyped-def]
    """How far each state of what is missing at a place goes in its table, with ``strides`` (places, members).

    Place p has ``offsets[starts[p] : starts[p + 1]]``, the first missing member fastest.
    """
    for place in range(len(kind_of)):
        kind, first, size = kind_of[place], starts[place], 1
        if kind < 0:
            continue
        offsets[first] = 0
        for j in range(kinds.member_starts[kind], kinds.member_starts[kind + 1]):
            v = kinds.members[j]
            for x in range(1, cards[v]):
                for y in range(size):
                    offsets[first + x * size + y] = offsets[first + y] + x * strides[place, v]
            size *= cards[v]


@kernel
def add_classes(out, values, classes):  # type: ignore[no-untyped-def]
    """``out[i] += values[classes[i]]`` for (i, width) and (classes, width), a few columns at a time for the cache."""
    width = out.shape[1]
    for first in range(0, width, _COLUMNS):
        last = min(first + _COLUMNS, width)
        for i in range(len(classes)):
            taken = classes[i]
            for j in range(first, last):
                out[i, j] += values[taken, j]
