"""`GraphMixture`: several causal orders of the same features, each with a weight; a causal order itself.

Where the graph is not certain, a distribution over graphs is a distribution over topological orders: draw a graph, then
one of its orders. Everything that is linear in that distribution is the weighted mean over the graphs,

    W = sum over graphs k of p_k W_k        phi = nu @ W = sum over k of p_k phi_k

and the values ``nu`` are needed once per ideal of the *union*: graphs that differ in a few edges share most of them.

The mean over graphs is not the ASV of the partial order that the graphs have in common. With ``a -> b`` and ``b -> a``
in equal shares, that order is empty and agrees with the mean; with ``a -> b -> c`` and ``c -> b -> a`` it is empty too,
while the mean never lets b come first.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from shap_asv.arguments import Seed, check_count, generator_of
from shap_asv.errors import ApproximationWarning, CausalGraphError, OrdersError, warn_user
from shap_asv.orders import reading
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.lattice import check_limit, too_many_together, union_of_ideals
from shap_asv.orders.reading import Levels
from shap_asv.orders.sampling import check_sample
from shap_asv.orders.uncertain.partial_graph import PartialGraph
from shap_asv.strata import spread_uniforms


@dataclass(frozen=True, repr=False)
class GraphMixture:
    """A weighted mean of causal orders on the same features.

    Equal orders are merged. Orders that list the same features in another sequence are put into that of the first.

    Parameters
    ----------
    orders : sequence of CausalOrder
    weights : sequence of float, optional
        Positive; scaled to sum to one. By default all graphs count alike.

    Attributes
    ----------
    levels : tuple of Levels or None
        The distinct things that the graphs were told of levels, for interventions; equal orders may differ in that.

    Raises
    ------
    CausalGraphError
        No graphs, or graphs over different features.
    OrdersError
        A weight is zero, negative or not finite, or there are not as many as graphs.

    Examples
    --------
    >>> one, other = (CausalOrder.from_edges([edge], list("abc")) for edge in (("a", "b"), ("b", "a")))
    >>> mixture = GraphMixture([one, other, one])
    >>> mixture
    GraphMixture(2 graphs on 3 features)
    >>> [round(weight, 3) for weight in mixture.weights]
    [0.667, 0.333]
    >>> mixture.count_ideals()
    8
    """

    orders: tuple[CausalOrder, ...]
    weights: tuple[float, ...] = ()
    levels: tuple[Levels | None, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.orders, str) or not isinstance(self.orders, Iterable):
            raise CausalGraphError(f"a mixture is made of a list of graphs, not of {self.orders!r:.80}")
        orders = tuple(self.orders)
        if not orders:
            raise CausalGraphError("a mixture of no graphs is not a causal order; pass at least one graph")
        for k, order in enumerate(orders):
            if not isinstance(order, CausalOrder):
                raise CausalGraphError(f"graph {k} of the mixture is a {type(order).__name__}, not a CausalOrder")
        shares = check_graph_weights(
            None if self.weights is None or not len(self.weights) else self.weights, len(orders)
        )
        merged: dict[CausalOrder, float] = {}
        for k, (order, share) in enumerate(zip(orders, shares, strict=True)):
            order = _in_sequence(order, orders[0].features, k)
            merged[order] = merged.get(order, 0.0) + share
        said = tuple(dict.fromkeys(order.levels for order in orders))
        # a frozen class refuses assignments, not its own making
        vars(self).update(orders=tuple(merged), weights=tuple(merged.values()), levels=said)

    # --- facts ----------------------------------------------------------------------------------------------------

    @property
    def n_graphs(self) -> int:
        """Distinct orders in the mixture."""
        return len(self.orders)

    @property
    def features(self) -> tuple[Hashable, ...]:
        return self.orders[0].features

    @property
    def n_features(self) -> int:
        return len(self.features)

    def index(self, feature: Hashable) -> int:
        """Where ``feature`` stands in the features."""
        return self.orders[0].index(feature)

    @cached_property
    def precedence(self) -> np.ndarray:
        """``[i, j]``: share of the graphs in which i is a cause of j, direct or not; float array (n, n)."""
        shares = np.zeros((self.n_features, self.n_features))
        for order, weight in zip(self.orders, self.weights, strict=True):
            shares += weight * order.ancestor_matrix
        return shares

    @cached_property
    def ancestor_matrix(self) -> np.ndarray:
        """Bool array (n, n), read-only: ``[i, j]`` when i is a strict ancestor of j in *every* graph.

        What every ideal of the mixture respects. It is not what the mixture is: see the top of this module.
        """
        matrix = np.logical_and.reduce([order.ancestor_matrix for order in self.orders])
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def edge_certainty(self) -> dict[tuple[Hashable, Hashable], float]:
        """The share of graphs that have each edge of a transitive reduction, largest first."""
        shares: dict[tuple[Hashable, Hashable], float] = {}
        for order, weight in zip(self.orders, self.weights, strict=True):
            for edge in order.edges:
                shares[edge] = shares.get(edge, 0.0) + weight
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    @property
    def edges(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The edges that any graph has in its transitive reduction, the most certain first; they may form cycles."""
        return tuple(self.edge_certainty)

    @cached_property
    def topological_indices(self) -> tuple[int, ...]:
        """One fixed sequence to list the features in: by their mean number of causes.

        What is a cause in every graph comes first: its effect has more of them.
        """
        return tuple(np.argsort(self.precedence.sum(axis=0), kind="stable").tolist())

    def __repr__(self) -> str:
        k, n = self.n_graphs, self.n_features
        return f"GraphMixture({k} graph{'s' if k > 1 else ''} on {n} feature{'s' if n > 1 else ''})"

    def __getstate__(self) -> dict[str, Any]:
        # what was derived is derived again; scaling the weights again would change their last bits
        return {name: vars(self)[name] for name in ("orders", "weights", "levels")}

    # --- what backends ask of an order --------------------------------------------------------------------------------

    def count_ideals(self, limit: int | None = None) -> int:
        """The number of coalitions that are an ideal of at least one graph: what the exact mean evaluates.

        O(sum of the ideals of the graphs), once.

        Raises
        ------
        BudgetExceededError
            There are more than ``limit``, by default 1,000,000.
        """
        limit = check_limit(limit)
        count = _ideals_together(self.orders, limit)
        if count is None:
            raise too_many_together(self.n_graphs, self.n_features, limit)
        return count

    def sample_topological_orders(
        self, n: int, seed: Seed = None, *, limit: int | None = None, n_groups: int | None = None
    ) -> np.ndarray:
        """``n`` topological orders: a graph by its weight, then one of its orders, uniformly.

        Parameters
        ----------
        n, seed, limit
            As in :meth:`CausalOrder.sample_topological_orders`, for every graph.
        n_groups : int, optional
            Deal the orders into this many consecutive, independent groups; within a group the graphs occur as nearly
            as possible in proportion to their weights.

        Returns
        -------
        int array (n, n_features)

        Examples
        --------
        >>> forth, back = (CausalOrder.from_edges([edge]) for edge in (("a", "b"), ("b", "a")))
        >>> draws = GraphMixture([forth, back], [3, 1]).sample_topological_orders(1000, seed=0, n_groups=10)
        >>> float((draws[:, 0] == 0).mean())  # a comes first
        0.75
        """
        n = check_sample(n, self.n_features)
        if n_groups is not None:
            n_groups = check_count(n_groups, "n_groups", "a number of groups")
        rng = generator_of(seed)
        numbers = rng.random(n) if n_groups is None else spread_uniforms(rng, 1, n, min(n_groups, n))[0]
        ends = np.cumsum(self.weights)
        drawn = np.minimum(np.searchsorted(ends, numbers * ends[-1], side="right"), self.n_graphs - 1)
        orders = np.empty((n, self.n_features), dtype=np.int64)
        for k in np.unique(drawn).tolist():
            places = np.flatnonzero(drawn == k)
            orders[places] = self.orders[k].sample_topological_orders(len(places), rng, limit=limit)
        return orders


