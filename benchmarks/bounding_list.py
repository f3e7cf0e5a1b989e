"""Huber's bounding list: the perfect sampler by swaps of neighbours, against which the one in the package is measured.

A step picks an adjacent pair of positions and a fair coin, and swaps the two features there if the coin says so and
neither precedes the other. Features are numbered along a topological order. The *bounding list* holds some of them at
positions, with the meaning: each stands in the sequence at or before its position in the list. It starts with feature 0
at the last position, sees the same swaps, and whenever its last position falls empty the next feature enters there.
What the list moves down takes the other side of the coin. Once all features are in the list it equals the sequence,
wherever that began.

Randomness is read once (Wilson): a block of time *forgets* when a list started afresh with it is full at its end. The
states at the beginnings of forgetting blocks, the first one left out, are independent and exactly uniform.
"""

from typing import TYPE_CHECKING

import numpy as np

from shap_asv.kernels import kernel

if TYPE_CHECKING:
    from shap_asv.orders import CausalOrder

BATCH = 1024  # random words made together
TRIALS = 3  # the longest of three: another run is as short with probability 3/4 on average


def draw_by_bounding_list(order: "CausalOrder", n: int, rng: np.random.Generator) -> np.ndarray:
    """Exactly uniform orders of a connected order: (n, n_features). About n_features^3 ln(n_features) steps each."""
    size = order.n_features
    start = np.array(order.topological_indices)
    precedes = np.zeros((size + 1, size + 1), dtype=bool)  # the number after the last is an empty place of the list
    precedes[:-1, :-1] = order.ancestor_matrix[np.ix_(start, start)]
    state = rng.integers(1, 2**64, size=4, dtype=np.uint64)
    anywhere = np.arange(size, dtype=np.int32)
    block = max(bounded_steps(anywhere, precedes, state, 2**62, True) for _ in range(TRIALS))
    sequence = np.arange(size, dtype=np.int32)
    draws = np.empty((n, size), dtype=np.int64)
    done = -1  # the first block that forgets only makes the chain stationary
    while done < n:
        before = sequence.copy()
        if bounded_steps(sequence, precedes, state, block, False) < block:
            if done >= 0:
                draws[done] = start[before]
            done += 1
    return draws


@kernel
def fill_words(state: np.ndarray, words: np.ndarray) -> None:
    """Fill ``words`` (uint64) with random bits by xoshiro256++ (Blackman and Vigna); ``state`` (4,) moves on."""
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
def bounded_steps(sequence: np.ndarray, precedes: np.ndarray, state: np.ndarray, steps: int, until_full: bool) -> int:
    """Run the chain and a fresh list, for ``steps`` steps or until the list is full; when it was, or ``steps``."""
    n = sequence.size
    bound = np.full(n, n, dtype=np.int32)
    bound[n - 1] = 0
    placed = 1
    full = steps
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
            swap = (coin != (u == b)) & (not precedes[u, v])
            sequence[i] = v if swap else u
            sequence[i + 1] = u if swap else v
            swap = coin & (not precedes[a, b])
            bound[i] = b if swap else a
            bound[i + 1] = a if swap else b
            if bound[n - 1] == n:
                bound[n - 1] = placed
                placed += 1
                if placed == n:
                    full = done + k
                    if until_full:
                        return full
        done += 2 * BATCH
    return full
