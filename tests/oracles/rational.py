"""ASV from its definition with every conditional expectation in exact fractions: nothing underflows, however small.

The same as :mod:`tests.oracles.brute_force`, for networks of a few nodes; imports nothing of ours.
"""

import itertools
from fractions import Fraction


def joint_of(cards, parents, tables):
    """{states: P(states)} with every double taken at its exact value."""
    joint = {}
    for states in itertools.product(*(range(c) for c in cards)):
        chance = Fraction(1)
        for v, table in enumerate(tables):
            chance *= Fraction(float(table[(states[v], *(states[p] for p in parents[v]))]))
        joint[states] = chance
    return joint


def asv(joint, model, row, orders):
    """phi as doubles: each nu(S) is a fraction, rounded once; ``model`` maps states to a number."""
    values = {states: Fraction(float(model(states))) for states in joint}
    known = {}

    def nu(members):
        if members not in known:
            inside = [states for states in joint if all(states[v] == row[v] for v in members)]
            total = sum(joint[states] for states in inside)
            known[members] = float(sum(joint[states] * values[states] for states in inside) / total)
        return known[members]

    phi = [0.0] * len(row)
    for order in orders:
        for place, i in enumerate(order):
            phi[i] += (nu(frozenset(order[: place + 1])) - nu(frozenset(order[:place]))) / len(orders)
    return phi
