"""Uniform topological orders: one table of methods, and "auto", the cheapest exact one for each part.

Drawing the next feature uniformly among those available ("random Kahn") is NOT uniform on orders: on ``a -> b, c`` it
gives ``c a b`` half of the time instead of a third. Every method here is exactly uniform.

Whatever the method, an order is drawn block by block (:mod:`shap_asv.orders.counting`): components are drawn apart and
interleaved by a random shuffle, stacked parts are drawn apart and put one after the other.

*Times.* A topological order together with n sorted uniform numbers is a uniform point of the *order polytope* {t in [0,
1]^n : t_u <= t_v when u precedes v}, and the other way round: sort the times of a uniform point, and the order is
uniform. On a tree-shaped order the polytope's uniform distribution is a Markov chain along the tree: given the time of
a feature, what hangs from it is independent of everything else. So times are drawn one feature at a time.

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

To add a sampler, add a row to :data:`METHODS`; the tests run over the table.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import ceil, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shap_asv.arguments import Seed, check_count, generator_of
from shap_asv.costs import Cost
from shap_asv.errors import (
    ArgumentError,
    BudgetExceededError,
    MethodNotApplicableError,
    ShapAsvError,
    UnknownMethodError,
)
from shap_asv.orders.counting import decompose, hang_up, ideals_up_to, subtree_sizes, ways_before
from shap_asv.orders.lattice import build_lattice, check_limit, scaled_down, too_many_ideals
from shap_asv.strata import spread_uniforms

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder
    from shap_asv.orders.uncertain.mixture import GraphMixture

#: Numbers that one array of sampled orders may hold: 8 GiB.
MOST_ENTRIES = 1 << 30
# Bytes of an order, per feature, while it is drawn and its prefixes are numbered; of an ideal that is listed for it.
_BYTES_PER_ORDER, _BYTES_PER_LISTED = 120, 200
STEPS_PER_CALL = 4_000_000  # a compiled call cannot be interrupted: keep each well below a second


def check_sample(n: int, n_features: int) -> int:
    """The number of orders of a sample that can be held in memory, or an error."""
    n = check_count(n, "n", "a number of orders")
    if n * n_features > MOST_ENTRIES:
        raise BudgetExceededError(
            f"n={n:,} orders of {n_features} features are more than {MOST_ENTRIES:,} numbers; draw them in parts"
        )
    return n


# --- clocks, hung-up trees, walks up the lattice: many orders at once, as columns of arrays ------------------------


CHUNK = 2**21  # numbers held at a time in a table of draws x possibilities


def draw_forest(order: "CausalOrder", n: int, rng: np.random.Generator, n_groups: int | None = None) -> np.ndarray:
    """Orders of a rooted forest by exponential clocks: (n, n_features). O(n_features log n_features) each.

    ``T_v = T_parent(v) + Exp(rate = size of the subtree of v)``, all independent; features sorted by T. Whenever a
    clock rings, the next one to ring is each available feature with probability proportional to its subtree size,
    which is what the hook length formula asks for. With ``n_groups``, the clocks of a group are spread evenly.
    """
    sequence = np.array(order.topological_indices)
    row = {v: r for r, v in enumerate(order.topological_indices)}
    if n_groups is None:
        times = rng.standard_exponential((order.n_features, n))
    else:
        times = -np.log1p(-spread_uniforms(rng, order.n_features, n, n_groups))
    times /= np.array(subtree_sizes(order), dtype=float)[sequence][:, None]
    for r, v in enumerate(order.topological_indices):
        for p in order.parents[v]:
            times[r] += times[row[p]]
    return _sort_by_time(times, sequence)


def _sort_by_time(times: np.ndarray, sequence: np.ndarray) -> np.ndarray:
    """Times (n_features, n), row r being feature ``sequence[r]``, to orders (n, n_features).

    ``sequence`` is a topological order and the sort is stable: two times that differ by less than a float can tell
    still come out cause first.
    """
    return sequence[np.argsort(np.ascontiguousarray(times.T), axis=1, kind="stable")]


def draw_tree(order: "CausalOrder", n: int, rng: np.random.Generator) -> np.ndarray:
    """Orders of a connected polytree by Atkinson's counts: (n, n_features). O(sum of subtree sizes) each.

    The root's position j is drawn from its counts; its time is the j-th smallest of n_features uniform numbers. For
    what hangs from a feature at time t see :func:`_draw_after`.
    """
    tree = hang_up(order, tuple(range(order.n_features)))
    root = tree.sequence[0]
    times = np.empty((order.n_features, n))
    position = _draw_from(_shares(tree.counts[root]), n, rng)
    times[root] = rng.beta(position + 1, order.n_features - position)
    for c in tree.sequence[1:]:
        hook_time = times[tree.hook[c]]
        if tree.follows[c]:
            times[c] = np.maximum(_draw_after(hook_time, tree.counts[c], rng), hook_time)
        else:  # the mirror image: time runs backwards, positions are counted from the end
            times[c] = np.minimum(1 - _draw_after(1 - hook_time, tree.counts[c][::-1], rng), hook_time)
    sequence = np.array(order.topological_indices)
    return _sort_by_time(times[sequence], sequence)


def _draw_after(t: np.ndarray, counts: list[int], rng: np.random.Generator) -> np.ndarray:
    """Times (n,) of the root of a subtree, given that it comes after time ``t`` (n,).

    Let the subtree have s members and let ``counts[j]`` be its orders with the root at position j (from 0). Before t
    lie k members with probability proportional to Binomial(s, t)(k) * (orders whose first k do not hold the root);
    then the root is the j-th with probability proportional to counts[j], j >= k; then it is the (j - k + 1)-th
    smallest of s - k uniform numbers in [t, 1].
    """
    s = len(counts)
    if s == 1:
        return t + (1 - t) * rng.random(len(t))
    ways = ways_before(counts, follows=True)[:s]
    before = np.empty(len(t), dtype=np.int64)
    # 0 ways: where the root cannot stand last, not all others come before it
    log_ways = np.array([log(w) if w else -np.inf for w in ways]) + _log_binomials(s)[:s]
    k = np.arange(s)
    inside = np.clip(t, 1e-300, 1 - 2.0**-53)
    step = max(1, CHUNK // s)
    for start in range(0, len(t), step):
        part = inside[start : start + step, None]
        logits = log_ways + k * np.log(part) + (s - k) * np.log1p(-part)
        chances = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True)), axis=1)
        aim = rng.random((len(part), 1)) * chances[:, -1:]
        before[start : start + step] = (chances <= aim).sum(axis=1)
    # sums from the end keep the digits of rare late positions, which is where large k look
    tail = np.cumsum(_shares(counts)[::-1])
    aim = (1 - rng.random(len(t))) * tail[s - 1 - before]
    position = s - 1 - np.searchsorted(tail, aim)
    return t + (1 - t) * rng.beta(position - before + 1, s - position)


def _shares(counts: list[int]) -> np.ndarray:
    """Counts divided by the largest: floats, however long the integers are."""
    largest = max(counts)
    return np.array([count / largest for count in counts])


def _log_binomials(s: int) -> np.ndarray:
    """log C(s, k) for k = 0 .. s."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, s + 1)))])
    return logs[s] - logs - logs[::-1]


