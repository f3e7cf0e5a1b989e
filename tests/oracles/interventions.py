"""Causal values from their definition: the mutilated joint, enumerated state by state. Imports nothing of ours.

A network is given as plain arrays, as in ``brute_force``.
"""

import itertools

import numpy as np


def intervened_states(cards, parents, tables, fixed):
    """Every state of all nodes under ``do(fixed)`` with its probability: edges into ``fixed`` are cut."""
    choices = [[fixed[v]] if v in fixed else range(card) for v, card in enumerate(cards)]
    for states in itertools.product(*choices):
        p = 1.0
        for v, table in enumerate(tables):
            if v not in fixed:
                p *= table[(states[v], *(states[u] for u in parents[v]))]
        yield states, p


def causal_value(network, feature_nodes, m_table, row, members, shown=()):
    """``E[M | do(X_S = e_S)]`` -> (k,); features ``shown`` to the model have the row's value in its eyes alone."""
    cards, parents, tables = network
    fixed = {feature_nodes[i]: row[i] for i in members}
    total = 0.0
    for states, p in intervened_states(cards, parents, tables, fixed):
        seen = tuple(row[i] if i in shown else states[v] for i, v in enumerate(feature_nodes))
        total = total + p * m_table[seen]
    return total


def marginal_value(network, feature_nodes, m_table, row, members):
    """``E[M(e_S, X_rest)]`` with every feature of the rest drawn by itself -> (k,)."""
    cards, parents, tables = network
    alone = [np.zeros(cards[v]) for v in feature_nodes]
    for states, p in intervened_states(cards, parents, tables, {}):
        for i, v in enumerate(feature_nodes):
            alone[i][states[v]] += p
    total = 0.0
    for states in itertools.product(*([row[i]] if i in members else range(len(p)) for i, p in enumerate(alone))):
        total = total + np.prod([alone[i][s] for i, s in enumerate(states) if i not in members]) * m_table[states]
    return total
