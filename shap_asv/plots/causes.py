"""Causal graphs as plots see them: names and arrows, and a sequence of features with causes before effects.

Any of the ways in which people hold a causal graph will do; nothing is computed here beyond one topological sort.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.orders.uncertain import GraphMixture, read_partial_graph


def read_graph(order: Any, features: Sequence[str] | None = None) -> nx.DiGraph:
    """The DAG behind ``order``.

    Parameters
    ----------
    order : GraphMixture, or any causal graph that :func:`~shap_asv.orders.uncertain.read_partial_graph` reads
        Of a mixture of graphs, the most certain edges that close no cycle.
    features : sequence of str, optional
        Names for the rows of a matrix, and the nodes of a list without edges.

    Returns
    -------
    networkx.DiGraph
        Node names as str; edges of a mixture have an attribute ``certainty``.
    """
    if isinstance(order, GraphMixture):
        return _most_certain(order.features, order.edge_certainty)
    if isinstance(order, list):
        order = [tuple(edge) if isinstance(edge, list) else edge for edge in order]
    return nx.relabel_nodes(read_partial_graph(order, features).to_graph(), str)


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
    graph = read_graph(order, features)
    graph.add_nodes_from(features)
    place = {feature: j for j, feature in enumerate(features)}
    # a latent node waits for nothing: it goes out as soon as it can, so that it holds up no feature
    ranks = {node: (place.get(node, -1), node) for node in graph}
    return np.array([place[node] for node in nx.lexicographical_topological_sort(graph, ranks.get) if node in place])
