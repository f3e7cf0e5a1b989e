"""Paired bars: as long as their values, causes on top, nothing cut off."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from shap_asv import plots
from shap_asv.errors import ExplanationError
from tests.plots.looking import CANCER, LONG, NETWORKS, assert_neat, at_any_size, nodes, two_explanations


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def widths(ax):
    """(methods, features): lengths of the bars, methods in the order in which they were drawn."""
    lengths = np.array([bar.patches[0].get_width() for bar in ax.containers])
    return lengths.reshape(-1, len(labels(ax)))


@pytest.mark.parametrize("name", ["cancer", "child"])
def test_bars_are_values_in_causal_order(name):
    edges = NETWORKS[name]
    pair = two_explanations(nodes(edges), rows=3)
    ax = plots.comparison(pair, row=1, order=edges, max_display=None, show=False)
    shown = [label.replace("\n", " ").split(" = ")[0] for label in labels(ax)]
    assert all(shown.index(cause) < shown.index(effect) for cause, effect in edges)
    columns = [nodes(edges).index(feature) for feature in shown]
    np.testing.assert_allclose(widths(ax), [e.values[1, columns] for e in pair.values()])
    low, high = ax.get_ylim()
    assert low > high, "the first feature belongs on top"
    assert_neat(ax.figure)


def test_the_rest_is_summed_up():
    pair = two_explanations(nodes(NETWORKS["child"]))
    ax = plots.comparison(pair, order=NETWORKS["child"], max_display=6, show=False)
    assert len(labels(ax)) == 6
    assert labels(ax)[-1] == "Sum of 15 other features"
    np.testing.assert_allclose(widths(ax).sum(axis=1), [e.values[0].sum() for e in pair.values()])
    largest = np.abs([e.values[0] for e in pair.values()]).max(axis=0)
    hidden = set(nodes(NETWORKS["child"])) - {label.replace("\n", " ").split(" = ")[0] for label in labels(ax)}
    cut = max(largest[nodes(NETWORKS["child"]).index(f)] for f in hidden)
    assert (largest > cut).sum() == 5


def test_means_of_absolute_values():
    pair = two_explanations(nodes(CANCER), rows=50)
    ax = plots.comparison(pair, row=None, show=False)
    np.testing.assert_allclose(widths(ax), [np.abs(e.values).mean(axis=0) for e in pair.values()])
    assert labels(ax) == nodes(CANCER)
    assert_neat(ax.figure)


def test_sign_has_a_second_cue_and_methods_differ_without_colour():
    ax = plots.comparison(two_explanations(nodes(CANCER)), show=False)
    bars = [bar.patches[0] for bar in ax.containers]
    numbers = [text.get_text() for text in ax.texts]
    assert len(numbers) == len(bars)
    for bar, number in zip(bars, numbers, strict=True):
        assert number == "0" or number.startswith("+" if bar.get_width() > 0 else "\N{MINUS SIGN}")
    assert bars[0].get_hatch()
    assert not bars[-1].get_hatch()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SHAP", "ASV"]


@at_any_size
def test_neat_at_any_size(features, scale):
    ax = plots.comparison(
        two_explanations(features, scale=scale), order=[("x", LONG[0])] if features is LONG else None, show=False
    )
    assert_neat(ax.figure, least_ink=0.002)


def test_up_to_six_methods():
    pair = two_explanations(nodes(CANCER))
    more = {**pair, **dict.fromkeys(("third", "fourth", "fifth", "sixth"), pair["SHAP"])}
    assert_neat(plots.comparison(more, show=False).figure)
    with pytest.raises(ExplanationError, match="at most 6"):
        plots.comparison({**more, "seventh": pair["ASV"]}, show=False)


def test_one_explanation_alone():
    e = two_explanations(nodes(CANCER))["ASV"]
    ax = plots.comparison(e, show=False)
    assert ax.get_legend() is None
    np.testing.assert_allclose(widths(ax), e.values)


def test_takes_a_blank_figure_but_no_other():
    blank = plt.figure()
    assert plots.comparison(two_explanations(["a"]), show=False).figure is blank
    assert plots.comparison(two_explanations(["a"]), show=False).figure is not blank
