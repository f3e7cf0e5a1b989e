"""Terms run through a circuit by the kernels of :mod:`~shap_asv.backgrounds.discrete.inference.term_kernel`.

Every bucket writes its values in the columns of its parent, one stretch per row, so that the parent reads them in
sequence and the innermost loop is a product of two stretches.

Import this module only when it pays: it brings numba in.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.backgrounds.discrete.inference import term_kernel
from shap_asv.backgrounds.discrete.inference.circuit import Circuit
from shap_asv.backgrounds.discrete.inference.live_terms import evaluate_indicators, only_indicators
from shap_asv.backgrounds.discrete.inference.terms import BucketTerms, TermColumns


class _Inputs(NamedTuple):
    """What a kernel needs to work through one bucket."""

    rows: term_kernel.RowArrays
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
        term_kernel.evaluate_rows(*inputs[root], root_rows, root_columns, values)
        if not untouched:
            out *= values
        untouched = False
    if untouched:
        out[...] = 1.0


def sums_compiled(circuit: Circuit, terms: TermColumns, root: int, coefficients: np.ndarray) -> np.ndarray:
    """``R_root @ coefficients`` -> (rows of the root, k); ``coefficients`` is (columns of the root, k)."""
    out = np.empty((circuit.buckets[root].n_rows, coefficients.shape[1]))
    term_kernel.sum_rows(*_evaluate_below_the_roots(circuit, terms)[root], np.ascontiguousarray(coefficients.T), out)
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
        term_kernel.evaluate_rows(*inputs.pop(b), np.arange(len(values)), columns, values)
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
    arrays = term_kernel.RowArrays(held.starts, held.states, held.weights, stacked)
    functions = np.empty((0, terms.n_columns)) if terms.functions is None else np.ascontiguousarray(terms.functions.T)
    return _Inputs(arrays, functions, pool, np.array(bases, dtype=np.intp))
