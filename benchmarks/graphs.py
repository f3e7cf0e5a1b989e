"""Causal graphs to measure and test on: the networks that come with pgmpy, and made-up families.

Only the structure is read here, straight from the compressed BIF text: parsing the probability tables of a large
network takes seconds, and orders do not need them.
"""

import functools
import gzip
import re
from collections.abc import Hashable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

if TYPE_CHECKING:
    from shap_asv.backgrounds.discrete.network import DiscreteNetwork

# the paper prunes Child to a tree: for each node with two parents, the parent that is kept
KEPT_PARENT = {
    "HypDistrib": "CardiacMixing",
    "LowerBodyO2": "HypDistrib",
    "HypoxiaInO2": "CardiacMixing",
    "ChestXray": "LungFlow",
    "Grunting": "Sick",
    "Age": "Disease",
}


def network_path(name: str) -> Path:
    """Where pgmpy keeps its example network ``name``; pgmpy itself is not imported."""
    spec = find_spec("pgmpy")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "utils" / "example_models" / f"{name}.bif.gz"


@functools.cache
def network_graph(name: str) -> nx.DiGraph:
    """The graph of an example network, edges from cause to effect."""
    text = gzip.decompress(network_path(name).read_bytes()).decode()
    graph = nx.DiGraph()
    graph.add_nodes_from(re.findall(r"^variable\s+(\S+)", text, flags=re.MULTILINE))
    for effect, causes in re.findall(r"^probability\s*\(\s*([^\s|)]+)\s*\|([^)]*)\)", text, flags=re.MULTILINE):
        graph.add_edges_from((cause.strip(), effect) for cause in causes.split(","))
    return nx.freeze(graph)


@functools.cache
def pruned_child() -> nx.DiGraph:
    """The Child network as the paper prunes it: a rooted tree of 20 nodes."""
    graph = nx.DiGraph(network_graph("child"))
    for effect, kept in KEPT_PARENT.items():
        graph.remove_edges_from([(cause, effect) for cause in list(graph.predecessors(effect)) if cause != kept])
    return nx.freeze(graph)


def balanced_binary_tree(depth: int) -> nx.DiGraph:
    """2^depth - 1 nodes, edges away from the root."""
    return nx.DiGraph([((v - 1) // 2, v) for v in range(1, 2**depth - 1)])


def naive_bayes(n_effects: int) -> nx.DiGraph:
    """A star: one cause of all the other features."""
    return nx.DiGraph([("class", v) for v in range(n_effects)])


def inverted_star(n_causes: int) -> nx.DiGraph:
    """Many causes of one effect; no rooted tree."""
    return nx.DiGraph([(v, "effect") for v in range(n_causes)])


def multiple_paths(n_paths: int, length: int) -> nx.DiGraph:
    """Directed paths of ``length`` nodes each that start at one common root (the paper's ``multiplePaths``)."""
    graph = nx.DiGraph()
    for path in range(n_paths):
        nx.add_path(graph, ["root", *((path, step) for step in range(length))])
    return graph


def random_tree(n: int, rng: np.random.Generator, roots: int = 1) -> nx.DiGraph:
    """Each node but the first ``roots`` ones gets a cause among those before it, uniformly."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((int(rng.integers(v)), v) for v in range(roots, n))
    return graph


def rooted_trees(n: int) -> Iterator[nx.DiGraph]:
    """Every rooted tree of ``n`` nodes, once: each free tree, hung up at each of its nodes."""
    free = nx.nonisomorphic_trees(n) if n > 1 else [nx.empty_graph(1)]
    seen = set()
    for tree in free:
        for root in tree:
            hung = nx.bfs_tree(tree, root)
            if (form := nested(hung, root)) not in seen:
                seen.add(form)
                yield hung


def nested(tree: nx.DiGraph, root: Hashable) -> str:
    """The tree as brackets in brackets; equal for isomorphic rooted trees."""
    return "(" + "".join(sorted(nested(tree, child) for child in tree.successors(root))) + ")"


def to_pgmpy(network: "DiscreteNetwork") -> Any:
    """The network as a ``DiscreteBayesianNetwork`` with the same names, states and tables."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    result = DiscreteBayesianNetwork()
    result.add_nodes_from(network.names)
    for v, name in enumerate(network.names):
        result.add_edges_from((network.names[p], name) for p in network.parents[v])
    for v, name in enumerate(network.names):
        family = (v, *network.parents[v])
        result.add_cpds(
            TabularCPD(
                name,
                len(network.states[v]),
                network.tables[v].reshape(len(network.states[v]), -1),
                evidence=[network.names[p] for p in network.parents[v]] or None,
                evidence_card=[len(network.states[p]) for p in network.parents[v]] or None,
                state_names={network.names[u]: list(network.states[u]) for u in family},
            )
        )
    return result
