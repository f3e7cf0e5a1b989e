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
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
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
    ids, chosen = _number(plan, labels, bounds)
    layouts = _lay_out(plan, codes, ids, chosen, entry_limit if n_evidence > 1 else None)
    if layouts is None:
        return None
    rows: list[BucketRows] = []
    messages: list[np.ndarray] = []
    for bucket, layout in zip(plan.buckets, layouts, strict=True):
        weights, message = _weigh(bucket, layout, messages, cut)
        messages.append(message)
        rows.append(BucketRows(layout.starts, layout.states, weights, layout.child_rows))
    root_rows = ids[-1].astype(np.intp, copy=False)
    return Circuit(plan, tuple(rows), root_rows, messages[-1][root_rows])


def _number_cuts(plan: EliminationPlan, cut: np.ndarray) -> np.ndarray:
    """Which factors of each bucket are left out, as a number (nodes, E), at the bucket's node. O(E nodes)."""
    marks = np.zeros(cut.shape, dtype=np.int64)
    for bucket in plan.buckets:
        if bucket.log_factors:
            marks[bucket.node], _ = number_rows(
                [(cut[w].astype(np.int64), 2) for w, _ in bucket.log_factors], cut.shape[1]
            )
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


def _number(
    plan: EliminationPlan, labels: np.ndarray, bounds: np.ndarray
) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
    """Distinct evidence at or below each bucket: its number per evidence row, and one evidence row of each."""
    ids: list[np.ndarray] = []
    chosen: list[np.ndarray] = []
    for bucket, bound in zip(plan.buckets, bounds.tolist(), strict=True):
        columns = [(ids[c], len(chosen[c])) for c in bucket.children]
        columns.append((labels[bucket.node].astype(np.int64) + 1, bound + 1))
        numbers, one_of_each = number_rows(columns, labels.shape[1])
        ids.append(numbers)
        chosen.append(one_of_each)
    return ids, chosen


def _lay_out(
    plan: EliminationPlan,
    codes: np.ndarray,
    ids: Sequence[np.ndarray],
    chosen: Sequence[np.ndarray],
    entry_limit: int | None,
) -> list[_Layout] | None:
    """Rows and entries from the root down: only what can be reached; None past the limit."""
    count = len(chosen[-1])
    wanted = {len(plan.buckets) - 1: (np.arange(count), np.zeros(count, dtype=np.intp))}
    layouts: list[_Layout] = []
    n_entries = 0
    for b in reversed(range(len(plan.buckets))):
        bucket = plan.buckets[b]
        row_classes, row_separators = wanted.pop(b)
        met = chosen[b]
        starts, entry_rows, states, places = _lay_out_entries(
            codes[bucket.node][met], row_classes, row_separators, bucket.cardinality
        )
        child_rows = []
        for c, child_map in zip(bucket.children, bucket.child_maps, strict=True):
            classes = ids[c][met[row_classes]][entry_rows]
            size = plan.buckets[c].n_separator_states
            below, below_classes, below_separators = _demand_rows(
                classes, child_map.reshape(-1)[places], len(chosen[c]), size
            )
            child_rows.append(below)
            wanted[c] = below_classes, below_separators
        layouts.append(_Layout(starts, entry_rows, states, places, tuple(child_rows), met[row_classes]))
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
    """Weights of the entries, and logarithms of the messages D of the rows."""
    if cut is None:
        logs = bucket.log_table.reshape(-1)[layout.places]
    else:
        logs = _uncut(bucket, layout, cut)
    for c, child_rows in zip(bucket.children, layout.child_rows, strict=True):
        logs += messages[c][child_rows]
    largest = np.maximum.reduceat(logs, layout.starts[:-1])
    possible = np.isfinite(largest)
    anchor = np.where(possible, largest, 0.0)
    weights = np.exp(logs - anchor[layout.entry_rows])
    total = np.where(possible, np.add.reduceat(weights, layout.starts[:-1]), 1.0)
    weights /= total[layout.entry_rows]
    return weights, np.where(possible, np.log(total) + anchor, -np.inf)


def _uncut(bucket: Bucket, layout: _Layout, cut: np.ndarray) -> np.ndarray:
    """The logarithm of the product of the factors that are not left out, at each entry."""
    total = np.zeros(len(layout.places))
    for w, factor in bucket.log_factors:
        left_out = cut[w][layout.met]
        if not left_out.any():
            total += factor.reshape(-1)[layout.places]
        elif not left_out.all():
            total += np.where(left_out[layout.entry_rows], 0.0, factor.reshape(-1)[layout.places])
    return total


# --- terms -----------------------------------------------------------------------------------------------------------
#
#     R_b[row, term] = sum over entries (w, x) of the row:  w * g_term(x) * prod over children c of R_c[child row, term]
#
# and E[prod of g | e] = R_root. Terms that agree on everything at or below a bucket are one column of R_b, so a bucket
# costs (distinct evidence below it) x (distinct terms below it), and a bucket below which no term looks at anything
# costs nothing: its R is 1.


