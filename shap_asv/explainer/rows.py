"""What users hand in as X -> a table with one row per thing to explain.

X may be a DataFrame, a Series, a dict, a 2-D or 1-D array, a list of rows or one flat row. Whether a single row came
in is remembered, because ``shap_values`` answers a single row with a single row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.tables.border import some_rows
from shap_asv.errors import RowsError, UnknownStateError
from shap_asv.frames import as_features, as_pandas, part
from shap_asv.models.inputs import filled
from shap_asv.models.predictor import check_answers
from shap_asv.models.trees.form import absent_entry

#: Rows of a call on which the model is asked again, as they were handed over.
N_CHECKED = 8


@dataclass(frozen=True, eq=False)
class Table:
    """``frame`` where columns have names, else ``array`` (2-D); ``single`` when one bare row came in.

    ``given`` is what came in, where a model could be called with it as it is.
    """

    frame: pd.DataFrame | None
    array: np.ndarray | None
    single: bool
    given: Any = None

    def __len__(self) -> int:
        return len(self.content)

    @property
    def content(self) -> Any:
        """The frame or the array, whichever it is."""
        return self.frame if self.frame is not None else self.array

    @property
    def columns(self) -> list[str] | None:
        return None if self.frame is None else [str(column) for column in self.frame.columns]

    @property
    def n_columns(self) -> int:
        return int(self.content.shape[1])

    def content_for(self, absent: float) -> Any:
        """The content, where ``absent`` stands for the entries that a sparse matrix does not hold."""
        if np.isnan(absent) and hasattr(self.given, "tocsr"):
            return filled(self.given, absent)
        return self.content

    def first(self, n_rows: int, features: Sequence[str]) -> Any:
        """The first rows as they came in, their columns in the order of the features; None where they are no table."""
        if self.given is None or self.single:
            return None
        if hasattr(self.given, "tocsr"):
            return self.given.tocsr()[:n_rows]
        if self.columns is None:
            return self.given[:n_rows]
        names = as_features(self.columns, features)
        by_name = set(names) >= set(features)
        return part(self.given, n_rows, [names.index(name) for name in features] if by_name else slice(None))


def read_table(rows: Any) -> Table:
    """Tabular input of any of the accepted kinds.

    >>> read_table([1, 0, 1]).array
    array([[1, 0, 1]])
    >>> read_table({"smoker": "yes", "age": 40}).single
    True
    """
    rows = _own_matrix(rows)
    single, given, rows = False, rows, as_pandas(rows)
    if isinstance(rows, pd.Series):
        # column by column: the one type of a Series is not that of its values
        rows, single = pd.DataFrame([rows.to_numpy(dtype=object)], columns=rows.index).infer_objects(), True
    elif isinstance(rows, Mapping):
        single = all(np.ndim(value) == 0 for value in rows.values())
        rows = _framed([dict(rows)] if single else dict(rows))
    elif isinstance(rows, (list, tuple)) and rows and all(isinstance(row, (Mapping, pd.Series)) for row in rows):
        rows = _framed(list(rows))
    if isinstance(rows, pd.DataFrame):
        _check_frame(rows)
        return Table(rows, None, single, given if len(np.shape(given)) == 2 else None)
    table = _read_array(rows)
    return replace(table, given=given) if len(np.shape(given)) == 2 and not isinstance(given, list | tuple) else table


def _own_matrix(rows: Any) -> Any:
    """The rows of XGBoost's DMatrix or CatBoost's Pool, with the names that they have."""
    kind, library = type(rows).__name__, type(rows).__module__.split(".")[0]
    if (library, kind) in (("xgboost", "DMatrix"), ("xgboost", "QuantileDMatrix")):
        array, names = filled(rows.get_data(), np.nan), rows.feature_names
    elif (library, kind) == ("catboost", "Pool"):
        if rows.get_cat_feature_indices():
            raise RowsError("a Pool does not hand out its categories; pass the DataFrame that it was made of")
        array, names = np.asarray(rows.get_features()), rows.get_feature_names()
        names = None if len(set(names)) < len(names) or names == [str(k) for k in range(len(names))] else names
    else:
        return rows
    return array if names is None else pd.DataFrame(array, columns=list(names))


def _framed(rows: Any) -> pd.DataFrame:
    try:
        return pd.DataFrame(rows)
    except Exception as error:
        raise RowsError(f"X is not a table: {error}") from None


def _check_frame(frame: pd.DataFrame) -> None:
    if len(frame) == 0:
        raise RowsError("X has no rows; there is nothing to explain")
    if frame.shape[1] == 0:
        raise RowsError("X has no columns; there is nothing to explain")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise RowsError(f"X has the column {twice[0]!r} twice; drop one of them")


def _read_array(rows: Any) -> Table:
    if hasattr(rows, "toarray"):
        rows = rows.toarray()  # scipy's sparse matrices
    if isinstance(rows, np.ma.MaskedArray):
        if np.ma.is_masked(rows):
            raise RowsError("X is a masked array with masked values; fill them in or drop these rows")
        rows = rows.data
    try:
        if isinstance(rows, (list, tuple)) and len({np.size(row) for row in rows if not np.isscalar(row)}) > 1:
            lengths = sorted({int(np.size(row)) for row in rows})
            raise RowsError(
                f"X is not a table: its rows have different lengths, {lengths[0]} and {lengths[-1]} among them"
            )
        if isinstance(rows, (list, tuple)) and any(isinstance(value, str) for value in _leaves(rows)):
            rows = np.array(rows, dtype=object)  # numpy would turn [1, "yes"] into strings
        array = np.asarray(rows)
    except RowsError:
        raise
    except Exception as error:
        raise RowsError(f"X is not a table: {type(error).__name__}: {error}") from None
    if array.ndim == 0:
        raise RowsError(
            f"X is a {type(rows).__name__}, not a table; pass a DataFrame, an array or a list of rows, or one row"
        )
    single = array.ndim == 1
    if single:
        array = array[None, :]
    if array.ndim != 2:
        raise RowsError(f"X has {array.ndim} dimensions; pass a table (rows, features) or one row")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise RowsError(f"X has no rows or no columns (shape {array.shape}); there is nothing to explain")
    return Table(None, array, single)


def _leaves(rows: Any) -> list[Any]:
    return [value for row in rows for value in (row if isinstance(row, (list, tuple, np.ndarray)) else [row])]


# --- a table meets a problem -------------------------------------------------------------------------------------


def fit_rows(problem: Problem, table: Table, encoded: bool) -> np.ndarray:
    """The table as rows of the problem's background; ``encoded`` when there is an encoder."""
    try:
        absent = 0.0 if problem.predictor.states is not None else absent_entry(problem.predictor.call.target)
        rows = problem.background.read(table.content_for(absent))
    except UnknownStateError as error:
        if not encoded:
            raise
        raise UnknownStateError(f"{error}; X holds states, encoder= is applied behind the explainer") from None
    problem.for_any_coalition().background.check(rows)
    check_answers(problem.predictor, rows[:N_CHECKED], table.first(N_CHECKED, problem.background.features))
    return rows


