"""What attributions of trees will cost, before anything is prepared or compiled.

The work is known from the number of distinct features on each path (a pass over the nodes), the kind of order and the
numbers of rows. The seconds per operation were measured on one thread, with random forests of depth 4 to 20.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backends.contract import Estimate
from shap_asv.backends.trees.attributor import KEPT_BYTES, N_GROUPS, ROW_BLOCK, TABLE_BITS, WIDE_TABLE_BITS
from shap_asv.backends.trees.orderings import FOREST, LATTICE, LEVELS, ORDERS
from shap_asv.models.ensembles import FloatEnsemble

# Seconds: compiling (once per machine) or loading; a path entry at preparation; a cell of a table; a path entry of a
# row, per output; a point of a product on a long path; a word of background rows.
_LOADING, _ENTRY, _CELL, _ROW_ENTRY, _POINT, _WORD = 0.06, 1.2e-7, 1.1e-9, 0.75e-9, 2.5e-9, 1.0e-9
# Seconds to list a step: of levels; of a forest, with its walk; of a lattice, per ideal or edge; of an order.
_STEP = {LEVELS: 2e-9, FOREST: 6e-8, LATTICE: 0.8e-9, ORDERS: 1.5e-9}


@dataclass(frozen=True, eq=False)
class PathLengths:
    """How many leaves have d distinct features: float64 (longest + 1,), and how many of their sets are distinct."""

    leaves: np.ndarray
    sets: np.ndarray


def path_lengths(ensemble: FloatEnsemble) -> PathLengths:
    """Distinct features on each path, without the paths: bit sets handed down level by level. O(nodes * n / 64)."""
    n_words = (ensemble.n_columns + 63) // 64
    here = ensemble.roots
    seen = np.zeros((len(here), n_words), dtype=np.uint64)
    ends = []
    while len(here):
        leaf = ensemble.left[here] < 0
        ends.append(seen[leaf])
        here, seen = here[~leaf], seen[~leaf]
        column = ensemble.column[here]
        seen = seen.copy()
        seen[np.arange(len(here)), column // 64] |= np.uint64(1) << (column % 64).astype(np.uint64)
        here = np.concatenate([ensemble.left[here], ensemble.right[here]])
        seen = np.concatenate([seen, seen])
    found = np.concatenate(ends)
    lengths = np.bitwise_count(found).sum(axis=1)
    distinct = np.bitwise_count(np.unique(found, axis=0)).sum(axis=1)
    longest = int(lengths.max(initial=0)) + 1
    return PathLengths(
        np.bincount(lengths, minlength=longest).astype(float), np.bincount(distinct, minlength=longest).astype(float)
    )


def estimate_trees(
    ensemble: FloatEnsemble,
    kind: int,
    n_rows: int,
    n_background: int = 0,
    *,
    n_ideals: int = 0,
    n_edges: int = 0,
    n_orders: int = 0,
    sampled: bool = False,
) -> Estimate:
    """Seconds and bytes of ``prepare_trees(...).attribute(rows)``.

    Parameters
    ----------
    kind : int
        One of :data:`~shap_asv.backends.trees.orderings.LEVELS`, FOREST, LATTICE, ORDERS; see ``kind_of``.
    n_rows, n_background : int
        Rows to explain; background rows, 0 for cover counts.
    n_ideals, n_edges : int
        Of the lattice, for that kind (``CausalOrder.count_ideals``; edges are about half of n times as many).
    n_orders : int
        Given or sampled orders, for that kind.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from shap_asv.models.ensemble_reading import read_ensemble
    >>> tree = DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0])
    >>> cost = estimate_trees(read_ensemble(tree), LEVELS, n_rows=1000)
    >>> cost.coalitions, cost.seconds < 1
    (10, True)
    """
    paths = path_lengths(ensemble)
    d = np.arange(len(paths.leaves))
    n, k = ensemble.n_columns, ensemble.n_outputs
    outputs = float(np.mean((ensemble.values[ensemble.left < 0] != 0).sum(axis=1))) if k > 1 else 1.0
    groups = min(N_GROUPS, n_orders) if sampled else 1
    cells = 2.0**d
    closed = kind == LEVELS and not n_background
    bits = WIDE_TABLE_BITS
    if closed:
        kept = np.cumsum(8 * d * cells * paths.leaves)
        bits = min(TABLE_BITS, int(np.searchsorted(kept, KEPT_BYTES, side="right")) - 1)
    tabled = d <= bits
    steps = {
        LEVELS: d * cells / 2,
        FOREST: d * np.minimum(cells, 40 * d),
        LATTICE: n_ideals * d + n_edges * d / max(1, n) + d * cells,
        ORDERS: n_orders * d**2 + 4 * groups * d * cells,
    }[kind]
    words = -(-n_background // 64)
    # patterns that occur on a long path, and what one of them takes
    patterns = np.minimum(n_rows, cells) if closed else np.full(len(d), float(n_rows))
    if closed:
        each = _POINT * d * ((d + 1) // 2)
    elif kind == LEVELS:
        each = 2 * _POINT * n_background * d
    else:
        # equal steps are added up: a path has few ideals, unless orders are listed
        each = _CELL * d * np.minimum(cells, n_orders / groups if kind == ORDERS else 40 * d)
    per_leaf = np.where(
        tabled,
        groups * _CELL * d * np.maximum(1, d - 1) * cells / 2 + _WORD * words * cells,
        groups * patterns * each,
    )
    seconds = _LOADING + float(
        (
            paths.leaves * (per_leaf + _ENTRY * d + groups * n_rows * d * outputs * _ROW_ENTRY * np.where(tabled, 1, 3))
        ).sum()
        + (paths.sets * steps * (tabled | (not closed)) * _STEP[kind]).sum()
    )
    table_bytes = float((8 * paths.leaves * d * cells)[tabled].sum())
    memory = 2**27 + min(table_bytes, 2 * KEPT_BYTES) + 60 * float((paths.leaves * d).sum())
    memory += n_background * n * 4 + words * 8 * len(ensemble.threshold)
    memory += n_ideals * n + 20 * n_edges + 8 * n_orders * n
    memory += min(n_rows, ROW_BLOCK) * n * (8 * k * (4 if sampled else 1) + 4) + 8 * n_rows * n * k
    return Estimate(int((paths.leaves * cells).sum()), n_orders, 0, 0, seconds, int(memory))
