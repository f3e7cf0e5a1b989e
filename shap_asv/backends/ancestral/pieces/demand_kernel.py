"""Numba kernels of :mod:`~shap_asv.backends.ancestral.pieces.demanded`: which entries are wanted, and what they are."""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import count_bits, kernel

_ONE = np.uint64(1)


class Pieces(NamedTuple):
    """Pieces of a network, the largest first; parts of a piece stand after it.

    Attributes
    ----------
    masks, roots : int64 arrays (p,)
        The nodes of each piece as bits, and the one that is summed out first.
    parent_starts, parents, strides : int64 arrays
        The known nodes that it depends on, and what a state of each adds to the number of their joint state.
    part_starts, parts : int64 arrays
        The pieces that it falls into without its root.
    bases : int64 array (p + 1,)
        What is added to a joint state of the parents, so that no two pieces have a number in common.
    """

    masks: np.ndarray
    roots: np.ndarray
    parent_starts: np.ndarray
    parents: np.ndarray
    strides: np.ndarray
    part_starts: np.ndarray
    parts: np.ndarray
    bases: np.ndarray


class Remains(NamedTuple):
    """What remains of a closure at each ideal.

    Attributes
    ----------
    held : int64 array (q,)
        The nodes that are known, as bits.
    starts, pieces : int64 arrays (q + 1,) and (all pieces,)
        Ideal p leaves the pieces ``pieces[starts[p] : starts[p + 1]]``, as places in ``own``.
    own : int64 array (l,)
        The pieces that any ideal leaves.
    """

    held: np.ndarray
    starts: np.ndarray
    pieces: np.ndarray
    own: np.ndarray


class Gates(NamedTuple):
    """The terms that each state of each node lets pass, as bits ``words`` (g, w); row 0 lets all pass.

    State x of node v has row ``rows[v] + x``; -1 for nodes that no term looks at. ``nodes`` (n,) are the others, and
    ``looks`` (n, w) the terms that look at each.
    """

    words: np.ndarray
    rows: np.ndarray
    nodes: np.ndarray
    looks: np.ndarray


class Wanted(NamedTuple):
    """Tables that are asked for: row r is a piece in one state of its parents.

    Attributes
    ----------
    words : uint64 array (rows, w)
        The terms that are asked for, as bits.
    at : int32 array (l, patterns)
        The row of each piece of the closure for each pattern; -1 where no term is alive.
    order, n_parts : int32 arrays (rows,)
        Rows, larger pieces first, and into how many pieces each falls.
    entry_starts : int64 array (rows + 1,)
        In that order, ``entry_starts[i] : entry_starts[i + 1]`` are the states of the root that are left.
    link_starts : int64 array (rows + 1,)
    weights, gates, links : arrays
        Of an entry: its probability, its row of the gates; and the rows of the parts, entry after entry.
    """

    words: np.ndarray
    at: np.ndarray
    order: np.ndarray
    n_parts: np.ndarray
    entry_starts: np.ndarray
    link_starts: np.ndarray
    weights: np.ndarray
    gates: np.ndarray
    links: np.ndarray


