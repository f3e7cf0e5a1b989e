"""Mechanisms that a variable has at all times: what they are learned from, and what comes of it."""

import numpy as np
import pandas as pd
import pytest

from shap_asv import StructuralModel, lagged
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.structural.shared import SharedNodes
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.orders.time import window_graph
from shap_asv.times import Times

SUMMARY = [("rain", "temp"), ("size", "temp")]


def series(n, seed=0):
    """rain drives temp at once; size never changes."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n, 2))
    rain, temp = np.zeros((2, n))
    for t in range(n):
        rain[t] = 0.7 * rain[t - 1] * (t > 0) + noise[t, 0]
        temp[t] = 0.5 * temp[t - 1] * (t > 0) + np.sin(rain[t]) + 0.5 * noise[t, 1]
    return pd.DataFrame({"rain": rain, "temp": temp, "size": rng.normal()})


def tasks_of(X, graph, copies=None):
    """(variable, causes) -> values and those of the causes that its mechanism is fitted to."""
    times = Times.read(list(X))
    dag = Dag.read(graph, list(X))
    shared = SharedNodes.read(dag, Times.read(times, dag.names))
    codec = TableCodec.learn(X[list(dag.names)])
    rows = codec.read(X)
    n = dag.n_nodes
    found = shared.tasks(rows, codec.columns, ["auto"] * n, [0] * n, copies, X.index)
    return {(task.column.name, tuple(c.name for c in task.causes)): task for task in found}


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_value_of_the_series_counts_once(shuffled):
    table = series(100)
    windows = lagged(table, "temp", 6, static=["size"])
    X = windows.X.sample(frac=1, random_state=0) if shuffled else windows.X
    found = tasks_of(X, windows.graph(SUMMARY))
    assert set(found) == {
        ("size", ()),
        ("rain", ()),
        ("rain", ("rain(t-1)",)),
        ("temp", ("size", "rain(t)")),
        ("temp", ("size", "rain(t-1)", "temp(t-1)", "rain(t)")),
    }
    known = table[:-1]  # the last date is only ever a target
    assert np.array_equal(np.sort(found["rain", ()].values), np.sort(known["rain"]))
    last = found["temp", ("size", "rain(t-1)", "temp(t-1)", "rain(t)")]
    block = np.column_stack([last.values, last.parents])
    expected = np.column_stack(
        [known["temp"][1:], known["size"][1:], known["rain"][:-1], known["temp"][:-1], known["rain"][1:]]
    )
    assert np.array_equal(block[np.argsort(block[:, 0])], expected[np.argsort(expected[:, 0])])


def test_windows_that_follow_after_two_dates_add_both():
    windows = lagged(series(100), "temp", 6, static=["size"])
    X = windows.X[::2]
    assert len(tasks_of(X, windows.graph(SUMMARY))["rain", ()].values) == 6 + 2 * (len(X) - 1)


def test_windows_of_other_series_add_all_their_dates():
    parts = [lagged(series(7, seed), "temp", 6, static=["size"]) for seed in range(5)]
    X = pd.concat([part.X for part in parts])
    assert len(tasks_of(X, parts[0].graph(SUMMARY))["rain", ()].values) == 5 * 6
    assert len(tasks_of(X.reset_index(drop=True), parts[0].graph(SUMMARY))["rain", ()].values) == 5 * 6


def test_copies_of_a_window_are_held_out_together():
    windows = lagged(series(40), "temp", 3, static=["size"])
    places = np.array([5, 6, 6, 9, 5, 20])
    distinct = np.unique(places, return_inverse=True)[1]
    found = tasks_of(windows.X.iloc[places], windows.graph(SUMMARY), distinct)["rain", ()]
    # 5: three dates; 6: the newest; 9 and 20 continue nothing by half a window
    assert len(found.values) == 2 * 3 + 2 * 1 + 3 + 3
    assert np.array_equal(np.unique(found.copies), np.arange(3 + 1 + 3 + 3))
    for copy in np.unique(found.copies):
        assert len(set(found.values[found.copies == copy])) == 1


def test_one_mechanism_for_all_times_and_a_table_as_before():
    table = series(300).assign(kind=pd.Categorical(["x", "y", "z"] * 100))
    windows = lagged(table, "temp", 5, static=["size"])
    graph = windows.graph([*SUMMARY, ("kind", "rain")], memory=2)
    model = StructuralModel.fit(windows.X, graph, {"temp": "linear"}, 0, silent=True, shared=windows.times)
    at = dict(zip(model.nodes, model.mechanisms, strict=True))
    assert at["temp(t-1)"] is at["temp(t-2)"] is at["temp(t-3)"] is not at["temp(t-4)"]
    assert at["temp(t-1)"].describe().startswith("linear")
    assert len(set(map(id, at.values()))) == 1 + 3 * 3
    assert model.sample(3, seed=0).dtypes.equals(windows.X[list(model.sample(1, seed=0))].dtypes)
    assert list(model.report().index) == list(model.nodes)


def test_functions_see_causes_as_from_time_t():
    windows = lagged(series(50)[["rain", "temp"]], "temp", 3)
    seen = []

    def rain(causes, u):
        seen.append(tuple(causes))
        return u + sum(causes.values())

    model = StructuralModel.fit(windows.X, windows.graph([]), {"rain": rain}, 0, silent=True, shared=True)
    rows = model.background(["rain(t-3)", "rain(t-2)"]).draws(np.array([[0.25, np.nan]]), np.array([[0.5, 0.5]]))
    assert rows.tolist() == [[[0.25, 0.75]]]
    assert set(seen) == {(), ("rain(t-1)",)}


def test_a_category_that_a_lag_does_not_have_is_known_to_the_others():
    X = pd.DataFrame({"k(t-2)": ["a", "a", "b", "b", "a", "b"], "k(t-1)": ["a", "b", "c", "c", "b", "a"]})
    model = StructuralModel.fit(X, window_graph(Times.read(list(X))), seed=0, silent=True, shared=True)
    assert [column.categories for column in model.codec.columns] == [("a", "b", "c")] * 2
    assert set(model.sample(200, seed=0)["k(t-2)"]) == {"a", "b", "c"}  # the distribution over all times


def test_causes_of_a_mechanism_are_in_one_sequence():
    """Columns of the table in another sequence at every time: still one mechanism, with each cause in its place."""
    windows = lagged(series(120)[["rain", "temp"]], "temp", 3)
    mixed = ["temp(t-1)", "rain(t-3)", "rain(t-1)", "temp(t-3)", "temp(t-2)", "rain(t-2)"]
    graph = windows.graph([])
    graph.add_edges_from([("rain(t-3)", "temp(t-2)"), ("rain(t-2)", "temp(t-1)")])
    found = tasks_of(windows.X[mixed], graph)
    assert len(found) == 4
    values = found["temp", ("rain(t-1)", "temp(t-1)")]
    table = series(120)[:-1]
    known = {(row.rain, row.temp): after for row, after in zip(table.itertuples(), table["temp"][1:], strict=False)}
    assert len(values.values) == len(known)
    for (rain, temp), after in zip(values.parents, values.values, strict=True):
        assert known[rain, temp] == after


def test_frames_of_other_libraries():
    pl = pytest.importorskip("polars")
    windows = lagged(pl.from_pandas(series(80)), "temp", 3, static=["size"])
    graph = windows.graph(SUMMARY)
    model = StructuralModel.fit(windows.X, graph, seed=0, silent=True, shared=True)
    plain = StructuralModel.fit(windows.X.to_pandas(), graph, seed=0, silent=True, shared=True)
    assert model.sample(20, seed=1).equals(plain.sample(20, seed=1))
