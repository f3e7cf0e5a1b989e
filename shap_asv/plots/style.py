"""The look that all plots share: shap's colours and type sizes, number formats, wrapped labels, blank figures.

Colour never speaks alone. Red and blue of shap have the same lightness, so in grey (or on a bad projector) they are
one colour: the sign is also told by the side of zero, by the direction of an arrow or by a printed sign, and methods
differ by filling and hatching. Numbers are printed in dark grey, not in the colour of their bar: shap's red
and blue on white have a contrast of 3.9 and 3.5, below the 4.5 that small type needs.
"""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

INK = "#333333"
QUIET = "#6b6b6b"
GUIDE = "#cccccc"
LINE = 1.2  # height of a line of type, in type sizes
MINUS = "\N{MINUS SIGN}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


# --- colours ------------------------------------------------------------------------------------------------


def sign_colours() -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """(positive, negative): shap's red and blue."""
    from shap.plots import colors

    red, blue = (tuple(float(c) for c in colour) for colour in (colors.red_rgb, colors.blue_rgb))
    return (red[0], red[1], red[2]), (blue[0], blue[1], blue[2])


def amount_colour() -> tuple[float, float, float]:
    """The purple in the middle of shap's red-blue scale: an amount that has no sign."""
    from shap.plots import colors

    r, g, b = (float(c) for c in colors.red_blue(0.5)[:3])
    return r, g, b


def blend(colour: Sequence[float], share: float) -> tuple[float, float, float]:
    """``colour`` mixed with white; ``share`` of it remains."""
    r, g, b = (share * c + 1 - share for c in colour[:3])
    return r, g, b


def diverging_colours() -> "Colormap":
    """Blue for negative, white for none, red for positive attributions."""
    from shap.plots import colors

    return colors.red_white_blue


def sequential_colours() -> "Colormap":
    """White to dark purple: an amount that has no sign, darker for more."""
    from matplotlib.colors import LinearSegmentedColormap

    purple = amount_colour()
    dark = tuple(0.6 * c for c in purple)
    return LinearSegmentedColormap.from_list(
        "white_purple", np.array([(1.0, 1.0, 1.0), blend(purple, 0.5), purple, dark])
    )


# --- words and numbers --------------------------------------------------------------------------------------


def number_format(values: Iterable[float], signed: bool = True) -> "NumberFormat":
    """A format in which the largest of ``values`` shows three significant digits."""
    largest = max((abs(float(v)) for v in values), default=0.0)
    return NumberFormat(largest, signed)


class NumberFormat:
    """Callable: float -> text with a true minus sign, the same number of decimals for all values of one plot."""

    def __init__(self, largest: float, signed: bool) -> None:
        exponent = math.floor(math.log10(largest)) if largest > 0 else 0
        self.scientific = not -4 <= exponent <= 5
        self.decimals = 2 if self.scientific else max(0, 2 - exponent)
        self.sign = "+" if signed else ""

    def __call__(self, value: float) -> str:
        text = f"{value:{self.sign}.{self.decimals}{'e' if self.scientific else 'f'}}"
        if not value or (not self.scientific and not float(text)):
            return "0"
        return text.replace("-", MINUS)


def tick_text(value: float) -> str:
    """A round number in full, or as a power of ten where that would be too long."""
    digits = 10 if not value or 1e-4 <= abs(value) < 1e6 else 4
    return f"{value:.{digits}g}".replace("-", MINUS)


