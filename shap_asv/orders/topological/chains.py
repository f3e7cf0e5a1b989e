"""Bubley and Dyer's Markov chain on topological orders, within a stated distance of uniform.

A step picks an adjacent pair of positions (p, p+1) and a fair coin, and swaps the two features there if the coin says
so and neither precedes the other. Swaps are symmetric, so the uniform distribution is stationary.

Bubley and Dyer pick p with probability p (n - p) / K, K = (n^3 - n) / 6. Two coupled copies then approach each other
by a factor 1 - 1/K a step, in a distance that is at most floor(n^2 / 4) and at least 1 for different orders. So after

    K * ln(floor(n^2 / 4) / epsilon)

steps the distribution is within total variation ``epsilon`` of uniform, wherever the chain started.
"""

from collections.abc import Iterator
from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

STEPS_PER_CALL = 4_000_000  # a compiled call cannot be interrupted: keep each well below a second


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
    state = random_state(rng)
    steps = mixing_steps(size, epsilon)
    draws = np.empty((n, size), dtype=np.int64)
    for draw in draws:
        sequence = np.arange(size, dtype=np.int32)
        for count in calls(steps):
            swap_steps(sequence, precedes, keep, other, state, count)
        draw[:] = start[sequence]
    return draws


def _numbered(order: "CausalOrder") -> tuple[np.ndarray, np.ndarray]:
    """Features along a topological order, and who precedes whom by their numbers in it, bool (n, n)."""
    start = np.array(order.topological_indices)
    return start, order.ancestor_matrix[np.ix_(start, start)]


def random_state(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(1, 2**64, size=4, dtype=np.uint64)


def calls(rounds: int, steps: int = 1) -> Iterator[int]:
    """Rounds of so many steps each, cut into compiled calls; between two calls Python can be interrupted."""
    most = max(1, STEPS_PER_CALL // steps)
    for done in range(0, rounds, most):
        yield min(most, rounds - done)


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
