"""The compiled inner loop of :mod:`~shap_asv.backgrounds.terms`, for batches large enough to wait for a compiler.

Import this module only when it pays: it brings numba in. It does the same operations in the same order as the numpy
version, so that both give the same bits.
"""

from typing import NamedTuple

import numba
import numpy as np


class RowArrays(NamedTuple):
    """Rows of one bucket: row r has entries ``starts[r] : starts[r + 1]``; ``child_rows`` is (children, entries)."""

    starts: np.ndarray
    states: np.ndarray
    weights: np.ndarray
    child_rows: np.ndarray


@numba.njit(nogil=True, cache=True)
def evaluate_rows(
    rows: RowArrays,
    functions: np.ndarray,
    pool: np.ndarray,
    bases: np.ndarray,
    wanted: np.ndarray,
    columns: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out[i, j] = R[wanted[i], columns[j]]`` with ``R[row, t] = sum over entries of w * g_t(x) * prod of child
    values``.

    ``functions`` is (card, T), or (0, T) where no term looks at the variable. Values of child c start at
    ``pool[bases[c]]``, one stretch of T per row, already in the columns of this bucket.
    """
    n_columns = functions.shape[1]
    has_functions = functions.shape[0] > 0
    product = np.empty(n_columns)
    total = np.empty(n_columns)
    for i in range(len(wanted)):
        row = wanted[i]
        total[:] = 0.0
        for entry in range(rows.starts[row], rows.starts[row + 1]):
            weight = rows.weights[entry]
            if weight == 0.0:
                continue
            if has_functions:
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
        for j in range(len(columns)):
            out[i, j] = total[columns[j]]
