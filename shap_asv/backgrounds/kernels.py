"""The compiled loops of networks and donors. Importing them brings numba in."""

from collections import namedtuple

import numpy as np

from shap_asv.kernels import kernel

# --- terms through a circuit (discrete/circuit.py) -----------------------------------------------------------------
#
# ``rows`` are (starts, states, weights, child_rows) of one bucket: row r has the entries ``starts[r] : starts[r + 1]``,
# each with a state, a weight and its row in each child, ``child_rows`` (children, entries). ``functions`` is (card, T),
# or (0, T) where no term looks at the variable. Values of child c start at ``pool[bases[c]]``, a stretch of T for each
# row.


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


# --- donors picked by the leaves that hold them (donors/leaf_weights.py) --------------------------------------------

# The leaves of all trees, see leaf_weights: leaf l holds the places members[first[l]:first[l + 1]].
FlatLeaves = namedtuple("FlatLeaves", "first members shares")


@kernel
def pick_places(leaves, own, uniforms, n_places):  # type: ignore[no-untyped-def]
    """Places (m, d) where cumulated weights pass the uniforms (m, d); leaves of the points ``own`` (m, trees).

    A place has of each tree with it in the leaf of the point ``share / size of the leaf``. O(m (places + sizes + d)).
    """
    picked = np.empty(uniforms.shape, dtype=np.int64)
    bounds = np.empty(n_places)
    for point in range(len(own)):
        bounds[:] = 0.0
        for t in range(own.shape[1]):
            begin, end = leaves.first[own[point, t]], leaves.first[own[point, t] + 1]
            each = leaves.shares[t] / (end - begin)
            for k in range(begin, end):
                bounds[leaves.members[k]] += each
        for place in range(1, n_places):
            bounds[place] += bounds[place - 1]
        for d in range(uniforms.shape[1]):
            # the last bound may miss one by rounding, and a place without weight is never picked
            target = uniforms[point, d] * bounds[n_places - 1]
            low, high = 0, n_places - 1
            while low < high:
                middle = (low + high) // 2
                if bounds[middle] > target:
                    high = middle
                else:
                    low = middle + 1
            picked[point, d] = low
    return picked