@dataclass(frozen=True, eq=False)
class BucketTerms:
    """The distinct terms at or below one bucket.

    Attributes
    ----------
    functions : float64 array (card, columns); (0, columns) when no term looks at the bucket's own variable
        ``g(x)`` of each column.
    child_columns : tuple of (int array (columns,) or None)
        The column of each child that each column contains; None for a child below which no term looks at anything.
    """

    functions: np.ndarray
    child_columns: tuple[np.ndarray | None, ...]

    @property
    def n_columns(self) -> int:
        return int(self.functions.shape[1])


@dataclass(frozen=True, eq=False)
class TermColumns:
    """Terms numbered per bucket; ``buckets[b]`` is None where no term looks at anything at or below ``b``.

    ``root_columns`` int (T,) has the column of each term at the root.
    """

    buckets: tuple[BucketTerms | None, ...]
    root_columns: np.ndarray


def number_terms(plan: EliminationPlan, vectors: Sequence[np.ndarray | None], terms: np.ndarray) -> TermColumns:
    """Number the terms (T, nodes) per bucket. ``vectors[v]`` is None for nodes that no term looks at. O(T nodes)."""
    columns: list[np.ndarray | None] = []
    counts: list[int] = []
    buckets: list[BucketTerms | None] = []
    for bucket in plan.buckets:
        table = vectors[bucket.node]
        keys = [(ids, counts[c]) for c in bucket.children if (ids := columns[c]) is not None]
        if table is not None:
            keys.append((terms[:, bucket.node].astype(np.int64), len(table)))
        if not keys:
            columns.append(None)
            counts.append(0)
            buckets.append(None)
            continue
        ids, chosen = number_rows(keys, len(terms))
        functions = np.empty((0, len(chosen))) if table is None else table[terms[chosen, bucket.node]].T
        below = tuple(None if (child := columns[c]) is None else child[chosen] for c in bucket.children)
        columns.append(ids)
        counts.append(len(chosen))
        buckets.append(BucketTerms(np.ascontiguousarray(functions), below))
    root_columns = columns[-1]
    return TermColumns(tuple(buckets), np.zeros(len(terms), dtype=np.intp) if root_columns is None else root_columns)


