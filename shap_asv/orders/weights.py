"""W: the sparse matrix that turns values of coalitions into attributions, ``phi = nu @ W``.

    phi_i = sum over S of  w(S, i) * [nu(S + i) - nu(S)]

Row S of W belongs to a coalition, column i to a feature. An edge S -> S + i of weight w puts +w into row S + i and -w
into row S of column i. Whether the edges are all those of the lattice of ideals (exact), or those on the paths of a
sample of orders, or of orders that the user gave with weights, W has the same shape and is used in the same way. It
depends on the order alone: not on the model, not on the row that is explained.

Each column sums to zero, and all columns together leave ``nu(full) - nu(empty)``: efficiency is built in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from shap_asv.errors import OrdersError
from shap_asv.orders import bitsets
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.lattice import GATHERED, IdealLattice, build_lattice, check_limit, too_many_together
from shap_asv.orders.uncertain.mixture import GraphMixture


@dataclass(frozen=True, eq=False)
class CoalitionWeights:
    """Coalitions and their weights in the attribution of each feature.

    Attributes
    ----------
    coalitions : bool array (m, n)
        Sorted by size; the empty one first, the full one last.
    matrix : scipy.sparse.csr_array (m, n)
        ``phi = nu @ matrix`` for ``nu`` of shape (rows, m).
    paths : int array (k, n + 1), or None
        Coalition index of each prefix of each order, when the weights came from orders.
    """

    coalitions: np.ndarray
    matrix: sp.csr_array
    paths: np.ndarray | None = None

    def steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The steps ``S -> S + i`` that carry weight, by feature: source S, feature i and weight, each (edges,).

        What a feature adds to S stands in row S with a minus sign. O(entries of the matrix).

        Examples
        --------
        >>> from shap_asv.orders import CausalOrder
        >>> source, feature, weight = weigh_ideals(CausalOrder.from_edges([("a", "b")])).steps()
        >>> source.tolist(), feature.tolist(), weight.tolist()
        ([0, 1], [0, 1], [1.0, 1.0])
        """
        columns = self.matrix.tocsc()
        feature = np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr))
        leaving = ~self.coalitions[columns.indices, feature]
        return columns.indices[leaving], feature[leaving], -columns.data[leaving]


def weigh_ideals(order: CausalOrder | GraphMixture, limit: int | None = None) -> CoalitionWeights:
    """The weights of all ideals: exact ASV. O(n * ideals + edges).

    Parameters
    ----------
    order : CausalOrder or GraphMixture
        Of a mixture of graphs: the mean of their weights, over the union of their ideals.
    limit : int, optional
        Largest number of ideals, by default 1,000,000; past it a :class:`BudgetExceededError` is raised.

    Examples
    --------
    >>> from shap_asv.orders import CausalOrder
    >>> weights = weigh_ideals(CausalOrder.from_edges([("a", "b")]))
    >>> weights.coalitions.tolist()
    [[False, False], [True, False], [True, True]]
    >>> weights.matrix.toarray().tolist()
    [[-1.0, 0.0], [1.0, -1.0], [0.0, 1.0]]
    """
    if isinstance(order, GraphMixture):
        return CoalitionWeights(*_gather(order.orders, order.weights, check_limit(limit)))
    lattice = build_lattice(order, limit)
    return CoalitionWeights(lattice.members(), weight_matrix(lattice))


def weight_matrix(lattice: IdealLattice) -> sp.csr_array:
    """W of a lattice: two entries per edge, sorted within each row. O(edges)."""
    shape = (lattice.n_ideals, lattice.n_features)
    weights, features = lattice.edge_weights, lattice.edge_feature
    leaving = sp.csr_array((weights, features, lattice.edge_starts), shape=shape)
    arriving = sp.coo_array((weights, (lattice.edge_target, features)), shape=shape).tocsr()
    return arriving - leaving


def weigh_each(orders: Sequence[CausalOrder], limit: int) -> tuple[np.ndarray, sp.csr_array]:
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
    orders: Sequence[CausalOrder], shares: Sequence[float] | None, limit: int
) -> tuple[np.ndarray, sp.csr_array]:
    """The matrices of all orders over the union of their ideals: their mean, or side by side without ``shares``.

    Rows of equal bits are one coalition: ``W[S] = sum over the orders k that have the ideal S of p_k W_k[S]``. Orders
    are taken together until there are a few million rows, and then folded into what is there already: the memory is
    that of the union, and sorting is done a few times only. O(n * ideals + edges) per order.
    """
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


def weigh_orders(orders: np.ndarray) -> CoalitionWeights:
    """The weights of the coalitions that some given orders pass, which count alike: sampled ASV.

    Parameters
    ----------
    orders : int array (k, n)
        Each row a permutation of the feature indices.

    Raises
    ------
    OrdersError
        A row is not a permutation.

    Notes
    -----
    Coalitions that several orders pass are kept once. O(k n log k) for up to 64 features, times the number of words.

    Examples
    --------
    >>> weights = weigh_orders(np.array([[0, 1, 2], [0, 2, 1]]))
    >>> weights.coalitions.astype(int).tolist()
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]]
    >>> weights.paths.tolist()
    [[0, 1, 2, 4], [0, 1, 3, 4]]
    """
    orders = check_orders(orders)
    k, n = orders.shape
    features = bitsets.masks([(v,) for v in range(n)], n)
    prefix = np.zeros((k, features.shape[1]), dtype=np.uint64)
    paths = np.zeros((k, n + 1), dtype=np.int64)
    levels = [prefix[:1]]
    count = 1
    for position in range(n):
        prefix = prefix | features[orders[:, position]]
        first, ids = bitsets.row_ids(prefix)
        paths[:, position + 1] = ids + count
        levels.append(prefix[first])
        count += len(first)
    weight = np.full(k * n, 1 / k)
    matrix = sp.coo_array(
        (
            np.concatenate([weight, -weight]),
            (np.concatenate([paths[:, 1:].ravel(), paths[:, :-1].ravel()]), np.tile(orders.ravel(), 2)),
        ),
        shape=(count, n),
    ).tocsr()
    return CoalitionWeights(bitsets.unpack(np.concatenate(levels), n), matrix, paths)


def check_orders(orders: np.ndarray) -> np.ndarray:
    """The orders as an int64 array (k, n), or an :class:`OrdersError` that names the row that is not a permutation."""
    array = np.asarray(orders)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iu":
        raise OrdersError(
            f"orders must be a non-empty integer array (orders, features), not {array.dtype} of shape {array.shape}"
        )
    array = array.astype(np.int64, copy=False)
    wrong = np.flatnonzero((np.sort(array, axis=1) != np.arange(array.shape[1])).any(axis=1))
    if len(wrong):
        raise OrdersError(
            f"order {wrong[0]} is {array[wrong[0]].tolist()}; each order names all of 0 .. {array.shape[1] - 1} once"
        )
    return array
