"""Clocks: the time axis on which subtrees of a causal forest become independent.

A uniform topological order of a forest is the order of independent exponential delays: v arrives
``Exp(subtree size of v)`` after its parent. With ``y = exp(-time)`` in (0, 1], a feature with subtree size s has not
arrived with probability ``y**s``, and every expectation of the forest algorithm is a polynomial in y. Two operations
are needed, on functions known at the points of a clock:

    integrate:  ∫ F(y) dy / y                                                      (at the top)
    arrive_s:   (K_s F)(y) = ∫ s (y/z)**s F(z) dz / z   over z from y to 1           (below a feature of size s)

``K_s F`` is the expectation of F at the time since an arrival at rate s, 0 before it.

**Exact clocks** have Q Gauss-Legendre points on [0, 1]. Integration is exact for polynomials ``F(y)/y`` of degree
2Q - 1, and ``K_s`` is exact on polynomials of degree below Q, which the Q values determine. **Panel clocks** split
[0, 1] into panels that shrink geometrically towards y = 1, where subtrees of a thousand features move, with 16 points
each; ``K_s`` then carries its value from panel to panel. They serve groups whose degree is too large for an exact
clock; every attribution they give is checked by its efficiency.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

# Largest exact clock: beyond it the panels have fewer operations.
EXACT_LIMIT = 64
PANEL_POINTS = 16
# Features on a path below the top, up to which each panel clock serves; the recursion has no limit.
COARSE_DEPTH = 10
FINE_DEPTH = 32
_STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64)
# Points of the inner rule for K_s, on an exponential scale cut where it has fallen to 1e-20.
_INNER = 64
_CUT = 46.0


@dataclass(frozen=True, eq=False)
class Clock:
    """Points on the time axis, and ``K_s`` at them for each subtree size that is needed.

    Attributes
    ----------
    points : float64 (J, p)
        y at each point: J panels of p points, from y = 1 down to y = 0.
    weights : float64 (J, p)
        ``∫ F(y) dy / y = sum of weights * F``.
    sizes : tuple of int
        Subtree sizes s with a matrix.
    local : float64 (len(sizes), J, p, p + 1)
        ``K_s`` within a panel: from the p values of F, values at its p points, and at its end.
    decay : float64 (len(sizes), J, p + 1)
        ``(y / y at the start of the panel)**s`` at the same places.
    """

    points: np.ndarray
    weights: np.ndarray
    sizes: tuple[int, ...]
    local: np.ndarray
    decay: np.ndarray


def exact_points(degree: int, largest: int) -> int:
    """Points of the exact clock for a group: enough to integrate, and to know each member's polynomial."""
    needed = max((degree + 1) // 2, largest + 1)
    return next((q for q in _STEPS if q >= needed), needed)


@lru_cache(maxsize=64)
def make_clock(edges: tuple[float, ...], n_points: int, sizes: tuple[int, ...]) -> Clock:
    """A clock with Gauss-Legendre points between the given values of y (from 1 down to 0)."""
    nodes, node_weights = _gauss(n_points)
    start, stop = np.array(edges[:-1])[:, None], np.array(edges[1:])[:, None]
    points = start + (stop - start) * (nodes + 1) / 2
    weights = (start - stop) / 2 * node_weights / points
    barycentric = np.sqrt((1 - nodes**2) * node_weights)
    barycentric[1::2] *= -1
    n_panels = len(points)
    local = np.empty((len(sizes), n_panels, n_points, n_points + 1))
    decay = np.empty((len(sizes), n_panels, n_points + 1))
    for row, size in enumerate(sizes):
        for j in range(n_panels):
            places = np.append(points[j], edges[j + 1])
            matrix, decay[row, j] = _arrival(size, edges[j], places, points[j], barycentric)
            local[row, j] = matrix.T
    return Clock(points, weights, sizes, local, decay)


def panel_edges(degree: int, depth: int) -> tuple[float, ...]:
    """1 - y shrinks from panel to panel until subtrees of ``degree`` features stand still.

    Paths of more features make sharper functions, which take panels of ratio sqrt(2) instead of 2.
    """
    per_octave = 1 if depth <= COARSE_DEPTH else 2
    n_panels = per_octave * max(1, int(np.ceil(np.log2(degree)))) + 1
    return (1.0, *(1.0 - 2.0 ** (-j / per_octave) for j in range(n_panels - 1, 0, -1)), 0.0)


@lru_cache(maxsize=64)
def _gauss(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of Gauss-Legendre quadrature on [-1, 1]."""
    return np.polynomial.legendre.leggauss(n_points)


def _arrival(
    size: int, start: float, places: np.ndarray, points: np.ndarray, barycentric: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``K_size`` on one panel as a matrix (places, points), and the decay from its start to each place.

    With ``z = y exp(x / size)`` the integral is ``∫ exp(-x) F(z) dx``, of a function that is entire in x.
    """
    with np.errstate(divide="ignore"):
        length = size * (np.log(start) - np.log(places))
    decay = np.exp(-length)
    nodes, node_weights = _gauss(_INNER)
    reach = np.minimum(length, _CUT)[:, None]
    x = reach * (nodes + 1) / 2
    z = np.minimum(places[:, None] * np.exp(x / size), start)
    matrix = np.einsum("ig,igk->ik", reach / 2 * node_weights * np.exp(-x), _interpolation(z, points, barycentric))
    # what arrives has not been there before: the rule is held to this, which removes its rounding
    matrix *= (-np.expm1(-length) / matrix.sum(axis=1))[:, None]
    return matrix, decay


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
