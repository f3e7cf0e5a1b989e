"""The matrix W, once for all ideals and once for a sample of orders that has to know its own error.

A sample of topological orders is split into groups of independent orders. Each group has a matrix W of its own;
stacked side by side they are one sparse matrix of ``groups * n`` columns over the distinct coalitions. One product
``nu @ matrix`` then gives every group's phi: their mean is the estimate, and how much they differ is its standard
error. This works for every backend that can compute ``nu @ W`` at all.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from shap_asv.orders.players import Players
from shap_asv.orders.weights import CoalitionWeights, weigh_orders
from shap_asv.strata import group_of_draws

#: Groups that a sample of orders is split into; the standard error has one degree of freedom less.
N_GROUPS = 100


@dataclass(frozen=True, eq=False)
class Columns:
    """Sparse ``matrix`` (m, groups * p) over ``coalitions`` bool (m, n) of features, for p players; ``group_sizes``
    (groups,) orders in each group. Players are features, or sets of features that move together.

    ``sampled`` is False for an exact average: there is one group, and no error.
    """

    coalitions: np.ndarray
    matrix: sp.csr_array
    group_sizes: np.ndarray
    sampled: bool

    @property
    def n_features(self) -> int:
        return int(self.coalitions.shape[1])

    @property
    def n_players(self) -> int:
        return int(self.matrix.shape[1]) // len(self.group_sizes)

    def combine(self, contracted: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """``nu @ matrix`` of shape (r, groups * p, k) -> phi (r, p, k) and its standard error (None when exact).

        With group means phi_g of s_g orders each: ``sigma^2 = sum_g s_g (phi_g - phi)^2 / (G - 1)`` and
        ``error = sigma / sqrt(sum_g s_g)``.
        """
        n_groups = len(self.group_sizes)
        grouped = contracted.reshape(len(contracted), n_groups, self.n_players, -1)
        if not self.sampled:
            return grouped[:, 0], None
        sizes = self.group_sizes / self.group_sizes.sum()
        phi = np.einsum("rgnk,g->rnk", grouped, sizes)
        spread = np.einsum("rgnk,g->rnk", (grouped - phi[:, None]) ** 2, sizes)
        return phi, np.sqrt(spread / (n_groups - 1))

    def mean_matrix(self) -> sp.csr_array:
        """The groups averaged: sparse (m, p) with phi = nu @ mean_matrix."""
        n, n_groups = self.n_players, len(self.group_sizes)
        if n_groups == 1:
            return self.matrix
        sizes = self.group_sizes / self.group_sizes.sum()
        merge = sp.csr_array(
            (np.repeat(sizes, n), (np.arange(n_groups * n), np.tile(np.arange(n), n_groups))), shape=(n_groups * n, n)
        )
        return sp.csr_array(self.matrix @ merge)


def exact_columns(weights: CoalitionWeights) -> Columns:
    """Columns of an exact average: all ideals, or the user's own weighted orders."""
    return Columns(weights.coalitions, sp.csr_array(weights.matrix), np.ones(1), sampled=False)


def added_up(matrix: sp.csr_array, number: np.ndarray, count: int) -> sp.csr_array:
    """Rows of a matrix with the same ``number`` (rows,) added up, ``count`` of them."""
    merge = sp.csr_array((np.ones(len(number)), (number, np.arange(len(number)))), shape=(count, len(number)))
    return sp.csr_array(merge @ matrix)


def sampled_columns(orders: np.ndarray, n_groups: int = N_GROUPS) -> Columns:
    """Columns of a sample of at least two orders, int (k, n)."""
    k, n = orders.shape
    n_groups = min(n_groups, k)
    weights = weigh_orders(orders)
    assert weights.paths is not None
    group = group_of_draws(k, n_groups)
    sizes = np.bincount(group, minlength=n_groups)
    column = (group[:, None] * n + orders).reshape(-1)
    share = np.repeat(1.0 / sizes[group], n)
    rows = np.concatenate([weights.paths[:, 1:].reshape(-1), weights.paths[:, :-1].reshape(-1)])
    matrix = sp.coo_array(
        (np.concatenate([share, -share]), (rows, np.concatenate([column, column]))),
        shape=(len(weights.coalitions), n_groups * n),
    )
    return Columns(weights.coalitions, sp.csr_array(matrix), sizes.astype(float), sampled=True)


def empty_columns(n: int) -> Columns:
    """The empty coalition alone, with no weight: only its value is wanted."""
    return Columns(np.zeros((1, n), dtype=bool), sp.csr_array((1, n)), np.ones(1), sampled=False)


def singleton_columns(n: int) -> Columns:
    """``nu({i}) - nu({})`` for each feature: the main effects."""
    coalitions = np.vstack([np.zeros((1, n), dtype=bool), np.eye(n, dtype=bool)])
    matrix = sp.vstack([sp.csr_array(-np.ones((1, n))), sp.eye_array(n)])
    return Columns(coalitions, sp.csr_array(matrix), np.ones(1), sampled=False)


def of_players(columns: Columns, players: Players | None) -> Columns:
    """Columns over coalitions of groups, as coalitions of their members; unchanged where there are no groups."""
    return columns if players is None else replace(columns, coalitions=players.expand(columns.coalitions))


def contract(nu: np.ndarray, matrix: sp.csr_array) -> np.ndarray:
    """``nu @ matrix`` for every output: (r, m, k) and sparse (m, c) -> (r, c, k)."""
    r, m, k = nu.shape
    flat = np.ascontiguousarray(nu.transpose(1, 0, 2)).reshape(m, r * k)
    return np.asarray(matrix.T @ flat).reshape(-1, r, k).transpose(1, 0, 2)
