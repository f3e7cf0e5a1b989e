"""Trees, forests and gradient boosting of scikit-learn, read from the public ``tree_`` arrays.

scikit-learn rounds its input to float32 and compares it with float64 thresholds: ``float32(x) <= threshold`` goes
left. NaN goes where ``missing_go_to_left`` says. A classification tree answers with the class shares of the leaf, a
forest with the mean over its trees, gradient boosting with ``init + learning_rate * sum of trees`` on the scale of
the raw output.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.models.calls.outputs import ModelCall, average_path_length, is_a
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, children, joined

TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor")  # ExtraTree* are subclasses of these
FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")


def is_forest(estimator: Any) -> bool:
    return any(is_a(estimator, "sklearn", name) for name in TREES + FORESTS)


def is_boosted(estimator: Any) -> bool:
    return any(is_a(estimator, "sklearn", name) for name in BOOSTED)


def rounds_input(estimator: Any) -> bool:
    """Does it turn its input into float32 before it looks at it?"""
    return is_forest(estimator) or is_boosted(estimator) or is_isolation(estimator)


def is_isolation(estimator: Any) -> bool:
    return is_a(estimator, "sklearn", "IsolationForest")


def parse_forest(estimator: Any, call: ModelCall) -> FloatEnsemble:
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
    return parse_trees([member.tree_ for member in members], values, estimator.n_features_in_)


def parse_boosted(estimator: Any, call: ModelCall) -> FloatEnsemble:
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
    return parse_trees(trees, values, estimator.n_features_in_)


def parse_isolation(estimator: Any, call: ModelCall) -> FloatEnsemble:
    """The mean path length: a leaf at depth d that holds n training rows stands for ``d + c(n)`` steps."""
    if call.then is None:
        raise NotSumOfProducts(f"{call.name} is not the mean path length that the trees add up to")
    members = [member.tree_ for member in estimator.estimators_]
    values = []
    for tree in members:
        depth = np.zeros(tree.node_count)
        for node in np.flatnonzero(tree.children_left >= 0):  # parents come before their children
            depth[[tree.children_left[node], tree.children_right[node]]] = depth[node] + 1
        values.append((depth + average_path_length(tree.n_node_samples))[:, None] / len(members))
    own = parse_trees(members, values, estimator.n_features_in_)
    columns = [
        np.where(tree.feature >= 0, np.asarray(chosen)[np.maximum(tree.feature, 0)], -1)
        for tree, chosen in zip(members, estimator.estimators_features_, strict=True)
    ]
    return replace(own, column=joined(columns, np.int64))


def parse_trees(trees: Sequence[Any], values: Sequence[np.ndarray], n_columns: int) -> FloatEnsemble:
    """sklearn ``Tree`` objects with one value matrix (nodes, k) each; the offset is zero."""
    left, right, roots = children([tree.children_left for tree in trees], [tree.children_right for tree in trees])
    return FloatEnsemble(
        left,
        right,
        joined([tree.feature for tree in trees], np.int64),
        joined([tree.threshold for tree in trees], np.float64),
        joined([nan_goes_left(tree) for tree in trees], bool),
        joined([tree.weighted_n_node_samples for tree in trees], np.float64),
        np.concatenate(values),
        roots,
        np.zeros(values[0].shape[1]),
        int(n_columns),
        np.float32,
    )


def nan_goes_left(tree: Any) -> np.ndarray:
    """Where NaN goes at each node -> bool (nodes,)."""
    if hasattr(tree, "missing_go_to_left"):
        return np.asarray(tree.missing_go_to_left, dtype=bool)
    return np.asarray(tree.__getstate__()["nodes"]["missing_go_to_left"], dtype=bool)
