"""XGBoost ensembles, read from the JSON that the library itself writes (``Booster.save_raw("json")``).

XGBoost keeps data and thresholds in float32: ``float32(x) < threshold`` goes left, NaN where ``default_left`` says;
at a categorical node the listed categories go right. ``tree_info`` says which output a tree adds to, ``weight_drop``
how much a tree of a DART model counts.

What exact means here: XGBoost adds up float32 leaves in float32, so its own answer carries a rounding error of about
1e-7 of the sum. The sum of products adds the same float32 leaves in float64: it is the ensemble, and differs from
``predict`` by that rounding error only.
"""

import json
from itertools import pairwise
from typing import Any

import numpy as np

from shap_asv.models.calls import ModelCall, describe, is_a
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, children, joined

LOGIT = ("binary:logistic", "reg:logistic", "binary:logitraw")
LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox")


def is_xgboost(estimator: Any) -> bool:
    return is_a(estimator, "xgboost", "XGBModel") or is_a(estimator, "xgboost", "Booster")


def raw_xgboost(model: Any, final: Any) -> ModelCall:
    """The margin."""
    if is_a(final, "xgboost", "Booster"):
        return booster_call(model, raw=True)
    return ModelCall(model, "predict", (("output_margin", True),), quantity="raw")


def booster_call(model: Any, raw: bool = False) -> ModelCall:
    """``xgboost.Booster`` eats no arrays but its own matrices: the one model whose call needs a wrapper.

    One that stopped early ends with its best round, as its estimator does.
    """
    arguments: tuple[tuple[str, Any], ...] = (("predict_type", "margin" if raw else "value"),)
    rounds, note = best_rounds(model), ""
    if rounds is not None:
        arguments += (("iteration_range", (0, rounds)),)
        note = (
            f"this Booster stopped early: its best {rounds} of {model.num_boosted_rounds()} rounds are explained, as "
            "in shap and as XGBModel.predict answers, while Booster.predict takes all; explain booster[:] for these"
        )
    return ModelCall(model, "inplace_predict", arguments, quantity="raw" if raw else "prediction", note=note)


def best_rounds(booster: Any) -> int | None:
    """The rounds of an ``xgboost.Booster`` up to its best one; None where it did not stop early."""
    try:
        best = int(booster.best_iteration) + 1
    except AttributeError:
        return None
    return best if best < booster.num_boosted_rounds() else None


def keeps_categories(estimator: Any) -> bool:
    """Were columns of categories met in training, and are they remembered?

    Otherwise XGBoost would take the codes of whatever categories it is given.
    """
    booster = booster_of(estimator)
    return "c" in (booster.feature_types or []) and hasattr(booster, "get_categories")


def booster_of(estimator: Any) -> Any:
    return estimator.get_booster() if hasattr(estimator, "get_booster") else estimator


def parse_xgboost(estimator: Any, call: ModelCall) -> FloatEnsemble:
    """The margin, one column per class or target."""
    booster = booster_of(estimator)
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    gradient = learner["gradient_booster"]
    model = gradient["gbtree"]["model"] if "gbtree" in gradient else gradient.get("model", {})
    if "trees" not in model:
        raise NotSumOfProducts(f"{describe(estimator)} holds no trees (booster {gradient['name']!r})")
    n_trees = trees_in_use(booster, model)
    trees = model["trees"][:n_trees]
    # dropped trees count less; the list moved from the booster to the model in XGBoost 3.4
    weights = gradient.get("weight_drop") or model.get("weight_drop") or np.ones(n_trees)
    drop = np.asarray(weights, dtype=np.float32).astype(np.float64)
    shape = learner["learner_model_param"]
    k = max(int(shape["num_class"]), int(shape["num_target"]), 1)
    tree_of = np.repeat(np.arange(n_trees), [len(tree["left_children"]) for tree in trees])

    def gather(field: str, dtype: type) -> np.ndarray:
        return joined([tree[field] for tree in trees], dtype)

    left, right, roots = children([tree["left_children"] for tree in trees], [tree["right_children"] for tree in trees])
    inner = left >= 0
    conditions = gather("split_conditions", np.float32)
    category_set = np.full(len(left), -1, dtype=np.int64)
    sets: list[np.ndarray] = []
    for root, tree in zip(roots, trees, strict=True):
        for node, first, size in zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
        ):
            category_set[root + node] = len(sets)
            sets.append(np.asarray(tree["categories"][first : first + size], dtype=np.int64))
    values = np.zeros((len(left), k))
    if all(int(tree["tree_param"]["size_leaf_vector"]) <= 1 for tree in trees):
        output = np.asarray(model["tree_info"][:n_trees], dtype=np.int64)[tree_of]
        values[np.arange(len(left)), output] = conditions.astype(np.float64) * drop[tree_of]
    else:
        if any("sum_hessian" not in tree for tree in trees):
            raise NotSumOfProducts(
                f"{describe(estimator)} has vectors in its leaves, of which XGBoost before 3.2 tells too little"
            )
        vectors = gather("base_weights", np.float32).astype(np.float64).reshape(-1, k)  # a vector per node
        values[~inner] = (vectors * drop[tree_of, None])[~inner]
    n_columns = int(shape["num_feature"])
    return FloatEnsemble(
        left,
        right,
        gather("split_indices", np.int64),
        np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64),  # x < t is x <= the float32 before t
        gather("default_left", np.int64) != 0,
        gather("sum_hessian", np.float32).astype(np.float64),
        values,
        roots,
        base_margin(learner, k),
        np.float32,
        category_set,
        np.zeros(len(left), dtype=bool),  # the listed categories go right
        tuple(sets),
        np.zeros(n_columns, dtype=bool),
        category_labels(model.get("cats", {}), n_columns),
        missing=np.nan if estimator is booster or estimator.missing is None else float(estimator.missing),
    )


def trees_in_use(booster: Any, model: dict[str, Any]) -> int:
    """The number of trees that count: models that stopped early stop at their best iteration."""
    rounds = best_rounds(booster)
    return len(model["trees"]) if rounds is None else int(model["iteration_indptr"][rounds])


def base_margin(learner: dict[str, Any], k: int) -> np.ndarray:
    """``base_score`` on the scale of the margin. (A constant that is off is found by the verification.)"""
    text = learner["learner_model_param"]["base_score"].strip("[]")
    base = np.zeros(k) + np.array([float(part) for part in text.split(",")], dtype=np.float32).astype(np.float64)
    objective = learner["objective"]["name"]
    if objective in LOGIT:
        return np.log(base / (1 - base))
    return np.log(base) if objective in LOG else base


def category_labels(stored: dict[str, Any], n_columns: int) -> tuple[tuple[Any, ...] | None, ...]:
    """The labels behind the codes of each column, as the model stored them while it was trained; None for numbers."""
    encoded = stored.get("enc", [])
    if len(encoded) != n_columns:
        return (None,) * n_columns
    return tuple(tuple(stored_labels(column)) if len(column["values"]) else None for column in encoded)


def stored_labels(stored: dict[str, Any]) -> list[Any]:
    """Categories of one column: UTF-8 bytes with offsets for text, plain values for numbers."""
    values = stored["values"]
    if "offsets" not in stored:
        return list(values)
    text = bytes(value % 256 for value in values)
    bounds = stored["offsets"]
    return [text[a:b].decode() for a, b in pairwise(bounds)]
