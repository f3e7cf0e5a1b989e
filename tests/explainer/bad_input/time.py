"""Times that are not known, series that are not sorted, windows of the future."""

import numpy as np
import pandas as pd

from shap_asv import CausalOrder, StructuralModel, lagged
from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    MechanismError,
    TableError,
    TimeError,
    UnknownFeatureError,
    UnknownMethodError,
)
from tests.explainer.bad_input.setting import Bad

DAYS = pd.date_range("2024-01-01", periods=6)
SERIES = pd.DataFrame({"day": DAYS, "y": np.arange(6.0), "x": [1.0, 0, 2, 1, 3, 2], "shop": list("aaabbb")})
NAMES = ["age", "x(t-2)", "z(t-2)", "x(t-1)", "z(t-1)"]
X = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 2)), columns=["x(t-2)", "x(t-1)"])


def windows(**changes):
    """Of the series of six days."""
    table = changes.pop("table", SERIES)
    return lambda c: lagged(table, **{"target": "y", "lags": {"y": 2}, "time": "day", **changes})


def dated(days, **changes):
    return windows(table=SERIES.assign(day=days), **changes)


def ordered(times, *more):
    return lambda c: CausalOrder.from_time(times, *more)


def shared(X=X, graph=(("x(t-2)", "x(t-1)"),), times=True, **more):
    return lambda c: StructuralModel.fit(X, list(graph), silent=True, shared=times, **more)