@kernel
def find_wanted(pieces, remains, gates, factors, codes, alike, limit):  # type: ignore[no-untyped-def]
    """From the ideals down: the rows that patterns ``codes`` (u, nodes) need, with the terms that are alive in them.

    A term that looks at nothing in a piece does not ask for it: its value is 1. ``alike`` (q, u): the first pattern
    that agrees on what is known. Returns how many rows there are, -1 where there are more than ``limit``, and the
    fields of :class:`Wanted`.
    """
    n_words, n_patterns = gates.words.shape[1], len(codes)
    room = 1 << 12
    words, keys, following = np.empty((room, n_words), np.uint64), np.empty(room, np.int64), np.empty(room, np.int32)
    slots = np.full(2 * room, -1, np.int32)
    at = np.full((len(remains.own), n_patterns), -1, np.int32)
    heads = np.full(len(pieces.roots), -1, np.int32)
    looks = np.zeros((len(pieces.roots), n_words), np.uint64)
    for piece in remains.own:
        _find_looks(pieces.masks[piece], gates, looks[piece])
    state = np.zeros(codes.shape[1], np.int64)
    asked = np.empty(n_words, np.uint64)
    n_rows = 0
    for place in range(len(remains.held)):
        first, last = remains.starts[place], remains.starts[place + 1]
        for pattern in range(n_patterns):
            if alike[place, pattern] != pattern or not _find_asked(remains.held[place], gates, codes[pattern], asked):
                continue
            if n_rows + last - first > len(keys):
                words, keys, following = _enlarge(words), _enlarge(keys), _enlarge(following)
                slots = _find_slots(keys, n_rows)
            for j in range(first, last):
                local = remains.pieces[j]
                piece, row = remains.own[local], at[local, pattern]
                if not _overlap(asked, looks[piece]):
                    continue
                if row < 0:
                    row = _find_row(_find_key(pieces, piece, codes[pattern]), keys, slots, n_rows)
                    if row == n_rows:
                        words[row] = np.uint64(0)
                        following[row], heads[piece] = heads[piece], row
                        n_rows += 1
                    at[local, pattern] = row
                for w in range(n_words):
                    words[row, w] |= asked[w] & looks[piece, w]
    order, n_parts = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    entry_starts, link_starts = np.zeros(n_rows + 1, np.int64), np.zeros(n_rows + 1, np.int64)
    weights, entry_gates, links = np.empty(4 * room), np.empty(4 * room, np.int32), np.empty(4 * room, np.int32)
    n_entries, n_links, n_done = 0, 0, 0
    part_keys, steps = np.empty(len(state), np.int64), np.empty(len(state), np.int64)
    for piece in range(len(heads)):
        row, v = heads[piece], pieces.roots[piece]
        first, last = pieces.part_starts[piece], pieces.part_starts[piece + 1]
        most = factors.cards[v] * (last - first)
        for j in range(first, last if row >= 0 else first):
            part = pieces.parts[j]
            _find_looks(pieces.masks[part], gates, looks[part])
            for i in range(pieces.parent_starts[part], pieces.parent_starts[part + 1]):
                if pieces.parents[i] == v:  # it is a parent of every part, or they would be no part of this piece
                    steps[j - first] = pieces.strides[i]
        while row >= 0 and n_rows <= limit:
            cell, number = factors.offsets[v], keys[row] - pieces.bases[piece]
            for j in range(pieces.parent_starts[piece + 1] - 1, pieces.parent_starts[piece] - 1, -1):
                u = pieces.parents[j]  # the last one has the largest stride
                state[u] = number // pieces.strides[j]
                number -= state[u] * pieces.strides[j]
                cell += factors.strides[v, u] * state[u]
            if n_rows + most > len(keys):
                words, keys, following = _enlarge(words), _enlarge(keys), _enlarge(following)
                slots = _find_slots(keys, n_rows)
            if n_entries + factors.cards[v] > len(weights):
                weights, entry_gates = _enlarge(weights), _enlarge(entry_gates)
            if n_links + most > len(links):
                links = _enlarge(links)
            if n_done == len(order):
                order, n_parts = _enlarge(order), _enlarge(n_parts)
                entry_starts, link_starts = _enlarge(entry_starts), _enlarge(link_starts)
            state[v] = 0
            for j in range(first, last):
                part_keys[j - first] = _find_key(pieces, pieces.parts[j], state)
            for x in range(factors.cards[v]):
                gate = gates.rows[v] + x if gates.rows[v] >= 0 else 0
                if factors.tables[cell + x] == 0.0 or not _overlap(words[row], gates.words[gate]):
                    continue
                weights[n_entries], entry_gates[n_entries] = factors.tables[cell + x], gate
                n_entries += 1
                for j in range(first, last):
                    part, below, left = pieces.parts[j], np.int32(-1), np.uint64(0)
                    for w in range(n_words):
                        asked[w] = words[row, w] & gates.words[gate, w] & looks[part, w]
                        left |= asked[w]
                    if left:
                        below = _find_row(part_keys[j - first] + x * steps[j - first], keys, slots, n_rows)
                        if below == n_rows:
                            words[below] = np.uint64(0)
                            following[below], heads[part] = heads[part], below
                            n_rows += 1
                        for w in range(n_words):
                            words[below, w] |= asked[w]
                    links[n_links] = below
                    n_links += 1
            order[n_done], n_parts[n_done] = row, last - first
            n_done += 1
            entry_starts[n_done], link_starts[n_done] = n_entries, n_links
            row = following[row]
    found = Wanted(words, at, order, n_parts, entry_starts, link_starts, weights, entry_gates, links)
    return n_rows if n_rows <= limit else -1, found


