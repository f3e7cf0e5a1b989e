"""Global values by their definition: a loop over rows and over all orders. Imports nothing of ours."""

import numpy as np

from tests.oracles.brute_force import over_orders


def global_values(nu, rows, targets, loss, orders, weights=None, groups=None):
    """phi (players,): mean over rows and orders of the loss before a player is known minus the loss after.

    ``nu(row, members)`` takes a frozenset of features; without ``groups`` players are features.
    """
    sets = [frozenset(members) for members in groups] if groups else [frozenset([i]) for i in range(len(rows[0]))]
    phi = np.zeros(len(sets))
    for row, y in zip(rows, targets, strict=True):

        def worth(members, row=row, y=y):
            return -loss(nu(row, frozenset().union(*(sets[i] for i in members))), y)

        phi += over_orders(worth, orders, weights) / len(rows)
    return phi
