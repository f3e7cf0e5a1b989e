"""Causal orders in the form that the kernels ask: how probable is it that exactly B of D precede i?

Five kinds, from the cheapest to the most general:

- *levels* (no edges = one level): earlier levels are in, later ones out, Shapley's weights inside. Closed form.
- *forest*: independent clocks, so that the features of D and their ancestors arrive one by one, the next being v with
  probability proportional to its subtree size; a walk over the ideals of these few features.
- *parts*: an order that falls apart (half a graph, say): its parts one by one, whatever the number of its ideals.
- *lattice*: the weights of all ideals of the order, projected on D (any DAG whose ideals can be listed, or several).
- *orders*: given or sampled orders, each with a share: patterns are counted.
"""

from collections import namedtuple
from functools import lru_cache

import numpy as np

from shap_asv.backends.trees.parts import OrderParts, falls_apart, take_apart
from shap_asv.errors import BudgetExceededError
from shap_asv.orders import CausalOrder
from shap_asv.orders.lattice import build_lattice
from shap_asv.orders.players import Players
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.orders.weights import check_order_weights, check_orders, weigh_ideals

#: Up to so many ideals, listing them is faster than taking the order apart.
FEW_IDEALS = 1 << 13

LEVELS, FOREST, LATTICE, ORDERS, PARTS = range(5)
NAMES = ("levels", "forest", "lattice", "orders", "parts")

# kind; level (n,), by which the features of a path are sorted; parent, size, topological (n,) of a forest; member
# (n, ideals), and the edges of the lattice by feature: edge_start (n + 1,), edge_source, edge_weight; rank (orders, n),
# the positions, and share (orders,); parts: OrderParts or None;
# closed: is a union of coalitions that are passed always one that is passed? So it is for the ideals of one order.
Ordering = namedtuple(
    "Ordering", "kind level parent size topological member edge_start edge_source edge_weight rank share parts closed"
)


def level_numbers(order: CausalOrder) -> np.ndarray | None:
    """The level of each feature, int64 (n,), when the order is one level after the other; None when it is not.

    Examples
    --------
    >>> level_numbers(CausalOrder.from_levels([["age", "sex"], ["income"]])).tolist()
    [0, 0, 1]
    >>> level_numbers(CausalOrder.from_edges([("a", "b")], features=["a", "b", "c"])) is None
    True
    """
    levels = np.zeros(order.n_features, dtype=np.int64)
    distinct = sorted(set(order.ancestor_bits), key=int.bit_count)
    before = 0
    for number, ancestors in enumerate(distinct):
        if ancestors != before:
            return None
        for v, own in enumerate(order.ancestor_bits):
            if own == ancestors:
                levels[v] = number
                before |= 1 << v
    return levels


def kind_of(order: CausalOrder | GraphMixture) -> int:
    """LEVELS, FOREST, PARTS or LATTICE: the cheapest kind that the order is; of several graphs, always the last."""
    if isinstance(order, GraphMixture):
        return LATTICE
    if level_numbers(order) is not None:
        return LEVELS
    if order.is_forest:
        return FOREST
    return LATTICE if _has_few_ideals(order, FEW_IDEALS) or not falls_apart(order) else PARTS


@lru_cache(maxsize=64)  # plans are made again and again
def _has_few_ideals(order: CausalOrder, limit: int) -> bool:
    try:
        return order.count_ideals(limit=limit) <= limit
    except BudgetExceededError:
        return False


def _ordering(
    kind: int, n: int, closed: bool = True, parts: OrderParts | None = None, **arrays: np.ndarray
) -> Ordering:
    empty = {
        "level": np.zeros(n, dtype=np.int64),
        "parent": np.full(n, -1, dtype=np.int64),
        "size": np.ones(n),
        "topological": np.arange(n),
        "member": np.zeros((n, 0), dtype=np.uint8),
        "edge_start": np.zeros(n + 1, dtype=np.int64),
        "edge_source": np.zeros(0, dtype=np.int32),
        "edge_weight": np.zeros(0),
        "rank": np.zeros((0, n), dtype=np.int32),
        "share": np.zeros(0),
    }
    return Ordering(kind, **{**empty, **arrays}, parts=parts, closed=closed)


