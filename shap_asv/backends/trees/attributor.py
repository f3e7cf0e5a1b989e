"""From an ensemble, a distribution and an order to attributions of rows.

What does not depend on rows is done once: paths, codes, and (where memory allows) the tables of phi per pattern. Long
paths have no tables; see :mod:`shap_asv.backends.trees.deep_kernel`.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Report, keep_silent, paced
from shap_asv.backends.trees.coding import Coding, code_ensemble
from shap_asv.backends.trees.leaves import Leaves, find_leaves
from shap_asv.backends.trees.orderings import (
    FOREST,
    LATTICE,
    LEVELS,
    ORDERS,
    Ordering,
    kind_of,
    order_by_list,
    order_by_precedence,
)
from shap_asv.errors import BudgetExceededError, RowsError
from shap_asv.models.ensembles import FloatEnsemble
from shap_asv.orders import CausalOrder
from shap_asv.strata import group_of_draws

#: Features of a path up to which phi is tabulated: where a closed form is at hand, and where none is.
TABLE_BITS, WIDE_TABLE_BITS = 8, 12
#: Features of a path that fit a machine word.
PATH_BITS = 57
#: Bytes of tables that are kept from call to call.
KEPT_BYTES = 1 << 28
#: Numbers of tables that are built at a time where they are not kept.
CHUNK_CELLS = 1 << 22
#: Rows that are worked on together.
ROW_BLOCK = 16_384
#: Ideals of the features of one path and their ancestors, in a forest.
FOREST_IDEALS = 1 << 17
#: Groups of sampled orders: their spread is the standard error.
N_GROUPS = 25


@dataclass(frozen=True, eq=False)
class TreeAttributor:
    """An ensemble made ready; rows are floats (r, n) in the coding of :meth:`FloatEnsemble.rows`. Can be pickled.

    Attributes
    ----------
    coding : Coding
    leaves : Leaves
    orderings : tuple of Ordering
        One; or one per group of sampled orders.
    group_sizes : float64 array (groups,) or None
        Sampled orders in each group; None for an exact average.
    background : int32 array (n, m)
        Codes of the background rows; m = 0 for cover counts.
    base : float64 array (k,)
    """

    coding: Coding
    leaves: Leaves
    orderings: tuple[Ordering, ...]
    group_sizes: np.ndarray | None
    background: np.ndarray
    base: np.ndarray
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    rowwise = True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}  # tables are built again where they are needed

    @property
    def n_features(self) -> int:
        return self.coding.ensemble.n_columns

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        """Float rows (r, n) -> phi (r, n, k), base (k,), and the standard error where orders were sampled."""
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise RowsError(f"rows must be a matrix with {self.n_features} columns; got shape {rows.shape}")
        k = self.leaves.values.shape[1]
        phi = np.empty((len(rows), self.n_features, k))
        error = None if self.group_sizes is None else np.empty_like(phi)
        for start in range(0, len(rows), ROW_BLOCK):
            here = slice(start, min(start + ROW_BLOCK, len(rows)))
            codes = self.coding.codes(rows[here])
            if error is None:
                phi[here] = self._add_up(0, codes).transpose(2, 1, 0)
            else:
                phi[here], error[here] = self._groups(codes)
            report(here.stop / len(rows))
        return Attribution(phi, self.base, error)

    def _groups(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error over groups: ``error^2 = sum_g s_g (phi_g - phi)^2 / (G - 1) / sum_g s_g``."""
        assert self.group_sizes is not None
        share = self.group_sizes / self.group_sizes.sum()
        first = self._add_up(0, codes)  # differences from one group keep the digits that squares would lose
        mean, square = np.zeros_like(first), np.zeros_like(first)
        for g in range(len(share)):
            difference = (self._add_up(g, codes) if g else first) - first
            mean += share[g] * difference
            square += share[g] * difference**2
        spread = np.maximum(square - mean**2, 0.0) / max(1, len(share) - 1)
        return (first + mean).transpose(2, 1, 0), np.sqrt(spread).transpose(2, 1, 0)

    def _add_up(self, group: int, codes: np.ndarray) -> np.ndarray:
        """phi of all leaves, (k, n, r), under one group of orders."""
        from shap_asv.backends.trees.deep_kernel import add_deep
        from shap_asv.backends.trees.row_kernel import add_tables
        from shap_asv.backends.trees.table_kernel import Tables

        leaves, order = self.leaves, self.orderings[group]
        n_leaves = len(leaves.values)
        out = np.zeros((leaves.values.shape[1], self.n_features, codes.shape[1]))
        steps = self._steps(order)
        tabulated = int(np.searchsorted(np.diff(leaves.start), self.table_bits, side="right"))
        for first, last in self._chunks(tabulated):
            tables = Tables(*self._tables(group, first, last, steps))
            for piece in paced(last - first, 64):
                add_tables(leaves, tables, first, (first + piece.start, first + piece.stop), codes, out)
        rule = gauss_rule(int(np.diff(leaves.start).max(initial=0)) if tabulated < n_leaves else 0)
        for piece in paced(n_leaves - tabulated, 4):
            span = (tabulated + piece.start, tabulated + piece.stop)
            if not add_deep(leaves, order, steps, rule, self.background, span, codes, out):
                raise too_many_steps(order)
        return out

    @property
    def table_bits(self) -> int:
        closed = self.orderings[0].kind == LEVELS and not self.background.shape[1]
        return TABLE_BITS if closed else WIDE_TABLE_BITS

    def _chunks(self, tabulated: int) -> list[tuple[int, int]]:
        """Spans of leaves whose tables are built together: all of them when they are kept, else a few at a time."""
        if not tabulated:
            return []
        lengths = np.diff(self.leaves.start)[:tabulated]
        cells = np.cumsum(lengths * 2.0**lengths)
        if cells[-1] * 8 <= KEPT_BYTES and len(self.orderings) == 1:
            return [(0, tabulated)]
        cuts = np.searchsorted(cells, np.arange(1, cells[-1] // CHUNK_CELLS + 1) * CHUNK_CELLS) + 1
        bounds = np.unique(np.concatenate([[0], np.minimum(cuts, tabulated), [tabulated]])).tolist()
        return list(zip(bounds[:-1], bounds[1:], strict=True))

    def _tables(self, group: int, first: int, last: int, steps: Any) -> tuple[np.ndarray, ...]:
        from shap_asv.backends.trees.table_kernel import build_tables

        whole = self._chunks(last) == [(first, last)]
        if whole and "tables" in self._kept:
            return self._kept["tables"]
        order = self.orderings[group]
        tables = build_tables(self.leaves, order, steps, self.background, (first, last), 1 << 16)
        if not len(tables[2]):
            raise too_many_steps(order)
        if whole:
            self._kept["tables"] = tables
        return tables

    def _steps(self, order: Ordering) -> Any:
        from shap_asv.backends.trees.weight_kernel import Steps

        widest = int(np.diff(self.leaves.start).max(initial=1))
        ideals = 1
        if order.kind == LEVELS:
            room = WIDE_TABLE_BITS << WIDE_TABLE_BITS
        elif order.kind == FOREST:
            ideals = FOREST_IDEALS
            room = 4 * ideals
        elif order.kind == LATTICE:
            ideals, room = order.member.shape[1], len(order.edge_weight)
        else:
            room = widest * len(order.share)
        whole = [np.empty(max(1, room), dtype=np.int64) for _ in range(2)]
        return Steps(
            *whole,
            np.empty(max(1, room)),
            *[np.empty(ideals, dtype=np.int64) for _ in range(2)],
            np.empty(ideals),
        )


def too_many_steps(order: Ordering) -> BudgetExceededError:
    return BudgetExceededError(
        f"a path of the trees has features with more than {FOREST_IDEALS:,} ideals, or more than 62 features with their "
        "causes, in the causal forest; sampled orders do without them"
        if order.kind == FOREST
        else "a path of the trees passes more coalitions than can be listed; sampled orders do without them"
    )


def gauss_rule(widest: int) -> Any:
    """Gauss-Legendre rules on [0, 1] with 1 .. (widest + 1) // 2 points."""
    from shap_asv.backends.trees.deep_kernel import Rule

    most = max(1, (widest + 1) // 2)
    points, weights = np.zeros((2, most + 1, most))
    for q in range(1, most + 1):
        nodes, node_weights = np.polynomial.legendre.leggauss(q)
        points[q, :q], weights[q, :q] = (nodes + 1) / 2, node_weights / 2
    return Rule(points, weights)


def prepare_trees(
    ensemble: FloatEnsemble,
    order: CausalOrder | None = None,
    background: np.ndarray | None = None,
    *,
    orders: np.ndarray | None = None,
    order_weights: np.ndarray | None = None,
    sampled: bool = False,
    ideal_limit: int | None = None,
) -> TreeAttributor:
    """An ensemble made ready for attributions under a causal order.

    Parameters
    ----------
    ensemble : FloatEnsemble
        Its columns are the features, in the order of the causal order's.
    order : CausalOrder, optional
        None, without ``orders`` either, means no edges.
    background : float array (m, n), optional
        Background rows; None uses the cover counts of the trees.
    orders : int array (K, n), optional
        Explicit orders instead of ``order``: with ``order_weights`` (K,), or a sample (``sampled=True``), which is
        split into groups for a standard error.
    ideal_limit : int, optional
        Largest lattice, for orders that are neither levels nor forests.

    Returns
    -------
    TreeAttributor

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from shap_asv.models.ensemble_reading import read_ensemble
    >>> tree = DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0])
    >>> order = CausalOrder.from_edges([("a", "b")])
    >>> found = prepare_trees(read_ensemble(tree), order).attribute(np.array([[1.0, 1.0]]))
    >>> found.base.tolist(), found.phi[0, :, 0].tolist()
    ([1.0], [1.0, 2.0])
    """
    coding = code_ensemble(ensemble)
    n = ensemble.n_columns
    orderings, sizes = make_orderings(n, order, orders, order_weights, sampled, ideal_limit)
    # levels have to be runs of places on a path
    rank = np.argsort(np.argsort(orderings[0].level * n + np.arange(n))).astype(np.int64)
    leaves, constant = find_leaves(coding, rank)
    widest = int(np.diff(leaves.start).max(initial=0))
    if widest > PATH_BITS:
        raise BudgetExceededError(f"a path of the trees has {widest} features; at most {PATH_BITS} can be treated")
    if background is None:
        codes = np.zeros((n, 0), dtype=np.int32)
    else:
        background = np.asarray(background, dtype=np.float64)
        if background.ndim != 2 or background.shape[1] != n or not len(background):
            raise RowsError(f"background rows must be a matrix with {n} columns; got shape {background.shape}")
        codes = coding.codes(background)
        if not len(leaves.values):
            codes = codes[:, :1]
    base = ensemble.offset + constant
    if background is None:
        reached = np.multiply.reduceat(leaves.ratio, leaves.start[:-1]) if len(leaves.values) else np.zeros(0)
        base = base + reached @ leaves.values
    else:
        base = ensemble.predict(background).mean(axis=0)
    return TreeAttributor(coding, leaves, orderings, sizes, codes, base)


def make_orderings(
    n: int,
    order: CausalOrder | None,
    orders: np.ndarray | None,
    order_weights: np.ndarray | None,
    sampled: bool,
    ideal_limit: int | None,
) -> tuple[tuple[Ordering, ...], np.ndarray | None]:
    """The kernels' orders, one per group; and the group sizes of a sample, None where the average is exact."""
    if orders is None:
        if order is None:
            order = CausalOrder(tuple(range(n)), ((),) * n)
        return (order_by_precedence(order, ideal_limit),), None
    if not sampled:
        return (order_by_list(orders, order_weights),), None
    n_groups = min(N_GROUPS, len(orders))
    group = group_of_draws(len(orders), n_groups)
    groups = tuple(order_by_list(orders[group == g]) for g in range(n_groups))
    return groups, np.bincount(group, minlength=n_groups).astype(float)
