"""Trees behind transformers that take each column for itself -> the same trees over the columns before them.

Many Pipelines have steps in front of an ensemble that mix no columns: one-hot and ordinal encoders, scalers, imputers.
Then a column of the trees is a function g of one column before. Where that holds categories, g is a table, and those
that go left at a node are a set: so the dummies of one column become one column again, and no node ever sees dummies
that cannot be. Of numbers, where g grows, a threshold moves:

    g(x) <= t   if and only if   x <= s,   s the largest number with g(s) <= t

s is found by bisection over all floats, with the user's own transformers, so that rounding is theirs. What such steps
are is not looked up: one column is varied at a time. A column that is no such function is a reason to call the model,
never a wrong number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.models.calls import describe
from shap_asv.models.forms import apply_transformers, chosen_columns, known_categories
from shap_asv.models.inputs import equal, filled, followed_features
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import known_columns, known_width
from shap_asv.models.trees.ensembles import FloatEnsemble, Labels, node_splits

#: No table has larger numbers; floats cannot tell integers apart past it.
LARGEST = 2.0**53
# Numbers that show which columns follow one, where no rows do.
_GRID = np.concatenate([-(2.0 ** np.arange(30, -11, -5)), [0.0], 2.0 ** np.arange(-10, 31, 5)])
# Rows of a transform, where few thresholds are asked for.
_ROWS = 2048
_SIGN = np.int64(np.iinfo(np.int64).max)

Transform = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Before:
    """What stands before the transformers: n columns of codes or numbers, in which a gap is ``+inf``.

    Attributes
    ----------
    base : float64 array (n,)
        Some row.
    points : sequence of arrays
        All codes of a column, or some of its numbers, in order.
    coded, gaps : bool arrays (n,)
        Does a column hold codes; may it have gaps (that are not a code)?
    ends : float64 array (2, n)
        The least and the largest number.
    shown : bool array (n,)
        Numbers that have to show in some column of the trees: else they are taken for what they are not.
    """

    base: np.ndarray
    points: Sequence[np.ndarray]
    coded: np.ndarray
    gaps: np.ndarray
    ends: np.ndarray
    shown: np.ndarray

    def vary(self, column: int, entries: Any) -> np.ndarray:
        """The base with other entries in one column, a row for each."""
        rows = np.repeat(self.base[None], np.size(entries), axis=0)
        rows[:, column] = entries
        return rows


def fold(
    trees: FloatEnsemble, transform: Transform, before: Before, labels: Sequence[Labels | None] | None = None
) -> FloatEnsemble:
    """The trees over the columns before ``transform`` (rows (r, n) -> (r, columns of the trees)), with their labels."""
    if any(trees.labels):
        raise NotSumOfProducts("the trees take labels that come out of the steps in front of them")

    def compared(asked: np.ndarray) -> np.ndarray:
        try:
            return trees.rounded(transform(asked))
        except Exception as error:  # a step of the user's own
            raise NotSumOfProducts(f"the steps in front of the trees raised {type(error).__name__}") from error

    n = len(before.base)
    base = compared(before.base[None])
    if base.shape[1] != trees.n_columns:
        raise NotSumOfProducts(f"the steps in front of the trees end in {base.shape[1]} columns")
    sizes = [len(own) for own in before.points]
    varied = compared(np.concatenate([before.vary(v, own) for v, own in enumerate(before.points)]))
    found = np.split(varied, np.cumsum(sizes)[:-1])
    for v in np.flatnonzero(before.shown).tolist():
        if equal(found[v], base).all():
            raise NotSumOfProducts(f"the steps in front of the trees make nothing of numbers in column {v}")
    gap, met = np.full((n, trees.n_columns), np.nan), list(found)
    for v in np.flatnonzero(before.gaps).tolist():
        try:
            gap[v] = compared(before.vary(v, np.inf))[0]
            met[v] = np.vstack([found[v], gap[v]])
        except NotSumOfProducts:  # then no row has gaps there
            continue
    place = followed_features(met, base[0], None)
    inner = np.flatnonzero(trees.left >= 0)
    column, coded = trees.column, before.coded[place[np.maximum(trees.column, 0)]] & (trees.left >= 0)
    numeric = inner[~coded[inner]]
    for j in np.unique(column[numeric]).tolist():
        if not (np.diff(found[place[j]][:, j]) >= 0).all():
            raise NotSumOfProducts(f"column {j} of the input of the trees does not grow with a feature")
    if (trees.category_set[numeric] >= 0).any():
        raise NotSumOfProducts("the trees take numbers of the table for categories")
    tables = {j: found[place[j]][:, j] for j in np.unique(column[coded]).tolist()}
    _, goes_left, split = node_splits(replace(trees, left=np.where(coded, trees.left, -1)), tables, place)
    threshold, nan_left = trees.threshold.copy(), trees.nan_left.copy()
    threshold[numeric] = _moved(column[numeric], place[column[numeric]], trees.threshold[numeric], compared, before)
    nan_left[inner] = trees.goes_left(inner, gap[place[column[inner]], column[inner]])
    return replace(
        trees,
        column=np.where(trees.left >= 0, place[np.maximum(column, 0)], -1),
        threshold=threshold,
        nan_left=nan_left,
        dtype=np.float64,
        category_set=np.where(coded, split, -1),
        member_left=coded,
        sets=tuple(np.flatnonzero(own) for own in goes_left),
        zero_missing=np.zeros(n, dtype=bool),
        labels=tuple(labels or [None] * n),
        tiny=0.0,
        missing=np.nan,
        refuses_missing=None,
    )


def before_steps(trees: FloatEnsemble, model: Any, steps: Sequence[Any], absent: float) -> FloatEnsemble:
    """The last step's trees over the columns of the model, of which the steps in front of them tell the categories."""
    import pandas as pd

    names, n = known_columns(model), known_width(steps[0])
    if n is None:
        raise NotSumOfProducts(f"{describe(steps[0])} does not say how many columns it takes")
    keys = [str(v) for v in range(n)] if names is None else list(names)
    met = known_categories(steps[0], keys)
    labels = [
        tuple(label for label in met[key] if label is not None and label == label) if key in met else None
        for key in keys
    ]
    if names is None and any(labels):
        raise NotSumOfProducts(f"{describe(steps[0])} was fitted on columns without names")
    held: list[Any] = [None] * n
    for v, (key, own) in enumerate(zip(keys, labels, strict=True)):
        if own is not None:  # a gap is what the encoder has met: to scikit-learn None and NaN are two categories
            held[v] = np.empty(len(own) + 1, dtype=object)
            held[v][:] = [*own, next((label for label in met[key] if label is None or label != label), np.nan)]

    def transform(rows: np.ndarray) -> np.ndarray:
        gaps = np.isposinf(rows)
        columns = {
            key: np.where(gaps[:, v], np.nan, rows[:, v])
            if held[v] is None
            else held[v][np.where(gaps[:, v], len(held[v]) - 1, rows[:, v]).astype(np.intp)]
            for v, key in enumerate(keys)
        }
        table = pd.DataFrame(columns)
        return filled(apply_transformers(steps, table.to_numpy() if names is None else table), absent)

    points = [_GRID if own is None else np.arange(len(own), dtype=float) for own in labels]
    coded, ends = np.array([own is not None for own in labels]), np.outer([-LARGEST, LARGEST], np.ones(n))
    parts = [(part, own) for _, part, own in getattr(steps[0], "transformers_", ()) if isinstance(part, str)]
    dropped = {key for part, own in parts if part == "drop" for key in chosen_columns(own, keys)}
    shown = ~coded & np.array([key not in dropped for key in keys])
    return fold(trees, transform, Before(np.zeros(n), points, coded, np.ones(n, dtype=bool), ends, shown), labels)


