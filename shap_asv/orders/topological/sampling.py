"""Uniform topological orders: one table of methods, and "auto", the cheapest exact one for each part.

Drawing the next feature uniformly among those available ("random Kahn") is NOT uniform on orders: on ``a -> b, c`` it
gives ``c a b`` half of the time instead of a third. Every method here is uniform, or says by how much it may not be.

Whatever the method, an order is drawn block by block (:mod:`shap_asv.orders.topological.decomposition`): components are
drawn apart and interleaved by a random shuffle, stacked parts are drawn apart and put one after the other.

To add a sampler, add a row to :data:`METHODS`; the tests run over the table.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.arguments import Seed, check_count, generator_of
from shap_asv.costs import Cost
from shap_asv.errors import ArgumentError, MethodNotApplicableError, ShapAsvError, UnknownMethodError
from shap_asv.orders.limits import check_limit, check_sample, too_many_ideals
from shap_asv.orders.topological.chains import draw_mcmc, mixing_steps
from shap_asv.orders.topological.counting import ideals_up_to
from shap_asv.orders.topological.coupling import draw_perfect, steps_from_the_past
from shap_asv.orders.topological.decomposition import decompose
from shap_asv.orders.topological.draws import draw_by_ideals, draw_forest, draw_tree
from shap_asv.strata import spread_uniforms

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder
    from shap_asv.orders.uncertain.mixture import GraphMixture

# Bytes of an order, per feature, while it is drawn and its prefixes are numbered; of an ideal that is listed for it.
_BYTES_PER_ORDER, _BYTES_PER_LISTED = 120, 200


@dataclass(frozen=True)
class Options:
    """What a method may want to know besides the order: see :meth:`CausalOrder.sample_topological_orders`."""

    epsilon: float
    limit: int
    n_groups: int | None = None


@dataclass(frozen=True)
class SamplingMethod:
    """A way to draw orders.

    Attributes
    ----------
    name : str
    exact : bool
        Whether draws are exactly uniform; "auto" takes no others.
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
    exact: bool
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


# cheapest first: "auto" takes the first exact one that does not refuse
METHODS: dict[str, SamplingMethod] = {
    method.name: method
    for method in (
        SamplingMethod(
            "forest",
            exact=True,
            refusal=_no_forest,
            draw=lambda order, n, rng, options: draw_forest(order, n, rng, options.n_groups),
            whole=True,
        ),
        SamplingMethod(
            "polytree",
            exact=True,
            refusal=_no_polytree,
            draw=lambda order, n, rng, options: draw_tree(order, n, rng),
        ),
        SamplingMethod(
            "ideals",
            exact=True,
            refusal=_too_many_ideals,
            draw=lambda order, n, rng, options: draw_by_ideals(order, n, rng, options.limit, options.n_groups),
            lists=True,
        ),
        SamplingMethod(
            "perfect",
            exact=True,
            draw=lambda order, n, rng, options: draw_perfect(order, n, rng),
            operations=lambda order, options: {"order": 10, "update from the past": steps_from_the_past(order)},
        ),
        SamplingMethod(
            "mcmc",
            exact=False,
            draw=lambda order, n, rng, options: draw_mcmc(order, n, rng, options.epsilon),
            operations=lambda order, options: {"swap of a chain": mixing_steps(order.n_features, options.epsilon)},
        ),
    )
}


def sample_topological_orders(
    order: "CausalOrder", n: int, seed: Seed, method: str, epsilon: float, limit: int | None, n_groups: int | None
) -> np.ndarray:
    """See :meth:`CausalOrder.sample_topological_orders`."""
    n = check_sample(n, order.n_features)
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real) or not 0 < epsilon < 1:
        raise ArgumentError(f"epsilon={epsilon!r} is not a total-variation distance; pass a number between 0 and 1")
    if n_groups is not None:
        n_groups = check_count(n_groups, "n_groups", "a number of groups")
        if n_groups > n:
            raise ArgumentError(f"n_groups={n_groups} groups cannot be made of n={n} orders")
    options = Options(float(epsilon), check_limit(limit), n_groups)
    rng = generator_of(seed)
    if method == "auto":
        if order.is_forest:
            return draw_forest(order, n, rng, n_groups)
        return _draw_blocks(order, n, rng, options, _cheapest_exact)
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
    graphs: Any = getattr(order, "orders", (order,))
    cost = _cost_of_draw(graphs[0], method).times(n)
    listed = [_ideals_to_list(graph, method) for graph in graphs]
    if any(listed):
        cost += Cost({"ideal listed": sum(listed)}, _BYTES_PER_LISTED * max(listed))
    return cost + Cost({}, _BYTES_PER_ORDER * n * order.n_features)


@lru_cache(maxsize=64)
def _cost_of_draw(order: "CausalOrder", method: str) -> Cost:
    options = Options(0.01, check_limit(None))
    cost = Cost({})
    for part, how in parts_with_methods(order, method, options):
        cost += Cost(how.operations(part, options))
    return cost


@lru_cache(maxsize=64)
def _ideals_to_list(order: "CausalOrder", method: str) -> int:
    options = Options(0.01, check_limit(None))
    parts = [part for part, how in parts_with_methods(order, method, options) if how.lists]
    return sum(ideals_up_to(part, options.limit) or 0 for part in parts)


def parts_with_methods(
    order: "CausalOrder", method: str, options: Options
) -> list[tuple["CausalOrder", SamplingMethod]]:
    """The parts that are drawn by themselves, each with its method: the cheapest exact one by "auto"."""
    return [
        (part, _cheapest_exact(part, options) if method == "auto" else METHODS[method])
        for part in ([order] if order.is_forest else _leaves(order))
    ]


def _leaves(order: "CausalOrder") -> list["CausalOrder"]:
    return [
        order.restricted_to(block.members) for block in decompose(order) if len(block.members) > 1 and not block.parts
    ]


def _cheapest_exact(order: "CausalOrder", options: Options) -> SamplingMethod:
    return next(method for method in METHODS.values() if method.exact and method.refusal(order, options) is None)


def _draw_blocks(
    order: "CausalOrder",
    n: int,
    rng: np.random.Generator,
    options: Options,
    choose: Callable[["CausalOrder", Options], SamplingMethod],
) -> np.ndarray:
    """Draw each block that falls no further apart by the method that ``choose`` gives, and put the parts together."""
    blocks = decompose(order)
    n_leaves = sum(len(block.members) > 1 and not block.parts for block in blocks)
    # distances of independent parts add up at most
    options = replace(options, epsilon=options.epsilon / max(1, n_leaves))
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
