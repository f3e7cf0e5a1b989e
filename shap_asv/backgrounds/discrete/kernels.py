"""The compiled loops behind :mod:`~shap_asv.backgrounds.discrete.terms`. Importing them brings numba in.

``rows`` are (starts, states, weights, child_rows) of one bucket: row r has the entries ``starts[r] : starts[r + 1]``,
each with a state, a weight and its row in each child, ``child_rows`` (children, entries). ``functions`` is (card, T),
or (0, T) where no term looks at the variable. Values of child c start at ``pool[bases[c]]``, a stretch of T for each
row.
"""

import numpy as np

from shap_asv.kernels import kernel


@kernel
def _evaluate_row(rows, functions, pool, bases, row, product, total):  # type: ignore[no-untyped-def]
    """``total[t] = sum over entries of w * g_t(x) * prod of child values`` for one row; ``product`` is scratch."""
    starts, states, weights, child_rows = rows
    n_columns = functions.shape[1]
    total[:] = 0.0
    for entry in range(starts[row], starts[row + 1]):
        weight = weights[entry]
        if weight == 0.0:
            continue
        if functions.shape[0] > 0:
            values = functions[states[entry]]
            for t in range(n_columns):
                product[t] = values[t] * weight
        else:
            product[:] = weight
        for c in range(len(bases)):
            first = bases[c] + child_rows[c, entry] * n_columns
            below = pool[first : first + n_columns]
            for t in range(n_columns):
                product[t] *= below[t]
        for t in range(n_columns):
            total[t] += product[t]


@kernel
def fill_rows(rows, functions, pool, bases, columns, out):  # type: ignore[no-untyped-def]
    """``out[row, j] = R[row, columns[j]]``."""
    product, total = np.empty(functions.shape[1]), np.empty(functions.shape[1])
    for row in range(len(out)):
        _evaluate_row(rows, functions, pool, bases, row, product, total)
        for j in range(len(columns)):
            out[row, j] = total[columns[j]]


@kernel
def sum_rows(rows, functions, pool, bases, coefficients, out):  # type: ignore[no-untyped-def]
    """``out[row, k] = sum over t of R[row, t] * coefficients[k, t]``; ``coefficients`` has a multiple of 4 columns."""
    product, total = np.empty(functions.shape[1]), np.empty(coefficients.shape[1])
    for row in range(len(out)):
        _evaluate_row(rows, functions, pool, bases, row, product, total)
        for k in range(len(coefficients)):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for t in range(0, len(total), 4):
                a += total[t] * coefficients[k, t]
                b += total[t + 1] * coefficients[k, t + 1]
                c += total[t + 2] * coefficients[k, t + 2]
                d += total[t + 3] * coefficients[k, t + 3]
            out[row, k] = (a + b) + (c + d)
