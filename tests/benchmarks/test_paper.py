"""What the experiments on the paper must find whatever the machine, and the tools they measure with."""

import networkx as nx
import numpy as np
import pytest

from benchmarks import accuracy, classes, sampling
from benchmarks.experiment import Progress
from benchmarks.graphs import inverted_star, multiple_paths, naive_bayes, rooted_trees
from benchmarks.runtime import correlation, quick_enumeration
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
    assert all(row[5] == 0 for row in rows.values() if row[1])
    assert rows["naive Bayes"][6] > 0
    assert "3 effects: 4 classes > 1^3 + 1 = 2" in rows["naive Bayes"][9]
    assert rows["isolated features"][5] > 0
    assert rows["inverted star"][5] > 0
    assert rows["isolated features"][8] == 0
    assert rows["path"][2:7] == (30, 1, 0.5, 0, 0)  # 30 paths of one class each, no bound broken
    verdicts = {claim.text.split(":")[0]: claim for claim in counted.claims}
    assert verdicts["a path"].holds
    assert verdicts["Proposition 2"].holds
    assert verdicts["Proposition 2 read with h in edges (a star has depth 1)"].holds is False


def test_a_family_of_one_size_is_not_judged(counted):
    claim = next(claim for claim in counted.claims if "far slower" in claim.text)
    assert claim.holds
    assert "they do in 5 of 5 families" in claim.measured
    assert claim.measured.endswith("; child: one size, not judged")


def test_what_the_paper_does_not_print_is_marked(counted):
    rows = {row[0]: row for row in counted.table("against_paper").rows}
    derived = [row[2] for what, row in rows.items() if what.startswith("evaluations of nu")]
    assert derived == ["80,132 (derived)"]
    assert [rows[what][4] for what in list(rows)[:2]] == ["the same", "the same"]
    assert classes.agrees(False) != "the same"


def test_shapes_by_hand():
    star = classes.Shape.of(naive_bayes(3))
    assert (star.leaves, star.depth, star.classes[0], star.classes["class"]) == (3, 2, 4, 1)
    assert not star.breaks(2)
    assert star.breaks(1)
    assert not star.breaks_power(2)  # 4 <= 2^(3 - 1): the sharper bound is met with equality
    assert classes.Shape.of(inverted_star(3)).breaks(2)
    path = classes.Shape.of(nx.path_graph(5, create_using=nx.DiGraph))
    assert (path.leaves, path.depth, set(path.classes.values())) == (1, 5, {1})
    assert not path.breaks(5)
    assert not path.breaks(4)
    single = classes.Shape.of(nx.path_graph(1, create_using=nx.DiGraph))
    assert not single.breaks(0)  # 1 <= 0^1 + 1: no edge, and still one class
    paths = classes.Shape.of(multiple_paths(2, 3))
    assert (paths.leaves, paths.depth, max(paths.classes.values())) == (2, 4, 4)


def test_rooted_trees_are_all_there_once():
    # the number of rooted trees, OEIS A000081
    assert [sum(1 for _ in rooted_trees(n)) for n in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]
    assert all(nx.is_arborescence(tree) for tree in rooted_trees(6))


def test_each_row_of_the_sampling_table_is_a_claim(monkeypatch):
    monkeypatch.setattr(sampling, "shortest", lambda work, repeats: 0.5)
    monkeypatch.setattr(sampling, "PAPER_SECONDS", {100: 1.0, 1000: 0.25})
    found = sampling.run("small", Progress(False))
    first, second = found.claims[:2]
    assert (first.asked, first.measured, first.holds) == ("less than 1 s", "0.5 s, 2 times faster", True)
    assert "1,000 orders" in second.text
    assert second.holds is False
    assert "5e+02 to 5e+03 us" in found.notes[1]
    assert "1.0 to 1.0 times what sorting takes" in found.notes[1]


def test_enumeration_that_is_quicker_is_said_with_its_figures():
    rows = [("f", "g", 3, 24, 1, 1, 0.0021, None, 0.001, 0.5), ("f", "g", 3, 6, 1, 1, 0.0015, None, 0.001, 0.7)]
    said = quick_enumeration(rows, 9)
    assert "on 2 of 9 graphs, none of them with more than 24 orders" in said
    assert "at most 2.1 ms there" in said
    assert quick_enumeration([], 9).endswith("on none of 9 graphs.")


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


def test_hoeffdings_bound():
    # 2 exp(-2 n (gap / 2)^2) is the probability of a larger error of a mean of n contributions between -1 and 1
    assert 2 * np.exp(-100 * accuracy.allowed_gap(100) ** 2 / 2) == pytest.approx(0.05)


def test_mean_and_its_standard_error():
    assert accuracy.mean_and_error([1.0, 2.0, 3.0]) == pytest.approx((2.0, 1 / 3**0.5))
    assert accuracy.mean_and_error([1.0]) == (1.0, None)


class FakeSetting:
    """Exact values of 0.5 and 0.0005; spread orders are off by 0.01 of each, independent ones by a given gap."""

    name, leaves, exact = "made up", 2, np.array([[0.5, 0.0005]])

    def __init__(self, gap):
        self.gap = gap

    def sampled(self, n_orders, seed, spread=True):
        return self.exact * 1.01 if spread else self.exact + self.gap / np.sqrt(n_orders)


@pytest.mark.parametrize(("gap", "within"), [(2.5, "100.00% within"), (3.0, "0.00% within")])
def test_independent_orders_are_measured_apart(gap, within, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setattr(accuracy, "prepare", lambda *arguments: FakeSetting(gap))
    found = accuracy.run("small", Progress(False))
    # Hoeffding's bound is 2.716 / sqrt(orders): spread orders would be within it in both cases
    hoeffding = next(claim for claim in found.claims if "Hoeffding" in claim.text)
    assert (hoeffding.measured, hoeffding.holds) == (within, gap < 2.716)
    errors = found.table("errors")
    np.testing.assert_allclose(errors.column(accuracy.INDEPENDENT), gap / np.sqrt(errors.column("orders")))
    np.testing.assert_allclose(errors.column(accuracy.ABSOLUTE), 0.01 * 0.25025)
    assert found.table("settings").rows[0][-1] == pytest.approx(-0.5)
    (plot,) = accuracy.draw(found)
    drawn = {axes.get_title(): axes for axes in plot.figure.axes}
    lines = [line.get_ydata() for line in drawn["Decay of the error"].lines]
    assert any(np.array_equal(line, errors.column(accuracy.INDEPENDENT)) for line in lines)
    plt.close(plot.figure)


def test_boxes_of_all_values_and_the_papers_mean_at_its_own_count(monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setattr(accuracy, "prepare", lambda *arguments: FakeSetting(1.0))
    monkeypatch.setattr(accuracy, "PAPER_ORDERS", 30)
    found = accuracy.run("small", Progress(False))
    assert found.table("quantiles").column("mean") == pytest.approx([0.01, 0.01])
    assert found.table("quantiles_all").column("orders") == [30, 100]
    (plot,) = accuracy.draw(found)
    drawn = {axes.get_title(): axes for axes in plot.figure.axes}
    for title in ("Values above 0.001", "All values that are not zero"):
        stars = [line for line in drawn[title].lines if line.get_label() == "the paper's mean"]
        assert [line.get_xydata().tolist() for line in stars] == [[[1.0, 0.08]]]
    plt.close(plot.figure)
