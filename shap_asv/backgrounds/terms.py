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


def evaluate_terms(circuit: Circuit, terms: TermColumns, out: np.ndarray) -> None:
    """Fill ``out`` (E, T) with the expectation of every term under every evidence row."""
    results: list[np.ndarray | None] = []
    for bucket, rows, numbered in zip(circuit.plan.buckets, circuit.buckets, terms.buckets, strict=True):
        if numbered is None:
            results.append(None)
            continue
        results.append(_evaluate_bucket(rows, numbered, [results[c] for c in bucket.children]))
        for c in bucket.children:  # used up: a message has one reader
            results[c] = None
    out[...] = 1.0
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
    largest = max(1, int(np.diff(rows.starts).max()))
    step = max(1, _BLOCK // (terms.n_columns * largest))
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
        result[first:last] = np.add.reduceat(product, rows.starts[first:last] - rows.starts[first], axis=0)
    return result


def columns_in_all(terms: TermColumns, circuit: Circuit) -> int:
    """Numbers in all ``R`` together: what :func:`evaluate_terms` may hold at once in the worst case."""
    return sum(
        rows.n_rows * numbered.n_columns
        for rows, numbered in zip(circuit.buckets, terms.buckets, strict=True)
        if numbered is not None
    )
