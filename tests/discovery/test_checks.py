"""Does the graph fit the table: exact moments, p-values that hold, violations in words, hidden nodes, bad input."""

from itertools import permutations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from shap_asv import CausalOrder, load_network, sample_rows
from shap_asv.discovery import check_graph
from shap_asv.discovery.checks import holm
from shap_asv.discovery.independence import IndependenceTests, _pearson_moments
from shap_asv.errors import CausalGraphWarning
from tests.discovery.rates import rates
from tests.orders.uncertain.all_graphs import equivalence_class_of


def pearson(x, y):
    """X^2 by its definition."""
    total = 0.0
    for a in set(x):
        for b in set(y):
            expected = x.count(a) * y.count(b) / len(x)
            total += (sum(p == (a, b) for p in zip(x, y, strict=True)) - expected) ** 2 / expected
    return total


@pytest.mark.parametrize(
    ("x", "y"), [("aaabbcd", "xxyyyzz"), ("aaaabb", "xxxyyz"), ("aabbccd", "xyxyxyy"), ("aaaaaab", "xyyyyyy")]
)
def test_moments_over_all_tables_with_the_same_margins(x, y):
    every = [pearson(list(x), list(turned)) for turned in permutations(y)]
    table = np.array(
        [[[sum(p == (a, b) for p in zip(x, y, strict=True)) for b in sorted(set(y))] for a in sorted(set(x))]]
    )
    statistic, mean, variance = _pearson_moments(table.astype(float))
    assert statistic == pytest.approx(pearson(list(x), list(y)))
    assert mean == pytest.approx(np.mean(every))
    assert variance == pytest.approx(np.var(every))


def test_well_filled_tables_give_the_usual_p_value():
    from scipy.stats import chi2_contingency

    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.integers(0, 3, 20_000), "y": rng.integers(0, 4, 20_000)})
    data.loc[:500, "y"] = data.loc[:500, "x"]
    wanted = chi2_contingency(pd.crosstab(data["x"], data["y"]), correction=False).pvalue
    assert wanted < 0.01
    assert IndependenceTests(data).p_value("x", "y", ()) == pytest.approx(wanted, rel=0.02)


def test_numbers_give_the_p_value_of_a_partial_correlation():
    from scipy.stats import norm

    rng = np.random.default_rng(1)
    z = rng.normal(size=(3000, 2))
    data = pd.DataFrame(
        {"x": z.sum(axis=1) + rng.normal(size=3000), "y": z[:, 0] + rng.normal(size=3000), "z": z[:, 0], "w": z[:, 1]}
    )
    data["y"] += 0.05 * data["x"]
    left = [
        data[name] - z1 @ np.linalg.lstsq(z1, data[name], rcond=None)[0]
        for name in "xy"
        for z1 in [np.column_stack([z, np.ones(3000)])]
    ]
    r = np.corrcoef(*left)[0, 1]
    wanted = 2 * norm.sf(np.arctanh(abs(r)) * np.sqrt(3000 - 2 - 3))
    assert IndependenceTests(data).p_value("x", "y", ["z", "w"]) == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("kind", ["labels", "thin labels", "numbers", "mixed"])
def test_p_values_hold_under_independence(kind):
    """Of 300 tables, shares of p-values below a level are within 4 standard errors above it."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(300):
        if kind == "numbers":
            z = rng.normal(size=80)
            data = pd.DataFrame({"x": z + rng.normal(size=80), "y": rng.normal(size=80) - z, "z": z})
        elif kind == "mixed":
            z = rng.integers(0, 3, 120)
            data = pd.DataFrame(
                {"x": z + rng.normal(size=120), "y": (rng.random(120) < 0.2 + 0.3 * z / 2).astype(str), "z": z}
            )
        else:
            z = rng.choice(4 if kind == "thin labels" else 2, size=(150, 2))
            rare = 0.03 if kind == "thin labels" else 0.4
            data = pd.DataFrame(
                {
                    "x": (rng.random(150) < rare + 0.1 * z[:, 0]).astype(int),
                    "y": (rng.random(150) < 0.5 - 0.1 * z[:, 1]),
                    "z": z[:, 0],
                    "w": z[:, 1],
                }
            )
        found.append(IndependenceTests(data).p_value("x", "y", [c for c in "zw" if c in data]))
    for level in (0.01, 0.05, 0.2):
        share = np.mean(np.array(found) <= level)
        assert share <= level + 4 * np.sqrt(level * (1 - level) / 300)
        assert share > level / 10


def test_false_alarms_and_power():
    """Small; ``python -m tests.discovery.rates`` states the rates. At most 5% false alarms: 4 of 20 have p = 0.016."""
    alarms, _ = rates("cancer", 20, 500)
    assert alarms <= 4 / 20
    alarms, noticed = rates("asia", 5, 3000)
    assert alarms <= 2 / 5
    assert noticed >= 0.6


def test_violations_are_told_in_words():
    rows = sample_rows(load_network("asia"), 4000, seed=1)
    graph = nx.DiGraph(load_network("asia").edges())
    assert check_graph(rows, graph).fits
    assert "the graph fits: none of 20 implied independences is contradicted by 4,000 rows" in repr(
        check_graph(rows, graph)
    )
    graph.remove_edge("smoke", "bronc")
    check = check_graph(rows, graph)
    assert not check.fits
    worst = check.violations[0]
    assert {worst.x, worst.y} == {"smoke", "bronc"}
    assert worst.given == ()
    assert "smoke is not independent of bronc: p = " in check.messages()[0]
    assert "add an edge or a common cause" in check.messages()[0]
    assert "the graph does not fit: 4,000 rows contradict" in repr(check)


def test_levels_imply_no_independence():
    """Even a true order: b and c stand in one level and have a common cause that no column knows."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=2000)
    rows = pd.DataFrame({"a": rng.normal(size=2000), "b": hidden + rng.normal(size=2000)})
    rows["c"] = hidden + rows["a"] + rng.normal(size=2000)
    assert not check_graph(rows, [("a", "b"), ("a", "c")]).fits
    for order in (CausalOrder.from_levels([["a"], ["b", "c"]]), CausalOrder.from_edges([("a", "b"), ("a", "c")])):
        check = check_graph(rows, order)
        assert check.fits
        assert check.independences == check.edges == ()
        assert "nothing to test: an order or levels say what comes first and imply no independence" in repr(check)


