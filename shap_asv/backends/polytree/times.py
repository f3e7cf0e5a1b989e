"""Arrival times on a polytree: the structure-only half of the polytree algorithm.

Give every feature an independent uniform time in [0, 1], and keep only outcomes in which causes come before their
effects: the order of the times is a uniform topological order. Cut an edge u - v of a polytree, and what hangs on u's
side gives u's own time the density (up to a constant)

    D_{u|v}(s) = product over the other neighbours z of u of   ∫_s^1 D_{z|u}   if z is an effect of u,
                                                               ∫_0^s D_{z|u}   if z is a cause of u,

a polynomial with positive coefficients in the basis ``s^i (1 - s)^(N - 1 - i)``; these are Atkinson's numbers of orders
by position, times binomials. Products of functions are convolutions of coefficients, so all 2(n - 1) densities cost
O(n^2) each at worst, and nothing ever cancels.

Given the time of v, the time of its effect u has the density D_{u|v} cut off below, and the time of its cause the
density cut off above. The *operators* of an edge average a function of u's time under that density. Functions are known
at Q points between 0 and a *cut* t, and at Q points between t and 1, for each of T cuts. They are expectations given a
time, so they stay between 0 and 1 and vary slowly even where the densities span hundreds of orders of magnitude.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

# Points of the rule between two neighbouring points of a function.
_INNER = 12


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts t, their weights, and the points of functions: relative positions in [0, 1], the same below and above t.

    Attributes
    ----------
    times, weights : float64 (T,)
        Gauss-Legendre on [0, 1]: exact for polynomials of degree 2T - 1.
    points : float64 (Q,)
        Relative positions: ``t * points`` below the cut, ``t + (1 - t) * points`` above it.
    inner : float64 (Q + 1, g); inner_weights : float64 (Q + 1, g)
        A rule for each gap between 0, the points, and 1.
    lagrange : float64 (Q + 1, g, Q)
        Values of the points' Lagrange polynomials at the inner points.
    """

    times: np.ndarray
    weights: np.ndarray
    points: np.ndarray
    inner: np.ndarray
    inner_weights: np.ndarray
    lagrange: np.ndarray

    def below(self) -> np.ndarray:
        """Times of the inner points below each cut: (T, Q + 1, g)."""
        return self.times[:, None, None] * self.inner

    def above(self) -> np.ndarray:
        """Times of the inner points above each cut: (T, Q + 1, g)."""
        return self.times[:, None, None] + (1 - self.times)[:, None, None] * self.inner


def make_cuts(n_cuts: int, n_points: int) -> Cuts:
    """Cuts and points by Gauss-Legendre rules."""
    t, w = np.polynomial.legendre.leggauss(n_cuts)
    x, v = np.polynomial.legendre.leggauss(n_points)
    points = (x + 1) / 2
    gaps = np.concatenate([[0.0], points, [1.0]])
    g, gw = np.polynomial.legendre.leggauss(_INNER)
    length = np.diff(gaps)[:, None]
    inner = gaps[:-1, None] + length * (g + 1) / 2
    barycentric = np.sqrt((1 - x**2) * v)
    barycentric[1::2] *= -1
    share = barycentric / (inner[..., None] - points)
    lagrange = share / share.sum(axis=-1, keepdims=True)
    return Cuts((t + 1) / 2, w / 2, points, inner, length / 2 * gw, lagrange)


@dataclass(frozen=True, eq=False)
class Density:
    """``D(s) = sum over i of coefficients[i] * s^i (1 - s)^(N - 1 - i)``, N coefficients, all positive or zero."""

    coefficients: np.ndarray

    def __call__(self, s: np.ndarray) -> np.ndarray:
        """D at times s, up to a constant factor, by Horner's rule in the ratio of s and 1 - s that is at most 1."""
        early = s <= 0.5
        small, large = np.where(early, s, 1 - s), np.where(early, 1 - s, s)
        ratio = small / large
        total = np.zeros_like(ratio)
        for rising, falling in zip(self.coefficients[::-1], self.coefficients, strict=True):
            total = total * ratio + np.where(early, rising, falling)
        return total * large ** (len(self.coefficients) - 1)

    def cumulative(self, effect: bool) -> np.ndarray:
        """Coefficients of ``∫_s^1 D`` (for an effect of the feature at s) or ``∫_0^s D`` (for a cause), N + 1 of them.

        ``∫_s^1`` of Bernstein polynomial number i of degree N - 1 is the sum of numbers 0 .. i of degree N, over N.
        """
        n = len(self.coefficients)
        heights = self.coefficients / _binomials(n - 1)  # in Bernstein form, up to a constant
        if effect:
            sums = np.append(np.cumsum(heights[::-1])[::-1], 0.0)
        else:
            sums = np.insert(np.cumsum(heights), 0, 0.0)
        out = sums * _binomials(n)
        return out / out.max()


