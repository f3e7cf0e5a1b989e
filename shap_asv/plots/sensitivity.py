"""How far the values depend on the causal graph."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
