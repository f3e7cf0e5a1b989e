"""The compiled loops of :mod:`~shap_asv.backgrounds.discrete.inference.live_terms`. Importing them brings numba in."""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import count_bits, kernel


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
