"""What a picky reader sees: ink, texts that are cut off, texts that lie on one another. And things to draw."""

import numpy as np
import pytest
import shap
from matplotlib.legend import Legend
from matplotlib.text import Text

from benchmarks.graphs import network_graph

NETWORKS = {name: list(network_graph(name).edges) for name in ("cancer", "asia", "child", "alarm")}
CANCER, ASIA = NETWORKS["cancer"], NETWORKS["asia"]
LONG = [
    "a_very_long_feature_name_from_a_data_warehouse_table",
    "NumberOfPriorConvictionsWithinFiveYears",
    "x",
    "Some name with many many words in it that never ends",
    "$price$ per m^2 in $",
]
MANY = [f"feature number {i}" for i in range(25)]
#: Long names, one feature and many, huge, tiny and no values: a plot is neat with all of them.
at_any_size = pytest.mark.parametrize(
    ("features", "scale"),
    [(LONG, 3e7), (["a"], 0.0), (MANY, 1e-9)],
    ids=["long, huge", "one, zero", "many, tiny"],
)


def nodes(edges):
    """Names in the order of their first occurrence, which is not a topological order for most networks."""
    return list(dict.fromkeys(name for edge in edges for name in edge))


def two_explanations(features, rows=1, seed=0, scale=0.1):
    """SHAP and ASV of the same discrete rows: {name: Explanation} with codes, labels and equal sums in every row."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(rows, len(features))).astype(float)
    labels = np.array(["Low", "Normal", "High"], dtype=object)[codes.astype(int)]
    weights = rng.normal(size=len(features)) * rng.gamma(0.6, size=len(features)) * scale
    first = (codes - 1 + 0.3 * rng.normal(size=codes.shape).round(1)) * weights
    moved = 0.5 * first[:, : len(features) // 2]  # credit that goes from the first half of the features to the last one
    second = first.copy()
    second[:, : len(features) // 2] -= moved
    second[:, -1] += moved.sum(axis=1)
    return {
        name: shap.Explanation(values, np.full(rows, 0.3), codes, display_data=labels, feature_names=list(features))
        for name, values in (("SHAP", first), ("ASV", second))
    }


def ink(figure):
    """Share of pixels that are not white."""
    figure.canvas.draw()
    return float((np.asarray(figure.canvas.buffer_rgba())[..., :3] < 242).any(axis=2).mean())


def drawn_texts(figure):
    """(text, bounding box in pixels) of every text that can be seen in a figure that was drawn before."""
    renderer = figure.canvas.get_renderer()
    found = list(figure.texts)
    for ax in figure.axes:
        found += [ax.title, *ax.texts]
        for legend in ax.findobj(Legend):
            found += [legend.get_title(), *legend.get_texts()]
        if not ax.axison:
            continue
        for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
            found += [axis.label, axis.offsetText]
            found += [
                label
                for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
                if low <= place <= high
            ]
    # of an annotation only the words count, not its leader line
    return [
        (text, Text.get_window_extent(text, renderer))
        for text in found
        if text.get_visible() and text.get_text().strip()
    ]


def assert_neat(figure, least_ink=0.005):
    """Ink on the canvas, no text cut off by its border, no text on another text."""
    assert ink(figure) > least_ink
    texts = drawn_texts(figure)
    width, height = figure.canvas.get_width_height()
    corners = np.array([[box.x0, box.y0, box.x1, box.y1] for _, box in texts])
    low, high = corners[:, :2], corners[:, 2:]
    outside = (low < 0).any(axis=1) | (high > [width, height]).any(axis=1)
    assert not outside.any(), (
        f"cut off: {[text.get_text() for (text, _), out in zip(texts, outside, strict=True) if out]}"
    )
    common = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    overlaps = np.argwhere(np.triu((common >= 1.0).all(axis=2), 1))
    assert not len(overlaps), f"on one another: {[[texts[i][0].get_text() for i in pair] for pair in overlaps]}"
