"""Uniform topological orders, part by part, each in the cheapest way.

Drawing the next feature uniformly among those available ("random Kahn") is NOT uniform on orders: on ``a -> b, c`` it
gives ``c a b`` half of the time instead of a third. Every method here is exactly uniform.

Whatever the method, an order is drawn block by block (:mod:`shap_asv.orders.counting`): components are drawn apart and
interleaved by a random shuffle, stacked parts are drawn apart and put one after the other.

*Clocks* serve forests and *walks* any order whose ideals can be listed; both turn given random numbers into orders
(:func:`orders_of_clocks`, :func:`walk_lattice`). For the others there is coupling from the past.

*Times.* A topological order together with n sorted uniform numbers is a uniform point of the *order polytope* {t in [0,
1]^n : t_u <= t_v when u precedes v}, and the other way round: sort the times of a uniform point, and the order is
uniform.

*Coupling from the past.* For any order the polytope has a natural Markov chain: take the features in turn, and draw the
time of each afresh between the latest of its causes and the earliest of its effects,

    t_v = (1 - u) a + u b,    a = max over causes t_p (or 0),   b = min over effects t_c (or 1),   u uniform.

The uniform distribution is stationary, and with the same u the new time can only grow with the old ones: the chain is
*monotone*. So two copies that start from all zeros and from all ones, and see the same random numbers, keep every other
copy between them. Let them start at time -T of the past and run until now (Propp and Wilson). A chain that has been
running for ever is between them as well, it is exactly uniform now, and nothing but its order is asked for: once the
intervals [low_v, high_v] of no two features overlap, that order is known. If some still overlap, start earlier, and use
the same random numbers again where they have been used before. T decides what a draw costs, not what it is; so it may
follow what earlier draws took. The distance between the copies falls as heat does from a rod as long as the longest
chain of features, h: about h^2 to 2 h^2 sweeps of n steps have been enough on networks and ladders (measured, not
proven). Swaps of neighbours in a sequence, with which the same can be done (Huber's bounding list), need about n^3
ln(n) steps whatever the shape. Rounding does no harm: each operation on floats is monotone too, and what lies between
causes and effects is kept there.
"""

from collections.abc import Iterable
from copy import deepcopy
from functools import lru_cache
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shap_asv.arguments import Seed, check_count, generator_of
from shap_asv.costs import Cost
from shap_asv.errors import ArgumentError, BudgetExceededError
from shap_asv.orders.counting import decompose, ideals_up_to, subtree_sizes
from shap_asv.orders.lattice import IdealLattice, build_lattice, check_limit, scaled_down
from shap_asv.strata import spread_uniforms

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder
    from shap_asv.orders.uncertain.mixture import GraphMixture

#: Numbers that one array of sampled orders may hold: 8 GiB.
MOST_ENTRIES = 1 << 30
# Bytes of an order, per feature, while it is drawn and its prefixes are numbered; of an ideal that is listed for it.
_BYTES_PER_ORDER, _BYTES_PER_LISTED = 120, 200
STEPS_PER_CALL = 1_000_000  # a compiled call cannot be interrupted, and reads as many random numbers


def check_sample(n: int, n_features: int) -> int:
    """The number of orders of a sample that can be held in memory, or an error."""
    n = check_count(n, "n", "a number of orders")
    if n * n_features > MOST_ENTRIES:
        raise BudgetExceededError(
            f"n={n:,} orders of {n_features} features are more than {MOST_ENTRIES:,} numbers; draw them in parts"
        )
    return n


# --- clocks and walks: many orders at once, as columns of arrays ---------------------------------------------------


def draw_forest(order: "CausalOrder", n: int, rng: np.random.Generator, n_groups: int | None = None) -> np.ndarray:
    """Orders of a rooted forest, one tree or several: (n, n_features). With ``n_groups``, clocks are spread evenly."""
    if n_groups is None:
        return orders_of_clocks(order, rng.standard_exponential((order.n_features, n)))
    return orders_of_clocks(order, -np.log1p(-spread_uniforms(rng, order.n_features, n, n_groups)))


