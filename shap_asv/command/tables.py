"""A CSV file -> a table with types, and numbers -> the interval states of a network.

Columns are numbers where all their entries are, truth values where all are ``True`` or ``False``, and text elsewhere.
Text with very many different entries is a name or a date, not a category, and is refused by name.
"""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from shap_asv.backgrounds.discrete.ranking import low_to_high, read_interval
from shap_asv.command.request import RowChoice
from shap_asv.errors import RowsError, TableError, UnknownStateError

MOST_LABELS = 50
FEWEST_IDS = 50


def read_table(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """The table with typed columns, those that are asked for."""
    try:
        table = pd.read_csv(path, encoding="utf-8-sig", skipinitialspace=True)
    except (ValueError, pd.errors.ParserError) as error:
        raise TableError(f"{path} cannot be read as CSV: {error}") from None
    table.columns = [str(name).strip() for name in table.columns]
    if len(table) == 0:
        raise TableError(f"{path} has a header and no rows")
    return table if columns is None else table[list(columns)]


def check_labels(table: pd.DataFrame) -> None:
    """Raise for text that is not a category: more than 50 different entries, in more than a fifth of the rows."""
    for name in table.columns:
        if table[name].dtype.kind not in "OTUS":
            continue
        count = int(table[name].nunique())
        if count > MOST_LABELS and count > len(table) / 5:
            example = table[name].dropna().iloc[0]
            raise TableError(
                f"column {name!r} holds {count} different texts such as {example!r}; turn it into numbers or a few "
                f"categories, or leave it out: --drop {quoted(name)}"
            )


def quoted(name: str) -> str:
    """A name as the command line wants it.

    >>> print(quoted("age"), quoted("visit date"))
    age "visit date"
    """
    return f'"{name}"' if " " in name else name


def likely_ids(table: pd.DataFrame) -> list[str]:
    """Columns of whole numbers that are all different: names of rows, more often than causes of anything."""
    whole = [str(name) for name in table.columns if table[name].dtype.kind in "iu"]
    return [name for name in whole if len(table) >= FEWEST_IDS and table[name].is_unique]


def describe(table: pd.DataFrame) -> str:
    """How many rows, and columns of which kinds."""
    kinds = {"numbers": 0, "truth values": 0, "categories": 0}
    for name in table.columns:
        kind = table[name].dtype.kind
        kinds["truth values" if kind == "b" else "numbers" if kind in "iuf" else "categories"] += 1
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    gaps = int(table.isna().any(axis=1).sum())
    return f"{len(table):,} rows, {table.shape[1]} columns ({counted}){f', {gaps:,} rows with gaps' if gaps else ''}"


def with_categories(table: pd.DataFrame) -> pd.DataFrame:
    """Text as categories, from low to high where that is known, else sorted: what gradient boosting takes."""
    typed = table.copy()
    for name in table.columns:
        if table[name].dtype.kind in "iufb":
            continue
        labels = sorted(map(str, table[name].dropna().unique()))
        labels = [labels[k] for k in low_to_high(labels) or range(len(labels))]
        typed[name] = pd.Categorical(table[name].astype(object), categories=labels)
    return typed


def read_rows(path: Path, features: list[str]) -> pd.DataFrame:
    """The features of rows in a file of their own."""
    rows = read_table(path)
    missing = [name for name in features if name not in rows.columns]
    if missing:
        raise RowsError(f"{path} has no column {missing[0]!r}; it needs all features: {features}")
    return rows[features]


def choose_rows(choice: RowChoice, table: pd.DataFrame) -> pd.DataFrame:
    """The rows to explain, from the table or from a file of their own."""
    if isinstance(choice, Path):
        rows = read_rows(choice, list(table.columns))
        for name in table.columns:  # the types are those of the table: a file of two rows may look like whole numbers
            try:
                rows[name] = rows[name].astype(table[name].dtype)
            except (TypeError, ValueError) as error:
                raise RowsError(f"{choice}: column {name!r} is not {table[name].dtype}: {error}") from None
        return rows
    beyond = choice.start if isinstance(choice, slice) else max(choice)
    if beyond >= len(table):
        raise RowsError(f"--rows: there is no row {beyond}; the table has rows 0 to {len(table) - 1}")
    return table.iloc[choice]


def to_states(table: pd.DataFrame, states: Mapping[str, Sequence[Hashable]]) -> pd.DataFrame:
    """Columns as states of a network: numbers fall into the intervals that the states are, all else reads as text."""
    columns = {}
    for name in table.columns:
        known = [str(state) for state in states[name]]
        intervals = [read_interval(state) for state in states[name]]
        column = table[name]
        if column.isna().any():
            row = int(np.flatnonzero(column.isna())[0])
            raise RowsError(
                f"row {row} has no value for {name!r}; a network needs all of them: fill it in or drop the row"
            )
        distinct = column.unique()
        if column.dtype.kind in "iuf" and all(interval is not None for interval in intervals):
            found = [_state_of(number, name, known, intervals) for number in distinct]
        elif column.dtype.kind == "f" and (column == column.round()).all():
            found = [_known_state(str(int(number)), name, known, str(number)) for number in distinct]
        else:
            found = [_known_state(str(value), name, known) for value in distinct]
        columns[name] = column.map(dict(zip(distinct, found, strict=True))).astype(object)
    return pd.DataFrame(columns, index=table.index)


def _state_of(number: float, name: str, known: Sequence[str], intervals: Sequence[object]) -> str:
    for state, interval in zip(known, intervals, strict=True):
        if number in interval:  # type: ignore[operator]
            return state
    raise UnknownStateError(f"{number} of {name!r} lies in none of its states {', '.join(known)}")


def _known_state(text: str, name: str, known: Sequence[str], otherwise: str | None = None) -> str:
    found = next((each for each in (text, otherwise) if each in known), None)
    if found is None:
        raise UnknownStateError(f"{text!r} is not a state of {name!r}; its states are {', '.join(known)}")
    return found
