"""Causal graphs as plots see them: names and arrows, and a sequence of features with causes before effects.

Any of the ways in which people hold a causal graph will do; nothing is computed here beyond one topological sort.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.errors import CausalGraphError


def read_graph(order: Any) -> nx.DiGraph:
    """The DAG behind ``order``.

    Parameters
    ----------
    order : CausalOrder, networkx.DiGraph (pgmpy networks are some), or iterable of (cause, effect)
        Anything else with ``features`` and ``edges`` is read like a CausalOrder. Of a mixture of graphs (anything with
        ``edge_certainty``), the most certain edges that close no cycle.

    Returns
    -------
    networkx.DiGraph
        Node names as str; edges of a mixture have an attribute ``certainty``.
    """
    if hasattr(order, "edge_certainty"):
        return _most_certain(order.features, order.edge_certainty)
    if isinstance(order, nx.Graph):
        if not order.is_directed():
            raise CausalGraphError("the causal graph is undirected: give a networkx.DiGraph, edges as (cause, effect)")
        return _dag(order.nodes, order.edges())
    if hasattr(order, "features") and hasattr(order, "edges"):
        return _dag(order.features, order.edges)
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise CausalGraphError(f"a causal graph or a list of (cause, effect) is needed, not a {type(order).__name__}")
    return _dag((), order)


def _dag(nodes: Iterable[Hashable], edges: Iterable[Any]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(str(node) for node in nodes)
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            raise CausalGraphError(f"an edge must be a pair (cause, effect), not {edge!r}")
        graph.add_edge(str(edge[0]), str(edge[1]))
    if not nx.is_directed_acyclic_graph(graph):
        cycle = [u for u, _ in nx.find_cycle(graph)]
        raise CausalGraphError(f"the causal graph has a cycle: {' -> '.join([*cycle, cycle[0]])}; remove an edge")
    return graph


def _most_certain(nodes: Iterable[Hashable], certainty: Mapping[Any, float]) -> nx.DiGraph:
    """Edges taken by falling certainty, unless they close a cycle with those taken before."""
    graph = nx.DiGraph()
    graph.add_nodes_from(str(node) for node in nodes)
    for (a, b), share in sorted(certainty.items(), key=lambda item: -item[1]):
        cause, effect = str(a), str(b)
        if not nx.has_path(graph, effect, cause):
            graph.add_edge(cause, effect, certainty=float(share))
    return graph


def causal_sequence(order: Any, features: Sequence[str], importance: np.ndarray | None = None) -> np.ndarray:
    """Positions of ``features`` with every cause before its effects -> int (n,).

    Of all topological orders the one that stays closest to the given sequence: whenever several features may come
    next, the one that stands first in ``features`` does. Nodes of the graph that are not features pass their precedence
    on; features that the graph does not know count as unconstrained. ``order=None`` keeps the given sequence, or puts
    the most important feature first.
    """
    if order is None:
        return np.arange(len(features)) if importance is None else np.argsort(-importance, kind="stable")
    graph = read_graph(order)
    graph.add_nodes_from(features)
    place = {feature: j for j, feature in enumerate(features)}
    # a latent node waits for nothing: it goes out as soon as it can, so that it holds up no feature
    ranks = {node: (place.get(node, -1), node) for node in graph}
    return np.array([place[node] for node in nx.lexicographical_topological_sort(graph, ranks.get) if node in place])
