"""Requisite evidence against networkx's d-separation, and against the numbers themselves."""

import itertools

import networkx as nx
import numpy as np
import pytest

from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.discrete.requisite import RequisiteEvidence
from tests.oracles.random_problems import random_edges, random_network


def as_network(cards, parents, tables):
    names = tuple(f"x{v}" for v in range(len(cards)))
    return DiscreteNetwork(names, tuple(tuple(range(c)) for c in cards), tuple(parents), tuple(tables))


@pytest.mark.parametrize("seed", range(25))
def test_matches_d_separation(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    network = as_network(*random_network(rng, n, random_edges(rng, n, "dag")))
    nodes = sorted(rng.choice(n, size=int(rng.integers(2, n + 1)), replace=False).tolist())
    coalitions = np.array(list(itertools.product([False, True], repeat=len(nodes))))
    asked = rng.random(len(nodes)) < 0.4
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((p, v) for v, parents in enumerate(network.parents) for p in parents)
    needed = RequisiteEvidence(network, nodes, coalitions).of(asked)
    for members, found in zip(coalitions, needed, strict=True):
        free = {nodes[v] for v in np.flatnonzero(asked & ~members)}
        for v in np.flatnonzero(members):
            others = {nodes[u] for u in np.flatnonzero(members)} - {nodes[v]}
            matters = bool(asked[v]) or (bool(free) and not nx.is_d_separator(graph, {nodes[v]}, free, others))
            assert found[v] == matters, (members, v)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_set_matters_where_a_path_leads_down_through_hidden_nodes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    network = as_network(*random_network(rng, n, random_edges(rng, n, "dag")))
    nodes = sorted(rng.choice(n, size=n - 1, replace=False).tolist())
    coalitions = np.array(list(itertools.product([False, True], repeat=len(nodes))))
    asked = rng.random(len(nodes)) < 0.3
    needed = RequisiteEvidence(network, nodes, coalitions, intervenes=True).of(asked)
    for members, found in zip(coalitions, needed, strict=True):
        held = {nodes[v] for v in np.flatnonzero(members)}
        below = nx.DiGraph()  # a path ends at the first node that is set
        below.add_nodes_from(range(n))
        below.add_edges_from((p, v) for v, parents in enumerate(network.parents) for p in parents if v not in held)
        free = {nodes[v] for v in np.flatnonzero(asked)} - held
        for v in np.flatnonzero(members):
            assert found[v] == (bool(asked[v]) or bool(nx.descendants(below, nodes[v]) & free)), (members, v)
