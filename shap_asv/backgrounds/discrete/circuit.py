"""Evidence turned into a circuit of conditional distributions that any term, and any draw, can run through.

For evidence ``e`` let ``D_b(s | e)`` be the message of bucket ``b`` at separator state ``s``: the probability of all
evidence at or below the bucket, given ``s``. What inference needs of the evidence is only the conditional distribution

    w_b(x | s, e) = table_b[s, x] * prod over children c of D_c(s_c(s, x) | e) / D_b(s | e)

of the bucket's variable given its separator. With it,

- ``P(e) = D_root``;
- the expectation of a product of one-feature functions is ``R_b(s) = sum over x of w_b(x | s) g(x) prod of R_c(s_c(s,
  x))``, read at the root: a mean of means, which neither underflows nor cancels, however improbable the evidence is;
- a draw from ``P(x | e)`` walks from the root to the leaves and draws each ``x`` from ``w_b(. | s, e)``.

A *row* of bucket ``b`` is a pair (evidence at or below ``b``, separator state). Rows that agree are one row, and only
rows that the root can reach under the evidence exist: where a separator variable is observed, its other states are
never looked at. An *entry* is one state ``x`` of one row; it knows its weight and its row in each child. Rows and
entries are flat arrays over the whole batch of evidence.

Under ``do(X_S = e_S)`` the factors of S are left out of the tables: evidence rows that differ in which factors of a
bucket are left out are kept apart (``marks``), and everything else stays as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.discrete.elimination import Bucket, EliminationPlan
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
    root_rows : int array (E,)
        The row of the root bucket that belongs to each evidence row.
    log_probability : float64 array (E,)
        ``log P(e)``, ``-inf`` where the evidence is impossible.
    """

    plan: EliminationPlan
    buckets: tuple[BucketRows, ...]
    root_rows: np.ndarray
    log_probability: np.ndarray

    @property
    def n_evidence(self) -> int:
        return len(self.log_probability)

    @property
    def n_rows(self) -> int:
        return sum(rows.n_rows for rows in self.buckets)

    @property
    def n_entries(self) -> int:
        return sum(rows.n_entries for rows in self.buckets)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Rows and entries of one bucket before any probability is known: the row of each entry and its place in the
    bucket's table, and an evidence row of the batch that each row belongs to (any other agrees with it from there on
    down).
    """

    starts: np.ndarray
    entry_rows: np.ndarray
    states: np.ndarray
    places: np.ndarray
    child_rows: tuple[np.ndarray, ...]
    met: np.ndarray


@dataclass(frozen=True, eq=False)
class _Numbering:
    """Distinct evidence at or below each bucket: its number per evidence row, and one evidence row of each."""

    ids: Sequence[np.ndarray]
    chosen: Sequence[np.ndarray]


def compile_evidence(
    plan: EliminationPlan,
    codes: np.ndarray,
    entry_limit: int,
    cut: np.ndarray | None = None,
) -> Circuit | None:
    """Circuit of evidence ``codes`` (nodes, E), -1 = free; None when it would have more than ``entry_limit`` entries.

    O(E nodes) integer work plus O(entries) arithmetic; entries <= E * plan.n_entries, usually far fewer.
    A single evidence row is never refused.

    ``cut`` (nodes, E) bool, if given, says whose CPTs are left out; the plan must keep its factors apart.
    """
    n_evidence = codes.shape[1]
    labels, bounds = _labels(plan, codes, None if cut is None else _number_cuts(plan, cut))
    numbering = _number(plan, labels, bounds)
    layouts = _lay_out(plan, codes, numbering, entry_limit if n_evidence > 1 else None)
    if layouts is None:
        return None
    rows: list[BucketRows] = []
    messages: list[np.ndarray] = []
    weigh = _weigh if plan.underflow_safe else _weigh_in_logarithms
    for bucket, layout in zip(plan.buckets, layouts, strict=True):
        weights, message = weigh(bucket, layout, messages, cut)
        messages.append(message)
        rows.append(BucketRows(layout.starts, layout.states, weights, layout.child_rows))
    with np.errstate(divide="ignore"):
        total = np.log(messages[-1]) if plan.underflow_safe else messages[-1]
    root_rows = numbering.ids[-1].astype(np.intp, copy=False)
    return Circuit(plan, tuple(rows), root_rows, total[root_rows])


def _number_cuts(plan: EliminationPlan, cut: np.ndarray) -> np.ndarray:
    """Which factors of each bucket are left out, as a number (nodes, E), at the bucket's node. O(E nodes)."""
    marks = np.zeros(cut.shape, dtype=np.int64)
    for bucket in plan.buckets:
        if bucket.factors:
            marks[bucket.node], _ = number_rows([(cut[w].astype(np.int64), 2) for w, _ in bucket.factors], cut.shape[1])
    return marks


