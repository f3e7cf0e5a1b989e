"""The game of groups by its definition: all orders of the groups. Imports nothing of ours."""

import itertools

import numpy as np


def orders_of_groups(n_groups, edges):
    """Every order of the groups in which no edge (a, b) runs backwards."""
    return [
        order
        for order in itertools.permutations(range(n_groups))
        if all(order.index(a) < order.index(b) for a, b in edges)
    ]


def quotient_edges(groups, feature_edges):
    """Pairs of groups, from pairs of features."""
    owner = {v: g for g, members in enumerate(groups) for v in members}
    return sorted({(owner[a], owner[b]) for a, b in feature_edges if owner[a] != owner[b]})


def group_values(nu, groups, orders, weights=None):
    """phi (g, k): the weighted mean over orders of what each group adds; ``nu`` takes a frozenset of features."""
    weights = np.ones(len(orders)) if weights is None else np.asarray(weights, dtype=float)
    phi = [0.0] * len(groups)
    for order, weight in zip(orders, weights / weights.sum(), strict=True):
        before = frozenset()
        for g in order:
            after = before | frozenset(groups[g])
            phi[g] = phi[g] + weight * (nu(after) - nu(before))
            before = after
    return np.array(phi)
