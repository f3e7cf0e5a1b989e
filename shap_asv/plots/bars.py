"""Paired bars: what two or more methods say about one row, causes first.

Credit that moves from effects to causes is seen as bars that shrink at the bottom and grow at the top.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots.attributions import known_order, read_attributions
from shap_asv.plots.causes import causal_sequence
from shap_asv.plots.style import (
    GUIDE,
    INK,
    QUIET,
    amount_colour,
    bare,
    blend,
    chosen_features,
    feature_label,
    finish,
    number_format,
    panels,
    settle_scale,
    sign_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

# (share of full colour, hatching) of the first, second, ... method: the old one is pale and hatched, the new one solid
FILLINGS: tuple[tuple[float, str], ...] = ((0.25, "/////"), (1.0, ""), (0.45, "....."), (0.7, "xxxxx"))


def comparison(
    explanations: Any,
    row: int | None = 0,
    order: Any = None,
    max_display: int | None = 10,
    ax: "Axes | None" = None,
    show: bool = True,
) -> "Axes":
    """Bars of several methods side by side, one group per feature, features in causal order.

    Parameters
    ----------
    explanations : dict of str to shap.Explanation, or pair (shap, asv)
        One to four methods on the same rows and features, one output each.
    row : int or None, default 0
        The row to draw; None draws the mean of |value| over all rows.
    order : CausalOrder, networkx.DiGraph or list of (cause, effect), optional
        Puts causes above effects; without it features keep their order.
    max_display : int or None, default 10
        The most important features are shown, the others are summed up in the last group. None shows all.
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
    >>> import numpy as np, shap
    >>> from shap_asv import plots
    >>> def explanation(values):
    ...     data, names = np.array([[1.0, 0.0]]), ["xray", "smoker"]
    ...     return shap.Explanation(np.array([values]), np.array([0.3]), data, feature_names=names)
    >>> ax = plots.comparison(
    ...     {"SHAP": explanation([0.4, 0.1]), "ASV": explanation([0.2, 0.3])}, order=[("smoker", "xray")], show=False
    ... )
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['smoker = 0', 'xray = 1']
    """
    read = read_attributions(explanations)
    order = known_order(explanations, order)
    if len(read.methods) > len(FILLINGS):
        raise ExplanationError(
            f"at most {len(FILLINGS)} explanations can be told apart in bars, {len(read.methods)} given"
        )
    texts: list[str | None] = [None] * len(read.features)
    if row is None:
        values = np.abs(read.values).mean(axis=1)
    else:
        index = read.row_index(row)
        values, texts = read.values[:, index], read.value_labels(index)
    shown, grouped = chosen_features(np.abs(values).max(axis=0), causal_sequence(order, read.features), max_display)
    labels = [feature_label(read.features[j], texts[j]) for j in shown]
    bars = values[:, shown]
    if len(grouped):
        labels.append(f"Sum of {len(grouped)} other features")
        bars = np.column_stack([bars, values[:, grouped].sum(axis=1)])

    height = len(labels) * (0.2 + 0.24 * len(bars)) + 1.2
    _, (ax,) = panels(ax, 1, (8, height))
    numbers = _draw_bars(ax, bars, read.methods, signed=row is not None)
    ax.set_yticks(range(len(labels)), labels, fontsize=13, parse_math=False)
    ax.set_ylim(len(labels) - 0.45, -0.55)
    bare(ax)
    ax.set_xlabel("mean(|value|)" if row is None else "value (impact on model output)", fontsize=13, color=INK)
    settle_scale([ax], numbers)
    finish(show)
    return ax


def _draw_bars(ax: "Axes", bars: np.ndarray, methods: tuple[str, ...], signed: bool) -> "list[Annotation]":
    from matplotlib.patches import Patch

    positive, negative = sign_colours() if signed else (amount_colour(),) * 2
    thickness = 0.76 / len(bars)
    numbers: list[Annotation] = []
    text = number_format(bars.ravel(), signed=signed)
    for m, (values, (share, hatch)) in enumerate(zip(bars, _fillings(len(bars)), strict=True)):
        places = np.arange(len(values)) - 0.38 + thickness * (m + 0.5)
        for place, value in zip(places, values, strict=True):
            full = positive if value >= 0 else negative
            ax.barh(
                place,
                value,
                thickness * 0.92,
                facecolor=blend(full, share),
                edgecolor=full,
                hatch=hatch,
                linewidth=0.8,
                zorder=2,
            )
            number = ax.annotate(
                text(value),
                (value, place),
                xytext=(4 if value >= 0 else -4, 0),
                textcoords="offset points",
                ha="left" if value >= 0 else "right",
                va="center",
                fontsize=11,
                color=INK,
            )
            numbers.append(number)
    for place in range(bars.shape[1] - 1):
        ax.axhline(place + 0.5, color=GUIDE, lw=0.5, dashes=(1, 5), zorder=-1)
    ax.axvline(0, color=INK, lw=0.8, zorder=3)
    low, high = min(0.0, float(bars.min())), max(0.0, float(bars.max()))
    margin = 0.02 * ((high - low) or 1.0)
    ax.set_xlim(low - margin, high + margin)
    if len(bars) > 1 or methods[0] != "attribution":
        grey = (0.42, 0.42, 0.42)
        ax.legend(
            handles=[
                Patch(facecolor=blend(grey, share), edgecolor=QUIET, hatch=hatch, linewidth=0.8, label=method)
                for method, (share, hatch) in zip(methods, _fillings(len(bars)), strict=True)
            ],
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=len(methods),
            frameon=False,
            fontsize=12,
            labelcolor=INK,
        )
    return numbers


def _fillings(count: int) -> tuple[tuple[float, str], ...]:
    return FILLINGS[1:2] if count == 1 else FILLINGS[:count]
