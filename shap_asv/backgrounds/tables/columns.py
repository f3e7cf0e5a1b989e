"""The columns of a user's table, one coding each: numbers as they are, categories by position.

See :mod:`shap_asv.backgrounds.tables.codec` for what the codes mean.
"""

import datetime
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shap_asv.backgrounds.discrete.states.ranking import low_to_high
from shap_asv.errors import RowsError, TableError, UnknownStateError, listed, nearest

if TYPE_CHECKING:
    import pandas as pd

MISSING = np.inf
_EXACT = 2**53  # integers past this are not all floats


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


class Column(Protocol):
    """One column's coding; ``values`` are any sequence of raw entries, ``codes`` float64 entries of rows."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> ColumnKind: ...
    def read(self, values: Any) -> np.ndarray: ...
    def restore(self, codes: np.ndarray) -> Any: ...
    def labels(self, codes: np.ndarray) -> np.ndarray: ...
    def check(self, codes: np.ndarray) -> None: ...


# --- numbers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers as they are, ``+inf`` where missing."""

    name: str
    kind: ColumnKind
    dtype: Any

    @property
    def can_miss(self) -> bool:
        return not isinstance(self.dtype, np.dtype) or self.dtype.kind == "f"

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
            if not self.can_miss:
                raise self._refused(missing, codes, f"missing; the column was learned as {self.dtype}, without gaps")
            codes[missing] = MISSING
        return codes

    def _as_floats(self, values: Any) -> np.ndarray:
        if getattr(getattr(values, "dtype", None), "kind", "O") in "mM":
            # pandas would count them in nanoseconds
            raise RowsError(f"column {self.name!r} holds numbers; the rows have {values.dtype} there")
        try:
            if hasattr(values, "to_numpy"):
                return values.to_numpy(dtype=float, na_value=np.nan, copy=True)
            return np.array(values, dtype=float)
        except (TypeError, ValueError):
            for r, value in enumerate(values):
                try:
                    float(value)
                except (TypeError, ValueError):
                    if not _is_missing(value):
                        raise RowsError(
                            f"column {self.name!r} holds numbers; row {r} has {value!r} ({type(value).__name__})"
                        ) from None
            return np.array([np.nan if _is_missing(value) else float(value) for value in values])

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

    def check(self, codes: np.ndarray) -> None:
        bad = np.isnan(codes) | np.isneginf(codes)
        if not self.can_miss:
            bad |= np.isposinf(codes)
        if bad.any():
            raise RowsError(f"column {self.name!r}: {codes[bad][0]} is not the code of a number")


# --- categories ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """Positions in ``categories``; ``palette`` holds these in the column's own dtype, and then what is missing."""

    name: str
    kind: ColumnKind
    categories: tuple[Hashable, ...]
    palette: Any

    @property
    def can_miss(self) -> bool:
        return len(self.palette) > len(self.categories)

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
        if missing.any() and not self.can_miss:
            r = int(np.flatnonzero(missing)[0])
            raise RowsError(
                f"column {self.name!r}, row {r} is missing; the column was learned as "
                f"{np.asarray(self.palette).dtype}, without gaps"
            )
        return result.astype(float)

    def restore(self, codes: np.ndarray) -> Any:
        return self.palette.take(codes.astype(np.intp))

    def labels(self, codes: np.ndarray) -> np.ndarray:
        shown = np.empty(len(self.categories) + 1, dtype=object)
        shown[:-1] = self.categories
        shown[-1] = np.nan
        return shown[codes.astype(np.intp)]

    def check(self, codes: np.ndarray) -> None:
        bad = ~((codes >= 0) & (codes < len(self.palette)) & (codes == np.floor(codes)))
        if bad.any():
            raise RowsError(
                f"column {self.name!r}: {codes[bad][0]} is not a code of its {len(self.categories)} categories"
            )


# --- learning -----------------------------------------------------------------------------------------------


def learn_column(name: str, values: "pd.Series") -> Column:
    """The coding of one column; its dtype decides, see the module."""
    import pandas as pd
    from pandas.api import types

    dtype = values.dtype
    missing = bool(values.isna().any())
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        raise _datetime_refused(name, dtype)
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
    for label in distinct:
        if isinstance(label, datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64):
            raise _datetime_refused(name, type(label).__name__)
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


def _datetime_refused(name: str, dtype: object) -> TableError:
    return TableError(
        f"column {name!r} holds datetimes ({dtype}); turn it into what the model should see, such as "
        f"table[{name!r}].dt.month or the days since the first one"
    )


def _is_missing(value: object) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


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
