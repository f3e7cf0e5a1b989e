"""How far attributions depend on the causal graph: for each feature the range over the graphs, and their mean."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots.style import (
    GUIDE,
    INK,
    QUIET,
    amount_colour,
    bare,
    blend,
    chosen_features,
    finish,
    number_format,
    panels,
    settle_scale,
    sign_colours,
    wrap,
)

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

    Parameters
    ----------
    result : Sensitivity
        Of one output; ``result.output(k)`` picks one.
    row : int or None, default None
        The row to draw; None draws the mean of |value| over all rows under each graph.
    max_display : int or None, default 10
        Features with the largest values are shown. None shows all.
    ax : matplotlib Axes, optional
        Where to draw; a blank figure of fitting size by default.
    show : bool, default True
        Call ``matplotlib.pyplot.show()``.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
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
    size = np.abs(frame[["lowest", "highest"]].to_numpy()).max(axis=1)
    sequence = np.argsort(-size, kind="stable")
    chosen_features(size, sequence, max_display)  # an error if max_display is wrong; ranges cannot be summed up
    shown = sequence[:max_display]

    _, (ax,) = panels(ax, 1, (8, 0.46 * len(shown) + 1.3))
    _draw_intervals(ax, frame.iloc[shown], per_graph[:, shown], signed=row is not None)
    labels = [wrap(str(name), 30) for name in frame.index[shown]]
    ax.set_yticks(range(len(labels)), labels, fontsize=13, parse_math=False)
    ax.set_ylim(len(labels) - 0.45, -0.55)
    bare(ax)
    ax.set_xlabel("mean(|value|)" if row is None else "value (impact on model output)", fontsize=13, color=INK)
    numbers = _write_numbers(ax, frame.iloc[shown], signed=row is not None)
    settle_scale([ax], numbers)
    finish(show)
    return ax


def _draw_intervals(ax: "Axes", frame: Any, per_graph: np.ndarray, signed: bool) -> None:
    positive, negative = sign_colours() if signed else (amount_colour(),) * 2
    for place, (mean, low, high) in enumerate(frame[["mean", "lowest", "highest"]].to_numpy().tolist()):
        colour = positive if mean >= 0 else negative
        ax.plot([low, high], [place, place], lw=7, color=blend(colour, 0.35), solid_capstyle="butt", zorder=2)
        ax.plot(per_graph[:, place], np.full(len(per_graph), place), "|", ms=7, color=QUIET, mew=0.6, zorder=3)
        ax.plot([mean], [place], "o", ms=8, color=colour, mec="white", mew=1.0, zorder=4, gid="mean")
        if place:
            ax.axhline(place - 0.5, color=GUIDE, lw=0.5, dashes=(1, 5), zorder=-1)
    ax.axvline(0, color=INK, lw=0.8, zorder=1)
    low, high = (float(f) for f in (min(0.0, frame["lowest"].min()), max(0.0, frame["highest"].max())))
    margin = 0.02 * ((high - low) or 1.0)
    ax.set_xlim(low - margin, high + margin)


def _write_numbers(ax: "Axes", frame: Any, signed: bool) -> list[Any]:
    """The mean to the right of its interval, and how often the sign changes where it does."""
    text = number_format(frame["mean"], signed=signed)
    numbers = []
    for place, (mean, high, changes) in enumerate(frame[["mean", "highest", "sign changes"]].to_numpy().tolist()):
        words = text(mean) + (f", other sign in {changes:.0%}" if round(100 * changes) else "")
        numbers.append(
            ax.annotate(
                words,
                (high, place),
                xytext=(7, 0),
                textcoords="offset points",
                ha="left",
                va="center",
                fontsize=11,
                color=INK,
            )
        )
    return numbers
