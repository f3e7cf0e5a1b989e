"""Expectations of products of one-feature functions, run through a circuit of evidence.

    R_b[row, term] = sum over entries (w, x) of the row:  w * g_term(x) * prod over children c of R_c[child row, term]

and ``E[prod of g | e] = prod over roots of R_root``. Terms that agree on everything at or below a bucket are one
column of ``R_b``, so a bucket costs (distinct evidence below it) x (distinct terms below it), and a bucket below which
no term looks at anything costs nothing: its ``R`` is 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.circuit import BucketRows, Circuit
from shap_asv.backgrounds.elimination import EliminationPlan
from shap_asv.backgrounds.grouping import number_rows

_BLOCK = 1 << 17
"""Numbers in one temporary of the evaluation: small enough for the cache."""


@dataclass(frozen=True, eq=False)
class BucketTerms:
    """The distinct terms at or below one bucket.

    Attributes
    ----------
    functions : float64 array (columns, card), or None when no term looks at the bucket's own variable
        ``g(x)`` of each column.
    child_columns : tuple of (int array (columns,) or None)
        The column of each child that each column contains; None for a child below which no term looks at anything.
    """

    functions: np.ndarray | None
    child_columns: tuple[np.ndarray | None, ...]
    n_columns: int


@dataclass(frozen=True, eq=False)
class TermColumns:
    """Terms numbered per bucket; ``buckets[b]`` is None where no term looks at anything at or below ``b``."""

    buckets: tuple[BucketTerms | None, ...]
    root_columns: tuple[np.ndarray | None, ...]
    n_terms: int


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
        functions = None if table is None else np.ascontiguousarray(table[terms[chosen, bucket.node]])
        below = tuple(None if (child := columns[c]) is None else child[chosen] for c in bucket.children)
        columns.append(ids)
        counts.append(len(chosen))
        buckets.append(BucketTerms(functions, below, len(chosen)))
    return TermColumns(tuple(buckets), tuple(columns[root] for root in plan.roots), len(terms))


def evaluate_terms(circuit: Circuit, terms: TermColumns, out: np.ndarray, compiled: bool) -> None:
    """Fill ``out`` (E, T) with the expectation of every term under every evidence row.

    ``compiled`` changes the speed, not a bit of the result.
    """
    if compiled:
        _evaluate_compiled(circuit, terms, out)
    else:
        _evaluate_in_numpy(circuit, terms, out)


def count_products(circuit: Circuit, terms: TermColumns) -> int:
    """Multiplications that an evaluation takes."""
    return sum(
        rows.n_entries * numbered.n_columns * (1 + sum(columns is not None for columns in numbered.child_columns))
        for rows, numbered in zip(circuit.buckets, terms.buckets, strict=True)
        if numbered is not None
    )


def _evaluate_in_numpy(circuit: Circuit, terms: TermColumns, out: np.ndarray) -> None:
    """Fill ``out`` (E, T), bucket by bucket."""
    out[...] = 1.0
    results: list[np.ndarray | None] = []
    for bucket, rows, numbered in zip(circuit.plan.buckets, circuit.buckets, terms.buckets, strict=True):
        if numbered is None:
            results.append(None)
            continue
        results.append(_evaluate_bucket(rows, numbered, [results[c] for c in bucket.children]))
        for c in bucket.children:  # used up: a message has one reader
            results[c] = None
    for root, root_rows, root_columns in zip(circuit.plan.roots, circuit.root_rows, terms.root_columns, strict=True):
        values = results[root]
        if values is None or root_columns is None:
            continue
        step = max(1, _BLOCK // max(1, terms.n_terms))
        for first in range(0, len(out), step):
            out[first : first + step] *= values[root_rows[first : first + step]][:, root_columns]


def _evaluate_bucket(rows: BucketRows, terms: BucketTerms, below: list[np.ndarray | None]) -> np.ndarray:
    result = np.empty((rows.n_rows, terms.n_columns))
    by_state = None if terms.functions is None else np.ascontiguousarray(terms.functions.T)
    counts = np.diff(rows.starts)
    step = max(1, _BLOCK // (terms.n_columns * int(counts.max())))
    for first in range(0, rows.n_rows, step):
        last = min(first + step, rows.n_rows)
        entries = slice(rows.starts[first], rows.starts[last])
        if by_state is None:
            product = np.repeat(rows.weights[entries, None], terms.n_columns, axis=1)
        else:
            product = by_state[rows.states[entries]]
            product *= rows.weights[entries, None]
        for child_rows, child_columns, values in zip(rows.child_rows, terms.child_columns, below, strict=True):
            if values is not None and child_columns is not None:
                product *= values[child_rows[entries]][:, child_columns]
        # entry after entry, as the kernel does: numpy's reduceat adds up in another order, and bits would differ
        here, starts = counts[first:last], rows.starts[first:last] - rows.starts[first]
        total = product[starts]
        for k in range(1, int(here.max())):
            longer = np.flatnonzero(here > k)
            total[longer] += product[starts[longer] + k]
        result[first:last] = total
    return result


def _evaluate_compiled(circuit: Circuit, terms: TermColumns, out: np.ndarray) -> None:
    """Fill ``out`` (E, T) by the kernel of :mod:`~shap_asv.backgrounds.term_kernel`.

    Every bucket writes its values in the columns of its parent, one stretch per row, so that the parent reads them in
    sequence.
    """
    from shap_asv.backgrounds import term_kernel  # brings numba in

    plan = circuit.plan
    pools: dict[int, np.ndarray] = {}
    slots: dict[
        int, tuple[np.ndarray, np.ndarray]
    ] = {}  # bucket -> (its stretch of the parent's pool, the parent's columns)
    bases: dict[int, np.ndarray] = {}
    for b in reversed(range(len(plan.buckets))):
        numbered = terms.buckets[b]
        if numbered is None:
            continue
        looked_at = [
            (c, columns)
            for c, columns in zip(plan.buckets[b].children, numbered.child_columns, strict=True)
            if columns is not None
        ]
        sizes = [circuit.buckets[c].n_rows * numbered.n_columns for c, _ in looked_at]
        bases[b] = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp) if sizes else np.empty(0, dtype=np.intp)
        pools[b] = np.empty(sum(sizes))
        for (c, columns), base, size in zip(looked_at, bases[b], sizes, strict=True):
            slots[c] = (pools[b][base : base + size].reshape(-1, numbered.n_columns), columns)
    untouched = True
    roots = dict(zip(plan.roots, zip(circuit.root_rows, terms.root_columns, strict=True), strict=True))
    for b, (rows, numbered) in enumerate(zip(circuit.buckets, terms.buckets, strict=True)):
        if numbered is None:
            continue
        child_rows = [
            child for child, columns in zip(rows.child_rows, numbered.child_columns, strict=True) if columns is not None
        ]
        arrays = term_kernel.RowArrays(
            rows.starts,
            rows.states,
            rows.weights,
            np.array(child_rows, dtype=np.intp).reshape(len(child_rows), rows.n_entries),
        )
        if numbered.functions is None:
            functions = np.empty((0, numbered.n_columns))
        else:
            functions = np.ascontiguousarray(numbered.functions.T)
        if b not in roots:
            values, columns = slots[b]
            wanted = np.arange(rows.n_rows)
        else:
            wanted, root_columns = roots[b]
            assert root_columns is not None
            values, columns = out if untouched else np.empty(out.shape), root_columns
        term_kernel.evaluate_rows(arrays, functions, pools.pop(b), bases[b], wanted, columns, values)
        if b in roots:
            if not untouched:
                out *= values
            untouched = False
    if untouched:
        out[...] = 1.0
