"""Background rows: a matrix, a DataFrame or any of shap's maskers, with shap's own marginal expectation.

    nu(S) = mean over background rows b of M(e_S, b_rest)

A row is what the model takes. Columns of a DataFrame reach the model with the types they had; a matrix may come
without names, and then its columns are called ``Feature 0, Feature 1, ...`` unless the model or X knows better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shap_asv.backgrounds.contract import Conditions
from shap_asv.backgrounds.tables.codec import places_by_name, refuse_dates
from shap_asv.errors import NetworkError, RowsError, ShapAsvWarning, UnknownFeatureError, warn_user


def numbered_features(n: int) -> list[str]:
    """The names of columns that nobody named, as shap's plots call them."""
    return [f"Feature {i}" for i in range(n)]


@dataclass(frozen=True, eq=False)
class MatrixDistribution:
    """A shap masker, and the types of the columns where it was made of a DataFrame."""

    masker: Any
    dtypes: tuple[Any, ...] | None = None

    of_model: ClassVar[bool] = False

    @property
    def rows(self) -> np.ndarray | None:
        """The background rows; None for a masker that keeps them to itself."""
        data = getattr(self.masker, "data", None)
        return data if data is not None and type(self.masker).__module__.startswith("shap.maskers._tabular") else None

    @property
    def columns(self) -> list[Any] | None:
        """The columns of a DataFrame, as the user calls them."""
        return list(self.masker.feature_names) if getattr(self.masker, "output_dataframe", False) else None

    @property
    def named(self) -> bool:
        return self.columns is not None

    def known_features(self, given: Sequence[str] | None, known: Sequence[str] | None) -> list[str] | None:
        if self.rows is None:
            return None  # the model is tried on the first X
        if self.columns is not None:
            columns = [str(name) for name in self.columns]
            if given is not None and set(given) != set(columns):
                raise UnknownFeatureError(f"feature_names={given} are not the background's columns {columns}")
            return columns
        n = self.rows.shape[1]
        if given is not None:
            if len(given) != n:
                raise UnknownFeatureError(f"{len(given)} feature_names for a background of {n} columns")
            return [str(name) for name in given]
        return list(known) if known is not None and len(known) == n else None

    def unnamed_features(self, n_columns: int | None) -> list[str] | None:
        """What the columns are called where nobody named them; None where not even their number is known."""
        return None if self.rows is None else numbered_features(self.rows.shape[1])

    def features_in(self, columns: Sequence[str] | None, n_columns: int) -> list[str]:
        return list(columns) if columns is not None else numbered_features(n_columns)

    def background(self, features: Sequence[str]) -> "MatrixBackground":
        made = MatrixBackground if self.rows is None else RowsBackground
        return made(self.masker, self.rows, tuple(features), self.columns, self.dtypes)

    def stored(self) -> Any:
        if self.rows is None or self.dtypes is None:
            return self.masker
        return MatrixBackground(self.masker, self.rows, (), self.columns, self.dtypes).inputs(self.rows)


def read_matrix(given: Any, masker: Any) -> MatrixDistribution:
    """``masker`` is what shap made of what was ``given``: a matrix with rows, or a callable masker."""
    if isinstance(masker, (np.ndarray, type)) or not callable(masker):
        what = f"a {type(masker).__name__}"
        if isinstance(masker, np.ndarray):
            what = f"an array of shape {masker.shape}"
        elif isinstance(masker, type):
            what = f"the class {masker.__name__}, which is not an instance"
        raise NetworkError(
            f"a background distribution cannot be read from {what}; pass a pgmpy DiscreteBayesianNetwork, "
            "a 2-D ndarray, a DataFrame or a shap masker"
        )
    data = getattr(masker, "data", None)
    if data is not None and 0 in np.shape(data):
        raise NetworkError(f"the background matrix has no rows or no columns, its shape is {np.shape(data)}")
    if getattr(masker, "clustering", None) is not None:
        warn_user(
            "the masker brings a clustering of the features, which shap uses for Owen values; it is not used here",
            ShapAsvWarning,
        )
    dtypes = tuple(given.dtypes) if hasattr(given, "dtypes") and hasattr(given, "columns") else None
    for place, name in enumerate(given.columns if dtypes is not None else ()):
        refuse_dates(name, given.iloc[:, place])
    return MatrixDistribution(masker, dtypes)


