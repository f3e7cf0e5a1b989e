"""SHAP and ASV side by side: bars of one row, waterfalls of one row, beeswarms of many.

All methods share one scale and one sequence of features, so that a bar, an arrow or a dot can be compared with the one
beside it. Credit that moves from effects to causes is seen as bars that shrink at the bottom and grow at the top.
(``shap.plots.waterfall`` and ``beeswarm`` sort and bin every explanation on its own, which would lose the comparison.)
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style
from shap_asv.plots.reading import Attributions, read_attributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

#: Share of full colour, and hatching.
Filling = tuple[float, str]
# of the first, second, ... method: the old one is pale and hatched, the new one solid
FILLINGS: tuple[Filling, ...] = (
    (0.25, "/////"),
    (1.0, ""),
    (0.45, "....."),
    (0.7, "xxxxx"),
    (0.1, ""),
    (0.85, "|||||"),
)

MISSING = "#777777"
DOT = 4.5  # diameter in points
HALF_HEIGHT = 0.4  # of a row of dots
BINS = 120  # dots of 4.5 points across a panel of about 4.5 inches, overlapping by a third
JOINT: dict[str, Any] = {"color": "#999999", "lw": 0.7, "ls": (0, (3, 3)), "zorder": 0}


# --- bars -----------------------------------------------------------------------------------------------------------


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
        One to six methods on the same rows and features, one output each; or what ``explainer.effects(X)`` gives: the
        direct and the indirect parts of causal values.
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
    read = read_attributions(explanations, order)
    if len(read.methods) > len(FILLINGS):
        raise ExplanationError(
            f"at most {len(FILLINGS)} explanations can be told apart in bars, {len(read.methods)} given"
        )
    labels, bars = _bars_of_row(read, row, max_display)
    _, (ax,) = style.panels(ax, 1, (8, len(labels) * (0.2 + 0.24 * len(bars)) + 1.2))
    signed = row is not None
    thickness = 0.76 / len(bars)
    fillings = FILLINGS[1:2] if len(bars) == 1 else FILLINGS[: len(bars)]
    numbers = []
    text = style.number_format(bars.ravel(), signed=signed)
    for m, (own, filling) in enumerate(zip(bars, fillings, strict=True)):
        for place, value in zip(np.arange(len(own)) - 0.38 + thickness * (m + 0.5), own, strict=True):
            _draw_bar(ax, place, value, thickness * 0.92, filling, signed)
            numbers.append(style.write_beside(ax, text(value), (value, place), 4 if value >= 0 else -4))
    style.span_zero(ax, bars.min(), bars.max())
    if len(bars) > 1 or read.methods[0] != "attribution":
        _explain_fillings(ax, dict(zip(read.methods, fillings, strict=True)))
    _finish_bars(ax, labels, numbers, signed, show)
    return ax


def _bars_of_row(read: Attributions, row: int | None, max_display: int | None) -> tuple[list[str], np.ndarray]:
    """Labels and values (methods, shown) of a row, or of the means over all."""
    values, texts = read.of_row(row)
    importance = np.abs(values).max(axis=0)
    return style.shown_values(values, read.row_labels(texts), importance, read.sequence(), max_display)


def _draw_bar(ax: "Axes", place: float, value: float, height: float, filling: Filling, signed: bool) -> Any:
    """A horizontal bar from zero, in the colour of its sign."""
    full = style.sign_colours(signed)[0 if value >= 0 else 1]
    share, hatch = filling
    look: dict[str, Any] = {"facecolor": style.blend(full, share), "edgecolor": full, "hatch": hatch}
    return ax.barh(place, value, height, zorder=2, linewidth=0.8, **look)[0]


def _explain_fillings(ax: "Axes", fillings: Mapping[str, Filling]) -> None:
    """What each filling of bars stands for, in one line above the panel."""
    from matplotlib.patches import Patch

    grey = (0.42, 0.42, 0.42)
    keys = [
        Patch(facecolor=style.blend(grey, share), edgecolor=style.QUIET, hatch=hatch, linewidth=0.8, label=name)
        for name, (share, hatch) in fillings.items()
    ]
    look: dict[str, Any] = {"frameon": False, "fontsize": 12, "labelcolor": style.INK}
    ax.legend(handles=keys, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(keys), **look)


def _finish_bars(ax: "Axes", labels: Sequence[str], numbers: "Sequence[Annotation]", signed: bool, show: bool) -> None:
    """Rules between the rows, zero, labels, the name of the scale."""
    style.rule(ax, np.arange(len(labels) - 1) + 0.5)
    ax.axvline(0, color=style.INK, lw=0.8, zorder=3)
    style.name_rows([ax], labels, margin=0.45)
    ax.set_xlabel(style.value_name(signed), fontsize=13, color=style.INK)
    style.settle_scale([ax], numbers)
    style.finish(show)


# --- waterfalls -----------------------------------------------------------------------------------------------------


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
    read = read_attributions(explanations, order)
    index = read.row_index(row)
    values, texts = read.of_row(index)
    importance = np.abs(values).max(axis=0)
    labels, steps = style.shown_values(
        values, read.row_labels(texts, 26), importance, read.sequence(importance), max_display, "{} other features"
    )
    downwards = read.order is not None
    base, walked = read.base_values[:, index, None], steps.cumsum(axis=1)
    # arrow r (0 = top) goes from starts[:, r] to ends[:, r]
    starts = base + (walked - steps if downwards else walked[:, -1:] - walked)
    ends = starts + steps
    _, axes = style.panels(ax, len(steps), (2.2 + 4.0 * len(steps), 0.5 * len(labels) + 1.9))
    low, high = min(starts.min(), ends.min()), max(starts.max(), ends.max())
    margin = 0.02 * ((high - low) or 1.0)
    step_text = style.number_format(steps.ravel())
    end_text = style.number_format(steps.ravel(), signed=False)  # as many decimals as the steps between them
    numbers: list[Annotation] = []
    for own, begin, end in zip(axes, starts, ends, strict=True):
        own.set_xlim(low - margin, high + margin)
        numbers += _draw_arrows(own, begin, end, step_text)
        for place, joint in enumerate(end[:-1] if downwards else end[1:]):
            own.plot([joint, joint], [place - 0.38, place + 1.38], **JOINT)
    style.name_rows(axes, labels)
    for own, begin, end in zip(axes, starts, ends, strict=True):
        first, last = (begin[0], end[-1]) if downwards else (begin[-1], end[0])
        words = [(first, f"$E[f(X)]$ = {end_text(first)}"), (last, f"$f(x)$ = {end_text(last)}")]
        _name_ends(own, words if downwards else words[::-1], len(labels))
    style.name_methods(axes, read.methods, pad=24)
    style.settle_scale(axes, numbers)
    style.finish(show)
    return tuple(axes)


def _draw_arrows(ax: "Axes", starts: np.ndarray, ends: np.ndarray, text: style.Format) -> "list[Annotation]":
    from matplotlib.patches import Polygon

    positive, negative = style.sign_colours()
    low, high = ax.get_xlim()
    numbers = []
    style.rule(ax, range(len(starts)))
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        step = end - start
        neck = end - np.sign(step) * min(0.02 * (high - low), abs(step))
        outline = [(start, -0.38), (neck, -0.38), (end, 0.0), (neck, 0.38), (start, 0.38)]
        corners = [(x, place + y) for x, y in outline]
        colour = positive if step >= 0 else negative
        ax.add_patch(Polygon(corners, facecolor=colour, edgecolor="none", gid=f"arrow {place}"))
        numbers.append(style.write_beside(ax, text(step), (end, place), 4 if step >= 0 else -4, font=11.5))
    return numbers


def _name_ends(ax: "Axes", ends: Sequence[tuple[float, str]], rows: int) -> None:
    """E[f(X)] and f(x) written where the walk begins and ends, the first one above and the other below the panel."""
    places = (1.0, 4, "bottom", (-0.6, 0.0)), (0.0, -22, "top", (rows - 1.0, rows - 0.4))
    for (x, words), (y, offset, va, reach) in zip(ends, places, strict=True):
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
        ax.plot([x, x], reach, **JOINT)


# --- beeswarms ------------------------------------------------------------------------------------------------------


def comparison_beeswarm(
    explanations: Any,
    order: Any = None,
    max_display: int | None = 10,
    ax: Any = None,
    show: bool = True,
) -> "tuple[Axes, ...]":
    """One beeswarm per method, side by side, on one scale and with one sequence of features.

    Dots are coloured by the value of the feature, low to high (for discrete features: by the position of the state).
    Dots that would cover each other are stacked; the height of a stack means the same number of rows in every panel.

    Parameters
    ----------
    explanations, max_display, show
        As in :func:`comparison`, of any number of methods.
    order : CausalOrder, networkx.DiGraph or list of (cause, effect), optional
        Puts causes above effects. Without it features are sorted by the largest mean |value| any method gives them,
        as in shap.
    ax : sequence of matplotlib Axes, optional
        One per method; a blank figure of fitting size by default.

    Returns
    -------
    tuple of matplotlib Axes
        One per method.

    Examples
    --------
    >>> import numpy as np, shap
    >>> from shap_asv import plots
    >>> rng = np.random.default_rng(0)
    >>> data = rng.normal(size=(50, 2))
    >>> def explanation(weights):
    ...     return shap.Explanation(data * weights, np.zeros(50), data, feature_names=["xray", "smoker"])
    >>> pair = explanation([2.0, 1.0]), explanation([1.0, 2.0])
    >>> axes = plots.comparison_beeswarm(pair, order=[("smoker", "xray")], show=False)
    >>> [ax.get_title() for ax in axes]
    ['SHAP', 'ASV']
    """
    read = read_attributions(explanations, order)
    importance = np.abs(read.values).mean(axis=1).max(axis=0)
    shown, grouped = style.chosen_features(importance, read.sequence(importance), max_display)
    labels = [style.wrap(read.features[j], 26) for j in shown]
    values = np.moveaxis(style.with_rest(read.values, shown, grouped), -1, 0)  # (features shown, methods, rows)
    colours = [colour_scale(None if read.data is None else read.data[:, j]) for j in shown]
    if len(grouped):
        labels.append(f"Sum of {len(grouped)} other features")
        colours.append(None)

    size = (2.6 + 3.9 * len(read.methods), 0.42 * len(labels) + 1.7)
    figure, axes = style.panels(ax, len(read.methods), size)
    low, high = float(values.min()), float(values.max())
    margin = 0.03 * ((high - low) or 1.0)
    # so that no value lies on top by its place in the table
    shuffled = np.random.default_rng(0).permutation(read.n_rows)
    for place, (own, colour) in enumerate(zip(values, colours, strict=True)):
        offsets = stack(own[:, shuffled], low - margin, high + margin)
        for panel, (x, y) in enumerate(zip(own[:, shuffled], offsets, strict=True)):
            _draw_dots(axes[panel], x, place - y, None if colour is None else colour[shuffled])
    for own_ax in axes:
        own_ax.axvline(0, color="#999999", zorder=-1)
        style.rule(own_ax, range(len(labels)))
        own_ax.set_xlim(min(low, 0.0) - margin, max(high, 0.0) + margin)
        own_ax.set_xlabel(style.IMPACT, fontsize=12, color=style.INK)
    style.name_rows(axes, labels)
    style.name_methods(axes, read.methods)
    if any(colour is not None for colour in colours):
        from matplotlib.cm import ScalarMappable
        from shap.plots import colors

        height = axes[0].get_window_extent().height / figure.dpi
        scale = ScalarMappable(cmap=colors.red_blue)
        bar = figure.colorbar(scale, ax=axes, ticks=[0, 1], aspect=height / 0.1, pad=0.02)  # a tenth of an inch wide
        bar.set_ticklabels(["Low", "High"])
        style.dress_colour_bar(bar, "Feature value")
    style.settle_scale(axes)
    style.finish(show)
    return tuple(axes)


def stack(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Offsets of dots from the middle of their row, in units of rows.

    Dots of one bin go to 0, +1, -1, +2, -2, ... steps from the middle. The step is the same for all methods, and
    shrinks when the highest stack of any of them would leave :data:`HALF_HEIGHT`. O(m rows log rows).

    Parameters
    ----------
    values : float array (m, rows)
        One feature, each method.
    low, high : float
        The shared scale.

    Returns
    -------
    float array (m, rows)
    """
    bin_of = np.floor(BINS * (values - low) / ((high - low) or 1.0)).astype(int)
    levels = np.zeros(values.shape)
    for own, level in zip(bin_of, levels, strict=True):
        by_bin = np.argsort(own, kind="stable")
        in_order = own[by_bin]
        first = np.searchsorted(in_order, in_order)  # where the bin of each dot begins
        rank = np.arange(len(own)) - first
        level[by_bin] = np.ceil(rank / 2) * np.where(rank % 2, 1, -1)
    highest = np.abs(levels).max()
    return levels * min(0.11, HALF_HEIGHT / max(highest, 1.0))


def colour_scale(data: np.ndarray | None) -> np.ndarray | None:
    """Values of one feature mapped to [0, 1] between their 5% and 95% quantiles, NaN kept; None if not numeric."""
    if data is None:
        return None
    try:
        numbers = data.astype(np.float64)
    except (TypeError, ValueError):
        return None
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return None
    for cut in (5, 1, 0):  # rare states must not collapse the range
        low, high = np.percentile(known, [cut, 100 - cut])
        if low < high:
            return np.clip((numbers - low) / (high - low), 0, 1)
    return np.where(np.isnan(numbers), np.nan, 0.5)


def _draw_dots(ax: "Axes", x: np.ndarray, y: np.ndarray, colour: np.ndarray | None) -> None:
    from shap.plots import colors

    look: dict[str, Any] = {"s": DOT**2, "linewidth": 0, "zorder": 3, "rasterized": len(x) > 500}
    known = np.zeros(len(x), dtype=bool) if colour is None else ~np.isnan(colour)
    if not known.all():
        ax.scatter(x[~known], y[~known], color=MISSING, **look)
    if colour is not None:
        ax.scatter(x[known], y[known], c=colour[known], cmap=colors.red_blue, vmin=0, vmax=1, **look)
