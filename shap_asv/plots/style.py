"""The look that all plots share: shap's colours and type sizes, number formats, wrapped labels, blank figures.

Colour never speaks alone. Red and blue of shap have the same lightness, so in grey (or on a bad projector) they are
one colour: the sign is also told by the side of zero, by the direction of an arrow or by a printed sign, and methods
differ by filling and hatching. Numbers are printed in dark grey, not in the colour of their bar: shap's red
and blue on white have a contrast of 3.9 and 3.5, below the 4.5 that small type needs.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import ExplanationError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

Colour = tuple[float, float, float]
Format = Callable[[float], str]

INK = "#333333"
QUIET = "#6b6b6b"
GUIDE = "#cccccc"
DOTTED = (1, 5)
IMPACT = "value (impact on model output)"
LINE = 1.2  # height of a line of type, in type sizes
MINUS = "\N{MINUS SIGN}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


# --- colours ------------------------------------------------------------------------------------------------


def sign_colours(signed: bool = True) -> tuple[Colour, Colour]:
    """(positive, negative): shap's red and blue, or twice the colour of an amount where there are no signs."""
    from shap.plots import colors

    if not signed:
        return (amount_colour(),) * 2
    red, blue = (tuple(float(c) for c in colour) for colour in (colors.red_rgb, colors.blue_rgb))
    return (red[0], red[1], red[2]), (blue[0], blue[1], blue[2])


def amount_colour() -> Colour:
    """The purple in the middle of shap's red-blue scale: an amount that has no sign."""
    from shap.plots import colors

    r, g, b = (float(c) for c in colors.red_blue(0.5)[:3])
    return r, g, b


def blend(colour: Sequence[float], share: float) -> Colour:
    """``colour`` mixed with white; ``share`` of it remains."""
    r, g, b = (share * c + 1 - share for c in colour[:3])
    return r, g, b


def sequential_colours() -> "Colormap":
    """White to dark purple: an amount that has no sign, darker for more."""
    from matplotlib.colors import LinearSegmentedColormap

    purple = amount_colour()
    dark = tuple(0.6 * c for c in purple)
    return LinearSegmentedColormap.from_list(
        "white_purple", np.array([(1.0, 1.0, 1.0), blend(purple, 0.5), purple, dark])
    )


# --- words and numbers --------------------------------------------------------------------------------------


def value_name(signed: bool) -> str:
    """What a scale of values is called: signed values of one row, or the mean of their sizes over many."""
    return IMPACT if signed else "mean(|value|)"


def number_format(values: Iterable[float], signed: bool = True) -> Format:
    """float -> text with a true minus sign: three significant digits of the largest, as many decimals for all."""
    largest = max((abs(float(v)) for v in values), default=0.0)
    exponent = math.floor(math.log10(largest)) if largest > 0 else 0
    scientific = not -4 <= exponent <= 5
    form = f"{'+' if signed else ''}.{2 if scientific else max(0, 2 - exponent)}{'e' if scientific else 'f'}"

    def as_text(value: float) -> str:
        text = f"{value:{form}}"
        exactly_zero = not value or (not scientific and not float(text))
        return "0" if exactly_zero else text.replace("-", MINUS)

    return as_text


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


def panels(ax: Any, count: int, size: tuple[float, float]) -> "tuple[Figure, list[Axes]]":
    """``count`` axes side by side in a blank figure, or the caller's own.

    Constrained layout keeps labels inside a figure of ours; in the caller's figure the layout is the caller's.
    """
    if ax is None:
        figure = blank_figure(*size)
        return figure, list(figure.subplots(1, count, squeeze=False)[0])
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


def name_methods(axes: "Sequence[Axes]", methods: Sequence[str], pad: float | None = None) -> None:
    """The methods as titles of their panels; a single explanation that came without a name has none."""
    if len(methods) > 1 or methods[0] != "attribution":
        for ax, method in zip(axes, methods, strict=True):
            ax.set_title(method, fontsize=14, color=INK, pad=pad)


