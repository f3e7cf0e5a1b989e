"""PartialGraph: its extensions against the definition, known counts, uniform draws, Meek's rules, bad input."""

import pickle
from collections import Counter
from itertools import combinations
from math import factorial

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chisquare

from shap_asv.errors import ApproximationWarning, BudgetExceededError, CausalGraphError, UnknownFeatureError
from shap_asv.orders.uncertain import PartialGraph, extensions
from shap_asv.orders.uncertain.mixture import mixture_of_extensions
from tests.oracles.partly_directed import consistent_extensions, graph_of_kinds, partly_directed_graphs
from tests.orders.uncertain.all_graphs import check, equivalence_class_of


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_extensions_of_every_small_graph(n):
    counts = [check(n, *graph) for graph in partly_directed_graphs(n)]
    assert (len(counts), sum(map(bool, counts))) == {1: (1, 1), 2: (4, 4), 3: (62, 62), 4: (3608, 3317)}[n]
    assert max(counts) == factorial(n)


def test_extensions_of_some_larger_graphs():
    n = 6
    rng = np.random.default_rng(n)
    pairs = list(combinations(range(n), 2))
    counts = []
    while len(counts) < 100:
        directed, undirected = graph_of_kinds(pairs, rng.choice(4, p=[0.3, 0.15, 0.15, 0.4], size=len(pairs)).tolist())
        if nx.is_directed_acyclic_graph(nx.DiGraph(directed)):
            counts.append(check(n, directed, undirected))
    assert 8 < sum(map(bool, counts)) < 100


def test_extensions_of_graphs_with_background_knowledge():
    """A CPDAG with some edges of one of its DAGs told: every one is extendable, and splits are needed."""
    rng = np.random.default_rng(0)
    for _ in range(25):
        undirected = [pair for pair in combinations(range(6), 2) if rng.random() < 0.75]
        dag = {pair: pair[:: rng.choice((-1, 1))] for pair in undirected}
        told = [dag[pair] for pair in undirected if rng.random() < 0.2]
        rest = [pair for pair in undirected if dag[pair] not in told]
        if nx.is_directed_acyclic_graph(nx.DiGraph(told)):
            check(6, told, rest)


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_known_counts(n):
    nodes = range(n)
    assert PartialGraph(nodes, undirected=combinations(nodes, 2)).count() == factorial(n)
    assert PartialGraph(nodes, undirected=[(v, v + 1) for v in range(n - 1)]).count() == n
    tree = nx.random_labeled_tree(n, seed=n)
    assert PartialGraph(nodes, undirected=tree.edges).count() == n
    # complete but for one edge: the two ends are together first in none, 2 (n-1)! - (n-2)! ... by He, Jia and Yu
    if n > 2:
        nearly = [pair for pair in combinations(nodes, 2) if pair != (0, 1)]
        assert PartialGraph(nodes, undirected=nearly).count() == 2 * factorial(n - 1) - factorial(n - 2)


@pytest.mark.parametrize("seed", range(12))
def test_counts_of_chordal_graphs(seed):
    rng = np.random.default_rng(seed)
    while True:
        undirected = [pair for pair in combinations(range(7), 2) if rng.random() < 0.5]
        graph = nx.Graph(undirected)
        if 4 < len(undirected) < 13 and nx.is_chordal(graph):
            break
    wanted = consistent_extensions([], undirected)
    assert PartialGraph(range(7), undirected=undirected).count() == len(wanted)


def test_large_classes_are_counted_in_polynomial_time():
    n = 60
    band = PartialGraph(range(n), undirected=[(a, b) for a in range(n) for b in range(a + 1, min(n, a + 6))])
    count = band.count()
    assert count > n  # every node can be the source
    for dag in band.sample(3, seed=0):
        assert nx.is_directed_acyclic_graph(dag)
        assert {frozenset(edge) for edge in dag.edges} == band.undirected
        for v in dag:
            assert all(dag.has_edge(a, b) or dag.has_edge(b, a) for a, b in combinations(dag.predecessors(v), 2))


