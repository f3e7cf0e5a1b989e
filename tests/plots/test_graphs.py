"""The causal graph: coloured and sized by value, arrows from border to border, legible from 1 to 40 nodes."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Circle, PathPatch, Polygon
from shap.plots.colors import red_white_blue

from shap_asv import fit_network, plots
from shap_asv.errors import CausalGraphError
from shap_asv.orders import CausalOrder
from shap_asv.plots.style import sequential_colours
from tests.plots.looking import ASIA, CANCER, LONG, NETWORKS, assert_neat, drawn_texts, nodes, two_explanations


def circles(ax):
    return {patch.get_gid(): patch for patch in ax.patches if isinstance(patch, Circle)}


def stretches(ax):
    """Corners of every stretch of the arrows: two for a straight one, four for a curve."""
    (arrows,) = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
    path = arrows.get_path()
    starts = np.flatnonzero(path.codes == path.MOVETO)
    return [path.vertices[a:b] for a, b in zip(starts, [*starts[1:], len(path.codes)], strict=True)]


def reached(ax, name):
    """Nodes whose borders the arrows of ``name`` lead to, following stretches from its own border."""
    heads = {
        patch.get_gid().removeprefix("head of "): patch.get_xy()[0]
        for patch in ax.patches
        if isinstance(patch, Polygon)
    }
    circle = circles(ax)[name]
    points, found = [np.add(circle.center, (circle.radius, 0))], set()
    while points:
        point = points.pop()
        for start, *_, end in stretches(ax):
            if np.allclose(start, point, atol=1e-6):
                points.append(end)
                found |= {effect for effect, tip in heads.items() if np.allclose(end, tip - [0.085, 0], atol=1e-6)}
    return found


def test_a_distribution_that_knows_its_graph_is_drawn_by_it():
    table = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 1, 0, 1]})
    edges = [("a", "b")]
    (ax, _) = plots.causal_graph(two_explanations(["a", "b"]), fit_network(table, edges), show=False)
    assert reached(ax, "a") == {"b"}
    (ax, _) = plots.causal_graph(two_explanations(["a", "b"]), nx.DiGraph(edges), show=False)
    assert reached(ax, "a") == {"b"}


@pytest.mark.parametrize("name", ["asia", "alarm"])
def test_networks_are_neat_and_arrows_lead_from_border_to_border(name):
    edges = NETWORKS[name]
    axes = plots.causal_graph(two_explanations(nodes(edges)), edges, row=0, show=False)
    assert len(axes) == 2
    assert_neat(axes[0].figure)
    texts = drawn_texts(axes[0].figure)
    assert min(text.get_fontsize() for text, _ in texts) >= 7.9
    ax = axes[1]
    drawn = circles(ax)
    assert set(drawn) == set(nodes(edges))
    for patch in ax.patches:
        if isinstance(patch, Polygon):
            node = drawn[patch.get_gid().removeprefix("head of ")]
            assert np.linalg.norm(np.array(patch.get_xy()[0]) - node.center) == pytest.approx(node.radius)
    for cause in nodes(edges):
        assert reached(ax, cause) == {v for u, v in edges if u == cause}
    starts_and_ends = [tuple(np.round([*a, *b], 6)) for a, *_, b in stretches(ax)]
    assert len(starts_and_ends) == len(set(starts_and_ends)), "a stretch is drawn twice"
    for corners in stretches(ax):
        data = _points(corners)
        points = ax.transData.transform(data)
        for text, box in texts:
            if text.axes is ax:
                inside = (points > box.min + 1).all(axis=1) & (points < box.max - 1).all(axis=1)
                assert not inside.any(), f"an arrow crosses {text.get_text()!r}"
        for circle in drawn.values():
            assert (np.linalg.norm(data - circle.center, axis=1) > circle.radius - 1e-6).all()


def _points(v):
    """Points along a straight line or a cubic curve."""
    t = np.linspace(0, 1, 60)[:, None]
    if len(v) == 2:
        return (1 - t) * v[0] + t * v[1]
    return (1 - t) ** 3 * v[0] + 3 * t * (1 - t) ** 2 * v[1] + 3 * t**2 * (1 - t) * v[2] + t**3 * v[3]


@pytest.mark.parametrize("row", [0, None], ids=["row", "mean"])
def test_colour_and_area_are_values_on_one_scale(row):
    pair = two_explanations(nodes(ASIA), rows=7)
    axes = plots.causal_graph(pair, ASIA, row=row, show=False)
    values = np.array([e.values[0] if row == 0 else np.abs(e.values).mean(axis=0) for e in pair.values()])
    largest = np.abs(values).max()
    colours = red_white_blue if row == 0 else sequential_colours()
    for ax, own in zip(axes, values, strict=True):
        for name, value in zip(nodes(ASIA), own, strict=True):
            circle = circles(ax)[name]
            share = value / largest
            np.testing.assert_allclose(circle.get_facecolor(), colours(0.5 + share / 2 if row == 0 else share))
            assert circle.radius == pytest.approx(max(0.08, 0.32 * np.sqrt(abs(share))))
    bar = axes[0].figure.axes[-1]
    assert bar.get_ylim() == pytest.approx((-largest if row == 0 else 0, largest))


def test_values_are_printed_with_their_sign_beside_the_states():
    pair = two_explanations(nodes(CANCER))
    axes = plots.causal_graph(pair, CANCER, row=0, show=False)
    words = [text.get_text() for text in axes[1].texts]
    assert "Smoker = Normal" in words
    signed = [word for word in words if word[0] in "+\N{MINUS SIGN}0"]
    expected = ["+" if v > 5e-4 else "\N{MINUS SIGN}" if v < -5e-4 else "0" for v in pair["ASV"].values[0]]
    assert [word[0] for word in signed] == expected


def test_hidden_nodes_are_empty_and_unknown_features_are_kept():
    features = ["Smoker", "Xray", "Shoe size"]
    axes = plots.causal_graph(two_explanations(features), CANCER, row=0, show=False)
    drawn = circles(axes[0])
    assert set(drawn) == {*nodes(CANCER), "Shoe size"}
    for name, circle in drawn.items():
        hidden = name not in features
        assert (circle.get_linestyle() != "-") is hidden
        assert not hidden or circle.get_facecolor() == (1, 1, 1, 1)
    assert len([text for text in axes[0].texts if text.get_text() == "Cancer"]) == 1
    assert_neat(axes[0].figure)


@pytest.mark.parametrize(
    ("features", "edges", "scale"),
    [
        (LONG, [("x", LONG[4]), (LONG[0], "x")], 3e7),
        (["a"], [], 0.0),
        (["a", "b"], [("a", "b")], 3e7),
        ([f"feature {i}" for i in range(14)], [], 3e7),
        ([f"leaf {i}" for i in range(39)], [("root", f"leaf {i}") for i in range(39)], 0.0),
        ([f"f{i}" for i in range(9)], [(f"f{i}", f"f{j}") for i in range(9) for j in range(i + 1, 9)], 0.0),
    ],
    ids=["long", "one", "two", "edgeless", "star", "complete"],
)
def test_neat_at_any_size(features, edges, scale):
    axes = plots.causal_graph(two_explanations(features, scale=scale), edges, row=0, show=False)
    assert_neat(axes[0].figure)


def test_one_or_three_explanations():
    pair = two_explanations(nodes(CANCER))
    (ax,) = plots.causal_graph(pair["ASV"], CausalOrder.from_edges(CANCER), show=False)
    assert ax.get_title() == ""
    assert reached(ax, "Cancer") == {"Xray", "Dyspnoea"}
    axes = plots.causal_graph({**pair, "TreeSHAP": pair["SHAP"]}, CANCER, show=False)
    assert [a.get_title() for a in axes] == ["SHAP", "ASV", "TreeSHAP"]
    assert_neat(axes[0].figure)


def test_it_needs_a_graph():
    with pytest.raises(CausalGraphError, match="needs the graph"):
        plots.causal_graph(two_explanations(nodes(CANCER)), show=False)


def test_edges_of_a_mixture_are_as_wide_as_they_are_certain():
    from shap_asv.orders.uncertain import read_causal_graphs

    graphs = [([("a", "b"), ("b", "c")], 3), ([("b", "a"), ("b", "c")], 1)]
    mixture = read_causal_graphs(graphs)
    (ax,) = plots.causal_graph(two_explanations(["a", "b", "c"])["ASV"], order=mixture, show=False)
    widths = [patch.get_linewidth() for patch in ax.patches if patch.get_gid() == "arrows"]
    assert len(widths) == 2  # a -> b in three of four graphs, b -> c in all; b -> a would close a cycle
    assert widths[0] / widths[1] == pytest.approx((0.4 + 2.6 * 0.75) / 3.0)
    (ax,) = plots.causal_graph(two_explanations(["a", "b", "c"])["ASV"], order=mixture.orders[0], show=False)
    assert len([patch for patch in ax.patches if patch.get_gid() == "arrows"]) == 1
