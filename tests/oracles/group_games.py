"""The game of groups by its definition: all orders of the groups. Imports nothing of ours."""

import itertools

from tests.oracles.brute_force import over_orders


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
    return over_orders(lambda some: nu(frozenset(v for g in some for v in groups[g])), orders, weights)
