"""Trees, forests and gradient boosting of scikit-learn, read from the public ``tree_`` arrays.

scikit-learn rounds its input to float32 and compares it with float64 thresholds: ``float32(x) <= threshold`` goes
left. NaN goes where ``missing_go_to_left`` says. A classification tree answers with the class shares of the leaf, a
forest with the mean over its trees, gradient boosting with ``init + learning_rate * sum of trees`` on the scale of
the raw output.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shap_asv.models.inputs import TableInputs, require_numbers
from shap_asv.models.outputs import ModelCall, describe, is_a
from shap_asv.models.products import NotSumOfProducts, SumOfProducts
from shap_asv.models.regions import FlatTrees, Thresholds, leaf_regions, threshold_splits

TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor")  # ExtraTree* are subclasses of these
FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")


def is_forest(estimator: Any) -> bool:
    return any(is_a(estimator, "sklearn", name) for name in TREES + FORESTS)


def is_boosted(estimator: Any) -> bool:
    return any(is_a(estimator, "sklearn", name) for name in BOOSTED)


def rounds_input(estimator: Any) -> bool:
    """Does it turn its input into float32 before it looks at it?"""
    return is_forest(estimator) or is_boosted(estimator)


def read_forest(estimator: Any, columns: TableInputs, cardinalities: tuple[int, ...], call: ModelCall) -> SumOfProducts:
    """One tree or the mean of many; class shares for classifiers, ``n_outputs`` means for regressors."""
    classifier = hasattr(estimator, "classes_")
    if classifier and call.method != "predict_proba":
        raise NotSumOfProducts(f"{call.name} answers with a class, not with the probabilities that the trees average")
    members = [estimator] if hasattr(estimator, "tree_") else list(estimator.estimators_)
    values = []
    for member in members:
        value = member.tree_.value
        if classifier:
            shares = value[:, 0, :] / value[:, 0, :].sum(axis=1, keepdims=True)
            values.append(shares / len(members))
        else:
            values.append(value[:, :, 0] / len(members))
    offset = np.zeros(values[0].shape[1])
    return read_trees([member.tree_ for member in members], values, columns, cardinalities, offset)


def read_boosted(
    estimator: Any, columns: TableInputs, cardinalities: tuple[int, ...], call: ModelCall
) -> SumOfProducts:
    """Raw output of gradient boosting, one column per class when there are more than two."""
    stages = estimator.estimators_
    trees, values = [], []
    k = stages.shape[1]
    for stage in stages:
        for output, member in enumerate(stage):
            value = np.zeros((member.tree_.node_count, k))
            value[:, output] = estimator.learning_rate * member.tree_.value[:, 0, 0]
            trees.append(member.tree_)
            values.append(value)
    # the initial prediction is a constant that the verification reads off the model itself
    return read_trees(trees, values, columns, cardinalities, np.zeros(k))


def read_trees(
    trees: Sequence[Any],
    values: Sequence[np.ndarray],
    columns: TableInputs,
    cardinalities: tuple[int, ...],
    offset: np.ndarray,
) -> SumOfProducts:
    """sklearn ``Tree`` objects with one value matrix (nodes, k) each -> sum of products."""
    require_numbers(columns, "the ensemble")
    starts = np.cumsum([0] + [tree.node_count for tree in trees])
    shift = np.repeat(starts[:-1], np.diff(starts))
    left = np.concatenate([tree.children_left for tree in trees]).astype(np.int64)
    right = np.concatenate([tree.children_right for tree in trees]).astype(np.int64)
    inner = left >= 0
    nodes = Thresholds(
        np.concatenate([tree.feature for tree in trees]).astype(np.int64),
        np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([nan_goes_left(tree) for tree in trees]),
    )
    if inner.any() and nodes.column[inner].max() >= columns.n_columns:
        raise NotSumOfProducts(f"{describe(trees[0])} splits on a column that its input does not have")
    splits, split = threshold_splits(nodes, inner, columns, np.float32)
    flat = FlatTrees(
        np.where(inner, left + shift, -1),
        np.where(inner, right + shift, -1),
        split,
        np.concatenate(values),
        starts[:-1],
    )
    return leaf_regions(flat, splits, cardinalities, offset)


def nan_goes_left(tree: Any) -> np.ndarray:
    """Where NaN goes at each node -> bool (nodes,)."""
    if hasattr(tree, "missing_go_to_left"):
        return np.asarray(tree.missing_go_to_left, dtype=bool)
    return np.asarray(tree.__getstate__()["nodes"]["missing_go_to_left"], dtype=bool)
