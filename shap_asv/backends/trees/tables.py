"""Tables of phi: for leaves with few features, every pattern at once, before any row is seen."""

from collections import namedtuple
from collections.abc import Iterator

import numpy as np

from shap_asv.backends.trees.ground import Grounds
from shap_asv.backends.trees.leaves import Leaves
from shap_asv.orders.restricted import RestrictedWeights, Sets, StepLister

# Of the leaves from `first` on: set_of (leaves,) is their set of features; row_of is the row of a pattern in the table,
# for each set from cell_at (sets + 1,) on; phi lies feature by feature, from entry_at (leaves + 1,) on:
# phi[entry_at + place * rows + row].
Tables = namedtuple("Tables", "first set_of cell_at row_of entry_at phi")

#: Numbers of phi that are computed together, before patterns are found to share rows.
CHUNK = 1 << 22


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
    from shap_asv.backends.trees.kernels import tables as kernels

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
