"""Reading: whatever the caller calls "explanations" becomes one block of numbers that every plot draws from.

Plots compare *methods* (SHAP, ASV, ...) on the same rows and the same features. This module is the border where that
sameness is checked, so that no plot can put the credit of one patient beside that of another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.explanation import checked_row
from shap_asv.plots.style import feature_label

DEFAULT_NAMES = ("SHAP", "ASV")


@dataclass(frozen=True, eq=False)
class Attributions:
    """``values[m, r, j]`` is what method ``m`` gives feature ``j`` of row ``r``.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods, in the order of drawing.
    values : float64 array (m, rows, n)
    base_values : float64 array (m, rows)
    features : tuple of str
    data : object or float array (rows, n), or None
        What the rows hold: numbers (codes of states for discrete features).
    display : object array (rows, n), or None
        What a reader should see instead of ``data``: labels of states.
    """

    methods: tuple[str, ...]
    values: np.ndarray
    base_values: np.ndarray
    features: tuple[str, ...]
    data: np.ndarray | None
    display: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return self.values.shape[1]

    def row_index(self, row: int) -> int:
        """``row`` as an index from 0; negative counts from the end, as everywhere in Python."""
        return checked_row(row, self.n_rows)

    def value_labels(self, row: int) -> list[str | None]:
        """What row ``row`` holds in each feature, as text; None where the explanations came without data."""
        shown = self.display if self.display is not None else self.data
        if shown is None:
            return [None] * len(self.features)
        return [as_text(value) for value in shown[row]]

    def row_labels(self, texts: Sequence[str | None], width: int = 30) -> list[str]:
        """``Smoker = True``: every feature with what a row holds in it."""
        return [feature_label(feature, text, width) for feature, text in zip(self.features, texts, strict=True)]

    def of_row(self, row: int | None) -> tuple[np.ndarray, list[str | None]]:
        """(values (m, n), labels of what the row holds); of None the means of |value| over all rows, without labels."""
        if row is None:
            return np.abs(self.values).mean(axis=1), [None] * len(self.features)
        index = self.row_index(row)
        return self.values[:, index], self.value_labels(index)


def read_attributions(explanations: Any) -> Attributions:
    """Check explanations against one another and stack them.

    Parameters
    ----------
    explanations : dict of str to shap.Explanation, pair (shap, asv), one shap.Explanation, or a comparison
        A dict names the methods itself. A pair is taken as SHAP and ASV, in this order. An object with a dict
        ``explanations`` (a comparison) stands for that dict.

    Returns
    -------
    Attributions
        Features in the order of the first explanation; others are aligned by name.
    """
    named = _named(explanations)
    blocks = [_read_one(name, explanation) for name, explanation in named.items()]
    first = blocks[0]
    aligned = [first, *(_align(block, first) for block in blocks[1:])]
    display = next((block.display for block in aligned if block.display is not None), None)
    data = next((block.data for block in aligned if block.display is display and block.data is not None), None)
    return Attributions(
        methods=tuple(named),
        values=np.concatenate([block.values for block in aligned]),
        base_values=np.concatenate([block.base_values for block in aligned]),
        features=first.features,
        data=data,
        display=display,
    )


def known_order(explanations: Any, order: Any) -> Any:
    """``order`` if it was given, else the one that a comparison carries along (its ``order``), else None."""
    if order is not None or not isinstance(getattr(explanations, "explanations", None), Mapping):
        return order
    return getattr(explanations, "order", None)


def _named(explanations: Any) -> dict[str, Any]:
    from shap import Explanation

    if not isinstance(explanations, Explanation | Mapping) and isinstance(
        getattr(explanations, "explanations", None), Mapping
    ):
        explanations = explanations.explanations
    if isinstance(explanations, Explanation):
        named = {"attribution": explanations}
    elif isinstance(explanations, Mapping):
        named = {str(name): explanation for name, explanation in explanations.items()}
    elif isinstance(explanations, Sequence) and not isinstance(explanations, str) and len(explanations) == 2:
        named = dict(zip(DEFAULT_NAMES, explanations, strict=True))
    else:
        raise ExplanationError(
            f"explanations must be a dict of name -> shap.Explanation, a pair (shap, asv) or one shap.Explanation, "
            f"not {_describe(explanations)}"
        )
    if not named:
        raise ExplanationError("explanations is empty: give at least one shap.Explanation")
    for name, explanation in named.items():
        if not isinstance(explanation, Explanation):
            raise ExplanationError(f"{name!r} must be a shap.Explanation, not {_describe(explanation)}")
    return named


def _describe(thing: Any) -> str:
    kind = type(thing).__name__
    return (
        f"a {kind} of length {len(thing)}"
        if isinstance(thing, Sequence) and not isinstance(thing, str)
        else f"a {kind}"
    )


def _read_one(name: str, explanation: Any) -> Attributions:
    values = np.asarray(explanation.values, dtype=np.float64)
    names = explanation.feature_names
    _refuse_many_outputs(name, explanation, values)
    values = np.atleast_2d(values)
    n_rows, n_features = values.shape
    if n_rows == 0 or n_features == 0:
        raise ExplanationError(f"{name!r} is empty (values have shape {values.shape}): there is nothing to draw")
    if not np.isfinite(values).all():
        row, feature = np.argwhere(~np.isfinite(values))[0]
        raise ExplanationError(
            f"{name!r} holds {values[row, feature]} at row {row}, feature {feature}: cannot be drawn"
        )
    features = tuple(str(f) for f in names) if names is not None else tuple(f"Feature {j}" for j in range(n_features))
    if len(features) != n_features:
        raise ExplanationError(f"{name!r} has {n_features} values per row but {len(features)} feature names")
    if len(set(features)) != n_features:
        twice = next(f for f in features if features.count(f) > 1)
        raise ExplanationError(f"{name!r} has two features named {twice!r}: rename one")
    base = np.asarray(explanation.base_values if explanation.base_values is not None else 0.0, dtype=np.float64)
    if base.size not in (1, n_rows):
        raise ExplanationError(f"{name!r} has {base.size} base values for {n_rows} row(s)")
    return Attributions(
        methods=(name,),
        values=values[None],
        base_values=np.broadcast_to(base.reshape(-1), (n_rows,))[None],
        features=features,
        data=_as_table(name, "data", explanation.data, values.shape),
        display=_as_table(name, "display_data", explanation.display_data, values.shape),
    )


def _refuse_many_outputs(name: str, explanation: Any, values: np.ndarray) -> None:
    names = explanation.feature_names
    # a row of a multi-output explanation is (features, outputs); its data, or its names, tell it from (rows, features)
    row_of_many = values.ndim == 2 and (
        (explanation.data is not None and np.ndim(explanation.data) == 1)
        or (names is not None and not isinstance(names, str) and len(names) == values.shape[0] != values.shape[1])
    )
    if values.ndim == 3 or row_of_many:
        outputs = explanation.output_names
        known = f" ({', '.join(map(str, outputs))})" if isinstance(outputs, list | tuple) else ""
        raise ExplanationError(
            f"{name!r} explains {values.shape[-1]} outputs{known}; pick one with e[..., k], for example "
            "e[..., 1], or comparison.output(1) of a comparison"
        )
    if values.ndim not in (1, 2):
        raise ExplanationError(f"{name!r} has values of shape {values.shape}; rows x features are needed")


def _as_table(name: str, field: str, table: Any, shape: tuple[int, int]) -> np.ndarray | None:
    if table is None:
        return None
    array = np.asarray(table)
    if array.shape == shape[1:]:
        array = array[None]
    if array.shape != shape:
        raise ExplanationError(f"{name!r} has {field} of shape {array.shape}, but values for {shape[0]} x {shape[1]}")
    return array


def _align(block: Attributions, first: Attributions) -> Attributions:
    """``block`` with its features in the order of ``first``, once both are known to explain the same rows."""
    here, there = first.methods[0], block.methods[0]
    missing = [f for f in first.features if f not in block.features]
    surplus = [f for f in block.features if f not in first.features]
    if missing or surplus:
        parts = [f"{there!r} lacks {', '.join(map(repr, missing))}"] if missing else []
        parts += [f"{here!r} lacks {', '.join(map(repr, surplus))}"] if surplus else []
        raise ExplanationError(f"{here!r} and {there!r} explain different features: {'; '.join(parts)}")
    if block.n_rows != first.n_rows:
        raise ExplanationError(
            f"{here!r} explains {first.n_rows} row(s) and {there!r} {block.n_rows}: explain the same rows with both"
        )
    columns = [block.features.index(f) for f in first.features]
    aligned = Attributions(
        methods=block.methods,
        values=block.values[:, :, columns],
        base_values=block.base_values,
        features=first.features,
        data=None if block.data is None else block.data[:, columns],
        display=None if block.display is None else block.display[:, columns],
    )
    _check_same_rows(first, aligned)
    return aligned


def _check_same_rows(first: Attributions, other: Attributions) -> None:
    """Labels are compared with labels, raw numbers with raw numbers; codes with numbers up to a recoding.

    Another library's explanation of the same rows holds what the model was fed, which is a recoding of our states: a
    feature may have other values, but equal ones must stay equal on one of the two sides.
    """
    if first.display is not None and other.display is not None:
        differs = first.display.astype(str) != other.display.astype(str)
    elif first.data is None or other.data is None:
        return
    elif first.display is None and other.display is None:
        differs = _unequal(first.data, other.data)
    else:
        for j, feature in enumerate(first.features):
            if not _recoded(first.data[:, j], other.data[:, j]):
                raise ExplanationError(
                    f"{first.methods[0]!r} and {other.methods[0]!r} explain different rows: no recoding of {feature!r} "
                    f"turns the data of one into that of the other; explain the same rows, in the same order"
                )
        return
    if differs.any():
        row, j = np.argwhere(differs)[0]
        a, b = ((block.display if block.display is not None else block.data) for block in (first, other))
        assert a is not None
        assert b is not None
        raise ExplanationError(
            f"{first.methods[0]!r} and {other.methods[0]!r} explain different rows: row {row} has "
            f"{first.features[j]} = {as_text(a[row, j])} in one and {as_text(b[row, j])} in the other"
        )


def _unequal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    try:
        return ~np.isclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-6, atol=0, equal_nan=True)
    except (TypeError, ValueError):
        return a.astype(str) != b.astype(str)


def _recoded(a: np.ndarray, b: np.ndarray) -> bool:
    """Is one column a function of the other?"""
    pairs = set(zip(a.astype(str).tolist(), b.astype(str).tolist(), strict=True))
    return len(pairs) in (len({x for x, _ in pairs}), len({y for _, y in pairs}))


def as_text(value: Any) -> str:
    """A value as it stands in a label: 30.0 reads 30, and nothing has more than four significant digits."""
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    if number == round(number, 3) and abs(number) < 1e15:
        text = f"{number:.3f}".rstrip("0").rstrip(".")
    else:
        text = f"{number:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")
