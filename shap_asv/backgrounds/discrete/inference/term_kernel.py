"""The compiled inner loop of ``terms``, for batches large enough to wait for a compiler.

Import this module only when it pays: it brings numba in. It does the same operations in the same order as the numpy
version, so that both give the same bits.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import kernel


class RowArrays(NamedTuple):
    """Rows of one bucket: row r has entries ``starts[r] : starts[r + 1]``; ``child_rows`` is (children, entries)."""

    starts: np.ndarray
    states: np.ndarray
    weights: np.ndarray
    child_rows: np.ndarray


@kernel
def evaluate_row(
    rows: RowArrays,
    functions: np.ndarray,
    pool: np.ndarray,
    bases: np.ndarray,
    row: int,
    product: np.ndarray,
    total: np.ndarray,
) -> None:
    """``total[t] = sum over entries of w * g_t(x) * prod of child values`` for one row; ``product`` is scratch.

    ``functions`` is (card, T), or (0, T) where no term looks at the variable. Values of child c start at
    ``pool[bases[c]]``, one stretch of T per row, already in the columns of this bucket.
    """
    n_columns = functions.shape[1]
    total[:] = 0.0
    for entry in range(rows.starts[row], rows.starts[row + 1]):
        weight = rows.weights[entry]
        if weight == 0.0:
            continue
        if functions.shape[0] > 0:
            values = functions[rows.states[entry]]
            for t in range(n_columns):
                product[t] = values[t] * weight
        else:
            product[:] = weight
        for c in range(len(bases)):
            first = bases[c] + rows.child_rows[c, entry] * n_columns
            below = pool[first : first + n_columns]
            for t in range(n_columns):
                product[t] *= below[t]
        for t in range(n_columns):
            total[t] += product[t]


@kernel
def evaluate_rows(
    rows: RowArrays,
    functions: np.ndarray,
    pool: np.ndarray,
    bases: np.ndarray,
    wanted: np.ndarray,
    columns: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out[i, j] = R[wanted[i], columns[j]]``."""
    product, total = np.empty(functions.shape[1]), np.empty(functions.shape[1])
    for i in range(len(wanted)):
        evaluate_row(rows, functions, pool, bases, wanted[i], product, total)
        for j in range(len(columns)):
            out[i, j] = total[columns[j]]


@kernel
def sum_rows(
    rows: RowArrays,
    functions: np.ndarray,
    pool: np.ndarray,
    bases: np.ndarray,
    coefficients: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out[row, k] = sum over t of R[row, t] * coefficients[k, t]``, columns dealt out to four sums."""
    n_columns = functions.shape[1]
    product, total = np.empty(n_columns), np.empty(n_columns)
    whole = n_columns - n_columns % 4
    for row in range(len(out)):
        evaluate_row(rows, functions, pool, bases, row, product, total)
        for k in range(len(coefficients)):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for t in range(0, whole, 4):
                a += total[t] * coefficients[k, t]
                b += total[t + 1] * coefficients[k, t + 1]
                c += total[t + 2] * coefficients[k, t + 2]
                d += total[t + 3] * coefficients[k, t + 3]
            if whole < n_columns:
                a += total[whole] * coefficients[k, whole]
            if whole + 1 < n_columns:
                b += total[whole + 1] * coefficients[k, whole + 1]
            if whole + 2 < n_columns:
                c += total[whole + 2] * coefficients[k, whole + 2]
            out[row, k] = (a + b) + (c + d)
