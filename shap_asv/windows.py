"""From a series, or a panel of series, to rows that a model of forecasts takes: each holds a window of the past.

A row belongs to a date t, the first one that is forecast. It holds columns at lags, ``temp(t-3)``; columns that are
known in advance, such as the day of the week, at the dates that are forecast; and columns that never change. Nothing
else of t or later is in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import networkx as nx
import numpy as np

from shap_asv.arguments import check_count, check_list
from shap_asv.errors import ShapAsvWarning, TableError, TimeError, UnknownFeatureError, did_you_mean, listed, warn_user
from shap_asv.frames import as_pandas
from shap_asv.orders.causal_order import CausalOrder
from shap_asv.orders.time import window_graph
from shap_asv.times import Times, moment_name


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of series as rows of a table.

    Attributes
    ----------
    X : DataFrame
        A row for each window, in the kind of the table; of pandas with the labels of the rows that are forecast.
    y : Series or DataFrame
        The target at the horizon, or one column for each horizon.
    times : Times
        Variable and time of each column.
    rows : int array (n,)
        The row of the table at which the forecast of each window begins: ``table.iloc[windows.rows]``.
    """

    X: Any
    y: Any
    times: Times
    rows: np.ndarray

    def order(self, order: str = "past first", graph: Any = None) -> CausalOrder:
        """The features by time, see :meth:`CausalOrder.from_time`."""
        return CausalOrder.from_time(self.times, order, graph)

    def graph(self, graph: Any = None, memory: float = 1) -> nx.DiGraph:
        """The DAG of a window, for ``StructuralModel.fit(X, graph, shared=times)``.

        A feature depends on its own variable and on the causes of that in ``graph`` (edges between variables) back to
        ``memory`` before it, on causes at its own time, and on static ones. Without ``graph`` it depends on all
        variables at earlier times within ``memory`` and on all static features, and on nothing of its own time.
        """
        return window_graph(self.times, graph, memory)

    def groups(self, by: str = "variable") -> dict[str, list[str]]:
        """Features by ``"variable"`` or by ``"time"``, for ``groups=``; static features stay players of their own."""
        return self.times.groups(by)


