"""Numba kernels of :mod:`~shap_asv.backends.ancestral.pieces.demanded`: which tables of pieces are asked for.

States of nodes, nodes and groups of terms are bits of signed integers.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.backends.ancestral.completion_kernel import Factors
from shap_asv.backends.ancestral.pieces.part_kernel import Fields, Pieces
from shap_asv.kernels import kernel


class Remains(NamedTuple):
    """What remains of a closure at each ideal.

    Attributes
    ----------
    held : int64 array (q,)
        The nodes that are known, as bits.
    starts, pieces : int64 array (q + 1,), int32 array (all pieces,)
        Ideal p leaves the pieces ``pieces[starts[p] : starts[p + 1]]``, as places in ``own``.
    own : int64 array (l,)
        The pieces that any ideal leaves, as places in ``among``.
    among : int64 array
        These and all that they fall into, in ascending order.
    """

    held: np.ndarray
    starts: np.ndarray
    pieces: np.ndarray
    own: np.ndarray
    among: np.ndarray


class Patterns(NamedTuple):
    """Rows: the states of all nodes as fields of one integer, ``packed`` (u,), and ``alike`` (u, q).

    The latter has the first row that agrees on what is known at each ideal of a closure.
    """

    packed: np.ndarray
    alike: np.ndarray


class Gates(NamedTuple):
    """What each state of each node lets pass, as bits ``words`` (g, w): of terms, or of groups of them; row 0 is all.

    State x of node v has the row ``rows[v] + x``; -1 for nodes that no term looks at. ``nodes`` (n,) are the others,
    and ``looks`` (n, w) who looks at each.
    """

    words: np.ndarray
    rows: np.ndarray
    nodes: np.ndarray
    looks: np.ndarray


class Wanted(NamedTuple):
    """Tables of pieces that are asked for: a row is a piece in one state of its parents. Larger pieces come first.

    Attributes
    ----------
    blocks : int64 array (blocks, 4)
        The pieces that are asked for, as places in ``among``, and the ends of the rows, entries and links of each.
    rows : int64 array (rows, 3)
        The state of the parents, the groups that ask for it, as bits, and the end of its entries.
    entries : int64 array (entries, 3)
        One for each state of the root in which a group is alive: all states that the piece knows then, these groups,
        and the state of the root with the place of its probability in the tables of the network: what
        :func:`pack_entry` made of the two.
    links : int32 array
        The rows of all parts of the piece, entry after entry; -1 for a part that no group asks for.
    slots : int32 array
        A hash table of the rows of the piece at hand; -1 where there is none.
    """

    blocks: np.ndarray
    rows: np.ndarray
    entries: np.ndarray
    links: np.ndarray
    slots: np.ndarray


class Askers(NamedTuple):
    """Who asks for each of the pieces ``among`` those of a closure: lists that grow at their heads.

    Attributes
    ----------
    heads : int64 array (pieces among,)
        The first member of each list, -1 if there is none.
    members : int64 array (members, 3)
        The next member, the block that asks, and which of its parts it asks for.
    used : int64 array (6,)
        How much there is of all that is wanted, in the sequence of its attributes, and of members.
    needs : int64 array (5,)
        How much of all that is wanted there may be after the next step.
    """

    heads: np.ndarray
    members: np.ndarray
    used: np.ndarray
    needs: np.ndarray


class Asking(NamedTuple):
    """What decides about who is asked for: the pieces, what remains of a closure, gates of groups, the network."""

    pieces: Pieces
    remains: Remains
    gates: Gates
    factors: Factors
    fields: Fields


_BLOCKS, _ROWS, _ENTRIES, _LINKS, _SLOTS, _MEMBERS = range(6)


@kernel
def pack_entry(state, cell):  # type: ignore[no-untyped-def]
    """A state below 2^16 and a place in tables, in one integer."""
    return state | (cell << 16)


@kernel
def unpack_entry(entry):  # type: ignore[no-untyped-def]
    """``state, cell`` of an integer."""
    return entry & 0xFFFF, entry >> 16


@kernel
def ask_at_ideals(asking, patterns, want):  # type: ignore[no-untyped-def]
    """The groups that ask for each piece at the ideals, for each pattern: bits into ``want`` (l, u).

    Who looks at nothing in a piece does not ask for it: its value is 1.
    """
    remains, gates = asking.remains, asking.gates
    n_own, n_patterns = want.shape
    passed, here, looks = np.empty(len(gates.nodes), np.int64), np.empty(n_own, np.int64), np.empty(n_own, np.int64)
    for j in range(n_own):
        here[j] = 0
        looks[j] = find_looks(asking.pieces.masks[remains.among[remains.own[j]]], gates)
    for pattern in range(n_patterns):
        find_passed(patterns.packed[pattern], gates, np.int64(0), asking.fields, passed)
        for place in range(len(remains.held)):
            if patterns.alike[pattern, place] == pattern:
                asked = find_asked(remains.held[place], gates.nodes, passed, gates.words[0, 0])
                if asked:
                    for j in range(remains.starts[place], remains.starts[place + 1]):
                        here[remains.pieces[j]] |= asked
        for j in range(n_own):
            want[j, pattern] = here[j] & looks[j]
            here[j] = 0


@kernel
def ask_for_parts(first, asking, packed, want, askers, wanted, at):  # type: ignore[no-untyped-def]
    """The rows of pieces from ``first`` on that patterns ``packed`` (u,) or larger pieces ask for.

    All that is asked of a piece is looked up at one time, so that its rows stay in the cache. ``at`` (u, l) gets the
    rows that patterns ask for. Returns the first piece that there is no room for, or how many there are.
    """
    remains, used, needs = asking.remains, askers.used, askers.needs
    own_of = np.empty(len(remains.among), np.int64)
    for i in range(len(own_of)):
        own_of[i] = -1
    for j in range(len(remains.own)):
        own_of[remains.own[j]] = j
    for i in range(first, len(remains.among)):
        piece, own = remains.among[i], own_of[i]
        known, looks = asking.pieces.known[piece], find_looks(asking.pieces.masks[piece], asking.gates)
        level = _find_level(askers.heads[i], len(packed) if own >= 0 else 0, askers, wanted)
        if level == 0:
            continue
        n_rows = used[_ROWS]
        needs[_ROWS], needs[_SLOTS] = n_rows + (1 << (level - 1)), 1 << level
        if needs[_ROWS] > len(wanted.rows) or needs[_SLOTS] > len(wanted.slots):
            return i
        for slot in range(1 << level):
            wanted.slots[slot] = -1
        if own >= 0:
            for pattern in range(len(packed)):
                if want[own, pattern]:
                    row = _ask(packed[pattern] & known, want[own, pattern], level, n_rows, wanted)
                    n_rows = max(n_rows, row + 1)
                    at[pattern, own] = row
        member = askers.heads[i]
        while member >= 0:
            block, j = askers.members[member, 1], askers.members[member, 2]
            asks = remains.among[wanted.blocks[block, 0]]
            n_parts = asking.pieces.part_starts[asks + 1] - asking.pieces.part_starts[asks]
            link = (wanted.blocks[block - 1, 3] if block else 0) + j
            for entry in range(wanted.blocks[block - 1, 2] if block else 0, wanted.blocks[block, 2]):
                asked = wanted.entries[entry, 1] & looks
                if asked:
                    row = _ask(wanted.entries[entry, 0] & known, asked, level, n_rows, wanted)
                    n_rows = max(n_rows, row + 1)
                    wanted.links[link] = row
                else:
                    wanted.links[link] = -1
                link += n_parts
            member = askers.members[member, 0]
        if n_rows > used[_ROWS] and not _enter(i, n_rows, asking, askers, wanted):
            return i
    return len(remains.among)


@kernel
def _find_level(member, n_asked, askers, wanted):  # type: ignore[no-untyped-def]
    """The power of two of slots of which at most half are taken by what a list asks for; 0 if that is nothing."""
    while member >= 0:
        block = askers.members[member, 1]
        n_asked += wanted.blocks[block, 2] - (wanted.blocks[block - 1, 2] if block else 0)
        member = askers.members[member, 0]
    level = 0
    while n_asked > 0 and 1 << level < 2 * n_asked:
        level += 1
    return level


@kernel
def _ask(state, asked, level, n_rows, wanted):  # type: ignore[no-untyped-def]
    """The row of a state of the parents, among 2^level slots; a new one gets the number ``n_rows``."""
    slots, rows = wanted.slots, wanted.rows
    slot = _first_slot(state, level)
    while slots[slot] >= 0:
        row = np.int64(slots[slot])
        if rows[row, 0] == state:
            rows[row, 1] |= asked
            return row
        slot = (slot + 1) & ((1 << level) - 1)
    slots[slot] = n_rows
    rows[n_rows, 0], rows[n_rows, 1] = state, asked
    return n_rows


@kernel
def _enter(i, n_rows, asking, askers, wanted):  # type: ignore[no-untyped-def]
    """Entries of the rows of piece i, up to row ``n_rows``, and its name on the lists of its parts.

    Returns whether there was room; if not, nothing has happened.
    """
    pieces, gates, factors, fields = asking.pieces, asking.gates, asking.factors, asking.fields
    used, needs, rows, entries = askers.used, askers.needs, wanted.rows, wanted.entries
    piece = asking.remains.among[i]
    v, start = pieces.roots[piece], pieces.part_starts[piece]
    n_parts, card = pieces.part_starts[piece + 1] - start, factors.cards[v]
    n_entries = used[_ENTRIES]
    needs[_BLOCKS], needs[_ENTRIES] = used[_BLOCKS] + 1, n_entries + (n_rows - used[_ROWS]) * card
    needs[_LINKS] = used[_LINKS] + (n_rows - used[_ROWS]) * card * n_parts
    if needs[_BLOCKS] > len(wanted.blocks) or needs[_ENTRIES] > len(entries) or needs[_LINKS] > len(wanted.links):
        return False
    parents, n_parents = np.empty(64, np.int64), 0
    for u in range(v):
        if factors.strides[v, u] > 0:
            parents[n_parents] = u
            n_parents += 1
    for row in range(used[_ROWS], n_rows):
        state, word = rows[row, 0], rows[row, 1]
        cell = factors.offsets[v]
        for j in range(n_parents):
            u = parents[j]
            cell += factors.strides[v, u] * ((state & fields.masks[u]) >> fields.shifts[u])
        for x in range(card):
            alive = word & gates.words[gates.rows[v] + x if gates.rows[v] >= 0 else 0, 0]
            if alive == 0 or factors.tables[cell + x] == 0.0:
                continue
            entries[n_entries, 0], entries[n_entries, 1] = state | (x << fields.shifts[v]), alive
            entries[n_entries, 2] = pack_entry(x, cell + x)
            n_entries += 1
        rows[row, 2] = n_entries
    used[_LINKS] += (n_entries - used[_ENTRIES]) * n_parts
    used[_ROWS], used[_ENTRIES] = n_rows, n_entries
    block = wanted.blocks[used[_BLOCKS]]
    block[0], block[1], block[2], block[3] = i, n_rows, n_entries, used[_LINKS]
    for j in range(n_parts):
        below, member = _place_of(pieces.parts[start + j], asking.remains.among), used[_MEMBERS]
        listed = askers.members[member]
        listed[0], listed[1], listed[2] = askers.heads[below], used[_BLOCKS], j
        askers.heads[below] = member
        used[_MEMBERS] += 1
    used[_BLOCKS] += 1
    return True


@kernel
def _first_slot(state, level):  # type: ignore[no-untyped-def]
    """Among 2^level slots. The highest bits of a product are those that all bits of the state have a part in.

    One product alone would send states that differ in few fields to neighbouring slots.
    """
    mixed = np.uint64(state) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64(mixed >> np.uint64(64 - level))


@kernel
def _place_of(piece, among):  # type: ignore[no-untyped-def]
    """Where a piece stands among others in ascending order."""
    first, last = 0, len(among) - 1
    while first < last:
        middle = (first + last) // 2
        if among[middle] < piece:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def find_looks(mask, gates):  # type: ignore[no-untyped-def]
    """Who looks at any of the nodes of a ``mask``, as bits."""
    looks = 0
    for i in range(len(gates.nodes)):
        if (mask >> gates.nodes[i]) & 1:
            looks |= gates.looks[i, 0]
    return looks


@kernel
def find_passed(state, gates, w, fields, passed):  # type: ignore[no-untyped-def]
    """What each of the nodes looked at lets pass in a ``state`` of all: word w of the gates into ``passed`` (n,)."""
    for i in range(len(gates.nodes)):
        v = gates.nodes[i]
        passed[i] = gates.words[gates.rows[v] + ((state & fields.masks[v]) >> fields.shifts[v]), w]


@kernel
def find_asked(held, nodes, passed, asked):  # type: ignore[no-untyped-def]
    """Of ``asked``, as bits, what those of the ``nodes`` (n,) let pass that are held."""
    for i in range(len(nodes)):  # without a branch: which nodes are held cannot be guessed
        asked &= passed[i] | (((held >> nodes[i]) & 1) - 1)
    return asked


@kernel
def find_alike(held, fields, packed, alike):  # type: ignore[no-untyped-def]
    """The first of the patterns ``packed`` (u,) that agrees at the nodes ``held`` (q,), into ``alike`` (u, q)."""
    n_patterns = len(packed)
    level = 4
    while 1 << level < 2 * n_patterns:
        level += 1
    size = 1 << level
    slots = np.empty(size, np.int32)
    for place in range(len(held)):
        known = 0
        for v in range(len(fields.masks)):
            if (held[place] >> v) & 1:
                known |= fields.masks[v]
        for slot in range(size):
            slots[slot] = -1
        for pattern in range(n_patterns):
            slot = _first_slot(packed[pattern] & known, level)
            while slots[slot] >= 0 and (packed[slots[slot]] ^ packed[pattern]) & known:
                slot = (slot + 1) & (size - 1)
            if slots[slot] < 0:
                slots[slot] = pattern
            alike[pattern, place] = slots[slot]