def _draw_from(shares: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    chances = np.cumsum(shares)
    return np.searchsorted(chances, rng.random(n) * chances[-1], side="right")


def draw_by_ideals(
    order: "CausalOrder", n: int, rng: np.random.Generator, limit: int | None, n_groups: int | None = None
) -> np.ndarray:
    """Orders of any order with an affordable lattice: (n, n_features). O(edges) once, then O(edges met) each.

    From ideal S the next feature is i with probability down(S + i) / down(S), where down counts the ways to finish.
    With ``n_groups``, the random numbers of a step are spread evenly within a group.
    """
    lattice = build_lattice(order, limit)
    down = scaled_down(lattice)
    orders = np.empty((n, order.n_features), dtype=np.int64)
    here = np.zeros(n, dtype=np.int64)
    for position, (ideals, edges) in enumerate(lattice.by_size()):
        leaving = down[lattice.edge_target[edges]]
        first = lattice.edge_starts[ideals.start : ideals.stop + 1].astype(np.int64) - edges.start
        ways = np.add.reduceat(leaving, first[:-1])
        edge = first[here - ideals.start]
        last = first[here - ideals.start + 1] - 1
        chance = rng.random(n) if n_groups is None else spread_uniforms(rng, 1, n, n_groups)[0]
        aim = chance * ways[here - ideals.start]
        walking = np.arange(n)
        while len(walking):
            aim[walking] -= leaving[edge[walking]]
            walking = walking[(aim[walking] >= 0) & (edge[walking] < last[walking])]
            edge[walking] += 1
        orders[:, position] = lattice.edge_feature[edges][edge]
        here = lattice.edge_target[edges][edge].astype(np.int64)
    return orders


# --- coupling from the past ----------------------------------------------------------------------------------------


def random_state(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(1, 2**64, size=4, dtype=np.uint64)


def calls(rounds: int, steps: int = 1) -> Iterator[int]:
    """Rounds of so many steps each, cut into compiled calls; between two calls Python can be interrupted."""
    most = max(1, STEPS_PER_CALL // steps)
    for done in range(0, rounds, most):
        yield min(most, rounds - done)


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
    from shap_asv.orders.sampling_kernels import redraw_times  # numba is imported only where a chain runs

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


# --- the table -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What a method may want to know besides the order: see :meth:`CausalOrder.sample_topological_orders`."""

    limit: int
    n_groups: int | None = None


@dataclass(frozen=True)
class SamplingMethod:
    """A way to draw orders.

    Attributes
    ----------
    name : str
    refusal : callable (order, options) -> error or None
        Why the method cannot treat an order; None when it can.
    draw : callable (order, n, rng, options) -> int array (n, n_features)
        Called with connected orders only, unless ``whole``.
    whole : bool
        Whether ``draw`` takes unconnected orders as they are, so that they need not be taken apart.
    operations : callable (order, options) -> dict
        What a draw takes, in operations of :mod:`shap_asv.costs`.
    lists : bool
        All ideals are listed before the first draw.
    """

    name: str
    draw: Callable[["CausalOrder", int, np.random.Generator, Options], np.ndarray]
    refusal: Callable[["CausalOrder", Options], ShapAsvError | None] = lambda order, options: None
    whole: bool = False
    operations: Callable[["CausalOrder", Options], dict[str, float]] = lambda order, options: {
        "order x feature": order.n_features
    }
    lists: bool = False


def _no_forest(order: "CausalOrder", options: Options) -> ShapAsvError | None:
    for v, parents in enumerate(order.parents):
        if len(parents) > 1:
            causes = " and ".join(str(order.features[p]) for p in parents[:2])
            return MethodNotApplicableError(
                f"method='forest' needs features with at most one parent, but {order.features[v]} has {causes}; "
                "use method='auto'"
            )
    return None


def _no_polytree(order: "CausalOrder", options: Options) -> ShapAsvError | None:
    if order.is_polytree:
        return None
    return MethodNotApplicableError(
        "method='polytree' needs a transitive reduction without undirected cycles, but this order has "
        f"{len(order.edges)} edges among {order.n_features} features that close one; use method='auto'"
    )


def _too_many_ideals(order: "CausalOrder", options: Options) -> ShapAsvError | None:
    for block in decompose(order):
        if not block.parts:
            part = order.restricted_to(block.members)
            if ideals_up_to(part, options.limit) is None:
                return too_many_ideals(part, options.limit)
    return None


# cheapest first: "auto" takes the first one that does not refuse
METHODS: dict[str, SamplingMethod] = {
    method.name: method
    for method in (
        SamplingMethod(
            "forest",
            refusal=_no_forest,
            draw=lambda order, n, rng, options: draw_forest(order, n, rng, options.n_groups),
            whole=True,
        ),
        SamplingMethod(
            "polytree",
            refusal=_no_polytree,
            draw=lambda order, n, rng, options: draw_tree(order, n, rng),
        ),
        SamplingMethod(
            "ideals",
            refusal=_too_many_ideals,
            draw=lambda order, n, rng, options: draw_by_ideals(order, n, rng, options.limit, options.n_groups),
            lists=True,
        ),
        SamplingMethod(
            "perfect",
            draw=lambda order, n, rng, options: draw_perfect(order, n, rng),
            operations=lambda order, options: {"order": 10, "update from the past": steps_from_the_past(order)},
        ),
    )
}


def sample_topological_orders(
    order: "CausalOrder", n: int, seed: Seed, method: str, limit: int | None, n_groups: int | None
) -> np.ndarray:
    """See :meth:`CausalOrder.sample_topological_orders`."""
    n = check_sample(n, order.n_features)
    if n_groups is not None:
        n_groups = check_count(n_groups, "n_groups", "a number of groups")
        if n_groups > n:
            raise ArgumentError(f"n_groups={n_groups} groups cannot be made of n={n} orders")
    options = Options(check_limit(limit), n_groups)
    rng = generator_of(seed)
    if method == "auto":
        if order.is_forest:
            return draw_forest(order, n, rng, n_groups)
        return _draw_blocks(order, n, rng, options, _cheapest)
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownMethodError(f"method={method!r} is unknown; choose from {', '.join(['auto', *METHODS])}")
    forced = METHODS[method]
    refusal = forced.refusal(order, options)
    if refusal is not None:
        raise refusal
    if forced.whole:
        return forced.draw(order, n, rng, options)
    return _draw_blocks(order, n, rng, options, lambda part, options: forced)


def drawing_cost(order: "CausalOrder | GraphMixture", n: int, method: str = "auto") -> Cost:
    """What drawing ``n`` orders takes; of a mixture, as from its first graph, and lists for all of them.

    Examples
    --------
    >>> from shap_asv.orders import CausalOrder
    >>> order = CausalOrder.from_edges([("a", "c"), ("b", "c"), ("c", "d")])
    >>> drawing_cost(order, 1000).operations
    {'order x feature': 4000}
    >>> crown = CausalOrder.from_edges([("a", "d"), ("b", "d"), ("b", "e"), ("c", "e"), ("c", "f"), ("a", "f")])
    >>> drawing_cost(crown, 1000).operations
    {'order x feature': 6000, 'ideal listed': 18}
    """
    graphs = order.orders
    cost = _cost_of_draw(graphs[0], method).times(n)
    listed = [_ideals_to_list(graph, method) for graph in graphs]
    if any(listed):
        cost += Cost({"ideal listed": sum(listed)}, _BYTES_PER_LISTED * max(listed))
    return cost + Cost({}, _BYTES_PER_ORDER * n * order.n_features)


@lru_cache(maxsize=64)
def _cost_of_draw(order: "CausalOrder", method: str) -> Cost:
    options = Options(check_limit(None))
    cost = Cost({})
    for part, how in parts_with_methods(order, method, options):
        cost += Cost(how.operations(part, options))
    return cost


@lru_cache(maxsize=64)
def _ideals_to_list(order: "CausalOrder", method: str) -> int:
    options = Options(check_limit(None))
    parts = [part for part, how in parts_with_methods(order, method, options) if how.lists]
    return sum(ideals_up_to(part, options.limit) or 0 for part in parts)


def parts_with_methods(
    order: "CausalOrder", method: str, options: Options
) -> list[tuple["CausalOrder", SamplingMethod]]:
    """The parts that are drawn by themselves, each with its method: the cheapest one by "auto"."""
    return [
        (part, _cheapest(part, options) if method == "auto" else METHODS[method])
        for part in ([order] if order.is_forest else _leaves(order))
    ]


def _leaves(order: "CausalOrder") -> list["CausalOrder"]:
    return [
        order.restricted_to(block.members) for block in decompose(order) if len(block.members) > 1 and not block.parts
    ]


def _cheapest(order: "CausalOrder", options: Options) -> SamplingMethod:
    return next(method for method in METHODS.values() if method.refusal(order, options) is None)


def _draw_blocks(
    order: "CausalOrder",
    n: int,
    rng: np.random.Generator,
    options: Options,
    choose: Callable[["CausalOrder", Options], SamplingMethod],
) -> np.ndarray:
    """Draw each block that falls no further apart by the method that ``choose`` gives, and put the parts together."""
    blocks = decompose(order)
    drawn: dict[int, np.ndarray] = {}
    for place in reversed(range(len(blocks))):
        block = blocks[place]
        members = np.array(block.members)
        if block.kind == "series":
            drawn[place] = np.concatenate([drawn.pop(part) for part in block.parts], axis=1)
        elif block.kind == "parallel":
            drawn[place] = _interleave([drawn.pop(part) for part in block.parts], rng, options.n_groups)
        elif len(members) == 1:
            drawn[place] = np.broadcast_to(members, (n, 1))
        else:
            part = order.restricted_to(block.members)
            drawn[place] = members[choose(part, options).draw(part, n, rng, options)]
    return np.ascontiguousarray(drawn[0])


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
