"""Bars: what two or more methods say about one row, and what of a causal value is direct.

``comparison`` draws bars of several methods side by side, causes first: credit that moves from effects to causes is
seen as bars that shrink at the bottom and grow at the top. ``effects`` stacks the direct and the indirect part of each
causal value: parts of opposite signs go to either side of zero, and a mark shows what they add up to.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style
from shap_asv.plots.attributions import Attributions, known_order, read_attributions
from shap_asv.plots.causes import causal_sequence

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


# what a feature does by itself is solid
PARTS: dict[str, style.Filling] = {"direct": (1.0, ""), "indirect": (0.25, "/////")}


def effects(
    explanations: Any,
    row: int | None = 0,
    order: Any = None,
    max_display: int | None = 10,
    ax: "Axes | None" = None,
    show: bool = True,
) -> "Axes":
    """Direct and indirect parts of causal values, stacked, one bar per feature.

    Parameters
    ----------
    explanations : pair (direct, indirect) or dict of the two
        What ``explainer.effects(X)`` gives; one output.
    row : int or None, default 0
        The row to draw; None draws the means of both |parts| over all rows.
    order, max_display, ax, show
        As in :func:`comparison`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, shap
    >>> from shap_asv import plots
    >>> def explanation(values):
    ...     return shap.Explanation(np.array([values]), np.array([0.3]), feature_names=["smoker", "xray"])
    >>> ax = plots.effects((explanation([0.1, 0.4]), explanation([0.3, 0.0])), show=False)
    >>> [round(float(bar.get_width()), 2) for bar in ax.patches]
    [0.1, 0.4, 0.3, 0.0]
    """
    read = _read_parts(explanations)
    values, texts = read.of_row(row)
    sequence = causal_sequence(order, read.features)
    labels, (direct, indirect) = style.shown_values(
        values, read.row_labels(texts), np.abs(values).sum(axis=0), sequence, max_display
    )
    _, (ax,) = style.panels(ax, 1, (8, 0.5 * len(labels) + 1.2))
    numbers = _draw_stacks(ax, direct, indirect, signed=row is not None)
    style.finish_bars(ax, labels, numbers, row is not None, show)
    return ax


def _read_parts(explanations: Any) -> Attributions:
    """The two parts under their names, whatever they were called."""
    names = list(explanations) if isinstance(explanations, dict) else None
    wrong = ExplanationError(
        "effects are two explanations, direct and indirect: pass what explainer.effects(X) gives, or a dict of the two"
    )
    if names is not None:
        if set(names) != set(PARTS):
            raise wrong
        return read_attributions({name: explanations[name] for name in PARTS})
    if not isinstance(explanations, (tuple, list)) or len(explanations) != 2:
        raise wrong
    return read_attributions(dict(zip(PARTS, explanations, strict=True)))


def _draw_stacks(ax: "Axes", direct: np.ndarray, indirect: np.ndarray, signed: bool) -> "list[Annotation]":
    colours, places = style.sign_colours(signed), np.arange(len(direct))
    # a part of the same sign goes on where the other one ends, one of another sign starts at zero
    starts = {"direct": np.zeros(len(direct)), "indirect": np.where(direct * indirect > 0, direct, 0.0)}
    for name, part in (("direct", direct), ("indirect", indirect)):
        for place, value, start in zip(places, part, starts[name], strict=True):
            style.draw_bar(ax, place, value, 0.66, PARTS[name], colours).set_x(start)
    total, reach = direct + indirect, starts["indirect"] + indirect
    text = style.number_format(total, signed=signed)
    numbers = []
    for place, value, ends in zip(places, total, np.stack([direct, reach], axis=1), strict=True):
        ax.plot([value, value], [place - 0.42, place + 0.42], color=style.INK, lw=1.6, zorder=4)
        end = float(max(ends.max(), 0.0)) if value >= 0 else float(min(ends.min(), 0.0))
        numbers.append(style.write_beside(ax, text(value), (end, float(place)), 4 if value >= 0 else -4))
    everything = np.concatenate([direct, reach])
    style.span_zero(ax, everything.min(), everything.max())
    style.explain_fillings(ax, PARTS)
    return numbers