def display_names(problem: Problem, table: Table) -> list[str]:
    """The names that a plot shows: as X spells them, or those of X where the background's columns have none."""
    names, columns = list(problem.background.features), table.columns or []
    spelled = dict(zip(as_features(columns, names), columns, strict=True))
    return [spelled.get(name, name) for name in names] if not columns or set(spelled) & set(names) else columns


def any_row(problem: Problem) -> np.ndarray:
    """Some row (1, n), for what depends on no row."""
    rows = some_rows(problem.background)
    if rows is None:
        raise RowsError("this masker has no data to take a row from; explain a row and read base_values instead")
    return rows[:1]


def shown_players(problem: Problem, rows: np.ndarray, table: Table) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """``data``, ``display_data`` and names of an explanation of rows, with a column for each player.

    A group with one member shows its member. One with several has text in ``display_data``, such as
    ``temp=0.3, hum=0.8``, and NaN in ``data``: no number stands for several, and plots draw NaN in grey.
    """
    players, names = problem.players, display_names(problem, table)
    data, labels = problem.background.shown_numbers(rows), problem.background.labels(rows)
    if players is None:
        return data, labels, names
    if problem.groups is None:  # renamed features
        return data, labels, list(players.names)
    shown = data if labels is None else labels
    texts = np.empty((len(data), len(players)), dtype=object)
    columns = []
    for player in range(len(players)):
        members = players.members(player)
        if len(members) == 1:
            columns.append(_as_numbers(data[:, members[0]]))
            texts[:, player] = shown[:, members[0]]
            continue
        columns.append(np.full(len(data), np.nan))
        for i, row in enumerate(shown[:, members]):
            texts[i, player] = ", ".join(f"{names[v]}={_written(value)}" for v, value in zip(members, row, strict=True))
    return np.column_stack(columns), texts, list(players.names)


def _as_numbers(column: np.ndarray) -> np.ndarray:
    """A column of objects that are all numbers (or bools) as floats; any other as it is."""
    if column.dtype != object or not all(isinstance(value, bool | int | float | np.number) for value in column):
        return column
    return column.astype(float)


def _written(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
