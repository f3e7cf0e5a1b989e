"""Neighbours of a graph: all acyclic ones that one edge makes, by brute force."""

import networkx as nx
import numpy as np
import pytest

from shap_asv.errors import CausalGraphError
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import PartialGraph, neighbours
from tests.oracles.random_problems import random_edges


def precedence(edges, n):
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(n))
    return frozenset((a, b) for b in graph for a in nx.ancestors(graph, b))


@pytest.mark.parametrize("seed", range(10))
def test_all_neighbours(seed):
    rng = np.random.default_rng(seed)
    edges = set(random_edges(rng, 5, "dag"))
    graph = nx.DiGraph()
    graph.add_nodes_from(range(5))
    graph.add_edges_from(edges)
    wanted = {}
    for a in range(5):
        for b in range(5):
            if (a, b) in edges:
                wanted[f"flip {a} -> {b}"] = edges - {(a, b)} | {(b, a)}
                wanted[f"drop {a} -> {b}"] = edges - {(a, b)}
            elif a != b and (b, a) not in edges:
                wanted[f"add {a} -> {b}"] = edges | {(a, b)}
    base = precedence(edges, 5)
    wanted = {
        label: precedence(changed, 5)
        for label, changed in wanted.items()
        if nx.is_directed_acyclic_graph(nx.DiGraph(list(changed))) and precedence(changed, 5) != base
    }
    found = neighbours(graph)
    assert {each.label: precedence(each.order.edges, 5) for each in found} == wanted
    assert len(found) == len(wanted)


def test_of_an_order_the_transitive_reduction_is_changed():
    edges = [("a", "b"), ("b", "c"), ("a", "c")]
    from_order = {each.label: each.order for each in neighbours(CausalOrder.from_edges(edges), changes=["drop"])}
    from_graph = {each.label: each.order for each in neighbours(edges, changes=["drop"])}
    assert set(from_order) == {"drop a -> b", "drop b -> c"}
    assert from_order["drop b -> c"].edges == (("a", "b"),)
    assert set(from_graph["drop b -> c"].edges) == {("a", "b"), ("a", "c")}


def test_hidden_nodes():
    graph = nx.DiGraph([("a", "h"), ("h", "b"), ("b", "c")])
    labels = {each.label for each in neighbours(graph, features=["a", "b", "c"])}
    assert {"drop a -> h", "drop h -> b", "flip b -> c"} <= labels
    assert not any("add" in label and "h" in label.split()[1:] for label in labels)
    confounded = PartialGraph("abc", [("a", "b")], (), ["bc"])
    assert all(each.order.features == ("a", "b", "c") for each in neighbours(confounded))


def test_bad_input():
    with pytest.raises(CausalGraphError, match="undirected edges, such as a - b"):
        neighbours(PartialGraph("ab", undirected=["ab"]))
    with pytest.raises(CausalGraphError, match="no change 'turn' of an edge; choose from flip, drop, add"):
        neighbours([("a", "b")], changes=["turn"])
