"""Causal order of features, from any way of writing a causal graph down."""

import networkx as nx
import numpy as np
import pytest

from shap_asv import orders
from shap_asv.errors import CausalGraphError
from shap_asv.plots.reading import causal_sequence, read_graph
from tests.oracles.random_problems import random_edges


def test_without_an_order_features_stay():
    np.testing.assert_array_equal(causal_sequence(None, ["b", "a"]), [0, 1])


@pytest.mark.parametrize("kind", ["forest", "polytree", "dag", "edgeless", "complete", "chain"])
def test_causes_come_first_and_nothing_else_moves(kind):
    rng = np.random.default_rng(3)
    for _ in range(25):
        n = int(rng.integers(1, 9))
        names = [f"f{i}" for i in rng.permutation(n)]
        edges = [(f"f{u}", f"f{v}") for u, v in random_edges(rng, n, kind)]
        sequence = [names[j] for j in causal_sequence(edges, names)]
        assert sorted(sequence) == sorted(names)
        assert all(sequence.index(u) < sequence.index(v) for u, v in edges)
        # of all topological orders the first one, when compared by position in the given sequence
        graph = nx.DiGraph(edges)
        graph.add_nodes_from(names)
        first = (
            min([names.index(name) for name in order] for order in nx.all_topological_sorts(graph)) if n < 7 else None
        )
        assert first is None or first == [names.index(name) for name in sequence]


def test_hidden_nodes_pass_precedence_on():
    sequence = causal_sequence([("cause", "hidden"), ("hidden", "effect")], ["effect", "other", "cause"])
    np.testing.assert_array_equal(sequence, [1, 2, 0])


@pytest.mark.parametrize(
    "graph",
    [
        [("smoker", "cancer"), ["cancer", "xray"]],
        nx.DiGraph([("smoker", "cancer"), ("cancer", "xray")]),
        orders.CausalOrder.from_edges([("smoker", "cancer"), ("cancer", "xray")]),
    ],
    ids=["edges", "networkx", "CausalOrder"],
)
def test_all_ways_of_writing_a_graph(graph):
    read = read_graph(graph)
    assert set(read.edges) == {("smoker", "cancer"), ("cancer", "xray")}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([("a", "b"), ("b", "a")], "cycle: a -> b -> a"),
        (nx.Graph([("a", "b")]), "undirected"),
        (["ab"], "read from a list; pass a networkx.DiGraph"),
        ([("a", "b", "c")], "read from a list"),
        ("a->b", "read from a str"),
        (7, "read from a int"),
    ],
)
def test_what_is_no_causal_graph(graph, message):
    with pytest.raises(CausalGraphError, match=message):
        causal_sequence(graph, ["a", "b"])
