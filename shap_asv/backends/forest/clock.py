"""Clocks: the time axis on which subtrees of a causal forest become independent.

A uniform topological order of a forest is the order of independent exponential delays: v arrives
``Exp(subtree size of v)`` after its parent. With ``y = exp(-time)`` in (0, 1], a feature with subtree size s has not
arrived with probability ``y**s``, and every expectation of the forest algorithm is a polynomial in y. Two operations
are needed, on functions known at Q Gauss-Legendre points of [0, 1]:

    integrate:  ∫ F(y) dy / y                                                      (at the top)
    arrive_s:   (K_s F)(y) = ∫ s (y/z)**s F(z) dz / z   over z from y to 1           (below a feature of size s)

``K_s F`` is the expectation of F at the time since an arrival at rate s, 0 before it.

Q points integrate polynomials ``F(y)/y`` of degree 2Q - 1 exactly, and ``K_s`` is exact on polynomials of degree below
Q. Fewer will do where degrees are large. A polynomial f of degree s that arises here has Bernstein coefficients of the
size of the term at most (the expected factor after k arrivals), so that ``|f(y)| <= (|y| + |1 - y|)**s``, which is
``cosh(u)**s`` on the ellipse of parameter ``exp(u)`` around [0, 1]: its Chebyshev coefficients fall as
``exp(-j**2 / (2 s))``, and Q points that take j = Q, or j = 2Q for the integral, below the rounding of floats are as
good as exact.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

# Numbers of points are rounded up to these, and above to multiples of 16: a few clocks serve all groups.
_STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64)
# -log of what is neglected of a polynomial.
_ROUNDING = 36.0
# Points of the inner rule for K_s, on an exponential scale cut where it has fallen to 1e-20.
_INNER = 64
_CUT = 46.0


@dataclass(frozen=True, eq=False)
class Clock:
    """Points on the time axis, and ``K_s`` at them for each subtree size that is needed.

    Attributes
    ----------
    points : float64 (Q,)
        y, from 1 down to 0.
    weights : float64 (Q,)
        ``∫ F(y) dy / y = sum of weights * F``.
    sizes : tuple of int
        Subtree sizes s with a matrix.
    arrivals : float64 (len(sizes), Q, Q)
        ``K_s``: ``F @ arrivals[s]`` are its values at the points.
    """

    points: np.ndarray
    weights: np.ndarray
    sizes: tuple[int, ...]
    arrivals: np.ndarray


def count_points(degree: int, largest: int) -> int:
    """Points for members of ``degree`` features together, the largest of them with ``largest``.

    Examples
    --------
    >>> count_points(8, 1), count_points(60, 30), count_points(1000, 500)
    (4, 32, 192)
    """
    exact = max((degree + 1) // 2, largest + 1)
    smooth = 1 + int(np.ceil(np.sqrt(_ROUNDING * max(2 * largest, degree / 2))))
    needed = min(exact, smooth)
    return next((q for q in _STEPS if q >= needed), -(-needed // 16) * 16)


@lru_cache(maxsize=64)
def make_clock(n_points: int, sizes: tuple[int, ...]) -> Clock:
    """A clock with so many Gauss-Legendre points, for these subtree sizes."""
    nodes, node_weights = np.polynomial.legendre.leggauss(n_points)
    points = 1 - (nodes + 1) / 2
    barycentric = np.sqrt((1 - nodes**2) * node_weights)
    barycentric[1::2] *= -1
    arrivals = np.empty((len(sizes), n_points, n_points))
    for matrix, size in zip(arrivals, sizes, strict=True):
        matrix[:] = _arrival(size, points, barycentric).T
    return Clock(points, 0.5 * node_weights / points, sizes, arrivals)


def _arrival(size: int, points: np.ndarray, barycentric: np.ndarray) -> np.ndarray:
    """``K_size`` as a matrix (points, points).

    With ``z = y exp(x / size)`` the integral is ``∫ exp(-x) F(z) dx``, of a function that is entire in x.
    """
    length = -size * np.log(points)
    nodes, node_weights = np.polynomial.legendre.leggauss(max(_INNER, len(points)))
    reach = np.minimum(length, _CUT)[:, None]
    x = reach * (nodes + 1) / 2
    z = np.minimum(points[:, None] * np.exp(x / size), 1.0)
    matrix = np.einsum("ig,igk->ik", reach / 2 * node_weights * np.exp(-x), _interpolation(z, points, barycentric))
    # what arrives has not been there before: the rule is held to this, which removes its rounding
    matrix *= (-np.expm1(-length) / matrix.sum(axis=1))[:, None]
    return matrix


def _interpolation(z: np.ndarray, points: np.ndarray, barycentric: np.ndarray) -> np.ndarray:
    """Values at z of the Lagrange polynomials of the points: (..., points)."""
    gap = z[..., None] - points
    hit = gap == 0
    gap[hit] = 1.0
    share = barycentric / gap
    share /= share.sum(axis=-1, keepdims=True)
    at_point = hit.any(axis=-1)
    share[at_point] = hit[at_point]
    return share
