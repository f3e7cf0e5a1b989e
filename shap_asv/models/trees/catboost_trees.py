"""CatBoost ensembles over numeric columns, read from the JSON that the library itself writes.

``float32(x) > border`` goes right. The trees are usually oblivious (the same split on a whole level: leaf number =
the bits of the level's answers), but other growth policies give ordinary binary trees. NaN counts as below or above
all borders of its column. Of categories the model keeps hashes alone: labels are hashed as rows bring them, and what
was read is compared with the model's own output again whenever there are new ones.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shap_asv.errors import RowsError
from shap_asv.models.calls import ModelCall, is_a
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, HashedLabels, NodeList

#: A label that no row has held.
UNHEARD = "a label that was not met"
#: The key of an empty place in a table of statistics; other keys are hashes times the square of an odd number.
EMPTY = 2**64 - 1
UNMIX = pow(0x4906BA494954CB65, -2, 2**64)


def is_catboost(estimator: Any) -> bool:
    return is_a(estimator, "catboost", "CatBoost")


def raw_catboost(model: Any, final: Any) -> ModelCall:
    """The raw formula value; rankers have no other output."""
    words = () if is_a(final, "catboost", "CatBoostRanker") else (("prediction_type", "RawFormulaVal"),)
    return ModelCall(model, "predict", words, quantity="raw")


class CatBoostNodes(NodeList):
    """Nodes by their borders, or by the number of a split on a category; columns are counted for each kind alone."""

    def __init__(self, n_outputs: int) -> None:
        super().__init__(n_outputs)
        self.category_split: dict[int, int] = {}

    def add_leaf(self, value: Any, cover: float) -> int:
        at = self.add()
        self.values[at][:], self.cover[at] = value, float(cover)
        return at

    def add_split(self, split: dict[str, Any], cover: float = 0.0) -> int:
        at = self.add()
        self.cover[at] = float(cover)
        if split["split_type"] == "FloatFeature":
            self.column[at], self.threshold[at] = split["float_feature_index"], split["border"]
        else:
            self.category_split[at] = split["split_index"]
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
    floats = model["features_info"].get("float_features", [])  # in the order of their numbers
    place = np.array([f["flat_feature_index"] for f in floats] or [0], dtype=np.int64)
    nan_left = np.array([f.get("nan_value_treatment") != "AsTrue" for f in floats] or [False])
    left, number = np.array(nodes.left), np.array(nodes.column)
    numeric = number >= 0
    column = np.where(numeric, place[number], -1)
    category_set, member_left = np.full(len(left), -1), np.zeros(len(left), dtype=bool)
    splits = category_splits(model, set(nodes.category_split.values()))
    position = {index: s for s, index in enumerate(splits)}
    for at, index in nodes.category_split.items():
        column[at], _, member_left[at] = splits[index]
        category_set[at] = position[index]
    numbers: dict[int, dict[int, int]] = {j: {} for j in estimator.get_cat_feature_indices()}
    sets = [np.unique([numbers[j].setdefault(h, len(numbers[j])) for h in hashes]) for j, hashes, _ in splits.values()]
    labels = [
        HashedLabels(numbers[j], partial(hashes_of, estimator)) if j in numbers else None
        for j in range(len(estimator.feature_names_))
    ]
    for own in labels:
        if own is not None:
            own.places([UNHEARD])
    return FloatEnsemble(
        left,
        np.array(nodes.right),
        column,
        np.array(nodes.threshold),
        np.where(numeric, nan_left[number], False),
        np.array(nodes.cover),
        scale * np.array(nodes.values),
        np.array(roots),
        bias,
        np.float32,
        category_set,
        member_left,
        tuple(own.astype(np.int64) for own in sets),
        np.zeros(len(labels), dtype=bool),
        tuple(labels),
    )


# --- categories -----------------------------------------------------------------------------------------------------
#
# A category goes right where its hash is the one that is named, or where a statistic of it is above a border,
#
#     ((good + prior) / (total + prior_total) + shift) * scale > border
#
# with counts of training rows, zero for a category that is new. So the table of the statistic tells on which side each
# hash goes. A statistic of several columns at once is no question to one column: cover counts do not say how many rows
# went where if one of these is known and another is not, whatever the trees.


def category_splits(model: dict[str, Any], used: set[int]) -> dict[int, tuple[int, list[int], bool]]:
    """For some splits on categories, by number: the column, some hashes, and whether these go left (all others right)
    or right (all others left)."""
    infos = model["features_info"]
    features = infos.get("categorical_features", [])
    column = {f["feature_index"]: f["flat_feature_index"] for f in features}
    named = [(column[f["feature_index"]], h % 2**32) for f in features for h in f.get("values", [])]
    bordered = [(statistic, border) for statistic in infos.get("ctrs", []) for border in statistic["borders"]]
    first = sum(len(f["borders"] or []) for f in infos.get("float_features", []))
    found = {}
    for index in used:
        if index - first < len(named):
            j, one = named[index - first]
            found[index] = j, [one], False
            continue
        statistic, border = bordered[index - first - len(named)]
        if len(statistic["elements"]) > 1:
            raise NotSumOfProducts(
                "its trees split on statistics of several columns at once, and cover counts do not say where rows go "
                "of which one of these columns is known; fit it with max_ctr_complexity=1, or with one_hot_max_size= "
                "at least the number of categories. Over background rows it is called as it is"
            )
        hashes, others = sides(statistic, model["ctr_data"][statistic["identifier"]], border)
        found[index] = column[statistic["elements"][0]["cat_feature_index"]], hashes, others
    return found


def sides(statistic: dict[str, Any], data: dict[str, Any], border: float) -> tuple[list[int], bool]:
    """The hashes that go to one side of a border, and whether all others go right."""

    def goes_right(good: float, total: float) -> bool:
        mean = (good + statistic["prior_numerator"]) / (total + statistic["prior_denomerator"])
        return bool(np.float32((mean + statistic["shift"]) * statistic["scale"]) > border)

    step, which = data["hash_stride"], statistic["target_border_idx"]
    hashes, others = [], goes_right(0, 0)
    for k in range(0, len(data["hash_map"]), step):
        key, *counts = data["hash_map"][k : k + step]
        good, total = {
            "Borders": lambda n: (sum(n[which + 1 :]), sum(n)),
            "Buckets": lambda n: (n[which], sum(n)),
            "Counter": lambda n: (n[0], data["counter_denominator"]),
        }[statistic["ctr_type"]](counts)
        if int(key) != EMPTY and goes_right(good, total) != others:
            hashes.append(int(key) * UNMIX % 2**32)
    return hashes, others


def hashes_of(estimator: Any, labels: Sequence[Any]) -> list[int]:
    """CatBoost's own hashes of labels, which it tells for a table that holds them."""
    import pandas as pd

    library = sys.modules[type(estimator).__module__.partition(".")[0]]  # the user's, which has made the model
    wrong = [label for label in labels if not isinstance(label, str | int | np.integer | np.bool_)]
    if wrong:
        raise RowsError(f"{wrong[0]!r} is no category to CatBoost, which takes texts and whole numbers")
    texts = [label if isinstance(label, str) else str(int(label)) for label in labels]
    named = estimator.get_cat_feature_indices()
    columns = {name: texts if j in named else 0.0 for j, name in enumerate(estimator.feature_names_)}
    pool = library.Pool(pd.DataFrame(columns, index=range(len(texts))), cat_features=named)
    told = dump_json(estimator, pool)["features_info"]["cat_features_hash"]
    known = {entry["value"]: entry["hash"] for entry in told}
    return [known[text] for text in texts]


def dump_json(estimator: Any, pool: Any = None) -> dict[str, Any]:
    """CatBoost writes its JSON to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(str(path), format="json", pool=pool)
        return json.loads(path.read_text())
