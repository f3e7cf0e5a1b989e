"""From an ensemble, a distribution and an order to attributions of rows. Importing this module imports numba.

What does not depend on rows is done once: paths, codes, and (where memory allows) tables of phi: for leaves with few
features, every pattern at once, before any row is seen. Longer paths have no tables; there phi is computed for the
patterns that occur, one after the other.
"""

from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Report, keep_silent, paced, part_of
from shap_asv.backends.trees import kernels
from shap_asv.backends.trees.cost import KEPT_BYTES, N_GROUPS, PATH_BITS, ROW_BLOCK, table_bits
from shap_asv.backends.trees.leaves import Grounds, Leaves, TreeCoding, code_ensemble, find_leaves
from shap_asv.errors import BudgetExceededError, ModelError, OrdersError, RowsError
from shap_asv.models.trees.ensembles import FloatEnsemble
from shap_asv.orders import CausalOrder
from shap_asv.orders.players import Players
from shap_asv.orders.restricted import (
    LEVELS,
    RestrictedWeights,
    Sets,
    StepLister,
    restrict_groups,
    restrict_order,
    restrict_orders,
)
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.strata import group_of_draws

# Of the leaves from `first` on: set_of (leaves,) is their set of features; row_of is the row of a pattern in the table,
# for each set from cell_at (sets + 1,) on; phi lies feature by feature, from entry_at (leaves + 1,) on:
# phi[entry_at + place * rows + row].
Tables = namedtuple("Tables", "first set_of cell_at row_of entry_at phi")

#: Numbers of phi that are computed together, before patterns are found to share rows.
CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class TreeAttributor:
    """An ensemble made ready; rows are floats (r, n) in the coding of :meth:`FloatEnsemble.rows`. Can be pickled.

    Attributes
    ----------
    coding : TreeCoding
    leaves : Leaves
    orderings : tuple of RestrictedWeights
        One; or one per group of sampled orders.
    group_sizes : float64 array (groups,) or None
        Sampled orders in each group; None for an exact average.
    grounds : Grounds
        The background rows.
    base : float64 array (k,)
    """

    coding: TreeCoding
    leaves: Leaves
    orderings: tuple[RestrictedWeights, ...]
    group_sizes: np.ndarray | None
    grounds: Grounds
    base: np.ndarray
    players: Players | None = None
    _kept: list[Tables] = field(default_factory=list, repr=False)

    rowwise, compiled = True, False

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
        leaves = self.leaves
        lengths = np.diff(leaves.start)
        out = np.zeros((leaves.values.shape[1], self.n_features, codes.shape[1]))
        tabulated = int(np.searchsorted(lengths, self.table_bits, side="right"))  # shortest first
        pattern, scaled = np.empty(codes.shape[1], dtype=np.int32), np.empty(1 << self.table_bits)
        for tables in self._tables(order, tabulated):
            n_leaves = len(tables.set_of)
            for piece in paced(n_leaves, 256):
                kernels.add_tables(
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


def prepare_trees(
    ensemble: FloatEnsemble,
    order: CausalOrder | GraphMixture | None = None,
    background: np.ndarray | None = None,
    *,
    orders: np.ndarray | None = None,
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
        Explicit orders instead of ``order``, which count alike, or a sample (``sampled=True``), which is split into
        groups for a standard error.
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
    orderings, sizes = make_orderings(n, order, orders, sampled, ideal_limit, players)
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
    if background is not None:
        base = ensemble.predict(background).mean(axis=0)
    else:
        reached = np.multiply.reduceat(leaves.ratio, leaves.start[:-1]) if len(leaves.values) else np.zeros(0)
        base = ensemble.offset + constant + reached @ leaves.values
    return TreeAttributor(coding, leaves, orderings, sizes, grounds, base, players)


def check_rows(ensemble: FloatEnsemble, rows: np.ndarray, what: str) -> np.ndarray:
    """The rows as float64 (r, n), or a RowsError."""
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != ensemble.n_columns:
        raise RowsError(f"{what} must be a matrix with {ensemble.n_columns} columns; got shape {rows.shape}")
    wrong = np.isnan(rows) & (False if ensemble.refuses_missing is None else ensemble.refuses_missing)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
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
    sampled: bool,
    ideal_limit: int | None,
    players: Players | None = None,
) -> tuple[tuple[RestrictedWeights, ...], np.ndarray | None]:
    """The kernels' orders, one per group; and the group sizes of a sample, None where the average is exact."""
    if orders is None:
        if order is None:
            order = CausalOrder(tuple(range(n)), ((),) * n)
        if players is not None:
            return (restrict_groups(order, players, ideal_limit),), None
        if order.n_features != n:
            raise OrdersError(f"the causal order has {order.n_features} features, the model has {n} columns")
        return (restrict_order(order, ideal_limit),), None
    if players is not None:
        orders = players.expand_orders(orders)
    if np.shape(orders)[1:] != (n,):
        raise OrdersError(f"orders must be an integer array (orders, {n}), not of shape {np.shape(orders)}")
    if not sampled:
        return (restrict_orders(orders),), None
    if len(orders) < 2:
        raise OrdersError("a standard error needs at least two sampled orders")
    n_groups = min(N_GROUPS, len(orders))
    group = group_of_draws(len(orders), n_groups)
    groups = tuple(restrict_orders(orders[group == g]) for g in range(n_groups))
    return groups, np.bincount(group, minlength=n_groups).astype(float)


# --- tables ----------------------------------------------------------------------------------------------------------


def build_tables(leaves: Leaves, order: RestrictedWeights, grounds: Grounds, n_leaves: int) -> Iterator[Tables]:
    """Tables of the first ``n_leaves`` leaves, some at a time. O(2^d d^2) per leaf, and w_D once per set D."""
    if not n_leaves:
        return
    lister = StepLister(order)
    lengths = np.diff(leaves.start)[:n_leaves]
    opens = opening(leaves, n_leaves)
    sizes = np.cumsum(lengths * 2.0**lengths)
    first = 0
    while first < n_leaves:
        done = sizes[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(sizes, done + CHUNK, side="right")))
        sets = np.flatnonzero(opens[first:last]) + first
        if not opens[first]:
            sets = np.concatenate([[first], sets])
        n_sets, steps = lister.list(Sets(leaves.start, leaves.feature, sets[: lister.sets_at_once()]))
        if n_sets < len(sets):
            last, sets = int(sets[n_sets]), sets[:n_sets]
        yield _build(leaves, order, grounds, (first, last), sets, steps)
        first = last


