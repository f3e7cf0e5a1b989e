"""Beeswarms: a dot for every row, at its value, in stacks that can be compared."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap

from shap_asv import plots
from shap_asv.plots.comparisons import MISSING, stack
from tests.plots.looking import CANCER, NETWORKS, assert_neat, at_any_size, nodes, two_explanations


def labels(ax):
    return [label.get_text().replace("\n", "") for label in ax.get_yticklabels()]


def dots(ax, place):
    """Offsets of the dots in one row of the plot."""
    points = np.concatenate([collection.get_offsets() for collection in ax.collections])
    return points[np.abs(points[:, 1] - place) <= 0.41]


@pytest.mark.parametrize(("name", "rows"), [("cancer", 1), ("child", 500)])
def test_every_row_is_a_dot_at_its_value(name, rows):
    edges = NETWORKS[name]
    pair = two_explanations(nodes(edges), rows=rows)
    axes = plots.comparison_beeswarm(pair, order=edges, max_display=None, show=False)
    shown = labels(axes[0])
    assert all(shown.index(cause) < shown.index(effect) for cause, effect in edges)
    for ax, e in zip(axes, pair.values(), strict=True):
        for place, feature in enumerate(shown):
            expected = e.values[:, nodes(edges).index(feature)]
            np.testing.assert_allclose(np.sort(dots(ax, place)[:, 0]), np.sort(expected))
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert_neat(axes[0].figure)


def test_without_an_order_by_importance_and_the_rest_summed_up():
    pair = two_explanations(nodes(NETWORKS["child"]), rows=60)
    axes = plots.comparison_beeswarm(pair, max_display=5, show=False)
    assert labels(axes[0])[-1] == "Sum of 16 other features"
    importance = np.array([np.abs(e.values).mean(axis=0) for e in pair.values()]).max(axis=0)
    ranked = np.argsort(-importance)
    assert labels(axes[0])[:-1] == [nodes(NETWORKS["child"])[j] for j in ranked[:4]]
    for ax, e in zip(axes, pair.values(), strict=True):
        np.testing.assert_allclose(np.sort(dots(ax, 4)[:, 0]), np.sort(e.values[:, ranked[4:]].sum(axis=1)))
    assert_neat(axes[0].figure)


def test_dots_are_coloured_by_state():
    pair = two_explanations(nodes(CANCER), rows=40)
    axes = plots.comparison_beeswarm(pair, order=None, show=False)
    ax, e = axes[0], pair["SHAP"]
    first = nodes(CANCER).index(labels(ax)[0])
    collection = ax.collections[0]
    by_value = dict(zip(collection.get_offsets()[:, 0].tolist(), collection.get_array().tolist(), strict=True))
    for value, code in zip(e.values[:, first], e.data[:, first], strict=True):
        assert by_value[float(value)] == pytest.approx(code / 2)
    assert [text.get_text() for text in ax.figure.axes[-1].get_yticklabels()] == ["Low", "High"]


def test_data_that_are_no_numbers_or_missing_are_grey():
    values = np.array([[0.1, 0.2], [0.3, 0.4], [0.2, 0.1]])
    words = shap.Explanation(values, np.zeros(3), np.array([["x", "y"]] * 3, dtype=object), feature_names=["a", "b"])
    (ax,) = plots.comparison_beeswarm(words, show=False)
    assert len(ax.figure.axes) == 1, "a colour bar without colours"
    holes = shap.Explanation(values, np.zeros(3), np.array([[np.nan, 1], [0, 2], [1, 3]]), feature_names=["a", "b"])
    (ax,) = plots.comparison_beeswarm(holes, show=False)
    greys = [c for c in ax.collections if c.get_array() is None]
    assert [len(c.get_offsets()) for c in greys] == [1]
    assert plt.matplotlib.colors.to_hex(greys[0].get_facecolor()[0]) == MISSING
    plots.comparison_beeswarm(shap.Explanation(values, np.zeros(3), feature_names=["a", "b"]), show=False)


def test_stacks_are_comparable_and_keep_to_their_row():
    values = np.array([np.zeros(300), np.linspace(-1, 1, 300)])
    offsets = stack(values, -1.1, 1.1)
    assert np.abs(offsets).max() == pytest.approx(0.4)
    assert len(np.unique(offsets[0])) == 300, "dots of one stack lie on one another"
    step = np.diff(np.unique(np.abs(offsets[0])))[0]
    used = np.unique(np.abs(offsets[1]))
    np.testing.assert_allclose(used / step, np.round(used / step), atol=1e-9)


def test_random_state_of_the_caller_is_left_alone():
    np.random.seed(7)  # noqa: NPY002 (the point of the test)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    plots.comparison_beeswarm(two_explanations(nodes(CANCER), rows=20), show=False)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@at_any_size
def test_neat_at_any_size(features, scale):
    axes = plots.comparison_beeswarm(two_explanations(features, rows=1 if scale else 500, scale=scale), show=False)
    assert_neat(axes[0].figure, least_ink=0.002)
