"""Trees, forests and gradient boosting of scikit-learn, read from the public ``tree_`` arrays.

scikit-learn rounds its input to float32 and compares it with float64 thresholds: ``float32(x) <= threshold`` goes
left. NaN goes where ``missing_go_to_left`` says. A classification tree answers with the class shares of the leaf, a
forest with the mean over its trees, gradient boosting with ``init + learning_rate * sum of trees`` on the scale of
the raw output, an isolation forest with mean path lengths.

Histogram gradient boosting keeps trees of its own: per iteration and class, an array of nodes. Numeric nodes compare
float64 values, ``x <= threshold`` goes left. Categorical nodes hold a bitset of the categories that go left; a category
that was never seen while fitting goes where missing values go. When some columns are categorical, an encoder inside the
estimator first turns their values into 0, 1, 2, ... and moves these columns to the front: its categories become the
labels of the columns, and nodes are given the numbers that the columns have outside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.models.calls import ModelCall, is_a
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, children, joined, numbers_alone

TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor")  # ExtraTree* are subclasses of these
FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")


def is_forest(estimator: Any) -> bool:
    return any(is_a(estimator, "sklearn", name) for name in TREES + FORESTS)


def is_boosted(estimator: Any) -> bool:
    return any(is_a(estimator, "sklearn", name) for name in BOOSTED)


def raw_forest(model: Any, final: Any) -> ModelCall:
    """Forests and trees average probabilities: their raw output is ``predict_proba``."""
    return ModelCall(model, "predict_proba" if hasattr(final, "classes_") else "predict", quantity="raw")


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
        np.float32,
        **numbers_alone(len(left), int(n_columns)),
    )


def nan_goes_left(tree: Any) -> np.ndarray:
    """Where NaN goes at each node -> bool (nodes,)."""
    if hasattr(tree, "missing_go_to_left"):
        return np.asarray(tree.missing_go_to_left, dtype=bool)
    return np.asarray(tree.__getstate__()["nodes"]["missing_go_to_left"], dtype=bool)


# --- isolation forests ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PathLength:
    """The mean path length of an isolation forest, from its score ``-2 ** (-length / scale)``."""

    scale: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return -self.scale * np.log2(-scores)


def average_path_length(n_rows: np.ndarray) -> np.ndarray:
    """``c(n)``: steps of an unsuccessful search in a binary tree of n rows (Liu, Ting and Zhou 2008, equation 1).

    >>> average_path_length(np.array([1, 2, 256])).round(3).tolist()
    [0.0, 1.0, 10.245]
    """
    n = np.maximum(np.asarray(n_rows, dtype=np.float64), 3.0)
    length = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(n_rows <= 1, 0.0, np.where(n_rows == 2, 1.0, length))


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


def raw_isolation(model: Any, final: Any) -> ModelCall:
    length = PathLength(float(average_path_length(np.array([final.max_samples_]))[0]))
    return ModelCall(model, "score_samples", then=length, quantity="raw")


# --- histogram gradient boosting ------------------------------------------------------------------------------------


def raw_histogram(model: Any, final: Any) -> ModelCall:
    """The margin of classifiers; the logarithm of what a regressor with such a link predicts."""
    if hasattr(final, "decision_function"):
        return ModelCall(model, "decision_function", quantity="raw")
    return ModelCall(model, "predict", then=np.log if final.loss in ("poisson", "gamma") else None, quantity="raw")


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
        np.float64,
        category_set,
        categorical & ~nan_left,
        tuple(sets),
        np.zeros(len(labels), dtype=bool),
        labels,
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
