"""PIT histograms of mechanisms: one panel per node with causes, bars that add up, names as they are."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text

from shap_asv import plots
from shap_asv.errors import ExplanationError


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


def test_own_axes_and_bad_ones():
    import matplotlib.pyplot as plt

    _, own = plt.subplots(1, 2)
    assert plots.mechanisms(report(), ax=own, show=False) == list(own)
    with pytest.raises(ExplanationError, match="2 needed, 1 given"):
        plots.mechanisms(report(), ax=own[0], show=False)
    with pytest.raises(ExplanationError, match="no node 'efect'"):
        plots.mechanisms(report(), nodes=["efect"], show=False)
    roots = SimpleNamespace(nodes=report().nodes[:1])
    with pytest.raises(ExplanationError, match="no node of this model has causes"):
        plots.mechanisms(roots, show=False)
