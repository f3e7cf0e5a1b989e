"""A user's table as numbers, and back: what the columns of a DataFrame are, and how a row of them is coded.

Inside the house a row is a vector of floats, one entry per column:

- a **number** (float, integer, nullable ``Int64`` / ``Float64``) is itself, and a missing one is ``+inf``. (NaN is
  taken: it is what a *free* entry of evidence looks like.) So a table must not hold infinities.
- a **category** (pandas category, string, bool, nullable ``boolean``, any other object) is its position among the
  column's categories: those of the dtype, in their order, for a pandas category; ``False, True`` for bools; the
  sorted distinct values otherwise. A missing one has a code of its own, past all categories.

``read`` turns a table into such rows, ``inputs`` turns rows into a table with exactly the dtypes that were met when the
codec was learned, so that a model sees what it was fitted with: ``inputs(read(table))`` equals the table.

Dates are refused, as texts too: which number stands for a day (its age, its weekday, its season) is the user's to say.
"""

import datetime
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.backgrounds.discrete.ranking import low_to_high
from shap_asv.errors import (
    RowsError,
    TableError,
    UnknownFeatureError,
    UnknownStateError,
    did_you_mean,
    listed,
    nearest,
)
from shap_asv.frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd

MISSING = np.inf
#: A text that is a date, with or without a time of day.
DATE = (
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}"
    r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
#: Different texts that are dates and a category all the same. (Not a share: parts of a table are read like the table.)
MOST_DATES = 20
_EXACT = 2**53  # integers past this are not all floats
_NO_GAPS = "and the table behind the background has no gaps there; fill it in, or learn from a table that has some"


@dataclass(frozen=True)
class ColumnKind:
    """What a column is, as far as a distribution over it is concerned.

    Attributes
    ----------
    category : bool
        Codes without a distance between them, rather than numbers.
    n_codes : int
        Number of codes of a category, the one for missing included if the column had any missing; 0 for numbers.
    whole : bool
        Numbers that are all integers by dtype.
    missing : bool
        Whether any entry was missing in the table that the codec was learned from.
    """

    category: bool
    n_codes: int = 0
    whole: bool = False
    missing: bool = False


# --- numbers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers as they are, ``+inf`` where missing."""

    name: str
    kind: ColumnKind
    dtype: Any

    def read(self, values: Any) -> np.ndarray:
        codes = self._as_floats(values)
        infinite = np.isinf(codes)
        if infinite.any():
            raise self._refused(infinite, codes, "an infinity, which no model of a column can draw; drop or clip it")
        missing = np.isnan(codes)
        if self.kind.whole:
            broken = ~missing & (codes != np.rint(codes))
            if broken.any():
                raise self._refused(broken, codes, f"not a whole number; the column was learned as {self.dtype}")
            past = ~missing & (np.abs(codes) > _EXACT)
            if past.any():
                raise self._refused(past, codes, "past 2**53, where floats cannot tell integers apart; shift or scale")
        elif isinstance(self.dtype, np.dtype) and self.dtype != np.float64:
            codes = codes.astype(self.dtype).astype(float)  # as the model will see it
        if missing.any():
            if not self.kind.missing:
                raise self._refused(missing, codes, f"missing, {_NO_GAPS}")
            codes[missing] = MISSING
        return codes

    def _as_floats(self, values: Any) -> np.ndarray:
        import pandas as pd

        if getattr(getattr(values, "dtype", None), "kind", "O") in "mM":
            # pandas would count them in nanoseconds
            raise RowsError(f"column {self.name!r} holds numbers; the rows have {values.dtype} there")
        try:
            if hasattr(values, "to_numpy"):
                return values.to_numpy(dtype=float, na_value=np.nan, copy=True)
            return np.array(values, dtype=float)
        except (TypeError, ValueError):
            numbers = pd.to_numeric(pd.Series(values, dtype=object).reset_index(drop=True), errors="coerce")
            strange = np.flatnonzero(numbers.isna() & ~pd.isna(np.asarray(values, dtype=object)))
            if len(strange):
                value = np.asarray(values, dtype=object)[strange[0]]
                raise RowsError(
                    f"column {self.name!r} holds numbers; row {strange[0]} has {value!r} ({type(value).__name__})"
                ) from None
            return numbers.to_numpy(dtype=float, na_value=np.nan)

    def _refused(self, where: np.ndarray, codes: np.ndarray, why: str) -> RowsError:
        r = int(np.flatnonzero(where)[0])
        return RowsError(f"column {self.name!r}, row {r}: {codes[r]} is {why}")

    def restore(self, codes: np.ndarray) -> Any:
        import pandas as pd

        missing = np.isinf(codes)
        any_missing = bool(missing.any())
        if isinstance(self.dtype, np.dtype):
            if self.kind.whole:
                return np.rint(codes).astype(self.dtype)
            return np.where(missing, np.nan, codes).astype(self.dtype) if any_missing else codes.astype(self.dtype)
        if not any_missing and isinstance(self.dtype, pd.SparseDtype):
            return pd.arrays.SparseArray(codes, dtype=self.dtype)
        numbers = np.where(missing, 0.0, codes) if any_missing else codes
        array_type = self.dtype.construct_array_type()
        if issubclass(array_type, (pd.arrays.IntegerArray, pd.arrays.FloatingArray)):
            numbers = np.rint(numbers) if self.kind.whole else numbers
            return array_type(numbers.astype(self.dtype.numpy_dtype), missing)
        # any other array of numbers (arrow, sparse with gaps): a conversion per distinct number, then a take
        distinct, place = np.unique(np.where(missing, np.nan, codes), return_inverse=True)
        whole = self.kind.whole
        entries = [None if np.isnan(x) else (int(x) if whole else float(x)) for x in distinct]
        return pd.array(entries, dtype=self.dtype).take(place)

    def labels(self, codes: np.ndarray) -> np.ndarray:
        missing = np.isinf(codes)
        if self.kind.whole:
            shown = np.rint(np.where(missing, 0.0, codes)).astype(np.int64).astype(object)
        else:
            shown = codes.astype(object)
        shown[missing] = np.nan
        return shown


