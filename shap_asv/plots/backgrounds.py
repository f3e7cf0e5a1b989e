"""What backgrounds are worth: which one fits the rows, and whether fitted mechanisms are calibrated.

``scores`` draws how far each background's score lies above the best, with its standard error. Scores themselves share a
large part that no background can explain; what tells backgrounds apart is the difference on the same rows, whose
standard error is far smaller. A whisker of two errors that does not reach zero is a background that is worse.

``mechanisms`` draws a histogram of PIT values for each node of a structural model. The *probability integral transform*
of a held-out value is its place in the distribution that the mechanism predicted for it. If the mechanism is right,
places are uniform and all bars end at the dashed line, but for chance (the grey band). A hill in the middle: predicted
distributions are too wide. A bowl: too narrow. A slope: they lie too low or too high.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scores(table: Any, *, ax: "Axes | None" = None, show: bool = True) -> "Axes":
    """Scores of backgrounds above the best one, with whiskers of two standard errors, the best on top.

    Parameters
    ----------
    table : ScoreTable
        What ``score_background`` gives: ``names``, ``scores`` and ``above_best``.
    ax : matplotlib axes, optional
    show : bool, default True
        Call ``matplotlib.pyplot.show()``.

    Returns
    -------
    Axes
    """
    if not hasattr(table, "above_best"):
        raise ExplanationError(f"scores draws what score_background returns, not a {type(table).__name__}")
    if len(table.names) < 2:
        raise ExplanationError(
            f"one background ({table.names[0]}) cannot be compared; score several: score_background({{'a': ..., "
            "'b': ...}, model, rows)"
        )
    above, error = table.above_best
    order = np.argsort(table.scores, kind="stable")
    (own,) = style.panels(ax, 1, (6.0, 1.0 + 0.45 * len(order)), 1, one_per="table")[1]
    heights = np.arange(len(order))[::-1]
    reach = 2 * np.nan_to_num(error[order])  # a single row has no standard error
    own.axvline(0, color=style.INK, lw=0.8, ls="--", zorder=1)
    own.errorbar(above[order], heights, xerr=reach, fmt="o", color=style.amount_colour(), capsize=3, zorder=2)
    own.set_ylim(-0.6, len(order) - 0.4)
    own.set_yticks(heights)
    own.set_yticklabels([style.wrap(table.names[k], 34, 2) for k in order], parse_math=False, color=style.INK)
    own.set_xlabel(f"score above the best ({table.scores[order[0]]:.3g}), two standard errors", color=style.QUIET)
    style.bare(own)
    style.finish(show)
    return own


N_BINS = 20
COLUMNS = 4


def mechanisms(
    report: Any,
    nodes: Sequence[str] | None = None,
    *,
    ax: Any = None,
    show: bool = True,
) -> "list[Axes]":
    """PIT histograms of the nodes of a structural model.

    Parameters
    ----------
    report : MechanismReport
        What ``model.report()`` gives: nodes with ``name``, ``mechanism``, ``causes``, ``pit`` and ``improvement``.
    nodes : list of str, optional
        Which nodes, in which order. By default all that have causes: a root is its own histogram.
    ax : matplotlib axes, or a sequence of them, optional
        One per node.
    show : bool, default True
        Call ``matplotlib.pyplot.show()``.

    Returns
    -------
    list of Axes
    """
    known = {node.name: node for node in report.nodes}
    if nodes is None:
        chosen = [node for node in report.nodes if node.causes]
    else:
        for name in nodes:
            if name not in known:
                raise ExplanationError(f"the report has no node {name!r}; its nodes are {', '.join(known)}")
        chosen = [known[name] for name in nodes]
    if not chosen:
        raise ExplanationError("no node of this model has causes: there is nothing to draw; name roots with nodes=")
    across = min(len(chosen), COLUMNS)
    size = (3.0 * across, 2.3 * -(-len(chosen) // across))
    _, axes = style.panels(ax, len(chosen), size, across, one_per="node")
    for own, node in zip(axes, chosen, strict=True):
        _draw(own, node)
    style.finish(show)
    return axes


def _draw(ax: "Axes", node: Any) -> None:
    pit = np.asarray(node.pit)
    bins = int(np.clip(len(pit) // 20, 4, N_BINS))
    counts = np.histogram(pit, bins=bins, range=(0, 1))[0]
    heights = counts * bins / len(pit)
    # binomial: about 19 of 20 bars of a right mechanism end inside of the band
    chance = 2 * np.sqrt(bins * (1 - 1 / bins) / len(pit))
    ax.axhspan(1 - chance, 1 + chance, color=style.GUIDE, alpha=0.5, lw=0, zorder=0)
    colour = style.amount_colour()
    ax.bar((np.arange(bins) + 0.5) / bins, heights, width=0.92 / bins, color=style.blend(colour, 0.7), zorder=2)
    ax.axhline(1, color=style.INK, lw=0.8, ls="--", zorder=3)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, max(2.0, 1.1 * float(heights.max())))
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.set_yticks([])
    style.bare(ax)
    ax.set_title(style.wrap(node.name, 28, 1), fontsize=12, color=style.INK, parse_math=False)
    ax.set_xlabel(style.wrap(f"{node.mechanism}", 32, 2), fontsize=9, color=style.QUIET, parse_math=False)
