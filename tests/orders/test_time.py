"""Times of features, the order that they make, and the DAG of a window."""

import itertools

import networkx as nx
import pandas as pd
import pytest

from shap_asv.orders import CausalOrder
from shap_asv.orders.time import window_graph
from shap_asv.times import Times

MOMENTS = (("age", None), ("rain", -2.0), ("temp", -2.0), ("rain", -1.0), ("temp", -1.0), ("rain", 0.0))
#: The same features, in every way to say it.
SAID = {
    "distances": ["age", "rain(t-2)", "temp(t-2)", "rain (t - 1)", "temp(t-1)", "rain(t)"],
    "lags": ["age", "rain_lag2", "temp_lag_2", "rain_lag1", "temp_lag1", "rain"],
    "pairs": dict(zip("abcdef", MOMENTS, strict=True)),
    "columns": pd.DataFrame(columns=pd.MultiIndex.from_tuples(MOMENTS[1:])).columns,
}


@pytest.mark.parametrize("way", SAID)
def test_times_are_read(way):
    times = Times.read(SAID[way])
    assert times.moments == (MOMENTS[1:] if way == "columns" else MOMENTS)
    assert times.steps == (-2.0, -1.0, 0.0)


def test_times_of_features_that_are_not_strings():
    order = CausalOrder.from_time(pd.DataFrame(columns=pd.MultiIndex.from_tuples([("x", -1), ("x", -2)])).columns)
    assert order.edges == (("('x', -2)", "('x', -1)"),)


def test_leads_follow_lags():
    assert Times.read(["day(t+6)", "day(t)", "x(t-1.5)"]).moments == (("day", 6.0), ("day", 0.0), ("x", -1.5))


@pytest.mark.parametrize("direction", ["past first", "recent first"])
@pytest.mark.parametrize("graph", [None, [("rain", "temp")], [("rain(t-1)", "temp(t-1)")], [("age", "rain")]])
def test_topological_orders_are_those_sorted_by_time(direction, graph):
    """Against all permutations of five features."""
    names, time = ["age", "rain(t-2)", "temp(t-2)", "rain(t-1)", "temp(t-1)"], [-9, -2, -2, -1, -1]
    sign = 1 if direction == "past first" else -1
    key = [t if t == -9 else sign * t for t in time]
    inner = {None: [], "rain": [(1, 2), (3, 4)], "rain(t-1)": [(3, 4)], "age": []}[graph and graph[0][0]]
    expected = {
        p
        for p in itertools.permutations(range(5))
        if [key[v] for v in p] == sorted(key) and all(p.index(a) < p.index(b) for a, b in inner)
    }
    order = CausalOrder.from_time(names, direction, graph)
    assert set(map(tuple, order.sample_topological_orders(200, seed=0).tolist())) == expected


def test_levels_without_a_graph_say_what_interventions_do():
    order = CausalOrder.from_time(["x(t-1)", "age", "x(t-2)", "z(t-1)"])
    assert order.levels.names == (("age",), ("x(t-2)",), ("x(t-1)", "z(t-1)"))
    assert CausalOrder.from_time(["x(t-1)", "z(t-1)"], graph=[("x", "z")]).levels is None


def unrolled(moments, causes, memory):
    """The edges of a window, by the words of the docstring alone."""
    names = [f"{v}@{t}" for v, t in moments]
    edges = set()
    for (cause, before), u in zip(moments, names, strict=True):
        for (effect, after), v in zip(moments, names, strict=True):
            if u == v:
                continue
            if before is None:
                linked = after is not None and (causes is None or (cause, effect) in causes)
            elif after is None or after < before or after - before > memory:
                linked = False
            elif causes is None:
                linked = before < after
            else:
                linked = (cause == effect and before < after) or (cause, effect) in causes
            if linked:
                edges.add((u, v))
    return edges


@pytest.mark.parametrize("memory", [1, 2, 9])
@pytest.mark.parametrize("causes", [None, [], [("rain", "temp")], [("age", "temp"), ("temp", "rain")]])
def test_the_graph_of_a_window(memory, causes):
    times = Times.read({f"{v}@{t}": (v, t) for v, t in MOMENTS})
    graph = window_graph(times, causes, memory)
    assert set(graph.edges) == unrolled(MOMENTS, causes, memory)
    assert list(graph.nodes) == list(times.features)


def test_an_edge_between_two_features_may_pass_the_memory():
    times = Times.read(["x(t-7)", "x(t-1)", "z(t-1)"])
    assert set(window_graph(times, nx.DiGraph([("x(t-7)", "z(t-1)")])).edges) == {("x(t-7)", "z(t-1)")}


def test_groups_are_variables_or_times():
    times = Times.read(["age", "x(t-1)", "z(t-2)", "x(t-2)"])
    assert times.groups() == {"x": ["x(t-1)", "x(t-2)"], "z": ["z(t-2)"]}
    assert times.groups("time") == {"t-2": ["z(t-2)", "x(t-2)"], "t-1": ["x(t-1)"]}
