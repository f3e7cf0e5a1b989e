"""Numba kernels of :mod:`~shap_asv.backends.ancestral.pieces.demanded`: which tables of pieces are asked for.

States of nodes, nodes and groups of terms are bits of signed integers.
"""

from typing import NamedTuple

import numpy as np

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


class Tables(NamedTuple):
    """Open hash tables, one for each piece among those of a closure, in a pool of slots; they move as they grow.

    Attributes
    ----------
    starts, levels, counts : int64 arrays
        Where in the pool the table of each piece is, the power of two that it has of slots (0: there is no table yet),
        and how many are taken.
    freed : int64 array (64,)
        The first table of each level that has been left, -1 if there is none: it has the next one in its first slot.
    used : int64 array (6,)
        How much there is of everything: slots, numbers, blocks, rows, entries, links.
    needs : int64 array (6,)
        How much of each there may be after the next step.
    """

    starts: np.ndarray
    levels: np.ndarray
    counts: np.ndarray
    freed: np.ndarray
    used: np.ndarray
    needs: np.ndarray


class Wanted(NamedTuple):
    """Tables of pieces that are asked for: a row is a piece in one state of its parents. Larger pieces come first.

    Attributes
    ----------
    pool : int64 array (slots, 3)
        A slot has a state of the parents, the groups that ask for it, as bits, and a number; -1 there if it is free.
    number : int32 array
        The row of each number.
    blocks : int64 array (blocks, 3)
        The pieces that are asked for, as places in ``among``, and the ends of the rows and links of each.
    ends : int64 array (rows,)
        The end of the entries of each row: the states of its root that are left.
    entries : int64 array (entries,)
        The number of links of such a state, the state, and where its probability is in the tables of the network: what
        :func:`pack_entry` made of them.
    links : int32 array
        The rows of the parts that are asked for, entry after entry.
    """

    pool: np.ndarray
    number: np.ndarray
    blocks: np.ndarray
    ends: np.ndarray
    entries: np.ndarray
    links: np.ndarray


_SLOTS, _NUMBERS, _BLOCKS, _ROWS, _ENTRIES, _LINKS = range(6)


@kernel
def pack_entry(n_links, state, cell):  # type: ignore[no-untyped-def]
    """A number of links below 2^6, a state below 2^16 and a place in tables, in one integer."""
    return n_links | (state << 6) | (cell << 22)


@kernel
def unpack_entry(entry):  # type: ignore[no-untyped-def]
    """``n_links, state, cell`` of an integer."""
    return entry & 0x3F, (entry >> 6) & 0xFFFF, entry >> 22


@kernel
def ask_at_ideals(first, pieces, remains, gates, fields, patterns, tables, wanted, at):  # type: ignore[no-untyped-def]
    """What patterns from ``first`` on ask for at the ideals, with the groups that are alive: numbers into ``at``.

    Who looks at nothing in a piece does not ask for it: its value is 1. Returns the first pattern that there is no room
    for, or how many there are.
    """
    n_own = len(remains.own)
    passed, want = np.empty(len(gates.nodes), np.int64), np.zeros(n_own, np.int64)
    for pattern in range(first, len(at)):
        needed = tables.used[_SLOTS]
        for own in remains.own:
            needed += 4 << tables.levels[own]
        tables.needs[_SLOTS] = needed
        if needed > len(wanted.pool):
            return pattern
        state = patterns.packed[pattern]
        find_passed(state, gates, 0, fields, passed)
        for place in range(len(remains.held)):
            if patterns.alike[pattern, place] == pattern:
                asked = find_asked(remains.held[place], gates.nodes, passed, gates.words[0, 0])
                if asked:
                    for j in range(remains.starts[place], remains.starts[place + 1]):
                        want[remains.pieces[j]] |= asked
        for j in range(n_own):
            own = remains.own[j]
            piece = remains.among[own]
            asked = want[j] & find_looks(pieces.masks[piece], gates) if want[j] else 0
            want[j] = 0
            if asked:
                at[pattern, j] = _ask(state & pieces.known[piece], asked, own, tables, wanted.pool)
    return len(at)


