"""A file -> a table with types, as files come: indexes, dates, ids and constants are recognised, and said.

Columns are numbers where all their entries are, dates become days, truth values are ``True`` or ``False``, all else is
text: categories. Numbers also become the states of a network that are intervals.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shap_asv.backgrounds.discrete.ranking import low_to_high, read_interval
from shap_asv.backgrounds.tables.codec import DATE
from shap_asv.command.files import Layout, read_layout
from shap_asv.errors import RowsError, TableError, UnknownStateError

#: Text with more different entries than this, in more than a fifth of the rows, is no category.
MOST_LABELS = 50
FEWEST_IDS = 50
_FORMATS = ("ISO8601", "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y")


class Dates(NamedTuple):
    """How a column of dates was read: its format, and the day that is 0."""

    format: str
    first: pd.Timestamp


class TypedTable(NamedTuple):
    """A table with typed columns, how its dates were read, and what was recognised, in words."""

    frame: pd.DataFrame
    dates: dict[str, Dates]
    notes: list[str]


def read_table(layout: Layout) -> TypedTable:
    """The whole table of a file, without its index."""
    frame, notes = _read(layout), list(layout.notes)
    dates: dict[str, Dates] = {}
    for name in frame.columns:
        if _groups_thousands(frame[name]):
            frame[name] = pd.to_numeric(frame[name].str.replace(",", ""))
            notes.append(f"{name} holds numbers with commas between the thousands: read as numbers.")
        read = _dates_of(frame[name])
        if read is not None:
            dates[name], also = read
            frame[name] = days_of(frame[name], dates[name])
            notes.append(f"{name} holds dates: read as days since {dates[name].first:%Y-%m-%d}{also}.")
    return TypedTable(frame, dates, notes)


def read_rows(path: Path, table: TypedTable, features: Sequence[str]) -> pd.DataFrame:
    """The features of rows in a file of their own, with the types and the dates of the table."""
    rows = _read(read_layout(path))
    missing = [name for name in features if name not in rows.columns]
    if missing:
        raise RowsError(f"{path} has no column {missing[0]!r}; it needs all features: {list(features)}")
    for name in features:
        kind = table.frame[name].dtype
        try:
            entries = days_of(rows[name], table.dates[name]) if name in table.dates else rows[name]
            rows[name] = entries.astype(kind)  # a file of two rows may look like whole numbers
        except (TypeError, ValueError) as error:
            raise RowsError(f"{path}: column {name!r} is not {kind}: {error}") from None
    return rows[list(features)]


def _read(layout: Layout) -> pd.DataFrame:
    path = layout.path
    try:
        if layout.sep:
            frame = pd.read_csv(
                path, sep=layout.sep, encoding=layout.encoding, decimal=layout.decimal, skipinitialspace=True,
                header=0, names=list(layout.names), index_col=False, low_memory=False,
            )  # fmt: skip
        else:
            frame = pd.read_parquet(path) if path.suffix.lower() == ".parquet" else pd.read_excel(path)
            frame.columns = list(layout.names)
    except (ValueError, pd.errors.ParserError) as error:
        raise TableError(f"{path} cannot be read as a table: {error}") from None
    if len(frame) == 0:
        raise TableError(f"{path} has a header and no rows")
    return frame[layout.columns].reset_index(drop=True)


def _groups_thousands(column: pd.Series) -> bool:
    """Whether a column of text is numbers such as 1,234.5."""
    known = column.dropna()
    if column.dtype.kind in "iufbM" or not len(known) or not all(isinstance(entry, str) for entry in known):
        return False
    grouped = known.str.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
    return bool(grouped.any() and (grouped | known.str.fullmatch(r"[+-]?\d+(\.\d+)?")).all())


# --- dates ------------------------------------------------------------------------------------------------------------


def _dates_of(column: pd.Series) -> tuple[Dates, str] | None:
    """How a column of dates is read, and a word where it could be read in another way; None for other columns."""
    if column.dtype.kind == "M":
        return Dates("", pd.to_datetime(column, utc=True).min().normalize()), ""
    known = column.dropna()
    if column.dtype.kind in "iufb" or not len(known):
        return None
    text = known.astype(str)
    if not text.str.fullmatch(DATE).all():
        return None
    found = [(form, days) for form in _FORMATS if (days := _parsed(text, form)) is not None]
    if not found:
        return None
    (form, days), other = found[0], len(found) > 1 and not (found[0][1] == found[1][1]).all()
    also = f", with the month first, as in {text.iloc[0]}" if other and form.startswith("%m") else ""
    return Dates(form, days.min().normalize()), also


def _parsed(text: pd.Series, form: str) -> pd.Series | None:
    """Dates in a format, with times of day where there are any; None where an entry has another format."""
    if not form:
        return pd.to_datetime(text, utc=True)
    forms = [form] if form == "ISO8601" else [form, f"{form} %H:%M", f"{form} %H:%M:%S"]
    for each in forms:
        try:
            return pd.to_datetime(text, format=each, utc=True)
        except ValueError:
            continue
    return None


def days_of(column: pd.Series, dates: Dates) -> pd.Series:
    """Days since the first date; gaps stay gaps."""
    known = column.dropna()
    parsed = _parsed(known if column.dtype.kind == "M" else known.astype(str), dates.format)
    if parsed is None:
        raise ValueError(f"dates in the format of the table, {dates.format}, are needed")
    days = (parsed - dates.first) / pd.Timedelta(days=1)
    whole = len(known) == len(column) and (days == days.round()).all()
    return days.astype(int) if whole else days.reindex(column.index)


# --- what columns are -------------------------------------------------------------------------------------------------


def useless_columns(frame: pd.DataFrame, wanted: Collection[str]) -> tuple[list[str], list[str]]:
    """Columns that say nothing of a row, or only its name: those to leave out, and sentences about them and others.

    Nothing is left out that is ``wanted``: named by the user.
    """
    groups: dict[str, list[str]] = {}
    notes = []
    for place, name in enumerate(frame.columns):
        column = frame[name]
        kind = column.dtype.kind
        count = int(column.nunique())
        if column.isna().all():
            groups.setdefault("they are empty", []).append(name)
        elif name in wanted:
            continue
        elif count == 1 and not column.isna().any():
            groups.setdefault("they are the same in every row", []).append(name)
        elif kind not in "iufb" and count > MOST_LABELS and count > len(frame) / 5:
            groups.setdefault("nearly every row has a text of its own there", []).append(name)
        elif kind in "iu" and column.is_unique and len(frame) >= FEWEST_IDS:
            if place == 0 and column.iloc[0] in (0, 1) and (column.diff().iloc[1:] == 1).all():
                groups.setdefault("they count the rows", []).append(name)
            else:
                notes.append(f"{name} is another whole number in every row: if it only names the rows, "
                             f"--drop {quoted(name)}.")  # fmt: skip
    out = [f"Left out, because {why}: {', '.join(names)}." for why, names in groups.items()]
    return [name for names in groups.values() for name in names], out + notes


def check_labels(frame: pd.DataFrame) -> None:
    """Raise for text that is not a category and was named by the user, so that it is not simply left out."""
    for name in frame.columns:
        count = int(frame[name].nunique())
        if frame[name].dtype.kind not in "iufb" and count > MOST_LABELS and count > len(frame) / 5:
            example = frame[name].dropna().iloc[0]
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


def describe(frame: pd.DataFrame) -> str:
    """How many rows, and columns of which kinds."""
    kinds = {"numbers": 0, "truth values": 0, "categories": 0}
    for name in frame.columns:
        kind = frame[name].dtype.kind
        kinds["truth values" if kind == "b" else "numbers" if kind in "iuf" else "categories"] += 1
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    gaps = int(frame.isna().any(axis=1).sum())
    return f"{len(frame):,} rows, {frame.shape[1]} columns ({counted}){f', {gaps:,} rows with gaps' if gaps else ''}"


def with_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Text as categories, from low to high where that is known, else sorted: what gradient boosting takes."""
    typed = frame.copy()
    for name in frame.columns:
        if frame[name].dtype.kind in "iufb":
            continue
        labels = sorted(map(str, frame[name].dropna().unique()))
        ranked = low_to_high(labels)
        labels = labels if ranked is None else [labels[k] for k in ranked]
        entries = frame[name].astype(object).where(frame[name].isna(), frame[name].astype(str))
        typed[name] = pd.Categorical(entries, categories=labels, ordered=ranked is not None)
    return typed


# --- states of a network ----------------------------------------------------------------------------------------------


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


def _state_of(number: float, name: str, known: Sequence[str], intervals: Sequence[Any]) -> str:
    for state, interval in zip(known, intervals, strict=True):
        if number in interval:
            return state
    raise UnknownStateError(f"{number} of {name!r} lies in none of its states {', '.join(known)}")


def _known_state(text: str, name: str, known: Sequence[str], otherwise: str | None = None) -> str:
    found = next((each for each in (text, otherwise) if each in known), None)
    if found is None:
        raise UnknownStateError(f"{text!r} is not a state of {name!r}; its states are {', '.join(known)}")
    return found
