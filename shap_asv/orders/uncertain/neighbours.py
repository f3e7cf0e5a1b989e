"""The graphs next to a graph: one edge turned, dropped or added. What if just this arrow is wrong?"""

from collections.abc import Hashable, Iterable
from itertools import permutations
from typing import Any, NamedTuple

import networkx as nx

from shap_asv.orders import reading
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.uncertain.formats import read_partial_graph


class Neighbour(NamedTuple):
    """A graph that differs in one edge: ``flip a -> b`` (to b -> a), ``drop a -> b`` or ``add a -> b``.

    ``order`` is that of the features, ``graph`` the changed graph itself, with nodes that are not features.
    """

    label: str
    order: CausalOrder
    graph: nx.DiGraph


def neighbours(graph: Any, features: Iterable[Hashable] | None = None, same_order: bool = False) -> list[Neighbour]:
    """All acyclic graphs that one change of one edge makes, and that put the features into another order.

    A change that leaves the partial order of the features as it is (an added edge that followed from others already)
    leaves their ASV as it is, and is left out.

    Parameters
    ----------
    graph : CausalOrder, networkx.DiGraph or any other graph without undirected edges
        Of a CausalOrder the edges of its transitive reduction are changed; of a graph its own.
    features : iterable of names, optional
        The players; edges are added among them only. By default all nodes, hidden common causes excepted.
    same_order : bool
        Keep the changes that leave the order of the features as it is: they change what interventions do.

    Returns
    -------
    list of Neighbour
        Flips, then drops, then additions, by edge in the sequence of the nodes. O(n^2) of them, O(n^2) each.

    Examples
    --------
    >>> [neighbour.label for neighbour in neighbours([("a", "b"), ("b", "c")])]
    ['flip a -> b', 'flip b -> c', 'drop a -> b', 'drop b -> c']
    """
    read = read_partial_graph(graph)
    dag = read.to_graph()
    names = list(read.nodes if features is None else reading.check_names(features))
    base = CausalOrder.from_graph(dag, features=names)
    place = {node: v for v, node in enumerate(read.nodes)}
    own = sorted(read.directed, key=lambda edge: (place[edge[0]], place[edge[1]]))
    new = [(a, b) for a, b in permutations(names, 2) if not dag.has_edge(a, b) and not dag.has_edge(b, a)]
    found = []
    for change in ("flip", "drop", "add"):
        for edge in new if change == "add" else own:
            changed = dag.copy()
            if change != "add":
                changed.remove_edge(*edge)
            if change != "drop":
                changed.add_edge(*(edge if change == "add" else edge[::-1]))
            if not nx.is_directed_acyclic_graph(changed):
                continue
            order = CausalOrder.from_graph(changed, features=names)
            if same_order or order != base:
                found.append(Neighbour(f"{change} {edge[0]} -> {edge[1]}", order, changed))
    return found