@kernel
def ask_for_parts(first, pieces, among, gates, factors, fields, tables, wanted):  # type: ignore[no-untyped-def]
    """What the pieces ``among`` those of a closure, from ``first`` on, ask for of their parts.

    Returns the first piece that there is no room for, or how many there are.
    """
    used, pool, entries, links = tables.used, wanted.pool, wanted.entries, wanted.links
    below, looks, known = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    parents = np.empty(64, np.int64)
    for i in range(first, len(among)):
        n_here, piece = tables.counts[i], among[i]
        if n_here == 0:
            continue
        v, start = pieces.roots[piece], pieces.part_starts[piece]
        n_parts, card = pieces.part_starts[piece + 1] - start, factors.cards[v]
        n_slots = used[_SLOTS]
        for j in range(n_parts):
            part = pieces.parts[start + j]
            below[j] = _place_of(part, among)
            looks[j], known[j] = find_looks(pieces.masks[part], gates), pieces.known[part]
            n_slots += 8 * (tables.counts[below[j]] + n_here * card) + 64
        needs = tables.needs
        needs[_SLOTS], needs[_NUMBERS], needs[_BLOCKS] = n_slots, used[_NUMBERS], used[_BLOCKS] + 1
        needs[_ROWS], needs[_ENTRIES] = used[_ROWS] + n_here, used[_ENTRIES] + n_here * card
        needs[_LINKS] = used[_LINKS] + n_here * card * n_parts
        enough = n_slots <= len(pool) and needs[_NUMBERS] <= len(wanted.number)
        enough = enough and needs[_BLOCKS] <= len(wanted.blocks) and needs[_ROWS] <= len(wanted.ends)
        if not (enough and needs[_ENTRIES] <= len(entries) and needs[_LINKS] <= len(links)):
            return i
        n_parents = 0
        for u in range(v):
            if factors.strides[v, u] > 0:
                parents[n_parents] = u
                n_parents += 1
        n_rows, n_entries, n_links = used[_ROWS], used[_ENTRIES], used[_LINKS]
        for slot in range(tables.starts[i], tables.starts[i] + (1 << tables.levels[i])):
            state, word, number = pool[slot, 0], pool[slot, 1], pool[slot, 2]
            if number < 0:
                continue
            # rows of a piece get numbers next to one another, so that who reads them stays in the cache
            wanted.number[number] = n_rows
            cell = factors.offsets[v]
            for j in range(n_parents):
                u = parents[j]
                cell += factors.strides[v, u] * ((state & fields.masks[u]) >> fields.shifts[u])
            for x in range(card):
                alive = word & gates.words[gates.rows[v] + x if gates.rows[v] >= 0 else 0, 0]
                if alive == 0 or factors.tables[cell + x] == 0.0:
                    continue
                with_root, before = state | (x << fields.shifts[v]), n_links
                for j in range(n_parts):
                    asked = alive & looks[j]
                    if asked:
                        links[n_links] = _ask(with_root & known[j], asked, below[j], tables, pool)
                        n_links += 1
                entries[n_entries] = pack_entry(n_links - before, x, cell + x)
                n_entries += 1
            wanted.ends[n_rows] = n_entries
            n_rows += 1
        block = wanted.blocks[used[_BLOCKS]]
        block[0], block[1], block[2] = i, n_rows, n_links
        used[_BLOCKS] += 1
        used[_ROWS], used[_ENTRIES], used[_LINKS] = n_rows, n_entries, n_links
    return len(among)


@kernel
def _ask(state, asked, piece, tables, pool):  # type: ignore[no-untyped-def]
    """Ask for a piece in a state of its parents: its number, which may be a new one. There is room in the pool."""
    if 2 * tables.counts[piece] + 2 > 1 << tables.levels[piece]:  # no more than half of the slots are taken
        _move(piece, tables, pool)
    start, level = tables.starts[piece], tables.levels[piece]
    slot = _first_slot(state, level)
    while pool[start + slot, 2] >= 0:
        if pool[start + slot, 0] == state:
            pool[start + slot, 1] |= asked
            return pool[start + slot, 2]
        slot = (slot + 1) & ((1 << level) - 1)
    slot += start
    number = tables.used[_NUMBERS]
    tables.used[_NUMBERS] += 1
    tables.counts[piece] += 1
    pool[slot, 0], pool[slot, 1], pool[slot, 2] = state, asked, number
    return number


@kernel
def _move(piece, tables, pool):  # type: ignore[no-untyped-def]
    """Move the table of a piece to one of twice the size, a left one or a new one."""
    old, old_level = tables.starts[piece], tables.levels[piece]
    level = max(2, old_level + 1)
    start = tables.freed[level]
    if start >= 0:
        tables.freed[level] = pool[start, 0]
    else:
        start = tables.used[_SLOTS]
        tables.used[_SLOTS] += 1 << level
    tables.starts[piece], tables.levels[piece] = start, level
    for slot in range(start, start + (1 << level)):
        pool[slot, 2] = -1
    if old_level == 0:
        return
    for slot in range(old, old + (1 << old_level)):
        if pool[slot, 2] >= 0:
            to = _first_slot(pool[slot, 0], level)
            while pool[start + to, 2] >= 0:
                to = (to + 1) & ((1 << level) - 1)
            for j in range(3):
                pool[start + to, j] = pool[slot, j]
    pool[old, 0] = tables.freed[old_level]
    tables.freed[old_level] = old


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
