"""Fitted trees of other libraries as the nested dictionaries of ``tree_games``, read from what the libraries themselves
say about them. Imports nothing of ours."""

import json

import numpy as np


def from_scikit_learn(tree, scale=1.0, shares=False):
    """A ``sklearn.tree`` estimator; ``shares`` turns class counts into probabilities."""
    plain = tree.tree_

    def node(at):
        value = plain.value[at].reshape(-1)
        value = value / value.sum() if shares else value
        found = {"cover": float(plain.weighted_n_node_samples[at])}
        if plain.children_left[at] < 0:
            return {**found, "value": (scale * value).tolist()}
        return {
            **found,
            "column": int(plain.feature[at]),
            "threshold": float(plain.threshold[at]),
            "nan_left": bool(plain.missing_go_to_left[at]),
            "left": node(plain.children_left[at]),
            "right": node(plain.children_right[at]),
        }

    return node(0)


def from_xgboost(model, names):
    """All trees of a regressor or of a classifier of two classes; XGBoost goes left below a threshold."""

    def node(said):
        found = {"cover": float(said["cover"])}
        if "leaf" in said:
            return {**found, "value": [float(said["leaf"])]}
        children = {child["nodeid"]: child for child in said["children"]}
        return {
            **found,
            "column": names.index(said["split"]),
            "threshold": float(np.nextafter(np.float32(said["split_condition"]), np.float32(-np.inf))),
            "nan_left": said["missing"] == said["yes"],
            "left": node(children[said["yes"]]),
            "right": node(children[said["no"]]),
        }

    dumped = model.get_booster().get_dump(dump_format="json", with_stats=True)
    return [node(json.loads(text)) for text in dumped]


def from_lightgbm(model):
    """All trees of a regressor or of a classifier of two classes."""

    def node(said):
        if "leaf_value" in said:
            return {"cover": float(said.get("leaf_count", 1)), "value": [float(said["leaf_value"])]}
        assert said["decision_type"] == "<="
        # without missing values in training, LightGBM takes a missing one for zero
        missing = said["default_left"] if said["missing_type"] == "NaN" else said["threshold"] >= 0.0
        return {
            "cover": float(said["internal_count"]),
            "column": int(said["split_feature"]),
            "threshold": float(said["threshold"]),
            "nan_left": bool(missing),
            "left": node(said["left_child"]),
            "right": node(said["right_child"]),
        }

    return [node(tree["tree_structure"]) for tree in model.booster_.dump_model()["tree_info"]]


def from_catboost(model, path):
    """All trees of a regressor over numbers, and the constant beside them; CatBoost goes right above a border."""
    model.save_model(path, format="json")
    said = json.loads(path.read_text())
    scale, (bias,) = said["scale_and_bias"]

    def split(asked, left, right):
        column, cover = asked["float_feature_index"], left["cover"] + right["cover"]
        sides = {"left": left, "right": right}
        return {"column": column, "threshold": asked["border"], "nan_left": True, "cover": cover, **sides}

    def binary(node):
        if "split" in node:
            return split(node["split"], binary(node["left"]), binary(node["right"]))
        return {"cover": float(node["weight"]), "value": [scale * node["value"]]}

    def oblivious(splits, leaves, weights):
        if not splits:
            return {"cover": float(weights[0]), "value": [scale * leaves[0]]}
        half, rest = len(leaves) // 2, splits[:-1]
        low, high = (oblivious(rest, leaves[s], weights[s]) for s in (slice(half), slice(half, None)))
        return split(splits[-1], low, high)

    if "trees" in said:
        return [binary(tree) for tree in said["trees"]], bias
    trees = said["oblivious_trees"]
    return [oblivious(tree["splits"], tree["leaf_values"], tree["leaf_weights"]) for tree in trees], bias
