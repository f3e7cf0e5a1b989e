"""Which background fits? How far each one's score lies above the best, with its standard error.

Scores themselves share a large part that no background can explain; what tells backgrounds apart is the difference on
the same rows, whose standard error is far smaller. A whisker of two errors that does not reach zero is a background
that is worse.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError
from shap_asv.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scores(table: Any, *, ax: "Axes | None" = None, show: bool = True) -> "Axes":
    """Scores of backgrounds above the best one, with whiskers of two standard errors, the best on top.

    Parameters
    ----------
    table : ScoreTable
        What ``score_background`` gives: ``names``, ``scores`` and ``above_best``.
    ax : matplotlib axes, optional
    show : bool, default True
        Call ``matplotlib.pyplot.show()``.

    Returns
    -------
    Axes
    """
    if not hasattr(table, "above_best"):
        raise ExplanationError(f"scores draws what score_background returns, not a {type(table).__name__}")
    if len(table.names) < 2:
        raise ExplanationError(
            f"one background ({table.names[0]}) cannot be compared; score several: score_background({{'a': ..., "
            "'b': ...}, model, rows)"
        )
    above, error = table.above_best
    order = np.argsort(table.scores, kind="stable")
    (own,) = style.panels(ax, 1, (6.0, 1.0 + 0.45 * len(order)), 1, one_per="table")[1]
    heights = np.arange(len(order))[::-1]
    reach = 2 * np.nan_to_num(error[order])  # a single row has no standard error
    own.axvline(0, color=style.INK, lw=0.8, ls="--", zorder=1)
    own.errorbar(above[order], heights, xerr=reach, fmt="o", color=style.amount_colour(), capsize=3, zorder=2)
    own.set_ylim(-0.6, len(order) - 0.4)
    own.set_yticks(heights)
    own.set_yticklabels([style.wrap(table.names[k], 34, 2) for k in order], parse_math=False, color=style.INK)
    own.set_xlabel(f"score above the best ({table.scores[order[0]]:.3g}), two standard errors", color=style.QUIET)
    style.bare(own)
    style.finish(show)
    return own