LAGGED = {
    "not sorted": (dated(DAYS[[0, 2, 1, 3, 4, 5]]), TimeError, r"2024-01-02 .* in row 2 comes after 2024-01-03"),
    "a date twice": (dated(DAYS[[0, 1, 1, 2, 3, 4]]), TimeError, "is there twice, in row 1, too; .* pass by= for a"),
    "a date twice in a series": (
        dated(DAYS[[0, 1, 1, 2, 3, 4]], by="shop"), TimeError, r"of shop='a' is there twice.* keep one of the two$"
    ),
    "a date missing": (dated([*DAYS[:5], pd.NaT]), TimeError, "the date of row 5 is missing in the column 'day'"),
    "dates are texts": (dated(DAYS.astype(str)), TimeError, "holds texts such as '2024-01-01'.*pandas.to_datetime"),
    "months without a word": (
        dated(pd.date_range("2024-01-01", periods=6, freq="MS")), TimeError, "not a whole number of steps apart.*'M'"
    ),
    "no freq": (windows(freq="fortnight"), TimeError, "freq='fortnight' is not a length of time"),
    "freq of numbers": (dated(np.arange(6.0), freq="D"), TimeError, "freq='D' is for dates, and the column 'day'"),
    "an id missing": (
        windows(table=SERIES.assign(shop=["a", None, *"aaaa"]), by="shop"), TableError, "the id of row 1 is missing"
    ),
    "a lag of now": (windows(lags={"y": [0, 1]}), TimeError, "lag 0 of 'y' is not in the past.*into known="),
    "a lag of the future": (windows(lags={"x": [-1]}), TimeError, "lag -1 of 'x' is not in the past"),
    "no lags": (windows(lags=[]), TimeError, "names none; name each once"),
    "a lag twice": (windows(lags={"y": [1, 1]}), TimeError, "holds a number twice"),
    "half a lag": (windows(lags=1.5), ArgumentError, "lags=1.5 is not a positive integer"),
    "a lag of nothing": (windows(lags={"z": 1}), UnknownFeatureError, "lags='z' is not a column of the table"),
    "horizon of now": (windows(horizon=0), ArgumentError, "horizon=0 is not a positive integer"),
    "horizon twice": (windows(horizon=[2, 2]), TimeError, "holds a number twice"),
    "horizon a word": (windows(horizon="week"), ArgumentError, "horizon='week' is not a positive integer"),
    "the target is known": (windows(known=["y"]), TimeError, "'y' is the target, which is not known before"),
    "the target never changes": (windows(static=["y"]), TimeError, "'y' is the target.*take it out of static="),
    "two parts": (windows(known=["x"], static=["x"]), TableError, "'x' is in known= and in static="),
    "known a word": (windows(known="x"), ArgumentError, "known='x' is not a list"),
    "no such target": (windows(target="Y"), UnknownFeatureError, "target='Y' is not a column.*did you mean 'y'"),
    "no such date": (windows(time="date"), UnknownFeatureError, "time='date' is not a column"),
    "it does change": (windows(static=["x"]), TableError, "static='x' changes in the series; leave it out"),
    "it does change in a shop": (windows(static=["x"], by="shop"), TableError, "changes in the series of 'a'"),
    "too short": (windows(lags=6), TimeError, "no window fits into the table: it takes 7 dates in a row"),
    "all targets missing": (windows(table=SERIES.assign(y=np.nan)), TimeError, "with a target at the end"),
    "an array": (windows(table=SERIES.to_numpy()), TableError, "lagged takes a DataFrame.* not a ndarray"),
    "no table": (windows(table=None), TableError, "lagged takes a DataFrame.* not a NoneType"),
    "groups by what": (lambda c: lagged(SERIES, "y", 2).groups("lag"), TimeError, "by='lag' is unknown"),
    "no memory": (lambda c: lagged(SERIES, "y", 2).graph(memory=0), ArgumentError, "memory=0 is no length of time"),
}  # fmt: skip
ORDERS = {
    "no times": (ordered(["a", "b"]), TimeError, "none of the features 'a', 'b' has a time; name them like"),
    "a number": (ordered(5), TimeError, "times=5 are not times; pass a dict"),
    "a word": (ordered("x(t-1)"), TimeError, r"times='x\(t-1\)' are not times"),
    "a time is a word": (ordered({"a": "soon"}), TimeError, "the time of 'a' is 'soon'; a time is a number"),
    "a time is a date": (ordered({"a": DAYS[0]}), TimeError, "the time of 'a' is Timestamp.*such as -3 for three"),
    "a time is infinite": (ordered({"a": np.inf}), TimeError, "the time of 'a' is inf"),
    "nothing": (ordered({}), TimeError, "none of the features"),
    "a name twice": (ordered(["x(t-1)", "x(t-1)"]), TimeError, "is there 2 times; give each a name of its own"),
    "one moment twice": (ordered(["x(t-1)", "x_lag1"]), TimeError, r"are both x\(t-1\); leave one out"),
    "no such order": (ordered(NAMES, "past frist"), UnknownMethodError, "'past frist'; did you mean 'past first'"),
    "an edge into the past": (
        ordered(NAMES, "past first", [("x(t-1)", "z(t-2)")]), CausalGraphError,
        r"'x\(t-1\)' -> 'z\(t-2\)' leads into the past, from 'x\(t-1\)' to 'z\(t-2\)'; turn it round",
    ),
    "an edge to what never changes": (
        ordered(NAMES, "past first", [("x", "age")]), CausalGraphError, "'x' -> 'age' leads into the past"
    ),
    "a cycle within a time": (
        ordered(NAMES, "past first", [("x", "z"), ("z", "x")]), CausalGraphError, r"cycle: .*\(t-2\)"
    ),
    "an edge to nothing": (
        ordered(NAMES, "past first", [("x", "Z")]), UnknownFeatureError, "'Z', which is neither a variable nor a .*'z'"
    ),
    "no edges": (ordered(NAMES, "past first", 5), CausalGraphError, "edges must be a list of"),
}  # fmt: skip
SHARED = {
    "no times": (
        shared(pd.DataFrame({"a": [1.0, 2], "b": [1.0, 2]}), [("a", "b")]), TimeError, "none of the features 'a', 'b'"
    ),
    "a time is not known": (shared(times={"x(t-1)": -1}), TimeError, r"time of 'x\(t-2\)' is not known; .*say None"),
    "an edge into the past": (
        shared(graph=[("x(t-1)", "x(t-2)")]), TimeError, r"'x\(t-1\)' causes 'x\(t-2\)', which is before it; turn the"
    ),
    "two kinds": (
        shared(X.assign(**{"x(t-1)": "a"})), TableError, r"'x\(t-1\)' are one variable at two times, and of two kinds"
    ),
    "a mechanism of nothing": (
        shared(mechanisms={"z": "linear"}), MechanismError, "mechanisms names 'z', which is not a node"
    ),
}  # fmt: skip
TIME = {
    f"{name}: {what}": Bad(*entry)
    for name, entries in {"lagged": LAGGED, "from_time": ORDERS, "shared": SHARED}.items()
    for what, entry in entries.items()
}