def orders_of_clocks(order: "CausalOrder", exponentials: np.ndarray) -> np.ndarray:
    """Orders of a rooted forest by exponential clocks: (n, n_features). O(n_features log n_features) each.

    ``T_v = T_parent(v) + E_v / size of the subtree of v``; features sorted by T. If all E are independent and standard
    exponential, ``E = -log(1 - u)``, then whenever a clock rings, the next one to ring is each available feature with
    probability proportional to its subtree size, which is what the hook length formula asks for.

    Parameters
    ----------
    order : CausalOrder
        A forest.
    exponentials : float array (n_features, n)
        Row r is that of feature ``order.topological_indices[r]``.
    """
    sequence = np.array(order.topological_indices)
    row = {v: r for r, v in enumerate(order.topological_indices)}
    times = exponentials / np.array(subtree_sizes(order), dtype=float)[sequence][:, None]
    for r, v in enumerate(order.topological_indices):
        for p in order.parents[v]:
            times[r] += times[row[p]]
    # causes stand first and the sort is stable: times that a float cannot tell apart still come out cause first
    return sequence[np.argsort(np.ascontiguousarray(times.T), axis=1, kind="stable")]


def draw_by_ideals(
    order: "CausalOrder", n: int, rng: np.random.Generator, limit: int, n_groups: int | None = None
) -> np.ndarray:
    """Orders of any order with an affordable lattice: (n, n_features). With ``n_groups``, steps are spread evenly."""
    uniforms = (
        rng.random(n) if n_groups is None else spread_uniforms(rng, 1, n, n_groups)[0] for _ in range(order.n_features)
    )
    return walk_lattice(build_lattice(order, limit), uniforms)


def walk_lattice(lattice: IdealLattice, uniforms: Iterable[np.ndarray]) -> np.ndarray:
    """Orders by walks from the empty ideal to the full one: (n, n_features). O(edges) once, then O(edges met) each.

    From ideal S the next feature is i with probability down(S + i) / down(S), where down counts the ways to finish.
    ``uniforms`` has n numbers in [0, 1) for each of the n_features steps.
    """
    down = scaled_down(lattice)
    here = np.zeros(1, dtype=np.int64)
    features = []
    for chance, (ideals, edges) in zip(uniforms, lattice.by_size(), strict=True):
        leaving = down[lattice.edge_target[edges]]
        first = lattice.edge_starts[ideals.start : ideals.stop + 1].astype(np.int64) - edges.start
        ways = np.add.reduceat(leaving, first[:-1])
        here = np.broadcast_to(here, chance.shape) - ideals.start
        edge, last = first[here], first[here + 1] - 1
        aim = chance * ways[here]
        walking = np.arange(len(chance))
        while len(walking):
            aim[walking] -= leaving[edge[walking]]
            walking = walking[(aim[walking] >= 0) & (edge[walking] < last[walking])]
            edge[walking] += 1
        features.append(lattice.edge_feature[edges][edge])
        here = lattice.edge_target[edges][edge].astype(np.int64)
    return np.stack(features, axis=1).astype(np.int64)


# --- coupling from the past ----------------------------------------------------------------------------------------


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
    again = deepcopy(rng)
    sweeps = LONGER * _sweeps_of_a_trial(links, rng)
    draws = np.empty((n, order.n_features), dtype=np.int64)
    for draw in draws:
        sequence, enough = _from_the_past(links, rng, again, ceil(sweeps))
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


def _from_the_past(
    links: Links, rng: np.random.Generator, again: np.random.Generator, sweeps: int
) -> tuple[np.ndarray, bool]:
    """One draw, and whether so many ``sweeps`` of the past were enough. ``again`` repeats what ``rng`` has drawn."""
    past: list[tuple[Any, int]] = []  # the state of rng at the beginning of each piece, its length; last piece first
    while True:
        bounds = _widest(links)
        past.append((rng.bit_generator.state, sweeps))
        _sweep(bounds, links, rng, sweeps)
        for began, length in reversed(past[:-1]):
            again.bit_generator.state = began
            _sweep(bounds, links, again, length)
        sequence = _sequence(bounds)
        if sequence is not None:
            return sequence, len(past) == 1
        sweeps = ceil(sum(length for _, length in past) / 2)


