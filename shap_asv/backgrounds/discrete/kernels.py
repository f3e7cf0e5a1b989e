"""The compiled loops of inference and of draws. Importing them brings numba in: only when it pays.

Terms: the same operations in the same order as in numpy (:mod:`~shap_asv.backgrounds.discrete.inference.terms`), so
that both give the same bits. Terms of indicators: the same where they are alive
(:mod:`~shap_asv.backgrounds.discrete.inference.compiled_terms`). Draws: one at a time, straight into the features'
columns; both versions compare the same uniform numbers with the same bounds, so they draw the same states.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import count_bits, kernel


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


class LiveBucket(NamedTuple):
    """One bucket: row r has entries ``starts[r] : starts[r + 1]``, each with a weight, a gate, and a row of each child.

    Attributes
    ----------
    first : int
        Its first row among the rows of all buckets.
    starts : int array (rows + 1,)
    weights : float64 array (entries,)
    gates : uint64 array (entries,)
        The row of the gates that the entry's state opens; row 0 is open for all.
    child_rows : uint64 array (children, entries)
        Among the rows of all buckets.
    separator_gates : uint64 array (separator variables, rows)
        The rows of the gates that the states of a row's separator open.
    """

    first: int
    starts: np.ndarray
    weights: np.ndarray
    gates: np.ndarray
    child_rows: np.ndarray
    separator_gates: np.ndarray


@kernel
def find_alive(bucket, gates, alive):  # type: ignore[no-untyped-def]
    """Which terms may be other than zero in each row of a bucket, into ``alive`` (rows of all buckets, words)."""
    for row in range(len(bucket.starts) - 1):
        for w in range(gates.shape[1]):
            met = np.uint64(0)
            for entry in range(bucket.starts[row], bucket.starts[row + 1]):
                if bucket.weights[entry] != 0.0:
                    word = gates[bucket.gates[entry], w]
                    for c in range(len(bucket.child_rows)):
                        word &= alive[bucket.child_rows[c, entry], w]
                    met |= word
            for u in range(len(bucket.separator_gates)):
                met &= gates[bucket.separator_gates[u, row], w]
            alive[bucket.first + row, w] = met


@kernel
def demand_alive(bucket, gates, alive, wanted):  # type: ignore[no-untyped-def]
    """Which terms the ``wanted`` ones of a bucket's rows read in the rows of its children; both (rows, words)."""
    if len(bucket.child_rows) == 0:
        return
    for row in range(len(bucket.starts) - 1):
        for w in range(gates.shape[1]):
            asked = wanted[bucket.first + row, w]
            if asked == 0:
                continue
            for entry in range(bucket.starts[row], bucket.starts[row + 1]):
                if bucket.weights[entry] != 0.0:
                    word = asked & gates[bucket.gates[entry], w]
                    for c in range(len(bucket.child_rows)):
                        word &= alive[bucket.child_rows[c, entry], w]
                    for c in range(len(bucket.child_rows)):
                        wanted[bucket.child_rows[c, entry], w] |= word


@kernel
def count_wanted(wanted, places):  # type: ignore[no-untyped-def]
    """Where the values of each word start (rows, words); returns how many values there are."""
    size = np.uint64(0)
    for row in range(wanted.shape[0]):
        for w in range(wanted.shape[1]):
            places[row, w] = size
            size += count_bits(wanted[row, w])
    return size


@kernel
def evaluate_alive(bucket, gates, alive, wanted, places, values):  # type: ignore[no-untyped-def]
    """``sum over entries of w * prod of child values`` for the ``wanted`` terms of every row, into ``values``, which is
    zero there: the values of word w of a row stand at ``places[row, w]``, one for each bit.
    """
    n_children = len(bucket.child_rows)
    one = np.uint64(1)
    for row in range(len(bucket.starts) - 1):
        for w in range(gates.shape[1]):
            asked = wanted[bucket.first + row, w]
            if asked == 0:
                continue
            place = places[bucket.first + row, w]
            for entry in range(bucket.starts[row], bucket.starts[row + 1]):
                weight = bucket.weights[entry]
                if weight == 0.0:
                    continue
                word = asked & gates[bucket.gates[entry], w]
                for c in range(n_children):
                    word &= alive[bucket.child_rows[c, entry], w]
                if n_children == 1:
                    child = bucket.child_rows[0, entry]
                    below, start = wanted[child, w], places[child, w]
                    if word == asked and below == word:
                        for j in range(np.uint64(0), count_bits(word)):
                            values[place + j] += weight * values[start + j]
                        continue
                    while word:
                        lower = (word & (~word + one)) - one
                        word &= word - one
                        values[place + count_bits(asked & lower)] += weight * values[start + count_bits(below & lower)]
                    continue
                while word:
                    lower = (word & (~word + one)) - one
                    word &= word - one
                    product = weight
                    for c in range(n_children):
                        child = bucket.child_rows[c, entry]
                        product *= values[places[child, w] + count_bits(wanted[child, w] & lower)]
                    values[place + count_bits(asked & lower)] += product