@lru_cache(maxsize=64)  # a plan asks on behalf of every backend
def _ideals_together(orders: tuple[CausalOrder, ...], limit: int) -> int | None:
    union = union_of_ideals(orders, limit)
    return None if union is None else len(union)


def weighted_orders(order: CausalOrder | GraphMixture | None) -> list[tuple[CausalOrder, float]]:
    """An order alone, or each order of a mixture, with its weight; none without an order."""
    if isinstance(order, GraphMixture):
        return list(zip(order.orders, order.weights, strict=True))
    return [] if order is None else [(order, 1.0)]


def _in_sequence(order: CausalOrder, features: tuple[Hashable, ...], k: int) -> CausalOrder:
    """The order with its features in the sequence of the first graph's."""
    if order.features == features:
        return order
    for names, known, where in ((order.features, features, "graph 0"), (features, order.features, f"graph {k}")):
        foreign = [name for name in names if name not in set(known)]
        if foreign:
            raise CausalGraphError(
                f"the graphs are over different features: {reading.unknown_feature(foreign[0], known, where)}; "
                f"name the features of all graphs alike"
            )
    return order.restricted_to([order.index(feature) for feature in features])


def check_graph_weights(weights: Any, n_graphs: int) -> list[float]:
    """Positive weights scaled to sum to one, or an :class:`OrdersError` that names the first wrong one.

    Examples
    --------
    >>> check_graph_weights([1e308, 1e308], 2)  # their sum is past the floats
    [0.5, 0.5]
    """
    if weights is None:
        return [1 / n_graphs] * n_graphs
    try:
        given = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise OrdersError(f"weights of graphs must be numbers, not {weights!r:.80}") from None
    if given.shape != (n_graphs,):
        raise OrdersError(f"{n_graphs} graphs need as many weights, not an array of shape {given.shape}")
    for k in np.flatnonzero(~(np.isfinite(given) & (given > 0)))[:1].tolist():
        raise OrdersError(f"graph {k} has weight {given[k]:g}; weights are positive numbers: leave out what has none")
    scaled = given / given.max()
    return (scaled / scaled.sum()).tolist()


