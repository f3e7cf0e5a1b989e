"""Expectations of products of one-feature functions, run through a circuit of evidence.

    R_b[row, term] = sum over entries (w, x) of the row:  w * g_term(x) * prod over children c of R_c[child row, term]

and ``E[prod of g | e] = prod over roots of R_root``. Terms that agree on everything at or below a bucket are one
column of ``R_b``, so a bucket costs (distinct evidence below it) x (distinct terms below it), and a bucket below which
no term looks at anything costs nothing: its ``R`` is 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.discrete.inference.circuit import BucketRows, Circuit
from shap_asv.backgrounds.discrete.inference.elimination import EliminationPlan
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


def evaluate_terms(
    circuit: Circuit, terms: TermColumns, out: np.ndarray, compiled: bool, alive_only: bool = True
) -> None:
    """Fill ``out`` (E, T) with the expectation of every term under every evidence row.

    ``compiled`` changes the speed, not a bit of the result; nor does ``alive_only``: terms of indicators are multiplied
    out where they are not zero, which pays where few of them look at the same nodes.
    """
    if compiled:
        from shap_asv.backgrounds.discrete.inference.compiled_terms import evaluate_compiled  # brings numba in

        evaluate_compiled(circuit, terms, out, alive_only)
        return
    out[...] = 1.0
    results = _root_values(circuit, terms)
    step = max(1, _BLOCK // max(1, terms.n_terms))
    for root, root_rows, root_columns in zip(circuit.plan.roots, circuit.root_rows, terms.root_columns, strict=True):
        if root_columns is not None:
            for first in range(0, len(out), step):
                out[first : first + step] *= results[root][root_rows[first : first + step]][:, root_columns]


def expected_sums(circuit: Circuit, terms: TermColumns, coefficients: np.ndarray, compiled: bool) -> np.ndarray:
    """``sum over t of coefficients[t] * E[term t | e]`` -> (E, k), without an array (E, T).

    Where terms look at one connected part of the network only, their coefficients are added up per distinct term, and a
    row of the root is summed up as soon as it is there. ``compiled`` changes the speed, not a bit of the result.
    """
    looked_at = [i for i, columns in enumerate(terms.root_columns) if columns is not None]
    if not looked_at:
        return np.tile(coefficients.sum(axis=0), (circuit.n_evidence, 1))
    if len(looked_at) > 1:
        distinct, ids = circuit.distinct()
        values = np.empty((distinct.n_evidence, terms.n_terms))
        evaluate_terms(distinct, terms, values, compiled, alive_only=False)
        return ordered_product(values, coefficients)[ids]
    root, root_columns = circuit.plan.roots[looked_at[0]], terms.root_columns[looked_at[0]]
    numbered = terms.buckets[root]
    assert root_columns is not None
    assert numbered is not None
    per_column = np.zeros((numbered.n_columns, coefficients.shape[1]))
    np.add.at(per_column, root_columns, coefficients)
    if compiled:
        from shap_asv.backgrounds.discrete.inference.compiled_terms import sums_compiled  # brings numba in

        sums = sums_compiled(circuit, terms, root, per_column)
    else:
        sums = ordered_product(_root_values(circuit, terms)[root], per_column)
    return sums[circuit.root_rows[looked_at[0]]]


def ordered_product(values: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """``values @ coefficients`` in an order of additions that is always the same: (R, C) and (C, k) -> (R, k).

    Columns are dealt out to four sums, as the kernel does; a library's product adds up in an order that depends on
    shapes and on the number of threads.
    """
    n_columns, k = coefficients.shape
    padded = np.zeros((4 * max(1, -(-n_columns // 4)), k))
    padded[:n_columns] = coefficients
    result = np.empty((len(values), k))
    step = max(1, _BLOCK // (len(padded) * max(1, k)))
    products = np.zeros((min(step, len(values)), len(padded), k))
    for first in range(0, len(values), step):
        here = values[first : first + step]
        part = products[: len(here)]
        np.multiply(here[:, :, None], coefficients, out=part[:, :n_columns])
        four = np.add.accumulate(part.reshape(len(here), -1, 4, k), axis=1)[:, -1]
        result[first : first + step] = (four[:, 0] + four[:, 1]) + (four[:, 2] + four[:, 3])
    return result


def count_products(circuit: Circuit, terms: TermColumns) -> int:
    """Multiplications that an evaluation takes."""
    return sum(
        rows.n_entries * numbered.n_columns * (1 + sum(columns is not None for columns in numbered.child_columns))
        for rows, numbered in zip(circuit.buckets, terms.buckets, strict=True)
        if numbered is not None
    )


def _root_values(circuit: Circuit, terms: TermColumns) -> dict[int, np.ndarray]:
    """``R`` of the roots, bucket by bucket in numpy."""
    results: dict[int, np.ndarray] = {}
    for b, (bucket, numbered) in enumerate(zip(circuit.plan.buckets, terms.buckets, strict=True)):
        if numbered is not None:
            # a message has one reader: it is used up here
            results[b] = _evaluate_bucket(circuit.buckets[b], numbered, [results.pop(c, None) for c in bucket.children])
    return results


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
