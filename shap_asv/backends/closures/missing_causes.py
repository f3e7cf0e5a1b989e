"""Coalitions that lack causes of their members, as mixtures of sets that lack nothing.

Let S be a coalition, J = S with all that stands above its members in the network, and M = J - S what it lacks. J is
closed under causes, so that the probability of a state of J is a product of table entries. With x a state of M,

    nu(S) = sum over x of  P(x | e_S) nu(J; e_S, x),       P(x | e_S) ~ prod over v in J of P(x_v | parents of v),

and the factors that hold no node of M cancel. Coalitions are grouped by M: what remains for each group is ``nu(J; e)``
of closed sets, at states of all their members.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backends.closures.ancestral_sets import with_causes
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.grouping import row_keys

#: States of missing nodes that a coalition may have.
STATE_LIMIT = 2**8
#: Sets M that are treated one after the other: those that most coalitions lack.
MOST_GROUPS = 64


@dataclass(frozen=True, eq=False)
class LackingAlike:
    """Coalitions that lack the same nodes.

    Attributes
    ----------
    coalitions : int array (g,)
        Places among all coalitions.
    closed : bool array (g, nodes)
        J of each.
    missing : int array (n,)
        The nodes M.
    states : int array (x, n)
        Their joint states.
    factors : bool array (f, nodes)
        The distinct sets of nodes whose tables hold a node of M.
    of_factors : int array (g,)
        The one of each coalition.
    """

    coalitions: np.ndarray
    closed: np.ndarray
    missing: np.ndarray
    states: np.ndarray
    factors: np.ndarray
    of_factors: np.ndarray

    def fill_in(self, codes: np.ndarray) -> np.ndarray:
        """Codes (r, nodes) -> (r * x, nodes): each row in every state of M."""
        filled = np.repeat(codes, len(self.states), axis=0)
        filled[:, self.missing] = np.tile(self.states, (len(codes), 1))
        return filled

    def posteriors(self, network: DiscreteNetwork, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``P(x | e_S)`` (f, r, x) for codes (r, nodes), and which rows are possible (r,)."""
        states: list[np.ndarray] = [codes[:, v, None] for v in range(network.n_nodes)]
        for j, v in enumerate(self.missing.tolist()):
            states[v] = self.states[None, :, j]
        found = np.ones((len(self.factors), len(codes), len(self.states)))
        for joint, factors in zip(found, self.factors, strict=True):
            for v in np.flatnonzero(factors).tolist():
                joint *= network.tables[v][(states[v], *(states[p] for p in network.parents[v]))]
        total = found.sum(axis=2, keepdims=True)
        return found / np.where(total > 0, total, 1.0), np.asarray((total > 0).all(axis=(0, 2)))


def group_by_missing(
    network: DiscreteNetwork, nodes: np.ndarray, coalitions: np.ndarray, relevant: np.ndarray
) -> tuple[tuple[LackingAlike, ...], np.ndarray]:
    """Coalitions of features, bool (m, n), by what they lack; and those left out, int (l,): they lack too much.

    What is missing counts where any of it is among the ``relevant`` nodes, bool (nodes,): values depend on no others.
    """
    held = np.zeros((len(coalitions), network.n_nodes), dtype=bool)
    held[:, nodes] = coalitions
    closed = with_causes(network, held)
    missing = closed & ~held
    missing[~(missing & relevant).any(axis=1)] = False
    _, first, member, counts = np.unique(
        row_keys(np.packbits(missing, axis=1)), return_index=True, return_inverse=True, return_counts=True
    )
    sizes = np.exp(missing[first] @ np.log(np.array(network.cardinalities, dtype=float)))
    fits = sizes < STATE_LIMIT + 0.5
    common = np.argsort(-np.where(fits, counts, 0), kind="stable")[:MOST_GROUPS]
    chosen = np.sort(common[fits[common]])
    groups = tuple(
        _lacking(network, closed, np.flatnonzero(member == group), np.flatnonzero(missing[first[group]]))
        for group in chosen.tolist()
    )
    return groups, np.flatnonzero(~np.isin(member, chosen))


def _lacking(network: DiscreteNetwork, closed: np.ndarray, own: np.ndarray, missing: np.ndarray) -> LackingAlike:
    touches = np.zeros(network.n_nodes, dtype=bool)
    for v, parents in enumerate(network.parents):
        touches[v] = np.isin([v, *parents], missing).any()
    factors, of_factors = np.unique(closed[own] & touches, axis=0, return_inverse=True)
    cards = [network.cardinalities[v] for v in missing.tolist()]
    states = np.stack(np.unravel_index(np.arange(int(np.prod(cards, dtype=int))), cards), axis=1) if cards else None
    if states is None:
        states = np.zeros((1, 0), dtype=np.int64)
    return LackingAlike(own, closed[own], missing, states, factors, of_factors.reshape(-1))
