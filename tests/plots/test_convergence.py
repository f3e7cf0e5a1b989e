"""Convergence: estimates at their numbers of orders, intervals of the stated level, exact values beside them."""

from statistics import NormalDist

import numpy as np
import pytest
import shap

from shap_asv import plots
from shap_asv.errors import ExplanationError
from tests.plots.looking import LONG, NETWORKS, assert_neat, nodes


def run(names, counts=(100, 300, 1000, 3000, 10000), seed=0, scale=1.0):
    """(explanations by numbers of orders, the exact one)"""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=len(names)) * 0.15 * scale
    draws = truth + rng.normal(size=(max(counts), len(names))) * rng.uniform(0.2, 0.8, len(names)) * scale
    sampled = {
        count: shap.Explanation(
            draws[:count].mean(axis=0)[None],
            np.zeros(1),
            feature_names=list(names),
            error_std=draws[:count].std(axis=0)[None] / np.sqrt(count),
        )
        for count in counts
    }
    return sampled, shap.Explanation(truth[None], np.zeros(1), feature_names=list(names))


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
    sampled, exact = run(names)
    ax = plots.convergence(sampled, level=level, exact=exact, show=False)
    assert set(drawn(ax)) == set(names)
    for name, (x, y, half) in drawn(ax).items():
        j = names.index(name)
        np.testing.assert_allclose(np.log10(x), np.log10(list(sampled)), atol=0.05)
        np.testing.assert_allclose(y, [e.values[0, j] for e in sampled.values()])
        wanted = [NormalDist().inv_cdf(0.5 + level / 2) * e.error_std[0, j] for e in sampled.values()]
        np.testing.assert_allclose(half, wanted)
    levels = {line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1}
    assert set(exact.values[0]) <= levels
    assert f"{100 * level:.4g}%" in ax.get_legend().get_texts()[0].get_text()
    assert_neat(ax.figure)


def test_the_largest_are_drawn():
    sampled, _ = run(nodes(NETWORKS["child"]))
    ax = plots.convergence(sampled, max_display=4, show=False)
    top = np.argsort(-np.abs(sampled[10000].values[0]))[:4]
    assert set(drawn(ax)) == {nodes(NETWORKS["child"])[j] for j in top}


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
    sampled, exact = run(names, counts, scale=1.0 * several)
    ax = plots.convergence(sampled, max_display=None, exact=exact if several else None, show=False)
    assert_neat(ax.figure)
    assert ax.xaxis.get_ticklabels()[-1].get_text() == f"{counts[-1]:,}"


def test_features_are_aligned_by_name():
    names, errors = ["a", "b", "c"], np.full((4, 3), [0.1, 0.2, 0.3])
    values = np.arange(12.0).reshape(4, 3)
    turned = [2, 0, 1]
    sampled = {
        1000: shap.Explanation(values, np.zeros(4), feature_names=names, error_std=errors),
        10: shap.Explanation(values, np.zeros(4), feature_names=[names[j] for j in turned], error_std=errors),
    }
    found = drawn(plots.convergence(sampled, level=0.5, row=2, show=False))
    for j, name in enumerate(names):
        places = [turned.index(j), j]
        np.testing.assert_allclose(found[name][1], values[2, places])
        np.testing.assert_allclose(found[name][2], NormalDist().inv_cdf(0.75) * errors[2, places])


@pytest.mark.parametrize(
    ("explanations", "options", "message"),
    [
        ([1], {}, "a dict of number of orders"),
        ({}, {}, "a dict of number of orders"),
        ({0: run(["a"])[1]}, {}, "positive integers"),
        (run(["a"])[0], {"level": 95}, "level is a share"),
        (run(["a"])[0], {"row": 3}, "no row 3"),
        ({10: run(["a"])[1]}, {}, "10 orders has no error_std"),
    ],
)
def test_what_cannot_be_drawn(explanations, options, message):
    with pytest.raises(ExplanationError, match=message):
        plots.convergence(explanations, show=False, **options)
