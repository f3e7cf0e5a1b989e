"""What is compiled of closures: components found, asked for, filled and added up. Importing it brings numba in.

Sets of nodes, states of all nodes and sets of terms are bits of signed integers. Loops over terms go over all of them,
dead or alive, as vector instructions do.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import count_bits, kernel

# Terms alive up to which each is added by itself.
_FEW = 16


class FlatNetwork(NamedTuple):
    """A network as flat arrays.

    Attributes
    ----------
    tables : float64 array
        All tables, each with the state of its own node fastest.
    offsets, strides : int64 arrays (nodes,) and (nodes, nodes)
        The entry of node v is ``offsets[v] + sum of strides[v, u] * code(u)``.
    families : int64 array (nodes,)
        Each node with its parents, as bits.
    cards : int64 array (nodes,)
    shifts, fields : int64 arrays (nodes,)
        The states of all nodes in one integer: node v has the bits ``fields[v]``, which start at ``shifts[v]``.
    """

    tables: np.ndarray
    offsets: np.ndarray
    strides: np.ndarray
    families: np.ndarray
    cards: np.ndarray
    shifts: np.ndarray
    fields: np.ndarray


class Components(NamedTuple):
    """Components, the largest first; parts of a component stand after it.

    Attributes
    ----------
    masks, roots : int64 arrays (p,)
        The nodes of each component as bits, and the one that is summed out first.
    known : int64 array (p,)
        The fields of the known nodes that it depends on.
    part_starts, parts : int64 arrays (p + 1,) and (all parts,)
        The components that it falls into without its root.
    whole_starts, wholes, which : int64 arrays (p + 1,) and (all parts,) twice
        The other way round: the components that it is a part of, and which of their parts it is.
    """

    masks: np.ndarray
    roots: np.ndarray
    known: np.ndarray
    part_starts: np.ndarray
    parts: np.ndarray
    whole_starts: np.ndarray
    wholes: np.ndarray
    which: np.ndarray


class Ideals(NamedTuple):
    """The ideals of a closure, and what each leaves.

    Attributes
    ----------
    held : int64 array (q,)
        The nodes that are known, as bits.
    starts, left : int64 array (q + 1,), int32 array
        Ideal p leaves the components ``own[left[starts[p] : starts[p + 1]]]``.
    own : int64 array (l,)
        The components that any ideal leaves.
    """

    held: np.ndarray
    starts: np.ndarray
    left: np.ndarray
    own: np.ndarray


class Gates(NamedTuple):
    """Which terms each state of each node lets pass, as bits ``words`` (g,); row 0 is all.

    State x of node v has the row ``rows[v] + x``; -1 for nodes that no term looks at. ``nodes`` (n,) are the others,
    and ``looks`` (n,) the terms that look at each. ``passes`` float64 (g, t) are the rows as 0 and 1, and
    ``coefficients`` (k, t) those of the terms, with a few terms without effect that fill the lanes of vectors.
    """

    words: np.ndarray
    rows: np.ndarray
    nodes: np.ndarray
    looks: np.ndarray
    passes: np.ndarray
    coefficients: np.ndarray


class Demand(NamedTuple):
    """The states in which components are asked for: a row is a component in one state of its parents.

    Arrays have room for more than is used.

    Attributes
    ----------
    blocks : int64 array (components, 4)
        Components that are asked for, the largest first, and the ends of the rows, entries and links of each.
    rows : int64 array (rows, 3)
        The state of the parents, the terms that ask for it, as bits, and the end of its entries.
    entries : int64 array (entries, 3)
        One for each state of the root in which a term is alive: all states that the component knows then, these terms,
        and the state of the root with the place of its probability, as :func:`pack_entry` packs them.
    links : int32 array
        The rows of all parts of the component, entry after entry; -1 for a part that no term asks for.
    slots : int32 array
        A hash table of the rows of the component at hand; -1 where there is none.
    """

    blocks: np.ndarray
    rows: np.ndarray
    entries: np.ndarray
    links: np.ndarray
    slots: np.ndarray


# --- sets of nodes ----------------------------------------------------------------------------------------------------


@kernel
def find_components(held, closed, families):  # type: ignore[no-untyped-def]
    """The components of what each set ``closed`` (m,) has beside ``held`` (m,) -> starts (m + 1,), and components and
    the known nodes that each depends on, as bits.

    Two nodes are in one component if the table of a node of the closed set holds both.
    """
    m, n_nodes = len(held), len(families)
    starts = np.empty(m + 1, np.int64)
    starts[0] = 0
    found, depends = np.empty(m * 2 + 16, np.int64), np.empty(m * 2 + 16, np.int64)
    count = 0
    for s in range(m):
        left = closed[s] & ~held[s]
        while left:
            group, around = left & -left, np.int64(0)
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
            if count == len(found):  # a loop compiles sooner than numpy's append
                more_found, more_depends = np.empty(2 * count, np.int64), np.empty(2 * count, np.int64)
                for i in range(count):
                    more_found[i], more_depends[i] = found[i], depends[i]
                found, depends = more_found, more_depends
            found[count], depends[count] = group, around & ~group
            count += 1
            left &= ~group
        starts[s + 1] = count
    return starts, found[:count].copy(), depends[:count].copy()


@kernel
def find_alike(held, network, packed, alike):  # type: ignore[no-untyped-def]
    """The first of the states ``packed`` (u,) that agrees at the nodes ``held`` (q,), into ``alike`` (u, q)."""
    n_patterns = len(packed)
    level = 4
    while 1 << level < 2 * n_patterns:
        level += 1
    size = 1 << level
    slots = np.empty(size, np.int32)
    for place in range(len(held)):
        known = 0
        for v in range(len(network.fields)):
            if (held[place] >> v) & 1:
                known |= network.fields[v]
        for slot in range(size):
            slots[slot] = -1
        for pattern in range(n_patterns):
            slot = _first_slot(packed[pattern] & known, level)
            while slots[slot] >= 0 and (packed[slots[slot]] ^ packed[pattern]) & known:
                slot = (slot + 1) & (size - 1)
            if slots[slot] < 0:
                slots[slot] = pattern
            alike[pattern, place] = slots[slot]


@kernel
def _first_slot(state, level):  # type: ignore[no-untyped-def]
    """Among 2^level slots. The highest bits of a product are those that all bits of the state have a part in.

    One product alone would send states that differ in few fields to neighbouring slots.
    """
    mixed = np.uint64(state) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64(mixed >> np.uint64(64 - level))


# --- which terms are alive --------------------------------------------------------------------------------------------


@kernel
def find_looks(mask, gates):  # type: ignore[no-untyped-def]
    """The terms that look at any of the nodes of a ``mask``, as bits."""
    looks = 0
    for i in range(len(gates.nodes)):
        if (mask >> gates.nodes[i]) & 1:
            looks |= gates.looks[i]
    return looks


@kernel
def find_passed(state, gates, network, passed):  # type: ignore[no-untyped-def]
    """What each of the nodes looked at lets pass in a ``state`` of all, into ``passed`` (n,)."""
    for i in range(len(gates.nodes)):
        v = gates.nodes[i]
        passed[i] = gates.words[gates.rows[v] + ((state & network.fields[v]) >> network.shifts[v])]


@kernel
def find_asked(held, nodes, passed, asked):  # type: ignore[no-untyped-def]
    """Of ``asked``, as bits, what those of the ``nodes`` (n,) let pass that are held."""
    for i in range(len(nodes)):  # without a branch: which nodes are held cannot be guessed
        asked &= passed[i] | (((held >> nodes[i]) & 1) - 1)
    return asked


# --- demand -----------------------------------------------------------------------------------------------------------


@kernel
def pack_entry(state, cell):  # type: ignore[no-untyped-def]
    """A state below 2^16 and a place in tables, in one integer."""
    return state | (cell << 16)


@kernel
def unpack_entry(entry):  # type: ignore[no-untyped-def]
    """``state, cell`` of an integer."""
    return entry & 0xFFFF, entry >> 16


@kernel
def ask_at_ideals(ideals, masks, gates, network, packed, alike, want):  # type: ignore[no-untyped-def]
    """The terms that ask for each component at the ideals, for each pattern: bits into ``want`` (l, u).

    A term that looks at nothing in a component does not ask for it: its value is 1. ``masks`` (p,) are the components.
    """
    n_own, n_patterns = want.shape
    passed, here, looks = np.empty(len(gates.nodes), np.int64), np.empty(n_own, np.int64), np.empty(n_own, np.int64)
    for j in range(n_own):
        here[j] = 0
        looks[j] = find_looks(masks[ideals.own[j]], gates)
    for pattern in range(n_patterns):
        find_passed(packed[pattern], gates, network, passed)
        for place in range(len(ideals.held)):
            if alike[pattern, place] == pattern:
                asked = find_asked(ideals.held[place], gates.nodes, passed, gates.words[0])
                if asked:
                    for j in range(ideals.starts[place], ideals.starts[place + 1]):
                        here[ideals.left[j]] |= asked
        for j in range(n_own):
            want[j, pattern] = here[j] & looks[j]
            here[j] = 0


@kernel
def find_demand(components, own, gates, network, packed, want, demand, limit):  # type: ignore[no-untyped-def]
    """The states in which patterns ``packed`` (u,) and larger components ask for each component.

    All that is asked of a component is looked up at one time, so that its rows stay in the cache. Returns the demand,
    in larger arrays where there was no room; how many blocks and rows it has; and the row of each of the components
    ``own`` for each pattern (u, l), -1 where nothing asks. It ends early where there are more rows than ``limit``.
    """
    n_components = len(components.masks)
    rows, entries, links, slots = demand.rows, demand.entries, demand.links, demand.slots
    blocks = np.empty((n_components, 4), np.int64)
    at = np.empty((len(packed), len(own)), np.int64)
    own_of, block_of = np.empty(n_components, np.int64), np.empty(n_components, np.int64)
    for component in range(n_components):
        own_of[component], block_of[component] = -1, -1
    for j in range(len(own)):
        own_of[own[j]] = j
        for pattern in range(len(packed)):
            at[pattern, j] = -1
    n_blocks = n_rows = n_entries = n_links = np.int64(0)  # a plain 0 is a type of its own: helpers compile again
    for component in range(n_components):
        first_row, j = n_rows, own_of[component]
        known, looks = components.known[component], find_looks(components.masks[component], gates)
        asks = range(components.whole_starts[component], components.whole_starts[component + 1])
        n_asks = len(packed) if j >= 0 else 0
        for ask in asks:
            block = block_of[components.wholes[ask]]
            if block >= 0:
                n_asks += blocks[block, 2] - (blocks[block - 1, 2] if block else 0)
        if n_asks == 0:
            continue
        level = 1
        while 1 << level < 2 * n_asks:
            level += 1
        rows = _with_room(rows, n_rows, n_rows + n_asks)
        if 1 << level > len(slots):
            slots = np.empty(1 << level, np.int32)
        for slot in range(1 << level):
            slots[slot] = -1
        if j >= 0:
            for pattern in range(len(packed)):
                if want[j, pattern]:
                    row = _ask(packed[pattern] & known, want[j, pattern], level, n_rows, rows, slots)
                    n_rows = max(n_rows, row + 1)
                    at[pattern, j] = row
        for ask in asks:
            whole = components.wholes[ask]
            block = block_of[whole]
            if block < 0:
                continue
            n_parts = components.part_starts[whole + 1] - components.part_starts[whole]
            link = (blocks[block - 1, 3] if block else 0) + components.which[ask]
            for entry in range(blocks[block - 1, 2] if block else 0, blocks[block, 2]):
                asked = entries[entry, 1] & looks
                if asked:
                    row = _ask(entries[entry, 0] & known, asked, level, n_rows, rows, slots)
                    n_rows = max(n_rows, row + 1)
                    links[link] = row
                else:
                    links[link] = -1
                link += n_parts
        if n_rows > limit:
            break
        if n_rows > first_row:
            n_parts = components.part_starts[component + 1] - components.part_starts[component]
            most = (n_rows - first_row) * network.cards[components.roots[component]]
            entries = _with_room(entries, n_entries, n_entries + most)
            if n_links + most * n_parts > len(links):
                more = np.empty(2 * (n_links + most * n_parts), np.int32)
                for i in range(n_links):
                    more[i] = links[i]
                links = more
            before = n_entries
            n_entries = _enter(components.roots[component], first_row, n_rows, n_entries, gates, network, rows, entries)
            n_links += (n_entries - before) * n_parts
            block_of[component] = n_blocks
            blocks[n_blocks, 0], blocks[n_blocks, 1] = component, n_rows
            blocks[n_blocks, 2], blocks[n_blocks, 3] = n_entries, n_links
            n_blocks += 1
    return Demand(blocks, rows, entries, links, slots), n_blocks, n_rows, at


@kernel
def _with_room(array, used, needed):  # type: ignore[no-untyped-def]
    """The first ``used`` rows of an array, in one with room for more than ``needed`` where there is too little."""
    if needed <= len(array):
        return array
    larger = np.empty((2 * needed, array.shape[1]), np.int64)
    for i in range(used):
        for j in range(array.shape[1]):
            larger[i, j] = array[i, j]
    return larger


@kernel
def _ask(state, asked, level, n_rows, rows, slots):  # type: ignore[no-untyped-def]
    """The row of a state of the parents, among 2^level slots; a new one gets the number ``n_rows``."""
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
def _enter(root, first_row, last_row, n_entries, gates, network, rows, entries):  # type: ignore[no-untyped-def]
    """The entries of some rows of a component with this root; returns how many there are now."""
    parents, n_parents = np.empty(64, np.int64), 0
    for u in range(root):
        if network.strides[root, u] > 0:
            parents[n_parents] = u
            n_parents += 1
    for row in range(first_row, last_row):
        state, word = rows[row, 0], rows[row, 1]
        cell = network.offsets[root]
        for j in range(n_parents):
            u = parents[j]
            cell += network.strides[root, u] * ((state & network.fields[u]) >> network.shifts[u])
        for x in range(network.cards[root]):
            alive = word & gates.words[gates.rows[root] + x if gates.rows[root] >= 0 else 0]
            if alive == 0 or network.tables[cell + x] == 0.0:
                continue
            entries[n_entries, 0], entries[n_entries, 1] = state | (x << network.shifts[root]), alive
            entries[n_entries, 2] = pack_entry(x, cell + x)
            n_entries += 1
        rows[row, 2] = n_entries
    return n_entries


# --- values -----------------------------------------------------------------------------------------------------------


@kernel
def fill_demand(demand, n_blocks, components, gates, network, values):  # type: ignore[no-untyped-def]
    """``q_c(R; s) = sum over x of P(x | s) g(x) * prod over parts of q_c'(R; s, x)`` into ``values`` (rows, t).

    Terms that do not look at a component have 1 there, whatever is left of its states.
    """
    width = values.shape[1]
    product, outside = np.empty(width), np.empty(width)
    most = 1
    for card in network.cards:  # compiles sooner than the maximum of an array
        most = max(most, card)
    functions, asked = np.empty((most, width)), np.empty(64, np.int64)
    for block in range(n_blocks - 1, -1, -1):
        component = demand.blocks[block, 0]
        v, looks = components.roots[component], find_looks(components.masks[component], gates)
        n_parts = components.part_starts[component + 1] - components.part_starts[component]
        for j in range(width):
            outside[j] = 1.0 - ((looks >> j) & 1)
        for x in range(network.cards[v]):
            passes = gates.passes[gates.rows[v] + x if gates.rows[v] >= 0 else 0]
            for j in range(width):
                functions[x, j] = passes[j] * (1.0 - outside[j])
        link = demand.blocks[block - 1, 3] if block else 0
        entry = demand.blocks[block - 1, 2] if block else 0
        for row in range(demand.blocks[block - 1, 1] if block else 0, demand.blocks[block, 1]):
            total = values[row]
            for j in range(width):
                total[j] = outside[j]
            while entry < demand.rows[row, 2]:
                x, cell = unpack_entry(demand.entries[entry, 2])
                weight, function = network.tables[cell], functions[x]
                n_links = 0
                for part in range(link, link + n_parts):
                    if demand.links[part] >= 0:
                        asked[n_links] = demand.links[part]
                        n_links += 1
                if n_links == 0:
                    for j in range(width):
                        total[j] += weight * function[j]
                elif n_links == 1:
                    one = values[asked[0]]
                    for j in range(width):
                        total[j] += weight * function[j] * one[j]
                else:
                    one, other = values[asked[0]], values[asked[1]]
                    for j in range(width):
                        product[j] = weight * function[j] * one[j] * other[j]
                    for more in range(2, n_links):
                        one = values[asked[more]]
                        for j in range(width):
                            product[j] *= one[j]
                    for j in range(width):
                        total[j] += product[j]
                entry += 1
                link += n_parts


@kernel
def add_terms(ideals, at, values, gates, network, packed, alike, out):  # type: ignore[no-untyped-def]
    """Add ``prod over components of q_c`` times the coefficients to ``out`` (u, q, k), summed over the terms.

    Only at patterns, ``packed`` states (u,), that are the first of those ``alike`` (u, q). ``at`` (u, l) has the rows
    of components.
    """
    n_outputs, width = gates.coefficients.shape
    passed, product, summed = np.empty(len(gates.nodes), np.int64), np.empty(width), np.empty(width)
    for pattern in range(len(at)):
        find_passed(packed[pattern], gates, network, passed)
        for place in range(len(ideals.held)):
            if alike[pattern, place] != pattern:
                continue
            asked = find_asked(ideals.held[place], gates.nodes, passed, gates.words[0])
            first, last = ideals.starts[place], ideals.starts[place + 1]
            added = out[pattern, place]
            if np.int64(count_bits(np.uint64(asked))) <= _FEW:
                while asked:
                    term = np.int64(count_bits(np.uint64((asked & -asked) - 1)))
                    asked &= asked - 1
                    single = 1.0
                    for j in range(first, last):
                        row = at[pattern, ideals.left[j]]
                        if row >= 0:
                            single *= values[row, term]
                    for output in range(n_outputs):
                        added[output] += single * gates.coefficients[output, term]
                continue
            for i in range(width):
                product[i] = (asked >> i) & 1
            for j in range(first, last):
                row = at[pattern, ideals.left[j]]
                if row >= 0:
                    one = values[row]
                    for i in range(width):
                        product[i] *= one[i]
            for output in range(n_outputs):
                coefficient = gates.coefficients[output]
                for i in range(width):
                    summed[i] = product[i] * coefficient[i]
                left = width
                while left > 8:  # folded, since vectors are added up side by side
                    half = (left // 2 + 7) // 8 * 8
                    for i in range(left - half):
                        summed[i] += summed[half + i]
                    left = half
                total = 0.0
                for i in range(left):
                    total += summed[i]
                added[output] += total


@kernel
def hand_on(here, alike, ideal_of, out):  # type: ignore[no-untyped-def]
    """``out[u, i] += here[first of those alike, ideal_of[i]]``: what an ideal has, for each ideal around it."""
    n_patterns, n_around, n_outputs = out.shape
    for pattern in range(n_patterns):
        for i in range(n_around):
            place = ideal_of[i]
            first = alike[pattern, place]
            for output in range(n_outputs):
                out[pattern, i, output] += here[first, place, output]
