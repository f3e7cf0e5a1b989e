"""From an ensemble, a distribution and an order to attributions of rows.

What does not depend on rows is done once: paths, codes, and (where memory allows) the tables of phi per pattern. Long
paths have no tables; see :mod:`shap_asv.backends.trees.kernels.deep`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Report, keep_silent, paced, part_of
from shap_asv.backends.trees.coding import Coding, code_ensemble
from shap_asv.backends.trees.ground import Grounds
from shap_asv.backends.trees.leaves import Leaves, find_leaves
from shap_asv.backends.trees.long_paths import add_long_paths
from shap_asv.backends.trees.tables import Tables, build_tables
from shap_asv.errors import BudgetExceededError, ModelError, OrdersError, RowsError
from shap_asv.models.trees.ensembles import FloatEnsemble
from shap_asv.orders import CausalOrder
from shap_asv.orders.players import Players
from shap_asv.orders.restricted import LEVELS, RestrictedWeights, restrict_groups, restrict_order, restrict_orders
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.strata import group_of_draws

#: Features of a path up to which phi is tabulated: where a closed form is at hand, and where none is.
TABLE_BITS, WIDE_TABLE_BITS = 8, 12
#: Features of a path that fit a machine word.
PATH_BITS = 57
#: Bytes of tables that are kept from call to call.
KEPT_BYTES = 1 << 28
#: Rows that are worked on together.
ROW_BLOCK = 16_384
#: Groups of sampled orders: their spread is the standard error.
N_GROUPS = 25


@dataclass(frozen=True, eq=False)
class TreeAttributor:
    """An ensemble made ready; rows are floats (r, n) in the coding of :meth:`FloatEnsemble.rows`. Can be pickled.

    Attributes
    ----------
    coding : Coding
    leaves : Leaves
    orderings : tuple of RestrictedWeights
        One; or one per group of sampled orders.
    group_sizes : float64 array (groups,) or None
        Sampled orders in each group; None for an exact average.
    grounds : Grounds
        The background rows.
    base : float64 array (k,)
    """

    coding: Coding
    leaves: Leaves
    orderings: tuple[RestrictedWeights, ...]
    group_sizes: np.ndarray | None
    grounds: Grounds
    base: np.ndarray
    players: Players | None = None
    _kept: list[Tables] = field(default_factory=list, repr=False)

    rowwise = True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": []}  # tables are built again where they are needed

    @property
    def n_features(self) -> int:
        return self.coding.ensemble.n_columns

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        """Float rows (r, n) -> phi (r, n, k), base (k,), and the standard error where orders were sampled."""
        rows = check_rows(self.coding.ensemble, rows, "rows")
        width = self.n_features if self.players is None else len(self.players)
        phi = np.empty((len(rows), width, self.leaves.values.shape[1]))
        error = None if self.group_sizes is None else np.empty_like(phi)
        n_blocks = max(1, -(-len(rows) // ROW_BLOCK))
        for b in range(n_blocks):
            here = slice(b * ROW_BLOCK, min((b + 1) * ROW_BLOCK, len(rows)))
            codes = self.coding.codes(rows[here])
            block_report = part_of(report, b / n_blocks, (b + 1) / n_blocks)
            if error is None:
                phi[here] = self._add_up(self.orderings[0], codes, block_report).transpose(2, 1, 0)
            else:
                phi[here], error[here] = self._groups(codes, block_report)
        return Attribution(phi, self.base, error)

    def _groups(self, codes: np.ndarray, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error over groups: ``error^2 = sum_g s_g (phi_g - phi)^2 / (G - 1) / sum_g s_g``."""
        assert self.group_sizes is not None
        share = self.group_sizes / self.group_sizes.sum()
        n_groups = len(share)
        first = self._add_up(self.orderings[0], codes, part_of(report, 0, 1 / n_groups))
        mean, square = np.zeros_like(first), np.zeros_like(first)
        for g in range(1, n_groups):
            own = self._add_up(self.orderings[g], codes, part_of(report, g / n_groups, (g + 1) / n_groups))
            difference = own - first  # differences from one group keep the digits that squares would lose
            mean += share[g] * difference
            square += share[g] * difference**2
        spread = np.maximum(square - mean**2, 0.0) / max(1, n_groups - 1)
        return (first + mean).transpose(2, 1, 0), np.sqrt(spread).transpose(2, 1, 0)

    def _add_up(self, order: RestrictedWeights, codes: np.ndarray, report: Report) -> np.ndarray:
        """phi of all leaves, (k, players, r), under one order: first those with tables, then those with long paths."""
        from shap_asv.backends.trees.kernels.rows import add_tables

        leaves = self.leaves
        lengths = np.diff(leaves.start)
        out = np.zeros((leaves.values.shape[1], self.n_features, codes.shape[1]))
        tabulated = int(np.searchsorted(lengths, self.table_bits, side="right"))  # shortest first
        pattern, scaled = np.empty(codes.shape[1], dtype=np.int32), np.empty(1 << self.table_bits)
        for tables in self._tables(order, tabulated):
            n_leaves = len(tables.set_of)
            for piece in paced(n_leaves, 256):
                add_tables(
                    leaves, tables, (tables.first + piece.start, tables.first + piece.stop), codes, pattern, scaled, out
                )
                report((tables.first + piece.stop) / len(lengths))
        if tabulated < len(lengths):
            add_long_paths(leaves, order, self.grounds.codes, tabulated, codes, out, report)
        return out if self.players is None else self.players.add_up(out, axis=1)

    @property
    def table_bits(self) -> int:
        """Features of a path up to which there are tables: a matter of the ensemble and the order, never of rows."""
        closed = self.orderings[0].kind == LEVELS and not self.grounds.n_rows
        return table_bits(np.bincount(np.diff(self.leaves.start)), closed)

    def _tables(self, order: RestrictedWeights, tabulated: int) -> Iterator[Tables]:
        """Tables of the first leaves, some at a time; kept for the next call where they are few."""
        ready = tuple(self._kept)  # another thread may be putting its own there
        if ready:
            yield from ready
            return
        kept: list[Tables] = []
        keeping = len(self.orderings) == 1
        for tables in build_tables(self.leaves, order, self.grounds, tabulated):
            kept.append(tables)
            if not keeping or sum(some.phi.nbytes for some in kept) > KEPT_BYTES:
                keeping = False
                kept.clear()
            yield tables
        if keeping:
            self._kept[:] = kept