def opening(leaves: Leaves, n_leaves: int) -> np.ndarray:
    """Which leaves look at other features than the leaf before: bool (n_leaves,)."""
    lengths = np.diff(leaves.start)[:n_leaves]
    opens = np.ones(n_leaves, dtype=bool)
    for d in np.unique(lengths).tolist():
        here = np.flatnonzero(lengths == d)  # a run: leaves are sorted by length
        features = leaves.feature[leaves.start[here[0]] : leaves.start[here[-1] + 1]].reshape(-1, d)
        opens[here[1:]] = (features[1:] != features[:-1]).any(axis=1)
    return opens


def _build(
    leaves: Leaves, order: RestrictedWeights, grounds: Grounds, span: tuple[int, int], sets: np.ndarray, steps: tuple
) -> Tables:
    first, last = span
    lengths = np.diff(leaves.start)
    widest = int(lengths[last - 1])
    set_of = np.searchsorted(sets, np.arange(first, last), side="right") - 1
    cell_at = np.concatenate([[0], np.cumsum(1 << lengths[sets])])
    row_of = np.empty(cell_at[-1], dtype=np.int32)
    n_rows = np.empty(len(sets), dtype=np.int64)
    room = np.empty(1 << widest, dtype=np.int64)
    kernels.number_patterns(lengths[sets], steps, order.closed, cell_at, row_of, room, n_rows)
    outside_at = np.concatenate([[0], np.cumsum(1 << lengths[first:last])])
    outside = np.empty(outside_at[-1])
    if grounds.n_rows:
        grounds.count_outside(leaves, span, outside_at, outside)
    else:
        kernels.multiply_ratios(leaves.start, leaves.ratio, span, outside_at, outside)
    entry_at = np.concatenate([[0], np.cumsum(lengths[first:last] * n_rows[set_of])])
    tables = Tables(first, set_of, cell_at, row_of, entry_at, np.empty(entry_at[-1]))
    weight, cell = np.zeros((widest, 1 << widest)), np.empty(1 << widest)
    kernels.fill_tables(lengths[sets], tables, n_rows, steps, outside_at, outside, weight, cell)
    return tables


# --- long paths ------------------------------------------------------------------------------------------------------


def add_long_paths(
    leaves: Leaves,
    order: RestrictedWeights,
    background: np.ndarray,
    first: int,
    codes: np.ndarray,
    out: np.ndarray,
    report: Report,
) -> None:
    """out (k, n, r) += phi of the leaves from ``first`` on; ``background`` (n, m) are codes, m = 0 for cover ratios."""
    n_leaves = len(leaves.values)
    widest = int(np.diff(leaves.start)[-1])
    kept = 1 << min(kernels.KEPT_BITS, widest)
    room = kernels.Room(
        np.empty(codes.shape[1], dtype=np.int64),
        np.empty(widest),
        np.empty((2, widest + 1)),
        np.empty((kept, widest)),
        np.zeros(kept, dtype=bool),
    )
    others = np.empty(background.shape[1], dtype=np.int64)
    if order.kind == LEVELS:
        rule = gauss_rule(widest)
        for piece in paced(n_leaves - first, 4):
            span = (first + piece.start, first + piece.stop)
            if len(others):
                kernels.add_rows(leaves, order.level, background, others, span, codes, room, out)
            else:
                kernels.add_ratios(leaves, order.level, rule, span, codes, room, out)
            report(span[1] / n_leaves)
        return
    lister, known, steps = StepLister(order), np.zeros(0, dtype=np.int64), None
    for leaf in range(first, n_leaves):
        features = leaves.feature[leaves.start[leaf] : leaves.start[leaf + 1]]
        if steps is None or not np.array_equal(features, known):
            steps, known = lister.merged(Sets(leaves.start, leaves.feature, np.array([leaf]))), features
        kernels.find_patterns(leaves, leaf, background, others)
        before, after = np.empty((2, len(steps.code)))
        kernels.weigh_outside(leaves, leaf, steps.code, others, before)
        kernels.weigh_outside(leaves, leaf, steps.code | 1 << steps.place, others, after)
        kernels.add_steps(leaves, leaf, steps, before, after, codes, room, out)
        report((leaf + 1) / n_leaves)


def gauss_rule(widest: int) -> Any:
    """Gauss-Legendre rules on [0, 1] with 1 .. (widest + 1) // 2 points."""
    most = max(1, (widest + 1) // 2)
    points, weights = np.zeros((2, most + 1, most))
    for q in range(1, most + 1):
        nodes, node_weights = np.polynomial.legendre.leggauss(q)
        points[q, :q], weights[q, :q] = (nodes + 1) / 2, node_weights / 2
    return kernels.Rule(points, weights)
