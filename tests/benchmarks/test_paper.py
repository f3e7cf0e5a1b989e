"""What the experiments on the paper must find whatever the machine, and the tools they measure with."""

import networkx as nx
import numpy as np
import pytest

from benchmarks import accuracy, classes, mean_prediction
from benchmarks.experiment import Progress
from benchmarks.graphs import inverted_star, multiple_paths, naive_bayes, rooted_trees
from benchmarks.runtime import correlation
from benchmarks.timing import shortest


@pytest.fixture(scope="module")
def counted():
    return classes.run("small", Progress(False))


def test_child_has_the_papers_counts(counted):
    child = counted.table("counts").rows[0]
    assert child[3] == 741_015_475_200
    assert child[4] == pytest.approx(2003.3)
    assert [claim.holds for claim in counted.claims[:2]] == [True, True]


def test_the_bound_holds_in_nodes_and_not_in_edges(counted):
    rows = {row[0]: row for row in counted.table("bound").rows}
    assert all(row[4] == 0 for row in rows.values() if row[1])
    assert rows["naive Bayes"][5] > 0
    assert "3 effects: 4 classes > 1^3 + 1 = 2" in rows["naive Bayes"][8]
    assert rows["isolated features"][4] > 0
    assert rows["inverted star"][4] > 0
    assert rows["isolated features"][7] == 0


def test_shapes_by_hand():
    star = classes.Shape.of(naive_bayes(3))
    assert (star.leaves, star.depth, star.classes[0], star.classes["class"]) == (3, 2, 4, 1)
    assert not star.breaks(2)
    assert star.breaks(1)
    assert not star.breaks_power(2)  # 4 <= 2^(3 - 1): the sharper bound is met with equality
    assert classes.Shape.of(inverted_star(3)).breaks(2)
    paths = classes.Shape.of(multiple_paths(2, 3))
    assert (paths.leaves, paths.depth, max(paths.classes.values())) == (2, 4, 4)


def test_rooted_trees_are_all_there_once():
    # the number of rooted trees, OEIS A000081
    assert [sum(1 for _ in rooted_trees(n)) for n in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]
    assert all(nx.is_arborescence(tree) for tree in rooted_trees(6))


def test_correlation_of_a_power_law():
    r, exponent = correlation([1, 10, 100], [2, 20 * 10**0.5, 2 * 1000])
    assert r == pytest.approx(1)
    assert exponent == pytest.approx(1.5)


def test_shortest_stops_when_it_has_enough():
    calls = []
    shortest(lambda: calls.append(1), 5, enough=0.0)
    assert len(calls) == 1
    shortest(lambda: calls.append(1), 5)
    assert len(calls) == 6


def test_relative_errors_leave_out_what_is_too_small():
    exact = np.array([1e-12, 0.5, -2.0])
    np.testing.assert_allclose(accuracy.relative(np.array([1.0, 0.6, -2.2]), exact, 1e-9), [0.2, 0.1])
    np.testing.assert_allclose(accuracy.relative(np.array([1.0, 0.6, -2.2]), exact, 1e-9, 1.0), [0.2])


def test_sampled_values_keep_efficiency_and_come_near():
    from benchmarks.ensembles import pruned_child_network

    setting = accuracy.prepare(pruned_child_network(), "XrayReport", 3, 3)
    found = setting.sampled(2000, seed=1)
    np.testing.assert_allclose(found.sum(axis=1), setting.nu[:, -1] - setting.nu[:, 0], atol=1e-12)
    assert 0 < np.abs(found - setting.exact).max() < 0.02


def test_values_by_queries_are_ours():
    from pgmpy.inference import VariableElimination

    from shap_asv.backgrounds.pgmpy_networks import to_pgmpy

    case = mean_prediction.prepare("asia", "lung", 6, 8, 2)
    engine = VariableElimination(to_pgmpy(case.network))
    answers = case.ours()
    for c, coalition in enumerate(case.coalitions):
        np.testing.assert_allclose(case.by_queries(engine, case.rows[1], coalition), answers[1, c], atol=1e-9)