def expected_sums(circuit: Circuit, terms: TermColumns, coefficients: np.ndarray) -> np.ndarray:
    """``sum over t of coefficients[t] * E[term t | e]`` -> (E, k), without an array (E, T).

    Coefficients are added up per column of the root, and a row of the root is summed up as soon as it is there.
    """
    from shap_asv.backgrounds import kernels  # brings numba in

    root = terms.buckets[-1]
    if root is None:
        return np.tile(coefficients.sum(axis=0), (circuit.n_evidence, 1))
    columns_above = {
        c: columns
        for bucket, numbered in zip(circuit.plan.buckets, terms.buckets, strict=True)
        if numbered is not None
        for c, columns in zip(bucket.children, numbered.child_columns, strict=True)
    }
    values: dict[int, np.ndarray] = {}
    for b, (held, numbered) in enumerate(zip(circuit.buckets[:-1], terms.buckets[:-1], strict=True)):
        if numbered is not None:
            columns = columns_above[b]
            assert columns is not None
            inputs = _inputs(circuit.plan.buckets[b].children, held, values, numbered)
            values[b] = np.empty((held.n_rows, len(columns)))
            kernels.fill_rows(*inputs, columns, values[b])
    # a multiple of four, with columns that count for nothing: the kernel deals them out to four sums
    per_column = np.zeros((coefficients.shape[1], -(-root.n_columns // 4) * 4))
    np.add.at(per_column.T, terms.root_columns, coefficients)
    sums = np.empty((circuit.buckets[-1].n_rows, coefficients.shape[1]))
    inputs = _inputs(circuit.plan.buckets[-1].children, circuit.buckets[-1], values, root)
    kernels.sum_rows(*inputs, per_column, sums)
    return sums[circuit.root_rows]


def _inputs(
    children: Sequence[int], held: BucketRows, values: dict[int, np.ndarray], terms: BucketTerms
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray, np.ndarray]:
    """What a kernel needs to work through one bucket: rows, functions, and the values below, which it uses up."""
    below = [(rows, values.pop(c)) for c, rows in zip(children, held.child_rows, strict=True) if c in values]
    child_rows = np.array([rows for rows, _ in below], dtype=np.intp).reshape(len(below), held.n_entries)
    pool = [table.reshape(-1) for _, table in below]
    bases = np.cumsum([0, *map(len, pool)], dtype=np.intp)[:-1]
    flat = pool[0] if len(pool) == 1 else np.concatenate([*pool, np.empty(0)])
    return (held.starts, held.states, held.weights, child_rows), terms.functions, flat, bases


# --- draws -----------------------------------------------------------------------------------------------------------
#
# Every node has one uniform number per draw, shared by all evidence rows, and turns it into a state through the
# distribution function of its conditional. Two evidence rows that agree on a conditional get the same state from the
# same number, so differences between coalitions are estimated with far less noise than from independent draws.
#
# Forward: when every cause of an observed feature is observed (an ancestral coalition), conditioning is clamping, and
# nodes are drawn causes first from their CPTs. Backward: otherwise nodes are drawn in the reverse of the elimination
# order, each from its conditional given what was drawn before it and all evidence, which is what a circuit holds.


def distribution_function(probabilities: np.ndarray) -> np.ndarray:
    """Upper bounds of the uniform numbers of each state along the last axis; +inf from the last possible state on.

    The state of a uniform number u in [0, 1) is the number of bounds <= u. A state of probability 0 is never hit, and
    rounding in the sum cannot push a number past the last possible state.

    Examples
    --------
    >>> distribution_function(np.array([0.25, 0.0, 0.75, 0.0])).tolist()
    [0.25, 0.25, inf, inf]
    """
    bounds = np.cumsum(probabilities, axis=-1)
    possible_from = np.flip(np.logical_or.accumulate(np.flip(probabilities > 0, axis=-1), axis=-1), axis=-1)
    bounds[..., :-1][~possible_from[..., 1:]] = np.inf
    bounds[..., -1] = np.inf
    return bounds


def _states(bounds: np.ndarray, rows: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """State of each uniform number under row ``rows`` of ``bounds`` (rows, card); the last bound is never needed."""
    states = np.zeros(rows.shape, dtype=np.intp)
    for column in range(bounds.shape[1] - 1):
        states += uniforms >= bounds[:, column][rows]
    return states


def node_bounds(network: DiscreteNetwork, v: int) -> np.ndarray:
    """Distribution functions of a node given its parents, (joint states of the parents, card)."""
    return distribution_function(np.moveaxis(network.tables[v], 0, -1).reshape(-1, len(network.states[v])))


def draw_forward(
    network: DiscreteNetwork, evidence: np.ndarray, uniforms: np.ndarray, columns: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Draws under ancestral evidence (nodes, E), -1 = free -> int32 (E, D, columns).

    ``uniforms`` is (D, nodes), ``columns`` are the nodes to return, ``wanted`` bool (nodes,) these and their ancestors.
    O(E D nodes card).
    """
    draws = np.zeros((network.n_nodes, evidence.shape[1], len(uniforms)), dtype=np.int32)
    cards = network.cardinalities
    for v in np.flatnonzero(wanted):
        free = evidence[v] < 0
        draws[v, ~free] = evidence[v, ~free, None]
        if not free.any():
            continue
        rows = np.zeros((int(free.sum()), len(uniforms)), dtype=np.intp)
        for p in network.parents[v]:
            rows = rows * cards[p] + draws[p, free]
        draws[v, free] = _states(node_bounds(network, int(v)), rows, uniforms[None, :, v])
    return np.ascontiguousarray(np.moveaxis(draws[columns], 0, -1))


def draw_backward(circuit: Circuit, uniforms: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Draws under possible evidence, through its circuit -> int32 (E, D, columns). O(E D nodes card)."""
    n_evidence, n_draws = circuit.n_evidence, len(uniforms)
    draws = np.zeros((uniforms.shape[1], n_evidence, n_draws), dtype=np.int32)
    rows: list[np.ndarray | None] = [None] * len(circuit.buckets)
    rows[-1] = np.broadcast_to(circuit.root_rows[:, None], (n_evidence, n_draws))
    for b in reversed(range(len(circuit.buckets))):
        bucket, held, here = circuit.plan.buckets[b], circuit.buckets[b], rows[b]
        assert here is not None
        entries = held.starts[here] + _states(_row_bounds(held), here, uniforms[None, :, bucket.node])
        draws[bucket.node] = held.states[entries]
        for c, child_rows in zip(bucket.children, held.child_rows, strict=True):
            rows[c] = child_rows[entries]
        rows[b] = None
    return np.ascontiguousarray(np.moveaxis(draws[columns], 0, -1))


def _row_bounds(rows: BucketRows) -> np.ndarray:
    """Distribution functions of all rows as one array (rows, most entries of a row)."""
    counts = np.diff(rows.starts)
    owners = np.repeat(np.arange(rows.n_rows), counts)
    padded = np.zeros((rows.n_rows, int(counts.max())))
    padded[owners, np.arange(rows.n_entries) - rows.starts[owners]] = rows.weights
    return distribution_function(padded)
