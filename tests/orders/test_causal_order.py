"""CausalOrder as a value: ways to write it down, facts, equality, bad input."""

import gzip
import pickle

import networkx as nx
import numpy as np
import pytest

from benchmarks.graphs import network_graph, network_path
from shap_asv.orders import CausalOrder
from tests.orders.enumerated import KINDS, enumerated


def test_features_without_edges_are_kept():
    order = CausalOrder.from_edges([("a", "b")], features=["z", "b", "a"])
    assert order.features == ("z", "b", "a")
    assert order.n_features == 3
    assert order.edges == (("a", "b"),)
    graph = nx.DiGraph([("a", "b")])
    graph.add_node("alone")
    assert CausalOrder.from_graph(graph).features == ("a", "b", "alone")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_facts_agree_with_networkx(kind, seed):
    case = enumerated(kind, seed, largest=12)
    graph = nx.DiGraph(case.edges)
    graph.add_nodes_from(range(case.order.n_features))
    assert set(case.order.edges) == set(nx.transitive_reduction(graph).edges)
    for v in case.order.features:
        assert case.order.ancestors(v) == nx.ancestors(graph, v)
        assert case.order.descendants(v) == nx.descendants(graph, v)
        assert set(np.flatnonzero(case.order.ancestor_matrix[:, v])) == nx.ancestors(graph, v)
        assert case.order.children[v] == tuple(sorted(nx.transitive_reduction(graph).successors(v)))
    reduced = nx.transitive_reduction(graph)
    assert case.order.is_forest == all(d <= 1 for _, d in reduced.in_degree)
    assert case.order.is_polytree == nx.is_forest(reduced.to_undirected())
    position = {v: k for k, v in enumerate(case.order.topological_indices)}
    assert all(position[a] < position[b] for a, b in graph.edges)
    assert set(case.order.to_graph().edges) == set(reduced.edges)
    assert list(case.order.to_graph().nodes) == list(case.order.features)


@pytest.mark.parametrize("seed", range(10))
def test_projection_keeps_exactly_the_paths(seed):
    rng = np.random.default_rng(seed)
    n = 9
    edges = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.3]
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(n))
    kept = [int(v) for v in rng.permutation(n)[:5]]
    order = CausalOrder.from_graph(graph, features=kept)
    assert order.restricted_to([2, 0]) == CausalOrder.from_graph(graph, features=[kept[2], kept[0]])
    for a in kept:
        assert order.descendants(a) == nx.descendants(graph, a) & set(kept)


def test_levels():
    order = CausalOrder.from_levels([["age", "sex"], ["education"], ["income", "savings"]])
    assert order.features == ("age", "sex", "education", "income", "savings")
    assert order.ancestors("savings") == {"age", "sex", "education"}
    assert order.ancestors("sex") == frozenset()
    assert order.count_topological_orders() == 4
    assert order == CausalOrder.from_levels(iter([("age", "sex"), ("education",), ("income", "savings")]))


def test_pgmpy_networks_are_graphs():
    from pgmpy.base import DAG
    from pgmpy.readwrite import BIFReader

    network = BIFReader(string=gzip.decompress(network_path("cancer").read_bytes()).decode()).get_model()
    assert set(network.edges) == set(network_graph("cancer").edges)  # the reader that all other tests use
    order = CausalOrder.from_graph(network)
    assert set(order.features) == set(network.nodes)
    assert order.ancestors("Xray") == {"Cancer", "Pollution", "Smoker"}
    assert CausalOrder.from_graph(DAG([("a", "b")])) == CausalOrder.from_edges([("a", "b")])


def test_equal_by_value_hashable_picklable():
    one = CausalOrder.from_edges([("a", "b"), ("b", "c"), ("a", "c")])
    two = CausalOrder.from_graph(nx.DiGraph([("a", "b"), ("b", "c")]))
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two}) == 1
    assert one != CausalOrder.from_edges([("a", "b"), ("b", "c")], features=["c", "b", "a"])
    assert one != CausalOrder.from_edges([("a", "b")], features=["a", "b", "c"])
    assert one.ancestor_matrix.any()  # derived, and must not be needed by the copy
    copy = pickle.loads(pickle.dumps(one))
    assert copy == one
    assert copy.topological_indices == one.topological_indices
    assert (copy.ancestor_matrix == one.ancestor_matrix).all()


def test_immutable():
    order = CausalOrder.from_edges([("a", "b")])
    with pytest.raises(AttributeError):
        order.features = ("b", "a")
    with pytest.raises(ValueError, match="read-only"):
        order.ancestor_matrix[0, 0] = True


def test_repr_is_readable():
    assert repr(CausalOrder.from_edges([("a", "b")])) == "CausalOrder(2 features, 1 edge: a -> b)"
    assert repr(CausalOrder.from_edges([], features=["x"])) == "CausalOrder(1 feature, no edges: x)"
    assert len(repr(CausalOrder.from_graph(network_graph("andes")))) < 300
