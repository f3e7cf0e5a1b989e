"""Compiled integer work of ``circuit``: numbering distinct evidence, laying out rows and
entries.

Import this module only when it pays: it brings numba in. There is no floating point here, so compiled and plain
versions cannot differ in a bit; distinct keys are numbered in the order in which they are met.
"""

import numpy as np

from shap_asv.kernels import kernel


@kernel
def number_keys(keys: np.ndarray, bound: int, ids: np.ndarray, chosen: np.ndarray) -> int:
    """Number the distinct ``keys`` (all in ``range(bound)``) into ``ids``; ``chosen[i]`` is the place where number i
    was met first.

    Returns how many there are. Through a table where the range is small, through open hashing otherwise.
    """
    count = 0
    if bound <= 4 * len(keys) + 1024:
        number = np.full(bound, -1, dtype=np.int32)
        for i in range(len(keys)):
            if number[keys[i]] < 0:
                number[keys[i]] = count
                chosen[count] = i
                count += 1
            ids[i] = number[keys[i]]
        return count
    bits = 6
    while (1 << bits) < 2 * len(keys):
        bits += 1
    mask = (1 << bits) - 1
    slots = np.full(1 << bits, -1, dtype=np.int32)
    for i in range(len(keys)):
        # Fibonacci hashing: the high bits of a product with 2^64 / golden ratio
        place = np.int64((np.uint64(keys[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
        while slots[place] >= 0 and keys[chosen[slots[place]]] != keys[i]:
            place = (place + 1) & mask
        if slots[place] < 0:
            slots[place] = count
            chosen[count] = i
            count += 1
        ids[i] = slots[place]
    return count


@kernel
def number_evidence(
    labels: np.ndarray, nodes: np.ndarray, bounds: np.ndarray, child_starts: np.ndarray, children: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the evidence at or below every bucket.

    ``labels`` is (nodes, E), those of bucket b in ``-1 .. bounds[b] - 1``. Returns ``ids`` (buckets, E), ``chosen``
    (buckets, E), of which ``counts[b]`` are in use, and ``counts``.
    """
    n_evidence = labels.shape[1]
    ids = np.empty((len(nodes), n_evidence), dtype=np.int32)
    chosen = np.empty((len(nodes), n_evidence), dtype=np.int32)
    counts = np.empty(len(nodes), dtype=np.int64)
    keys = np.empty(n_evidence, dtype=np.int64)
    for b in range(len(nodes)):
        column = labels[nodes[b]]
        bound = bounds[b] + 1
        for i in range(n_evidence):
            keys[i] = column[i] + 1
        for child in range(child_starts[b], child_starts[b + 1]):
            c = children[child]
            if bound > (1 << 62) // counts[c]:
                bound = number_keys(keys, bound, ids[b], chosen[b])
                keys[:] = ids[b]
            below = ids[c]
            for i in range(n_evidence):
                keys[i] = keys[i] * counts[c] + below[i]
            bound *= counts[c]
        counts[b] = number_keys(keys, bound, ids[b], chosen[b])
    return ids, chosen, counts


@kernel
def lay_out(
    observed: np.ndarray, row_classes: np.ndarray, row_separators: np.ndarray, card: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Entries of the rows of a bucket: (starts, row of each entry, its state, its place in the bucket's table)."""
    n_rows = len(row_classes)
    starts = np.empty(n_rows + 1, dtype=np.int64)
    starts[0] = 0
    for row in range(n_rows):
        starts[row + 1] = starts[row] + (card if observed[row_classes[row]] < 0 else 1)
    entry_rows = np.empty(starts[n_rows], dtype=np.int64)
    states = np.empty(starts[n_rows], dtype=np.int64)
    places = np.empty(starts[n_rows], dtype=np.int64)
    for row in range(n_rows):
        code = observed[row_classes[row]]
        for entry in range(starts[row], starts[row + 1]):
            state = entry - starts[row] if code < 0 else np.int64(code)
            entry_rows[entry] = row
            states[entry] = state
            places[entry] = row_separators[row] * card + state
    return starts, entry_rows, states, places


@kernel
def demand_rows(
    entry_classes: np.ndarray, entry_separators: np.ndarray, n_classes: int, n_separators: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a child that entries lead to: (row of each entry, class of each row, separator state of each row)."""
    keys = np.empty(len(entry_classes), dtype=np.int64)
    for entry in range(len(keys)):
        keys[entry] = entry_classes[entry] * np.int64(n_separators) + entry_separators[entry]
    ids = np.empty(len(keys), dtype=np.int64)
    chosen = np.empty(len(keys), dtype=np.int64)
    count = number_keys(keys, np.int64(n_classes) * np.int64(n_separators), ids, chosen)
    row_classes = np.empty(count, dtype=np.int64)
    row_separators = np.empty(count, dtype=np.int64)
    for row in range(count):
        row_classes[row] = entry_classes[chosen[row]]
        row_separators[row] = entry_separators[chosen[row]]
    return ids, row_classes, row_separators
