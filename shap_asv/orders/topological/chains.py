"""Markov chains on topological orders: for orders that neither fall apart nor have an affordable lattice.

Both chains pick an adjacent pair of positions (p, p+1) and a fair coin, and swap the two features there if the coin
says so and neither precedes the other. Swaps are symmetric, so the uniform distribution is stationary.

*Bubley and Dyer* pick p with probability p (n - p) / K, K = (n^3 - n) / 6. Two coupled copies then approach each other
by a factor 1 - 1/K a step, in a distance that is at most floor(n^2 / 4) and at least 1 for different orders. So after

    K * ln(floor(n^2 / 4) / epsilon)

steps the distribution is within total variation ``epsilon`` of uniform, wherever the chain started.

*Huber* makes it exact, with uniform p. Features are numbered along a topological order. A *bounding list* holds some
features at positions, with the meaning: each of them stands in the sequence at or before its position in the list. It
starts with feature 0 at the last position, is subject to the same swaps, and whenever its last position falls empty
the next feature enters there. The invariant survives because the feature at p + 1 of the list, if it stands at p in
the sequence, takes the other side of the coin. Once all n features are in the list, the positions of list and sequence
have the same sum, so they are equal: whatever the chain started from, it has forgotten it.

*Reading the randomness once* (Wilson): cut time into blocks of equal length. A block *forgets* when its own list,
started afresh with the block, is full at its end. The states of the chain at the beginnings of forgetting blocks, the
first one left out, are independent and exactly uniform. Block length is set by trial runs that the draws never see.
"""

from collections.abc import Iterator
from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

STEPS_PER_CALL = 4_000_000  # a compiled call cannot be interrupted: keep each well below a second
TRIALS = 3


def mixing_steps(n: int, epsilon: float) -> int:
    """Steps after which Bubley and Dyer's chain on n features is within ``epsilon`` of uniform.

    Examples
    --------
    >>> mixing_steps(10, 0.01)
    1291
    """
    return ceil((n**3 - n) / 6 * log(max(n**2 // 4, 1) / epsilon))


def position_weights(n: int) -> np.ndarray:
    """p (n - p) for the pairs of positions p = 1 .. n-1: how often Bubley and Dyer's chain looks at each."""
    return np.arange(1, n) * np.arange(n - 1, 0, -1)


def draw_mcmc(order: "CausalOrder", n: int, rng: np.random.Generator, epsilon: float) -> np.ndarray:
    """Orders from Bubley and Dyer's chain, each started afresh: (n, n_features). O(n_features^3 log) steps each."""
    from shap_asv.orders.topological.chains_kernel import swap_steps  # numba is imported only where a chain runs

    size = order.n_features
    start, precedes = _numbered(order)
    keep, other = alias_table(position_weights(size))
    state = _random_state(rng)
    steps = mixing_steps(size, epsilon)
    draws = np.empty((n, size), dtype=np.int64)
    for draw in draws:
        sequence = np.arange(size, dtype=np.int32)
        for count in _calls(steps):
            swap_steps(sequence, precedes, keep, other, state, count)
        draw[:] = start[sequence]
    return draws


def draw_perfect(order: "CausalOrder", n: int, rng: np.random.Generator) -> np.ndarray:
    """Exactly uniform orders by Huber's bounding list, randomness read once: (n, n_features).

    A draw takes about 1.5 blocks; a block about n_features^3 ln(n_features) steps (measured, not proven).
    """
    from shap_asv.orders.topological.chains_kernel import bounded_steps  # numba is imported only where a chain runs

    size = order.n_features
    start, precedes = _numbered(order)
    state = _random_state(rng)
    # the longest of three: another run is as short with probability 3/4 on average
    block = max(_steps_to_forget(precedes, state) for _ in range(TRIALS))
    sequence = np.arange(size, dtype=np.int32)
    draws = np.empty((n, size), dtype=np.int64)
    done = -1  # the first block that forgets only makes the chain stationary
    while done < n:
        before = sequence.copy()
        bound = _fresh_bound(size)
        for count in _calls(block):
            bounded_steps(sequence, bound, precedes, state, count)
        if bound.max() < size:
            if done >= 0:
                draws[done] = start[before]
            done += 1
    return draws


def _steps_to_forget(precedes: np.ndarray, state: np.ndarray) -> int:
    """How long one run of the bounding list takes until it is full."""
    from shap_asv.orders.topological.chains_kernel import steps_to_forget

    size = len(precedes) - 1
    bound = _fresh_bound(size)
    total = 0
    while bound.max() == size:
        total += steps_to_forget(bound, precedes, state, STEPS_PER_CALL)
    return total


def _fresh_bound(size: int) -> np.ndarray:
    """A bounding list that says nothing: feature 0 at the last position, all others empty (which is written as n)."""
    bound = np.full(size, size, dtype=np.int32)
    bound[-1] = 0
    return bound


def _numbered(order: "CausalOrder") -> tuple[np.ndarray, np.ndarray]:
    """Features along a topological order, and who precedes whom by their numbers in it.

    Bool (n + 1, n + 1): number n stands for an empty place, which nothing precedes and which precedes nothing.
    """
    start = np.array(order.topological_indices)
    precedes = np.zeros((len(start) + 1, len(start) + 1), dtype=bool)
    precedes[:-1, :-1] = order.ancestor_matrix[np.ix_(start, start)]
    return start, precedes


def _random_state(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(1, 2**64, size=4, dtype=np.uint64)


def _calls(steps: int) -> Iterator[int]:
    """Steps cut into compiled calls; between two calls Python can be interrupted."""
    for done in range(0, steps, STEPS_PER_CALL):
        yield min(STEPS_PER_CALL, steps - done)


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's table for drawing i with probability proportional to ``weights[i]`` in constant time.

    Returns ``keep`` (float64) and ``other`` (int64): choose a slot i uniformly, take i with probability ``keep[i]`` and
    ``other[i]`` otherwise.

    Examples
    --------
    >>> keep, other = alias_table(np.array([1, 3]))
    >>> keep.tolist(), other.tolist()
    ([0.5, 1.0], [1, 1])
    """
    size = len(weights)
    keep = weights * (size / weights.sum())
    other = np.arange(size)
    small = [i for i in range(size) if keep[i] < 1]
    large = [i for i in range(size) if keep[i] >= 1]
    while small and large:
        i, j = small.pop(), large[-1]
        other[i] = j
        keep[j] -= 1 - keep[i]
        if keep[j] < 1:
            small.append(large.pop())
    keep[small + large] = 1.0  # what rounding left over
    return keep, other
