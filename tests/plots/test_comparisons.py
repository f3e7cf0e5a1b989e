"""Bars, waterfalls and beeswarms of several methods: as long as their values, on one scale, causes on top, neat."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap

from shap_asv import plots
from shap_asv.errors import ExplanationError
from shap_asv.explainer.effects import Effects
from shap_asv.plots.comparisons import MISSING, stack
from tests.plots.looking import CANCER, LONG, NETWORKS, assert_neat, at_any_size, nodes, two_explanations

CHILD = NETWORKS["child"]
MINUS = "\N{MINUS SIGN}"


def labels(ax):
    """Features from the top down, without their values."""
    return [label.get_text().replace("\n", " ").split(" = ")[0] for label in ax.get_yticklabels()]


def columns(shown, edges):
    """Where the features of a plot stand among the nodes, once causes are known to stand above effects."""
    assert all(shown.index(cause) < shown.index(effect) for cause, effect in edges)
    return [nodes(edges).index(feature) for feature in shown]


def signs_agree(words, values):
    """A number is 0 or has the sign of its value."""
    return all(word == "0" or word[0] == ("+" if value > 0 else MINUS) for word, value in zip(words, values))  # noqa: B905


# --- bars -----------------------------------------------------------------------------------------------------------


def widths(ax):
    """(methods, features): lengths of the bars, methods in the order in which they were drawn."""
    return np.array([bar.patches[0].get_width() for bar in ax.containers]).reshape(-1, len(labels(ax)))


def test_bars_are_values_in_causal_order():
    pair = two_explanations(nodes(CHILD), rows=3)
    ax = plots.comparison(pair, row=1, order=CHILD, max_display=None, show=False)
    np.testing.assert_allclose(widths(ax), [e.values[1, columns(labels(ax), CHILD)] for e in pair.values()])
    low, high = ax.get_ylim()
    assert low > high, "the first feature belongs on top"
    assert_neat(ax.figure)


def test_the_rest_of_the_bars_is_summed_up():
    pair = two_explanations(nodes(CHILD))
    ax = plots.comparison(pair, order=CHILD, max_display=6, show=False)
    assert len(labels(ax)) == 6
    assert labels(ax)[-1] == "Sum of 15 other features"
    np.testing.assert_allclose(widths(ax).sum(axis=1), [e.values[0].sum() for e in pair.values()])
    largest = np.abs([e.values[0] for e in pair.values()]).max(axis=0)
    assert set(labels(ax)[:-1]) == {nodes(CHILD)[j] for j in np.argsort(-largest)[:5]}


def test_means_of_absolute_values():
    pair = two_explanations(nodes(CANCER), rows=50)
    ax = plots.comparison(pair, row=None, show=False)
    np.testing.assert_allclose(widths(ax), [np.abs(e.values).mean(axis=0) for e in pair.values()])
    assert labels(ax) == nodes(CANCER)


def test_sign_has_a_second_cue_and_methods_differ_without_colour():
    ax = plots.comparison(two_explanations(nodes(CANCER)), show=False)
    bars = [bar.patches[0] for bar in ax.containers]
    numbers = [text.get_text() for text in ax.texts]
    assert len(numbers) == len(bars)
    assert signs_agree(numbers, [bar.get_width() for bar in bars])
    assert bars[0].get_hatch()
    assert not bars[-1].get_hatch()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SHAP", "ASV"]


@at_any_size
def test_bars_are_neat_at_any_size(features, scale):
    order = [("x", LONG[0])] if features is LONG else None
    assert_neat(plots.comparison(two_explanations(features, scale=scale), order=order, show=False).figure, 0.002)


def test_one_method_and_up_to_six():
    pair = two_explanations(nodes(CANCER))
    ax = plots.comparison(pair["ASV"], show=False)
    assert ax.get_legend() is None
    np.testing.assert_allclose(widths(ax), pair["ASV"].values)
    more = {**pair, **dict.fromkeys(("third", "fourth", "fifth", "sixth"), pair["SHAP"])}
    assert_neat(plots.comparison(more, show=False).figure)
    with pytest.raises(ExplanationError, match="at most 6"):
        plots.comparison({**more, "seventh": pair["ASV"]}, show=False)


def test_takes_a_blank_figure_but_no_other():
    blank = plt.figure()
    assert plots.comparison(two_explanations(["a"]), show=False).figure is blank
    assert plots.comparison(two_explanations(["a"]), show=False).figure is not blank


# --- direct and indirect --------------------------------------------------------------------------------------------

PARTS = ["smoker", "tar", "xray"]
DIRECT, INDIRECT = [0.1, -0.4, 0.2], [0.3, -0.2, -0.5]


def part(values, names=PARTS):
    values = np.atleast_2d(values)
    data = np.broadcast_to([PARTS.index(name) + 0.5 for name in names], values.shape)
    return shap.Explanation(values, np.full(len(values), 0.3), data, feature_names=list(names))


def test_what_effects_gives_names_its_bars():
    ax = plots.comparison(Effects(part(DIRECT), part(INDIRECT)), show=False)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["direct", "indirect"]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [*DIRECT, *INDIRECT])


# --- waterfalls -----------------------------------------------------------------------------------------------------


def arrows(ax):
    """(start, end) of each arrow from top to bottom, read from its outline."""
    outlines = [patch.get_xy() for patch in ax.patches if str(patch.get_gid()).startswith("arrow")]
    return np.array([(outline[0, 0], outline[2, 0]) for outline in outlines])


def test_causal_walks_go_down_from_expectation_to_prediction():
    pair = two_explanations(nodes(CHILD), rows=2)
    axes = plots.comparison_waterfall(pair, row=1, order=CHILD, max_display=None, show=False)
    order = columns(labels(axes[0]), CHILD)
    for ax, e in zip(axes, pair.values(), strict=True):
        walked = arrows(ax)
        np.testing.assert_allclose(np.diff(walked, axis=1)[:, 0], e.values[1, order])
        assert walked[0, 0] == pytest.approx(0.3)
        np.testing.assert_allclose(walked[1:, 0], walked[:-1, 1])
        assert walked[-1, 1] == pytest.approx(0.3 + e.values[1].sum())
        words = [text.get_text() for text in ax.texts]
        assert signs_agree(words[: len(walked)], e.values[1, order])
        assert any(word.startswith("$E[f(X)]$ = 0.3") for word in words)
        final = next(word for word in words if word.startswith("$f(x)$")).split(" = ")[1].replace(MINUS, "-")
        assert float(final) == pytest.approx(0.3 + e.values[1].sum(), abs=1e-3)
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert_neat(axes[0].figure)


def test_waterfalls_without_an_order_as_in_shap():
    pair = two_explanations(nodes(CHILD))
    axes = plots.comparison_waterfall(pair, max_display=7, show=False)
    assert labels(axes[0])[-1] == "14 other features"
    for ax, e in zip(axes, pair.values(), strict=True):
        walked = arrows(ax)
        assert walked[-1, 0] == pytest.approx(0.3), "E[f(X)] belongs below"
        np.testing.assert_allclose(walked[:-1, 0], walked[1:, 1])
        assert walked[0, 1] == pytest.approx(0.3 + e.values[0].sum())
    largest = np.abs([np.diff(arrows(ax), axis=1)[:-1, 0] for ax in axes]).max(axis=0)
    assert (np.diff(largest) <= 0).all()


def test_same_arrows_as_shap_for_one_explanation():
    e = two_explanations(nodes(CHILD))["ASV"]
    (ours,) = plots.comparison_waterfall(e, show=False)
    plt.figure()
    shap.plots.waterfall(e[0], show=False)
    outlines = [
        patch.get_xy() for patch in plt.gcf().axes[0].patches if patch.get_alpha() != 0 and hasattr(patch, "get_xy")
    ]
    theirs = sorted(np.ptp(outline[:, 0]) for outline in outlines if np.ndim(outline) == 2)
    lengths = np.sort(np.abs(np.diff(arrows(ours), axis=1)[:, 0]))
    # shap draws arrow heads of a least length, so compare those that are longer
    np.testing.assert_allclose(theirs[-4:], lengths[-4:], rtol=1e-6)


@at_any_size
def test_waterfalls_are_neat_at_any_size(features, scale):
    axes = plots.comparison_waterfall(two_explanations(features, scale=scale), show=False)
    assert_neat(axes[0].figure, least_ink=0.002)


def test_ends_keep_their_decimals_when_the_expectation_is_large():
    e = shap.Explanation(np.array([[1.25, -0.5]]), np.array([1000.0]), feature_names=["a", "b"])
    (ax,) = plots.comparison_waterfall(e, show=False)
    assert {"$E[f(X)]$ = 1000.00", "$f(x)$ = 1000.75"} <= {text.get_text() for text in ax.texts}


# --- beeswarms ------------------------------------------------------------------------------------------------------


def dots(ax, place):
    """Offsets of the dots in one row of the plot."""
    points = np.concatenate([collection.get_offsets() for collection in ax.collections])
    return points[np.abs(points[:, 1] - place) <= 0.41]


def test_every_row_is_a_dot_at_its_value():
    pair = two_explanations(nodes(CHILD), rows=200)
    axes = plots.comparison_beeswarm(pair, order=CHILD, max_display=None, show=False)
    order = columns(labels(axes[0]), CHILD)
    for ax, e in zip(axes, pair.values(), strict=True):
        for place, j in enumerate(order):
            np.testing.assert_allclose(np.sort(dots(ax, place)[:, 0]), np.sort(e.values[:, j]))
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert_neat(axes[0].figure)


def test_beeswarms_without_an_order_by_importance_and_the_rest_summed_up():
    pair = two_explanations(nodes(CHILD), rows=60)
    axes = plots.comparison_beeswarm(pair, max_display=5, show=False)
    assert labels(axes[0])[-1] == "Sum of 16 other features"
    importance = np.array([np.abs(e.values).mean(axis=0) for e in pair.values()]).max(axis=0)
    ranked = np.argsort(-importance)
    assert labels(axes[0])[:-1] == [nodes(CHILD)[j] for j in ranked[:4]]
    for ax, e in zip(axes, pair.values(), strict=True):
        np.testing.assert_allclose(np.sort(dots(ax, 4)[:, 0]), np.sort(e.values[:, ranked[4:]].sum(axis=1)))


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


@at_any_size
def test_beeswarms_are_neat_at_any_size(features, scale):
    axes = plots.comparison_beeswarm(two_explanations(features, rows=1 if scale else 200, scale=scale), show=False)
    assert_neat(axes[0].figure, least_ink=0.002)
