"""Global values by their definition: a loop over rows and over all orders. Imports nothing of ours."""

import numpy as np


def global_values(nu, rows, targets, loss, orders, weights=None, groups=None):
    """phi (players,): mean over rows and orders of the loss before a player is known minus the loss after.

    ``nu(row, members)`` takes a frozenset of features; without ``groups`` players are features.
    """
    sets = [frozenset(members) for members in groups] if groups else [frozenset([i]) for i in range(len(rows[0]))]
    weights = np.ones(len(orders)) if weights is None else np.asarray(weights, dtype=float)
    phi = np.zeros(len(sets))
    for row, y in zip(rows, targets, strict=True):
        known = {}

        def worth(members, row=row, y=y, known=known):
            if members not in known:
                known[members] = -loss(nu(row, members), y)
            return known[members]

        for order, weight in zip(orders, weights / weights.sum(), strict=True):
            before = frozenset()
            for i in order:
                phi[i] += weight * (worth(before | sets[i]) - worth(before)) / len(rows)
                before = before | sets[i]
    return phi
