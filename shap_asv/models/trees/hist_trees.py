"""Histogram gradient boosting of scikit-learn, with its categorical splits.

The model holds, per iteration and class, an array of nodes. Numeric nodes compare float64 values, ``x <= threshold``
goes left. Categorical nodes hold a bitset of the categories that go left; a category that was never seen while
fitting goes where missing values go. When some columns are categorical, an encoder inside the estimator first turns
their values into 0, 1, 2, ... and moves these columns to the front: its categories become the labels of the columns,
and nodes are given the numbers that the columns have outside.
"""

from typing import Any

import numpy as np

from shap_asv.models.calls.outputs import ModelCall, is_a
from shap_asv.models.trees.ensembles import FloatEnsemble, children, joined


def is_histogram(estimator: Any) -> bool:
    return is_a(estimator, "sklearn", "BaseHistGradientBoosting")


def parse_histogram(estimator: Any, call: ModelCall) -> FloatEnsemble:
    """Raw output, one column per class when there are more than two."""
    outside, labels = encoded_columns(estimator)
    stages = estimator._predictors
    k = len(stages[0])
    trees = [tree for stage in stages for tree in stage]
    nodes = np.concatenate([tree.nodes for tree in trees])
    sizes = [len(tree.nodes) for tree in trees]
    leaf = [tree.nodes["is_leaf"] != 0 for tree in trees]
    left, right, roots = children(
        *(
            [np.where(end, -1, tree.nodes[side].astype(np.int64)) for tree, end in zip(trees, leaf, strict=True)]
            for side in ("left", "right")
        )
    )
    inner = ~joined(leaf, bool)
    column = nodes["feature_idx"].astype(np.int64)
    nan_left = nodes["missing_go_to_left"] != 0
    categorical = inner & (nodes["is_categorical"] != 0)
    category_set = np.full(len(nodes), -1, dtype=np.int64)
    sets: list[np.ndarray] = []
    if categorical.any():
        tree_of = np.repeat(np.arange(len(trees)), sizes)
        known, position = estimator._bin_mapper.make_known_categories_bitsets()
        for i in np.flatnonzero(categorical).tolist():
            members = categories_of(trees[tree_of[i]].raw_left_cat_bitsets[nodes["bitset_idx"][i]])
            seen = categories_of(known[position[column[i]]])
            # what was never seen goes with NaN: list those that go the other way
            category_set[i] = len(sets)
            sets.append(np.setdiff1d(seen, members) if nan_left[i] else members)
    values = np.zeros((len(nodes), k))
    values[np.arange(len(nodes)), np.repeat(np.arange(len(trees)) % k, sizes)] = nodes["value"]
    return FloatEnsemble(
        left,
        right,
        np.where(inner, outside[np.where(inner, column, 0)], -1),
        nodes["num_threshold"].astype(np.float64),
        nan_left,
        nodes["count"].astype(np.float64),
        values,
        roots,
        np.ravel(estimator._baseline_prediction).astype(np.float64),
        int(estimator.n_features_in_),
        np.float64,
        category_set,
        categorical & ~nan_left,
        tuple(sets),
        labels=labels,
    )


def encoded_columns(estimator: Any) -> tuple[np.ndarray, tuple[tuple[Any, ...] | None, ...]]:
    """Which column of the input each column of the nodes is, and the labels of each column of the input."""
    n = int(estimator.n_features_in_)
    labels: list[tuple[Any, ...] | None] = [None] * n
    encode = getattr(estimator, "_preprocessor", None)
    if encode is None:
        return np.arange(n), tuple(labels)
    categorical = np.asarray(estimator.is_categorical_, dtype=bool)
    front = np.flatnonzero(categorical)
    for j, categories in zip(front, encode.named_transformers_["encoder"].categories_, strict=True):
        labels[j] = tuple(categories.tolist())
    return np.concatenate([front, np.flatnonzero(~categorical)]), tuple(labels)


def categories_of(words: np.ndarray) -> np.ndarray:
    """The numbers in a bitset of 32-bit words.

    >>> categories_of(np.array([5, 1], dtype=np.uint32)).tolist()
    [0, 2, 32]
    """
    bits = np.unpackbits(np.ascontiguousarray(words, dtype="<u4").view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64)
