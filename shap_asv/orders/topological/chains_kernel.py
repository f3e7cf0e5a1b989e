"""Compiled inner loops of the Markov chains in :mod:`shap_asv.orders.topological.chains`. Importing it imports numba.

Random numbers come from xoshiro256++ (Blackman and Vigna), whose four words of state are an argument: the same state
gives the same draws, and nothing global is touched. Words are made a batch at a time, so that the generator's state
stays in registers. Swaps are written as selections instead of branches: a processor cannot predict a fair coin.
"""

import numpy as np

from shap_asv.kernels import kernel

BATCH = 1024


@kernel
def fill_words(state: np.ndarray, words: np.ndarray) -> None:
    """Fill ``words`` (uint64) with random bits; ``state`` is a uint64 array (4,), not all zero, and moves on."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for k in range(words.size):
        total = s0 + s3
        words[k] = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
        shifted = s1 << np.uint64(17)
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@kernel
def swap_steps(
    sequence: np.ndarray, precedes: np.ndarray, keep: np.ndarray, other: np.ndarray, state: np.ndarray, steps: int
) -> None:
    """Run the chain of adjacent swaps on ``sequence`` (int32 (n,)), in place.

    ``keep`` and ``other`` are an alias table of positions: slot i with probability ``keep[i]``, else ``other[i]``. The
    upper 53 bits of a random word choose the position, its lowest bit is the coin.
    """
    words = np.empty(BATCH, dtype=np.uint64)
    scale = keep.size / 9007199254740992.0  # 2^53
    done = 0
    while done < steps:
        fill_words(state, words)
        for k in range(min(BATCH, steps - done)):
            word = words[k]
            point = np.float64(word >> np.uint64(11)) * scale
            slot = np.int64(point)
            # arithmetic, because a choice between two loads would be compiled to a branch
            alias = other[slot]
            i = alias + (slot - alias) * np.int64(point - slot < keep[slot])
            a, b = sequence[i], sequence[i + 1]
            swap = (word & np.uint64(1) != np.uint64(0)) & (not precedes[a, b])
            sequence[i] = b if swap else a
            sequence[i + 1] = a if swap else b
        done += BATCH


@kernel
def bounded_steps(sequence: np.ndarray, bound: np.ndarray, precedes: np.ndarray, state: np.ndarray, steps: int) -> None:
    """Run the chain on ``sequence`` and on its bounding list ``bound`` (both int32 (n,)), in place.

    Places of ``bound`` that are empty hold n, and ``precedes`` has a row and a column of False for it. Positions are
    uniform; that 31 bits choose them a little unevenly does no harm, since swaps are symmetric at every position. The
    coin is a bit of its own.
    """
    n = bound.size
    placed = 0
    for place in range(n):
        placed += bound[place] < n
    words = np.empty(BATCH, dtype=np.uint64)
    done = 0
    while done < steps:
        fill_words(state, words)
        for k in range(min(2 * BATCH, steps - done)):
            half = words[k >> 1] >> np.uint64(32 * (k & 1)) & np.uint64(0xFFFFFFFF)
            i = np.int64((half >> np.uint64(1)) * np.uint64(n - 1) >> np.uint64(31))
            coin = half & np.uint64(1) != np.uint64(0)
            a, b = bound[i], bound[i + 1]
            u, v = sequence[i], sequence[i + 1]
            # what the list moves down must not be moved up by the same coin: it takes the coin's other side
            swap = (coin != (u == b)) & (not precedes[u, v])
            sequence[i] = v if swap else u
            sequence[i + 1] = u if swap else v
            swap = coin & (not precedes[a, b])
            bound[i] = b if swap else a
            bound[i + 1] = a if swap else b
            if bound[n - 1] == n:
                bound[n - 1] = placed
                placed += 1
        done += 2 * BATCH


@kernel
def steps_to_forget(bound: np.ndarray, precedes: np.ndarray, state: np.ndarray, steps: int) -> int:
    """Run the bounding list alone until it is full, for at most ``steps`` steps; how many it took."""
    n = bound.size
    placed = 0
    for place in range(n):
        placed += bound[place] < n
    words = np.empty(BATCH, dtype=np.uint64)
    for step in range(steps):
        if placed == n:
            return step
        k = step % (2 * BATCH)
        if k == 0:
            fill_words(state, words)
        half = words[k >> 1] >> np.uint64(32 * (k & 1)) & np.uint64(0xFFFFFFFF)
        i = np.int64((half >> np.uint64(1)) * np.uint64(n - 1) >> np.uint64(31))
        a, b = bound[i], bound[i + 1]
        swap = (half & np.uint64(1) != np.uint64(0)) & (not precedes[a, b])
        bound[i] = b if swap else a
        bound[i + 1] = a if swap else b
        if bound[n - 1] == n:
            bound[n - 1] = placed
            placed += 1
    return steps
