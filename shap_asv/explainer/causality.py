"""What the user knows about causes -> an order of the features, or a list of orders.

A causal graph may be a networkx or pgmpy graph, a list of (cause, effect) or a ready
:class:`~shap_asv.orders.CausalOrder`; without one the network's own graph is taken. Nodes that are not features are
projected out, which keeps precedence through them; a node that is nearly the name of a feature is a typo and an error.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from difflib import get_close_matches
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Background
from shap_asv.errors import CausalGraphError, CausalGraphWarning, OrdersError, UnknownFeatureError, warn_user
from shap_asv.orders import CausalOrder
from shap_asv.orders.reading import listed


def own_order(background: Background) -> CausalOrder:
    """The background's own graph as a causal order: latent variables hand precedence on. Without a graph, no edges."""
    if background.graph is None:
        return edgeless_order(background.features)
    return CausalOrder.from_graph(background.graph, features=list(background.features))


def edgeless_order(features: Sequence[str]) -> CausalOrder:
    """No causal knowledge: every order of the features is allowed, as in ordinary SHAP."""
    return CausalOrder.from_edges([], features=list(features))


def read_causal_graph(causal_graph: Any, features: Sequence[str], hidden: Sequence[str] = ()) -> CausalOrder:
    """A CausalOrder, a DiGraph (pgmpy's included) or a list of (cause, effect) -> an order of exactly ``features``.

    Features that the graph does not mention are kept without any edge, and nodes that are not features are projected
    out; both are said in a warning (the latter not for ``hidden`` nodes, which are known to be latent).
    """
    graph = as_digraph(causal_graph)
    missing = [name for name in features if name not in graph]
    surprising = [node for node in graph if node not in set(features) | set(hidden)]
    for node in surprising:
        _check_typo(str(node), missing or list(features))
    if missing and len(missing) == len(features) and len(graph):
        raise CausalGraphError(
            f"the causal graph speaks of {listed(list(graph))}, none of which is a feature; "
            f"the features are {listed(features)}"
        )
    if missing:
        warn_user(
            f"the causal graph does not mention {listed(missing)}; taken as features without causes and effects",
            CausalGraphWarning,
        )
        graph.add_nodes_from(missing)
    if surprising:
        warn_user(
            f"the causal graph has {listed(surprising)}, no feature of the model; "
            "projected out, precedence through it is kept",
            CausalGraphWarning,
        )
    return CausalOrder.from_graph(graph, features=list(features))


def _check_typo(node: str, features: Sequence[str]) -> None:
    """A node that is nearly the name of a feature is a typo; names that differ in a number are not."""
    words = [name for name in features if not any(c.isdigit() for c in name)]
    close = get_close_matches(node, words, n=1, cutoff=0.8)
    if close:
        raise CausalGraphError(
            f"the causal graph has a node {node!r}, which is not a feature; did you mean {close[0]!r}? "
            "(Rename it if it really is another variable.)"
        )


def as_digraph(causal_graph: Any) -> nx.DiGraph:
    order: CausalOrder | None
    if isinstance(causal_graph, CausalOrder):
        order = causal_graph
    elif isinstance(causal_graph, nx.Graph):
        if not causal_graph.is_directed():
            raise CausalGraphError(
                "the causal graph is undirected; pass a networkx.DiGraph whose edges go from cause to effect"
            )
        graph = nx.DiGraph()
        graph.add_nodes_from(_named(node) for node in causal_graph)
        graph.add_edges_from((_named(a), _named(b)) for a, b in causal_graph.edges())
        if len(graph) < len(causal_graph):
            raise CausalGraphError("two nodes of the causal graph are written alike, such as 1 and '1'; rename one")
        return graph
    elif isinstance(causal_graph, (list, tuple, set, frozenset)):
        order = (
            CausalOrder.from_edges([(_named(a), _named(b)) for a, b in read_pairs(causal_graph)])
            if len(causal_graph)
            else None
        )
    else:
        raise CausalGraphError(
            f"a causal graph cannot be read from a {type(causal_graph).__name__}; "
            "pass a networkx.DiGraph, a pgmpy network, a list of (cause, effect) or a CausalOrder"
        )
    graph = nx.DiGraph()
    if order is not None:
        graph.add_nodes_from(str(feature) for feature in order.features)
        graph.add_edges_from((str(a), str(b)) for a, b in order.edges)
    return graph


def read_pairs(edges: Any) -> list[tuple[Any, Any]]:
    """A list of (cause, effect) as it is, or a CausalGraphError that names the entry that is not a pair."""
    for edge in edges:
        if not isinstance(edge, tuple) or len(edge) != 2:  # a list of two could just as well be a level
            raise CausalGraphError(
                f"{edge!r} is no (cause, effect) pair; pass edges as tuples, [('age', 'income')], "
                "and levels as CausalOrder.from_levels([['age', 'sex'], ['income']])"
            )
    return [(edge[0], edge[1]) for edge in edges]