def mixture_of_extensions(
    weighted: Sequence[tuple[PartialGraph, float]],
    features: Iterable[Hashable] | None = None,
    limit: int = 1000,
    seed: Seed = None,
) -> GraphMixture:
    """The mean over the DAGs of partly directed graphs: each graph's weight is shared evenly by its DAGs.

    A graph with more than ``limit`` DAGs is stood for by ``limit`` uniform draws; an ApproximationWarning says so.

    Examples
    --------
    >>> graphs = [PartialGraph("ab", undirected=["ab"]), PartialGraph("ab", directed=[("a", "b")])]
    >>> mixture_of_extensions([(graph, 0.5) for graph in graphs]).edge_certainty
    {('a', 'b'): 0.75, ('b', 'a'): 0.25}
    """
    limit = check_count(limit, "limit", "a number of DAGs")
    rng = generator_of(seed)
    names = None if features is None else reading.check_names(features)
    shares = check_graph_weights([weight for _, weight in weighted], len(weighted)) if weighted else []
    found: dict[CausalOrder, float] = {}
    for (graph, _), share in zip(weighted, shares, strict=True):
        total = graph.count()
        if total > limit:
            warn_user(
                f"a partly directed graph stands for {total:,} DAGs; the mean is over {limit:,} uniform draws of them",
                ApproximationWarning,
            )
        dags = iter(graph) if total <= limit else graph.sample(limit, rng)
        players = graph.nodes if names is None else names
        for dag in dags:
            order = CausalOrder.from_graph(dag, features=players)
            found[order] = found.get(order, 0.0) + share / min(total, limit)
    return GraphMixture(tuple(found), tuple(found.values()))
