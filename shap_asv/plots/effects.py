"""Stacked bars: how much of each causal value a feature does by itself, and how much goes through its effects.

A bar is the causal value; its solid part is direct, its hatched part indirect. Parts of opposite signs go to either
side of zero, and a mark shows what they add up to.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style
from shap_asv.plots.attributions import Attributions, read_attributions
from shap_asv.plots.graphs.causes import causal_sequence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

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
