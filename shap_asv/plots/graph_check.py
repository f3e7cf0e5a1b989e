"""Does the graph fit the table? One line per test of ``check_graph``, its p-value against the threshold ``alpha``.

Independences that the graph implies should lie to the right of the threshold: one to the left is contradicted by the
rows, also after Holm's correction for the number of tests. Edges should lie to the left: the ends of one to the right
look independent. What is on the wrong side is filled and has its p-value beside it in words.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Smaller p-values are drawn here, as an arrow: how far below does not matter any more, and zero has no logarithm.
SMALLEST = 1e-12
#: Letters in a line of a label.
WIDTH = 30


def graph_check(
    check: Any,
    max_display: int | None = 10,
    ax: "Axes | None" = None,
    show: bool = True,
) -> "Axes":
    """p-values of what a causal graph implies about a table, worst first, against the threshold.

    Above, implied independences, smallest p-value first (corrected by Holm's method, so that all have the same
    threshold ``alpha``); below, edges, largest p-value first. Filled: independences that the rows contradict, and edges
    that are not seen in them.

    Parameters
    ----------
    check : GraphCheck
        What :func:`~shap_asv.discovery.check_graph` gives.
    max_display : int or None, default 10
        So many independences and so many edges are shown, the worst. None shows all.
    ax, show
        As in :func:`comparison`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from shap_asv import check_graph, load_network, plots, sample_rows
    >>> rows = sample_rows(load_network("cancer"), 5000, seed=0)
    >>> wrong = [("Pollution", "Cancer"), ("Smoker", "Cancer"), ("Cancer", "Xray"), ("Smoker", "Dyspnoea")]
    >>> ax = plots.graph_check(check_graph(rows, wrong), max_display=1, show=False)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['Cancer, Dyspnoea\\ngiven Smoker', 'Smoker \N{RIGHTWARDS ARROW} Dyspnoea']
    """
    if not hasattr(check, "independences") or not hasattr(check, "doubtful_edges"):
        raise ExplanationError(f"plots.graph_check draws what check_graph returns, not a {type(check).__name__}")
    if not check.independences and not check.edges:
        raise ExplanationError("nothing was tested: the graph has no edge between columns and implies no independence")
    shown = []
    for tests in (check.independences, check.edges):
        everything = np.arange(len(tests))
        style.chosen_features(everything, everything, max_display)  # an error if max_display is wrong
        shown.append(tests[:max_display])
    independences, edges = shown

    n_lines = len(independences) + len(edges)
    _, (ax,) = style.panels(ax, 1, (9, 0.5 * n_lines + 1.8), one_per="check")
    red, blue = style.sign_colours()
    wrong = [*(test.adjusted <= check.alpha for test in independences), *(test.p > check.alpha for test in edges)]
    p_values = [*(test.adjusted for test in independences), *(test.p for test in edges)]
    numbers = []
    for place, (p, filled) in enumerate(zip(p_values, wrong, strict=True)):
        is_edge = place >= len(independences)
        _draw(ax, place, p, filled, blue if is_edge else red, "s" if is_edge else "o")
        words = ("not seen" if is_edge else "contradicted") + ", " if filled else ""
        numbers.append(style.write_beside(ax, f"{words}p = {p:.1g}".replace("-", style.MINUS), (_scale(p), place), 8))
        numbers[-1].set_bbox({"fc": "white", "ec": "none", "pad": 0.5})  # the threshold passes behind the words
    labels = [*map(_independence_label, independences), *map(_edge_label, edges)]
    _finish_axes(ax, labels, len(independences), check.alpha, min(map(_scale, p_values)))
    _explain(ax, check, red, blue)
    style.settle_scale([ax], numbers)
    _name_powers(ax)
    style.finish(show)
    return ax


def _scale(p: float) -> float:
    return math.log10(max(p, SMALLEST))


def _draw(ax: "Axes", place: int, p: float, filled: bool, colour: style.Colour, marker: str) -> None:
    ax.plot(
        [_scale(p)],
        [place],
        "<" if p < SMALLEST else marker,
        ms=8,
        mec=colour,
        mew=1.4,
        color=colour if filled else "white",
        zorder=3,
        gid="wrong" if filled else "right",
    )


def _independence_label(test: Any) -> str:
    pair = style.wrap(f"{test.x}, {test.y}", WIDTH, 1)
    given = style.wrap(test.condition.strip(), WIDTH, 1)
    return f"{pair}\n{given}" if test.given else pair


def _edge_label(test: Any) -> str:
    return style.wrap(f"{test.x} \N{RIGHTWARDS ARROW} {test.y}", WIDTH, 2)


def _finish_axes(ax: "Axes", labels: Sequence[str], n_independences: int, alpha: float, lowest: float) -> None:
    style.name_rows([ax], labels, margin=0.45)
    style.rule(ax, range(len(labels)))
    ax.axvline(math.log10(alpha), color=style.INK, lw=1.0, ls="--", zorder=2, gid="alpha")
    if 0 < n_independences < len(labels):
        ax.axhline(n_independences - 0.5, color=style.QUIET, lw=0.8, zorder=1)
    lowest = min(lowest, math.log10(alpha) - 1)
    ax.set_xlim(1.04 * lowest, -0.04 * lowest)
    ax.set_xlabel(f"p-value (dashed line: {alpha:g})", fontsize=13, color=style.INK)


def _name_powers(ax: "Axes") -> None:
    """Powers of ten below the scale, up to one: the room beyond it is for words."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    low = math.ceil(ax.get_xlim()[0])
    step = max(1, math.ceil(-low / 4))
    ax.xaxis.set_major_locator(FixedLocator(list(range(0, low - 1, -step))))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{10.0 ** round(x):.0e}" if x < -3 else f"{10.0**x:g}"))


def _explain(ax: "Axes", check: Any, red: style.Colour, blue: style.Colour) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for tests, bad, marker, colour, what, word in (
        (check.independences, check.violations, "o", red, "implied independences", "contradicted"),
        (check.edges, check.doubtful_edges, "s", blue, "edges", "not seen"),
    ):
        if tests:
            label = f"{what}: {len(bad)} of {len(tests)} {word}"
            handles.append(Line2D([], [], marker=marker, ls="", ms=8, color=colour, label=label))
    style.explain_above(ax, handles, 1, 11)  # side by side they would not fit beside long labels
