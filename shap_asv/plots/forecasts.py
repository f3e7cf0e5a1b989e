"""What a forecast rested on: variables by lags, times with their errors, the forecast as it was known at each time.

Variable and time of each feature are read from its name (``temp(t-3)``, ``temp_lag3``), or given as ``times=``
(:class:`shap_asv.times.Times`). Explanations may also have times as their players.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style
from shap_asv.plots.comparisons import comparison_waterfall
from shap_asv.plots.reading import by_name, read_attributions
from shap_asv.times import Times, time_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Cells that numbers are written into, at most.
MOST_NUMBERS = 80
#: Standard errors that a whisker reaches to either side.
N_ERRORS = 2
METHOD_MARKS = "osD^vP"


def lag_heatmap(
    explanation: Any, times: Any = None, row: int | None = None, ax: "Axes | None" = None, show: bool = True
) -> "Axes":
    """Variables by times, a colour for each value; features that have no time stand in a column of their own.

    Parameters
    ----------
    explanation : shap.Explanation
        One output; importances (:meth:`AsymmetricExplainer.importance`) are one row.
    times : optional
        Variable and time of each feature, as in :meth:`CausalOrder.from_time`; by default from the names.
    row : int or None, default None
        The row to draw; None draws the mean of |value| over all rows.
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
    >>> names = ["temp(t-2)", "rain(t-2)", "temp(t-1)", "rain(t-1)"]
    >>> explanation = shap.Explanation(np.array([[1.0, 0.5, 2.0, -3.0]]), np.zeros(1), feature_names=names)
    >>> ax = plots.lag_heatmap(explanation, row=0, show=False)
    >>> [label.get_text() for label in ax.get_xticklabels()], [label.get_text() for label in ax.get_yticklabels()]
    (['t-2', 't-1'], ['temp', 'rain'])
    """
    from shap.plots import colors

    read = read_attributions(explanation)
    values, own = read.of_row(row)[0][0], _times(times, read.features)
    columns = [*([None] if np.isinf(own.at).any() else []), *own.steps]
    variables = list(own.variables)
    cells = np.full((len(variables), len(columns)), np.nan)
    for value, (variable, time) in zip(values, own.moments, strict=True):
        cells[variables.index(variable), columns.index(time)] = value
    largest = np.nanmax(np.abs(cells)) or 1.0
    signed = row is not None or read.n_rows == 1
    figure, (ax,) = style.panels(ax, 1, (2.8 + 0.62 * len(columns), 1.6 + 0.42 * len(variables)))
    colours = colors.red_white_blue if signed else style.sequential_colours()
    drawn = ax.imshow(cells, cmap=colours, vmin=-largest if signed else 0.0, vmax=largest, aspect="auto")
    ax.set_xticks(range(len(columns)), [time_name(time) for time in columns], fontsize=11)
    style.name_rows([ax], [style.wrap(name, 26) for name in variables], margin=0.5)
    if cells.size <= MOST_NUMBERS:
        text = style.number_format(cells[~np.isnan(cells)], signed)
        for (i, j), value in np.ndenumerate(cells):
            if not np.isnan(value):
                ink = "white" if abs(value) > 0.6 * largest else style.INK
                ax.annotate(text(value), (j, i), ha="center", va="center", fontsize=9, color=ink)
    style.dress_colour_bar(figure.colorbar(drawn, ax=ax), style.value_name(signed))
    style.finish(show)
    return ax


def by_lag(
    explanations: Any, times: Any = None, row: int | None = None, ax: "Axes | None" = None, show: bool = True
) -> "Axes":
    """What each time contributes, with whiskers of two standard errors, by one method or several side by side.

    The values of a time are added up (:meth:`shap_asv.times.Times.summed`), and so are their errors, which is an upper
    bound; an explanation whose players are times has errors of its own.

    Parameters
    ----------
    explanations : shap.Explanation, dict of str to shap.Explanation, or a comparison
        One output.
    row : int or None, default None
        The row to draw; None draws the mean over rows of the size of what a time contributes.
    times, ax, show
        As in :func:`lag_heatmap`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, shap
    >>> from shap_asv import plots
    >>> names = ["temp(t-2)", "temp(t-1)", "rain(t-1)"]
    >>> explanation = shap.Explanation(np.array([[1.0, 2.0, -3.0]]), np.zeros(1), feature_names=names)
    >>> ax = plots.by_lag(explanation, row=0, show=False)
    >>> ax.lines[0].get_ydata().tolist()
    [1.0, -1.0]
    """
    from shap.plots import colors

    read, named = read_attributions(explanations), by_name(explanations)
    if len(read.methods) > len(METHOD_MARKS):
        raise ExplanationError(f"at most {len(METHOD_MARKS)} methods can be told apart, {len(read.methods)} given")
    own = _times(times, read.features)
    summed = read_attributions({name: own.summed(one) for name, one in named.items()})
    labels, index = summed.features, slice(None) if row is None else [read.row_index(row)]
    _, (ax,) = style.panels(ax, 1, (max(5.0, 2.0 + 0.55 * len(labels)), 4.0))
    tones = [colors.red_blue(x) for x in np.linspace(1, 0, max(2, len(named)))]
    for m, name in enumerate(named):
        sizes = summed.values[m, index]
        ax.errorbar(
            np.arange(len(labels)) + 0.14 * (m - (len(named) - 1) / 2),
            (np.abs(sizes) if row is None else sizes).mean(axis=0),
            N_ERRORS * summed.errors[m, index].mean(axis=0),
            marker=METHOD_MARKS[m],
            markersize=5,
            color=tones[m],
            linewidth=1.2,
            capsize=2.5,
            label=name,
        )
    ax.axhline(0, color=style.INK, lw=0.8, zorder=0)
    ax.set_xticks(range(len(labels)), labels, fontsize=11)
    ax.set_ylabel(style.value_name(row is not None), fontsize=12, color=style.INK)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    if len(named) > 1 or read.methods[0] != "attribution":
        for text in ax.legend(frameon=False, fontsize=11, labelcolor=style.INK).get_texts():
            text.set_parse_math(False)
    style.finish(show)
    return ax


def forecast(
    explanations: Any, times: Any = None, row: int = 0, ax: "Axes | None" = None, show: bool = True
) -> "tuple[Axes, ...]":
    """The forecast as it was known at each time: a waterfall from E[f(X)] at the top down to f(x).

    Where the past comes first (:meth:`CausalOrder.from_time`), every joint is a conditional mean, what the forecast was
    before the next time was known, and a step is what that time changed. A time is named with the variable that
    contributed most (in the last explanation). Other methods may stand beside; their joints mean nothing of the kind.

    Parameters
    ----------
    explanations : shap.Explanation, dict of str to shap.Explanation, or a comparison
        One output.
    row : int, default 0
        The row to draw.
    times, ax, show
        As in :func:`lag_heatmap`; one axes for each explanation.

    Returns
    -------
    tuple of matplotlib Axes

    Examples
    --------
    >>> import numpy as np, shap
    >>> from shap_asv import plots
    >>> names = ["temp(t-2)", "temp(t-1)", "rain(t-1)"]
    >>> explanation = shap.Explanation(np.array([[1.0, 2.0, -3.0]]), np.array([4.0]), feature_names=names)
    >>> (ax,) = plots.forecast(explanation, show=False)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['temp(t-2)', 't-1, mostly rain']
    """
    read = read_attributions(explanations)
    own, named = _times(times, read.features), by_name(explanations)
    summed = {name: own.summed(one) for name, one in named.items()}
    labels = next(iter(summed.values())).feature_names
    members: dict[str, list[int]] = {}
    for k, (_, time) in enumerate(own.moments):
        members.setdefault(time_name(time), []).append(k)
    values, steps = read.values[-1, read.row_index(row)], []
    for label in labels:
        most = max(members[label], key=lambda k: abs(values[k]))
        steps.append(read.features[most] if len(members[label]) == 1 else f"{label}, mostly {own.moments[most][0]}")
    for one in summed.values():
        one.feature_names = steps
    order = list(pairwise(steps)) or None
    return comparison_waterfall(summed, row, order, None, ax, show)


def _times(times: Any, features: tuple[str, ...]) -> Times:
    return Times.read(Times.read(features if times is None else times), features)
