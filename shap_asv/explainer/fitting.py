"""A table meets a problem: its columns put in the problem's order, its states turned into codes.

Under a network the rows are codes and their labels are kept for display; over a matrix the rows are the model's own
inputs.
"""

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.errors import RowsError, UnknownStateError
from shap_asv.explainer.matrices import numbered_features
from shap_asv.explainer.rows import Table


def names_of(problem: Problem, given: Sequence[str] | None) -> list[str]:
    """The features' names; ``given`` are those that the user passed."""
    if isinstance(problem.background, DiscreteBackground):
        return list(problem.background.features)
    if problem.order is not None:
        return [str(name) for name in problem.order.features]
    return list(problem.features) if given is None else list(given)


def display_names(problem: Problem, given: Sequence[str] | None, table: Table) -> list[str]:
    """The names that a plot shows: over a matrix without names, those of X."""
    names = names_of(problem, given)
    over_matrix = not isinstance(problem.background, DiscreteBackground)
    if over_matrix and table.columns is not None and not set(table.columns) & set(names):
        return table.columns
    return names


def fit_rows(
    problem: Problem, table: Table, given: Sequence[str] | None, encoded: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows for the backends, and data and display data for the plots; ``encoded`` when there is an encoder."""
    if not isinstance(problem.background, DiscreteBackground):
        array = order_columns(table, names_of(problem, given))
        return array, array, None
    try:
        codes = problem.background.encode(table.frame if table.frame is not None else table.array)
    except UnknownStateError as error:
        if not encoded:
            raise
        raise UnknownStateError(f"{error}; X holds states, encoder= is applied behind the explainer") from None
    problem.background.check_rows(codes)
    return codes, codes.astype(float), problem.background.decode(codes)


def predictions(problem: Problem, rows: np.ndarray) -> np.ndarray:
    """M at the fitted rows (r, k)."""
    if isinstance(problem.background, DiscreteBackground):
        return problem.predictor.predict(rows)
    return problem.predictor.predict(problem.background.dressed(np.array(rows)))


def any_row(problem: Problem) -> np.ndarray:
    """Some row (1, n), for what depends on no row."""
    if isinstance(problem.background, DiscreteBackground):
        return np.zeros((1, problem.n_features), dtype=np.intp)
    data = problem.background.data
    if data is None:
        raise RowsError("this masker has no data to take a row from; explain a row and read base_values instead")
    return np.asarray(data[:1])


def order_columns(table: Table, names: Sequence[str]) -> np.ndarray:
    """The table's values (r, n) with the columns as ``names`` has them.

    Columns of a matrix without names are taken in the order they come in, whatever X calls them.
    """
    if table.frame is not None:
        frame = table.frame
        columns = [str(column) for column in frame.columns]
        if set(columns) & set(names) or list(names) != numbered_features(len(names)):
            _check_columns(columns, names)
            frame = frame.iloc[:, [columns.index(name) for name in names]]
        array = frame.to_numpy()
    else:
        array = np.asarray(table.array)
    if array.shape[1] != len(names):
        raise RowsError(f"X has {array.shape[1]} columns, the background has {len(names)}: {list(names)}")
    return array.astype(float) if array.dtype == bool else array


def _check_columns(columns: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in columns]
    surplus = [column for column in columns if column not in names]
    if missing:
        close = get_close_matches(missing[0], surplus, n=1)
        hint = f"; is its column {close[0]!r} meant?" if close else ""
        raise RowsError(f"X has no column {missing[0]!r}{hint}; the features are {list(names)}")
    if surplus:
        raise RowsError(f"X has the column {surplus[0]!r}, which is no feature; the features are {list(names)}")
