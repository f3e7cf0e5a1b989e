"""In which sequence nodes are summed out of pieces, so that few states of them are asked for.

Let the first node of a piece d in some sequence be its root. A parent u of d that comes before this root has been
summed out somewhere, so that d is asked for in every state of u; one that comes later is known wherever d is asked for.
So the pieces together take about

    cost(sequence) = sum over d of  prod over parents u of d before the root of d of card(u)
"""

import numpy as np

from shap_asv.backends.ancestral.completed import bits_in, family_masks
from shap_asv.backgrounds.discrete.network import DiscreteNetwork

# Pieces that the cost is looked at for, and by how much it has to fall for a move.
_PIECES = 1000
_LEAST = 1e-3


def find_sequence(network: DiscreteNetwork, pieces: np.ndarray) -> np.ndarray:
    """All nodes, causes before their effects; pieces as bits of nodes (p,). Any piece has a root in it, and no cycle.

    From the sequence of the network on, nodes are moved one by one as long as that lowers the cost.
    """
    if len(pieces) > _PIECES:
        pieces = np.random.default_rng(0).permutation(pieces)[:_PIECES]
    n_nodes = network.n_nodes
    inside = bits_in(pieces, np.arange(n_nodes))
    around = np.bitwise_or.reduce(np.where(inside, family_masks(network), 0), axis=1, initial=0)
    parents = bits_in(around & ~pieces, np.arange(n_nodes))
    sizes = np.where(parents, np.log(network.cardinalities), 0.0)

    def cost_of(sequence: list[int]) -> float:
        rank = np.empty(n_nodes, dtype=np.int64)
        rank[sequence] = np.arange(n_nodes)
        roots = np.where(inside, rank, n_nodes).min(axis=1, initial=n_nodes)
        return float(np.exp(np.where(rank < roots[:, None], sizes, 0.0).sum(axis=1)).sum())

    sequence = list(range(n_nodes))
    cost = cost_of(sequence)
    moved = True
    while moved:
        moved = False
        for v in np.flatnonzero(inside.any(axis=0)).tolist():
            tried = [(cost_of(other), other) for other in _moves(network, sequence, v)]
            least, other = min(tried, default=(cost, sequence))
            if least < (1 - _LEAST) * cost:
                cost, sequence, moved = least, other, True
    return np.array(sequence, dtype=np.int64)


def _moves(network: DiscreteNetwork, sequence: list[int], v: int) -> list[list[int]]:
    """The sequences that differ in the place of a node alone."""
    others = [u for u in sequence if u != v]
    first = max((others.index(u) + 1 for u in network.parents[v]), default=0)
    last = min((i for i, u in enumerate(others) if v in network.parents[u]), default=len(others))
    return [[*others[:i], v, *others[i:]] for i in range(first, last + 1) if i != sequence.index(v)]