def test_edges_that_are_not_seen():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 2, 500), "b": rng.integers(0, 3, 500)})
    rows["c"] = np.where(rng.random(500) < 0.8, rows["a"], 1 - rows["a"])
    check = check_graph(rows, [("a", "c"), ("b", "c")])
    assert [(edge.x, edge.y, edge.given) for edge in check.doubtful_edges] == [("b", "c", ("a",))]
    assert "b -> c: b looks independent of c given a" in check.messages()[-1]
    assert "1 of 2 edges are not seen" in repr(check)


def test_implied_independences_by_d_separation():
    graph = nx.DiGraph(load_network("asia").edges())
    check = check_graph(sample_rows(load_network("asia"), 100, seed=0), graph)
    pairs = {frozenset((test.x, test.y)) for test in check.independences}
    assert len(pairs) == len(check.independences) == 8 * 7 // 2 - 8
    assert all(nx.is_d_separator(graph, test.x, test.y, set(test.given)) for test in check.independences)
    assert not any(graph.has_edge(*pair) or graph.has_edge(*tuple(pair)[::-1]) for pair in map(tuple, pairs))


def test_hidden_nodes_and_classes():
    rows = sample_rows(load_network("asia"), 100, seed=0).drop(columns=["either"])
    with pytest.warns(CausalGraphWarning, match="'either', not a feature"):
        check = check_graph(rows, load_network("asia"))
    untested = {frozenset(pair) for pair in check.untested}
    assert frozenset(("xray", "dysp")) in untested  # only the hidden one separates them
    assert frozenset(("lung", "xray")) in untested
    assert "pairs could not be tested" in repr(check)
    cpdag = equivalence_class_of(nx.DiGraph(load_network("asia").edges()))
    full = sample_rows(load_network("asia"), 100, seed=0)
    same = {frozenset((t.x, t.y)) for t in check_graph(full, cpdag).independences}
    assert same == {frozenset((t.x, t.y)) for t in check_graph(full, load_network("asia")).independences}


def test_holm_by_definition():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.random(7) ** 3
        order = np.argsort(p)
        for alpha in (0.01, 0.05, 0.3):
            rejected = set()
            for k, place in enumerate(order):
                if p[place] > alpha / (7 - k):
                    break
                rejected.add(int(place))
            assert {k for k, own in enumerate(holm(p)) if own <= alpha} == rejected
    assert holm([]) == []


def test_columns_that_tell_nothing():
    rows = pd.DataFrame({"a": [0] * 20, "b": [0, 1] * 10, "c": [1.0] * 20, "d": np.arange(20) / 7})
    tests = IndependenceTests(rows)
    assert tests.p_value("a", "b", ()) == 1.0
    assert tests.p_value("c", "d", ()) == 1.0
    assert tests.p_value("b", "d", ["b"]) == 1.0


@pytest.mark.filterwarnings("ignore::shap_asv.errors.CausalGraphWarning")
def test_each_test_takes_the_rows_that_have_its_columns():
    """Of numbers and of labels; the same as the test of a table without the other rows."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    whole = pd.DataFrame({"x": x, "y": x + rng.normal(size=300), "z": rng.normal(size=300)})
    whole["b"], whole["d"] = np.where(whole["y"] > 0, "hi", "lo"), rng.integers(0, 3, 300)
    holes = whole.mask(rng.random(whole.shape) < 0.2)
    for edges in ([("x", "y")], [("x", "y"), ("y", "b")]):
        check = check_graph(holes, edges)
        for test in (*check.independences, *check.edges):
            kept = holes[[test.x, test.y, *test.given]].dropna()
            assert IndependenceTests(kept).p_value(test.x, test.y, test.given) == pytest.approx(test.p, rel=1e-6)
    assert check_graph(GOOD.replace(1, None), [("age", "income")]).edges[0].p == 1.0


GOOD = pd.DataFrame({"age": [0, 1] * 10, "income": [0, 0, 1, 1] * 5})
