"""Perfect sampling: exactly uniform orders of any partial order, by coupling from the past.

A uniform topological order is the order of the coordinates of a uniform point of the *order polytope*
{t in [0, 1]^n : t_u <= t_v when u precedes v} (:mod:`shap_asv.orders.topological.draws`). The polytope has a natural
Markov chain: take the features in turn, and draw the time of each afresh between the latest of its causes and the
earliest of its effects,

    t_v = (1 - u) a + u b,    a = max over causes t_p (or 0),   b = min over effects t_c (or 1),   u uniform.

The uniform distribution is stationary, and with the same u the new time can only grow with the old ones: the chain is
*monotone*. So two copies that start from all zeros and from all ones, and see the same random numbers, keep every other
copy between them.

Let them start at time -T of the past and run until now (Propp and Wilson). A chain that has been running for ever is
between them as well, it is exactly uniform now, and nothing but its order is asked for: once the intervals [low_v,
high_v] of no two features overlap, that order is known. If some still overlap, start earlier, and use the same random
numbers again where they have been used before. T decides what a draw costs, not what it is; so it may follow what
earlier draws took.

The distance between the copies falls as heat does from a rod as long as the longest chain of features, h: about h^2 to
2 h^2 sweeps of n steps have been enough on networks and ladders (measured, not proven). Swaps of neighbours in a
sequence, with which the same can be done (Huber's bounding list), need about n^3 ln(n) steps whatever the shape.

Rounding does no harm: each operation on floats is monotone too, and what lies between causes and effects is kept there.
"""

from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shap_asv.orders.topological.chains import calls, random_state

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

# how T follows the draws: it settles where about one in ten fails, which costs 1.5 T more
LONGER, SHORTER = 1.15, 0.985


class Links(NamedTuple):
    """Causes of feature v are ``causes[cause_starts[v]:cause_starts[v + 1]]``, and effects likewise."""

    cause_starts: np.ndarray
    causes: np.ndarray
    effect_starts: np.ndarray
    effects: np.ndarray


def draw_perfect(order: "CausalOrder", n: int, rng: np.random.Generator) -> np.ndarray:
    """Exactly uniform orders, independent of one another: (n, n_features)."""
    links = _links(order)
    start = np.array(order.topological_indices)
    state = random_state(rng)
    sweeps = LONGER * _sweeps_of_a_trial(links, state)
    draws = np.empty((n, order.n_features), dtype=np.int64)
    for draw in draws:
        sequence, enough = _from_the_past(links, state, ceil(sweeps))
        draw[:] = start[sequence]
        sweeps *= SHORTER if enough else LONGER
    return draws


def longest_chain(order: "CausalOrder") -> int:
    """Features in the longest chain of an order, one cause of the next."""
    height = [0] * order.n_features
    for v in order.topological_indices:
        height[v] = 1 + max((height[p] for p in order.parents[v]), default=0)
    return max(height)


def steps_from_the_past(order: "CausalOrder") -> int:
    """About how many times are drawn for an order, restarts included: n (4 h^2 + 100), by the longest chain h.

    Examples
    --------
    >>> from shap_asv.orders import CausalOrder
    >>> steps_from_the_past(CausalOrder.from_edges([("a", "c"), ("b", "c"), ("c", "d")]))
    544
    """
    return order.n_features * (4 * longest_chain(order) ** 2 + 100)


def _from_the_past(links: Links, state: np.ndarray, sweeps: int) -> tuple[np.ndarray, bool]:
    """One draw, and whether so many ``sweeps`` of the past were enough."""
    past: list[
        tuple[np.ndarray, int]
    ] = []  # the state of randomness at the beginning of a piece, its length; last first
    while True:
        bounds = _widest(links)
        past.append((state.copy(), sweeps))
        _sweep(bounds, links, state, sweeps)
        for began, length in reversed(past[:-1]):
            _sweep(bounds, links, began.copy(), length)
        sequence = _sequence(bounds)
        if sequence is not None:
            return sequence, len(past) == 1
        sweeps = ceil(sum(length for _, length in past) / 2)


def _sweeps_of_a_trial(links: Links, state: np.ndarray) -> int:
    """How long two copies took once to meet; a guess of T."""
    bounds = _widest(links)
    total = 0
    while _sequence(bounds) is None:
        sweeps = max(4, total // 16)
        _sweep(bounds, links, state, sweeps)
        total += sweeps
    return total


def _widest(links: Links) -> np.ndarray:
    """What is known of all times before any step: at least 0, at most 1."""
    return np.repeat([[0.0, 1.0]], len(links[0]) - 1, axis=0)


def _sweep(bounds: np.ndarray, links: Links, state: np.ndarray, sweeps: int) -> None:
    from shap_asv.orders.topological.chains_kernel import redraw_times  # numba is imported only where a chain runs

    for count in calls(sweeps, len(bounds)):
        redraw_times(bounds, *links, state, count)


def _sequence(bounds: np.ndarray) -> np.ndarray | None:
    """The order of all times that lie within ``bounds``, or None while they leave it open.

    Features are numbered along a topological order and the sort is stable: times that a float cannot tell apart still
    come out cause first.
    """
    sequence = np.argsort(bounds[:, 0], kind="stable")
    low, high = bounds[sequence].T
    known = low == high
    settled = (high[:-1] < low[1:]) | (known[:-1] & known[1:])
    return sequence if settled.all() else None


def _links(order: "CausalOrder") -> Links:
    """Causes and effects of the features, which are numbered along ``order.topological_indices``."""
    number = {v: k for k, v in enumerate(order.topological_indices)}
    arrays = []
    for neighbours in (order.parents, order.children):
        lists = [[number[u] for u in neighbours[v]] for v in order.topological_indices]
        arrays.append(np.cumsum([0, *map(len, lists)]))
        arrays.append(np.array(list(chain.from_iterable(lists)), dtype=np.int64))
    return Links(*arrays)
