"""CatBoost ensembles over numeric columns, read from the JSON that the library itself writes.

``float32(x) > border`` goes right. The trees are usually oblivious (the same split on a whole level: leaf number =
the bits of the level's answers), but other growth policies give ordinary binary trees. NaN counts as below or above
all borders of its column. Splits on categories, one-hot ones included, go through hashes of labels that the model does
not keep, or through target statistics; such models stay black boxes.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from shap_asv.models.calls import ModelCall, describe, is_a
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, NodeList, numbers_alone


def is_catboost(estimator: Any) -> bool:
    return is_a(estimator, "catboost", "CatBoost")


def raw_catboost(model: Any, final: Any) -> ModelCall:
    """The raw formula value; rankers have no other output."""
    words = () if is_a(final, "catboost", "CatBoostRanker") else (("prediction_type", "RawFormulaVal"),)
    return ModelCall(model, "predict", words, quantity="raw")


class CatBoostNodes(NodeList):
    """Nodes by their borders; columns are counted among the numeric ones."""

    def add_leaf(self, value: Any, cover: float) -> int:
        at = self.add()
        self.values[at][:], self.cover[at] = value, float(cover)
        return at

    def add_split(self, split: dict[str, Any], cover: float = 0.0) -> int:
        if split["split_type"] != "FloatFeature":
            raise NotSumOfProducts("CatBoost splits on categories, which it reads through hashes and target statistics")
        at = self.add()
        self.column[at], self.threshold[at], self.cover[at] = (
            split["float_feature_index"],
            split["border"],
            float(cover),
        )
        return at

    def add_oblivious(self, splits: list[dict[str, Any]], leaves: np.ndarray, covers: list[float]) -> int:
        """A tree with one split per level; bit i of a leaf's number is the answer of split i."""
        if not splits:
            return self.add_leaf(leaves[0], covers[0])
        half = len(leaves) // 2
        at = self.add_split(splits[-1], sum(covers))
        self.left[at] = self.add_oblivious(splits[:-1], leaves[:half], covers[:half])
        self.right[at] = self.add_oblivious(splits[:-1], leaves[half:], covers[half:])
        return at

    def add_binary(self, node: dict[str, Any]) -> int:
        """An ordinary tree as nested dictionaries."""
        if "split" not in node:
            return self.add_leaf(node["value"], node.get("weight", 0.0))
        at = self.add_split(node["split"])
        self.left[at] = self.add_binary(node["left"])
        self.right[at] = self.add_binary(node["right"])
        self.cover[at] = self.cover[self.left[at]] + self.cover[self.right[at]]
        return at


def parse_catboost(estimator: Any, call: ModelCall) -> FloatEnsemble:
    """The raw formula value, one column per class or target."""
    if len(estimator.get_cat_feature_indices()):
        raise NotSumOfProducts(
            f"{describe(estimator)} splits on categories, and CatBoost keeps hashes and target statistics of them, not "
            "their labels; over background rows it is called instead"
        )
    model = dump_json(estimator)
    scale, bias = model["scale_and_bias"]
    bias = np.ravel(bias).astype(np.float64)
    k = len(bias)
    nodes = CatBoostNodes(k)
    if "oblivious_trees" in model:
        roots = [
            nodes.add_oblivious(
                tree["splits"] or [],
                np.reshape(tree["leaf_values"], (-1, k)),
                # a model that was added up from others has no weights
                tree.get("leaf_weights") or [0.0] * (len(tree["leaf_values"]) // k),
            )
            for tree in model["oblivious_trees"]
        ]
    else:
        roots = [nodes.add_binary(tree) for tree in model["trees"]]
    floats = {f["feature_index"]: f for f in model["features_info"]["float_features"]}
    flat_index = np.array([floats[i]["flat_feature_index"] for i in sorted(floats)], dtype=np.int64)
    nan_left = np.array([floats[i].get("nan_value_treatment") != "AsTrue" for i in sorted(floats)])
    left, column = np.array(nodes.left), np.array(nodes.column)
    inner = left >= 0
    return FloatEnsemble(
        left,
        np.array(nodes.right),
        np.where(inner, flat_index[column], -1),
        np.array(nodes.threshold),
        np.where(inner, nan_left[column], False),
        np.array(nodes.cover),
        scale * np.array(nodes.values),
        np.array(roots),
        bias,
        np.float32,
        **numbers_alone(len(left), len(estimator.feature_names_)),
    )


def dump_json(estimator: Any) -> dict[str, Any]:
    """CatBoost writes its JSON to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(str(path), format="json")
        return json.loads(path.read_text())
