"""Random numbers in groups: spread evenly inside of a group, independent from group to group.

A mean of draws is more accurate if the draws do not clump (Latin hypercube sampling): of ``s`` draws, exactly one falls
into each of ``s`` equal intervals, in every coordinate. Every single draw is as random as before, so the mean stays
unbiased; but the draws know of one another, so that the spread between *draws* tells nothing about the error. So draws
come in groups, each a Latin hypercube of its own, and the spread between the means of the *groups* does.
"""

import numpy as np


def group_of_draws(n_draws: int, n_groups: int) -> np.ndarray:
    """The group of each draw, int (n_draws,): consecutive draws, sizes that differ by one at most.

    Examples
    --------
    >>> group_of_draws(5, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    return np.arange(n_draws) * n_groups // n_draws


def spread_uniforms(rng: np.random.Generator, n_coordinates: int, n_draws: int, n_groups: int) -> np.ndarray:
    """Uniform numbers in [0, 1), one row per coordinate: float64 (n_coordinates, n_draws).

    In each row and each group of s draws, one number lies in each interval ``[j / s, (j + 1) / s)``.

    Examples
    --------
    >>> numbers = spread_uniforms(np.random.default_rng(0), 3, 8, n_groups=2)
    >>> np.sort((4 * numbers).astype(int).reshape(3, 2, 4), axis=2)[0].tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    group = group_of_draws(n_draws, n_groups)
    sizes = np.bincount(group, minlength=n_groups)
    starts = np.cumsum(sizes) - sizes
    # sorted by group and then at random, a draw comes out at a random place of its own group
    places = np.argsort(group + rng.random((n_coordinates, n_draws)), axis=1)
    intervals = places - starts[group]
    spread = (intervals + rng.random((n_coordinates, n_draws))) / sizes[group]
    return np.minimum(spread, np.nextafter(1.0, 0.0))  # (s - 1 + 0.999...) / s may round to 1
