"""A user's table as numbers, and back: what the columns of a DataFrame are, and how a row of them is coded.

Inside the house a row is a vector of floats, one entry per column:

- a **number** (float, integer, nullable ``Int64`` / ``Float64``) is itself, and a missing one is ``+inf``. (NaN is
  taken: it is what a *free* entry of evidence looks like.) So a table must not hold infinities.
- a **category** (pandas category, string, bool, nullable ``boolean``, any other object) is its position among the
  column's categories: those of the dtype, in their order, for a pandas category; ``False, True`` for bools; the
  sorted distinct values otherwise. A missing one has a code of its own, past all categories.

``read`` turns a table into such rows, ``inputs`` turns rows into a table with exactly the dtypes that were met when the
codec was learned, so that a model sees what it was fitted with: ``inputs(read(table))`` equals the table.

Datetimes are refused: which number stands for a day (its age, its weekday, its season) is the user's to say.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.backgrounds.tables.columns import Column, ColumnKind, NumberColumn, learn_column, places_by_name
from shap_asv.errors import RowsError, TableError, UnknownFeatureError, did_you_mean, listed
from shap_asv.frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd


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

    def check(self, rows: np.ndarray) -> None:
        """Raise where an entry is not a code of its column."""
        if np.ndim(rows) != 2 or np.shape(rows)[1] != self.n_columns:
            raise RowsError(f"rows of shape {np.shape(rows)} do not fit {self.n_columns} features")
        for k, column in enumerate(self.columns):
            column.check(np.asarray(rows)[:, k])

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
