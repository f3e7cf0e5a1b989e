"""Windows of series against a loop over dates; no leak of the future; panels, gaps, kinds of frames."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shap_asv import lagged
from shap_asv.errors import ShapAsvWarning
from tests.oracles.autoregressions import windows_by_hand

LAGS = {"demand": [1, 3], "temp": [1, 2], "weekday": [7]}


def panel(n=40, seed=0):
    """Two ids of unequal length whose rows are mixed, with gaps and targets that are missing."""
    rng = np.random.default_rng(seed)
    parts = []
    for shop, (start, length) in {"a": (3, n), "b": (0, n // 2)}.items():
        days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(start, start + length), unit="D")
        part = pd.DataFrame({"shop": shop, "date": days, "weekday": days.weekday, "size": 1.5 if shop == "a" else 2.5})
        part["demand"], part["temp"] = rng.normal(size=(2, length))
        part.loc[rng.choice(length, 2), "demand"] = np.nan
        parts.append(part.drop(index=rng.choice(np.arange(2, length - 2), 3, replace=False)))
    return pd.concat(parts).sort_values(["date", "shop"]).reset_index(drop=True)


@pytest.mark.parametrize("horizon", [1, 3, [1, 2, 7]])
def test_windows_of_a_panel_are_those_of_a_loop(horizon):
    table = panel()
    lines = table.assign(id=table["shop"], date=(table["date"] - table["date"].min()).dt.days).to_dict("records")
    expected = windows_by_hand(lines, "demand", LAGS, np.ravel(horizon).tolist(), ["weekday"])
    with pytest.warns(ShapAsvWarning, match=r"dates are missing: 6, the first after 2024-01-\d\d 00:00:00 of '\w'"):
        windows = lagged(table, "demand", LAGS, horizon, "date", "shop", ["weekday"], ["size"])
    assert windows.rows.tolist() == list(expected) == windows.X.index.tolist()
    assert windows.X["size"].equals(table["size"].loc[list(expected)])
    cells = pd.DataFrame([held for held, _ in expected.values()])[list(windows.times.moments[1:])]
    assert list(windows.X)[1:] == [f"{name}(t{time:+d})" if time else f"{name}(t)" for name, time in cells]
    np.testing.assert_array_equal(windows.X.iloc[:, 1:], cells)
    targets = [ends for _, ends in expected.values()]
    assert np.array_equal(np.asarray(windows.y).reshape(len(targets), -1), targets)
    assert windows.y.index.equals(windows.X.index)
    assert sorted(windows.times.at, key=float) == windows.times.at.tolist()


def test_nothing_of_the_future_is_in_a_window():
    """Whatever is changed from t on, known columns apart, leaves the row of t as it is."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["y", "x"]).assign(day=np.arange(60) % 7)
    windows = lagged(table, "y", 5, [1, 4], known=["day"])
    assert windows.X.shape == (52, 12)
    for row in (7, 30, 56):
        other = table.copy()
        other.loc[row:, ["y", "x"]] = rng.normal(size=(60 - row, 2))
        again = lagged(other, "y", 5, [1, 4], known=["day"])
        early = windows.X.index <= row
        pd.testing.assert_frame_equal(again.X[early], windows.X[early])
        assert not np.allclose(again.y.loc[row], windows.y.loc[row])


def test_frames_of_other_libraries_come_back_in_kind():
    table = panel().assign(kind=pd.Categorical(["x", "y"] * 27))[["demand", "kind"]].dropna()
    plain = lagged(table, "demand", 2)
    for made, kind in ((pl.from_pandas(table), pl), (pa.Table.from_pandas(table, preserve_index=False), pa)):
        windows = lagged(made, "demand", 2)
        assert type(windows.X) is type(made)
        assert isinstance(windows.y, pl.Series if kind is pl else pa.ChunkedArray)
        again = windows.X.to_pandas()
        assert again["kind(t-1)"].tolist() == plain.X["kind(t-1)"].tolist()
        assert np.array_equal(again["demand(t-2)"], plain.X["demand(t-2)"])
        numbers = lagged(made, "demand", {"demand": 2})
        assert np.array_equal(numbers.X["demand(t-2)"], again["demand(t-2)"])
    assert plain.X["kind(t-1)"].dtype == table["kind"].dtype
    assert type(lagged(pl.from_pandas(table).lazy(), "demand", 2).X) is pl.DataFrame


@pytest.mark.parametrize("kind", ["column", "index", "periods", "months", "numbers"])
def test_dates_of_every_kind(kind):
    table = pd.DataFrame({"y": np.arange(8.0)})
    days, freq, time = pd.date_range("2024-01-30", periods=8), None, "date"
    if kind == "months":
        days, freq = pd.date_range("2024-01-31", periods=8, freq="MS"), "M"
    if kind == "column":
        table["date"] = pl.Series(days.date).to_pandas()
    elif kind == "numbers":
        table["date"] = np.arange(8) / 4
    elif kind == "months":
        table["date"] = days
    else:
        table.index, time = (days if kind == "index" else days.to_period("D")), None
    windows = lagged(table, "y", {"y": 2}, time=time, freq=freq)
    assert windows.y.tolist() == [2.0, 3, 4, 5, 6, 7]
    with pytest.warns(ShapAsvWarning, match=r"missing: 1,.*\(row 3\); 2 windows"):
        gap = lagged(table.drop(index=table.index[4]), "y", {"y": 2}, time=time, freq=freq)
    assert gap.y.tolist() == [2.0, 3, 7]
    assert gap.rows.tolist() == [2, 3, 6]


def test_labels_that_are_there_twice_are_kept():
    table = pd.DataFrame({"shop": list("aabbaabb"), "y": np.arange(8.0)}, index=[0, 1, 0, 1, 2, 3, 2, 3])
    windows = lagged(table, "y", 2, by="shop")
    assert windows.X.index.tolist() == [2, 3, 2, 3]
    assert windows.X["y(t-2)"].tolist() == [0, 1, 2, 3]