def lagged(
    table: Any,
    target: str,
    lags: Any,
    horizon: Any = 1,
    time: str | None = None,
    by: str | None = None,
    known: Iterable[str] = (),
    static: Iterable[str] = (),
    freq: str | None = None,
) -> Windows:
    """Windows of a series, or of a panel of series, as a table for a model, with their targets.

    Parameters
    ----------
    table : DataFrame of pandas, polars, pyarrow, ...
        One row for each date (and each id), sorted by date.
    target : str
        The column to forecast. Windows whose target is missing are left out.
    lags : int, list of int, or dict of str to these
        How long before the forecast columns are seen: 3 is the same as [1, 2, 3]. A dict says it column by column; else
        it holds for all columns that have no other part.
    horizon : int or list of int
        The steps ahead: 1 is the first date after the window, t.
    time : str, optional
        The column of dates or numbers. By default a DatetimeIndex or PeriodIndex of pandas, else rows follow one
        another without a gap.
    by : str, optional
        The column of ids of a panel. No window crosses two ids.
    known : list of str
        Columns that are known in advance, such as the day of the week: seen at the dates that are forecast.
    static : list of str
        Columns that are the same at all dates (of an id).
    freq : str, optional
        How far apart dates are, as pandas has it ("D", "M", ...). By default the commonest difference, of which all
        others have to be multiples: months and quarters need a word.

    Returns
    -------
    Windows

    Raises
    ------
    TimeError
        Dates that are not sorted, twice there, or missing; a lag that is not in the past; series that are too short.

    Notes
    -----
    Where dates are missing, windows that would need them are left out, with a warning that counts both.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"demand": [5.0, 7, 6, 8, 9], "temp": [1.0, 3, 2, 4, 5], "weekday": [0, 1, 2, 3, 4]})
    >>> windows = lagged(table, "demand", lags=2, known=["weekday"])
    >>> print(windows.X.to_string())
       demand(t-2)  temp(t-2)  demand(t-1)  temp(t-1)  weekday(t)
    2          5.0        1.0          7.0        3.0           2
    3          7.0        3.0          6.0        2.0           3
    4          6.0        2.0          8.0        4.0           4
    >>> windows.y.tolist()
    [6.0, 8.0, 9.0]
    >>> windows.order().level_numbers.tolist()
    [0, 0, 1, 1, 2]
    """
    frame = nw.from_native(table, pass_through=True)
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    if not isinstance(frame, nw.DataFrame):
        raise TableError(f"lagged takes a DataFrame with one row for each date, not a {type(table).__name__}")
    known, static = _listed(known, "known"), _listed(static, "static")
    _check_columns(frame.columns, target, known, static, {"time": time, "by": by})
    horizons = _steps(horizon, "horizon")
    back = _lags(lags, [name for name in frame.columns if name not in {*known, *static, time, by}], frame.columns)
    timed = {(name, -lag) for name, own in back.items() for lag in own} | {(k, h - 1) for k in known for h in horizons}
    clock = _Clock.read(frame, time, by, freq)
    _check_static(frame, static, clock)

    ahead = [h - 1 for h in horizons]
    at = {shift: clock.rows_at(shift) for shift in sorted({shift for _, shift in timed} | {*ahead})}
    whole = np.all([found >= 0 for found in at.values()], axis=0)
    clock.warn_of_gaps(whole, min(at), max(at))
    known_targets = ~np.asarray(as_pandas(frame.get_column(target).to_native()).isna())
    rows = np.flatnonzero(whole & np.all([known_targets[at[shift]] for shift in ahead], axis=0))
    if not len(rows):
        raise TimeError(
            f"no window fits into the table: it takes {max(at) - min(at) + 1} dates in a row, without gaps and with a "
            "target at the end; take fewer lags or a nearer horizon"
        )
    in_time = sorted(timed, key=lambda one: (one[1], frame.columns.index(one[0])))
    parts = {moment_name(*one): (one[0], at[one[1]][rows]) for one in in_time}
    targets = {moment_name(target, shift): (target, at[shift][rows]) for shift in ahead}
    y = _gathered(frame, targets, rows)
    if not isinstance(horizon, Iterable):
        y = nw.from_native(y, eager_only=True).get_column(moment_name(target, ahead[0])).alias(target).to_native()
    times = Times.read({**dict.fromkeys(static), **{moment_name(*one): one for one in in_time}})
    return Windows(_gathered(frame, {**{name: (name, rows) for name in static}, **parts}, rows), y, times, rows)


def _gathered(frame: Any, columns: Mapping[str, tuple[str, np.ndarray]], rows: np.ndarray) -> Any:
    """name -> (column of the frame, rows), as a frame of the same kind; of pandas with the labels of ``rows``."""
    if frame.implementation.is_pandas_like():
        native = frame.to_native()
        index = native.index[rows]
        taken = {name: native[own].take(places).set_axis(index) for name, (own, places) in columns.items()}
        return frame.implementation.to_native_namespace().DataFrame(taken)
    series = {name: frame.get_column(own)[places.tolist()].alias(name) for name, (own, places) in columns.items()}
    return nw.from_dict(series, backend=frame.implementation).to_native()