def _binomials(n: int) -> np.ndarray:
    """C(n, i) for all i, over the largest."""
    i = np.arange(1, n + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(n - i + 1) - np.log(i))])
    return np.exp(logs - logs.max())


@dataclass(frozen=True, eq=False)
class EdgeOperators:
    """Averages over the time of one end u of an edge, given the time of the other end v.

    ``below`` holds for both below the cut, ``above`` for both above it, (T, Q, Q) each. Where the cut lies between
    them, ``escape`` (T, Q) is the probability of that: from an effect u up to its cause v, that u is above although v
    is below; from a cause u down to its effect v, that u is below although v is above.
    The side that v can reach from the cut itself (``above`` on the way up, ``below`` on the way down) has a row more,
    (T, Q + 1, Q): the last one is for v at the cut.
    """

    below: np.ndarray
    escape: np.ndarray
    above: np.ndarray

    @property
    def n_bytes(self) -> int:
        return self.below.nbytes + self.escape.nbytes + self.above.nbytes


def up_operators(density: Density, cuts: Cuts) -> EdgeOperators:
    """Averages over the time of an effect with this density, given the time of its cause. O(T Q (N + Q))."""
    under, over = gap_integrals(density, cuts)
    mass_under, mass_over = under.sum(axis=-1), over.sum(axis=-1)  # (T, Q + 1): Lagrange polynomials sum to one
    total_over = mass_over.sum(axis=1)
    rest = _from_right(under)[:, 1:]  # from each point to the cut
    left = _from_right(mass_under)[:, 1:] + total_over[:, None]
    tail = _from_right(over)
    return EdgeOperators(
        _share(rest, left),
        _share(np.broadcast_to(total_over[:, None], left.shape), left),
        np.roll(_share(tail, _from_right(mass_over)), -1, axis=1),  # from the cut itself comes last
    )


def down_operators(density: Density, cuts: Cuts) -> EdgeOperators:
    """Averages over the time of a cause with this density, given the time of its effect. O(T Q (N + Q))."""
    under, over = gap_integrals(density, cuts)
    mass_under, mass_over = under.sum(axis=-1), over.sum(axis=-1)
    total_under = mass_under.sum(axis=1)
    head = np.cumsum(under, axis=1)
    before = np.cumsum(over, axis=1)[:, :-1]  # from the cut to each point
    right = total_under[:, None] + np.cumsum(mass_over, axis=1)[:, :-1]
    return EdgeOperators(
        _share(head, np.cumsum(mass_under, axis=1)),
        _share(np.broadcast_to(total_under[:, None], right.shape), right),
        _share(before, right),
    )


def gap_integrals(density: Density, cuts: Cuts) -> tuple[np.ndarray, np.ndarray]:
    """``∫ D * Lagrange polynomial`` over each gap below and above each cut: two arrays (T, Q + 1, Q)."""
    t = cuts.times[:, None, None]
    under = density(cuts.below()) * cuts.inner_weights * t
    over = density(cuts.above()) * cuts.inner_weights * (1 - t)
    return (
        np.einsum("tgi,giq->tgq", under, cuts.lagrange, optimize=True),
        np.einsum("tgi,giq->tgq", over, cuts.lagrange, optimize=True),
    )


def _from_right(array: np.ndarray) -> np.ndarray:
    return np.cumsum(array[:, ::-1], axis=1)[:, ::-1]


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole; 0 where the whole has underflowed, which is where no order ever is."""
    if part.ndim > whole.ndim:
        whole = whole[..., None]
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


@dataclass(frozen=True, eq=False)
class TimeModel:
    """Densities of a polytree, worked out once; operators for the edges that are asked for.

    Attributes
    ----------
    parents, children : sequences of sequences of int
        The cover relation; its undirected graph has no cycle.
    """

    parents: Sequence[Sequence[int]]
    children: Sequence[Sequence[int]]
    _sides: dict[tuple[int, int], Density] = field(default_factory=dict)

    def side(self, u: int, v: int) -> Density:
        """D_{u|v}: the time of u, by what hangs on its side of the edge u - v (v = -1: by everything)."""
        stack = [(u, v)]
        while stack:
            a, b = stack[-1]
            if (a, b) in self._sides:
                stack.pop()
                continue
            missing = [(z, a) for z in (*self.parents[a], *self.children[a]) if z != b and (z, a) not in self._sides]
            if missing:
                stack.extend(missing)
                continue
            coefficients = np.ones(1)
            for effect, neighbours in ((False, self.parents[a]), (True, self.children[a])):
                for z in neighbours:
                    if z != b:
                        coefficients = np.convolve(coefficients, self._sides[z, a].cumulative(effect))
                        coefficients = coefficients / coefficients.max()
            self._sides[a, b] = Density(coefficients)
            stack.pop()
        return self._sides[u, v]
