"""What a case knows of causes, in one of several forms: the argument for the explainer, and the orders that it stands
for, written down from the definition."""

from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

import networkx as nx
import numpy as np

from shap_asv import CausalOrder, GraphMixture, PartialGraph
from tests.oracles.brute_force import topological_orders
from tests.oracles.partly_directed import consistent_extensions

#: Forms in which causes may be known; the simplest first.
FORMS = (
    "edges",
    "no edges",
    "levels",
    "orders",
    "weighted orders",
    "mixture",
    "weighted mixture",
    "partly directed",
)

Edges = list[tuple[int, int]]


@dataclass(frozen=True)
class Causes:
    """Arguments of the explainer, and orders of the features (positions) with their weights."""

    arguments: dict[str, Any]
    orders: list[tuple[int, ...]]
    weights: np.ndarray
    one_graph: bool = False

    def always_before(self) -> Edges:
        """Pairs whose first member comes before the second in every order: of one graph, all that it says."""
        n = len(self.orders[0])
        pairs = permutations(range(n), 2)
        return [(a, b) for a, b in pairs if all(order.index(a) < order.index(b) for order in self.orders)]


def random_edges(n: int, rng: np.random.Generator, density: float = 0.45) -> Edges:
    """A random DAG on positions."""
    sequence = rng.permutation(n)
    pairs = [(int(sequence[a]), int(sequence[b])) for a in range(n) for b in range(a + 1, n)]
    return [pair for pair in pairs if rng.random() < density]


def of_graphs(n: int, graphs: list[Edges], weights: Any = None) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All orders of several DAGs: a graph's weight is shared evenly among its own orders."""
    shares = np.full(len(graphs), 1.0) if weights is None else np.asarray(weights, dtype=float)
    orders: list[tuple[int, ...]] = []
    each: list[float] = []
    for edges, share in zip(graphs, shares / shares.sum(), strict=True):
        found = topological_orders(n, edges)
        orders += found
        each += [share / len(found)] * len(found)
    return orders, np.array(each)


def digraph(names: list[str], edges: Edges) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[a], names[b]) for a, b in edges)
    return graph


def known_causes(form: str, names: list[str], rng: np.random.Generator) -> Causes:
    """Random knowledge in the form that is asked for."""
    n = len(names)
    if form in ("orders", "weighted orders"):
        return _explicit(form, names, rng)
    if form == "levels":
        level = rng.integers(0, 3, n)
        levels = [np.flatnonzero(level == k) for k in range(3) if (level == k).any()]
        edges = [(int(a), int(b)) for a in range(n) for b in range(n) if level[a] < level[b]]
        order = CausalOrder.from_levels([[names[i] for i in members] for members in levels])
        return Causes({"causal_graph": order}, *of_graphs(n, [edges]), one_graph=True)
    if form in ("mixture", "weighted mixture"):
        return _mixture(form, names, rng)
    if form == "partly directed":
        return _partly_directed(names, rng)
    edges = [] if form == "no edges" else random_edges(n, rng)
    return Causes({"causal_graph": digraph(names, edges)}, *of_graphs(n, [edges]), one_graph=True)


def known_levels(
    names: list[str], rng: np.random.Generator, most: int = 3
) -> tuple[Causes, list[list[int]], list[int]]:
    """Levels of features for interventions, each confounded or not: what is known, levels, and the confounded ones."""
    n = len(names)
    level = rng.integers(0, most, n)
    levels = [np.flatnonzero(level == k).tolist() for k in range(most) if (level == k).any()]
    confounded = [k for k in range(len(levels)) if rng.random() < 0.4]
    edges = [(a, b) for a in range(n) for b in range(n) if level[a] < level[b]]
    order = CausalOrder.from_levels([[names[i] for i in members] for members in levels], confounded=confounded)
    return Causes({"causal_graph": order}, *of_graphs(n, [edges]), one_graph=True), levels, confounded


def _explicit(form: str, names: list[str], rng: np.random.Generator) -> Causes:
    every = list(permutations(range(len(names))))
    chosen = [every[k] for k in rng.choice(len(every), min(len(every), int(rng.integers(1, 6))), replace=False)]
    chains = [digraph(names, list(pairwise(order))) for order in chosen]
    if form == "orders":
        return Causes({"causal_graph": chains}, chosen, np.full(len(chosen), 1 / len(chosen)))
    weights = rng.uniform(0.1, 3.0, len(chosen))
    graphs = list(zip(chains, weights.tolist(), strict=True))
    return Causes({"causal_graph": graphs}, chosen, weights / weights.sum())


def _mixture(form: str, names: list[str], rng: np.random.Generator) -> Causes:
    graphs = [random_edges(len(names), rng) for _ in range(int(rng.integers(1, 5)))]
    drawn = [digraph(names, edges) for edges in graphs]
    if form == "mixture":
        return Causes({"causal_graph": drawn}, *of_graphs(len(names), graphs))
    weights = 10.0 ** rng.uniform(-3, 2, len(graphs))
    pairs: Any = list(zip(drawn, weights.tolist(), strict=True))
    if rng.random() < 0.5:
        orders = [CausalOrder.from_graph(graph, features=names) for graph in drawn]
        pairs = GraphMixture(orders, weights.tolist())
    return Causes({"causal_graph": pairs}, *of_graphs(len(names), graphs, weights))


def _partly_directed(names: list[str], rng: np.random.Generator) -> Causes:
    """Some edges of a DAG lose their direction; where no DAG is left that keeps the v-structures, fewer lose it."""
    edges = random_edges(len(names), rng, density=0.5)
    loose = [edge for edge in edges if rng.random() < 0.5]
    while not (found := consistent_extensions([e for e in edges if e not in loose], loose)):
        loose.pop()
    directed = [edge for edge in edges if edge not in loose]
    graphs = sorted(sorted(graph) for graph in found)
    named = [[(names[a], names[b]) for a, b in kind] for kind in (directed, loose)]
    return Causes({"causal_graph": PartialGraph(names, *named)}, *of_graphs(len(names), graphs))
