"""Transformers in front of trees, folded into the trees: nodes that ask the columns of the user's table.

Many Pipelines have steps in front of an ensemble that take each column for itself: one-hot and ordinal encoders,
scalers, imputers. Then a column of the trees is a function g of one feature. Of categories it is a table, and of
numbers, where g grows, a threshold moves:

    g(x) <= t   if and only if   x <= s,   s the largest number with g(s) <= t

s is found by bisection over all floats, with the user's own transformers, so that rounding is theirs. What is no such
column is left alone: a reason, not a wrong number. The whole is compared with the model by whoever asks for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.models.calls.inputs import equal, mixed
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble

# Numbers of one feature, at most, that show how a column follows it.
_N_POINTS = 64
# No table has larger numbers; floats cannot tell integers apart past it.
_LARGEST = 2.0**53
_SIGN = np.int64(np.iinfo(np.int64).max)

Transform = Callable[[np.ndarray], np.ndarray]


def fold(
    trees: FloatEnsemble,
    transform: Transform,
    covered: np.ndarray,
    rows: np.ndarray,
    n_codes: Sequence[int],
    dtypes: Sequence[Any],
) -> tuple[np.ndarray, np.ndarray, FloatEnsemble]:
    """The feature of each column, what codes become in it, and the trees whose other columns are features as they are.

    Parameters
    ----------
    trees : FloatEnsemble
        Over the columns that come out of ``transform``.
    transform : callable
        Rows of codes and numbers (r, n) -> (r, columns).
    covered, rows : float64 arrays (c, n), (r, n)
        Rows in which codes count up, and rows as they occur.
    n_codes, dtypes : sequences
        Codes of each feature (0: numbers), and the types in which its numbers are handed over.
    """

    def compared(asked: np.ndarray) -> np.ndarray:
        try:
            return trees.rounded(transform(asked))
        except Exception as error:  # a step of the user's own
            raise NotSumOfProducts(f"the steps in front of the trees raised {type(error).__name__}") from error

    points = [np.arange(n, dtype=float) if n else _spread(rows[:, v]) for v, n in enumerate(n_codes)]
    varied = [np.repeat(covered[:1], len(own), axis=0) for own in points]
    for v, own in enumerate(points):
        varied[v][:, v] = own
    base, found = compared(covered[:1]), np.split(compared(np.concatenate(varied)), np.cumsum([*map(len, points)])[:-1])
    if base.shape[1] != trees.n_columns:
        raise NotSumOfProducts(f"the steps in front of the trees end in {base.shape[1]} columns")
    moves = np.array([~equal(block, base).all(axis=0) for block in found])
    if (moves.sum(axis=0) > 1).any():
        raise mixed(int(np.flatnonzero(moves.sum(axis=0) > 1)[0]), None)
    place = moves.argmax(axis=0)
    coded = np.full((max(1, *n_codes), trees.n_columns), np.nan)
    for j, v in enumerate(place.tolist()):
        values = found[v][:, j]
        if n_codes[v]:
            coded[: len(values), j] = values
        elif not (np.diff(values) >= 0).all():
            raise NotSumOfProducts(f"column {j} of the input of the trees does not grow with a feature")
    asks = np.flatnonzero((trees.left >= 0) & (np.array(n_codes) == 0)[place[np.maximum(trees.column, 0)]])
    columns = trees.column[asks]
    threshold, nan_left = trees.threshold.copy(), trees.nan_left.copy()
    threshold[asks] = _moved(columns, place[columns], trees.threshold[asks], compared, covered[:1], dtypes)
    can_miss = [
        not n and not (isinstance(dtype, np.dtype) and dtype.kind in "iu")
        for n, dtype in zip(n_codes, dtypes, strict=True)
    ]
    missing = np.where(can_miss, np.inf, covered[:1])
    try:
        gap = compared(missing)[0, columns]
    except NotSumOfProducts:  # then no row of the table has gaps
        gap = np.full(len(columns), np.nan)
    nan_left[asks] = np.where(np.isnan(gap), nan_left[asks], gap <= trees.threshold[asks])
    plain = replace(
        trees, threshold=threshold, nan_left=nan_left, dtype=np.float64, tiny=0.0, zero_missing=np.zeros(0, dtype=bool)
    )
    return place, coded, replace(plain, missing=np.nan)


def _spread(numbers: np.ndarray) -> np.ndarray:
    """Some of the distinct numbers of a column, in order."""
    known = np.unique(numbers[np.isfinite(numbers)])
    return known[np.linspace(0, len(known) - 1, min(_N_POINTS, len(known))).astype(int)] if len(known) else known


def _moved(
    columns: np.ndarray,
    features: np.ndarray,
    thresholds: np.ndarray,
    compared: Transform,
    base: np.ndarray,
    dtypes: Sequence[Any],
) -> np.ndarray:
    """The largest x of a feature whose column is at most the threshold, for each of some nodes; O(64) transforms."""
    pairs, back = np.unique(np.stack([columns, features, thresholds]), axis=1, return_inverse=True)
    j, v, t = pairs[0].astype(int), pairs[1].astype(int), pairs[2]
    # a row asks one threshold of every feature
    turn = np.zeros(len(j), dtype=int)
    for own in np.unique(v):
        turn[v == own] = np.arange((v == own).sum())

    def below(numbers: np.ndarray) -> np.ndarray:
        asked = np.repeat(base, turn.max(initial=0) + 1, axis=0)
        asked[turn, v] = numbers
        values = compared(asked)[turn, j]
        if np.isnan(values).any():
            raise NotSumOfProducts("a column of the input of the trees is not a number for every number of a feature")
        return values <= t

    ends = [np.iinfo(dtype) if isinstance(dtype, np.dtype) and dtype.kind in "iu" else None for dtype in dtypes]
    lowest = np.array([-_LARGEST if end is None else max(-_LARGEST, end.min) for end in ends])[v]
    highest = np.array([_LARGEST if end is None else min(_LARGEST, end.max) for end in ends])[v]
    never, always = ~below(lowest), below(highest)
    low, high = _keys(lowest), _keys(highest)
    while (high - 1 > low).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        under = below(_numbers(middle))
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.where(always, np.inf, np.where(never, -np.inf, _numbers(low)))[np.ravel(back)]


def _keys(numbers: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats, next to each other where these are.

    >>> _keys(np.array([-5e-324, -0.0, 0.0, 5e-324])).tolist()
    [-1, 0, 0, 1]
    """
    bits = numbers.view(np.int64)
    return np.where(bits < 0, -(bits & _SIGN), bits)


def _numbers(keys: np.ndarray) -> np.ndarray:
    return np.copysign(np.abs(keys).view(np.float64), keys)