CASES = {
    "chordal": ([], [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (3, 4), (3, 5)]),
    "two parts": ([], [(0, 1), (1, 2), (3, 4), (4, 5), (3, 5)]),
    "background knowledge": (
        [(0, 4)],
        [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (0, 3), (3, 4), (1, 4), (2, 4), (4, 5)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_are_uniform_and_repeat_with_a_seed(case):
    wanted = consistent_extensions(*CASES[case])
    graph = PartialGraph(range(6), *CASES[case])
    draws = [frozenset(dag.edges) for dag in graph.sample(2000, seed=7)]
    assert draws[:20] == [frozenset(dag.edges) for dag in graph.sample(20, seed=7)]
    counts = Counter(draws)
    assert set(counts) == wanted
    assert chisquare(list(counts.values())).pvalue > 1e-3


# --- Meek's rules -------------------------------------------------------------------------------------------------


def arrows(*edges):
    return [tuple(edge) for edge in edges]


@pytest.mark.parametrize(
    ("directed", "undirected", "then"),
    [
        (arrows("ca"), ["ab"], "ab"),
        (arrows("ac", "cb"), ["ab"], "ab"),
        (arrows("cb", "db"), ["ab", "ac", "ad"], "ab"),
        (arrows("cd", "db"), ["ab", "ac", "ad"], "ab"),
    ],
    ids=["rule 1", "rule 2", "rule 3", "rule 4"],
)
def test_each_of_meeks_rules(directed, undirected, then):
    graph = PartialGraph("abcd", directed, undirected)
    assert tuple(then) in graph.oriented().directed
    found = [set(dag.edges) for dag in graph]
    assert found
    assert all(tuple(then) in edges for edges in found)


@pytest.mark.parametrize("seed", range(12))
def test_oriented_edges_are_those_that_all_extensions_share(seed):
    """Meek's rules are complete for a CPDAG with background knowledge."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(6)
    dag = [(int(order[a]), int(order[b])) for a, b in combinations(range(6), 2) if rng.random() < 0.5]
    graph = nx.DiGraph(dag)
    graph.add_nodes_from(range(6))
    cpdag = equivalence_class_of(graph)
    told = [edge for edge in dag if frozenset(edge) in cpdag.undirected and rng.random() < 0.3]
    rest = [edge for edge in cpdag.undirected if not {tuple(edge), tuple(edge)[::-1]} & set(told)]
    known = PartialGraph(range(6), cpdag.directed | set(told), rest).oriented()
    found = consistent_extensions(known.directed, [tuple(pair) for pair in known.undirected])
    assert frozenset(dag) in found
    assert known.directed == frozenset.intersection(*found)


# --- other things -------------------------------------------------------------------------------------------------


def test_more_dags_than_the_limit():
    graph = PartialGraph(range(12), undirected=combinations(range(12), 2))
    assert len({frozenset(next(iter(graph)).edges)}) == 1
    with pytest.warns(ApproximationWarning, match="479,001,600 DAGs; the mean is over 50 uniform draws"):
        assert mixture_of_extensions([(graph, 1.0)], limit=50, seed=0).n_graphs == 50


def test_counting_has_a_limit(monkeypatch):
    monkeypatch.setattr(extensions, "MOST_PARTS", 2)
    with pytest.raises(BudgetExceededError, match="takes more than 2 parts, such as one of 3 nodes"):
        PartialGraph(range(6), *CASES["background knowledge"]).count()


def test_value():
    one = PartialGraph("abc", [("a", "b")], [("b", "c")])
    two = PartialGraph(("a", "b", "c"), {("a", "b")}, {frozenset("bc")})
    assert one == two
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "PartialGraph(3 nodes, 1 directed edge, 1 undirected edge: a -> b, b - c)"
    assert repr(PartialGraph("a")) == "PartialGraph(1 node, no edges: a)"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("ab", [("a", "b")], ["ab"]), CausalGraphError, "'a' and 'b' are joined by a directed and an undirected"),
        ((["age", "sex"], [("Age", "sex")]), UnknownFeatureError, "no feature 'Age'; did you mean 'age'"),
    ],
)
def test_bad_graphs(arguments, error, message):
    with pytest.raises(error, match=message):
        PartialGraph(*arguments)


@pytest.mark.parametrize(
    ("directed", "undirected", "message"),
    [
        ([], ["ab", "bc", "cd", "da"], r"every way to direct a - b, a - d, b - c, c - d closes a cycle or makes a"),
        (arrows("ab", "dc"), ["bc"], r"b - c would have to be .* new v-structure"),
        (arrows("ab", "bc", "cd"), ["da", "ac"], None),
    ],
)
def test_no_consistent_extension(directed, undirected, message):
    graph = PartialGraph("abcd", directed, undirected)
    if message is None:
        assert len(list(graph)) == len(consistent_extensions(directed, [tuple(e) for e in undirected])) == 1
        return
    for ask in (graph.count, lambda: list(graph), lambda: graph.sample(1)):
        with pytest.raises(CausalGraphError, match=f"no consistent extension: {message}"):
            ask()


def test_arguments():
    graph = PartialGraph("ab", undirected=["ab"])
    for ask in (lambda: graph.sample(0), lambda: mixture_of_extensions([(graph, 1.0)], limit=-1)):
        with pytest.raises(ValueError, match="is not a positive integer"):
            ask()
    with pytest.raises(CausalGraphError, match="undirected edges, such as a - b; list"):
        graph.to_graph()
