"""How a file of a table is written: separator, decimal sign, encoding, index, names of columns.

The standard library only, but for workbooks and parquet, so that a wrong name is answered at once.
"""

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from re import fullmatch

from shap_asv.errors import RowsError, TableError, did_you_mean, nearest

#: Endings of files that are read as tables, and of those that only pandas can read.
TABLES = (".csv", ".tsv", ".txt", ".csv.gz", ".xlsx", ".xls", ".parquet")
_BINARY = (".xlsx", ".xls", ".parquet")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: Lines that are looked at for the separator and the decimal sign.
_LOOKED_AT = 50


@dataclass(frozen=True)
class Layout:
    """How a table is written.

    Attributes
    ----------
    path : Path
    names : tuple of str
        The columns, the index among them.
    index : str or None
        The column that is left out because it names or counts the rows.
    sep, encoding, decimal : str
        Of text; ``sep`` is empty for a workbook or a parquet file.
    notes : tuple of str
        What was recognised, in words.
    """

    path: Path
    names: tuple[str, ...]
    index: str | None
    sep: str = ""
    encoding: str = "utf-8-sig"
    decimal: str = "."
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns without the index."""
        return [name for name in self.names if name != self.index]


def read_layout(path: Path, sep: str | None = None, index: str | None = None) -> Layout:
    """Look at the beginning of a file. ``index`` is the name of a column, or "none" for a table without one."""
    if not path.is_file():
        raise RowsError(f"there is no file {str(path)!r}{nearby(path)}")
    notes: list[str] = []
    encoding, decimal = "", "."
    if path.name.lower().endswith(_BINARY):
        header, sep = _names_by_pandas(path), ""
    else:
        encoding = _encoding_of(path)
        if encoding == "cp1252":
            notes.append(f"{path} is not written in UTF-8: read as Windows-1252.")
        lines = _first_lines(path, encoding)
        if not lines:
            raise TableError(f"{path} is empty; its first line should name the columns")
        sep = sep or _separator_of(lines)
        header, *rows = _cells(lines, sep)
        if rows and all(len(row) == len(header) + 1 for row in rows):
            header = ["", *header]  # as R writes it: the names of the rows have no name
        if sep != "," and _has_decimal_commas(rows):
            decimal = ","
        if sep != ",":
            also = ", decimals written with a comma" if decimal == "," else ""
            notes.append(f"Columns are separated by {_SEPARATORS.get(sep, repr(sep))}{also}.")
    names = [name.strip() for name in header]
    unnamed = names[0] in ("", "Unnamed: 0")
    names = [name or f"column {k}" for k, name in enumerate(names, start=1)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TableError(f"{path} has the column {twice[0]!r} twice; rename one of them")
    if index is not None and index != "none" and index not in names:
        hint = did_you_mean(index, names, f"its columns are {', '.join(names)}")
        raise TableError(f"--index: {path} has no column {index!r}; {hint}")
    if index is None and unnamed and len(names) > 1:
        index = names[0]
        notes.append("The first column has no name: taken for an index and left out (--index none keeps it).")
    index = None if index == "none" else index
    return Layout(path, tuple(names), index, sep, encoding, decimal, tuple(notes))


def read_lines(path: Path) -> list[list[str]]:
    """The cells of a file of edges, line by line, without empty lines."""
    if not path.is_file():
        raise RowsError(f"there is no file {str(path)!r}{nearby(path)}")
    lines = [line for line in _lines(path, _encoding_of(path)) if line.strip()]
    return list(_cells(lines, _separator_of(lines[:_LOOKED_AT]))) if lines else []


def nearby(path: Path) -> str:
    """The end of an error about a file that is not there: the one beside it that looks like it."""
    folder = path.parent
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    near = nearest(path.name, names)
    return "" if near is None else f"; did you mean {str(folder / near)!r}?"


def _encoding_of(path: Path) -> str:
    with open(path, "rb") as stream:
        if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    if path.name.lower().endswith(".gz"):
        return "utf-8-sig"
    try:
        with open(path, encoding="utf-8-sig") as text:
            while text.read(2**20):
                pass
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _lines(path: Path, encoding: str) -> Iterator[str]:
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding=encoding, newline="") as stream:
        yield from stream


def _first_lines(path: Path, encoding: str) -> list[str]:
    lines: list[str] = []
    for line in _lines(path, encoding):
        if line.strip():
            lines.append(line)
        if len(lines) == _LOOKED_AT:
            break
    return lines


def _separator_of(lines: Sequence[str]) -> str:
    """The sign that cuts the header into most columns, and the other lines into as many (one more: row names)."""
    best, most = ",", 1
    for sep in _SEPARATORS:
        header, *rows = [len(cells) for cells in _cells(lines, sep)]
        if header > most and all(cells in (header, header + 1) for cells in rows):
            best, most = sep, header
    return best


def _cells(lines: Iterable[str], sep: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=sep, skipinitialspace=True)


def _has_decimal_commas(rows: Sequence[Sequence[str]]) -> bool:
    cells = [cell.strip() for row in rows for cell in row]
    return any(fullmatch(r"[+-]?\d+,\d+", cell) for cell in cells) and not any(
        fullmatch(r"[+-]?\d+\.\d+", cell) for cell in cells
    )


def _names_by_pandas(path: Path) -> list[str]:
    import pandas as pd

    try:
        frame = pd.read_parquet(path) if path.suffix.lower() == ".parquet" else pd.read_excel(path, nrows=0)
    except ImportError as error:
        needed = {".xlsx": "openpyxl", ".xls": "xlrd", ".parquet": "pyarrow"}[path.suffix.lower()]
        raise TableError(
            f"pandas reads {path} by a package that is not installed: pip install {needed}, or write the table as CSV "
            f"({error})"
        ) from None
    except Exception as error:  # whatever the file does to its reader
        raise TableError(f"{path} cannot be read: {error}") from None
    return [str(name) for name in frame.columns]
