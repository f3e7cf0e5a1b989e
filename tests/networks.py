"""The networks of the paper, for tests: Child as it is, and pruned to a tree."""

from functools import cache

import numpy as np

from benchmarks.graphs import KEPT_PARENT
from shap_asv import load_network
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.pgmpy_networks import read_network


@cache
def full_network(name) -> DiscreteNetwork:
    return read_network(load_network(name))


@cache
def pruned_child_network() -> DiscreteNetwork:
    """Child with one parent per node, its CPT ``P(v | kept)`` taken from the full network."""
    network = full_network("child")
    background = DiscreteBackground(network)
    tables, parents = list(network.tables), list(network.parents)
    for effect, cause in KEPT_PARENT.items():
        v, kept = network.names.index(effect), network.names.index(cause)
        card, states = network.cardinalities[v], network.cardinalities[kept]
        evidence = np.full((states, network.n_nodes), -1)
        evidence[:, kept] = np.arange(states)
        vectors = [np.ones((1, c)) for c in network.cardinalities]
        vectors[v] = np.vstack([np.ones(card), np.eye(card)])
        terms = np.zeros((card, network.n_nodes), dtype=int)
        terms[:, v] = np.arange(1, card + 1)
        tables[v] = background.expected_sums(evidence, vectors, terms, np.eye(card)).T
        parents[v] = (kept,)
    return DiscreteNetwork(network.names, network.states, tuple(parents), tuple(tables))
