"""Which evidence can matter at all: the requisite observations of a question, for many coalitions at once.

Asked for ``P(X_F | e_S)``, evidence that is d-separated from F by the rest of S changes nothing. Shachter's Bayes
ball finds the evidence that can matter in time linear in the edges: a ball starts at each unobserved node of F,
passes through unobserved nodes up and down, is stopped by an observed node it meets from below, and bounces off an
observed node it meets from above. Observed nodes that the ball touched are requisite.

Under ``do(X_S = e_S)`` what is set tells nothing of its causes, so that the ball only goes up: evidence is requisite
where a path leads down from it to F that meets no other member of S.

The ball rolls for all coalitions in one go: a flag is one bit per coalition, so that a step along an edge is one
bitwise operation on the packed coalitions.
"""

from collections.abc import Sequence

import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork


class RequisiteEvidence:
    """The coalitions of a lattice, packed once and asked about many sets of features.

    Parameters
    ----------
    network : DiscreteNetwork
    nodes : sequence of int
        The network's node of each feature.
    coalitions : bool array (m, n)
    intervenes : bool
        Evidence is set, not conditioned on.
    """

    def __init__(
        self, network: DiscreteNetwork, nodes: Sequence[int], coalitions: np.ndarray, intervenes: bool = False
    ) -> None:
        self._roll = self._climb if intervenes else self._bounce
        self._parents = network.parents
        self._nodes = [int(v) for v in nodes]
        self._n_coalitions = len(coalitions)
        size = -(-max(1, len(coalitions)) // 64) * 64
        padded = np.zeros((network.n_nodes, size), dtype=bool)
        padded[self._nodes, : len(coalitions)] = np.asarray(coalitions, dtype=bool).T
        self._observed = np.packbits(padded, axis=1).view(np.uint64)

    def of(self, features: np.ndarray) -> np.ndarray:
        """Features (n,) bool that are asked about -> bool (m, n): members of each coalition that the answer can
        depend on.

        Members that are themselves asked about always count. O(edges * m / 64) per sweep, a few sweeps.
        """
        asked = [self._nodes[v] for v in np.flatnonzero(features)]
        observed = self._observed
        from_below, from_above = self._roll(asked)
        touched = (from_below | from_above) & observed
        touched[asked] = observed[asked]
        bits = np.unpackbits(touched[self._nodes].view(np.uint8), axis=1, count=self._n_coalitions)
        return bits.T.astype(bool)

    def _climb(self, asked: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Nodes with a path down to an asked node through hidden ones."""
        reached = np.zeros_like(self._observed)
        reached[asked] = ~np.zeros((), dtype=np.uint64)
        for v in reversed(range(len(reached))):
            upward = reached[v] & ~self._observed[v]
            for p in self._parents[v]:
                reached[p] |= upward
        return reached, np.zeros_like(reached)

    def _bounce(self, asked: list[int]) -> tuple[np.ndarray, np.ndarray]:
        observed = self._observed
        hidden = ~observed
        from_below, from_above = np.zeros_like(observed), np.zeros_like(observed)
        for v in asked:
            from_below[v] = hidden[v]
        while True:
            before = from_below.copy(), from_above.copy()
            for v in reversed(range(len(observed))):
                upward = (from_below[v] & hidden[v]) | (from_above[v] & observed[v])
                for p in self._parents[v]:
                    from_below[p] |= upward
            for v in range(len(observed)):
                for p in self._parents[v]:
                    from_above[v] |= (from_below[p] | from_above[p]) & hidden[p]
            if np.array_equal(before[0], from_below) and np.array_equal(before[1], from_above):
                return from_below, from_above