# --- categories ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """Positions in ``categories``; ``palette`` holds these in the column's own dtype, and then what is missing."""

    name: str
    kind: ColumnKind
    categories: tuple[Hashable, ...]
    palette: Any

    def read(self, values: Any) -> np.ndarray:
        import pandas as pd

        try:
            codes, distinct = pd.factorize(values if hasattr(values, "dtype") else np.array(values, dtype=object))
        except TypeError:
            raise RowsError(f"column {self.name!r} holds entries that are not hashable; give plain labels") from None
        place = {category: k for k, category in enumerate(self.categories)}
        found = np.array([place.get(label, -1) for label in distinct] + [len(self.categories)], dtype=np.intp)
        result = found[codes]  # factorize says -1 for missing: the last entry
        unknown = result < 0
        if unknown.any():
            r = int(np.flatnonzero(unknown)[0])
            label = distinct[codes[r]]
            raise UnknownStateError(
                f"column {self.name!r}, row {r}: {plain(label)!r} is not one of its categories "
                f"{listed(self.categories)}; learn the background from a table that holds it, or merge it with another"
            )
        missing = codes < 0
        if missing.any() and not self.kind.missing:
            raise RowsError(f"column {self.name!r}, row {int(np.flatnonzero(missing)[0])} is missing, {_NO_GAPS}")
        return result.astype(float)

    def restore(self, codes: np.ndarray) -> Any:
        return self.palette.take(codes.astype(np.intp))

    def labels(self, codes: np.ndarray) -> np.ndarray:
        shown = np.empty(len(self.categories) + 1, dtype=object)
        shown[:-1] = self.categories
        shown[-1] = np.nan
        return shown[codes.astype(np.intp)]


#: ``values`` are any sequence of raw entries, ``codes`` float64 entries of rows.
Column = NumberColumn | CategoryColumn


# --- learning -----------------------------------------------------------------------------------------------


def learn_column(name: str, values: "pd.Series") -> Column:
    """The coding of one column; its dtype decides, see the module."""
    import pandas as pd
    from pandas.api import types

    dtype = values.dtype
    missing = bool(values.isna().any())
    refuse_dates(name, values)
    if isinstance(dtype, pd.CategoricalDtype):
        known = list(dtype.categories)
        palette = pd.Categorical.from_codes([*range(len(known)), -1], dtype=dtype)
        return CategoryColumn(name, ColumnKind(True, len(known) + missing, missing=missing), tuple(known), palette)
    if types.is_bool_dtype(dtype):
        gaps = not isinstance(dtype, np.dtype)
        palette = pd.array([False, True, None], dtype=dtype) if gaps else np.array([False, True])
        return CategoryColumn(name, ColumnKind(True, 2 + missing, missing=missing), (False, True), palette)
    if types.is_complex_dtype(dtype):
        raise TableError(f"column {name!r} holds complex numbers; split them into two columns of real ones")
    if types.is_numeric_dtype(dtype):
        whole = bool(types.is_integer_dtype(dtype))
        column = NumberColumn(name, ColumnKind(False, whole=whole, missing=missing), dtype)
        column.read(values)  # an infinity in the table is an error now, not at the first draw
        return column
    return _learn_labels(name, values, missing)


