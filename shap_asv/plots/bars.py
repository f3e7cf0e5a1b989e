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

# of the first, second, ... method: the old one is pale and hatched, the new one solid
FILLINGS: tuple[style.Filling, ...] = (
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
    sequence = causal_sequence(order, read.features)
    labels, bars = style.shown_values(values, read.row_labels(texts), np.abs(values).max(axis=0), sequence, max_display)
    _, (ax,) = style.panels(ax, 1, (8, len(labels) * (0.2 + 0.24 * len(bars)) + 1.2))
    signed = row is not None
    thickness, colours = 0.76 / len(bars), style.sign_colours(signed)
    fillings = FILLINGS[1:2] if len(bars) == 1 else FILLINGS[: len(bars)]
    numbers: list[Annotation] = []
    text = style.number_format(bars.ravel(), signed=signed)
    for m, (own, filling) in enumerate(zip(bars, fillings, strict=True)):
        for place, value in zip(np.arange(len(own)) - 0.38 + thickness * (m + 0.5), own, strict=True):
            style.draw_bar(ax, place, value, thickness * 0.92, filling, colours)
            numbers.append(style.write_beside(ax, text(value), (value, place), 4 if value >= 0 else -4))
    style.span_zero(ax, bars.min(), bars.max())
    if len(bars) > 1 or read.methods[0] != "attribution":
        style.explain_fillings(ax, dict(zip(read.methods, fillings, strict=True)))
    style.finish_bars(ax, labels, numbers, signed, show)
    return ax
