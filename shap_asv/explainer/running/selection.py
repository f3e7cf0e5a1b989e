"""Which model outputs are explained: the ``outputs`` argument of shap's explainers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shap_asv.errors import UnknownMethodError


def select_outputs(
    arrays: Sequence[np.ndarray | None],
    names: Sequence[str] | None,
    outputs: Any,
    predictions: Callable[[], np.ndarray],
) -> tuple[list[Any], list[str] | None, bool]:
    """Take the chosen outputs from the last axis of each array.

    ``outputs`` may be None (all), a position, a name, a list of either, a slice, a boolean mask, or a shap operation
    such as ``shap.Explanation.argsort.flip[:2]``, which looks at each row's prediction. Returns the arrays, the names
    that are left, and whether the output axis should be dropped.
    """
    k = next(array.shape[-1] for array in arrays if array is not None)
    known = None if names is None else [str(name) for name in names]
    if outputs is None:
        return list(arrays), known, k == 1 and known is None
    if hasattr(outputs, "apply"):
        return _select_by_row(arrays, known, _positions_by_row(outputs, predictions(), k))
    chosen = _positions(outputs, known, k)
    if chosen == []:
        raise UnknownMethodError(f"outputs={outputs!r:.80} picks no output; the model has {k}: {_all(known, k)}")
    if isinstance(chosen, int):
        return [None if a is None else a[..., [chosen]] for a in arrays], None, True
    left = None if known is None else [known[i] for i in chosen]
    return [None if a is None else a[..., chosen] for a in arrays], left, len(chosen) == k == 1 and left is None


def _positions(outputs: Any, names: list[str] | None, k: int) -> int | list[int]:
    if isinstance(outputs, slice):
        return list(range(k))[outputs]
    if isinstance(outputs, (str, int, np.integer)) and not isinstance(outputs, bool):
        return _position(outputs, names, k)
    try:
        items = list(outputs)
    except Exception:
        raise UnknownMethodError(
            f"outputs={outputs!r:.80} is not an output of the model; pass positions or names out of {_all(names, k)}"
        ) from None
    if items and all(isinstance(item, (bool, np.bool_)) for item in items) and len(items) == k:
        return [i for i, item in enumerate(items) if item]
    return [_position(item, names, k) for item in items]


def _position(item: Any, names: list[str] | None, k: int) -> int:
    if isinstance(item, str):
        if names is None or item not in names:
            raise UnknownMethodError(
                f"outputs={item!r} is not an output of the model; its outputs are {_all(names, k)}"
            )
        return names.index(item)
    if isinstance(item, bool) or not isinstance(item, (int, np.integer)) or not -k <= item < k:
        raise UnknownMethodError(f"outputs={item!r:.80} is not an output of the model; it has {k}: {_all(names, k)}")
    return int(item) % k


def _all(names: list[str] | None, k: int) -> list[Any]:
    return list(names) if names is not None else list(range(k))


def _positions_by_row(operation: Any, predictions: np.ndarray, k: int) -> np.ndarray:
    import shap

    way_out = "use an operation that ranks them, e.g. shap.Explanation.argsort.flip[:1] for the largest"
    try:
        picked = [np.atleast_1d(operation.apply(shap.Explanation(row)).values) for row in predictions]
    except Exception as error:
        raise UnknownMethodError(
            f"outputs={operation!r:.80} cannot be applied to outputs ({type(error).__name__}: {error}); {way_out}"
        ) from None
    if not all(row.size for row in picked):
        raise UnknownMethodError(f"outputs={operation!r:.80} picks no output; the model has {k}")
    if any(row.ndim != 1 or row.dtype.kind not in "iu" or (row < -k).any() or (row >= k).any() for row in picked):
        raise UnknownMethodError(f"outputs={operation!r:.80} gives values, not positions of outputs; {way_out}")
    rows = [row.astype(int) for row in picked]
    if len({len(row) for row in rows}) != 1:
        raise UnknownMethodError(
            "outputs= picks a different number of outputs for different rows; pick a fixed number, e.g. [:2]"
        )
    return np.stack(rows)


def _select_by_row(
    arrays: Sequence[np.ndarray | None], names: list[str] | None, positions: np.ndarray
) -> tuple[list[Any], list[str] | None, bool]:
    """positions (r, q): each row has its own outputs; names are kept only where all rows agree."""
    picked = [
        None
        if a is None
        else np.take_along_axis(a, positions.reshape(len(positions), *([1] * (a.ndim - 2)), -1), axis=-1)
        for a in arrays
    ]
    agree = names is not None and (positions == positions[0]).all()
    return picked, [names[i] for i in positions[0]] if agree and names is not None else None, False