def _learn_labels(name: str, values: "pd.Series", missing: bool) -> CategoryColumn:
    """Strings and other objects: the distinct ones, from low to high where that is known, else sorted."""
    import pandas as pd

    try:
        distinct = list(pd.unique(values.dropna()))
    except TypeError:
        raise TableError(f"column {name!r} holds entries that are not hashable (lists?); give plain labels") from None
    try:
        distinct = sorted(distinct)
    except TypeError:  # labels of several types have no order of their own
        distinct = sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))
    distinct = [distinct[k] for k in low_to_high(distinct) or range(len(distinct))]
    palette: Any
    if values.dtype == object:
        palette = np.empty(len(distinct) + 1, dtype=object)
        palette[:-1] = distinct
        palette[-1] = values[values.isna()].iloc[0] if missing else np.nan
    else:
        palette = pd.array([*distinct, None], dtype=values.dtype)
    return CategoryColumn(name, ColumnKind(True, len(distinct) + missing, missing=missing), tuple(distinct), palette)


def refuse_dates(name: object, values: "pd.Series") -> None:
    """TableError for a column of dates or times, and of texts that are dates where they are too many for categories."""
    import pandas as pd
    from pandas.api import types

    dtype, reads, what = values.dtype, f"table[{name!r}]", ""
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        what = str(dtype)
    elif types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype):
        known = values.dropna()
        first = known.iloc[0] if len(known) else None
        times = datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64
        if types.is_object_dtype(dtype):
            what = next((type(label).__name__ for label in known if isinstance(label, times)), "")
        dates = isinstance(first, str) and re.fullmatch(DATE, first) and known.astype(str).str.fullmatch(DATE).all()
        if dates and known.nunique() > MOST_DATES:
            what, reads = f"texts such as {first!r}", f"pandas.to_datetime(table[{name!r}])"
    if what:
        raise TableError(
            f"column {name!r} holds datetimes ({what}); turn it into what the model should see, such as "
            f"{reads}.dt.month or the days since the first one"
        )


def plain(value: Any) -> Any:
    """A numpy scalar as the Python value that prints without its type."""
    return value.item() if isinstance(value, np.generic) else value


def places_by_name(columns: Iterable[Any], features: Sequence[str], latent: Sequence[str] = ()) -> list[int]:
    """Where each feature stands among the columns of some rows; a RowsError for one too many, too few, or twice.

    Examples
    --------
    >>> places_by_name(["b", "a"], ["a", "b"])
    [1, 0]
    """
    given = [str(column) for column in columns]
    counts, known = Counter(given), set(features)
    surplus = [name for name in given if name not in known]
    for name in features:
        if counts[name] > 1:
            raise RowsError(f"the rows have {counts[name]} columns called {name!r}; keep one")
        if not counts[name]:
            near = nearest(name, surplus)
            hint = "" if near is None else f"; is its column {near!r} meant?"
            raise RowsError(f"the rows have no column {name!r}{hint}; the features are {listed(features)}")
    if surplus:
        what = "latent, not a feature" if surplus[0] in latent else "not a feature"
        raise RowsError(
            f"the rows have the column {surplus[0]!r}, which is {what}; the features are {listed(features)}"
        )
    place = {name: k for k, name in enumerate(given)}
    return [place[name] for name in features]


# --- a table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NamedArray:
    """A matrix of numbers (r, n) whose columns somebody has named; models still take a matrix."""

    array: np.ndarray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if np.ndim(self.array) == 2 and len(self.names) != np.shape(self.array)[1]:
            raise TableError(
                f"{np.shape(self.array)[1]} columns need as many names, not {len(self.names)}: {listed(self.names)}"
            )

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.array, dtype=dtype) if copy else np.asarray(self.array, dtype=dtype)

    def __getitem__(self, places: Any) -> "NamedArray":
        """Some of the rows."""
        return NamedArray(self.array[places], self.names)


