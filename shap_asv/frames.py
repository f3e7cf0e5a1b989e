"""Data frames of any library (pandas, polars, pyarrow, modin, ...): inside of the package a table is pandas'."""

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd


def as_pandas(table: Any) -> Any:
    """A DataFrame or a column of any library as pandas'; what is neither is returned as it is.

    Integers with gaps become floats and truth values with gaps pandas' ``boolean``; categories keep their order.
    O(cells), and nothing for what pandas or numpy made.
    """
    if type(table).__module__.split(".")[0] in ("pandas", "numpy", "builtins", "scipy"):
        return table
    frame = nw.from_native(table, pass_through=True, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame | nw.Series):
        return table
    if frame.implementation.is_pandas_like():
        return frame.to_pandas()
    if isinstance(frame, nw.Series):
        return pd.Series(_values(frame), name=frame.name)
    # by position: a table of pyarrow may have two columns of one name, which is an error elsewhere
    columns = {k: _values(frame[:, k]) for k in range(frame.shape[1])}
    return pd.DataFrame(columns, index=range(len(frame)), copy=False).set_axis(frame.columns, axis=1)


def part(frame: Any, n_rows: int, places: list[int] | slice) -> Any:
    """The first rows and some of the columns of a frame of any library, in its own kind."""
    return nw.from_native(frame, eager_only=True)[:n_rows, places].to_native()


def frame_columns(frame: Any) -> list[str] | None:
    """The names of the columns of a frame of any library; None for anything else."""
    known = nw.from_native(frame, eager_only=True, pass_through=True)
    return [str(name) for name in known.columns] if isinstance(known, nw.DataFrame) else None


def as_features(columns: Iterable[str], features: Sequence[str]) -> list[str]:
    """Columns by the names of the features, of which LightGBM keeps ``"a b"`` as ``"a_b"``.

    >>> as_features(["c d", "a b", "e f"], ["a b", "c_d"])
    ['c_d', 'a b', 'e f']
    """
    spelled = {name.replace(" ", "_"): name for name in features} | {name: name for name in features}
    return [spelled.get(name, spelled.get(name.replace(" ", "_"), name)) for name in columns]


def _values(column: "nw.Series[Any]") -> Any:
    """The entries of a column as pandas keeps them."""
    dtype, gaps = column.dtype, column.null_count() > 0
    if dtype in (nw.Categorical, nw.Enum):
        return pd.Categorical(column.cast(nw.String).to_list(), categories=column.cat.get_categories().to_list())
    if dtype == nw.Boolean and gaps:
        return pd.array(column.to_list(), dtype="boolean")
    if dtype == nw.Decimal:
        column = column.cast(nw.Float64)
    return pd.Series(column.to_list()) if dtype == nw.String else column.to_numpy()
