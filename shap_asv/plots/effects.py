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

# (share of full colour, hatching): what a feature does by itself is solid
PARTS: dict[str, tuple[float, str]] = {"direct": (1.0, ""), "indirect": (0.25, "/////")}


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
    order : CausalOrder, networkx.DiGraph or list of (cause, effect), optional
        Puts causes above effects; without it features keep their order.
    max_display : int or None, default 10
        The most important features are shown, the others are summed up in the last bar. None shows all.
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
    ...     return shap.Explanation(np.array([values]), np.array([0.3]), feature_names=["smoker", "xray"])
    >>> ax = plots.effects((explanation([0.1, 0.4]), explanation([0.3, 0.0])), show=False)
    >>> [round(float(bar.get_width()), 2) for bar in ax.patches]
    [0.1, 0.4, 0.3, 0.0]
    """
    read = _read_parts(explanations)
    values, texts = read.of_row(row)
    shown, grouped = style.chosen_features(
        np.abs(values).sum(axis=0), causal_sequence(order, read.features), max_display
    )
    labels = [style.feature_label(read.features[j], texts[j]) for j in shown]
    if len(grouped):
        labels.append(f"Sum of {len(grouped)} other features")
    direct, indirect = style.with_rest(values, shown, grouped)
    _, (ax,) = style.panels(ax, 1, (8, 0.5 * len(labels) + 1.2))
    numbers = _draw_stacks(ax, direct, indirect, signed=row is not None)
    style.name_rows([ax], labels, margin=0.45)
    ax.set_xlabel(style.value_name(signed=row is not None), fontsize=13, color=style.INK)
    style.settle_scale([ax], numbers)
    style.finish(show)
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
    from matplotlib.patches import Patch

    positive, negative = style.sign_colours(signed)
    places = np.arange(len(direct))
    # a part of the same sign goes on where the other one ends, one of another sign starts at zero
    starts = {"direct": np.zeros(len(direct)), "indirect": np.where(direct * indirect > 0, direct, 0.0)}
    for name, part in (("direct", direct), ("indirect", indirect)):
        share, hatch = PARTS[name]
        for place, value, start in zip(places, part, starts[name], strict=True):
            full = positive if value >= 0 else negative
            ax.barh(
                place,
                value,
                0.66,
                left=start,
                facecolor=style.blend(full, share),
                edgecolor=full,
                hatch=hatch,
                linewidth=0.8,
                zorder=2,
            )
    total, reach = direct + indirect, starts["indirect"] + indirect
    text = style.number_format(total, signed=signed)
    numbers = []
    for place, value, ends in zip(places, total, np.stack([direct, reach], axis=1), strict=True):
        ax.plot([value, value], [place - 0.42, place + 0.42], color=style.INK, lw=1.6, zorder=4)
        end = float(max(ends.max(), 0.0)) if value >= 0 else float(min(ends.min(), 0.0))
        numbers.append(style.write_beside(ax, text(value), (end, float(place)), 4 if value >= 0 else -4))
    style.rule(ax, places[:-1] + 0.5)
    ax.axvline(0, color=style.INK, lw=0.8, zorder=3)
    everything = np.concatenate([direct, reach])
    style.span_zero(ax, everything.min(), everything.max())
    grey = (0.42, 0.42, 0.42)
    keys = [
        Patch(facecolor=style.blend(grey, share), edgecolor=style.QUIET, hatch=hatch, linewidth=0.8, label=name)
        for name, (share, hatch) in PARTS.items()
    ]
    style.explain_above(ax, keys, columns=2, font=12)
    return numbers
