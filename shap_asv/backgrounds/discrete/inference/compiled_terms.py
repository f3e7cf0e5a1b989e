"""Terms run through a circuit by kernels (:mod:`~shap_asv.backgrounds.discrete.kernels`).

Every bucket writes its values in the columns of its parent, one stretch per row, so that the parent reads them in
sequence and the innermost loop is a product of two stretches.

Terms that are products of indicators, such as the leaves of trees, are multiplied out where they are alive. A row of a
bucket knows the evidence below it and the state of its separator. Most leaves of a tree are dead in it: a state that is
known does not pass one of their tests. Which terms a row lets pass is a word of bits for every 64 terms,

    alive(row) = and over separator variables of pass(state)  and  or over entries of (pass(x) and alive(child rows))

and only these terms are multiplied out. What is left out is zero, or is multiplied by zero further up, so that no bit
of a result differs.

Import this module only when it pays: it brings numba in.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.backgrounds.discrete import kernels
from shap_asv.backgrounds.discrete.inference.circuit import Circuit
from shap_asv.backgrounds.discrete.inference.terms import BucketTerms, TermColumns
from shap_asv.backgrounds.discrete.kernels import LiveBucket


class _Inputs(NamedTuple):
    """What a kernel needs to work through one bucket."""

    rows: kernels.RowArrays
    functions: np.ndarray
    pool: np.ndarray
    bases: np.ndarray


def evaluate_compiled(circuit: Circuit, terms: TermColumns, out: np.ndarray, alive_only: bool = True) -> None:
    """Fill ``out`` (E, T) with the expectation of every term under every evidence row."""
    if alive_only and only_indicators(terms):
        evaluate_indicators(circuit, terms, out)
        return
    inputs = _evaluate_below_the_roots(circuit, terms)
    untouched = True
    for root, root_rows, root_columns in zip(circuit.plan.roots, circuit.root_rows, terms.root_columns, strict=True):
        if root_columns is None:
            continue
        values = out if untouched else np.empty(out.shape)
        kernels.evaluate_rows(*inputs[root], root_rows, root_columns, values)
        if not untouched:
            out *= values
        untouched = False
    if untouched:
        out[...] = 1.0


def sums_compiled(circuit: Circuit, terms: TermColumns, root: int, coefficients: np.ndarray) -> np.ndarray:
    """``R_root @ coefficients`` -> (rows of the root, k); ``coefficients`` is (columns of the root, k)."""
    out = np.empty((circuit.buckets[root].n_rows, coefficients.shape[1]))
    kernels.sum_rows(*_evaluate_below_the_roots(circuit, terms)[root], np.ascontiguousarray(coefficients.T), out)
    return out


def _evaluate_below_the_roots(circuit: Circuit, terms: TermColumns) -> dict[int, _Inputs]:
    """Work through all buckets but the roots, and return the inputs of the roots."""
    inputs: dict[int, _Inputs] = {}
    outputs: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # a stretch of the parent's pool, and the parent's columns
    for b in reversed(range(len(circuit.buckets))):
        numbered = terms.buckets[b]
        if numbered is not None:
            inputs[b] = _prepare(circuit, b, numbered, outputs)
    for b in sorted(outputs):
        values, columns = outputs.pop(b)
        kernels.evaluate_rows(*inputs.pop(b), np.arange(len(values)), columns, values)
    return inputs


def _prepare(
    circuit: Circuit, b: int, terms: BucketTerms, outputs: dict[int, tuple[np.ndarray, np.ndarray]]
) -> _Inputs:
    """Inputs of bucket b; its children are told where to write."""
    held = circuit.buckets[b]
    pool_size = 0
    bases, child_rows, places = [], [], []
    for c, columns, rows in zip(circuit.plan.buckets[b].children, terms.child_columns, held.child_rows, strict=True):
        if columns is not None:
            bases.append(pool_size)
            child_rows.append(rows)
            places.append((c, columns))
            pool_size += circuit.buckets[c].n_rows * terms.n_columns
    pool = np.empty(pool_size)
    for (c, columns), base in zip(places, bases, strict=True):
        size = circuit.buckets[c].n_rows * terms.n_columns
        outputs[c] = pool[base : base + size].reshape(-1, terms.n_columns), columns
    stacked = np.array(child_rows, dtype=np.intp).reshape(len(child_rows), held.n_entries)
    arrays = kernels.RowArrays(held.starts, held.states, held.weights, stacked)
    functions = np.empty((0, terms.n_columns)) if terms.functions is None else np.ascontiguousarray(terms.functions.T)
    return _Inputs(arrays, functions, pool, np.array(bases, dtype=np.intp))


def only_indicators(terms: TermColumns) -> bool:
    """Whether every function that a term looks at is 0 or 1."""
    return all(
        bucket is None or bucket.functions is None or bool(((bucket.functions == 0) | (bucket.functions == 1)).all())
        for bucket in terms.buckets
    )


def evaluate_indicators(circuit: Circuit, terms: TermColumns, out: np.ndarray) -> None:
    """Fill ``out`` (E, T) with the expectation of every term under every evidence row.

    Up for what is alive, down for what is wanted of it, and up again with the numbers.
    """
    gates, offsets = _find_gates(circuit, terms)
    buckets = _list_buckets(circuit, terms, offsets)
    size = sum(len(bucket.starts) - 1 for bucket in buckets.values())
    alive = np.empty((size, gates.shape[1]), dtype=np.uint64)
    for bucket in buckets.values():
        kernels.find_alive(bucket, gates, alive)
    at_roots = zip(circuit.plan.roots, circuit.root_rows, strict=True)
    roots = [buckets[b].first + rows for b, rows in at_roots if b in buckets]
    asked = np.repeat(gates[:1], len(out), axis=0)
    for rows in roots:
        asked &= alive[rows]
    wanted = np.zeros_like(alive)
    for rows in roots:
        np.bitwise_or.at(wanted, rows, asked)
    for bucket in reversed(buckets.values()):
        kernels.demand_alive(bucket, gates, alive, wanted)
    places = np.empty(wanted.shape, dtype=np.uint64)
    values = np.zeros(int(kernels.count_wanted(wanted, places)))
    for bucket in buckets.values():
        kernels.evaluate_alive(bucket, gates, alive, wanted, places, values)
    out[...] = np.unpackbits(asked.view(np.uint8), axis=1, count=terms.n_terms, bitorder="little")
    for rows in roots:
        kernels.multiply_alive(rows, asked, wanted, places, values, out)


def _list_buckets(circuit: Circuit, terms: TermColumns, offsets: dict[int, int]) -> dict[int, LiveBucket]:
    """The buckets at or below which a term looks at something, children first."""
    plan = circuit.plan
    cards = {bucket.node: bucket.cardinality for bucket in plan.buckets}
    buckets: dict[int, LiveBucket] = {}
    first = 0
    for b, (bucket, held) in enumerate(zip(plan.buckets, circuit.buckets, strict=True)):
        if terms.buckets[b] is None:
            continue
        number, of_separator = held.separators, []
        for u in reversed(bucket.separator):
            if u in offsets:
                of_separator.append(offsets[u] + number % cards[u])
            number = number // cards[u]
        children = zip(bucket.children, held.child_rows, strict=True)
        below = [buckets[c].first + rows for c, rows in children if c in buckets]
        own = offsets[bucket.node] + held.states if bucket.node in offsets else np.zeros(held.n_entries)
        buckets[b] = LiveBucket(
            first,
            held.starts,
            held.weights,
            own.astype(np.uint64),
            np.array(below, dtype=np.uint64).reshape(len(below), held.n_entries),
            np.array(of_separator, dtype=np.uint64).reshape(len(of_separator), held.n_rows),
        )
        first += held.n_rows
    return buckets


def _find_gates(circuit: Circuit, terms: TermColumns) -> tuple[np.ndarray, dict[int, int]]:
    """The terms that each state of each node lets pass, as bits (states, words), and where the states of a node start.

    Row 0 lets all pass; nodes that no term looks at have no rows.
    """
    plan = circuit.plan
    columns: dict[int, np.ndarray] = {}
    for root, root_columns in zip(plan.roots, terms.root_columns, strict=True):
        if root_columns is not None:
            columns[root] = root_columns
    passes, offsets, size = [np.ones((1, terms.n_terms), dtype=bool)], {}, 1
    for b in reversed(range(len(plan.buckets))):
        numbered = terms.buckets[b]
        if numbered is None:
            continue
        for c, below in zip(plan.buckets[b].children, numbered.child_columns, strict=True):
            if below is not None:
                columns[c] = below[columns[b]]
        if numbered.functions is not None:
            offsets[plan.buckets[b].node] = size
            passes.append((numbered.functions[columns[b]] != 0).T)
            size += passes[-1].shape[0]
    packed = np.packbits(np.concatenate(passes), axis=1, bitorder="little")
    words = np.zeros((size, -(-terms.n_terms // 64) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view("<u8").astype(np.uint64), offsets
