"""Ideals of several causal orders together, and their weights in the mean over the orders.

Each order has its ideals as packed bits and its own matrix W. Rows of equal bits are one coalition, so the mean is

    W[S] = sum over orders k that have the ideal S of p_k W_k[S]

Orders are taken together until there are a few million rows, and then folded into what is there already: the memory is
that of the union, and sorting is done a few times only.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from shap_asv.errors import BudgetExceededError
from shap_asv.orders import bitsets
from shap_asv.orders.lattice import build_lattice, enumerate_ideals
from shap_asv.orders.weights import CoalitionWeights, weight_matrix

if TYPE_CHECKING:
    from shap_asv.orders.causal_order import CausalOrder

#: Rows that are gathered before they are sorted.
GATHERED = 1 << 21


def too_many_together(n_graphs: int, n_features: int, limit: int) -> BudgetExceededError:
    """The error for graphs that have more ideals than ``limit`` together."""
    return BudgetExceededError(
        f"{n_graphs} graphs on {n_features} features have more than {limit:,} ideals together; raise limit= "
        "(ideal_limit= of an explainer), or sample topological orders instead"
    )


def union_of_ideals(orders: Sequence["CausalOrder"], limit: int) -> np.ndarray | None:
    """The distinct ideals of all orders as packed bits, uint64 array (m, words); None if more than ``limit``."""
    gathered: list[np.ndarray] = []
    waiting = 0
    for order in orders:
        found = enumerate_ideals(order, limit)
        if found is None:
            return None
        gathered.append(np.ascontiguousarray(found[0].T))
        waiting += len(gathered[-1])
        if waiting > GATHERED:
            gathered, waiting = [_distinct(gathered)], 0
            if len(gathered[0]) > limit:
                return None
    union = _distinct(gathered)
    return union if len(union) <= limit else None


def _distinct(gathered: list[np.ndarray]) -> np.ndarray:
    words = np.concatenate(gathered)
    return words[bitsets.row_ids(words)[0]]


def weigh_union(orders: Sequence["CausalOrder"], shares: Sequence[float], limit: int) -> CoalitionWeights:
    """The weights of all ideals of all orders in the mean with ``shares`` (sum 1).

    O(n * ideals + edges) per order, and one sort of all their ideals.
    Raises :class:`BudgetExceededError` when the union has more than ``limit`` ideals.
    """
    return CoalitionWeights(*_gather(orders, shares, limit))


def weigh_each(orders: Sequence["CausalOrder"], limit: int) -> tuple[np.ndarray, sp.csr_array]:
    """The weights of every order by itself, over the ideals of all of them.

    Returns
    -------
    coalitions : bool array (m, n)
        Sorted by size; the empty one first, the full one last.
    matrix : sparse (m, orders * n)
        ``nu @ matrix`` reshaped to (rows, orders, n) is phi under each order: values are needed once per coalition.

    Raises
    ------
    BudgetExceededError
        The union has more than ``limit`` ideals.

    Examples
    --------
    >>> from shap_asv.orders import CausalOrder
    >>> forth, back = (CausalOrder.from_edges([edge], ["a", "b"]) for edge in (("a", "b"), ("b", "a")))
    >>> coalitions, matrix = weigh_each([forth, back], 100)
    >>> nu = np.array([[0.0, 1.0, 5.0, 7.0]])  # of {}, {a}, {b}, {a, b}
    >>> (nu @ matrix).reshape(2, 2).tolist()
    [[1.0, 6.0], [2.0, 5.0]]
    """
    return _gather(orders, None, limit)


def _gather(
    orders: Sequence["CausalOrder"], shares: Sequence[float] | None, limit: int
) -> tuple[np.ndarray, sp.csr_array]:
    """The matrices of all orders over the union of their ideals: their mean, or side by side without ``shares``."""
    n = orders[0].n_features
    words: list[np.ndarray] = []
    matrices: list[sp.csr_array] = []
    waiting = 0
    for k, order in enumerate(orders):
        lattice = build_lattice(order, limit)
        own = weight_matrix(lattice)
        words.append(lattice.words)
        if shares is None:
            shape = (lattice.n_ideals, len(orders) * n)
            matrices.append(sp.csr_array((own.data, own.indices + k * n, own.indptr), shape=shape))
        else:
            matrices.append(shares[k] * own)
        waiting += lattice.n_ideals
        if waiting > GATHERED:
            folded, matrix = _fold(words, matrices)
            words, matrices, waiting = [folded], [matrix], 0
            if len(folded) > limit:
                break
    folded, matrix = _fold(words, matrices)
    if len(folded) > limit:
        raise too_many_together(len(orders), n, limit)
    coalitions = bitsets.unpack(folded, n)
    by_size = np.argsort(coalitions.sum(axis=1), kind="stable")
    return coalitions[by_size], sp.csr_array(matrix[by_size])


def _fold(words: list[np.ndarray], matrices: list[sp.csr_array]) -> tuple[np.ndarray, sp.csr_array]:
    """Rows of equal words added up."""
    together = np.concatenate(words)
    first, ids = bitsets.row_ids(together)
    stacked = sp.vstack(matrices, format="coo")
    summed = sp.coo_array((stacked.data, (ids[stacked.row], stacked.col)), shape=(len(first), stacked.shape[1]))
    return together[first], summed.tocsr()