def _labels(plan: EliminationPlan, codes: np.ndarray, marks: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """What has to agree: codes, or codes and marks in one number from -1 (nodes, E); and one past the largest number
    that each bucket meets.
    """
    cards = np.array([bucket.cardinality for bucket in plan.buckets], dtype=np.int64)
    if marks is None:
        return codes, cards
    size = marks.max(axis=1, initial=0).astype(np.int64) + 1
    labels = (codes.astype(np.int64) + 1) * size[:, None] + marks - 1
    return labels, (cards + 1) * size[[bucket.node for bucket in plan.buckets]] - 1


def _number(plan: EliminationPlan, labels: np.ndarray, bounds: np.ndarray) -> _Numbering:
    ids: list[np.ndarray] = []
    chosen: list[np.ndarray] = []
    for bucket, bound in zip(plan.buckets, bounds.tolist(), strict=True):
        columns = [(ids[c], len(chosen[c])) for c in bucket.children]
        columns.append((labels[bucket.node].astype(np.int64) + 1, bound + 1))
        numbers, one_of_each = number_rows(columns, labels.shape[1])
        ids.append(numbers)
        chosen.append(one_of_each)
    return _Numbering(ids, chosen)


def _lay_out(
    plan: EliminationPlan, codes: np.ndarray, numbering: _Numbering, entry_limit: int | None
) -> list[_Layout] | None:
    """Rows and entries from the root down: only what can be reached; None past the limit."""
    count = len(numbering.chosen[-1])
    wanted = {len(plan.buckets) - 1: (np.arange(count), np.zeros(count, dtype=np.intp))}
    layouts: list[_Layout] = []
    n_entries = 0
    for b in reversed(range(len(plan.buckets))):
        bucket = plan.buckets[b]
        row_classes, row_separators = wanted.pop(b)
        chosen = numbering.chosen[b]
        starts, entry_rows, states, places = _lay_out_entries(
            codes[bucket.node][chosen], row_classes, row_separators, bucket.cardinality
        )
        child_rows = []
        for c, child_map in zip(bucket.children, bucket.child_maps, strict=True):
            classes = numbering.ids[c][chosen[row_classes]][entry_rows]
            size = plan.buckets[c].n_separator_states
            ids, below_classes, below_separators = _demand_rows(
                classes, child_map.reshape(-1)[places], len(numbering.chosen[c]), size
            )
            child_rows.append(ids)
            wanted[c] = below_classes, below_separators
        layouts.append(_Layout(starts, entry_rows, states, places, tuple(child_rows), chosen[row_classes]))
        n_entries += len(states)
        if entry_limit is not None and n_entries > entry_limit:
            return None
    return layouts[::-1]


def _lay_out_entries(
    observed: np.ndarray, row_classes: np.ndarray, row_separators: np.ndarray, card: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """One entry per state for rows whose variable is free, one entry in all where it is observed.

    Returns starts, the row of each entry, its state, and its place in the bucket's table.
    """
    codes = observed[row_classes].astype(np.intp)
    counts = np.where(codes < 0, card, 1)
    starts = np.zeros(len(codes) + 1, dtype=np.intp)
    np.cumsum(counts, out=starts[1:])
    entry_rows = np.repeat(np.arange(len(codes)), counts)
    code = codes[entry_rows]
    states = np.where(code < 0, np.arange(len(entry_rows)) - starts[entry_rows], code)
    return starts, entry_rows, states, row_separators[entry_rows] * card + states


def _demand_rows(
    entry_classes: np.ndarray, entry_separators: np.ndarray, n_classes: int, n_separators: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a child that entries lead to: the row of each entry, and class and separator state of each row."""
    keys = entry_classes * np.int64(n_separators) + entry_separators
    ids, chosen = number_keys(keys, n_classes * n_separators)
    return ids, entry_classes[chosen], entry_separators[chosen]


def _weigh(
    bucket: Bucket, layout: _Layout, messages: list[np.ndarray], cut: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the entries and messages D of the rows, where no product can underflow."""
    weights = bucket.table.reshape(-1)[layout.places] if cut is None else _uncut(bucket, layout, cut)
    for c, child_rows in zip(bucket.children, layout.child_rows, strict=True):
        weights *= messages[c][child_rows]
    message = np.add.reduceat(weights, layout.starts[:-1])
    weights /= np.where(message > 0, message, 1.0)[layout.entry_rows]
    return weights, message


def _uncut(bucket: Bucket, layout: _Layout, cut: np.ndarray) -> np.ndarray:
    """The product of the factors that are not left out, at each entry."""
    product = np.ones(len(layout.places))
    for w, factor in bucket.factors:
        left_out = cut[w][layout.met]
        if not left_out.any():
            product *= factor.reshape(-1)[layout.places]
        elif not left_out.all():
            product *= np.where(left_out[layout.entry_rows], 1.0, factor.reshape(-1)[layout.places])
    return product


def _weigh_in_logarithms(
    bucket: Bucket, layout: _Layout, messages: list[np.ndarray], cut: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The same with logarithms of messages: for long networks and for tiny probabilities."""
    if cut is None:
        logs = bucket.log_table.reshape(-1)[layout.places]
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(_uncut(bucket, layout, cut))
    for c, child_rows in zip(bucket.children, layout.child_rows, strict=True):
        logs += messages[c][child_rows]
    largest = np.maximum.reduceat(logs, layout.starts[:-1])
    possible = np.isfinite(largest)
    anchor = np.where(possible, largest, 0.0)
    weights = np.exp(logs - anchor[layout.entry_rows])
    total = np.add.reduceat(weights, layout.starts[:-1])
    weights /= np.where(possible, total, 1.0)[layout.entry_rows]
    return weights, np.where(possible, np.log(np.where(possible, total, 1.0)) + anchor, -np.inf)
