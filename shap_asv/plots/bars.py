"""Paired bars: what two or more methods say about one row, causes first.

Credit that moves from effects to causes is seen as bars that shrink at the bottom and grow at the top.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style
from shap_asv.plots.attributions import known_order, read_attributions
from shap_asv.plots.graphs.causes import causal_sequence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

# (share of full colour, hatching) of the first, second, ... method: the old one is pale and hatched, the new one solid
FILLINGS: tuple[tuple[float, str], ...] = (
    (0.25, "/////"),
    (1.0, ""),
    (0.45, "....."),
    (0.7, "xxxxx"),
    (0.1, ""),
    (0.85, "|||||"),
)


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
        One to six methods on the same rows and features, one output each.
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
    values, texts = read.of_row(row)
    shown, grouped = style.chosen_features(
        np.abs(values).max(axis=0), causal_sequence(order, read.features), max_display
    )
    labels = [style.feature_label(read.features[j], texts[j]) for j in shown]
    if len(grouped):
        labels.append(f"Sum of {len(grouped)} other features")
    bars = style.with_rest(values, shown, grouped)

    height = len(labels) * (0.2 + 0.24 * len(bars)) + 1.2
    _, (ax,) = style.panels(ax, 1, (8, height))
    numbers = _draw_bars(ax, bars, read.methods, signed=row is not None)
    style.name_rows([ax], labels, margin=0.45)
    ax.set_xlabel(style.value_name(signed=row is not None), fontsize=13, color=style.INK)
    style.settle_scale([ax], numbers)
    style.finish(show)
    return ax


def _draw_bars(ax: "Axes", bars: np.ndarray, methods: tuple[str, ...], signed: bool) -> "list[Annotation]":
    from matplotlib.patches import Patch

    positive, negative = style.sign_colours(signed)
    thickness = 0.76 / len(bars)
    numbers: list[Annotation] = []
    text = style.number_format(bars.ravel(), signed=signed)
    for m, (values, (share, hatch)) in enumerate(zip(bars, _fillings(len(bars)), strict=True)):
        places = np.arange(len(values)) - 0.38 + thickness * (m + 0.5)
        for place, value in zip(places, values, strict=True):
            full = positive if value >= 0 else negative
            ax.barh(
                place,
                value,
                thickness * 0.92,
                facecolor=style.blend(full, share),
                edgecolor=full,
                hatch=hatch,
                linewidth=0.8,
                zorder=2,
            )
            numbers.append(style.write_beside(ax, text(value), (value, place), 4 if value >= 0 else -4))
    style.rule(ax, np.arange(bars.shape[1] - 1) + 0.5)
    ax.axvline(0, color=style.INK, lw=0.8, zorder=3)
    style.span_zero(ax, bars.min(), bars.max())
    if len(bars) > 1 or methods[0] != "attribution":
        grey = (0.42, 0.42, 0.42)
        keys = [
            Patch(facecolor=style.blend(grey, share), edgecolor=style.QUIET, hatch=hatch, linewidth=0.8, label=method)
            for method, (share, hatch) in zip(methods, _fillings(len(bars)), strict=True)
        ]
        style.explain_above(ax, keys, columns=len(methods), font=12)
    return numbers


def _fillings(count: int) -> tuple[tuple[float, str], ...]:
    return FILLINGS[1:2] if count == 1 else FILLINGS[:count]
