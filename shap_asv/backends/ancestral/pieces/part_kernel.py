"""Numba kernels that take pieces of a network apart: their first nodes, and the pieces that they fall into without."""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import kernel


class Pieces(NamedTuple):
    """Pieces of a network, the largest first; parts of a piece stand after it.

    Attributes
    ----------
    masks, roots : int64 arrays (p,)
        The nodes of each piece as bits, and the one that is summed out first.
    known : int64 array (p,)
        The fields (:class:`Fields`) of the known nodes that it depends on.
    part_starts, parts : int64 arrays (p + 1,) and (all parts,)
        The pieces that it falls into without its root.
    """

    masks: np.ndarray
    roots: np.ndarray
    known: np.ndarray
    part_starts: np.ndarray
    parts: np.ndarray


class Fields(NamedTuple):
    """States of all nodes in one integer: node v has the bits ``masks[v]``, which start at ``shifts[v]``."""

    shifts: np.ndarray
    masks: np.ndarray


@kernel
def take_apart(seeds, families, sequence):  # type: ignore[no-untyped-def]
    """Some pieces (as bits of nodes) and all that they fall into -> masks, roots, part_starts, parts, in no order.

    The root of a piece is the one that comes first in a ``sequence`` (nodes,) in which causes precede their effects.
    """
    room = max(64, 2 * len(seeds))
    masks, roots = np.empty(room, np.int64), np.empty(room, np.int64)
    part_starts, parts = np.empty(room + 1, np.int64), np.empty(room, np.int64)
    part_starts[0] = 0
    slots = np.empty(0, np.int64)
    found = np.empty(64, np.int64)
    count, n_parts, taken = np.int64(0), 0, 0  # a plain 0 is a type of its own, for which helpers were compiled again
    while taken < len(seeds) or taken < count:
        if count + 64 + len(seeds) > len(masks):
            masks, roots, part_starts = _enlarge(masks), _enlarge(roots), _enlarge(part_starts)
        if 2 * len(masks) > len(slots):
            slots = _number_all(masks, count, 2 * len(masks))
        if count == 0:
            for seed in seeds:
                count = _find(seed, masks, slots, count)[1]
        if n_parts + 64 > len(parts):
            parts = _enlarge(parts)
        piece = masks[taken]
        for v in sequence:
            if (piece >> v) & 1:
                roots[taken] = v
                break
        for j in range(_fall_apart(piece & ~(np.int64(1) << roots[taken]), families, found)):
            parts[n_parts], count = _find(found[j], masks, slots, count)
            n_parts += 1
        taken += 1
        part_starts[taken] = n_parts
    return masks[:count].copy(), roots[:count].copy(), part_starts[: count + 1].copy(), parts[:n_parts].copy()


@kernel
def _fall_apart(left, families, found):  # type: ignore[no-untyped-def]
    """The pieces of some nodes into ``found``, and how many: a table of a member holds both of two neighbours."""
    count = 0
    while left:
        group = left & -left
        grown = True
        while grown:
            grown = False
            for v in range(len(families)):
                if (left >> v) & 1 and families[v] & group and families[v] & left & ~group:
                    group |= families[v] & left
                    grown = True
        found[count] = group
        count += 1
        left &= ~group
    return count


@kernel
def _find(mask, masks, slots, count):  # type: ignore[no-untyped-def]
    """The number of a piece, and how many there are; a new one gets the next."""
    slot = _first_slot(mask, len(slots))
    while slots[slot] >= 0:
        if masks[slots[slot]] == mask:
            return slots[slot], count
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot] = count
    masks[count] = mask
    return count, count + 1


@kernel
def _number_all(masks, count, least):  # type: ignore[no-untyped-def]
    """A table of slots, a power of two and no fewer than ``least``, that has the first masks."""
    size = 64
    while size < least:
        size *= 2
    slots = np.empty(size, np.int64)
    for slot in range(size):  # compiles sooner than an array that is full of them
        slots[slot] = -1
    for number in range(count):
        slot = _first_slot(masks[number], size)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = number
    return slots


@kernel
def _first_slot(mask, size):  # type: ignore[no-untyped-def]
    mixed = np.uint64(mask) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(24)) & np.uint64(size - 1))


@kernel
def _enlarge(array):  # type: ignore[no-untyped-def]
    """The same with room for four times as much."""
    larger = np.empty(4 * len(array), np.int64)
    for i in range(len(array)):  # compiles sooner than the assignment of an array
        larger[i] = array[i]
    return larger


@kernel
def reach(pieces, own, seen):  # type: ignore[no-untyped-def]
    """Pieces ``own`` and all that they fall into, in no order. ``seen`` (p,) is all False, and left so."""
    found = np.empty(len(seen), np.int64)
    count = 0
    for piece in own:
        seen[piece] = True
        found[count] = piece
        count += 1
    taken = 0
    while taken < count:
        piece = found[taken]
        taken += 1
        for j in range(pieces.part_starts[piece], pieces.part_starts[piece + 1]):
            if not seen[pieces.parts[j]]:
                seen[pieces.parts[j]] = True
                found[count] = pieces.parts[j]
                count += 1
    for i in range(count):
        seen[found[i]] = False
    return found[:count].copy()
