"""Evidence turned into a circuit of conditional distributions that any term, and any draw, can run through.

For evidence ``e`` let ``D_b(s | e)`` be the message of bucket ``b`` at separator state ``s``: the probability of all
evidence at or below the bucket, given ``s``. What inference needs of the evidence is only the conditional distribution

    w_b(x | s, e) = table_b[s, x] * prod over children c of D_c(s_c(s, x) | e) / D_b(s | e)

of the bucket's variable given its separator. With it,

- ``P(e) = prod over roots of D_root``;
- the expectation of a product of one-feature functions is ``R_b(s) = sum over x of w_b(x | s) g(x) prod of R_c(s_c(s,
  x))``, read at the roots: a mean of means, which neither underflows nor cancels, however improbable the evidence is;
- a draw from ``P(x | e)`` walks from the roots to the leaves and draws each ``x`` from ``w_b(. | s, e)``.

A *row* of bucket ``b`` is a pair (evidence at or below ``b``, separator state). Rows that agree are one row, and only
rows that the root can reach under the evidence exist: where a separator variable is observed, its other states are
never looked at. An *entry* is one state ``x`` of one row; it knows its weight and its row in each child. Rows and
entries are flat arrays over the whole batch of evidence.
"""

from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.elimination import Bucket, EliminationPlan
from shap_asv.backgrounds.grouping import number_keys, number_rows


@dataclass(frozen=True, eq=False)
class BucketRows:
    """All rows of one bucket; row ``r`` owns the entries ``starts[r] : starts[r + 1]``.

    Attributes
    ----------
    starts : int array (rows + 1,)
    states : int array (entries,)
        The state ``x`` of the bucket's variable.
    weights : float64 array (entries,)
        ``w(x | row)``; they sum to one over a row, or are all 0 in a row that is impossible.
    child_rows : tuple of int arrays (entries,)
        The row of each child bucket that the entry leads to.
    """

    starts: np.ndarray
    states: np.ndarray
    weights: np.ndarray
    child_rows: tuple[np.ndarray, ...]

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    @property
    def n_entries(self) -> int:
        return len(self.states)


