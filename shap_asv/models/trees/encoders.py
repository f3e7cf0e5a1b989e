"""Trees behind an encoder that takes each column for itself -> the same trees over the columns before it.

A node that asks ``encoded_j <= t`` asks something of the one column that ``encoded_j`` was made of. Where that column
holds labels, the encoder is applied to each of them, and the labels that go left are the set of a categorical node: so
the dummies of one column become one column again, and no node ever sees dummies that cannot be. Columns that pass
through are compared as they were.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.models.calls import describe
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, Labels


@dataclass(frozen=True, eq=False)
class Source:
    """What an encoded column is made of.

    ``column`` is the one before the encoder; ``labels`` are what it holds, and ``encoded`` (labels + 1,) the numbers
    that they become, the last one that of a gap (NaN where the encoder refuses gaps). Both are None for a column that
    passes through.
    """

    column: int
    labels: tuple[Any, ...] | None = None
    encoded: np.ndarray | None = None


def is_encoder(transformer: Any) -> bool:
    """Does it encode categories, or is it made of parts that may?"""
    return hasattr(transformer, "categories_") or hasattr(transformer, "transformers_")


def before_encoder(own: FloatEnsemble, encoder: Any) -> FloatEnsemble:
    """The ensemble over the columns before the encoder; NotSumOfProducts where it does more than to encode."""
    sources = dict(_sources(encoder))
    if sorted(sources) != list(range(own.n_columns)):
        raise NotSumOfProducts(f"it is not known what {describe(encoder)} makes of each column")
    if own.zero_missing.any() or not np.isnan(own.missing):
        raise NotSumOfProducts("a number stands for a missing value behind an encoder")
    n = int(encoder.n_features_in_)
    labels: list[Labels | None] = [None] * n
    for j, source in sources.items():
        labels[source.column] = own.labels[j] if source.labels is None else source.labels
    column, sets = own.column.copy(), list(own.sets)
    category_set, member_left, nan_left = own.category_set.copy(), own.member_left.copy(), own.nan_left.copy()
    for node in np.flatnonzero(own.left >= 0):
        j = int(own.column[node])
        source = sources[j]
        column[node] = source.column
        if source.encoded is None:
            continue
        left = own.goes_left(np.full(len(source.encoded), node), own.rounded_column(source.encoded, j))
        category_set[node], member_left[node], nan_left[node] = len(sets), True, left[-1]
        sets.append(np.flatnonzero(left[:-1]))
    return replace(
        own,
        column=column,
        category_set=category_set,
        member_left=member_left,
        nan_left=nan_left,
        sets=tuple(sets),
        zero_missing=np.zeros(n, dtype=bool),
        labels=tuple(labels),
    )


def _sources(encoder: Any) -> Iterator[tuple[int, Source]]:
    """(encoded column, source) of an encoder of all columns, or of a ColumnTransformer."""
    if not hasattr(encoder, "transformers_"):
        yield from _encoded(encoder, range(int(encoder.n_features_in_)), 0)
        return
    names = [str(name) for name in getattr(encoder, "feature_names_in_", ())]
    for name, part, columns in encoder.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        places = _places(columns, names, int(encoder.n_features_in_))
        if places is None:
            raise NotSumOfProducts(f"the columns of {name!r} in {describe(encoder)} are not listed")
        if not places:
            continue
        start = encoder.output_indices_[name].start
        if (isinstance(part, str) and part == "passthrough") or getattr(part, "func", part) is None:
            yield from ((start + k, Source(place)) for k, place in enumerate(places))
        else:
            yield from _encoded(part, places, start)


def _places(columns: Any, names: Sequence[str], n: int) -> list[int] | None:
    """Where columns stand that are given by name or as numpy indexes: numbers, also from the end, masks, slices."""
    several = [columns] if isinstance(columns, str) else columns
    if isinstance(several, slice):
        by_name = any(isinstance(end, str) for end in (several.start, several.stop))
        return None if by_name else list(range(n))[several]
    if np.size(several) and isinstance(np.ravel(several)[0], str):
        return [names.index(str(one)) for one in several]
    return np.atleast_1d(np.arange(n)[np.asarray(several, dtype=None if np.size(several) else int)]).tolist()


def _encoded(encoder: Any, places: Sequence[int], start: int) -> Iterator[tuple[int, Source]]:
    """What each column of one encoder with categories is made of: the column with which it varies."""
    import pandas as pd

    if not hasattr(encoder, "categories_"):
        raise NotSumOfProducts(f"{describe(encoder)} stands in front of the trees, which do not see the columns then")
    known = [[label for label in labels if label is not None and label == label] for labels in encoder.categories_]
    first = [labels[0] for labels in known]
    names = getattr(encoder, "feature_names_in_", None)
    done: set[int] = set()
    for k, labels in enumerate(known):
        # a gap is what the encoder has met: to scikit-learn None and NaN are two categories
        gap_label = next((one for one in encoder.categories_[k] if one is None or one != one), None)
        lines = [[*first[:k], label, *first[k + 1 :]] for label in (*labels, gap_label)]

        def encode(lines: list[list[Any]]) -> np.ndarray:
            table = pd.DataFrame(lines, columns=names, dtype=object)
            made = encoder.transform(table if names is not None else table.to_numpy())
            return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=float)

        numbers = encode(lines[:-1])
        try:
            gap = encode(lines[-1:])
        except (TypeError, ValueError):  # it refuses gaps
            gap = np.full((1, numbers.shape[1]), np.nan)
        varies = np.flatnonzero((numbers != numbers[0]).any(axis=0) | (gap != numbers[:1])[0] & ~np.isnan(gap[0]))
        rest = sorted(set(range(numbers.shape[1])) - done) if k == len(known) - 1 else varies.tolist()
        for j in rest:
            done.add(j)
            encoded = np.append(numbers[:, j], gap[0, j])
            yield start + j, Source(places[k], tuple(labels), encoded)
