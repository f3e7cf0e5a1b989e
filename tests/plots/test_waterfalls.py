"""Waterfalls: arrows that lead from the expectation to the prediction, on one scale."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap

from shap_asv import plots
from tests.plots.looking import CANCER, NETWORKS, assert_neat, at_any_size, nodes, two_explanations


def arrows(ax):
    """(start, end) of each arrow from top to bottom, read from its outline."""
    outlines = [patch.get_xy() for patch in ax.patches if str(patch.get_gid()).startswith("arrow")]
    return np.array([(outline[0, 0], outline[2, 0]) for outline in outlines])


def labels(ax):
    return [label.get_text().replace("\n", " ").split(" = ")[0] for label in ax.get_yticklabels()]


@pytest.mark.parametrize("name", ["cancer", "child"])
def test_causal_walks_go_down_from_expectation_to_prediction(name):
    edges = NETWORKS[name]
    pair = two_explanations(nodes(edges), rows=2)
    axes = plots.comparison_waterfall(pair, row=1, order=edges, max_display=None, show=False)
    shown = labels(axes[0])
    assert all(shown.index(cause) < shown.index(effect) for cause, effect in edges)
    columns = [nodes(edges).index(feature) for feature in shown]
    for ax, e in zip(axes, pair.values(), strict=True):
        walked = arrows(ax)
        np.testing.assert_allclose(np.diff(walked, axis=1)[:, 0], e.values[1, columns])
        assert walked[0, 0] == pytest.approx(0.3)
        np.testing.assert_allclose(walked[1:, 0], walked[:-1, 1])
        assert walked[-1, 1] == pytest.approx(0.3 + e.values[1].sum())
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert_neat(axes[0].figure)


def test_without_an_order_as_in_shap():
    pair = two_explanations(nodes(NETWORKS["child"]))
    axes = plots.comparison_waterfall(pair, max_display=7, show=False)
    assert labels(axes[0])[-1] == "14 other features"
    for ax, e in zip(axes, pair.values(), strict=True):
        walked = arrows(ax)
        assert walked[-1, 0] == pytest.approx(0.3), "E[f(X)] belongs below"
        np.testing.assert_allclose(walked[:-1, 0], walked[1:, 1])
        assert walked[0, 1] == pytest.approx(0.3 + e.values[0].sum())
    largest = np.abs([np.diff(arrows(ax), axis=1)[:-1, 0] for ax in axes]).max(axis=0)
    assert (np.diff(largest) <= 0).all()
    assert_neat(axes[0].figure)


def test_same_arrows_as_shap_for_one_explanation():
    e = two_explanations(nodes(NETWORKS["child"]))["ASV"]
    (ours,) = plots.comparison_waterfall(e, show=False)
    plt.figure()
    shap.plots.waterfall(e[0], show=False)
    theirs = plt.gcf().axes[0]
    tips = sorted(
        patch.get_xy()[:, 0].max() - patch.get_xy()[:, 0].min()
        for patch in theirs.patches
        if hasattr(patch, "get_xy") and patch.get_alpha() != 0 and np.ndim(patch.get_xy()) == 2
    )
    lengths = np.sort(np.abs(np.diff(arrows(ours), axis=1)[:, 0]))
    # shap draws arrow heads of a least length, so compare those that are longer
    np.testing.assert_allclose(tips[-4:], lengths[-4:], rtol=1e-6)


def test_numbers_and_ends_are_written():
    pair = two_explanations(nodes(CANCER))
    axes = plots.comparison_waterfall(pair, order=CANCER, show=False)
    for ax, e in zip(axes, pair.values(), strict=True):
        words = [text.get_text() for text in ax.texts]
        assert any(word.startswith("$E[f(X)]$ = 0.3") for word in words)
        final = next(word for word in words if word.startswith("$f(x)$"))
        written = float(final.split(" = ")[1].replace("\N{MINUS SIGN}", "-"))
        assert written == pytest.approx(0.3 + e.values[0].sum(), abs=1e-3)
        for text, (start, end) in zip(words, arrows(ax), strict=False):
            assert text == "0" or text.startswith("+" if end > start else "\N{MINUS SIGN}")


@at_any_size
def test_neat_at_any_size(features, scale):
    axes = plots.comparison_waterfall(two_explanations(features, scale=scale), show=False)
    assert_neat(axes[0].figure, least_ink=0.002)


def test_ends_keep_their_decimals_when_the_expectation_is_large():
    e = shap.Explanation(np.array([[1.25, -0.5]]), np.array([1000.0]), feature_names=["a", "b"])
    (ax,) = plots.comparison_waterfall(e, show=False)
    assert {"$E[f(X)]$ = 1000.00", "$f(x)$ = 1000.75"} <= {text.get_text() for text in ax.texts}
