"""Boosted trees of other libraries, by way of shap's own loader. The only file that touches ``shap.explainers._tree``.

shap's ``TreeEnsemble`` is private and reads some models wrong without saying so (categorical splits above all). So
nothing that comes from here is believed: models with categorical splits are refused outright, and all others are
compared with their own output on probe rows before they are used.

What "exact" means for float32 libraries: XGBoost adds up its leaves in float32, so its own answer carries a rounding
error of about 1e-7 of the sum. The sum of products here adds the same float32 leaves in float64; it *is* the
ensemble, and differs from ``predict`` by that rounding error only.
"""

from typing import Any

import numpy as np

from shap_asv.models.calls.outputs import ModelCall, describe, is_a, shorten
from shap_asv.models.pipelines import known_width
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, children

FAMILIES = (
    ("sklearn", "HistGradientBoostingClassifier"),
    ("sklearn", "HistGradientBoostingRegressor"),
    ("xgboost", "XGBModel"),
    ("xgboost", "Booster"),
    ("lightgbm", "LGBMModel"),
    ("lightgbm", "Booster"),
    ("catboost", "CatBoost"),
)


def is_known_to_shap(estimator: Any) -> bool:
    return any(is_a(estimator, package, name) for package, name in FAMILIES)


def parse_with_shap(estimator: Any, call: ModelCall) -> FloatEnsemble:
    """The margin of a boosted ensemble, as shap's loader reads it."""
    if has_categorical_splits(estimator):
        raise NotSumOfProducts(f"{describe(estimator)} splits on categories, which shap's loader does not read")
    from shap.explainers._tree import TreeEnsemble

    try:
        ensemble = TreeEnsemble(estimator, None, None, model_output="raw")
    except Exception as error:
        raise NotSumOfProducts(f"shap does not read {describe(estimator)}: {shorten(error, 120)}") from error
    if not ensemble.trees:
        raise NotSumOfProducts(f"shap does not read the trees of {describe(estimator)}")
    n_trees, n_nodes = ensemble.children_left.shape
    used = n_trees if ensemble.tree_limit is None else min(n_trees, int(ensemble.tree_limit))
    left, right, default, roots = children(
        *map(list, (ensemble.children_left, ensemble.children_right, ensemble.children_default))
    )
    column = ensemble.features.ravel().astype(np.int64)
    return FloatEnsemble(
        left,
        right,
        column,
        ensemble.thresholds.ravel().astype(np.float64),
        default == left,
        ensemble.node_sample_weight.ravel().astype(np.float64),
        ensemble.values.reshape(n_trees * n_nodes, -1).astype(np.float64),
        roots[:used],
        np.asarray(ensemble.base_offset, dtype=np.float64).ravel(),
        known_width(estimator) or int(column[left >= 0].max(initial=-1)) + 1,
        # XGBoost keeps its data in float32, whatever shap's loader says
        np.float32 if ensemble.model_type == "xgboost" else ensemble.input_dtype,
    )


def has_categorical_splits(estimator: Any) -> bool:
    """Does any tree of this model split on a set of categories instead of a threshold?"""
    if is_a(estimator, "sklearn", "BaseHistGradientBoosting"):
        categorical = getattr(estimator, "is_categorical_", None)
        return categorical is not None and bool(np.any(categorical))
    if is_a(estimator, "catboost", "CatBoost"):
        return len(estimator.get_cat_feature_indices()) > 0
    if is_a(estimator, "xgboost", "XGBModel") or is_a(estimator, "xgboost", "Booster"):
        booster = estimator.get_booster() if hasattr(estimator, "get_booster") else estimator
        return "c" in (booster.feature_types or [])
    booster = getattr(estimator, "booster_", estimator)
    return any(_has_equality(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"])


def _has_equality(node: dict[str, Any]) -> bool:
    """LightGBM writes a categorical split as ``decision_type: "=="``."""
    if "left_child" not in node:
        return False
    if node["decision_type"] == "==":
        return True
    return _has_equality(node["left_child"]) or _has_equality(node["right_child"])
