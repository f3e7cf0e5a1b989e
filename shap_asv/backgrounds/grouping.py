"""Equal keys are computed once: numbering the distinct rows of a few integer columns.

Everything in this room that is "per distinct evidence" or "per distinct term" starts here. Keys are mixed into one
integer and numbered through a table of flags when their range is small (O(rows), no sorting), by sorting otherwise.
"""

from collections.abc import Iterable

import numpy as np

_SMALL_RANGE = 1 << 16


def number_keys(keys: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct values of ``keys`` (all in ``range(size)``).

    Returns ``ids`` (rows,) with ``ids[i] == ids[j]`` iff ``keys[i] == keys[j]``, numbered in increasing order of the
    key, and ``chosen`` (distinct,), one row of each. O(rows) when ``size`` is at most a few times the rows.

    Examples
    --------
    >>> ids, chosen = number_keys(np.array([7, 3, 7]), 10)
    >>> ids.tolist(), chosen.tolist()
    ([1, 0, 1], [1, 2])
    """
    if size <= max(_SMALL_RANGE, 8 * len(keys)):
        met = np.zeros(size, dtype=bool)
        met[keys] = True
        number = np.cumsum(met) - 1
        ids = number[keys]
        chosen = np.empty(int(number[-1]) + 1 if size else 0, dtype=np.intp)
        chosen[ids] = np.arange(len(keys))
        return ids, chosen
    _, chosen, ids = np.unique(keys, return_index=True, return_inverse=True)
    return ids, chosen


def row_keys(rows: np.ndarray) -> np.ndarray:
    """Each row (m, w) as one sortable key, (m,): numpy compares rows field by field, which takes long."""
    return np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)


def number_rows(columns: Iterable[tuple[np.ndarray, int]], n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows of several columns, each given with its exclusive upper bound.

    Returns ``ids`` (rows,) and ``chosen`` (distinct,) as :func:`number_keys`.

    Examples
    --------
    >>> ids, chosen = number_rows([(np.array([0, 1, 0]), 2), (np.array([5, 5, 5]), 6)], 3)
    >>> ids.tolist(), chosen.tolist()
    ([0, 1, 0], [2, 1])
    """
    keys = np.zeros(n_rows, dtype=np.int64)
    size = 1
    for column, bound in columns:
        if bound == 1:
            continue
        if size * bound >= 1 << 62:
            keys, chosen = number_keys(keys, size)
            size = len(chosen)
        keys = keys * bound + column
        size *= bound
        if size > max(_SMALL_RANGE, 64 * n_rows):
            keys, chosen = number_keys(keys, size)
            size = len(chosen)
    return number_keys(keys, size)
