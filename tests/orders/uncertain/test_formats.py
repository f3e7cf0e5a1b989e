"""Graphs of other libraries: what each of their edges means, names, and what is not accepted."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from shap_asv.errors import CausalGraphError, CausalGraphWarning
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture, PartialGraph, read_causal_graphs
from shap_asv.orders.uncertain.formats import FORMATS, is_one_graph, read_partial_graph
from tests.orders.uncertain.foreign import CausalGraph, GeneralGraph

# a - b, b -> d, c -> d, d -> e as causal-learn's PC has it: printed and looked at in version 0.1.4.8
MATRIX = [[0, -1, 0, 0, 0], [-1, 0, 0, -1, 0], [0, 0, 0, -1, 0], [0, 1, 1, 0, -1], [0, 0, 0, 1, 0]]
WANTED = PartialGraph("abcde", [tuple(edge) for edge in ("bd", "cd", "de")], ["ab"])


def collider_data(n=2000):
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    c = rng.normal(size=n)
    d = b + c + rng.normal(size=n)
    return np.c_[a, b, c, d, d + rng.normal(size=n)]


def test_pgmpy_pdag():
    from pgmpy.base import PDAG

    pdag = PDAG(directed_ebunch=sorted(WANTED.directed), undirected_ebunch=[("a", "b")])
    assert set(read_partial_graph(pdag).nodes) == set("abcde")
    read = read_partial_graph(pdag)
    assert (read.directed, read.undirected) == (WANTED.directed, WANTED.undirected)


def test_pgmpy_admg():
    from pgmpy.base import ADMG

    admg = ADMG(directed_ebunch=[("a", "b"), ("b", "c")], bidirected_ebunch=[("a", "c"), ("a", "b")])
    read = read_partial_graph(admg)
    hidden = {(f"a <-> {other}", end) for other in "bc" for end in ("a", other)}
    assert read.directed == {("a", "b"), ("b", "c"), *hidden}
    assert read_causal_graphs(admg, "abc", ["a <-> b", "a <-> c"]) == CausalOrder.from_edges([("a", "b"), ("b", "c")])


def test_pgmpy_learners():
    from pgmpy.causal_discovery import GES, PC, HillClimbSearch

    data = pd.DataFrame(collider_data(3000), columns=list("abcde"))
    for learner in (
        PC(ci_test="pearsonr", show_progress=False, n_jobs=1),
        GES(scoring_method="bic-g"),
        HillClimbSearch(scoring_method="bic-g", show_progress=False),
    ):
        learned = learner.fit(data).causal_graph_
        read = read_partial_graph(learned)
        assert read.directed == learned.directed_edges
        assert read.undirected == set(map(frozenset, learned.undirected_edges))
        if not isinstance(learner, HillClimbSearch):  # which may end in a local optimum
            assert (read.oriented().directed, read.oriented().undirected) == (WANTED.directed, WANTED.undirected)


@pytest.mark.parametrize("wrap", [lambda g: g, CausalGraph])
def test_causal_learn_stand_ins(wrap):
    assert read_partial_graph(wrap(GeneralGraph("abcde", MATRIX))) == WANTED
    numbered = GeneralGraph([f"X{k}" for k in range(1, 6)], MATRIX)
    assert read_partial_graph(wrap(numbered), list("abcde")) == WANTED
    assert read_partial_graph(wrap(numbered)).nodes == ("X1", "X2", "X3", "X4", "X5")


def test_causal_learn_bidirected_and_circles():
    hidden = PartialGraph(["a", "b", "a <-> b"], [("a <-> b", "a"), ("a <-> b", "b")])
    assert read_partial_graph(GeneralGraph("ab", [[0, 1], [1, 0]])) == hidden
    for marks, shown in (((2, 2), "a o-o b"), ((2, 1), "a o-> b"), ((1, 2), "a <-o b"), ((-1, 2), "a --o b")):
        with pytest.raises(CausalGraphError, match=rf"the edge {shown}: a PAG, .* Accepted is a networkx.DiGraph"):
            read_partial_graph(GeneralGraph("ab", [[0, marks[0]], [marks[1], 0]]))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.array([[0, 1], [0, 0]]), "not a graph; .*networkx.from_pandas_adjacency makes one of a matrix"),
        ("a -> b", "cannot be read from a str; pass a networkx.DiGraph"),
        (7, "cannot be read from a int"),
        (None, "cannot be read from a NoneType"),
        ([], "the causal graph is empty"),
    ],
)
def test_bad_graphs(graph, message):
    with pytest.raises(CausalGraphError, match=message):
        read_causal_graphs(graph)


def test_every_format_is_tried():
    """Each row of the table recognises one of these, and reads it as the same DAG."""
    from pgmpy.base import ADMG, PDAG

    edges = [("a", "b"), ("b", "c")]
    admg = ADMG(directed_ebunch=edges, bidirected_ebunch=[("a", "c")])
    graphs = [
        PartialGraph("abc", edges),
        CausalOrder.from_edges(edges),
        PDAG(directed_ebunch=edges),
        admg,
        nx.DiGraph(edges),
        GeneralGraph("abc", [[0, -1, 0], [1, 0, -1], [0, 1, 0]]),
        edges,
    ]
    rows = [next(k for k, (recognises, _) in enumerate(FORMATS) if recognises(graph)) for graph in graphs]
    assert rows == list(range(len(FORMATS)))
    for graph in graphs:
        assert read_causal_graphs(graph, list("abc"), ["a <-> c"]) == CausalOrder.from_edges(edges)


# --- several graphs -----------------------------------------------------------------------------------------------


def test_lists_of_graphs():
    forth, back = [("a", "b")], [("b", "a")]
    features = ["a", "b", "c"]
    with pytest.warns(CausalGraphWarning, match="does not mention 'c'"):
        order = read_causal_graphs(nx.DiGraph(forth), features=features)
    assert order == CausalOrder.from_edges(forth, features=features)
    for graphs in (
        [nx.DiGraph(forth), nx.DiGraph(back)],
        [CausalOrder.from_edges(forth), back],
    ):
        assert read_causal_graphs(graphs, features=["a", "b"]).weights == (0.5, 0.5)
    mixture = read_causal_graphs([(forth, 3), (nx.DiGraph(back), 1)], features=["a", "b"])
    assert mixture.edge_certainty == {("a", "b"): 0.75, ("b", "a"): 0.25}
    assert read_causal_graphs([(forth, 3), (forth, 1)], features=["a", "b"]) == CausalOrder.from_edges(forth)
    assert read_causal_graphs(mixture, features=["b", "a"]).features == ("b", "a")
    assert read_causal_graphs(mixture, features=["a", "b"]) is mixture
    with pytest.warns(CausalGraphWarning, match="does not mention 'c'"):
        assert read_causal_graphs([forth, back], features=features).n_features == 3
    assert read_causal_graphs([forth, []], features=["a", "b"]).edge_certainty == {("a", "b"): 0.5}
    partly = PartialGraph("ab", undirected=["ab"])
    assert read_causal_graphs([(partly, 1), (forth, 1)], features=["a", "b"]).edge_certainty[("a", "b")] == 0.75
    assert isinstance(read_causal_graphs(partly), GraphMixture)


def test_edges_are_not_mistaken_for_graphs():
    assert is_one_graph([(0, 1), (1, 2)])
    assert is_one_graph([("a", 1), ("b", 1)])
    assert not is_one_graph([(nx.DiGraph([("a", "b")]), 1)])
    assert not is_one_graph([([("a", "b")], 1)])
    assert read_causal_graphs([("a", 1), ("b", 1)]).edges == (("a", 1), ("b", 1))


def test_other_nodes_are_hidden():
    graph = nx.DiGraph([("age", "health"), ("health", "income")])
    wanted = CausalOrder.from_edges([("age", "income")])
    with pytest.warns(CausalGraphWarning, match="'health', not a feature of the model; projected out"):
        assert read_causal_graphs(graph, features=["age", "income"]) == wanted
    assert read_causal_graphs(graph, features=["age", "income"], hidden=["health"]) == wanted
    with pytest.warns(CausalGraphWarning, match="'x9'"):  # a number makes another name
        read_causal_graphs([("x1", "x2"), ("x9", "x2")], features=["x1", "x2"])


def test_hidden_nodes_of_a_class_take_part_in_it():
    """a - h - b with h hidden: three DAGs, of which one each puts a before b and b before a."""
    partly = PartialGraph("ahb", undirected=["ah", "hb"])
    mixture = read_causal_graphs(partly, features=["a", "b"], hidden=["h"])
    assert {order.edges: round(weight, 12) for order, weight in zip(mixture.orders, mixture.weights, strict=True)} == {
        (("a", "b"),): round(1 / 3, 12),
        (("b", "a"),): round(1 / 3, 12),
        (): round(1 / 3, 12),
    }


@pytest.mark.parametrize(
    ("edges", "features", "message"),
    [
        ([("Age", "income")], ["age", "income"], "node 'Age', which is not a feature; did you mean 'age'"),
        ([("age", "incom")], ["age", "income"], "node 'incom', which is not a feature; did you mean 'income'"),
        ([("X1", "y")], ["x1", "y"], "did you mean 'x1'"),
        ([("p", "q")], ["age", "income"], "speaks of 'p', 'q', none of which is a feature"),
    ],
)
def test_typos(edges, features, message):
    for graph in (nx.DiGraph(edges), [nx.DiGraph([(features[0], features[1])]), nx.DiGraph(edges)]):
        with pytest.raises(CausalGraphError, match=message):
            read_causal_graphs(graph, features=features)
