"""Sets of features as packed bits: 64 features a word, as many words as it takes.

A coalition of ``n`` features is a row of ``ceil(n / 64)`` unsigned 64-bit words, feature ``v`` being bit ``v % 64`` of
word ``v // 64``. Nothing here or in what builds on it knows a largest number of features.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

WORD_BITS = 64


def n_words(n_features: int) -> int:
    """Words needed for ``n_features`` bits; at least one, so that arrays of words are never empty."""
    return max(1, -(-n_features // WORD_BITS))


def pack(members: np.ndarray) -> np.ndarray:
    """Bool array (m, n) -> uint64 array (m, n_words(n)). O(size).

    Examples
    --------
    >>> pack(np.array([[True, False, True]]))
    array([[5]], dtype=uint64)
    """
    m, n = members.shape
    padded = np.zeros((m, n_words(n) * WORD_BITS), dtype=bool)
    padded[:, :n] = members
    # the explicit byte order makes bit v mean feature v on every machine
    return np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def unpack(words: np.ndarray, n_features: int) -> np.ndarray:
    """uint64 array (m, w) -> bool array (m, n_features), the inverse of :func:`pack`. O(size)."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=n_features, bitorder="little").view(bool)


def reached(start: int, links: Sequence[int], within: int = -1) -> int:
    """All nodes that ``links`` lead to from a set of nodes, itself included, without leaving ``within``."""
    seen, border = 0, start
    while border:
        seen |= border
        beyond = 0
        for v in bits_of(border):
            beyond |= links[v]
        border = beyond & within & ~seen
    return seen


def components(members: int, neighbours: Sequence[int]) -> list[int]:
    """The sets that edges between ``members`` connect, that of the lowest node first."""
    found = []
    while members:
        found.append(reached(members & -members, neighbours, members))
        members &= ~found[-1]
    return found


def masks(members: Sequence[Iterable[int]], n_features: int) -> np.ndarray:
    """One packed row per iterable of feature indices -> uint64 array (len(members), n_words(n_features))."""
    rows = np.zeros((len(members), n_features), dtype=bool)
    for row, indices in zip(rows, members, strict=True):
        row[list(indices)] = True
    return pack(rows)


def bits_of(integer: int) -> Iterator[int]:
    """Positions of the one-bits of a Python integer, ascending: the members of a set kept as one integer.

    Examples
    --------
    >>> list(bits_of(0b1010))
    [1, 3]
    """
    while integer:
        lowest = integer & -integer
        yield lowest.bit_length() - 1
        integer ^= lowest


def row_ids(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows of ``words`` (m, w) in sorted order.

    Returns ``first`` (k,), the index of one row of each kind, and ``ids`` (m,) with ``words == words[first][ids]``.
    O(w m log m). Words are folded in one at a time, so that only plain integers are ever sorted.
    """
    _, first, ids = np.unique(words[:, 0], return_index=True, return_inverse=True)
    for column in words.T[1:]:
        values, codes = np.unique(column, return_inverse=True)
        if len(values) > 1:
            _, first, ids = np.unique(ids * len(values) + codes, return_index=True, return_inverse=True)
    return first, ids