def order_by_precedence(
    order: CausalOrder | GraphMixture, ideal_limit: int | None = None, kind: int | None = None
) -> Ordering:
    """The kernels' form of a causal order; ``kind`` asks for one that is not the cheapest.

    Raises
    ------
    BudgetExceededError
        A lattice is needed, of the order or of a part of it, and has more than ``ideal_limit`` ideals.
    """
    n = order.n_features
    if isinstance(order, GraphMixture):
        return _order_by_mixture(order, ideal_limit)
    kind = kind_of(order) if kind is None else kind
    if kind == LEVELS:
        levels = level_numbers(order)
        assert levels is not None
        return _ordering(LEVELS, n, level=levels)
    if kind == FOREST:
        parent = np.array([ps[0] if ps else -1 for ps in order.parents], dtype=np.int64)
        size = np.ones(n)
        for v in reversed(order.topological_indices):
            if parent[v] >= 0:
                size[parent[v]] += size[v]
        return _ordering(FOREST, n, parent=parent, size=size, topological=np.array(order.topological_indices))
    if kind == PARTS:
        parts = take_apart(order, ideal_limit)
        return _ordering(PARTS, n, level=parts.rank, parts=parts)
    lattice = build_lattice(order, ideal_limit)
    return _lattice(lattice.members(), lattice.edge_source, lattice.edge_feature, lattice.edge_weights, closed=True)


def _lattice(
    sets: np.ndarray, source: np.ndarray, feature: np.ndarray, weight: np.ndarray, closed: bool = False
) -> Ordering:
    """Sets of features (m, n), and steps from them: ``source[e] + feature[e]`` with a weight."""
    n, by_feature = sets.shape[1], np.argsort(feature, kind="stable")
    return _ordering(
        LATTICE,
        n,
        closed=closed,
        member=np.ascontiguousarray(sets.T).astype(np.uint8),
        edge_start=np.searchsorted(feature[by_feature], np.arange(n + 1)).astype(np.int64),
        edge_source=source[by_feature].astype(np.int32),
        edge_weight=weight[by_feature],
    )


def order_by_groups(order: CausalOrder, players: Players, ideal_limit: int | None = None) -> Ordering:
    """The kernels' form of an order of groups: a lattice in which the members of a group follow one another.

    A step ``S -> S + group`` of the groups' lattice becomes as many steps as the group has members, each with the
    step's weight; what they add up to is the value of the group (:meth:`Players.add_up`).
    """
    lattice = build_lattice(order, ideal_limit)
    ideals = players.expand(lattice.members())
    sets, source, feature, weight = [ideals], [], [], []
    count = len(ideals)
    for player in range(len(players)):
        edges = np.flatnonzero(lattice.edge_feature == player)
        here = lattice.edge_source[edges].astype(np.int64)
        for place, member in enumerate(players.members(player)):
            if place:
                inside = ideals[lattice.edge_source[edges]]
                inside[:, players.members(player)[:place]] = True
                sets.append(inside)
                here = count + np.arange(len(edges))
                count += len(edges)
            source.append(here)
            feature.append(np.full(len(edges), member))
            weight.append(lattice.edge_weights[edges])
    # members in the middle of two groups are not passed together: not closed under unions
    steps = np.concatenate(source), np.concatenate(feature), np.concatenate(weight)
    return _lattice(np.concatenate(sets), *steps)


def _order_by_mixture(mixture: GraphMixture, ideal_limit: int | None) -> Ordering:
    """The ideals of all graphs together, and the steps between them with their mean weights."""
    weights = weigh_ideals(mixture, ideal_limit)
    return _lattice(weights.coalitions, *weights.steps())


def order_by_list(orders: np.ndarray, weights: np.ndarray | None = None) -> Ordering:
    """The kernels' form of explicit orders (k, n), each with a weight."""
    orders = check_orders(orders)
    share = check_order_weights(weights, len(orders))
    rank = np.empty(orders.shape, dtype=np.int32)
    np.put_along_axis(rank, orders, np.arange(orders.shape[1], dtype=np.int32)[None], axis=1)
    return _ordering(ORDERS, orders.shape[1], closed=False, rank=rank, share=share)
