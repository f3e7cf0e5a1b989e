"""Weights of the coalitions of a few features, out of the weights of all.

A model leaf that looks at a set A of features gives the same value to coalitions that agree on A. Its attributions need
only the orders *restricted to A*, whose distribution is not uniform on the suborder: it is the shadow of the uniform
distribution on the whole. The shadow of an edge S -> S + i with i in A is S & A -> (S & A) + i, and edges that add a
feature outside A do not move. So the weights of A are sums of weights of the whole:

    W_A[T, i] = sum over coalitions S with S & A = T of W[S, i]      for i in A
"""

import numpy as np
import scipy.sparse as sp

from shap_asv.errors import OrdersError
from shap_asv.orders import bitsets
from shap_asv.orders.weights import CoalitionWeights

TABLE_BITS = 16


def project_weights(weights: CoalitionWeights, subset: np.ndarray) -> CoalitionWeights:
    """The weights that ``weights`` induces on the features of ``subset``.

    Parameters
    ----------
    weights : CoalitionWeights
    subset : bool array (n,)
        Usually an ideal, which keeps the number of coalitions small; any set will do.

    Returns
    -------
    CoalitionWeights
        Coalitions are still rows over all n features, with members of ``subset`` only, sorted by size; columns outside
        ``subset`` are zero. ``orders`` are the orders restricted to ``subset``, ``paths`` accordingly.

    Notes
    -----
    O(coalitions + entries of the columns of ``subset``), plus a sort when ``subset`` has more than 16 features. To
    project on many small sets within one larger set, project on the larger one first: projections compose.

    Examples
    --------
    >>> from shap_asv.orders import CausalOrder
    >>> from shap_asv.orders.weights import weigh_ideals
    >>> weights = weigh_ideals(CausalOrder.from_edges([("a", "b"), ("a", "c"), ("c", "d")]))
    >>> part = project_weights(weights, np.array([True, True, True, False]))
    >>> part.coalitions.astype(int)[2].tolist(), part.matrix.toarray()[2].round(3).tolist()  # b before c: 1 of 3
    ([1, 1, 0, 0], [0.0, 0.333, -0.333, 0.0])
    """
    n = weights.coalitions.shape[1]
    subset = np.asarray(subset)
    if subset.shape != (n,) or subset.dtype != bool:
        raise OrdersError(f"a subset is a bool array of shape ({n},), not {subset.dtype} of shape {subset.shape}")
    kept = np.flatnonzero(subset)
    coalitions, ids = _shadows(weights, kept)
    sizes = coalitions.sum(axis=1)
    by_size = np.argsort(sizes, kind="stable")
    rank = np.empty(len(by_size), dtype=np.int64)
    rank[by_size] = np.arange(len(by_size))
    ids, coalitions = rank[ids], coalitions[by_size]

    columns = weights.by_feature
    rows: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    values: list[np.ndarray] = [np.zeros(0)]
    starts = np.zeros(n + 1, dtype=np.int64)
    for v in kept.tolist():
        entries = slice(columns.indptr[v], columns.indptr[v + 1])
        column = np.bincount(ids[columns.indices[entries]], weights=columns.data[entries], minlength=len(coalitions))
        rows.append(np.flatnonzero(column))
        values.append(column[rows[-1]])
        starts[v + 1] = len(rows[-1])
    matrix = sp.csc_array(
        (np.concatenate(values), np.concatenate(rows), np.cumsum(starts)), shape=(len(coalitions), n)
    ).tocsr()
    if weights.orders is None or weights.paths is None:
        return CoalitionWeights(coalitions, matrix)
    k = len(weights.orders)
    moves = subset[weights.orders]
    orders = weights.orders[moves].reshape(k, len(kept))
    paths = np.zeros((k, len(kept) + 1), dtype=np.int64)
    paths[:, 1:] = ids[weights.paths[:, 1:][moves]].reshape(k, len(kept))
    return CoalitionWeights(coalitions, matrix, paths, orders, weights.order_weights)


def _shadows(weights: CoalitionWeights, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct ``S & A`` as bool (m_A, n), and for each coalition S which of them is its shadow."""
    coalitions = weights.coalitions
    if len(kept) <= TABLE_BITS:
        # few features: their bits side by side are a small number, and a table finds the distinct ones without a sort
        code = np.zeros(len(coalitions), dtype=np.uint32)
        for place, v in enumerate(kept.tolist()):
            code |= weights.members[v].astype(np.uint32) << np.uint32(place)
        met = np.zeros(1 << len(kept), dtype=bool)
        met[code] = True
        values = np.flatnonzero(met)
        number = np.zeros(len(met), dtype=np.int64)
        number[values] = np.arange(len(values))
        shadows = np.zeros((len(values), coalitions.shape[1]), dtype=bool)
        shadows[:, kept] = (values[:, None] >> np.arange(len(kept))) & 1
        return shadows, number[code]
    mask = bitsets.masks([kept], coalitions.shape[1])
    first, ids = bitsets.row_ids(weights.words & mask)
    shadows = np.zeros((len(first), coalitions.shape[1]), dtype=bool)
    shadows[:, kept] = coalitions[first][:, kept]
    return shadows, ids