def _sweeps_of_a_trial(links: Links, rng: np.random.Generator) -> int:
    """How long two copies took once to meet; a guess of T."""
    bounds = _widest(links)
    total = 0
    while _sequence(bounds) is None:
        sweeps = max(4, total // 16)
        _sweep(bounds, links, rng, sweeps)
        total += sweeps
    return total


def _widest(links: Links) -> np.ndarray:
    """What is known of all times before any step: at least 0, at most 1."""
    return np.repeat([[0.0, 1.0]], len(links.cause_starts) - 1, axis=0)


def _sweep(bounds: np.ndarray, links: Links, rng: np.random.Generator, sweeps: int) -> None:
    from shap_asv.orders.kernels import redraw_times  # numba is imported only where a chain runs

    most = max(1, STEPS_PER_CALL // len(bounds))
    for done in range(0, sweeps, most):
        redraw_times(bounds, rng.random((min(most, sweeps - done), len(bounds))), *links)


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


# --- part by part --------------------------------------------------------------------------------------------------


def sample_topological_orders(
    order: "CausalOrder", n: int, seed: Seed, limit: int | None, n_groups: int | None
) -> np.ndarray:
    """See :meth:`CausalOrder.sample_topological_orders`."""
    n, limit = check_sample(n, order.n_features), check_limit(limit)
    if n_groups is not None:
        n_groups = check_count(n_groups, "n_groups", "a number of groups")
        if n_groups > n:
            raise ArgumentError(f"n_groups={n_groups} groups cannot be made of n={n} orders")
    rng = generator_of(seed)
    return draw_forest(order, n, rng, n_groups) if order.is_forest else _draw_blocks(order, n, rng, limit, n_groups)


def drawing_cost(order: "CausalOrder | GraphMixture", n: int) -> Cost:
    """What drawing ``n`` orders takes; of a mixture, as from its first graph, and lists for all of them.

    Examples
    --------
    >>> from shap_asv.orders import CausalOrder
    >>> drawing_cost(CausalOrder.from_edges([("a", "b"), ("a", "c")]), 1000).operations
    {'order x feature': 3000}
    >>> crown = CausalOrder.from_edges([("a", "d"), ("b", "d"), ("b", "e"), ("c", "e"), ("c", "f"), ("a", "f")])
    >>> drawing_cost(crown, 1000).operations
    {'order x feature': 6000, 'ideal listed': 18}
    """
    drawn = [_cost_of_draw(graph) for graph in order.orders]
    cost = drawn[0][0].times(n) + Cost({}, _BYTES_PER_ORDER * n * order.n_features)
    listed = [ideals for _, ideals in drawn]
    return cost + Cost({"ideal listed": sum(listed)}, _BYTES_PER_LISTED * max(listed)) if any(listed) else cost


@lru_cache(maxsize=64)
def _cost_of_draw(order: "CausalOrder") -> tuple[Cost, int]:
    """What a draw takes, and how many ideals are listed before the first one."""
    if order.is_forest:
        return Cost({"order x feature": order.n_features}), 0
    cost, listed, limit = Cost({}), 0, check_limit(None)
    for block in decompose(order):
        if len(block.members) == 1 or block.parts:
            continue
        part = order.restricted_to(block.members)
        n_ideals = 0 if part.is_forest else ideals_up_to(part, limit)
        if n_ideals is None:
            cost += Cost({"order": 10, "update from the past": steps_from_the_past(part)})
        else:
            cost += Cost({"order x feature": part.n_features})
            listed += n_ideals
    return cost, listed


def _draw_blocks(
    order: "CausalOrder", n: int, rng: np.random.Generator, limit: int, n_groups: int | None
) -> np.ndarray:
    """Draw each block that falls no further apart, and put the parts together."""
    blocks = decompose(order)
    drawn: dict[int, np.ndarray] = {}
    for place in reversed(range(len(blocks))):
        block = blocks[place]
        members = np.array(block.members)
        if block.kind == "series":
            drawn[place] = np.concatenate([drawn.pop(part) for part in block.parts], axis=1)
        elif block.kind == "parallel":
            drawn[place] = _interleave([drawn.pop(part) for part in block.parts], rng, n_groups)
        elif len(members) == 1:
            drawn[place] = np.broadcast_to(members, (n, 1))
        else:
            drawn[place] = members[_draw_part(order.restricted_to(block.members), n, rng, limit, n_groups)]
    return np.ascontiguousarray(drawn[0])


def _draw_part(part: "CausalOrder", n: int, rng: np.random.Generator, limit: int, n_groups: int | None) -> np.ndarray:
    if part.is_forest:
        return draw_forest(part, n, rng, n_groups)
    if ideals_up_to(part, limit) is not None:
        return draw_by_ideals(part, n, rng, limit, n_groups)
    return draw_perfect(part, n, rng)


def _interleave(parts: list[np.ndarray], rng: np.random.Generator, n_groups: int | None) -> np.ndarray:
    """Merge orders (n, size) of several parts, every interleaving being equally likely."""
    sizes = [part.shape[1] for part in parts]
    n, size = len(parts[0]), sum(sizes)
    numbers = rng.random((n, size)) if n_groups is None else spread_uniforms(rng, size, n, n_groups).T
    places = np.argsort(numbers, axis=1)
    start = 0
    for size in sizes:
        places[:, start : start + size].sort(axis=1)
        start += size
    merged = np.empty_like(places)
    np.put_along_axis(merged, places, np.concatenate(parts, axis=1), axis=1)
    return merged
