"""Compiled: shares of background rows, for all subsets of a leaf's conditions. Importing this module imports numba.

Background rows are bits. Per column there is one row of words for each code that occurs, holding who has *at most* that
code (categories: exactly that code); a condition is two of them combined, and

    F(Q) * number of rows = popcount of the conditions of Q combined by "and"

is found for all 2^d sets Q along a binary counter: one "and" per set, over words of 64 rows.
"""

from collections import namedtuple

import numpy as np

from shap_asv.kernels import kernel

# n_rows; words (bitsets, w); row_at (n, codes + 1): the bitset of a code in its column, for codes up to the column's
# NaN code, where a number means "at most" the code and a category "equal"; -1: nobody.
Ground = namedtuple("Ground", "n_rows words row_at")


@kernel
def fill_ground(codes, nan_code, categorical, ground):  # type: ignore[no-untyped-def]
    """Set the bits of ``codes`` (n, m). ``ground.row_at`` holds 0 for the codes that occur, else -1."""
    used = 0
    for column in range(codes.shape[0]):
        rows = ground.row_at[column]
        for code in range(nan_code[column] + 1):
            if rows[code] >= 0:
                rows[code] = used
                used += 1
        for r in range(codes.shape[1]):
            ground.words[rows[codes[column, r]], r >> 6] |= np.uint64(1) << np.uint64(r & 63)
        if categorical[column]:
            continue
        below = -1
        for code in range(nan_code[column]):  # who has a code has at most any larger one
            if rows[code] < 0:
                rows[code] = below
            elif below >= 0:
                for w in range(ground.words.shape[1]):
                    ground.words[rows[code], w] |= ground.words[below, w]
            below = rows[code]


@kernel
def popcount(bits):  # type: ignore[no-untyped-def]
    """Bits of a word that are set, by sums over pairs, nibbles and bytes."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def count_reached(leaves, ground, stack, reached):  # type: ignore[no-untyped-def]
    """reached (leaves,) += background rows in each leaf."""
    for leaf in range(len(reached)):
        for w in range(ground.words.shape[1]):
            stack[0, w] = ~np.uint64(0)
        for entry in range(leaves.start[leaf], leaves.start[leaf + 1]):
            meet_condition(leaves, entry, ground, stack[1])
            for w in range(ground.words.shape[1]):
                stack[0, w] &= stack[1, w]
        for w in range(ground.words.shape[1]):
            reached[leaf] += popcount(stack[0, w])


@kernel
def count_ground(leaves, span, ground, outside_at, outside, stack):  # type: ignore[no-untyped-def]
    """outside[B] += rows that satisfy all conditions outside of B, for the leaves ``span``.

    stack (2 d + 1, w) is room: the conditions, and running "and"s.
    """
    n_words = ground.words.shape[1]
    for leaf in range(span[0], span[1]):
        start = leaves.start[leaf]
        d = leaves.start[leaf + 1] - start
        for j in range(d):
            meet_condition(leaves, start + j, ground, stack[j])
        base = outside_at[leaf - span[0]]
        full = (1 << d) - 1
        outside[base + full] += ground.n_rows
        for w in range(n_words):
            stack[d, w] = ~np.uint64(0)
        for wanted in range(1, full + 1):
            # the "and" of the bits above the lowest one was left at its depth when that set had its turn
            low = 0
            while not (wanted >> low) & 1:
                low += 1
            depth = 0
            for j in range(low + 1, d):
                depth += (wanted >> j) & 1
            above, own, both = stack[d + depth], stack[low], stack[d + depth + 1]
            count = np.uint64(0)
            for w in range(n_words):
                both[w] = above[w] & own[w]
                count += popcount(both[w])
            outside[base + (full ^ wanted)] += count


@kernel
def meet_condition(leaves, entry, ground, bits):  # type: ignore[no-untyped-def]
    """bits (w,) = the background rows that satisfy the condition of one path entry."""
    rows = ground.row_at[leaves.feature[entry]]
    last = leaves.nan_code[leaves.feature[entry]]
    offset = leaves.offset[entry]
    for w in range(len(bits)):
        bits[w] = 0
    if offset >= 0:
        for code in range(last + 1):
            if leaves.allowed[offset + code] and rows[code] >= 0:
                for w in range(len(bits)):
                    bits[w] |= ground.words[rows[code], w]
        return
    low, high = leaves.low[entry], leaves.high[entry]
    if high >= low and rows[high] >= 0:
        for w in range(len(bits)):
            bits[w] = ground.words[rows[high], w]
        if low > 0 and rows[low - 1] >= 0:
            for w in range(len(bits)):
                bits[w] &= ~ground.words[rows[low - 1], w]
    if leaves.nan[entry] and rows[last] >= 0:
        for w in range(len(bits)):
            bits[w] |= ground.words[rows[last], w]
