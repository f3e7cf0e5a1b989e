"""LightGBM ensembles, read from the library's own ``dump_model``.

A node is ``x <= threshold`` (float64) or ``x in {categories}``; both go left when true. NaN is read as 0 unless the
node was trained with missing values (``missing_type``), then it goes where ``default_left`` says; NaN is never in a
set of categories. Trees of several classes take turns. A random forest (``boosting_type="rf"``) predicts the mean of
its trees, while its raw score is their sum, for an estimator and for its ``booster_``.
"""

import re
from typing import Any

import numpy as np

from shap_asv.models.calls import ModelCall, describe, is_a
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, NodeList

#: LightGBM drops smaller numbers from its input, as it does zeros.
ZERO = float(np.float32(1e-35))
#: ... and writes infinity as this number: only missing values go right there.
HUGE = 1e300


def is_lightgbm(estimator: Any) -> bool:
    return is_a(estimator, "lightgbm", "LGBMModel") or is_a(estimator, "lightgbm", "Booster")


def raw_lightgbm(model: Any, final: Any) -> ModelCall:
    """The raw score."""
    forest = "\naverage_output\n" in booster_of(final).model_to_string(num_iteration=1)
    note = (
        f"the raw score of {describe(final)}, a random forest, is the sum of its trees, and that is explained, as in "
        "shap; its predictions are their mean: pass the method predict as the model to explain these"
    )
    return ModelCall(model, "predict", (("raw_score", True),), quantity="raw", note=note if forest else "")


def booster_of(estimator: Any) -> Any:
    return estimator.booster_ if is_a(estimator, "lightgbm", "LGBMModel") else estimator


def parse_lightgbm(estimator: Any, call: ModelCall) -> FloatEnsemble:
    """The raw score, one column per class."""
    booster = booster_of(estimator)
    dump = booster.dump_model()
    k = int(dump["num_tree_per_iteration"])
    n_columns = int(dump["max_feature_idx"]) + 1
    scale = k / len(dump["tree_info"]) if dump.get("average_output") and call.quantity != "raw" else 1.0
    nodes, roots = NodeList(k), []
    goes_left: dict[int, bool] = {}  # where missing values do
    sets: dict[int, np.ndarray] = {}
    missing_types: dict[int, set[str]] = {}
    for number, tree in enumerate(dump["tree_info"]):
        roots.append(nodes.add())
        stack = [(roots[-1], tree["tree_structure"])]
        while stack:
            at, node = stack.pop()
            if "split_feature" not in node:
                if node.get("leaf_coeff"):
                    raise NotSumOfProducts(f"{describe(estimator)} has linear models in its leaves (linear_tree)")
                nodes.values[at][number % k] = scale * node["leaf_value"]
                nodes.cover[at] = float(node.get("leaf_count", 0))
                continue
            nodes.column[at], nodes.cover[at] = int(node["split_feature"]), float(node["internal_count"])
            if node["decision_type"] == "==":
                sets[at] = np.array([int(part) for part in str(node["threshold"]).split("||")], dtype=np.int64)
            else:
                threshold = float(node["threshold"])
                nodes.threshold[at] = threshold if abs(threshold) < HUGE else np.copysign(np.inf, threshold)
                # without a missing type NaN is read as 0
                goes_left[at] = threshold >= 0 if node["missing_type"] == "None" else bool(node["default_left"])
                missing_types.setdefault(nodes.column[at], set()).add(node["missing_type"])
            nodes.left[at], nodes.right[at] = nodes.add(), nodes.add()
            stack += [(nodes.left[at], node["left_child"]), (nodes.right[at], node["right_child"])]
    n_nodes = len(nodes.left)
    nan_left, category_set = np.zeros(n_nodes, dtype=bool), np.full(n_nodes, -1)
    nan_left[list(goes_left)] = list(goes_left.values())
    category_set[list(sets)] = np.arange(len(sets))
    zero_missing = np.zeros(n_columns, dtype=bool)
    for j, kinds in missing_types.items():
        zero_missing[j] = "Zero" in kinds
        if len(kinds) > 1:
            raise NotSumOfProducts(f"{describe(estimator)} treats missing values of column {j} in two ways")
    return FloatEnsemble(
        np.array(nodes.left),
        np.array(nodes.right),
        np.array(nodes.column),
        np.array(nodes.threshold),
        nan_left,
        np.array(nodes.cover),
        np.array(nodes.values),
        np.array(roots),
        np.zeros(k),
        np.float64,
        category_set,
        np.ones(n_nodes, dtype=bool),
        tuple(sets.values()),
        zero_missing,
        labels_by_column(booster, dump, n_columns, describe(estimator)),
        ZERO,
    )


def labels_by_column(
    booster: Any, dump: dict[str, Any], n_columns: int, name: str
) -> tuple[tuple[Any, ...] | None, ...]:
    """The labels of pandas categories: the model stores one list per categorical column, not for which column."""
    stored = dump.get("pandas_categorical") or []
    labels: list[tuple[Any, ...] | None] = [None] * n_columns
    if not stored:
        return tuple(labels)
    infos = dump.get("feature_infos", {})
    columns = [j for j, feature in enumerate(dump["feature_names"]) if infos.get(feature, {}).get("values")]
    if len(columns) != len(stored):  # columns with one category only have no entry; the parameters name them all
        told = re.search(r"^\[categorical_feature: ([\d,]+)\]$", booster.model_to_string(), re.MULTILINE)
        columns = [int(part) for part in told[1].split(",")] if told else []
    if len(columns) != len(stored):
        raise NotSumOfProducts(f"{name} does not say which of its columns hold its {len(stored)} lists of categories")
    for j, categories in zip(columns, stored, strict=True):
        labels[j] = tuple(categories)
    return tuple(labels)
