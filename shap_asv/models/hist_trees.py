"""Histogram gradient boosting of scikit-learn, with its categorical splits.

The model holds, per iteration and class, an array of nodes. Numeric nodes compare float64 values, ``x <= threshold``
goes left. Categorical nodes hold a bitset of the categories that go left; a category that was never seen while
fitting goes where missing values go. When some columns are categorical, an encoder inside the estimator first turns
their values into 0, 1, 2, ... and moves these columns to the front: it is run on states like any other transformer.
"""

from typing import Any

import numpy as np

from shap_asv.models.columns import discover_columns
from shap_asv.models.inputs import TableInputs, require_numbers
from shap_asv.models.outputs import ModelCall, describe, is_a
from shap_asv.models.products import SumOfProducts
from shap_asv.models.regions import FlatTrees, Thresholds, leaf_regions, threshold_splits


def is_histogram(estimator: Any) -> bool:
    return is_a(estimator, "sklearn", "BaseHistGradientBoosting")


def read_histogram(
    estimator: Any, columns: TableInputs, cardinalities: tuple[int, ...], call: ModelCall
) -> SumOfProducts:
    """Raw output, one column per class when there are more than two."""
    encode = getattr(estimator, "_preprocessor", None)
    if encode is not None:
        given = columns
        columns = discover_columns(lambda codes: encode.transform(given(codes)), cardinalities)
    require_numbers(columns, describe(estimator))
    stages = estimator._predictors
    k = len(stages[0])
    trees = [tree for stage in stages for tree in stage]
    starts = np.cumsum([0] + [len(tree.nodes) for tree in trees])
    shift = np.repeat(starts[:-1], np.diff(starts))
    nodes = np.concatenate([tree.nodes for tree in trees])
    inner = nodes["is_leaf"] == 0
    categorical = inner & (nodes["is_categorical"] != 0)
    column = nodes["feature_idx"].astype(np.int64)
    nan_left = nodes["missing_go_to_left"] != 0
    splits, split = threshold_splits(
        Thresholds(column, nodes["num_threshold"], nan_left), inner & ~categorical, columns
    )
    if categorical.any():
        tree_of = np.repeat(np.arange(len(trees)), np.diff(starts))
        known, position = estimator._bin_mapper.make_known_categories_bitsets()
        masks = [
            categories_left(
                np.asarray(columns.tables[column[i]]),
                trees[tree_of[i]].raw_left_cat_bitsets[nodes["bitset_idx"][i]],
                known[position[column[i]]],
                bool(nan_left[i]),
            )
            for i in np.flatnonzero(categorical)
        ]
        split[categorical] = len(splits.goes_left) + np.arange(len(masks))
        splits = splits.extend(columns.source[column[categorical]], masks)
    values = np.zeros((len(nodes), k))
    values[np.arange(len(nodes)), np.repeat(np.arange(len(trees)) % k, np.diff(starts))] = nodes["value"]
    left = np.where(inner, nodes["left"].astype(np.int64) + shift, -1)
    right = np.where(inner, nodes["right"].astype(np.int64) + shift, -1)
    offset = np.ravel(estimator._baseline_prediction).astype(np.float64)
    return leaf_regions(FlatTrees(left, right, split, values, starts[:-1]), splits, cardinalities, offset)


def categories_left(table: np.ndarray, goes_left: np.ndarray, known: np.ndarray, nan_left: bool) -> np.ndarray:
    """Which states go left at a categorical node, from bitsets of 8 x 32 categories -> bool (card,)."""
    usable = ~np.isnan(table) & (table >= 0) & (table < 256)
    category = np.where(usable, table, 0).astype(np.int64)
    member = usable & bits(goes_left, category)
    seen = usable & bits(known, category)
    return np.where(member | seen, member, nan_left)


def bits(words: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Bit ``p`` of a bitset of 32-bit words, for each ``p``."""
    return (words[positions // 32] >> (positions % 32).astype(np.uint32)) & 1 == 1
