"""Beeswarms side by side: the spread of each feature's values over many rows, one panel per method.

A dot is a row. Dots that would cover each other are stacked; the height of a stack is a number of rows, and it
means the same in every panel, because bins and stacking are shared. (``shap.plots.beeswarm`` bins every feature by its
own range, which makes stacks of different panels incomparable, and it draws from numpy's global generator.)
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.plots import style
from shap_asv.plots.attributions import known_order, read_attributions
from shap_asv.plots.causes import causal_sequence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSING = "#777777"
DOT = 4.5  # diameter in points
BINS = 120  # dots of 4.5 points across a panel of about 4.5 inches, overlapping by a third


def comparison_beeswarm(
    explanations: Any,
    order: Any = None,
    max_display: int | None = 10,
    ax: Any = None,
    show: bool = True,
) -> "tuple[Axes, ...]":
    """One beeswarm per method, side by side, on one scale and with one sequence of features.

    Dots are coloured by the value of the feature, low to high (for discrete features: by the position of the state).

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
    read = read_attributions(explanations)
    order = known_order(explanations, order)
    importance = np.abs(read.values).mean(axis=1).max(axis=0)
    shown, grouped = style.chosen_features(importance, causal_sequence(order, read.features, importance), max_display)
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
        own_ax.set_xlim(min(low - margin, 0.0 - margin), max(high + margin, margin))
        own_ax.set_xlabel(style.IMPACT, fontsize=12, color=style.INK)
    style.name_rows(axes, labels)
    style.name_methods(axes, read.methods)
    if any(colour is not None for colour in colours):
        _draw_colour_bar(figure, axes)
    style.settle_scale(axes)
    style.finish(show)
    return tuple(axes)


def stack(values: np.ndarray, low: float, high: float, bins: int = BINS, half_height: float = 0.4) -> np.ndarray:
    """Offsets of dots from the middle of their row, in units of rows.

    Dots of one bin go to 0, +1, -1, +2, -2, ... steps from the middle. The step is the same for all methods, and
    shrinks when the highest stack of any of them would leave ``half_height``. O(m rows log rows).

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
    bin_of = np.floor(bins * (values - low) / ((high - low) or 1.0)).astype(int)
    levels = np.zeros(values.shape)
    for own, level in zip(bin_of, levels, strict=True):
        by_bin = np.argsort(own, kind="stable")
        in_order = own[by_bin]
        first = np.searchsorted(in_order, in_order)  # where the bin of each dot begins
        rank = np.arange(len(own)) - first
        level[by_bin] = np.ceil(rank / 2) * np.where(rank % 2, 1, -1)
    highest = np.abs(levels).max()
    return levels * min(0.11, half_height / max(highest, 1.0))


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
    if colour is None:
        ax.scatter(x, y, color=MISSING, **look)
        return
    known = ~np.isnan(colour)
    if not known.all():
        ax.scatter(x[~known], y[~known], color=MISSING, **look)
    ax.scatter(x[known], y[known], c=colour[known], cmap=colors.red_blue, vmin=0, vmax=1, **look)


def _draw_colour_bar(figure: Any, axes: "list[Axes]") -> None:
    from matplotlib.cm import ScalarMappable
    from shap.plots import colors

    height = axes[0].get_window_extent().height / figure.dpi
    scale = ScalarMappable(cmap=colors.red_blue)
    bar = figure.colorbar(scale, ax=axes, ticks=[0, 1], aspect=height / 0.1, pad=0.02)  # a tenth of an inch wide
    bar.set_ticklabels(["Low", "High"])
    bar.set_label("Feature value", size=12, labelpad=0, color=style.INK)
    bar.ax.tick_params(labelsize=11, length=0, labelcolor=style.INK)
    bar.outline.set_visible(False)
