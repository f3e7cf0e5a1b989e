"""Convergence: estimates at their numbers of orders, intervals of the stated level, exact values beside them."""

from statistics import NormalDist

import numpy as np
import pytest
import shap

from shap_asv import plots
from shap_asv.errors import ExplanationError
from tests.plots.looking import LONG, NETWORKS, assert_neat, nodes


def run(names, counts=(100, 300, 1000, 3000, 10000), seed=0, exact=True, scale=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=len(names)) * 0.15 * scale
    draws = truth + rng.normal(size=(max(counts), len(names))) * rng.uniform(0.2, 0.8, len(names)) * scale
    values = [draws[:count].mean(axis=0) for count in counts]
    errors = [draws[:count].std(axis=0) / np.sqrt(count) for count in counts]
    return plots.Convergence(counts, values, errors, names, truth if exact else None)


def drawn(ax):
    """{feature: (x, y, half widths of intervals)} as read from the picture."""
    lines = {}
    for container in ax.containers:
        x, y = container.lines[0].get_data()
        segments = np.array(container.lines[2][0].get_segments())
        lines[container.get_label()] = (x, y, (segments[:, 1, 1] - segments[:, 0, 1]) / 2)
    return lines


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_lines_are_values_and_bars_are_intervals(level):
    names = nodes(NETWORKS["cancer"])
    data = run(names)
    ax = plots.convergence(data, level=level, show=False)
    assert set(drawn(ax)) == set(names)
    for name, (x, y, half) in drawn(ax).items():
        j = names.index(name)
        np.testing.assert_allclose(np.log10(x), np.log10(data.n_orders), atol=0.05)
        np.testing.assert_allclose(y, data.values[:, j])
        np.testing.assert_allclose(half, NormalDist().inv_cdf(0.5 + level / 2) * data.errors[:, j])
    levels = {line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1}
    assert set(data.exact) <= levels
    assert f"{100 * level:.4g}%" in ax.get_legend().get_texts()[0].get_text()
    assert_neat(ax.figure)


def test_the_largest_are_drawn():
    data = run(nodes(NETWORKS["child"]))
    ax = plots.convergence(data, max_display=4, show=False)
    top = np.argsort(-np.abs(data.values[-1]))[:4]
    assert set(drawn(ax)) == {data.feature_names[j] for j in top}


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        (nodes(NETWORKS["child"]), (100, 200, 400, 800, 1600, 3200, 6400)),
        (LONG, (1000,)),
        (["a"], (10, 20)),
        (nodes(NETWORKS["cancer"]), (10, 1000, 1001)),
    ],
    ids=["child", "long", "one", "uneven steps"],
)
def test_neat_at_any_size(names, counts):
    several = len(names) > 1
    ax = plots.convergence(run(names, counts, exact=several, scale=1.0 * several), max_display=None, show=False)
    assert_neat(ax.figure)
    assert ax.xaxis.get_ticklabels()[-1].get_text() == f"{counts[-1]:,}"


def test_reads_explanations():
    rng = np.random.default_rng(1)

    def explanation(names, count):
        values = np.tile([1.0, 2.0, 3.0], (4, 1)) + rng.normal(size=(4, 3)) / np.sqrt(count)
        return shap.Explanation(values, np.zeros(4), feature_names=names, error_std=np.full((4, 3), [0.1, 0.2, 0.3]))

    sampled = {1000: explanation(["a", "b", "c"], 1000), 10: explanation(["c", "a", "b"], 10)}
    exact = shap.Explanation(np.ones((4, 3)), np.zeros(4), feature_names=["a", "b", "c"])
    data = plots.Convergence.from_explanations(sampled, row=2, exact=exact)
    np.testing.assert_array_equal(data.n_orders, [10, 1000])
    assert data.feature_names == ("c", "a", "b")
    np.testing.assert_allclose(data.values, [sampled[10].values[2], sampled[1000].values[2][[2, 0, 1]]])
    np.testing.assert_allclose(data.errors, [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]])
    np.testing.assert_array_equal(data.exact, np.ones(3))
    assert set(drawn(plots.convergence(sampled, show=False))) == {"a", "b", "c"}
    with pytest.raises(ExplanationError, match="1000 orders has no error_std"):
        plots.convergence({**sampled, 1000: exact}, show=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.ones((2, 2))}, r"values has shape \(2, 2\), but \(3, 2\)"),
        ({"errors": -np.ones((3, 2))}, "none may be negative"),
        ({"errors": np.full((3, 2), np.nan)}, "errors holds NaN"),
        ({"n_orders": [1, 3, 2]}, "increasing"),
        ({"n_orders": [0, 1, 2]}, "positive"),
        ({"exact": [1.0]}, r"exact has shape \(1,\)"),
        ({"n_orders": [], "values": np.ones((0, 2)), "errors": np.ones((0, 2))}, "at least one"),
    ],
)
def test_what_cannot_be_drawn(change, message):
    fields = {"n_orders": [1, 2, 3], "values": np.ones((3, 2)), "errors": np.ones((3, 2)), "feature_names": ["a", "b"]}
    with pytest.raises(ExplanationError, match=message):
        plots.Convergence(**{**fields, **change})


def test_wrong_arguments():
    data = run(["a", "b"])
    with pytest.raises(ExplanationError, match="level"):
        plots.convergence(data, level=95, show=False)
    with pytest.raises(ExplanationError, match="not a list"):
        plots.convergence([data], show=False)
