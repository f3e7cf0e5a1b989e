"""Rows as users hold them (state labels) to rows as the house holds them (codes), and back.

A value stands for the state whose label it equals. Where no label equals it, a value that *reads* the same as exactly
one label does: ``1``, ``1.0`` and ``"1"`` are each other's match, and ``True`` matches ``"True"``. Nothing is ever
guessed between two candidates.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from shap_asv.backgrounds.tables.columns import places_by_name, plain
from shap_asv.errors import RowsError, UnknownStateError, listed

#: Rows up to which cells are looked up one by one; pandas is for more.
FEW_ROWS = 16


def encode_rows(
    rows: Any, features: Sequence[str], states: Sequence[Sequence[Hashable]], latent: Sequence[str]
) -> np.ndarray:
    """Codes (r, n) of rows given as DataFrame (columns by name), Series, or array-like in feature order.

    O(r n), vectorised over rows; labels are matched once per distinct value of a column.
    """
    columns = _columns(rows, features, latent)
    codes = np.empty((len(columns[0]), len(features)), dtype=np.int32) if columns else np.empty((0, 0), dtype=np.int32)
    for v, column in enumerate(columns):
        codes[:, v] = _encode_column(column, features[v], states[v])
    return codes


def decode_codes(codes: np.ndarray, states: Sequence[Sequence[Hashable]]) -> np.ndarray:
    """Labels of codes (..., n) as an object array of the same shape."""
    codes = np.asarray(codes)
    labels = np.empty(codes.shape, dtype=object)
    for v, known in enumerate(states):
        table = np.empty(len(known), dtype=object)
        table[:] = list(known)
        labels[..., v] = table[codes[..., v]]
    return labels


def _columns(rows: Any, features: Sequence[str], latent: Sequence[str]) -> list[Any]:
    """One column per feature, in feature order."""
    if hasattr(rows, "columns") and hasattr(rows, "iloc"):
        places = places_by_name(rows.columns, features, latent)
        if len(rows) > FEW_ROWS:
            return [rows.iloc[:, k] for k in places]
        cells = rows.to_numpy(dtype=object)
        return [cells[:, k] for k in places]
    if hasattr(rows, "index") and hasattr(rows, "iloc") and set(map(str, rows.index)) >= set(features):
        return _columns(rows.to_frame().T, features, latent)
    array = rows if isinstance(rows, np.ndarray) else _object_array(rows)
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] != len(features):
        raise RowsError(
            f"rows of shape {array.shape} do not fit {len(features)} features ({', '.join(features)}); "
            "give one column per feature in this order, or a DataFrame with these columns"
        )
    return [array[:, v] for v in range(len(features))]


def _object_array(rows: Any) -> np.ndarray:
    listed = list(rows)
    nested = [list(row) if isinstance(row, (list, tuple, np.ndarray)) else row for row in listed]
    if nested and all(isinstance(row, list) for row in nested):
        if len({len(row) for row in nested}) > 1:
            raise RowsError(f"rows have different lengths: {sorted({len(row) for row in nested})}")
        array = np.empty((len(nested), len(nested[0])), dtype=object)
        for i, row in enumerate(nested):
            array[i] = row
        return array
    flat = np.empty(len(listed), dtype=object)
    flat[:] = listed
    return flat


def _encode_column(column: Any, feature: str, states: Sequence[Hashable]) -> np.ndarray:
    if len(column) <= FEW_ROWS:
        codes = _codes_of_labels(column, states)
        if codes is not None:
            return codes
    import pandas as pd  # here, because the package must be quick to import

    try:
        inverse, distinct = pd.factorize(column)
    except TypeError as error:  # a list, a dict or an array in a cell
        raise RowsError(f"feature {feature!r} holds a value that cannot be a state: {error}") from None
    missing = inverse < 0  # pandas numbers every kind of missing value -1
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise RowsError(
            f"row {row} has no value (NaN) for feature {feature!r}; impute it or drop the row "
            f"(known states: {listed(states)})"
        )
    table = np.empty(len(distinct), dtype=np.int32)
    for i, value in enumerate(distinct):
        code = match_state(value, states)
        if code is None:
            row = int(np.flatnonzero(inverse == i)[0])
            raise UnknownStateError(
                f"row {row}: {plain(value)!r} is not a state of feature {feature!r}; known states: {listed(states)}"
            )
        table[i] = code
    return table[inverse]


def _codes_of_labels(column: Any, states: Sequence[Hashable]) -> np.ndarray | None:
    """Codes of a few words or whole numbers that are states as they stand; None where a closer look is needed."""
    values = column.tolist()
    kind = type(values[0]) if values else None
    if kind not in (str, int) or not all(type(value) is kind for value in values):
        return None
    try:
        codes = [states.index(value) for value in values]
    except ValueError:
        return None
    # 1 == True == 1.0, but they are not the same state
    return np.array(codes, dtype=np.int32) if all(type(states[code]) is kind for code in codes) else None


def match_state(value: Any, states: Sequence[Hashable]) -> int | None:
    """Code of the state that a value stands for, or None.

    Examples
    --------
    >>> match_state("no", ("yes", "no")), match_state(1.0, ("0", "1")), match_state("maybe", ("yes", "no"))
    (1, 1, None)
    """
    value = plain(value)
    tests = (lambda state: type(state) is type(value) and state == value, lambda state: state == value)
    for equal in (*tests, lambda state: str(state) == str(value), lambda state: _same_number(state, value)):
        found = [code for code, state in enumerate(map(plain, states)) if equal(state)]
        if len(found) == 1:
            return found[0]
    return None


def _same_number(one: Any, other: Any) -> bool:
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return False
