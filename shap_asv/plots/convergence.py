"""Sampled values settling down: estimates with their intervals against the number of orders they were averaged over.

A mean over ``N`` independent topological orders has a standard error that falls like ``1 / sqrt(N)``; four times the
orders halve the intervals. The plot shows whether the intervals of a run are narrow enough to tell its features apart,
and, where the exact values are known, whether they cover them.
"""

from collections.abc import Mapping
from numbers import Integral
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style
from shap_asv.plots.attributions import read_attributions
from shap_asv.plots.layout import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# the palette of Okabe and Ito (2008), which stays apart for all kinds of colour vision, without its pale yellow
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


class _Run(NamedTuple):
    """Estimates of one row: numbers of orders (s,), values and errors (s, n), names (n,), exact values (n,) or None."""

    n_orders: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    features: tuple[str, ...]
    exact: np.ndarray | None


def convergence(
    explanations: Mapping[int, Any],
    max_display: int | None = 7,
    level: float = 0.95,
    ax: "Axes | None" = None,
    show: bool = True,
    *,
    row: int = 0,
    exact: Any = None,
) -> "Axes":
    """Sampled values with their intervals against the number of orders.

    Parameters
    ----------
    explanations : dict of int to shap.Explanation
        Explanations of the same rows by numbers of orders, computed with ``error_bounds=True``; one output each.
    max_display : int or None, default 7
        How many features are drawn: those whose last estimates are largest. None draws all.
    level : float, default 0.95
        What share of the intervals should cover the exact value.
    ax, show
        As in :func:`comparison`.
    row : int, default 0
        The row that is drawn.
    exact : shap.Explanation, optional
        An exact explanation of the same rows.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, shap
    >>> from shap_asv import plots
    >>> def explanation(values):
    ...     errors = np.abs(values) / 8
    ...     return shap.Explanation(values, np.zeros(1), feature_names=["smoker", "xray"], error_std=errors)
    >>> sampled = {100: explanation(np.array([[0.5, -0.2]])), 400: explanation(np.array([[0.4, -0.1]]))}
    >>> ax = plots.convergence(sampled, show=False)
    >>> ax.get_xlabel()
    'number of topological orders'
    """
    run = _read_run(explanations, row, exact)
    if not 0 < level < 1:
        raise ExplanationError(f"level is a share between 0 and 1, such as 0.95, not {level!r}")
    reach = NormalDist().inv_cdf(0.5 + level / 2) * run.errors
    # chosen_features keeps one place for a group; estimates of many features have no common line, so none is drawn here
    limit = None if max_display is None else max_display + 1
    shown, _ = style.chosen_features(np.abs(run.values[-1]), np.argsort(-run.values[-1], kind="stable"), limit)

    _, (ax,) = style.panels(ax, 1, (8, max(5.0, 1.6 + 0.24 * len(shown))))
    # features step sideways by turns, so that their intervals do not cover one another
    decades = np.diff(np.log10(run.n_orders)).min(initial=1.0)
    places = np.array([(i + 1) // 2 * (-1) ** i for i in range(len(shown))]) / max(len(shown) // 2, 3)
    steps = 10 ** (min(0.045, 0.3 * decades) * places)
    for i, j in enumerate(shown):
        x = run.n_orders * steps[i]
        colour = PALETTE[i % len(PALETTE)]
        ax.errorbar(
            x,
            run.values[:, j],
            yerr=reach[:, j],
            color=colour,
            marker=MARKERS[i % len(MARKERS)],
            markersize=5.5,
            lw=1.2,
            elinewidth=1.2,
            capsize=3,
            ls="-" if i < len(PALETTE) else "--",
            zorder=3,
            label=run.features[j],
        )
        if run.exact is not None:
            ax.axhline(run.exact[j], color=colour, lw=0.9, ls=(0, (1, 2)), zorder=2)
    drawn = [run.values[:, shown] - reach[:, shown], run.values[:, shown] + reach[:, shown], np.zeros((1, len(shown)))]
    drawn += [] if run.exact is None else [run.exact[None, shown]]
    low, high = float(np.concatenate(drawn).min()), float(np.concatenate(drawn).max())
    margin = 0.05 * (high - low) or 1.0
    ax.set_ylim(low - margin, high + margin)
    _dress(ax, run, level)
    _name_lines(ax, run, shown, steps)
    style.finish(show)
    return ax


def _read_run(explanations: Any, row: int, exact: Any) -> _Run:
    if not isinstance(explanations, Mapping) or not explanations:
        raise ExplanationError(
            f"explanations must be a dict of number of orders -> shap.Explanation, not {explanations!r:.60}"
        )
    counts = sorted(explanations)
    if any(isinstance(count, bool) or not isinstance(count, Integral) or count < 1 for count in counts):
        raise ExplanationError(f"the keys of explanations are numbers of orders, positive integers, not {counts}")
    named = {f"{count} orders": explanations[count] for count in counts}
    read = read_attributions(named if exact is None else {**named, "exact": exact})
    index = read.row_index(row)
    errors = []
    for name, explanation in named.items():
        if explanation.error_std is None:
            raise ExplanationError(f"the explanation of {name} has no error_std: ask for it with error_bounds=True")
        columns = list(range(len(read.features)))
        if explanation.feature_names is not None:
            columns = [list(map(str, explanation.feature_names)).index(f) for f in read.features]
        errors.append(np.atleast_2d(np.asarray(explanation.error_std, dtype=np.float64))[index, columns])
    values = read.values[:, index]
    return _Run(
        np.array(counts), values[: len(counts)], np.array(errors), read.features, None if exact is None else values[-1]
    )


def _dress(ax: "Axes", run: _Run, level: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullFormatter, NullLocator

    low, high = run.n_orders[0], run.n_orders[-1]
    ax.set_xscale("log")
    ax.set_xlim(low / 1.25, high * 1.25)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ticks = _apart(run.n_orders)
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.axhline(0, color="#999999", lw=0.8, zorder=1)
    ax.grid(axis="y", color=style.GUIDE, lw=0.5, dashes=style.DOTTED)
    for side in ("right", "top", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(color=style.INK, labelcolor=style.INK, labelsize=11)
    ax.tick_params("y", length=0)
    ax.set_xlabel("number of topological orders", fontsize=13, color=style.INK)
    ax.set_ylabel(style.IMPACT, fontsize=13, color=style.INK)
    meaning = f"sampled, {100 * level:.4g}% interval"
    keys = [Line2D([], [], color=style.QUIET, marker="|", markersize=13, lw=1.2, label=meaning)]
    if run.exact is not None:
        keys.append(Line2D([], [], color=style.QUIET, lw=1.2, ls=(0, (1, 2)), label="exact"))
    style.explain_above(ax, keys, columns=2, font=11)


def _apart(counts: np.ndarray) -> list[int]:
    """Those numbers of orders that can stand below the axis without touching, the last one among them."""
    kept = [int(counts[-1])]
    width = max(np.log10(counts[-1] / counts[0]), 0.2)
    for count in counts[-2::-1]:
        if np.log10(kept[-1] / count) > 0.11 * width:
            kept.append(int(count))
    return kept[::-1]


def _name_lines(ax: "Axes", run: _Run, shown: np.ndarray, steps: np.ndarray) -> None:
    """Names to the right of the last estimates, moved apart where they would touch, each joined to its line."""
    figure = style.root_figure(ax)
    figure.draw_without_rendering()
    low, high = ax.get_ylim()
    line = 1.35 * 11 / 72 * figure.dpi * (high - low) / ax.get_window_extent().height
    ends = run.values[-1, shown]
    upwards = np.argsort(ends, kind="stable")
    labels = [style.wrap(run.features[j], 22) for j in shown]
    lines = np.array([labels[i].count("\n") + 1 for i in upwards])
    distances = line * (lines[:-1] + lines[1:]) / 2
    places = np.empty(len(shown))
    offsets = np.concatenate([[0.0], np.cumsum(distances)])
    free = spread(ends[upwards], np.ones(len(shown)), distances) - offsets
    places[upwards] = offsets + np.clip(free, low, max(low, high - offsets[-1]))  # the best places inside the axes
    for i, (end, place) in enumerate(zip(ends, places, strict=True)):
        ax.annotate(
            labels[i],
            (run.n_orders[-1] * steps[i], end),
            xytext=(1.035, place),
            textcoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=11,
            color=style.INK,
            parse_math=False,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": PALETTE[i % len(PALETTE)],
                "lw": 0.8,
                "relpos": (0, 0.5),
                "shrinkA": 2,
                "shrinkB": 3,
            },
        )
