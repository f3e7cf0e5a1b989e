"""Random causal forests with networks and sums of products, for the algorithms on forests and polytrees."""

import numpy as np

from shap_asv.backends.forest.backend import prepare_forest
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.products import SumOfProducts
from tests.oracles.random_problems import random_edges, random_network


def as_network(cards, parents, tables):
    return DiscreteNetwork(
        tuple(f"x{v}" for v in range(len(cards))),
        tuple(tuple(range(c)) for c in cards),
        tuple(parents),
        tuple(tables),
    )


def own_order(network, feature_nodes):
    """The network's own graph as a causal order over the features."""
    place = {node: i for i, node in enumerate(feature_nodes)}
    return tuple(tuple(place[p] for p in network.parents[node] if p in place) for node in feature_nodes)


def forest_attributions(network, feature_nodes, products, rows, order_parents=None):
    order_parents = order_parents or own_order(network, feature_nodes)
    return prepare_forest(network, feature_nodes, products, order_parents=order_parents).attributions(rows)


def random_products(rng, cards, n_terms, n_outputs, real=False, most_touched=4):
    """Random terms: indicators of random state sets, or real functions of either sign (some of their values 0)."""
    vectors = []
    for card in cards:
        some = rng.normal(size=(5, card)) if real else (rng.random((5, card)) < 0.5).astype(float)
        some[rng.random((5, card)) < 0.2] = 0.0
        vectors.append(np.concatenate([np.ones((1, card)), some]))
    terms = np.zeros((n_terms, len(cards)), dtype=np.int32)
    for t in range(n_terms):
        touched = rng.choice(len(cards), size=rng.integers(1, min(most_touched, len(cards)) + 1), replace=False)
        terms[t, touched] = rng.integers(1, 6, size=len(touched))
    return SumOfProducts(tuple(vectors), terms, rng.normal(size=(n_terms, n_outputs)), rng.normal(size=n_outputs))


def random_forest_problem(rng, n, kind="forest", zeros=0.0, max_states=3, barren=0):
    """A network on a random graph; features in random order; ``barren`` childless nodes are left out.

    Returns (cards, parents, tables) of all nodes, feature_nodes, and the edges between features.
    """
    edges = random_edges(rng, n, kind)
    cards, parents, tables = random_network(rng, n, edges, max_parents=n, max_states=max_states, zeros=zeros)
    childless = [v for v in range(n) if not any(v in p for p in parents)]
    left_out = set(rng.permutation(childless)[:barren].tolist())
    feature_nodes = tuple(int(v) for v in rng.permutation(n) if v not in left_out)
    place = {node: i for i, node in enumerate(feature_nodes)}
    between = [(place[p], place[v]) for v in feature_nodes for p in parents[v]]
    return (cards, parents, tables), feature_nodes, between


def parents_from_edges(n, edges):
    return tuple(tuple(u for u, w in edges if w == v) for v in range(n))
