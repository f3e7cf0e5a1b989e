"""What an experiment is: a run that returns a result, and a drawing of that result.

An :class:`Experiment` is one row of the table in ``benchmarks/registry.py``. Its ``run(size, progress)`` measures and
returns a :class:`Result`, which holds tables of plain numbers and texts, and claims with a verdict each; its
``draw(result)`` turns that result into plots and measures nothing. Both can be repeated apart: results are stored, and
the page of the documentation is made from what is stored.

A table named ``against_paper`` (columns :data:`AGAINST_PAPER`) is gathered from all experiments into one table at the
top of that page. Its last column holds a ratio, or :data:`THE_SAME`, or :data:`UP_TO` and a ratio where the paper gives
a bound only; any other text counts as worse. A figure that the paper does not print is marked "(derived)".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Size = Literal["full", "small"]
Cell = str | int | float | bool | None
Item = TypeVar("Item")

AGAINST_PAPER = ("what", "unit", "paper", "ours", "times better")
THE_SAME, UP_TO = "the same", "up to "


@dataclass(frozen=True)
class Claim:
    """A claim, what it asks for, what came out, and whether it holds (None: nothing is asked, or it cannot be told)."""

    text: str
    asked: str
    measured: str
    holds: bool | None = None


@dataclass(frozen=True)
class Table:
    """Rows of plain cells under named columns; written as ``<experiment>_<name>.csv``.

    ``caption`` stands above it on the page; ``on_page=False`` keeps a long table to its CSV file.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    on_page: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rows", tuple(tuple(map(_plain, row)) for row in self.rows))
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: row {row} has {len(row)} cells, columns are {self.columns}")

    def column(self, name: str) -> list:
        """The cells of one column, from top to bottom."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class Result:
    """What one experiment found: tables, claims, and notes (sentences of Markdown) that a reader needs beside them."""

    name: str
    title: str
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()

    def table(self, name: str) -> Table:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)


@dataclass(frozen=True)
class Plot:
    """A drawn figure: the end of its file name (``<experiment>_<name>.png``) and the caption under it."""

    name: str
    caption: str
    figure: Figure


def draw_nothing(result: Result) -> list[Plot]:
    """For experiments whose tables say it all."""
    return []


@dataclass(frozen=True)
class Experiment:
    """A measurement that can be repeated by name: ``python -m benchmarks <name>``.

    Attributes
    ----------
    name : str
        Names the command and the files; letters and underscores.
    title : str
        The heading of its section.
    run : callable
        ``run(size, progress) -> Result``. ``size="full"`` takes minutes, ``"small"`` a few seconds at most; seeds are
        fixed, so that all but times come out the same again.
    draw : callable
        ``draw(result) -> sequence of Plot``, from the result alone.
    about : str
        A paragraph of Markdown: what is measured, and how.
    """

    name: str
    title: str
    run: Callable[[Size, Progress], Result]
    draw: Callable[[Result], Sequence[Plot]] = draw_nothing
    about: str = ""


class Progress:
    """Progress bars of one experiment; none when ``shown`` is false."""

    def __init__(self, shown: bool = True) -> None:
        self.shown = shown

    def over(self, items: Iterable[Item], what: str) -> Iterator[Item]:
        """The items one by one, under a bar named ``what``."""
        from tqdm import tqdm

        listed = list(items)
        yield from tqdm(listed, desc=what, disable=not self.shown, leave=False, file=sys.stderr)


def _plain(cell: object) -> Cell:
    """numpy's numbers as Python's, so that JSON takes them."""
    if cell is None or isinstance(cell, str | bool | int | float):
        return cell if not isinstance(cell, float) else float(cell)
    item = getattr(cell, "item", None)
    if item is None:
        raise TypeError(f"a table holds numbers and texts, not {type(cell).__name__}: {cell!r}")
    return item()
