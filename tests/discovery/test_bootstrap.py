"""Graphs from resamples: counts, failures that are told, learners of several kinds."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from shap_asv.discovery import bootstrap_graphs
from shap_asv.errors import ArgumentError, CausalGraphError, RowsError, ShapAsvWarning
from shap_asv.orders.uncertain import GraphMixture, PartialGraph, read_causal_graphs

TABLE = pd.DataFrame({"a": range(30), "b": np.arange(30) % 7, "c": np.arange(30) % 2})


def by_mean(table):
    """Different resamples, different graphs."""
    graph = nx.DiGraph([("a", "b")] if table["a"].mean() > 14.5 else [("b", "a")])
    graph.add_nodes_from(["a", "b", "c"])
    if table["c"].mean() > 0.5:
        graph.add_edge("b", "c")
    return graph


def test_frequencies_are_those_of_the_resamples():
    """The resamples are drawn again here, from the seeds that numpy spawns."""
    found = bootstrap_graphs(TABLE, by_mean, n=40, seed=5)
    wanted = {}
    for seed in np.random.SeedSequence(5).spawn(40):
        graph = by_mean(TABLE.iloc[np.random.default_rng(seed).integers(30, size=30)])
        wanted[frozenset(graph.edges)] = wanted.get(frozenset(graph.edges), 0) + 1
    assert {graph.directed: count for graph, count in zip(found.graphs, found.counts, strict=True)} == wanted
    assert list(found.counts) == sorted(found.counts, reverse=True)
    assert found.n_resamples == 40
    assert found.features == ("a", "b", "c")
    assert found.failures == ()
    np.testing.assert_allclose(found.frequencies.sum(), 1)
    forth = sum(count for edges, count in wanted.items() if ("a", "b") in edges) / 40
    line = found.edge_frequencies().iloc[0]
    assert {line["cause"], line["effect"]} == {"a", "b"}
    assert line["directed"] == pytest.approx(max(forth, 1 - forth))
    assert line["reversed"] == pytest.approx(min(forth, 1 - forth))
    assert line["joined"] == pytest.approx(1)
    assert repr(found).startswith("40 graphs on 3 columns from 40 resamples, 4 of them different")


def test_the_result_is_a_causal_order():
    found = bootstrap_graphs(TABLE, by_mean, n=20, seed=0)
    mixture = read_causal_graphs(found, features=["a", "b", "c"])
    assert isinstance(mixture, GraphMixture)
    forth = sum(share for graph, share in found.weighted_graphs() if ("a", "b") in graph.directed)
    assert mixture.edge_certainty[("a", "b")] == pytest.approx(forth)


def test_a_partly_directed_graph_shares_its_weight():
    found = bootstrap_graphs(TABLE, lambda table: PartialGraph("abc", undirected=["ab", "bc"]), n=3, seed=0)
    assert read_causal_graphs(found).weights == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    frame = found.edge_frequencies()
    assert frame["undirected"].tolist() == [1.0, 1.0]


def test_processes_change_nothing():
    one, two = (bootstrap_graphs(TABLE, by_mean, n=12, seed=3, n_jobs=jobs, silent=True) for jobs in (1, 2))
    assert (one.graphs, one.counts) == (two.graphs, two.counts)
    array = bootstrap_graphs(
        TABLE.to_numpy(), lambda rows: [(0, 1)] if rows[:, 0].mean() > 14.5 else [(1, 0)], n=12, seed=3
    )
    assert array.features == (0, 1, 2)


def test_failures_are_counted_and_told():
    def fragile(table):
        if table["a"].mean() > 15:
            raise ZeroDivisionError("no luck")
        if table["c"].mean() > 0.55:
            return nx.DiGraph([("a", "b"), ("b", "a")])
        if table["c"].mean() < 0.45:
            return PartialGraph("abc", [("a", "b"), ("c", "b")], ["ac"]) if table["b"].mean() > 3 else "nothing"
        return by_mean(table)

    with pytest.warns(
        ShapAsvWarning, match=r"nothing usable was learned on \d+ of 60 resamples: .*ZeroDivisionError \("
    ):
        found = bootstrap_graphs(TABLE, fragile, n=60, seed=1)
    assert sum(found.counts) + len(found.failures) == 60
    reasons = " ".join(reason for _, reason in found.failures)
    for words in ("ZeroDivisionError: no luck", "cycle: a -> b -> a", "cannot be read from a str"):
        assert words in reasons
    assert "nothing usable was learned" in repr(found)
    for place, reason in found.failures[:3]:
        seed = np.random.SeedSequence(1).spawn(60)[place]
        table = TABLE.iloc[np.random.default_rng(seed).integers(30, size=30)]
        assert (table["a"].mean() > 15) == reason.startswith("ZeroDivisionError")


def test_a_learner_that_always_fails():
    with pytest.raises(CausalGraphError, match="failed on all 4 resamples; on the first: KeyError: 'z'"):
        bootstrap_graphs(TABLE, lambda table: table["z"], n=4, seed=0)
    with pytest.raises(CausalGraphError, match=r"the graph has no feature 'A'; did you mean 'a'"):
        bootstrap_graphs(TABLE, lambda table: [("A", "b")], n=4, seed=0)


class TestLearners:
    """pgmpy's, on rows where the graph is plain to see."""

    @staticmethod
    def rows():
        rng = np.random.default_rng(0)
        a, b = rng.integers(0, 2, (2, 1500))
        c = np.where(rng.random(1500) < 0.9, a & b, 1 - (a & b))
        return pd.DataFrame({"a": a, "b": b, "c": c, "d": np.where(rng.random(1500) < 0.9, c, 1 - c)})

    @pytest.mark.parametrize("name", ["PC", "GES", "HillClimbSearch"])
    def test_estimators_of_pgmpy(self, name):
        import pgmpy.causal_discovery

        options = {"ci_test": "chi_square"} if name == "PC" else {"scoring_method": "bic-d"}
        found = bootstrap_graphs(self.rows(), getattr(pgmpy.causal_discovery, name)(**options), n=3, seed=0)
        wanted = {("a", "c"), ("b", "c"), ("c", "d")}
        assert found.failures == ()
        if name == "HillClimbSearch":  # may end in a local optimum, another one in another process
            joined = [{frozenset(edge) for edge in (*graph.directed, *graph.undirected)} for graph in found.graphs]
            assert all(frozenset("cd") in edges for edges in joined)
        else:
            assert wanted in [set(graph.directed) for graph in found.graphs]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n": 0}, ArgumentError, "n=0 is not a positive integer"),
        ({"learner": 7}, ArgumentError, "learner=7 cannot learn a graph"),
        ({"data": [[1, 2]]}, RowsError, "data is a DataFrame or an array"),
        ({"data": TABLE.iloc[:1]}, RowsError, "data has 1 rows"),
        ({"seed": "x"}, ArgumentError, "seed='x' is not a seed"),
    ],
)
def test_bad_input(change, error, message):
    with pytest.raises(error, match=message):
        bootstrap_graphs(**({"data": TABLE, "learner": by_mean, "n": 2, "seed": 0} | change))
