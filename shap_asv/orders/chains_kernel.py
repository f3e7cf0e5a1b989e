"""Compiled inner loops of the Markov chains in :mod:`shap_asv.orders.chains`. Importing this module imports numba.

Random numbers come from xoshiro256++ (Blackman and Vigna), whose four words of state are an argument: the same state
gives the same draws, and nothing global is touched. One random word serves a whole step: its upper 53 bits choose the
position, its lowest bit is the coin.
"""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, inline="always")
def next_word(state: np.ndarray) -> np.uint64:
    """The next 64 random bits; ``state`` is a uint64 array (4,), not all zero."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    total = s0 + s3
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    return result


@njit(nogil=True, cache=True, inline="always")
def choose_position(word: np.uint64, keep: np.ndarray, other: np.ndarray) -> int:
    """A position from an alias table: slot i with probability ``keep[i]``, else ``other[i]``."""
    point = np.float64(word >> np.uint64(11)) * (keep.size / 9007199254740992.0)
    slot = int(point)
    return slot if point - slot < keep[slot] else other[slot]


@njit(nogil=True, cache=True)
def swap_steps(
    sequence: np.ndarray, precedes: np.ndarray, keep: np.ndarray, other: np.ndarray, state: np.ndarray, steps: int
) -> None:
    """Run the chain of adjacent swaps on ``sequence`` (int32 (n,)), in place."""
    for _ in range(steps):
        word = next_word(state)
        i = choose_position(word, keep, other)
        if word & np.uint64(1):
            a, b = sequence[i], sequence[i + 1]
            if not precedes[a, b]:
                sequence[i], sequence[i + 1] = b, a


@njit(nogil=True, cache=True)
def bounded_steps(
    sequence: np.ndarray,
    bound: np.ndarray,
    precedes: np.ndarray,
    keep: np.ndarray,
    other: np.ndarray,
    state: np.ndarray,
    steps: int,
) -> int:
    """Run the chain on ``sequence`` together with its bounding list ``bound`` (int32 (n,), -1 = empty), in place.

    Returns the number of steps done: fewer than ``steps`` when ``sequence`` is empty (size 0) and the list is full.
    """
    n = bound.size
    placed = 0
    for i in range(n):
        placed += bound[i] >= 0
    follow = sequence.size > 0
    for step in range(steps):
        if placed == n and not follow:
            return step
        word = next_word(state)
        i = choose_position(word, keep, other)
        coin = word & np.uint64(1) == np.uint64(1)
        a, b = bound[i], bound[i + 1]
        if follow:
            u, v = sequence[i], sequence[i + 1]
            # what the list moves down must not be moved up by the same coin: it takes the coin's other side
            if coin != (u == b) and not precedes[u, v]:
                sequence[i], sequence[i + 1] = v, u
        if coin and (a < 0 or b < 0 or not precedes[a, b]):
            bound[i], bound[i + 1] = b, a
            if bound[n - 1] < 0:
                bound[n - 1] = placed
                placed += 1
    return steps