@dataclass(frozen=True, eq=False)
class TableCodec:
    """How the rows of one table are coded; learn one with :meth:`learn`.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the table.
    keys : tuple
        The column labels as they were (names may be numbers), or None for an array.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [30, 41], "smokes": ["no", "yes"], "dose": [0.5, None]})
    >>> codec = TableCodec.learn(table)
    >>> codec.read(table).tolist()
    [[30.0, 0.0, 0.5], [41.0, 1.0, inf]]
    >>> codec.inputs(codec.read(table)).equals(table)
    True
    >>> codec.labels(codec.read(table)).tolist()
    [[30, 'no', 0.5], [41, 'yes', nan]]
    """

    columns: tuple[Column, ...]
    keys: tuple[Hashable, ...] | None
    _array_dtype: Any = None
    _numbered: bool = False

    @classmethod
    def learn(cls, data: Any) -> "TableCodec":
        """From a DataFrame, or from an array of numbers, with names ("Feature 0", ... where nobody named them)."""
        import pandas as pd

        data = as_pandas(data)
        if isinstance(data, pd.DataFrame):
            keys = tuple(data.columns)
            heads = [str(key) for key in keys]
            _check_table(heads, len(data))
            columns = tuple(learn_column(name, data.iloc[:, k]) for k, name in enumerate(heads))
            return cls(columns, keys)
        array = np.asarray(data)
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise TableError(
                f"a table is a DataFrame or a 2-D array of numbers, not {type(data).__name__} of shape {array.shape} "
                f"and dtype {array.dtype}; give a DataFrame for columns of several kinds"
            )
        names = data.names if isinstance(data, NamedArray) else None
        heads = [f"Feature {k}" for k in range(array.shape[1])] if names is None else list(map(str, names))
        _check_table(heads, len(array))
        columns = tuple(learn_column(name, pd.Series(array[:, k])) for k, name in enumerate(heads))
        return cls(columns, None, array.dtype, names is None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> tuple[ColumnKind, ...]:
        return tuple(column.kind for column in self.columns)

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    def read(self, data: Any) -> np.ndarray:
        """Rows float64 (r, n): DataFrame columns by name in any order, array columns by position. O(r n)."""
        import pandas as pd

        data = as_pandas(data)
        if isinstance(data, pd.Series):
            data = data.to_frame().T
        if isinstance(data, pd.DataFrame):
            parts = self._parts(data)
        else:
            array = np.asarray(data)
            array = array[None] if array.ndim == 1 else array
            if array.ndim != 2 or array.shape[1] != self.n_columns:
                raise RowsError(
                    f"rows of shape {array.shape} do not fit {self.n_columns} features: {listed(self.names)}"
                )
            parts = [array[:, k] for k in range(self.n_columns)]
        rows = np.empty((len(data) if isinstance(data, pd.DataFrame) else len(array), self.n_columns))
        for k, (column, part) in enumerate(zip(self.columns, parts, strict=True)):
            rows[:, k] = column.read(part)
        return rows

    def _parts(self, frame: "pd.DataFrame") -> list[Any]:
        given = [str(key) for key in frame.columns]
        if self._numbered and len(given) == self.n_columns and not set(given) & set(self.names):
            return [frame.iloc[:, k] for k in range(len(given))]  # nobody named the columns that were learned
        return [frame.iloc[:, k] for k in places_by_name(given, self.names)]

    def inputs(self, rows: np.ndarray) -> Any:
        """What a model is called with: a DataFrame of the learned dtypes (r, n), or an array of the learned one."""
        import pandas as pd

        rows = np.asarray(rows, dtype=float)
        if self.keys is None:
            whole = all(kind.whole or kind.category for kind in self.kinds)
            return (np.rint(rows) if whole else np.where(np.isinf(rows), np.nan, rows)).astype(self._array_dtype)
        if all(isinstance(column, NumberColumn) and column.dtype == np.float64 for column in self.columns):
            missing = np.isinf(rows)
            plain = np.where(missing, np.nan, rows) if missing.any() else rows.copy()  # a model may write into it
            return pd.DataFrame(plain, columns=pd.Index(list(self.keys)), copy=False)
        # one pass that turns the rows round makes every column contiguous: half the time of strided ones
        turned = np.ascontiguousarray(rows.T)
        parts = {k: column.restore(turned[k]) for k, column in enumerate(self.columns)}
        frame = pd.DataFrame(parts, copy=False)
        frame.columns = pd.Index(list(self.keys))
        return frame

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        """Entries as a reader wants to see them, object (r, n); None where the rows say it all (floats only)."""
        if not any(kind.category or kind.whole for kind in self.kinds):
            return None
        shown = np.empty(np.shape(rows), dtype=object)
        for k, column in enumerate(self.columns):
            shown[:, k] = column.labels(np.asarray(rows, dtype=float)[:, k])
        return shown

    def only(self, names: Iterable[str]) -> "TableCodec":
        """The codec of some of the columns, in the given order."""
        kept = []
        for name in names:
            if name not in self.names:
                hint = did_you_mean(name, self.names, f"there are {listed(self.names)}")
                raise UnknownFeatureError(f"the table has no column {name!r}; {hint}")
            kept.append(self.names.index(name))
        keys = None if self.keys is None else tuple(self.keys[k] for k in kept)
        return TableCodec(tuple(self.columns[k] for k in kept), keys, self._array_dtype, False)


def _check_table(names: list[str], n_rows: int) -> None:
    if not names or not n_rows:
        raise TableError(f"the table has {n_rows} rows and {len(names)} columns; at least one of each is needed")
    for name in names:
        if names.count(name) > 1:
            raise TableError(f"the table has {names.count(name)} columns called {name!r}; give each its own name")