def text_size(text: str, font: float) -> tuple[float, float]:
    """Width and height in inches of ``text`` set in matplotlib's default type at ``font`` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    lines = text.split("\n")
    face = FontProperties(size=font)
    width = max(text_to_path.get_text_width_height_descent(line, face, False)[0] for line in lines)
    return width / 72, LINE * font * len(lines) / 72


def wrap(text: str, width: int, lines: int = 2) -> str:
    """``text`` broken into at most ``lines`` lines of about ``width`` characters, with an ellipsis where it is cut.

    Breaks are made where a reader would make them: at spaces, after underscores, hyphens, dots and slashes, between the
    humps of camelCase; inside a word only when there is no other way.
    """
    pieces = [piece for piece in re.split(r"(?<=[\s_\-./])|(?<=[a-z0-9])(?=[A-Z][a-z])", text) if piece]
    rows = [""]
    for piece in pieces:
        if rows[-1] and len((rows[-1] + piece).rstrip()) > width:
            rows.append("")
        rows[-1] += piece
        while len(rows[-1].rstrip()) > width + 2:  # two letters too many look better than a lonely pair below
            rows[-1:] = [rows[-1][:width], rows[-1][width:]]
    rows = [row.rstrip() for row in rows]
    if len(rows) > lines:
        rows = [*rows[: lines - 1], rows[lines - 1][: width - 1] + ELLIPSIS]
    return "\n".join(rows)


def feature_label(feature: str, value: str | None, width: int = 30, lines: int = 2) -> str:
    """``Smoker = True``; where that is too long, ``= True`` goes below."""
    if value is None:
        return wrap(feature, width, lines)
    whole = f"{feature} = {value}"
    if len(whole) <= width:
        return whole
    return f"{wrap(feature, width, max(1, lines - 1))}\n{wrap(f'= {value}', width, 1)}"


# --- figures ------------------------------------------------------------------------------------------------


def blank_figure(width: float, height: float, constrained: bool = True) -> "Figure":
    """The current figure if it is still blank (as after ``plt.figure()``), else a new one; resized."""
    import matplotlib.pyplot as plt

    figure = plt.gcf() if plt.get_fignums() else plt.figure()
    if figure.axes or figure.texts or figure.subfigs:
        figure = plt.figure()
    if constrained:
        figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
    else:
        figure.set_layout_engine("none")
    figure.set_size_inches(width, height)
    return figure


def panels(ax: Any, count: int, size: tuple[float, float], **subplots: Any) -> "tuple[Figure, list[Axes]]":
    """``count`` axes side by side in a blank figure, or the caller's own.

    Constrained layout keeps labels inside a figure of ours; in the caller's figure the layout is the caller's.
    """
    if ax is None:
        figure = blank_figure(*size)
        return figure, list(figure.subplots(1, count, squeeze=False, **subplots)[0])
    axes = list(np.atleast_1d(np.asarray(ax, dtype=object)).ravel())
    if len(axes) != count:
        raise ExplanationError(f"ax must hold one axes per explanation: {count} needed, {len(axes)} given")
    return root_figure(axes[0]), axes


def root_figure(ax: "Axes") -> "Figure":
    """The figure that a canvas belongs to, also for axes in a subfigure (in every version of matplotlib)."""
    return ax.figure.figure


def finish(show: bool) -> None:
    """Show the plot, as shap's plots do unless ``show=False``."""
    if show:
        import matplotlib.pyplot as plt

        plt.show()


def bare(ax: "Axes") -> None:
    """Strip spines and ticks as shap's plots do."""
    ax.xaxis.set_ticks_position("bottom")
    ax.yaxis.set_ticks_position("none")
    for side in ("right", "top", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(color=INK, labelcolor=INK)
    ax.tick_params("x", labelsize=11)


def settle_scale(axes: "Sequence[Axes]", numbers: "Sequence[Annotation]" = ()) -> None:
    """Last touch to axes of equal x limits: room for the numbers beside bars, and ticks that do not touch.

    The layout is settled once, by a draw; after that a number reaches the same distance from the end of its bar
    whatever the limits are, and the limits that hold all numbers are found without drawing again.
    """
    figure = root_figure(axes[0])
    figure.draw_without_rendering()
    width = 0.98 * min(ax.get_window_extent().width for ax in axes)  # new ticks may move the layout by a hair
    low, high = axes[0].get_xlim()
    reaches = []
    for number in numbers:
        anchor = axes[0].transData.transform((number.xy[0], 0.0))[0] - axes[0].bbox.x0
        box = number.get_window_extent()
        assert number.axes is not None
        left = box.x0 - number.axes.bbox.x0
        reaches.append((float(number.xy[0]), (left - anchor) / width, (left + box.width - anchor) / width))
    for _ in range(40):
        span = high - low
        low = min([low, *(x + span * left for x, left, _ in reaches)])
        high = max([high, *(x + span * right for x, _, right in reaches)])
    for ax in axes:
        ax.set_xlim(low, high)
    _settle_ticks(axes, low, high, width / figure.dpi)


def _settle_ticks(axes: "Sequence[Axes]", low: float, high: float, width: float, most: int = 7) -> None:
    """Round numbers below, as many as fit into ``width`` inches without touching, each written out in full.

    matplotlib would move a common factor, such as 1e7, into a corner, where other labels stand.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for count in range(most, 0, -1):
        locator = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10])
        ticks = [tick for tick in locator.tick_values(low, high) if low <= tick <= high]
        widths = [text_size(tick_text(tick), 11)[0] for tick in ticks]
        inches = width / (high - low)
        room = [inches * (b - a) - (v + w) / 2 for (a, v), (b, w) in pairwise(zip(ticks, widths, strict=True))]
        if min(room, default=1.0) > 0.1:
            break
    for ax in axes:
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: tick_text(x)))


# --- which features -----------------------------------------------------------------------------------------


def chosen_features(
    importance: np.ndarray, sequence: np.ndarray, max_display: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """(shown, grouped) positions, both in ``sequence``: the most important ones are shown, the rest is summed up.

    As in shap, the group takes one of the ``max_display`` places, so that a group of one never occurs.
    """
    if max_display is not None and (
        isinstance(max_display, bool) or int(max_display) != max_display or max_display < 1
    ):
        raise ExplanationError(f"max_display must be a whole number of at least 1, or None, not {max_display!r}")
    if max_display is None or len(sequence) <= max_display:
        return sequence, sequence[:0]
    ranked = np.argsort(-importance, kind="stable")
    keep = np.isin(sequence, ranked[: max_display - 1])
    return sequence[keep], sequence[~keep]
