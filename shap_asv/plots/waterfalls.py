"""Waterfalls side by side: how each method gets from the expectation E[f(X)] to the prediction f(x).

Each panel is a shap waterfall; the panels share their scale and their sequence of features, so that one arrow can be
compared with the arrow beside it. (``shap.plots.waterfall`` itself draws on the current axes, resizes the figure and
sorts each explanation on its own, which would lose the comparison.)
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.plots import style
from shap_asv.plots.attributions import known_order, read_attributions
from shap_asv.plots.causes import causal_sequence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation


@dataclass(frozen=True, eq=False)
class _Walk:
    """One panel: arrow ``r`` (0 = top) goes from ``starts[r]`` to ``ends[r]``."""

    starts: np.ndarray
    ends: np.ndarray
    downwards: bool

    @property
    def base(self) -> float:
        return float(self.starts[0 if self.downwards else -1])

    @property
    def prediction(self) -> float:
        return float(self.ends[-1 if self.downwards else 0])


def _walk(base: float, steps: np.ndarray, downwards: bool) -> _Walk:
    walked = steps if downwards else steps[::-1]
    ends = base + np.cumsum(walked)
    starts = np.concatenate([[base], ends[:-1]])
    return _Walk(starts, ends, True) if downwards else _Walk(starts[::-1], ends[::-1], False)


def comparison_waterfall(
    explanations: Any,
    row: int = 0,
    order: Any = None,
    max_display: int | None = 10,
    ax: Any = None,
    show: bool = True,
) -> "tuple[Axes, ...]":
    """One waterfall per method, side by side, on one scale and with one sequence of features.

    Without ``order`` features are sorted by the largest |value| any method gives them, and arrows are walked from
    E[f(X)] at the bottom up to f(x) at the top, as in shap. With ``order`` they stand in causal order and are walked
    from the top: from E[f(X)], causes first, down to f(x).

    Parameters
    ----------
    explanations, order, max_display, ax, show
        As in :func:`comparison_beeswarm`.
    row : int, default 0
        The row to draw.

    Returns
    -------
    tuple of matplotlib Axes
        One per method.

    Examples
    --------
    >>> import numpy as np, shap
    >>> from shap_asv import plots
    >>> def explanation(values):
    ...     return shap.Explanation(np.array([values]), np.array([0.3]), feature_names=["xray", "smoker"])
    >>> left, right = plots.comparison_waterfall(
    ...     {"SHAP": explanation([0.4, 0.1]), "ASV": explanation([0.2, 0.3])}, order=[("smoker", "xray")], show=False
    ... )
    >>> [label.get_text() for label in left.get_yticklabels()]
    ['smoker', 'xray']
    """
    read = read_attributions(explanations)
    order = known_order(explanations, order)
    index = read.row_index(row)
    values, texts = read.of_row(index)
    importance = np.abs(values).max(axis=0)
    sequence = causal_sequence(order, read.features, importance)
    labels, steps = style.shown_values(
        values, read.row_labels(texts, 26), importance, sequence, max_display, "{} other features"
    )
    walks = [
        _walk(float(base), own, downwards=order is not None)
        for base, own in zip(read.base_values[:, index], steps, strict=True)
    ]

    size = (2.2 + 4.0 * len(walks), 0.5 * len(labels) + 1.9)
    _, axes = style.panels(ax, len(walks), size)
    ends = np.concatenate([[walk.starts, walk.ends] for walk in walks])
    margin = 0.02 * (float(np.ptp(ends)) or 1.0)
    step_text = style.number_format(steps.ravel())
    end_text = style.number_format(steps.ravel(), signed=False)  # as many decimals as the steps between them
    numbers: list[Annotation] = []
    for own, walk in zip(axes, walks, strict=True):
        own.set_xlim(ends.min() - margin, ends.max() + margin)
        numbers += _draw_walk(own, walk, step_text)
    style.name_rows(axes, labels)
    for own, walk in zip(axes, walks, strict=True):
        _name_ends(own, walk, end_text)
    style.name_methods(axes, read.methods, pad=24)
    style.settle_scale(axes, numbers)
    style.finish(show)
    return tuple(axes)


def _draw_walk(ax: "Axes", walk: _Walk, text: Any) -> "list[Annotation]":
    from matplotlib.patches import Polygon

    positive, negative = style.sign_colours()
    low, high = ax.get_xlim()
    tip = 0.02 * (high - low)
    numbers: list[Annotation] = []
    style.rule(ax, range(len(walk.starts)))
    for place, (start, end) in enumerate(zip(walk.starts, walk.ends, strict=True)):
        step = end - start
        neck = end - np.sign(step) * min(tip, abs(step))
        outline = [(start, -0.38), (neck, -0.38), (end, 0.0), (neck, 0.38), (start, 0.38)]
        ax.add_patch(
            Polygon(
                [(x, place + y) for x, y in outline],
                facecolor=positive if step >= 0 else negative,
                edgecolor="none",
                gid=f"arrow {place}",
            )
        )
        numbers.append(style.write_beside(ax, text(step), (end, place), 4 if step >= 0 else -4, font=11.5))
    joints = walk.ends[:-1] if walk.downwards else walk.ends[1:]
    for place, joint in enumerate(joints):
        ax.plot([joint, joint], [place - 0.38, place + 1.38], color="#999999", lw=0.7, ls=(0, (3, 3)), zorder=0)
    return numbers


def _name_ends(ax: "Axes", walk: _Walk, text: Any) -> None:
    """E[f(X)] and f(x) written where the walk begins and ends, one above and one below the panel."""
    first, last = f"$E[f(X)]$ = {text(walk.base)}", f"$f(x)$ = {text(walk.prediction)}"
    above, below = (
        ((walk.base, first), (walk.prediction, last))
        if walk.downwards
        else ((walk.prediction, last), (walk.base, first))
    )
    rows = len(walk.starts)
    for (x, words), (y, offset, va), reach in (
        (above, (1.0, 4, "bottom"), (-0.6, 0.0)),
        (below, (0.0, -22, "top"), (rows - 1.0, rows - 0.4)),
    ):
        ax.annotate(
            words,
            (x, y),
            xycoords=ax.get_xaxis_transform(),
            xytext=(0, offset),
            textcoords="offset points",
            ha="center",
            va=va,
            fontsize=12,
            color=style.INK,
            annotation_clip=False,
        )
        ax.plot([x, x], reach, color="#999999", lw=0.7, ls=(0, (3, 3)), zorder=0)