@kernel
def multiply_alive(rows, asked, wanted, places, values, out):  # type: ignore[no-untyped-def]
    """``out[i, t] *= value of t in rows[i]`` where it is ``asked`` for (E, words)."""
    one = np.uint64(1)
    for i in range(len(rows)):
        for w in range(asked.shape[1]):
            word, held, place = asked[i, w], wanted[rows[i], w], places[rows[i], w]
            while word:
                lower = (word & (~word + one)) - one
                word &= word - one
                out[i, np.uint64(64 * w) + count_bits(lower)] *= values[place + count_bits(held & lower)]


class ForwardArrays(NamedTuple):
    """Nodes in topological order with their distribution functions, flat.

    The bounds of node ``nodes[i]`` given parent state s are ``bounds[first_bounds[i] + s * cards[i] :][: cards[i]]``;
    its parents are
    ``parents[first_parents[i] : first_parents[i + 1]]``, each multiplied by its stride.
    """

    nodes: np.ndarray
    cards: np.ndarray
    first_bounds: np.ndarray
    first_parents: np.ndarray
    parents: np.ndarray
    strides: np.ndarray
    bounds: np.ndarray


class CircuitArrays(NamedTuple):
    """The rows of all buckets, roots first, flat.

    Rows are numbered over all buckets. Row r has entries ``starts[r] : starts[r + 1]``, each with a state, a bound
    and, per child
    of its bucket, a row: children of bucket i are ``children[first_children[i] : first_children[i + 1]]``, and the row
    of the j-th in entry k is ``child_rows[first_rows[i] + j * n_entries(i) + k - first entry(i)]``.
    """

    nodes: np.ndarray
    first_entries: np.ndarray
    first_children: np.ndarray
    children: np.ndarray
    first_rows: np.ndarray
    starts: np.ndarray
    states: np.ndarray
    bounds: np.ndarray
    child_rows: np.ndarray


@kernel
def draw_forward(
    arrays: ForwardArrays, evidence: np.ndarray, uniforms: np.ndarray, columns: np.ndarray, out: np.ndarray
) -> None:
    """``out[e, d, j]`` = state of node ``columns[j]`` in draw d under ancestral evidence e, (E, nodes)."""
    values = np.zeros(evidence.shape[1], dtype=np.int64)
    for e in range(len(evidence)):
        for d in range(len(uniforms)):
            for i in range(len(arrays.nodes)):
                v = arrays.nodes[i]
                state = np.int64(evidence[e, v])
                if state < 0:
                    row = 0
                    for k in range(arrays.first_parents[i], arrays.first_parents[i + 1]):
                        row += values[arrays.parents[k]] * arrays.strides[k]
                    first = arrays.first_bounds[i] + row * arrays.cards[i]
                    state = np.int64(0)
                    for k in range(first, first + arrays.cards[i] - 1):  # all of them: no branch to mispredict
                        state += uniforms[d, v] >= arrays.bounds[k]
                values[v] = state
            for j in range(len(columns)):
                out[e, d, j] = values[columns[j]]


@kernel
def draw_backward(
    arrays: CircuitArrays, root_rows: np.ndarray, uniforms: np.ndarray, columns: np.ndarray, out: np.ndarray
) -> None:
    """``out[e, d, j]`` = state of node ``columns[j]`` in draw d; ``root_rows`` is (buckets, E), -1 for all others."""
    rows = np.zeros(len(arrays.nodes), dtype=np.int64)
    values = np.zeros(uniforms.shape[1], dtype=np.int64)
    for e in range(root_rows.shape[1]):
        for d in range(len(uniforms)):
            for i in range(len(arrays.nodes)):
                row = rows[i] if root_rows[i, e] < 0 else root_rows[i, e]
                entry = arrays.starts[row]
                for k in range(arrays.starts[row], arrays.starts[row + 1] - 1):
                    entry += uniforms[d, arrays.nodes[i]] >= arrays.bounds[k]
                values[arrays.nodes[i]] = arrays.states[entry]
                place = arrays.first_rows[i] + entry - arrays.first_entries[i]
                for k in range(arrays.first_children[i], arrays.first_children[i + 1]):
                    rows[arrays.children[k]] = arrays.child_rows[place]
                    place += arrays.first_entries[i + 1] - arrays.first_entries[i]
            for j in range(len(columns)):
                out[e, d, j] = values[columns[j]]
