"""Which rows of a table are copies of one another: who compares fits on held-out rows must not hold out half of a row.

In a DataFrame, rows with the same label of the index and the same values are copies, as a resample has them. An array
has no labels: there, equal rows are copies if one of the columns tells rows apart, and half of its values at least are
distinct. Where a table has few values in every column, rows that are equal may well be different ones.
"""

from typing import Any

import numpy as np


def originals(data: Any, rows: np.ndarray) -> np.ndarray | None:
    """Coded rows (r, n) of a table -> the number (r,) of the row that each of them is a copy of; None without copies.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 2.0]})
    >>> originals(table, table.to_numpy()) is None
    True
    >>> again = table.iloc[[1, 2, 1]]
    >>> originals(again, again.to_numpy()).tolist()
    [0, 1, 0]
    """
    index: Any = getattr(data, "index", None)
    if not hasattr(index, "is_unique"):  # not a DataFrame; lists have an index of another kind
        return _of_numbers(rows)
    if index.is_unique:
        return None
    labels = index.factorize()[0]
    found = np.unique(np.column_stack([labels, rows]), axis=0, return_inverse=True)[1].ravel()
    return found if found.max() + 1 < len(rows) else None


def _of_numbers(rows: np.ndarray) -> np.ndarray | None:
    for column in rows.T:
        values, first, found = np.unique(column, return_index=True, return_inverse=True)
        if len(values) == len(rows):
            return None
        if 2 * len(values) >= len(rows) and np.array_equal(rows, rows[first[found]]):
            return found
    return None


def kept_together(copies: np.ndarray | None, n: int, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold (n,) of each row: folds are of one size, and copies of a row are in the same one."""
    if copies is not None:
        present, place = np.unique(copies, return_inverse=True)
        if len(present) > 1:
            return kept_together(None, len(present), n_folds, rng)[place]
    return rng.permutation(n) % min(n_folds, n)


def error_of_mean(values: np.ndarray, copies: np.ndarray | None, ddof: int = 0) -> float:
    """The standard error of the mean of values (r,), in which copies of a row do not count as further rows."""
    if copies is None:
        return float(values.std(ddof=ddof) / np.sqrt(len(values)))
    return float(np.sqrt(np.sum(np.bincount(copies, values - values.mean()) ** 2)) / len(values))


def repeats(copies: np.ndarray | None, n: int) -> np.ndarray:
    """How many copies each row has, itself included, (n,).

    >>> repeats(np.array([0, 0, 1]), 3).tolist()
    [2.0, 2.0, 1.0]
    """
    return np.ones(n) if copies is None else np.bincount(copies)[copies].astype(float)
