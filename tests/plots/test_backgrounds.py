"""Scores of backgrounds: the best on top at zero. PIT histograms of mechanisms: one panel per node with causes."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text

from shap_asv import plots
from shap_asv.backgrounds.choice.scoring import ScoreTable
from shap_asv.errors import ExplanationError

LOSSES = np.array([[2.0, 4.0, 2.0, 5.0], [1.0, 2.0, 1.0, 3.0], [1.0, 2.5, 1.5, 3.0]])
TABLE = ScoreTable(("wrong", "$right$", "near"), LOSSES)


def test_the_best_is_on_top_and_at_zero():
    ax = plots.scores(TABLE, show=False)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["$right$", "near", "wrong"]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert list(ax.get_yticks()) == [2, 1, 0]
    points = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(points.get_xdata(), [0.0, 0.25, 1.5])
    (segments,) = [bars.get_segments() for bars in ax.collections]
    half = (segments[2][1, 0] - segments[2][0, 0]) / 2
    differences = LOSSES[0] - LOSSES[1]
    assert half == pytest.approx(2 * differences.std(ddof=1) / 2)  # by hand: four rows


def test_too_few():
    with pytest.raises(ExplanationError, match=r"one background \(alone\)"):
        plots.scores(ScoreTable(("alone",), LOSSES[:1]), show=False)


def report(n=400):
    rng = np.random.default_rng(0)
    make = SimpleNamespace
    return make(
        nodes=(
            make(name="root", causes=(), mechanism="empirical", pit=rng.random(n)),
            make(name="$effect$", causes=("root",), mechanism="linear + residuals", pit=rng.random(n)),
            make(name="narrow", causes=("root",), mechanism="forest", pit=rng.beta(0.4, 0.4, n)),
        )
    )


def test_one_panel_per_node_with_causes():
    axes = plots.mechanisms(report(), show=False)
    assert [ax.get_title() for ax in axes] == ["$effect$", "narrow"]
    for ax in axes:
        bars = np.array([[bar.get_height(), bar.get_width()] for bar in ax.patches if bar.get_width() < 0.5])
        assert len(bars) == 20
        assert bars[:, 0].mean() == pytest.approx(1.0)
    figure = axes[0].figure
    figure.draw_without_rendering()
    assert not any(text.get_parse_math() for text in figure.findobj(Text) if text.get_text() == "$effect$")


def test_a_bowl_is_drawn_as_a_bowl():
    ax = plots.mechanisms(report(), nodes=["narrow"], show=False)[0]
    heights = [bar.get_height() for bar in ax.patches if bar.get_width() < 0.5]
    assert min(heights[0], heights[-1]) > 2 * heights[10]


def test_bad_mechanisms():
    with pytest.raises(ExplanationError, match="no node 'efect'"):
        plots.mechanisms(report(), nodes=["efect"], show=False)
    with pytest.raises(ExplanationError, match="no node of this model has causes"):
        plots.mechanisms(SimpleNamespace(nodes=report().nodes[:1]), show=False)
    with pytest.raises(ExplanationError, match="2 needed, 0 given"):
        plots.mechanisms(report(), ax=[], show=False)
