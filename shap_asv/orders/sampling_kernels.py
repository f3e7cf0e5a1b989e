"""Compiled inner loops of :mod:`shap_asv.orders.sampling`. Importing this module imports numba.

Random numbers come from xoshiro256++ (Blackman and Vigna), whose four words of state are an argument: the same state
gives the same draws, and nothing global is touched. Words are made a batch at a time, so that the generator's state
stays in registers.
"""

import numpy as np

from shap_asv.kernels import kernel


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
def redraw_times(
    bounds: np.ndarray,
    cause_starts: np.ndarray,
    causes: np.ndarray,
    effect_starts: np.ndarray,
    effects: np.ndarray,
    state: np.ndarray,
    sweeps: int,
) -> None:
    """Draw the time of each feature in turn, between its causes and its effects, ``sweeps`` times over, in place.

    ``bounds`` (n, 2) holds two sets of times; both are drawn with the same random numbers. Causes of feature v are
    ``causes[cause_starts[v]:cause_starts[v + 1]]``, and effects likewise.
    """
    n = bounds.shape[0]
    words = np.empty(n, dtype=np.uint64)
    for _ in range(sweeps):
        fill_words(state, words)
        for v in range(n):
            u = np.float64(words[v] >> np.uint64(11)) / 9007199254740992.0  # 2^53
            low_after, high_after, low_before, high_before = 0.0, 0.0, 1.0, 1.0
            for j in range(cause_starts[v], cause_starts[v + 1]):
                low_after = max(low_after, bounds[causes[j], 0])
                high_after = max(high_after, bounds[causes[j], 1])
            for j in range(effect_starts[v], effect_starts[v + 1]):
                low_before = min(low_before, bounds[effects[j], 0])
                high_before = min(high_before, bounds[effects[j], 1])
            # rounding may leave the interval of causes and effects, and must not
            bounds[v, 0] = max(low_after, min(low_before, (1.0 - u) * low_after + u * low_before))
            bounds[v, 1] = max(high_after, min(high_before, (1.0 - u) * high_after + u * high_before))
