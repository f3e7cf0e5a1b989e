"""Numba kernels for :mod:`~shap_asv.backends.ancestral.completed`: the values of a closure's terms for all classes."""

from typing import NamedTuple

import numpy as np

from shap_asv.backends.ancestral.kernel import fill_tables
from shap_asv.kernels import kernel

_COLUMNS = 64


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
    cache. A sum over x is done once for all rows that agree on what the table and the posterior look at.
    """
    n_rows, a = codes.shape
    n_terms, n_outputs = leaves.coefficients.shape
    values = np.empty((n_terms, shapes.starts[-1]))
    functions = np.empty((n_terms, kinds.starts[-1]))
    alive = np.empty((n_terms, kinds.starts[-1]), np.int64)
    n_alive = np.empty((n_terms, len(kinds.starts)), np.int64)
    dead = np.empty((n_terms, n_rows), np.int64)
    plain = np.empty(n_terms, np.bool_)
    for term in range(n_terms):
        fill_tables(shapes, tables, leaves.factors[term], values[term])
        _multiply_functions(kinds, tables, leaves.factors[term], functions[term])
        _list_alive(kinds, functions[term], alive[term], n_alive[term])
        plain[term] = _find_dead(tables, leaves.factors[term], codes, dead[term])
    at = np.empty(n_rows, np.int64)
    first_alike = np.empty(n_rows, np.int64)
    total = np.empty(n_rows)
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
                if kind >= 0:
                    if n_alive[term, kind] == 0:
                        continue
                    total[:] = np.nan
                for row in range(n_rows):
                    if held & dead[term, row]:
                        continue
                    if kind < 0:
                        value = values[term, at[row]]
                    else:
                        alike = first_alike[row]
                        value = total[alike]
                        if np.isnan(value):
                            value = 0.0
                            first = kinds.starts[kind]
                            for j in range(first, first + n_alive[term, kind]):
                                x = alive[term, j]
                                value += (
                                    functions[term, first + x]
                                    * margins.posteriors[row, posterior + x]
                                    * values[term, at[row] + moves[x]]
                                )
                            total[alike] = value
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
def _find_dead(tables, factor, codes, dead):  # type: ignore[no-untyped-def]
    """The members of each row that a term sends to zero, as bits; returns whether all other functions are 1."""
    plain = True
    for row in range(len(codes)):
        dead[row] = 0
        for v in range(codes.shape[1]):
            if codes[row, v] >= 0:
                g = factor[tables.offsets[v] + codes[row, v]]
                if g == 0.0:
                    dead[row] |= np.int64(1) << v
                elif g != 1.0:
                    plain = False
    return plain


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
