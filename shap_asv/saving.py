"""Results as files that last: explanations, order and plans as JSON, arrays as base64. Reading one runs no code.

A number that is added to the format makes a new version of it; what older versions wrote stays readable.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shap_asv.errors import PersistenceError
from shap_asv.orders import CausalOrder
from shap_asv.orders.reading import Levels
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.orders.uncertain.mixture import weighted_orders

VERSION = 2
KIND = "shap_asv comparison"
#: What is kept of a ``shap.Explanation``.
_ARRAYS = ("values", "base_values", "data", "display_data", "error_std", "main_effects")
_WORDS = ("feature_names", "output_names", "compute_time")


def write_results(path: str | Path, explanations: Mapping[str, Any], order: Any, words: Mapping[str, Any]) -> None:
    """Explanations by name, their order, and whatever else is words, as one JSON file."""
    kept = {
        "kind": KIND,
        "version": VERSION,
        "explanations": {name: _packed(explanation) for name, explanation in explanations.items()},
        "order": [[_packed_order(one), weight] for one, weight in weighted_orders(order)],
        "mixture": isinstance(order, GraphMixture),
        **words,
    }
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(kept, default=_plain), encoding="utf-8")


def read_results(path: str | Path) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """What :func:`write_results` wrote: explanations, order, and the words."""
    try:
        kept = json.loads(Path(path).read_text(encoding="utf-8"))
        known = isinstance(kept, dict) and kept.get("kind") == KIND
    except (UnicodeDecodeError, json.JSONDecodeError):
        known = False
    if not known:
        raise PersistenceError(f"{str(path)!r} holds no comparison: it is no file that Comparison.save wrote")
    if kept["version"] > VERSION:
        raise PersistenceError(
            f"{str(path)!r} has format {kept['version']}, this version of shap_asv reads up to {VERSION}: update it"
        )
    try:
        explanations = {name: _unpacked(one) for name, one in kept.pop("explanations").items()}
        orders = [(_order(one), weight) for one, weight in kept.pop("order")]
    except (KeyError, TypeError, ValueError) as error:
        raise PersistenceError(f"{str(path)!r} is damaged: {type(error).__name__}: {error}") from None
    order: Any = None if not orders else orders[0][0]
    if kept.pop("mixture"):
        order = GraphMixture(*zip(*orders, strict=True))
    return explanations, order, {key: value for key, value in kept.items() if key not in ("kind", "version")}


def _packed(explanation: Any) -> dict[str, Any]:
    arrays = {name: _packed_array(getattr(explanation, name, None)) for name in _ARRAYS}
    words = {name: np.asarray(getattr(explanation, name, None), dtype=object).tolist() for name in _WORDS}
    return {**arrays, **words}


def _unpacked(kept: Mapping[str, Any]) -> Any:
    import shap

    arrays = {name: _array(kept[name]) for name in _ARRAYS}
    return shap.Explanation(**arrays, **{name: kept[name] for name in _WORDS})


def _packed_array(array: Any) -> Any:
    if array is None:
        return None
    array = np.asarray(array)
    if array.dtype.kind in "biuf":
        little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
        text = base64.b64encode(little.tobytes()).decode("ascii")
        return {"dtype": little.dtype.str, "shape": array.shape, "base64": text}
    return {"shape": array.shape, "items": [_plain(item) for item in array.ravel().tolist()]}


def _array(kept: Any) -> np.ndarray | None:
    if kept is None:
        return None
    if "items" in kept:
        array = np.empty(len(kept["items"]), dtype=object)
        array[:] = kept["items"]
        return array.reshape(kept["shape"])
    return np.frombuffer(base64.b64decode(kept["base64"]), dtype=kept["dtype"]).reshape(kept["shape"]).copy()


def _plain(item: Any) -> Any:
    """What JSON knows; numpy's numbers become Python's, all else text."""
    item = item.item() if hasattr(item, "item") else item
    return item if item is None or isinstance(item, bool | int | float | str) else str(item)


def _packed_order(order: CausalOrder) -> dict[str, Any]:
    levels = None if order.levels is None else [order.levels.names, order.levels.confounded]
    return {"features": order.features, "parents": order.parents, "levels": levels}


def _order(kept: Mapping[str, Any]) -> CausalOrder:
    levels = kept["levels"]
    if levels is not None:
        levels = Levels(tuple(map(tuple, levels[0])), tuple(levels[1]))
    return CausalOrder(tuple(kept["features"]), tuple(map(tuple, kept["parents"])), levels)