@dataclass(frozen=True, eq=False)
class Circuit:
    """A batch of evidence, compiled.

    Attributes
    ----------
    plan : EliminationPlan
    buckets : tuple of BucketRows
        In the order of ``plan.buckets``.
    root_rows : tuple of int arrays (E,)
        The row of each root bucket that belongs to each evidence row.
    log_probability : float64 array (E,)
        ``log P(e)``, ``-inf`` where the evidence is impossible.
    """

    plan: EliminationPlan
    buckets: tuple[BucketRows, ...]
    root_rows: tuple[np.ndarray, ...]
    log_probability: np.ndarray

    @property
    def n_rows(self) -> int:
        return sum(rows.n_rows for rows in self.buckets)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Rows and entries of one bucket before any probability is known."""

    starts: np.ndarray
    entry_rows: np.ndarray
    states: np.ndarray
    table_index: np.ndarray
    child_rows: tuple[np.ndarray, ...]


def compile_evidence(plan: EliminationPlan, codes: np.ndarray, entry_limit: int) -> Circuit | None:
    """Circuit of evidence ``codes`` (E, nodes), -1 = free; None when it would have more than ``entry_limit`` entries.

    O(E nodes) integer work plus O(entries) arithmetic; entries <= E * plan.n_entries, usually far fewer.
    A single evidence row is never refused.
    """
    n_evidence = len(codes)
    classes: list[np.ndarray] = []
    chosen: list[np.ndarray] = []
    for bucket in plan.buckets:
        columns = [(classes[c], len(chosen[c])) for c in bucket.children]
        columns.append((codes[:, bucket.node].astype(np.int64) + 1, bucket.cardinality + 1))
        ids, one_of_each = number_rows(columns, n_evidence)
        classes.append(ids)
        chosen.append(one_of_each)

    row_class: list[np.ndarray | None] = [None] * len(plan.buckets)
    row_separator: list[np.ndarray | None] = [None] * len(plan.buckets)
    for root in plan.roots:
        row_class[root] = np.arange(len(chosen[root]))
        row_separator[root] = np.zeros(len(chosen[root]), dtype=np.intp)
    layouts: list[_Layout | None] = [None] * len(plan.buckets)
    left = entry_limit
    for b in reversed(range(len(plan.buckets))):
        bucket, owners, separators = plan.buckets[b], row_class[b], row_separator[b]
        assert owners is not None
        assert separators is not None
        layout, demands = _lay_out(bucket, codes[chosen[b], bucket.node], owners, separators)
        child_rows = []
        for c, child_map in zip(bucket.children, bucket.child_maps, strict=True):
            size = plan.buckets[c].n_separator_states
            keys = classes[c][chosen[b]][owners[layout.entry_rows]] * size + child_map.reshape(-1)[layout.table_index]
            ids, one_of_each = number_keys(keys, len(chosen[c]) * size)
            child_rows.append(ids)
            row_class[c], row_separator[c] = np.divmod(keys[one_of_each], size)
        layouts[b] = _Layout(layout.starts, layout.entry_rows, layout.states, layout.table_index, tuple(child_rows))
        left -= demands
        if left < 0 and n_evidence > 1:
            return None

    rows: list[BucketRows] = []
    messages: list[np.ndarray] = []
    weigh = _weigh if plan.underflow_safe else _weigh_in_logarithms
    for bucket, planned in zip(plan.buckets, layouts, strict=True):
        assert planned is not None
        weights, message = weigh(bucket, planned, messages)
        messages.append(message)
        rows.append(BucketRows(planned.starts, planned.states, weights, planned.child_rows))
    log_probability = np.zeros(n_evidence)
    for root in plan.roots:
        with np.errstate(divide="ignore"):
            total = np.log(messages[root]) if plan.underflow_safe else messages[root]
        log_probability += total[classes[root]]
    return Circuit(plan, tuple(rows), tuple(classes[root] for root in plan.roots), log_probability)


def _lay_out(bucket: Bucket, observed: np.ndarray, owners: np.ndarray, separators: np.ndarray) -> tuple[_Layout, int]:
    """One entry per state for rows whose variable is free, one entry in all where it is observed."""
    observed = observed[owners].astype(np.intp)
    free = observed < 0
    counts = np.where(free, bucket.cardinality, 1)
    starts = np.zeros(len(owners) + 1, dtype=np.intp)
    np.cumsum(counts, out=starts[1:])
    entry_rows = np.repeat(np.arange(len(owners)), counts)
    states = np.where(free[entry_rows], np.arange(len(entry_rows)) - starts[entry_rows], observed[entry_rows])
    table_index = separators[entry_rows] * bucket.cardinality + states
    return _Layout(starts, entry_rows, states, table_index, ()), len(entry_rows)


def _weigh(bucket: Bucket, layout: _Layout, messages: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the entries and messages D of the rows, where no product can underflow."""
    weights = bucket.table.reshape(-1)[layout.table_index]
    for c, child_rows in zip(bucket.children, layout.child_rows, strict=True):
        weights *= messages[c][child_rows]
    message = np.add.reduceat(weights, layout.starts[:-1])
    weights /= np.where(message > 0, message, 1.0)[layout.entry_rows]
    return weights, message


def _weigh_in_logarithms(bucket: Bucket, layout: _Layout, messages: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The same with logarithms of messages: for long networks and for tiny probabilities."""
    logs = bucket.log_table.reshape(-1)[layout.table_index]
    for c, child_rows in zip(bucket.children, layout.child_rows, strict=True):
        logs += messages[c][child_rows]
    largest = np.maximum.reduceat(logs, layout.starts[:-1])
    possible = np.isfinite(largest)
    anchor = np.where(possible, largest, 0.0)
    weights = np.exp(logs - anchor[layout.entry_rows])
    total = np.add.reduceat(weights, layout.starts[:-1])
    weights /= np.where(possible, total, 1.0)[layout.entry_rows]
    return weights, np.where(possible, np.log(np.where(possible, total, 1.0)) + anchor, -np.inf)