@kernel
def _enlarge(array):  # type: ignore[no-untyped-def]
    """The same with room for four times as much."""
    larger = np.empty((4 * len(array) + 16,) + array.shape[1:], array.dtype)  # noqa: RUF005 - numba knows no star
    to, entries = larger.ravel(), array.ravel()
    for i in range(len(entries)):  # compiles sooner than the assignment of an array
        to[i] = entries[i]
    return larger


@kernel
def _find_slots(keys, n_rows):  # type: ignore[no-untyped-def]
    """The table of slots of all keys, at least twice as long as they are."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    slots = np.full(size, -1, np.int32)
    for row in range(n_rows):
        slot = _first_slot(keys[row], size)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = row
    return slots


@kernel
def _first_slot(key, size):  # type: ignore[no-untyped-def]
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(24)) & np.uint64(size - 1))


@kernel
def _find_looks(mask, gates, looks):  # type: ignore[no-untyped-def]
    """The terms that look at any of the nodes of a ``mask``, as bits ``looks`` (w,)."""
    for i in range(len(gates.nodes)):
        if (mask >> gates.nodes[i]) & 1:
            for w in range(len(looks)):
                looks[w] |= gates.looks[i, w]


@kernel
def _overlap(some, others):  # type: ignore[no-untyped-def]
    met = np.uint64(0)
    for w in range(len(some)):
        met |= some[w] & others[w]
    return met != 0


@kernel
def _find_asked(held, gates, codes, asked):  # type: ignore[no-untyped-def]
    """The terms that pass all that is known, as bits ``asked`` (w,); whether there are any."""
    for w in range(len(asked)):
        asked[w] = gates.words[0, w]
    for v in gates.nodes:
        if (held >> v) & 1:
            left = np.uint64(0)
            for w in range(len(asked)):
                asked[w] &= gates.words[gates.rows[v] + codes[v], w]
                left |= asked[w]
            if left == 0:
                return False
    return True


@kernel
def _find_key(pieces, piece, codes):  # type: ignore[no-untyped-def]
    """The number of a piece where its parents have ``codes``."""
    key = pieces.bases[piece]
    for j in range(pieces.parent_starts[piece], pieces.parent_starts[piece + 1]):
        key += pieces.strides[j] * codes[pieces.parents[j]]
    return key


@kernel
def _find_row(key, keys, slots, n_rows):  # type: ignore[no-untyped-def]
    """The row of a number; ``n_rows`` if it is a new one."""
    slot = _first_slot(key, len(slots))
    while True:
        row = slots[slot]
        if row < 0:
            slots[slot] = n_rows
            keys[n_rows] = key
            return np.int32(n_rows)
        if keys[row] == key:
            return row
        slot = (slot + 1) & (len(slots) - 1)


@kernel
def fill_wanted(wanted, n_rows, gates):  # type: ignore[no-untyped-def]
    """``q_c(R; s) = sum over x of P(x | s) g(x) * prod over parts of q_c'(R; s, x)`` for the terms of every row.

    Returns where the values of each word of a row start (rows, w), and the values, one for each bit.
    """
    n_words = wanted.words.shape[1]
    places = np.empty((n_rows, n_words), np.int64)
    size = np.int64(0)
    for row in range(n_rows):
        for w in range(n_words):
            places[row, w] = size
            size += np.int64(count_bits(wanted.words[row, w]))
    values = np.zeros(size)
    for i in range(n_rows - 1, -1, -1):
        row, n_parts = wanted.order[i], wanted.n_parts[i]
        link = wanted.link_starts[i]
        for entry in range(wanted.entry_starts[i], wanted.entry_starts[i + 1]):
            weight, gate = wanted.weights[entry], wanted.gates[entry]
            for w in range(n_words):
                asked = wanted.words[row, w]
                word = asked & gates.words[gate, w]
                if word == 0:
                    continue
                place = places[row, w]
                if n_parts == 1 and wanted.links[link] >= 0:
                    below, start = wanted.words[wanted.links[link], w], places[wanted.links[link], w]
                    if word == asked and below == word:
                        for j in range(np.int64(count_bits(word))):
                            values[place + j] += weight * values[start + j]
                        continue
                while word:
                    lower = (word & (~word + _ONE)) - _ONE
                    bit = word & ~(word - _ONE)
                    word ^= bit
                    product = weight
                    for j in range(link, link + n_parts):
                        row_below = wanted.links[j]
                        if row_below >= 0 and wanted.words[row_below, w] & bit:
                            at = places[row_below, w] + np.int64(count_bits(wanted.words[row_below, w] & lower))
                            product *= values[at]
                    values[place + np.int64(count_bits(asked & lower))] += product
            link += n_parts
    return places, values


@kernel
def add_pieces(remains, wanted, filled, gates, codes, alike, coefficients, out):  # type: ignore[no-untyped-def]
    """Add ``prod over pieces of q_c`` times the coefficients (t, k) to ``out`` (u, q, k), term after term.

    Only at patterns that are the first of those alike.
    """
    places, values = filled
    n_patterns, (n_words, n_outputs) = len(codes), (gates.words.shape[1], coefficients.shape[1])
    asked = np.empty(n_words, np.uint64)
    for place in range(len(remains.held)):
        first, last = remains.starts[place], remains.starts[place + 1]
        for pattern in range(n_patterns):
            if alike[place, pattern] != pattern or not _find_asked(remains.held[place], gates, codes[pattern], asked):
                continue
            added = out[pattern, place]
            for w in range(n_words):
                word = asked[w]
                while word:
                    lower = (word & (~word + _ONE)) - _ONE
                    bit = word & ~(word - _ONE)
                    word ^= bit
                    product = 1.0
                    for j in range(first, last):
                        row = wanted.at[remains.pieces[j], pattern]
                        if row >= 0 and wanted.words[row, w] & bit:
                            product *= values[places[row, w] + np.int64(count_bits(wanted.words[row, w] & lower))]
                    term = 64 * w + np.int64(count_bits(lower))
                    for output in range(n_outputs):
                        added[output] += product * coefficients[term, output]


@kernel
def find_alike(held, codes, alike):  # type: ignore[no-untyped-def]
    """The first pattern (of ``codes`` (u, nodes)) that agrees at the nodes ``held`` (q,), into ``alike`` (q, u)."""
    n_patterns, n_nodes = codes.shape
    size = 16
    while size < 2 * n_patterns:
        size *= 2
    slots = np.empty(size, np.int64)
    for place in range(len(held)):
        slots[:] = -1
        for pattern in range(n_patterns):
            mixed = np.int64(0)
            for v in range(n_nodes):
                if (held[place] >> v) & 1:
                    mixed = (mixed + codes[pattern, v] + 1) * 0x9E3779B1
                    mixed ^= mixed >> 17
            slot = mixed & (size - 1)
            while True:
                known = slots[slot]
                if known < 0:
                    slots[slot] = alike[place, pattern] = pattern
                    break
                same = True
                for v in range(n_nodes):
                    if (held[place] >> v) & 1 and codes[known, v] != codes[pattern, v]:
                        same = False
                        break
                if same:
                    alike[place, pattern] = known
                    break
                slot = (slot + 1) & (size - 1)
