"""Numba kernels of :mod:`~shap_asv.backends.ancestral.pieces.demanded`: tables of pieces filled, and put to use.

Loops over terms go over all of them, dead or alive, as vector instructions do.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.backends.ancestral.pieces.demand_kernel import find_asked, find_looks, find_passed, unpack_entry
from shap_asv.kernels import count_bits, kernel


class TermsAtOnce(NamedTuple):
    """Terms that go through the tables together, with a few without effect that fill the lanes of vectors.

    Attributes
    ----------
    passes : float64 array (g, t)
        The rows of the gates, as 0 and 1.
    groups : int64 array (t,)
        The group of each.
    coefficients : float64 array (k, t)
    """

    passes: np.ndarray
    groups: np.ndarray
    coefficients: np.ndarray


#: Terms, or groups of them, in one integer.
WORD = 62
# Terms alive up to which each is added by itself.
_FEW = 16


@kernel
def fill_wanted(wanted, n_blocks, asking, terms, values):  # type: ignore[no-untyped-def]
    """``q_c(R; s) = sum over x of P(x | s) g(x) * prod over parts of q_c'(R; s, x)`` into ``values`` (rows, t).

    Groups that do not look at a piece have 1 there, whatever is left of its states.
    """
    pieces, among, gates, factors = asking.pieces, asking.remains.among, asking.gates, asking.factors
    width = values.shape[1]
    product, outside = np.empty(width), np.empty(width)
    most = 1
    for card in factors.cards:  # compiles sooner than the maximum of an array
        most = max(most, card)
    functions, asked = np.empty((most, width)), np.empty(64, np.int64)
    for block in range(n_blocks - 1, -1, -1):
        piece = among[wanted.blocks[block, 0]]
        v, looks = pieces.roots[piece], find_looks(pieces.masks[piece], gates)
        n_parts = pieces.part_starts[piece + 1] - pieces.part_starts[piece]
        for j in range(width):
            outside[j] = 1.0 - ((looks >> terms.groups[j]) & 1)
        for x in range(factors.cards[v]):
            passes = terms.passes[gates.rows[v] + x if gates.rows[v] >= 0 else 0]
            for j in range(width):
                functions[x, j] = passes[j] * (1.0 - outside[j])
        link = wanted.blocks[block - 1, 3] if block else 0
        entry = wanted.blocks[block - 1, 2] if block else 0
        for row in range(wanted.blocks[block - 1, 1] if block else 0, wanted.blocks[block, 1]):
            total = values[row]
            for j in range(width):
                total[j] = outside[j]
            while entry < wanted.rows[row, 2]:
                x, cell = unpack_entry(wanted.entries[entry, 2])
                weight, function = factors.tables[cell], functions[x]
                n_links = 0
                for part in range(link, link + n_parts):
                    if wanted.links[part] >= 0:
                        asked[n_links] = wanted.links[part]
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
def add_pieces(remains, at, values, gates, fields, patterns, terms, out):  # type: ignore[no-untyped-def]
    """Add ``prod over pieces of q_c`` times the coefficients to ``out`` (u, q, k), summed over the terms.

    Only at patterns that are the first of those alike. ``at`` (u, l) has the rows of pieces; the gates are those of
    terms.
    """
    n_outputs, width = terms.coefficients.shape
    n_words = gates.words.shape[1]
    passed, asked = np.empty((n_words, len(gates.nodes)), np.int64), np.empty(n_words, np.int64)
    product, summed = np.empty(width), np.empty(width)
    for i in range(width):  # no word has bits for all lanes
        product[i] = 0.0
    for pattern in range(len(at)):
        for w in range(n_words):
            find_passed(patterns.packed[pattern], gates, w, fields, passed[w])
        for place in range(len(remains.held)):
            if patterns.alike[pattern, place] != pattern:
                continue
            n_alive = 0
            for w in range(n_words):
                asked[w] = find_asked(remains.held[place], gates.nodes, passed[w], gates.words[0, w])
                n_alive += np.int64(count_bits(np.uint64(asked[w])))
            first, last = remains.starts[place], remains.starts[place + 1]
            added = out[pattern, place]
            if n_alive <= _FEW:
                for w in range(n_words):
                    word = asked[w]
                    while word:
                        term = WORD * w + np.int64(count_bits(np.uint64((word & -word) - 1)))
                        word &= word - 1
                        single = 1.0
                        for j in range(first, last):
                            row = at[pattern, remains.pieces[j]]
                            if row >= 0:
                                single *= values[row, term]
                        for output in range(n_outputs):
                            added[output] += single * terms.coefficients[output, term]
                continue
            for w in range(n_words):
                word, start = asked[w], WORD * w
                for i in range(min(WORD, width - start)):
                    product[start + i] = (word >> i) & 1
            for j in range(first, last):
                row = at[pattern, remains.pieces[j]]
                if row >= 0:
                    one = values[row]
                    for i in range(width):
                        product[i] *= one[i]
            for output in range(n_outputs):
                coefficient = terms.coefficients[output]
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
def spread(alike, out):  # type: ignore[no-untyped-def]
    """What the first of patterns alike has in ``out`` (u, q, k), for all of them."""
    n_patterns, n_places, n_outputs = out.shape
    for pattern in range(n_patterns):
        for place in range(n_places):
            first = alike[pattern, place]
            if first != pattern:
                for output in range(n_outputs):
                    out[pattern, place, output] = out[first, place, output]