def table_bits(n_leaves: np.ndarray, closed: bool) -> int:
    """Features up to which paths have tables; ``n_leaves[d]`` leaves look at d features.

    With a closed form at hand (``closed``), tables pay only while they can be kept.
    """
    if not closed:
        return WIDE_TABLE_BITS
    cells = np.cumsum([d * 2**d * count for d, count in enumerate(n_leaves.tolist())])
    return max(0, min(TABLE_BITS, int(np.searchsorted(8 * cells, KEPT_BYTES, side="right")) - 1))


def prepare_trees(
    ensemble: FloatEnsemble,
    order: CausalOrder | GraphMixture | None = None,
    background: np.ndarray | None = None,
    *,
    orders: np.ndarray | None = None,
    order_weights: np.ndarray | None = None,
    sampled: bool = False,
    ideal_limit: int | None = None,
    players: Players | None = None,
) -> TreeAttributor:
    """An ensemble made ready for attributions under a causal order.

    Parameters
    ----------
    ensemble : FloatEnsemble
        Its columns are the features, in the order of the causal order's.
    order : CausalOrder or GraphMixture, optional
        None, without ``orders`` either, means no edges.
    background : float array (m, n), optional
        Background rows; None uses the cover counts of the trees.
    orders : int array (K, n), optional
        Explicit orders instead of ``order``: with ``order_weights`` (K,), or a sample (``sampled=True``), which is
        split into groups for a standard error.
    ideal_limit : int, optional
        Largest lattice, for orders that are neither levels nor forests.
    players : Players, optional
        Groups of features; ``order`` or ``orders`` are then of groups, and so are the attributions.

    Returns
    -------
    TreeAttributor

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from shap_asv.models.trees.form import read_ensemble
    >>> tree = DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0])
    >>> order = CausalOrder.from_edges([("a", "b")])
    >>> found = prepare_trees(read_ensemble(tree), order).attribute(np.array([[1.0, 1.0]]))
    >>> found.base.tolist(), found.phi[0, :, 0].tolist()
    ([1.0], [1.0, 2.0])
    """
    coding = code_ensemble(ensemble)
    n = ensemble.n_columns
    if background is None:
        check_covers(ensemble)
    orderings, sizes = make_orderings(n, order, orders, order_weights, sampled, ideal_limit, players)
    # levels have to be runs of places on a path
    rank = np.argsort(np.argsort(orderings[0].level * n + np.arange(n))).astype(np.int64)
    leaves, constant = find_leaves(coding, rank)
    widest = int(np.diff(leaves.start).max(initial=0))
    if widest > PATH_BITS:
        raise BudgetExceededError(
            f"a path of the trees has {widest} different features, at most {PATH_BITS} can be treated; fit the model "
            f"with a depth of at most {PATH_BITS}"
        )
    if background is None:
        codes = np.zeros((n, 0), dtype=np.int32)
    else:
        background = check_rows(ensemble, background, "background rows")
        if not len(background):
            raise RowsError("there are no background rows; give at least one, or none at all for cover counts")
        codes = coding.codes(background)
    categorical = np.array([categories is not None for categories in coding.categories])
    grounds = Grounds(codes, coding.nan_code, categorical)
    if not len(leaves.values):
        reached = np.zeros(0)
    elif background is None:
        reached = np.multiply.reduceat(leaves.ratio, leaves.start[:-1])
    else:
        reached = grounds.shares(leaves)
    base = ensemble.offset + constant + reached @ leaves.values
    return TreeAttributor(coding, leaves, orderings, sizes, grounds, base, players)


