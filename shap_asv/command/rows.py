"""Which rows of a table are explained, and the words for it that stand on the page.

A sample is systematic: rows are sorted by class and by what the model predicts, and every k-th of them is taken, from a
random one on. Every row is as likely as any other, so that means over the sample estimate means over the table, and
every class and every quantile of the prediction has its share. The first rows of a file are no sample: many are sorted.
"""

import operator as op
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shap_asv.command.request import RowChoice
from shap_asv.command.tables import TypedTable, days_of
from shap_asv.errors import RowsError

_COMPARED = {"=": op.eq, "!=": op.ne, "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}


class Rows(NamedTuple):
    """Positions of rows in their table, and a sentence that says which they are."""

    places: np.ndarray
    words: str


def choose_rows(
    choice: RowChoice, table: TypedTable, strata: np.ndarray, held_out: np.ndarray | None, seed: int
) -> Rows:
    """The rows to explain.

    Parameters
    ----------
    choice : RowChoice
    table : TypedTable
        All columns, so that a condition may look at any of them.
    strata : array (r, s)
        What a sample is spread over: the first column counts first.
    held_out : bool array (r,), optional
        The rows that the model was not trained on, where that is known.
    """
    n = len(table.frame)
    if choice.kind == "places":
        places = np.arange(n)[choice.what] if isinstance(choice.what, slice) else np.array(choice.what)
        beyond = choice.what.start if isinstance(choice.what, slice) else max(choice.what)
        if beyond >= n:
            raise RowsError(f"--rows: there is no row {beyond}; the table has rows 0 to {n - 1}")
        return Rows(places, f"The {_rows(len(places))} that --rows names, of {n:,}{_trained_on(places, held_out)}.")
    pool, what = np.arange(n), f"the {n:,} rows of the table"
    if choice.kind == "held-out":
        if held_out is None:
            raise RowsError(
                "--rows held-out: which rows the model of --model was not trained on is not known; name them: --rows "
                "with a file, positions or a condition on a column"
            )
        pool, what = np.flatnonzero(held_out), f"the {held_out.sum():,} rows that the model was not trained on"
    elif choice.kind == "where":
        pool = np.flatnonzero(_meets(table, *choice.what))
        column, sign, value = choice.what
        what = f"the {len(pool):,} of {n:,} rows with {column} {sign} {value}"
        if not len(pool):
            raise RowsError(f"--rows: no row has {column} {sign} {value}; {_entries(table.frame[column])}")
    count = len(pool) if choice.most is None else choice.most
    if choice.kind == "first":
        pool = pool[:count]
        return Rows(pool, f"The first {_rows(len(pool))} of {what}{_trained_on(pool, held_out)}.")
    if count >= len(pool):
        return Rows(pool, f"All of {what}{'' if choice.kind == 'held-out' else _trained_on(pool, held_out)}.")
    places = systematic(strata[pool], count, np.random.default_rng([seed, n]))
    chosen = np.sort(pool[places])
    trained = "" if choice.kind == "held-out" else _trained_on(chosen, held_out)
    return Rows(chosen, f"{count:,} of {what}, drawn at random, spread evenly over what is predicted{trained}.")


def systematic(strata: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Every k-th of the rows (r, s) sorted by strata, ties at random, from a random one on: ``count`` positions.

    >>> systematic(np.array([[1], [0], [1], [0]]), 2, np.random.default_rng(0)).size
    2
    """
    order = np.lexsort((rng.random(len(strata)), *strata.T[::-1]))
    return np.asarray(order[((rng.random() + np.arange(count)) * len(strata) / count).astype(int)])


def strata_of(target: pd.Series, predicted: np.ndarray) -> np.ndarray:
    """Classes, then predictions (r,) or (r, k): what a sample of rows is spread over."""
    codes = np.zeros(len(target)) if target.dtype.kind in "iuf" else pd.factorize(target, sort=True)[0]
    first = predicted.reshape(len(predicted), -1)
    return np.column_stack([codes, first[:, -1] if first.shape[1] <= 2 else first.argmax(axis=1)])


def _rows(count: int) -> str:
    return f"{count:,} row{'s' if count != 1 else ''}"


def _trained_on(places: np.ndarray, held_out: np.ndarray | None) -> str:
    if held_out is None:
        return "; whether the model was trained on them is not known here"
    fresh = int(held_out[places].sum())
    if fresh == len(places):
        return "; the model was trained on none of them"
    return f"; the model was trained on {len(places) - fresh:,} of them"


def _meets(table: TypedTable, column: str, sign: str, text: str) -> np.ndarray:
    entries = known = table.frame[column]
    value: Any = text
    if column in table.dates:
        try:
            value = days_of(pd.Series([text]), table.dates[column])[0]
        except ValueError as error:
            raise RowsError(f"--rows: {column} holds dates, and {text!r} is none: {error}") from None
    elif entries.dtype.kind in "iuf":
        try:
            value = float(text)
        except ValueError:
            raise RowsError(f"--rows: {column} holds numbers, and {text!r} is none") from None
    elif sign not in ("=", "!="):
        raise RowsError(f"--rows: {column} holds no numbers, so that {sign} says nothing; = and != do")
    else:
        entries = entries.astype(str)
    return np.asarray(_COMPARED[sign](entries, value) & known.notna())


def _entries(column: pd.Series) -> str:
    if column.dtype.kind in "iuf":
        return f"it goes from {column.min():g} to {column.max():g}"
    return f"it holds {', '.join(map(str, column.dropna().unique()[:8]))}"
