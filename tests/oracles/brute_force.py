"""ASV from its definition: all topological orders times the full joint distribution. Imports nothing of ours.

A network is given as plain arrays: ``cards[v]``, ``parents[v]`` (indices smaller than v) and ``tables[v]`` of shape
``(cards[v], *cards of parents)``.
"""

import itertools

import networkx as nx
import numpy as np


def joint_table(cards, parents, tables):
    """P(x) over all nodes, as an array with one axis per node."""
    joint = np.ones(tuple(cards))
    for states in itertools.product(*(range(c) for c in cards)):
        for v, table in enumerate(tables):
            joint[states] *= table[(states[v], *(states[p] for p in parents[v]))]
    return joint


def feature_joint(joint, feature_nodes):
    """P(x_F): latent nodes summed out, axes in the order of ``feature_nodes``."""
    latent = tuple(v for v in range(joint.ndim) if v not in feature_nodes)
    kept = [v for v in range(joint.ndim) if v in feature_nodes]
    return np.moveaxis(joint.sum(axis=latent), range(len(kept)), [feature_nodes.index(v) for v in kept])


def model_table(predict, cards):
    """M at every state: array (*cards, k); ``predict`` maps an int array (q, n) to (q, k) or (q,)."""
    states = np.array(list(itertools.product(*(range(c) for c in cards))))
    values = np.asarray(predict(states), dtype=float)
    values = values.reshape(len(states), -1)
    return values.reshape(*cards, -1)


def conditional_expectation(p_features, m_table, row, members):
    """nu(S) = E[M(X) | X_S = e_S] by summing over the full joint -> (k,)."""
    index = tuple(row[v] if v in members else slice(None) for v in range(p_features.ndim))
    p = p_features[index]
    m = m_table[index]
    return (p[..., None] * m).reshape(-1, m.shape[-1]).sum(axis=0) / p.sum()


def topological_orders(n, edges):
    """Every topological order of the DAG on 0..n-1, as tuples."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    return [tuple(order) for order in nx.all_topological_sorts(graph)]


def over_orders(value, orders, weights=None):
    """phi (n, k) of the game ``value(frozenset)``: the mean over orders of what each feature adds."""
    weights = np.full(len(orders), 1 / len(orders)) if weights is None else np.asarray(weights) / np.sum(weights)
    known = {}

    def nu(members):
        if members not in known:
            known[members] = np.asarray(value(members), dtype=float)
        return known[members]

    phi = 0.0
    for order, weight in zip(orders, weights, strict=True):
        gains = [None] * len(order)
        before = frozenset()
        for i in order:
            gains[i] = nu(before | {i}) - nu(before)
            before = before | {i}
        phi = phi + weight * np.array(gains)
    return phi


def asv_from_orders(p_features, m_table, row, orders, weights=None):
    """phi (n, k) by the definition: the weighted mean over orders of nu(before + i) - nu(before)."""
    return over_orders(lambda members: conditional_expectation(p_features, m_table, row, members), orders, weights)


def asv(p_features, m_table, row, edges):
    """phi for the uniform distribution on the topological orders of ``edges`` -> (n, k)."""
    return asv_from_orders(p_features, m_table, row, topological_orders(p_features.ndim, edges))