def check_rows(ensemble: FloatEnsemble, rows: np.ndarray, what: str) -> np.ndarray:
    """The rows as float64 (r, n), or a RowsError."""
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != ensemble.n_columns:
        raise RowsError(f"{what} must be a matrix with {ensemble.n_columns} columns; got shape {rows.shape}")
    if not ensemble.takes_missing and np.isnan(rows).any():
        row, column = np.argwhere(np.isnan(rows))[0]
        raise RowsError(
            f"{what}: row {row} has a missing value in column {column}, and the model takes no missing values; fill "
            f"it in, or train the model with missing values"
        )
    return rows


def check_covers(ensemble: FloatEnsemble) -> None:
    """ModelError for trees that hold no cover counts at all (a node without any is fine)."""
    bare = np.flatnonzero((ensemble.left[ensemble.roots] >= 0) & ~(ensemble.cover[ensemble.roots] > 0))
    if len(bare):
        raise ModelError(
            f"tree {bare[0]} of the model holds no cover counts, so that there is no path-dependent expectation; give "
            f"background rows instead"
        )


def make_orderings(
    n: int,
    order: CausalOrder | GraphMixture | None,
    orders: np.ndarray | None,
    order_weights: np.ndarray | None,
    sampled: bool,
    ideal_limit: int | None,
    players: Players | None = None,
) -> tuple[tuple[RestrictedWeights, ...], np.ndarray | None]:
    """The kernels' orders, one per group; and the group sizes of a sample, None where the average is exact."""
    if orders is None:
        if order is None:
            order = CausalOrder(tuple(range(n)), ((),) * n)
        if players is not None:
            assert isinstance(order, CausalOrder)
            return (restrict_groups(order, players, ideal_limit),), None
        if order.n_features != n:
            raise OrdersError(f"the causal order has {order.n_features} features, the model has {n} columns")
        return (restrict_order(order, ideal_limit),), None
    if players is not None:
        orders = players.expand_orders(orders)
    if np.shape(orders)[1:] != (n,):
        raise OrdersError(f"orders must be an integer array (orders, {n}), not of shape {np.shape(orders)}")
    if not sampled:
        return (restrict_orders(orders, order_weights),), None
    if len(orders) < 2:
        raise OrdersError("a standard error needs at least two sampled orders")
    n_groups = min(N_GROUPS, len(orders))
    group = group_of_draws(len(orders), n_groups)
    groups = tuple(restrict_orders(orders[group == g]) for g in range(n_groups))
    return groups, np.bincount(group, minlength=n_groups).astype(float)
