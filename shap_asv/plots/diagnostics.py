"""Whether the values can be trusted: does the graph matter, and does it fit the table?

- ``sensitivity``: how far values depend on the causal graph.
- ``graph_check``: independences that the graph implies should lie to the right of the threshold: one to the left is
  contradicted by the rows, also after Holm's correction for the number of tests. Edges should lie to the left: the ends
  of one to the right look independent.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Smaller p-values are drawn here, as an arrow: how far below does not matter any more, and zero has no logarithm.
SMALLEST = 1e-12
#: Letters in a line of a label of ``graph_check``.
WIDTH = 30


# --- the graph --------------------------------------------------------------------------------------------------------


def sensitivity(
    result: Any,
    row: int | None = None,
    max_display: int | None = 10,
    ax: "Axes | None" = None,
    show: bool = True,
) -> "Axes":
    """One interval per feature: from the lowest to the highest value over the graphs, a dot at their mean.

    Small strokes are the single graphs. Beside a feature whose sign depends on the graph stands in how many of them.
    Where values were sampled, a thin line goes on past the interval by their standard error.

    Parameters
    ----------
    result : Sensitivity
        Of one output; ``result.output(k)`` picks one.
    row : int or None, default None
        The row to draw; None draws the mean of |value| over all rows under each graph.
    max_display : int or None, default 10
        Features with the largest values are shown. None shows all.
    ax, show
        As in :func:`comparison`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from shap_asv import plots
    >>> from shap_asv.sensitivity import Sensitivity
    >>> result = Sensitivity([[[0.3, -0.1]], [[0.2, 0.4]]], ["smoker", "xray"])
    >>> [label.get_text() for label in plots.sensitivity(result, row=0, show=False).get_yticklabels()]
    ['xray', 'smoker']
    """
    if not hasattr(result, "sign_changes") or not hasattr(result, "importance"):
        raise ExplanationError(f"plots.sensitivity draws a Sensitivity, not a {type(result).__name__}")
    frame = result.to_frame(row)
    per_graph = result.importance() if row is None else result.values[:, result.check_row(row)]
    style.check_max_display(max_display)
    shown = np.argsort(-np.abs(frame[["lowest", "highest"]].to_numpy()).max(axis=1), kind="stable")[:max_display]
    frame, per_graph, signed = frame.iloc[shown], per_graph[:, shown], row is not None

    _, (ax,) = style.panels(ax, 1, (8, 0.46 * len(shown) + 1.3))
    columns = ["mean", "lowest", "highest", "sign changes"]
    positive, negative = style.sign_colours(signed)
    text = style.number_format(frame["mean"], signed=signed)
    numbers = []
    for place, (mean, low, high, changes) in enumerate(frame[columns].to_numpy().tolist()):
        colour = positive if mean >= 0 else negative
        ax.plot([low, high], [place, place], lw=7, color=style.blend(colour, 0.35), solid_capstyle="butt", zorder=2)
        ax.plot(per_graph[:, place], np.full(len(per_graph), place), "|", ms=7, color=style.QUIET, mew=0.6, zorder=3)
        ax.plot([mean], [place], "o", ms=8, color=colour, mec="white", mew=1.0, zorder=4, gid="mean")
        words = text(mean) + (f", other sign in {changes:.0%}" if round(100 * changes) else "")
        numbers.append(style.write_beside(ax, words, (high, place), gap=7))
    errors = frame["error"].to_numpy() if "error" in frame else np.zeros(len(frame))
    lows, highs = frame["lowest"].to_numpy() - errors, frame["highest"].to_numpy() + errors
    if errors.any():
        ax.hlines(np.arange(len(frame)), lows, highs, lw=1.0, color=style.QUIET, zorder=2, gid="error")
    style.rule(ax, np.arange(len(frame) - 1) + 0.5)
    ax.axvline(0, color=style.INK, lw=0.8, zorder=1)
    style.span_zero(ax, lows.min(), highs.max())
    style.name_rows([ax], [style.wrap(str(name), 30) for name in frame.index], margin=0.45)
    ax.set_xlabel(style.value_name(signed), fontsize=13, color=style.INK)
    style.settle_scale([ax], numbers)
    style.finish(show)
    return ax


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
    style.check_max_display(max_display)
    independences, edges = check.independences[:max_display], check.edges[:max_display]
    p_values = np.array([*(test.adjusted for test in independences), *(test.p for test in edges)])
    is_edge = np.arange(len(p_values)) >= len(independences)
    wrong = (p_values <= check.alpha) != is_edge
    powers = np.log10(np.maximum(p_values, SMALLEST))
    arrow = "\N{RIGHTWARDS ARROW}"
    labels = [
        style.wrap(f"{t.x}, {t.y}", WIDTH, 1) + (f"\n{style.wrap(t.condition.strip(), WIDTH, 1)}" if t.given else "")
        for t in independences
    ] + [style.wrap(f"{t.x} {arrow} {t.y}", WIDTH, 2) for t in edges]

    _, (ax,) = style.panels(ax, 1, (9, 0.5 * len(labels) + 1.8), one_per="check")
    red, blue = style.sign_colours()
    numbers = []
    for place, (p, x, edge, filled) in enumerate(zip(p_values, powers, is_edge, wrong, strict=True)):
        colour, marker, word = (blue, "s", "not seen, ") if edge else (red, "o", "contradicted, ")
        look: dict[str, Any] = {"marker": "<" if p < SMALLEST else marker, "color": colour if filled else "white"}
        ax.plot([x], [place], ms=8, mec=colour, mew=1.4, zorder=3, gid="wrong" if filled else "right", **look)
        text = f"{word if filled else ''}p = {p:.1g}".replace("-", style.MINUS)
        numbers.append(style.write_beside(ax, text, (x, place), 8))
        numbers[-1].set_bbox({"fc": "white", "ec": "none", "pad": 0.5})  # the threshold passes behind the words
    style.name_rows([ax], labels, margin=0.45)
    style.rule(ax, range(len(labels)))
    threshold = math.log10(check.alpha)
    ax.axvline(threshold, color=style.INK, lw=1.0, ls="--", zorder=2, gid="alpha")
    if len(set(is_edge.tolist())) == 2:
        ax.axhline(len(independences) - 0.5, color=style.QUIET, lw=0.8, zorder=1)
    lowest = min(powers.min(), threshold - 1)
    ax.set_xlim(1.04 * lowest, -0.04 * lowest)
    ax.set_xlabel(f"p-value (dashed line: {check.alpha:g})", fontsize=13, color=style.INK)
    _explain_tests(ax, check, red, blue)
    style.settle_scale([ax], numbers)
    _name_powers(ax)
    style.finish(show)
    return ax


def _name_powers(ax: "Axes") -> None:
    """Powers of ten below the scale, up to one: the room beyond it is for words."""
    low = math.ceil(ax.get_xlim()[0])
    ticks = list(range(0, low - 1, -max(1, math.ceil(-low / 4))))
    ax.set_xticks(ticks, [f"{10.0**tick:.0e}" if tick < -3 else f"{10.0**tick:g}" for tick in ticks])


def _explain_tests(ax: "Axes", check: Any, red: style.Colour, blue: style.Colour) -> None:
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