def name_rows(axes: "Sequence[Axes]", labels: Sequence[str], margin: float = 0.4) -> None:
    """One row of a plot per label, from the top down; the labels stand beside the first panel."""
    for panel, ax in enumerate(axes):
        ax.set_yticks(range(len(labels)), labels if panel == 0 else [""] * len(labels), fontsize=13, parse_math=False)
        ax.set_ylim(len(labels) - margin, margin - 1)
        bare(ax)


def rule(ax: "Axes", heights: Iterable[float]) -> None:
    """Dotted lines across the panel that lead the eye along rows, or keep them apart."""
    for height in heights:
        ax.axhline(height, color=GUIDE, lw=0.5, dashes=DOTTED, zorder=-1)


def write_beside(ax: "Axes", text: str, end: tuple[float, float], gap: float, font: float = 11) -> "Annotation":
    """A number ``gap`` points to the right of the ``end`` of its bar, or to the left of it if negative."""
    return ax.annotate(
        text,
        end,
        xytext=(gap, 0),
        textcoords="offset points",
        ha="left" if gap > 0 else "right",
        va="center",
        fontsize=font,
        color=INK,
    )


def dress_colour_bar(bar: Any, name: str) -> None:
    """The name of a colour bar and the look of its numbers, which have been set."""
    bar.set_label(name, size=12, color=INK)
    bar.ax.tick_params(labelsize=11, length=0, labelcolor=INK)
    bar.outline.set_visible(False)


def span_zero(ax: "Axes", low: float, high: float) -> None:
    """Limits of a scale of values that hold zero, ``low`` and ``high``, with a little room beyond them."""
    low, high = min(0.0, float(low)), max(0.0, float(high))
    margin = 0.02 * ((high - low) or 1.0)
    ax.set_xlim(low - margin, high + margin)


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


def _settle_ticks(axes: "Sequence[Axes]", low: float, high: float, width: float) -> None:
    """Round numbers below, as many as fit into ``width`` inches without touching, each written out in full.

    matplotlib would move a common factor, such as 1e7, into a corner, where other labels stand.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for count in range(7, 0, -1):
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


def check_max_display(max_display: int | None) -> None:
    if max_display is not None and (
        isinstance(max_display, bool) or int(max_display) != max_display or max_display < 1
    ):
        raise ExplanationError(f"max_display must be a whole number of at least 1, or None, not {max_display!r}")


def chosen_features(
    importance: np.ndarray, sequence: np.ndarray, max_display: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """(shown, grouped) positions, both in ``sequence``: the most important ones are shown, the rest is summed up.

    As in shap, the group takes one of the ``max_display`` places, so that a group of one never occurs.
    """
    check_max_display(max_display)
    if max_display is None or len(sequence) <= max_display:
        return sequence, sequence[:0]
    ranked = np.argsort(-importance, kind="stable")
    keep = np.isin(sequence, ranked[: max_display - 1])
    return sequence[keep], sequence[~keep]


def shown_values(
    values: np.ndarray,
    names: Sequence[str],
    importance: np.ndarray,
    sequence: np.ndarray,
    max_display: int | None,
    rest: str = "Sum of {} other features",
) -> tuple[list[str], np.ndarray]:
    """Labels and values (..., n) of the features that are shown, and last, under ``rest``, of all others together."""
    shown, grouped = chosen_features(importance, sequence, max_display)
    labels = [names[j] for j in shown]
    if len(grouped):
        labels.append(rest.format(len(grouped)))
    return labels, with_rest(values, shown, grouped)


def with_rest(values: np.ndarray, shown: np.ndarray, grouped: np.ndarray) -> np.ndarray:
    """Values (..., n) of the ``shown`` features, and last, where there are any, the sum of the ``grouped`` ones."""
    if not len(grouped):
        return values[..., shown]
    return np.concatenate([values[..., shown], values[..., grouped].sum(axis=-1, keepdims=True)], axis=-1)