class MatrixBackground:
    """Rows as the model takes them; hidden features are replaced by those of the background rows."""

    latent: tuple[str, ...] = ()
    graph: ClassVar[None] = None
    conditions_on: ClassVar[Conditions] = "any"
    dependent: ClassVar[bool] = False
    free: ClassVar[np.float64] = np.float64("nan")

    def __init__(
        self,
        masker: Any,
        data: np.ndarray | None,
        features: tuple[str, ...],
        columns: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> None:
        self.masker = masker
        self.data = data
        self.features = features
        self.columns = None if columns is None else list(columns)
        self.dtypes = None if dtypes is None else tuple(dtypes)
        self.n_samples = len(data) if data is not None else 1

    def describe(self) -> str:
        return f"marginal over {self.n_samples} background rows, as in shap"

    def check(self, rows: np.ndarray) -> None:
        """Every row can be masked."""

    def probe(self) -> np.ndarray | None:
        return None if self.data is None else np.array(self.data[:5])

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        """Rows are what the model takes; where that is not all numbers, they are shown beside numbers."""
        return rows if rows.dtype == object else None

    def shown_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Columns of numbers as they are; others by position among their categories, or their sorted values."""
        if rows.dtype != object:
            return rows
        numbers = np.empty(rows.shape)
        for v in range(rows.shape[1]):
            numbers[:, v] = self._column_numbers(rows[:, v], v)
        return numbers

    def _column_numbers(self, column: np.ndarray, v: int) -> np.ndarray:
        import pandas as pd

        known = getattr(self.dtypes[v], "categories", None) if self.dtypes is not None else None
        if known is None:
            try:
                return pd.Series(column).to_numpy(dtype=float, na_value=np.nan)
            except (TypeError, ValueError):
                own = np.empty(0, dtype=object) if self.data is None else self.data[:, v]
                seen = pd.Series(np.concatenate([own, column]), dtype=object).dropna()
                # by type and name: labels need not have an order of their own
                known = sorted(seen.unique(), key=lambda label: (type(label).__name__, str(label)))
        codes = pd.Categorical(column, categories=known).codes.astype(float)
        return np.where(codes < 0, np.nan, codes)

    def read(self, table: Any) -> np.ndarray:
        """Columns in the order of the features; those of a matrix without names in the order they come in."""
        table = columns_in_order(table, self.features, "the background")
        array = with_gaps(table).to_numpy() if hasattr(table, "columns") else table
        self._check_categories(array)
        return array.astype(float) if array.dtype == bool else array

    def _check_categories(self, rows: np.ndarray) -> None:
        import pandas as pd

        for v, dtype in enumerate(self.dtypes or ()):
            if not isinstance(dtype, pd.CategoricalDtype):
                continue
            unknown = ~pd.isna(rows[:, v]) & ~pd.Index(rows[:, v]).isin(dtype.categories)
            if unknown.any():
                row = int(np.flatnonzero(unknown)[0])
                raise RowsError(
                    f"row {row}: {rows[row, v]!r} is not a category of {self.features[v]!r}; the background has "
                    f"{', '.join(map(repr, dtype.categories[:8]))}"
                )

    def inputs(self, rows: np.ndarray) -> Any:
        """As the model was fitted: a DataFrame where the background was one, each column with its own type."""
        if self.columns is None:
            return rows
        import pandas as pd

        if self.dtypes is None or all(dtype == rows.dtype for dtype in self.dtypes):
            return pd.DataFrame(rows, columns=self.columns)
        typed = {v: _as_type(rows[:, v], dtype) for v, dtype in enumerate(self.dtypes)}
        return pd.DataFrame(typed, copy=False).set_axis(self.columns, axis=1)

    def masked_inputs(self, coalitions: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows for each coalition, stacked, and the number of rows that belong to each."""
        if self.data is not None:
            inputs = np.where(coalitions[:, None, :], row, self.data[None])
            return inputs.reshape(-1, inputs.shape[-1]), np.full(len(coalitions), len(self.data))
        stacked, counts = [], []
        for members in coalitions:
            try:
                masked = self.masker(members, row)
                masked = np.array(masked[0] if isinstance(masked, tuple) else masked)
            except Exception as error:
                raise NetworkError(f"the masker raised {type(error).__name__}: {error}") from error
            if masked.ndim != 2 or masked.shape[1] != len(row):
                raise NetworkError(
                    f"the masker answered with shape {masked.shape} to a row of {len(row)} features; it must return "
                    "rows of the model's inputs (samples, features)"
                )
            stacked.append(masked)
            counts.append(len(masked))
        return np.concatenate(stacked), np.array(counts)


class RowsBackground(MatrixBackground):
    """A matrix background that shows its rows: trees need not be called, their nodes look at the rows themselves."""

    def ground(self) -> np.ndarray:
        assert self.data is not None
        return np.asarray(self.data)

    def parts(self, count: int) -> "list[RowsBackground]":
        """The background over each of ``count`` disjoint parts of the rows, in their order."""
        assert self.data is not None
        parts = np.array_split(self.data, count)
        return [RowsBackground(self.masker, part, self.features, self.columns, self.dtypes) for part in parts]


def with_gaps(table: Any) -> Any:
    """A DataFrame where gaps in categories that are integers stay gaps when its columns become one array.

    Examples
    --------
    >>> import pandas as pd
    >>> with_gaps(pd.DataFrame({"n": [1, 2], "c": pd.Categorical([7, None])})).to_numpy().tolist()
    [[1.0, 7.0], [2.0, nan]]
    """
    import pandas as pd

    for k, dtype in enumerate(table.dtypes):
        whole = isinstance(dtype, pd.CategoricalDtype) and dtype.categories.dtype.kind in "iu"
        if whole and table.iloc[:, k].isna().any():
            table = table.astype({table.columns[k]: float})
    return table


def columns_in_order(table: Any, features: Sequence[str], owner: str) -> Any:
    """The columns of a DataFrame in the order of the features; those of a matrix as they come. A frame or an array."""
    names = list(features)
    if hasattr(table, "columns"):
        columns = [str(column) for column in table.columns]
        if set(columns) & set(names) or names != numbered_features(len(names)):
            table = table.iloc[:, places_by_name(columns, names)]
    else:
        table = np.asarray(table)
    if table.shape[1] != len(names):
        raise RowsError(f"X has {table.shape[1]} columns, {owner} has {len(names)}: {names}")
    return table


def _as_type(values: np.ndarray, dtype: Any) -> Any:
    """A column with the type it had, unless that would change a value: 2.5 in a column of integers stays 2.5."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Categorical(values, dtype=dtype)
    if dtype.kind == "O" and isinstance(dtype, np.dtype):
        return values
    try:
        with np.errstate(invalid="ignore"):
            typed = pd.Series(values).astype(dtype)
        missing = pd.isna(values)
        kept, given = (typed[~missing], values[~missing]) if missing.any() else (typed, values)
        # a gap stays a gap: as a bool it would be True
        if (kept.to_numpy(dtype=values.dtype) == given).all() and typed[missing].isna().all():
            return typed
    except (TypeError, ValueError):
        pass
    return pd.Series(values).infer_objects()