def _named(node: Any) -> str:
    """The name of a node; things that cannot be a name would otherwise become one by being printed."""
    if isinstance(node, (str, int, np.integer)) and not isinstance(node, bool):
        return str(node)
    if isinstance(node, Hashable) and node is not None and node == node:
        return str(node)
    raise CausalGraphError(f"the causal graph has the node {node!r:.80}, which is not a name; use strings")


def read_orders(orders: Any, weights: Any, features: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """The user's own orders, as names or as positions -> int array (k, n), and their weights made to sum to one.

    An order of whole numbers holds positions, unless every one of them is the name of a feature: names win.
    """
    rows = _listed_orders(orders)
    n = len(features)
    read = np.empty((len(rows), n), dtype=np.intp)
    for i, order in enumerate(rows):
        places = _places(i, order, features)
        if sorted(places) != list(range(n)):
            raise OrdersError(f"order {i} is {order!r}; each order must hold each of the {n} features once")
        read[i] = places
    return read, None if weights is None else _read_weights(weights, len(rows))


def _listed_orders(orders: Any) -> list[list[Any]]:
    wanted = "orders= takes a list of orders, each a list of all features"
    if isinstance(orders, (str, bytes, Mapping, Set)):
        raise OrdersError(f"{wanted}; got a {type(orders).__name__}, {orders!r:.80}")
    try:
        listed = list(orders)
    except Exception:
        raise OrdersError(f"{wanted}; got a {type(orders).__name__}") from None
    if not listed:
        raise OrdersError("orders= is empty; pass at least one order of all features")
    for i, order in enumerate(listed):
        if isinstance(order, (str, bytes, Mapping, Set)) or not isinstance(order, Iterable):
            hint = "; put one order into a list of its own: orders=[[...]]" if isinstance(order, (str, int)) else ""
            raise OrdersError(f"{wanted}; entry {i} is {order!r:.80}, not a list{hint}")
    return [np.ravel(order).tolist() if isinstance(order, np.ndarray) else list(order) for order in listed]


def _places(i: int, order: list[Any], features: Sequence[str]) -> list[int]:
    position = {name: v for v, name in enumerate(features)}
    numbers = all(isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in order)
    if numbers and not all(str(item) in position for item in order):
        return [int(item) for item in order]
    places = []
    for item in order:
        if not isinstance(item, (str, int, np.integer)) or isinstance(item, bool):
            raise OrdersError(
                f"order {i} holds {item!r:.80}, a {type(item).__name__}; write features by name, or all by position"
            )
        if str(item) not in position:
            raise UnknownFeatureError(f"order {i} names {item!r}, which is not a feature: {list(features)}")
        places.append(position[str(item)])
    return places


def _read_weights(weights: Any, k: int) -> np.ndarray:
    try:
        w = np.asarray(weights, dtype=float)
    except Exception:
        w = np.empty(0)
    if w.shape != (k,) or not np.isfinite(w).all() or (w < 0).any() or w.max() == 0:
        raise OrdersError(
            f"weights= must be {k} finite numbers >= 0, one for each order, not all zero; got {weights!r:.80}"
        )
    w = w / w.max()  # the sum of large weights may be past the floats
    return w / w.sum()


# --- columns without names: whole numbers are positions ------------------------------------------------------------


def uses_positions(graph: Any) -> bool:
    """Whether every node of a causal graph is a whole number."""
    edges = _edges_of(graph)
    return bool(edges) and all(
        isinstance(node, (int, np.integer)) and not isinstance(node, bool) for edge in edges for node in edge
    )


def name_positions(graph: Any, features: Sequence[str]) -> nx.DiGraph:
    """A graph of positions of columns -> the graph of their names."""
    edges = read_pairs(graph) if isinstance(graph, (list, tuple, set, frozenset)) else _edges_of(graph)
    nodes = getattr(graph, "nodes", getattr(graph, "features", ()))
    named = nx.DiGraph([(_feature_at(features, a), _feature_at(features, b)) for a, b in edges])
    named.add_nodes_from(_feature_at(features, node) if isinstance(node, (int, np.integer)) else node for node in nodes)
    return named


def _feature_at(features: Sequence[str], position: Any) -> str:
    if not 0 <= position < len(features):
        raise CausalGraphError(f"the causal graph names column {position}; the columns are 0 to {len(features) - 1}")
    return features[int(position)]


def _edges_of(graph: Any) -> list[tuple[Any, Any]]:
    if isinstance(graph, (list, tuple, set, frozenset)):
        return [
            tuple(edge) for edge in graph if not isinstance(edge, str) and hasattr(edge, "__len__") and len(edge) == 2
        ]
    edges = getattr(graph, "edges", ())
    return [(edge[0], edge[1]) for edge in edges] if isinstance(edges, Iterable) else []
