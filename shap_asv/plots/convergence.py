"""Sampled values settling down: estimates with their intervals against the number of orders they were averaged over.

A mean over ``N`` independent topological orders has a standard error that falls like ``1 / sqrt(N)``; four times the
orders halve the intervals. The plot shows whether the intervals of a run are narrow enough to tell its features apart,
and, where the exact values are known, whether they cover them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True, eq=False)
class Convergence:
    """Estimates of one row's values from growing numbers of orders.

    Attributes
    ----------
    n_orders : int array (s,)
        Numbers of orders, increasing.
    values : float array (s, n)
        Estimates, one row per number of orders.
    errors : float array (s, n)
        Their standard errors.
    feature_names : sequence of n str
    exact : float array (n,), optional
        The exact values, where they are known.
    """

    n_orders: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    feature_names: Sequence[str]
    exact: np.ndarray | None = None

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.feature_names)
        arrays = {
            field: np.asarray(getattr(self, field), dtype=np.float64)
            for field in ("n_orders", "values", "errors", "exact")
            if getattr(self, field) is not None
        }
        steps = arrays["n_orders"].size
        shapes = {
            "n_orders": (steps,),
            "values": (steps, len(names)),
            "errors": (steps, len(names)),
            "exact": (len(names),),
        }
        for field, array in arrays.items():
            if array.shape != shapes[field]:
                raise ExplanationError(f"{field} has shape {array.shape}, but {shapes[field]} is needed")
            if not np.isfinite(array).all():
                raise ExplanationError(f"{field} holds NaN or infinite numbers, which cannot be drawn")
            object.__setattr__(self, field, array)
        if not steps or not names:
            raise ExplanationError("a convergence needs at least one number of orders and one feature")
        if arrays["n_orders"][0] <= 0 or (np.diff(arrays["n_orders"]) <= 0).any():
            raise ExplanationError(f"n_orders must be positive and increasing, not {list(self.n_orders)}")
        if (arrays["errors"] < 0).any():
            raise ExplanationError("errors are standard errors, so none may be negative")
        object.__setattr__(self, "n_orders", arrays["n_orders"].astype(np.int64))
        object.__setattr__(self, "feature_names", names)

    @classmethod
    def from_explanations(cls, explanations: Mapping[int, Any], row: int = 0, exact: Any = None) -> "Convergence":
        """Read ``{number of orders: shap.Explanation with error_std}``, all of the same rows.

        Parameters
        ----------
        explanations : dict of int to shap.Explanation
            Explanations computed with ``error_bounds=True``, one output each.
        row : int, default 0
        exact : shap.Explanation, optional
            An exact explanation of the same rows.
        """
        counts = sorted(explanations)
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
        return cls(
            n_orders=np.array(counts),
            values=read.values[: len(counts), index],
            errors=np.array(errors),
            feature_names=read.features,
            exact=None if exact is None else read.values[-1, index],
        )


def convergence(
    estimates: Convergence | Mapping[int, Any],
    max_display: int | None = 7,
    level: float = 0.95,
    ax: "Axes | None" = None,
    show: bool = True,
) -> "Axes":
    """Sampled values with their intervals against the number of orders.

    Parameters
    ----------
    estimates : Convergence, or dict of int to shap.Explanation
        A dict maps numbers of orders to explanations with ``error_std``; its first row is drawn.
    max_display : int or None, default 7
        How many features are drawn: those whose last estimates are largest. None draws all.
    level : float, default 0.95
        What share of the intervals should cover the exact value.
    ax, show
        As in :func:`comparison`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from shap_asv import plots
    >>> run = plots.Convergence([100, 400], [[0.5, -0.2], [0.4, -0.1]], [[0.1, 0.1], [0.05, 0.05]], ["smoker", "xray"])
    >>> plots.convergence(run, show=False).get_xlabel()
    'number of topological orders'
    """
    run = estimates if isinstance(estimates, Convergence) else _as_run(estimates)
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
            label=run.feature_names[j],
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


def _as_run(estimates: Any) -> Convergence:
    if not isinstance(estimates, Mapping):
        raise ExplanationError(
            "estimates must be a Convergence or a dict of number of orders -> shap.Explanation, "
            f"not a {type(estimates).__name__}"
        )
    return Convergence.from_explanations(estimates)


def _dress(ax: "Axes", run: Convergence, level: float) -> None:
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


def _name_lines(ax: "Axes", run: Convergence, shown: np.ndarray, steps: np.ndarray) -> None:
    """Names to the right of the last estimates, moved apart where they would touch, each joined to its line."""
    figure = style.root_figure(ax)
    figure.draw_without_rendering()
    low, high = ax.get_ylim()
    line = 1.35 * 11 / 72 * figure.dpi * (high - low) / ax.get_window_extent().height
    ends = run.values[-1, shown]
    upwards = np.argsort(ends, kind="stable")
    labels = [style.wrap(run.feature_names[j], 22) for j in shown]
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