# --- dates ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Clock:
    """How many steps each row is after the first one of its id.

    Attributes
    ----------
    ids : int array (r,)
    steps : int array (r,)
    dates, names : Series
        The dates of the rows, and the ids by number.
    """

    ids: np.ndarray
    steps: np.ndarray
    dates: Any
    names: Any

    @classmethod
    def read(cls, frame: Any, time: str | None, by: str | None, freq: str | None) -> "_Clock":
        import pandas as pd

        ids, names = np.zeros(len(frame), dtype=np.intp), [None]
        if by is not None:
            ids, names = pd.factorize(as_pandas(frame.get_column(by).to_native()))
            if (ids < 0).any():
                raise TableError(
                    f"by={by!r}: the id of row {int(np.argmin(ids))} is missing; fill it in, or drop the row"
                )
        dates = _dates(frame, time)
        if dates is None:
            counted = pd.Series(ids).groupby(ids).cumcount()
            return cls(ids, counted.to_numpy(), counted, names)
        numbers = _numbers(dates, time, freq)
        steps = np.zeros(len(numbers), dtype=np.int64)
        order = np.argsort(ids, kind="stable")
        ahead = np.diff(numbers[order])
        within = ids[order][1:] == ids[order][:-1]
        if (ahead[within] <= 0).any():
            k = int(np.flatnonzero(within & (ahead <= 0))[0])
            first, second = int(order[k]), int(order[k + 1])
            where = f"{dates.iloc[second]} in row {second}" + (f" of {by}={names[ids[second]]!r}" if by else "")
            if ahead[k] == 0:
                hint = "keep one of the two" if by else "keep one of the two, or pass by= for a panel of several series"
                raise TimeError(f"the date {where} is there twice, in row {first}, too; {hint}")
            raise TimeError(
                f"the table is not sorted: {where} comes after {dates.iloc[first]} in row {first}; sort it by "
                f"{[by, time] if by else time!r}"
            )
        distances, counts = np.unique(ahead[within], return_counts=True)
        one = 1 if freq is not None or not len(counts) else distances[counts.argmax()]
        uneven = np.flatnonzero(within & (np.abs(ahead / one - np.rint(ahead / one)) > 1e-6))
        if len(uneven):
            first, second = order[uneven[0]], order[uneven[0] + 1]
            raise TimeError(
                f"the dates {dates.iloc[first]} and {dates.iloc[second]} are not a whole number of steps apart (the "
                "commonest distance is one step); say how far apart dates are, such as freq='M' for months"
            )
        far = np.where(within, np.rint(ahead / one), 0).astype(np.int64)
        run = np.concatenate([[0], np.cumsum(far)])
        starts = np.concatenate([[True], ~within])
        steps[order] = run - np.maximum.accumulate(np.where(starts, run, 0))
        return cls(ids, steps, dates, names)

    def rows_at(self, shift: int) -> np.ndarray:
        """The row of the same id that is ``shift`` steps later than each row, int (r,); -1 where there is none."""
        import pandas as pd

        moments = pd.MultiIndex.from_arrays([self.ids, self.steps])
        return moments.get_indexer(pd.MultiIndex.from_arrays([self.ids, self.steps + shift]))

    def warn_of_gaps(self, whole: np.ndarray, first: int, last: int) -> None:
        """Say how many dates are missing, and how many windows (of dates from ``first`` to ``last``) need them."""
        order = np.lexsort((self.steps, self.ids))
        skipped = np.where(np.diff(self.ids[order]) == 0, np.diff(self.steps[order]) - 1, 0)
        if not skipped.any():
            return
        ends = np.zeros(self.ids.max() + 1, dtype=np.int64)
        np.maximum.at(ends, self.ids, self.steps)
        inside = (self.steps + first >= 0) & (self.steps + last <= ends[self.ids])
        k = order[int(np.flatnonzero(skipped)[0])]
        of = "" if self.names[0] is None else f" of {self.names[self.ids[k]]!r}"
        warn_user(
            f"dates are missing: {int(skipped.sum())}, the first after {self.dates.iloc[k]}{of} (row {k}); "
            f"{int((inside & ~whole).sum())} windows that need them are left out; put rows in for these dates to keep "
            "the windows",
            ShapAsvWarning,
        )


def _dates(frame: Any, time: str | None) -> Any:
    """The column of dates, or an index of dates, as a Series of pandas; None where there is neither."""
    import pandas as pd

    if time is not None:
        return as_pandas(frame.get_column(time).to_native()).reset_index(drop=True)
    index = getattr(frame.to_native(), "index", None)
    return pd.Series(index) if isinstance(index, pd.DatetimeIndex | pd.PeriodIndex) else None


