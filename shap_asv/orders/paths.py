"""Two passes over the lattice of ideals: ways in, ways out, and the weight of every step.

A topological order is a path through the lattice from the empty ideal to the full one. Let ``up(S)`` be the number of
paths from {} to S, which is e(S), and ``down(S)`` the number of paths from S to X, which is e(X - S). Then

    w(S, i) = up(S) * down(S + i) / e(X)

is the probability that a uniform topological order passes the edge S -> S + i. Every order passes one edge per level,
so the weights of a level sum to one: it is enough to know ``up`` and ``down`` up to a factor per level, and floats
that are rescaled at every level neither overflow nor lose digits (all terms are positive), however large e(X) is.
"""

import numpy as np

from shap_asv.orders.lattice import IdealLattice


def scaled_down(lattice: IdealLattice) -> np.ndarray:
    """down(S) for all ideals, divided by the largest of its level: float64 (m,). O(edges)."""
    down = np.ones(lattice.n_ideals)
    for ideals, edges in reversed(lattice.levels()):
        ways = np.add.reduceat(down[lattice.edge_target[edges]], lattice.edge_starts[ideals] - edges.start)
        down[ideals] = ways / ways.max()
    return down


def edge_weights(lattice: IdealLattice) -> np.ndarray:
    """Probability that a uniform topological order passes each lattice edge.

    ``w[S, i] = e(S) e(X - S - i) / e(X)`` with e = number of linear extensions. O(edges). The weights that leave one
    level sum to 1.
    """
    down = scaled_down(lattice)
    weights = np.empty(lattice.n_edges)
    up: np.ndarray = np.ones(1)
    for ideals, edges in lattice.levels():
        targets = lattice.edge_target[edges]
        arriving = np.repeat(up, np.diff(lattice.edge_starts[ideals.start : ideals.stop + 1]))
        passing = arriving * down[targets]
        weights[edges] = passing / passing.sum()
        up = np.bincount(targets - ideals.stop, weights=arriving)
        up = up / up.max()
    return weights


def exact_down(lattice: IdealLattice) -> np.ndarray:
    """down(S) = e(X - S) for all ideals as Python integers: object array (m,). O(edges) additions."""
    down = np.empty(lattice.n_ideals, dtype=object)
    down[-1] = 1
    for ideals, edges in reversed(lattice.levels()):
        down[ideals] = np.add.reduceat(down[lattice.edge_target[edges]], lattice.edge_starts[ideals] - edges.start)
    return down


def exact_up(lattice: IdealLattice) -> np.ndarray:
    """up(S) = e(S) for all ideals as Python integers: object array (m,). O(edges) additions."""
    up = np.empty(lattice.n_ideals, dtype=object)
    up[0] = 1
    for ideals, edges in lattice.levels():
        targets = lattice.edge_target[edges]
        by_target = np.argsort(targets, kind="stable")
        n_next = int(targets.max()) + 1 - ideals.stop
        first = np.searchsorted(targets[by_target], np.arange(ideals.stop, ideals.stop + n_next))
        up[ideals.stop : ideals.stop + n_next] = np.add.reduceat(up[lattice.edge_source[edges]][by_target], first)
    return up


def count_paths(lattice: IdealLattice) -> int:
    """e(X) = down({}), exactly, keeping one level of integers at a time."""
    down = np.array([1], dtype=object)
    for ideals, edges in reversed(lattice.levels()):
        arriving = down[lattice.edge_target[edges] - ideals.stop]
        down = np.add.reduceat(arriving, lattice.edge_starts[ideals] - edges.start)
    return int(down[0])
