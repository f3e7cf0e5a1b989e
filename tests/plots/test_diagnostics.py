"""Whether values can be trusted, as it is drawn: ranges over graphs, tests of graphs, fits."""

import math
from functools import cache
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from shap_asv import check_graph, load_network, plots, sample_rows
from shap_asv.discovery.checks import GraphCheck, TestedPair
from shap_asv.errors import ExplanationError
from shap_asv.sensitivity import Sensitivity
from tests.plots.looking import LONG, NETWORKS, assert_neat, nodes

CHILD = nodes(NETWORKS["child"])

# --- graphs -----------------------------------------------------------------------------------------------------------


def result(features, graphs=8, rows=3, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    centre = scale * rng.normal(size=(rows, len(features)))
    return Sensitivity(centre + 0.3 * scale * rng.normal(size=(graphs, *centre.shape)), features)


def intervals(ax):
    """(low, high, mean) of each interval, top down."""
    bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 7]
    means = [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "mean"]
    return np.column_stack([np.array(bars), means])


@pytest.mark.parametrize("row", [None, 1])
def test_intervals_are_ranges(row):
    features = list("abcdef")
    own = result(features)
    ax = plots.sensitivity(own, row=row, show=False)
    frame = own.to_frame(row).loc[[label.get_text() for label in ax.get_yticklabels()]]
    np.testing.assert_allclose(intervals(ax), frame[["lowest", "highest", "mean"]].to_numpy())
    size = frame[["lowest", "highest"]].abs().max(axis=1).to_numpy()
    assert (np.diff(size) <= 0).all()
    low, high = ax.get_ylim()
    assert low > high, "the first feature belongs on top"


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e7])
def test_ranges_of_any_scale(scale):
    ax = plots.sensitivity(result(LONG, scale=scale), row=0, show=False)
    assert_neat(ax.figure)


def test_signs_are_told():
    own = Sensitivity([[[1.0, 2.0]], [[1.0, 2.0]], [[-0.5, 2.0]]], ["a", "b"])
    ax = plots.sensitivity(own, row=0, show=False)
    assert [text.get_text() for text in ax.texts] == ["+2.00", "+0.50, other sign in 33%"]


def test_no_sensitivity():
    with pytest.raises(ExplanationError, match="draws a Sensitivity, not a list"):
        plots.sensitivity([1, 2], show=False)
    with pytest.raises(ExplanationError, match="there is no row 9"):
        plots.sensitivity(result(list("ab")), row=9, show=False)
    with pytest.raises(ExplanationError, match="max_display"):
        plots.sensitivity(result(list("ab")), max_display=0, show=False)


@cache
def wrong_asia():
    network = load_network("asia")
    graph = nx.DiGraph(network.edges())
    graph.remove_edge("smoke", "bronc")
    graph.add_edge("asia", "smoke")
    return check_graph(sample_rows(network, 500, seed=1), graph)


def made_up(p_independent, p_edges, names=("a", "b", "c"), alpha=0.05):
    def pair(p):
        return TestedPair(names[0], names[1], tuple(names[2:]), p, p)

    return GraphCheck(tuple(map(pair, sorted(p_independent))), tuple(map(pair, sorted(p_edges)[::-1])), (), alpha, 100)


def marks_of(ax):
    """(place, log10 p, filled, marker) of each test, top down."""
    marks = [line for line in ax.lines if line.get_gid() in ("wrong", "right")]
    return [(m.get_ydata()[0], m.get_xdata()[0], m.get_gid() == "wrong", m.get_marker()) for m in marks]


def test_every_test_is_drawn_on_its_side():
    check = wrong_asia()
    assert check.violations, "the graph was made wrong"
    assert check.doubtful_edges, "asia does not cause smoke"
    ax = plots.graph_check(check, max_display=None, show=False)
    marks = marks_of(ax)
    m = len(check.independences)
    wanted = [max(test.adjusted, 1e-12) for test in check.independences] + [max(t.p, 1e-12) for t in check.edges]
    np.testing.assert_allclose([x for _, x, _, _ in marks], np.log10(wanted))
    assert [place for place, *_ in marks] == list(range(m + len(check.edges)))
    assert sum(filled for *_, filled, _ in marks[:m]) == len(check.violations)
    assert sum(filled for *_, filled, _ in marks[m:]) == len(check.doubtful_edges)
    (line,) = [line for line in ax.lines if line.get_gid() == "alpha"]
    threshold = line.get_xdata()[0]
    assert threshold == pytest.approx(math.log10(0.05))
    assert all((x <= threshold) == filled for _, x, filled, _ in marks[:m])
    assert all((x > threshold) == filled for _, x, filled, _ in marks[m:])
    low, high = ax.get_ylim()
    assert low > high, "the worst belongs on top"
    assert_neat(ax.figure)


def test_labels_name_the_worst():
    check = wrong_asia()
    ax = plots.graph_check(check, max_display=2, show=False)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(labels) == 4
    worst, edge = check.violations[0], check.doubtful_edges[0]
    assert labels[0].replace("\n", " ") == f"{worst.x}, {worst.y}{worst.condition}"
    assert labels[2] == f"{edge.x} \N{RIGHTWARDS ARROW} {edge.y}"
    assert ax.texts[0].get_text().startswith("contradicted, p = ")
    assert ax.texts[2].get_text().startswith("not seen, p = ")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [
        f"implied independences: {len(check.violations)} of {len(check.independences)} contradicted",
        f"edges: {len(check.doubtful_edges)} of {len(check.edges)} not seen",
    ]


@pytest.mark.parametrize(
    ("p", "names"),
    [([0.0, 1e-300, 1e-5], LONG), ([1.0, 0.9], LONG), ([0.5], ("a", "b")), ([], ("a", "b"))],
    ids=["zero", "large", "one", "none"],
)
def test_any_p_values_and_names(p, names):
    ax = plots.graph_check(made_up(p, [0.2, 1e-40], names), show=False)
    marks = marks_of(ax)
    assert all(math.isfinite(x) for _, x, _, _ in marks)
    assert [marker == "<" for *_, marker in marks] == [own < 1e-12 for own in sorted(p)] + [False, True]
    assert_neat(ax.figure)


def test_no_check():
    with pytest.raises(ExplanationError, match="draws what check_graph returns, not a list"):
        plots.graph_check([1], show=False)
    with pytest.raises(ExplanationError, match="nothing was tested"):
        plots.graph_check(made_up([], []), show=False)
    with pytest.raises(ExplanationError, match="max_display"):
        plots.graph_check(made_up([0.5], []), max_display=0, show=False)
    with pytest.raises(ExplanationError, match="not a SimpleNamespace"):
        plots.graph_check(SimpleNamespace(independences=()), show=False)