def _numbers(dates: Any, time: str | None, freq: str | None) -> np.ndarray:
    """Dates as numbers: of periods where ``freq`` says how long one is."""
    import pandas as pd
    from pandas.api import types

    name = "the index" if time is None else f"the column {time!r}"
    if dates.isna().any():
        row = int(np.argmax(dates.isna()))
        raise TimeError(f"the date of row {row} is missing in {name}; fill it in, or drop the row")
    if dates.dtype == object:
        dates = pd.Series(pd.to_datetime(dates)) if not isinstance(dates.iloc[0], str) else dates
    if isinstance(dates.dtype, pd.PeriodDtype):
        return np.asarray(dates.astype(np.int64))
    if types.is_datetime64_any_dtype(dates.dtype):
        if freq is None:
            return np.asarray(dates.astype(np.int64))
        try:
            return np.asarray(pd.PeriodIndex(dates.dt.tz_localize(None), freq=freq).astype(np.int64))
        except ValueError as error:
            raise TimeError(f"freq={freq!r} is not a length of time: {error}; use 'D', 'W', 'M', 'Q', ...") from None
    if freq is not None:
        raise TimeError(f"freq={freq!r} is for dates, and {name} holds {dates.dtype}")
    if not types.is_numeric_dtype(dates.dtype):
        raise TimeError(f"{name} holds texts such as {dates.iloc[0]!r}; turn them into dates with pandas.to_datetime")
    return np.asarray(dates, dtype=float)


# --- columns --------------------------------------------------------------------------------------------------------


def _listed(names: Any, argument: str) -> list[str]:
    return [str(name) for name in check_list(names, argument, "names of columns")]


def _check_columns(
    columns: Sequence[str], target: str, known: Sequence[str], static: Sequence[str], single: Mapping[str, str | None]
) -> None:
    parts = [("target", target), *(("known", name) for name in known), *(("static", name) for name in static)]
    parts += [(part, name) for part, name in single.items() if name is not None]
    met: dict[str, str] = {}
    for part, name in parts:
        if name not in columns:
            raise _unknown_column(part, name, columns)
        if name in met and "target" in (met[name], part):
            raise TimeError(f"{name!r} is the target, which is not known before it is there; take it out of {part}=")
        if name in met:
            raise TableError(f"{name!r} is in {met[name]}= and in {part}=; a column has one part")
        met[name] = part


def _unknown_column(part: str, name: Any, columns: Sequence[str]) -> UnknownFeatureError:
    hint = did_you_mean(name, columns, f"the columns are {listed(columns)}")
    return UnknownFeatureError(f"{part}={name!r:.80} is not a column of the table; {hint}")


def _steps(given: Any, name: str) -> list[int]:
    """One number or several, all of at least 1."""
    listed_steps = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
    found = [check_count(step, name, "a number of steps") for step in listed_steps]
    if not found or len(set(found)) < len(found):
        raise TimeError(f"{name}={given!r:.80} {'names none' if not found else 'holds a number twice'}; name each once")
    return sorted(found)


def _lags(lags: Any, by_default: Sequence[str], columns: Sequence[str]) -> dict[str, list[int]]:
    """Column -> its lags."""
    if not isinstance(lags, Mapping):
        return {name: _lags_of(name, lags) for name in by_default}
    for name in lags:
        if name not in columns:
            raise _unknown_column("lags", name, columns)
    return {name: _lags_of(name, own) for name, own in lags.items()}


def _lags_of(name: str, lags: Any) -> list[int]:
    if not isinstance(lags, Iterable):
        return list(range(1, check_count(lags, "lags", "a number of lags") + 1))
    own = list(lags)
    late = [lag for lag in own if isinstance(lag, int | np.integer) and lag < 1]
    if late:
        raise TimeError(
            f"lag {late[0]} of {name!r} is not in the past: the forecast begins at lag 0; put a column that is known "
            "in advance into known=[...]"
        )
    return _steps(own, f"lags of {name!r}")


def _check_static(frame: Any, static: Sequence[str], clock: _Clock) -> None:
    import pandas as pd

    for name in static:
        column = as_pandas(frame.get_column(name).to_native()).reset_index(drop=True)
        several = pd.Series(column).groupby(clock.ids).nunique(dropna=False) > 1
        if several.any():
            of = "" if clock.names[0] is None else f" of {clock.names[int(np.argmax(several))]!r}"
            raise TableError(f"static={name!r} changes in the series{of}; leave it out of static=, and it gets lags")
