"""Causal graphs and orders that cannot be one."""

import networkx as nx
import numpy as np

from shap_asv import CausalOrder, GraphMixture, PartialGraph
from shap_asv.errors import (
    ArgumentError,
    BudgetExceededError,
    CausalGraphError,
    OrdersError,
    UnknownFeatureError,
)
from tests.explainer.bad_input.setting import Bad, first

PAIR = [("a", "b")]

EXPLAINERS = {
    "cycle": Bad(
        lambda c: c.make(causal_graph=[("smoke", "lung"), ("lung", "smoke")]),
        CausalGraphError,
        "cycle: smoke -> lung -> smoke",
    ),
    "self-loop": Bad(lambda c: c.make(causal_graph=[("smoke", "smoke")]), CausalGraphError, "self-loop at 'smoke'"),
    "undirected": Bad(lambda c: c.make(causal_graph=nx.Graph([("smoke", "lung")])), CausalGraphError, "undirected"),
    "a word": Bad(lambda c: c.make(causal_graph="smoke"), CausalGraphError, "cannot be read from a str"),
    "a matrix": Bad(lambda c: c.make(causal_graph=np.zeros((7, 7))), CausalGraphError, "from_pandas_adjacency"),
    "no graphs of one in a list": Bad(
        lambda c: c.make(causal_graph=[[("smoke", "lung")], "lung"]), CausalGraphError, "entry 1 .* not a graph"
    ),
    "typo in one of two graphs": Bad(
        lambda c: c.make(causal_graph=[[("smoke", "lung")], [("Smoke", "lung")]]),
        CausalGraphError,
        "did you mean 'smoke'",
    ),
    "graph of negative weight": Bad(
        lambda c: c.make(causal_graph=[([("smoke", "lung")], 1.0), ([("lung", "smoke")], -1.0)]),
        OrdersError,
        "graph 1 has weight -1; weights are positive",
    ),
    "no consistent extension": Bad(
        lambda c: c.make(
            causal_graph=PartialGraph(c.names, [("smoke", "lung"), ("bronc", "xray")], [("lung", "xray")])
        ),
        CausalGraphError,
        "no consistent extension: ",
    ),
    "graphs over different features": Bad(
        lambda c: GraphMixture([CausalOrder.from_edges([("a", "b")]), CausalOrder.from_edges([("a", "c")])]),
        CausalGraphError,
        "features",
    ),
    "graph without weight beside one with": Bad(
        lambda c: c.make(causal_graph=[([("smoke", "lung")], 1.0), [("lung", "smoke")]]),
        CausalGraphError,
        "entry 0 of the list has a weight and others have none",
    ),
    "edge of three": Bad(lambda c: c.make(causal_graph=[("a", "b", "c")]), CausalGraphError, "no .cause, effect. pair"),
    "node is a list": Bad(
        lambda c: c.make(causal_graph=[(["smoke"], "lung")]), CausalGraphError, r"\['smoke'\], which is not a name"
    ),
    "1 and '1'": Bad(
        lambda c: c.make(causal_graph=nx.DiGraph([(1, "smoke"), ("1", "lung")])), CausalGraphError, "written alike"
    ),
    "strangers": Bad(lambda c: c.make(causal_graph=[("sun", "moon")]), CausalGraphError, "none of which is a feature"),
    "column past the end": Bad(
        lambda c: c.over_matrix(first, causal_graph=[(0, 7)]), CausalGraphError, "columns are 0 to 2"
    ),
}

CAUSAL_ORDERS = {
    "nothing": Bad(lambda c: CausalOrder.from_edges([]), CausalGraphError, "no edges and no features"),
    "edges is a word": Bad(lambda c: CausalOrder.from_edges("ab"), CausalGraphError, "edges is the string"),
    "edges is a number": Bad(lambda c: CausalOrder.from_edges(5), CausalGraphError, "not int"),
    "features is a word": Bad(
        lambda c: CausalOrder.from_edges(PAIR, features="ab"), CausalGraphError, "the single string 'ab'"
    ),
    "feature twice": Bad(lambda c: CausalOrder.from_edges(PAIR, features=["a", "a"]), CausalGraphError, "'a' twice"),
    "feature not hashable": Bad(
        lambda c: CausalOrder.from_edges(PAIR, features=[["a"]]), CausalGraphError, "not hashable"
    ),
    "levels is a number": Bad(lambda c: CausalOrder.from_levels(5), CausalGraphError, "not int"),
    "level is empty": Bad(lambda c: CausalOrder.from_levels([["a"], []]), CausalGraphError, "level 1 is empty"),
    "graph is None": Bad(lambda c: CausalOrder.from_graph(None), CausalGraphError, "not NoneType"),
    "graph without nodes": Bad(lambda c: CausalOrder.from_graph(nx.DiGraph()), CausalGraphError, "graph is empty"),
    "feature outside of the graph": Bad(
        lambda c: CausalOrder.from_graph(nx.DiGraph(PAIR), features=["c"]), UnknownFeatureError, "no feature 'c'"
    ),
    "parent past the end": Bad(lambda c: CausalOrder(("a", "b"), ((5,), ())), CausalGraphError, "not an index of 2"),
    "parents are names": Bad(lambda c: CausalOrder(("a", "b"), ((), ("a",))), CausalGraphError, "list of indices"),
    "no orders are drawn": Bad(
        lambda c: CausalOrder.from_edges(PAIR).sample_topological_orders(0),
        ArgumentError,
        "n=0 is not a positive integer",
    ),
    "orders past the memory": Bad(
        lambda c: CausalOrder.from_edges(PAIR).sample_topological_orders(10**15), BudgetExceededError, "in parts"
    ),
    "sampler's seed": Bad(
        lambda c: CausalOrder.from_edges(PAIR).sample_topological_orders(2, seed=-1), ArgumentError, "seed=-1"
    ),
    "limit of no ideals": Bad(lambda c: CausalOrder.from_edges(PAIR).count_ideals(limit=0), ArgumentError, "limit=0"),
    "more ideals than the limit": Bad(
        lambda c: CausalOrder.from_levels([range(5), range(5, 10)]).count_ideals(limit=3),
        BudgetExceededError,
        "more than 3 ideals; raise limit=",
    ),
    "ancestors of a stranger": Bad(
        lambda c: CausalOrder.from_edges(PAIR).ancestors("c"), UnknownFeatureError, "no feature 'c'"
    ),
}

GRAPHS = {**EXPLAINERS, **CAUSAL_ORDERS}
