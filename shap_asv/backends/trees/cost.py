"""What attributions of trees will cost, before anything is prepared or compiled.

The work is known from the number of distinct features on each path (a pass over the nodes), the kind of order and the
numbers of rows.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shap_asv.costs import Cost
from shap_asv.models.trees.ensembles import FloatEnsemble
from shap_asv.orders import CausalOrder
from shap_asv.orders.restricted import FOREST, LATTICE, LEVELS, ORDERS, PARTS, shuffling_work

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
# Features of a path from which its table does not stay in the caches.
_FAR = 11
# What listing a step is, by the kind of order.
_STEP = {
    LEVELS: "step of levels",
    FOREST: "step of a forest",
    LATTICE: "step of a lattice",
    ORDERS: "step of an order",
    PARTS: "step of parts",
}


@dataclass(frozen=True, eq=False)
class PathLengths:
    """How many leaves have d distinct features: float64 (longest + 1,), and how many of their sets are distinct.

    ``words`` (sets, n / 64) are these sets as bits.
    """

    leaves: np.ndarray
    sets: np.ndarray
    words: np.ndarray


@lru_cache(maxsize=8)  # plans are made again and again
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
    lengths = np.bitwise_count(found).sum(axis=1, dtype=np.int64)
    words = np.unique(found, axis=0)
    distinct = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    longest = int(lengths.max(initial=0)) + 1
    leaves, sets = (np.bincount(counted, minlength=longest).astype(float) for counted in (lengths, distinct))
    return PathLengths(leaves, sets, words)


def _sets(ensemble: FloatEnsemble) -> np.ndarray:
    """The distinct sets of features that paths look at: bool (sets, n)."""
    words, n = path_lengths(ensemble).words, ensemble.n_columns
    bits = words[:, np.arange(n) // 64] >> (np.arange(n) % 64).astype(np.uint64)
    return (bits & np.uint64(1)).astype(bool)


@lru_cache(maxsize=8)
def parts_work(ensemble: FloatEnsemble, order: CausalOrder) -> tuple[float, float]:
    """What an order in parts asks for: multiplications to shuffle them for all sets, numbers kept for the largest."""
    work, kept = shuffling_work(order, _sets(ensemble))
    return float(work.sum()), float(kept.max(initial=0.0))


@lru_cache(maxsize=8)
def largest_walk(ensemble: FloatEnsemble, order: CausalOrder) -> tuple[float, int]:
    """What a causal forest asks for at its worst path: ideals of the path's features with their causes, and how many
    features those are.

    With f(v) = 1 + product of f over the effects of v among them, there are as many ideals as the product of f over
    the roots. O(sets * n).
    """
    member, n = _sets(ensemble), ensemble.n_columns
    ideals, below = np.ones(len(member)), np.ones((n, len(member)))
    for v in reversed(order.topological_indices):
        own = np.where(member[:, v], 1.0 + below[v], 1.0)
        for cause in order.parents[v]:
            member[:, cause] |= member[:, v]
            below[cause] *= own
        if not order.parents[v]:
            ideals *= own
    return float(ideals.max(initial=1.0)), int(member.sum(axis=1).max(initial=0))


def tree_cost(
    ensemble: FloatEnsemble,
    kind: str,
    n_rows: int,
    n_background: int = 0,
    *,
    n_ideals: int = 0,
    n_orders: int = 0,
    n_groups: int = 1,
) -> Cost:
    """Operations and bytes of ``prepare_trees(...).attribute(rows)``.

    Parameters
    ----------
    kind : str
        See :func:`shap_asv.orders.restricted.kind_of`.
    n_rows, n_background : int
        Rows to explain; background rows, 0 for cover counts.
    n_ideals : int
        Of the lattice, or of the lattices of parts (``CausalOrder.count_ideals``); edges are about n / 4 times as many.
    n_orders, n_groups : int
        Given or sampled orders, for that kind; each group of sampled orders has tables of its own.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from shap_asv.models.trees.form import read_ensemble
    >>> tree = DecisionTreeRegressor().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0])
    >>> cost = tree_cost(read_ensemble(tree), LEVELS, n_rows=1000)
    >>> cost.operations["path entry"], cost.seconds < 1
    (5.0, True)
    """
    paths = path_lengths(ensemble)
    d = np.arange(len(paths.leaves))
    n, k = ensemble.n_columns, ensemble.n_outputs
    outputs = float(np.mean((ensemble.values[ensemble.left < 0] != 0).sum(axis=1))) if k > 1 else 1.0
    n_edges, groups = n_ideals * n / 4, n_groups
    cells = 2.0**d
    closed = kind == LEVELS and not n_background
    tabled = d <= table_bits(paths.leaves, closed)
    few = np.where(tabled, cells, 0.0)  # long paths list what occurs, never all of their subsets
    steps = {
        LEVELS: d * few / 2,
        FOREST: d * np.minimum(cells, 40 * d),
        LATTICE: n_ideals * d + n_edges * d / max(1, n) + d * few,
        ORDERS: n_orders * d**2 + 4 * groups * d * few,
        PARTS: n_ideals * d / 4 + d * cells,
    }[kind]
    words = -(-n_background // 64)
    leaves, long = paths.leaves, ~tabled
    # patterns that occur on a long path, and what one of them takes
    patterns = np.minimum(n_rows, cells) if closed else np.full(len(d), float(n_rows))
    # equal steps are added up: a path has few ideals, unless orders are listed
    most = {ORDERS: np.full(len(d), n_orders / groups), PARTS: cells}.get(kind, 40.0 * d)
    distinct = np.minimum(cells, most)
    operations = {
        "tree call": 1.0,
        "path entry": leaves @ d,
        "path cell": (leaves * groups * d * cells * np.maximum(1, d - 1) / 2)[tabled].sum(),
        "distant path cell": (leaves * groups * d * cells * (d >= _FAR))[tabled].sum(),
        "background word": (leaves * words * cells)[tabled].sum(),
        "path entry x row": groups * n_rows * outputs * (leaves * d * np.where(tabled, 1, 3)).sum(),
        _STEP[kind]: (paths.sets * steps * (tabled | (not closed))).sum(),
    }
    if closed:
        operations["long path point"] = (leaves * groups * patterns * d * ((d + 1) // 2))[long].sum()
    elif kind == LEVELS:
        operations["background row met"] = (leaves * groups * patterns)[long].sum() * n_background
    else:
        operations["path cell"] += (leaves * groups * patterns * d * distinct)[long].sum()
        operations["background row met"] = 0.06 * n_background * (leaves * groups * d * distinct)[long].sum()
    table_bytes = float((8 * paths.leaves * d * cells)[tabled].sum())
    memory = 2**27 + min(table_bytes, 2 * KEPT_BYTES) + 60 * float((paths.leaves * d).sum())
    memory += n_background * n * 4 + words * 8 * len(ensemble.threshold)
    memory += n_ideals * n + 20 * n_edges + 8 * n_orders * n
    memory += min(n_rows, ROW_BLOCK) * n * (8 * k * (4 if groups > 1 else 1) + 4) + 8 * n_rows * n * k
    return Cost({name: float(count) for name, count in operations.items()}, int(memory), coalitions=n_ideals)


def table_bits(n_leaves: np.ndarray, closed: bool) -> int:
    """Features up to which paths have tables; ``n_leaves[d]`` leaves look at d features.

    With a closed form at hand (``closed``), tables pay only while they can be kept.
    """
    if not closed:
        return WIDE_TABLE_BITS
    cells = np.cumsum([d * 2**d * count for d, count in enumerate(n_leaves.tolist())])
    return max(0, min(TABLE_BITS, int(np.searchsorted(8 * cells, KEPT_BYTES, side="right")) - 1))
