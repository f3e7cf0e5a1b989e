"""Ideals of several causal orders together, and their weights in the mean over the orders.

Each order has its ideals as packed bits and its own matrix W. Rows of equal bits are one coalition, so the mean is

    W[S] = sum over orders k that have the ideal S of p_k W_k[S]

Orders are taken together until there are a few million rows, and then folded into what is there already: the memory is
that of the union, and sorting is done a few times only.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from shap_asv.orders import bitsets
from shap_asv.orders.lattice import build_lattice, enumerate_ideals
from shap_asv.orders.weights import CoalitionWeights, weight_matrix

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

#: Rows that are gathered before they are sorted.
GATHERED = 1 << 21


class MixtureTooLarge(Exception):
    """The union has more ideals than the limit; whoever knows the mixture turns this into an error for the user."""


def union_of_ideals(orders: Iterable["CausalOrder"], limit: int) -> np.ndarray:
    """The distinct ideals of all orders as packed bits, uint64 array (m, words).

    Raises :class:`MixtureTooLarge` when there are more than ``limit``.
    """
    gathered: list[np.ndarray] = []
    waiting = 0
    for order in orders:
        found = enumerate_ideals(order, limit)
        if found is None:
            raise MixtureTooLarge
        gathered.append(np.ascontiguousarray(found[0].T))
        waiting += len(gathered[-1])
        if waiting > GATHERED:
            gathered = [_distinct(gathered, limit)]
            waiting = 0
    return _distinct(gathered, limit)


def _distinct(gathered: list[np.ndarray], limit: int) -> np.ndarray:
    words = np.concatenate(gathered)
    first, _ = bitsets.row_ids(words)
    if len(first) > limit:
        raise MixtureTooLarge
    return words[first]


def weigh_union(orders: Sequence["CausalOrder"], shares: Sequence[float], limit: int) -> CoalitionWeights:
    """The weights of all ideals of all orders in the mean with ``shares`` (sum 1).

    O(n * ideals + edges) per order, and one sort of all their ideals.
    Raises :class:`MixtureTooLarge` when the union has more than ``limit`` ideals.
    """
    words: list[np.ndarray] = []
    matrices: list[sp.csr_array] = []
    waiting = 0
    for order, share in zip(orders, shares, strict=True):
        lattice = build_lattice(order, limit)
        words.append(lattice.words)
        matrices.append(share * weight_matrix(lattice))
        waiting += lattice.n_ideals
        if waiting > GATHERED:
            folded, matrix = _fold(words, matrices, limit)
            words, matrices, waiting = [folded], [matrix], 0
    folded, matrix = _fold(words, matrices, limit)
    n = orders[0].n_features
    coalitions = bitsets.unpack(folded, n)
    by_size = np.argsort(coalitions.sum(axis=1), kind="stable")
    return CoalitionWeights(coalitions[by_size], sp.csr_array(matrix[by_size]))


def _fold(words: list[np.ndarray], matrices: list[sp.csr_array], limit: int) -> tuple[np.ndarray, sp.csr_array]:
    """Rows of equal words added up."""
    together = np.concatenate(words)
    first, ids = bitsets.row_ids(together)
    if len(first) > limit:
        raise MixtureTooLarge
    stacked = sp.vstack(matrices, format="coo")
    summed = sp.coo_array((stacked.data, (ids[stacked.row], stacked.col)), shape=(len(first), stacked.shape[1]))
    return together[first], summed.tocsr()
