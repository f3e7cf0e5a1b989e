"""Random numbers in groups: spread evenly inside of a group, independent from group to group.

A mean of draws is more accurate if the draws do not clump (Latin hypercube sampling): of ``s`` draws, exactly one falls
into each of ``s`` equal intervals, in every coordinate. Every single draw is as random as before, so the mean stays
unbiased; but the draws know of one another, so that the spread between *draws* tells nothing about the error. So draws
come in groups, each a Latin hypercube of its own, and the spread between the means of the *groups* does.

Scrambled Sobol points do more: they are spread evenly over pairs, triples, ... of coordinates, too, so that the error
of a mean of smooth functions falls almost as 1 / s instead of 1 / sqrt(s). That takes large groups: eight of 64 rather
than fifty of 10.
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


class Coordinates(np.random.Generator):
    """A generator whose first uniform numbers are given: rows of ``uniforms`` (k, n), for draws that share a Sobol set.

    :func:`spread_uniforms` hands them out from the top; past the last one it draws its own.

    Examples
    --------
    >>> given = Coordinates(np.random.PCG64(0), np.array([[0.2, 0.7]]))
    >>> spread_uniforms(given, 1, 2, n_groups=1).tolist()
    [[0.2, 0.7]]
    """

    def __init__(self, bits: np.random.BitGenerator, uniforms: np.ndarray) -> None:
        super().__init__(bits)
        self._left = uniforms

    def take(self, count: int, n: int) -> np.ndarray:
        """At most ``count`` of the rows that are left; none where there are not ``n`` numbers in a row."""
        count = count if n == self._left.shape[1] else 0
        taken, self._left = self._left[:count], self._left[count:]
        return taken


def spread_uniforms(rng: np.random.Generator, n_coordinates: int, n_draws: int, n_groups: int) -> np.ndarray:
    """Uniform numbers in [0, 1), one row per coordinate: float64 (n_coordinates, n_draws).

    In each row and each group of s draws, one number lies in each interval ``[j / s, (j + 1) / s)``.

    Examples
    --------
    >>> numbers = spread_uniforms(np.random.default_rng(0), 3, 8, n_groups=2)
    >>> np.sort((4 * numbers).astype(int).reshape(3, 2, 4), axis=2)[0].tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    if isinstance(rng, Coordinates) and len(given := rng.take(n_coordinates, n_draws)):
        left = n_coordinates - len(given)
        return np.concatenate([given, spread_uniforms(rng, left, n_draws, n_groups)]) if left else given
    group = group_of_draws(n_draws, n_groups)
    sizes = np.bincount(group, minlength=n_groups)
    starts = np.cumsum(sizes) - sizes
    # sorted by group and then at random, a draw comes out at a random place of its own group
    places = np.argsort(group + rng.random((n_coordinates, n_draws)), axis=1)
    intervals = places - starts[group]
    spread = (intervals + rng.random((n_coordinates, n_draws))) / sizes[group]
    return np.minimum(spread, np.nextafter(1.0, 0.0))  # (s - 1 + 0.999...) / s may round to 1


def sobol_uniforms(rng: np.random.Generator, n_coordinates: int, n_draws: int, n_groups: int) -> np.ndarray:
    """Uniform numbers in [0, 1), one row per coordinate: float64 (n_coordinates, n_draws), as :func:`spread_uniforms`.

    Each group is a scrambled Sobol set of its own: every draw is uniform, so that means are unbiased; the groups are
    independent. A group whose size is not a power of two is the beginning of a larger set. Past the 21,201 coordinates
    that there are directions for, coordinates are spread as Latin hypercubes. O(n_coordinates n_draws).

    Examples
    --------
    >>> numbers = sobol_uniforms(np.random.default_rng(0), 2, 32, n_groups=2)
    >>> cells = (4 * numbers).astype(int)  # of the 4 x 4 squares, each holds one draw of each group
    >>> sorted((4 * cells[0] + cells[1])[:16].tolist()) == list(range(16))
    True
    """
    from scipy.stats import qmc

    sizes = np.bincount(group_of_draws(n_draws, n_groups), minlength=n_groups)
    depth = max(int(sizes.max()) - 1, 0).bit_length()
    n_sobol = min(n_coordinates, qmc.Sobol.MAXDIM)
    result = np.empty((n_coordinates, n_draws))
    start = 0
    for size in sizes:
        if n_sobol:
            result[:n_sobol, start : start + size] = qmc.Sobol(n_sobol, seed=rng).random_base2(depth)[:size].T
        start += int(size)
    if n_coordinates > n_sobol:
        result[n_sobol:] = spread_uniforms(rng, n_coordinates - n_sobol, n_draws, n_groups)
    return result
