"""Expectations of products of one-feature functions, run through a circuit of evidence and added up.

    R_b[row, term] = sum over entries (w, x) of the row:  w * g_term(x) * prod over children c of R_c[child row, term]

and ``E[prod of g | e] = R_root``. Terms that agree on everything at or below a bucket are one column of ``R_b``, so a
bucket costs (distinct evidence below it) x (distinct terms below it), and a bucket below which no term looks at
anything costs nothing: its ``R`` is 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.discrete.circuit import BucketRows, Circuit
from shap_asv.backgrounds.discrete.elimination import EliminationPlan
from shap_asv.backgrounds.grouping import number_rows


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
    from shap_asv.backgrounds.discrete import kernels  # brings numba in

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