def _moved(
    columns: np.ndarray, features: np.ndarray, thresholds: np.ndarray, compared: Transform, before: Before
) -> np.ndarray:
    """The largest x of a feature whose column is at most the threshold, for each of some nodes.

    All floats between two ends are cut into parts, and the part that holds x again: O(64) transforms, of few thresholds
    fewer, since a transform of a thousand rows takes hardly longer than one of ten.
    """
    pairs, back = np.unique(np.stack([columns, features, thresholds]), axis=1, return_inverse=True)
    j, v, t = pairs[0].astype(int), pairs[1].astype(int), pairs[2]
    # a row asks one threshold of every feature
    turn = np.zeros(len(j), dtype=int)
    for own in np.unique(v):
        turn[v == own] = np.arange((v == own).sum())

    def below(numbers: np.ndarray) -> np.ndarray:
        """Of numbers (p, thresholds)."""
        asked = np.tile(before.base, (len(numbers), turn.max(initial=0) + 1, 1))
        asked[:, turn, v] = numbers
        values = compared(asked.reshape(-1, len(before.base))).reshape(*asked.shape[:2], -1)[:, turn, j]
        if np.isnan(values).any():
            raise NotSumOfProducts("a column of the input of the trees is not a number for every number of a feature")
        return values <= t

    low, high = _keys(before.ends[:, v])
    never, always = ~below(_numbers(low[None]))[0], below(_numbers(high[None]))[0]
    parts = max(2, _ROWS // (1 + int(turn.max(initial=0))))
    while (high - 1 > low).any():
        width = high.view(np.uint64) - low.view(np.uint64)  # more than an integer with a sign holds
        steps = np.maximum(width // parts, 1).view(np.int64) * np.arange(1, parts)[:, None]
        inside = np.clip(low + steps, low, np.maximum(high - 1, low))
        under = below(_numbers(inside))
        low, high = np.where(under, inside, low).max(axis=0), np.where(under, high, inside).min(axis=0)
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
