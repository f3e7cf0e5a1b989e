"""The experiment past the paper: what its tables say follows from the definitions."""

import math

import networkx as nx

from benchmarks.beyond import balanced, claims, pruned_child
from benchmarks.experiment import Table
from benchmarks.graphs import pruned_child as pruned_child_graph

NETWORK = ("network", "s per row", "efficiency gap")
FOREST = (
    "features",
    "s per row",
    "ASV / TreeSHAP, path-dependent",
    "ASV / TreeSHAP, interventional",
    "efficiency gap",
)


def test_forests_are_counted_and_add_up():
    graph, features, digits, leaves, rows, *_, gap = pruned_child(2, 2)
    assert (graph, features, rows) == ("child, pruned to a tree", 19, 2)
    tree = nx.DiGraph(pruned_child_graph())
    tree.remove_node("XrayReport")
    sizes = math.prod(len(nx.descendants(tree, node)) + 1 for node in tree)
    assert digits == len(str(math.factorial(19) // sizes)) - 1
    assert leaves > 100
    assert gap < 1e-9
    assert balanced(7, 2, 2)[1:3] == (7, 1.0)  # 7! / (7 * 3 * 3) = 80 orders


def test_claims_follow_the_tables():
    def verdicts(slow, gap, ratio, last):
        networks = Table("networks", NETWORK, (("a", slow, 1e-12),))
        forests = Table(
            "forests", FOREST, ((19, 1.0, ratio, ratio / 20, gap), (10, 1.0, 1.0, 1.0, 0.0), (100, last, 1.0, 1.0, 0.0))
        )
        return [claim.holds for claim in claims((networks, forests))]

    assert verdicts(1.0, 1e-12, 0.9, 99.0) == [True] * 5
    assert verdicts(11.0, 1e-6, 1.1, 101.0) == [False] * 5
