"""LightGBM ensembles, read from the library's own ``dump_model``.

A node is ``x <= threshold`` (float64) or ``x in {categories}``; both go left when true. NaN is read as 0 unless the
node was trained with missing values (``missing_type``), then it goes where ``default_left`` says; NaN is never in a
set of categories. Trees of several classes take turns. A random forest (``boosting_type="rf"``) predicts the mean of
its trees, while its raw score is their sum.
"""

from typing import Any

import numpy as np

from shap_asv.models.inputs import TableInputs, require_numbers
from shap_asv.models.outputs import ModelCall, describe, is_a
from shap_asv.models.products import NotSumOfProducts, SumOfProducts
from shap_asv.models.regions import FlatTrees, Splits, leaf_regions

ZERO = 1e-35  # LightGBM takes smaller numbers for zero


def is_lightgbm(estimator: Any) -> bool:
    return is_a(estimator, "lightgbm", "LGBMModel") or is_a(estimator, "lightgbm", "Booster")


def read_lightgbm(
    estimator: Any, columns: TableInputs, cardinalities: tuple[int, ...], call: ModelCall
) -> SumOfProducts:
    """The raw score, one column per class."""
    booster = getattr(estimator, "booster_", estimator)
    dump = booster.dump_model()
    columns = category_codes(columns, dump.get("pandas_categorical") or [])
    require_numbers(columns, describe(estimator))
    k = int(dump["num_tree_per_iteration"])
    scale = k / len(dump["tree_info"]) if dump.get("average_output") and call.quantity != "raw" else 1.0
    left: list[int] = []
    right: list[int] = []
    split: list[int] = []
    values: list[np.ndarray] = []
    roots: list[int] = []
    known: dict[tuple[Any, ...], int] = {}
    features: list[int] = []
    masks: list[np.ndarray] = []

    def new_node() -> int:
        for array, empty in ((left, -1), (right, -1), (split, 0)):
            array.append(empty)
        values.append(np.zeros(k))
        return len(left) - 1

    for number, tree in enumerate(dump["tree_info"]):
        roots.append(new_node())
        stack = [(roots[-1], tree["tree_structure"])]
        while stack:
            at, node = stack.pop()
            if "split_feature" not in node:
                if node.get("leaf_coeff"):
                    raise NotSumOfProducts(f"{describe(estimator)} has linear models in its leaves (linear_tree)")
                values[at][number % k] = scale * node["leaf_value"]
                continue
            key = tuple(
                node[f] for f in ("split_feature", "decision_type", "threshold", "missing_type", "default_left")
            )
            if key not in known:
                known[key] = len(masks)
                features.append(int(columns.source[node["split_feature"]]))
                masks.append(goes_left(node, np.asarray(columns.tables[node["split_feature"]], dtype=np.float64)))
            split[at] = known[key]
            left[at], right[at] = new_node(), new_node()
            stack += [(left[at], node["left_child"]), (right[at], node["right_child"])]
    flat = FlatTrees(np.array(left), np.array(right), np.array(split), np.array(values), np.array(roots))
    return leaf_regions(flat, Splits(np.array(features, dtype=np.int64), tuple(masks)), cardinalities, np.zeros(k))


def goes_left(node: dict[str, Any], table: np.ndarray) -> np.ndarray:
    """Which states go left at a node -> bool (card,)."""
    missing = np.isnan(table)
    if node["decision_type"] == "==":
        categories = [int(part) for part in str(node["threshold"]).split("||")]
        whole = np.where(missing, -1, table).astype(np.int64)
        return np.isin(whole, categories) & (whole >= 0)
    if node["missing_type"] == "NaN":
        return np.where(missing, node["default_left"], table <= node["threshold"])
    values = np.where(missing, 0.0, table)
    below = values <= node["threshold"]
    return np.where(np.abs(values) <= ZERO, node["default_left"], below) if node["missing_type"] == "Zero" else below


def category_codes(columns: TableInputs, stored: list[list[Any]]) -> TableInputs:
    """Pandas categories replaced by the codes that the model gave them while it was trained."""
    remaining = iter(stored)
    tables = []
    for table in columns.tables:
        if not hasattr(table, "categories"):
            tables.append(table)
            continue
        codes = {label: code for code, label in enumerate(next(remaining))}
        tables.append(np.array([codes.get(label, np.nan) for label in table], dtype=np.float64))
    return TableInputs(columns.source, tuple(tables), columns.names, columns.form)
