"""The causal graph itself, its nodes coloured and sized by attribution, one panel per method.

The layout is made once, in inches, from the room that the labels of all panels need (``layout.py``); a figure of ours
gets the size of the drawing, so type keeps its size whatever the number of nodes. In axes of the caller's the whole
drawing, type included, is scaled to fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shap_asv.errors import CausalGraphError
from shap_asv.plots import style
from shap_asv.plots.layout import Boxes, LayeredLayout, lay_out
from shap_asv.plots.reading import Attributions, read_attributions, read_graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARROW = "#8c8c8c"
TITLE, MARGIN, BETWEEN = 0.32, 0.2, 0.5  # inches: above a panel, around all, between panels
HEAD = 0.085  # inches: an arrowhead
LOWEST = 2.9  # the colour bar with its name needs that
PAGE = (13.0, 10.0)  # what a figure should not exceed
# (up to this many nodes, type size in points, largest and smallest radius in inches, characters a line)
SCALES = ((9, 10.5, 0.32, 0.08, 18), (24, 9.0, 0.25, 0.065, 16), (10**9, 8.0, 0.2, 0.055, 14))


@dataclass(frozen=True, eq=False)
class _Drawing:
    """What all panels share. The first ``n_features`` nodes are features, the others have no values."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    n_features: int
    layout: LayeredLayout
    values: np.ndarray  # (methods, nodes): one row, or means of |value|
    radii: np.ndarray  # (methods, nodes): area in proportion to |value|, down to a smallest dot
    largest: float
    signed: bool
    font: float
    certainty: dict[tuple[int, int], float]  # of the edges of a mixture of graphs; empty for a single graph


def causal_graph(
    explanations: Any,
    order: Any = None,
    row: int | None = None,
    ax: Any = None,
    show: bool = True,
) -> "tuple[Axes, ...]":
    """The causal graph in layers, causes left, its nodes coloured and sized by attribution; one panel per method.

    Colours and sizes mean the same in all panels. Nodes of the graph that are not features (the target, hidden causes)
    are drawn empty with a dashed border; features that the graph does not know stand below it, without arrows.

    Parameters
    ----------
    explanations, show
        As in :func:`comparison`, of any number of methods, or one shap.Explanation.
    order : CausalOrder, networkx.DiGraph, list of (cause, effect), GraphMixture, or a distribution with a graph
        The causal graph, or what ``fit_network`` or ``StructuralModel`` gives. May be left out if ``explanations`` is a
        comparison that knows it. Of a mixture of graphs the most certain edges are drawn, as wide as they are certain.
    row : int or None, default None
        One row: signed values, from blue to red. None: the mean of |value| over all rows, from white to purple.
    ax : sequence of matplotlib Axes, optional
        One per method; a blank figure of the size of the drawing by default.

    Returns
    -------
    tuple of matplotlib Axes
        One per method. Data coordinates are inches of the unscaled drawing, y downwards.

    Examples
    --------
    >>> import numpy as np, shap
    >>> from shap_asv import plots
    >>> def explanation(values):
    ...     return shap.Explanation(np.array([values]), np.array([0.3]), feature_names=["xray", "smoker"])
    >>> axes = plots.causal_graph(
    ...     {"SHAP": explanation([0.4, 0.1]), "ASV": explanation([0.2, 0.3])}, order=[("smoker", "xray")], show=False
    ... )
    >>> [ax.get_title() for ax in axes]
    ['SHAP', 'ASV']
    """
    from shap.plots import colors

    read = read_attributions(explanations, order)
    if read.order is None:
        raise CausalGraphError(
            "causal_graph needs the graph: give order=, a CausalOrder, a DiGraph or (cause, effect) pairs"
        )
    drawing = _plan(read, row)
    figure, axes, bar_place = _axes(ax, len(read.methods), drawing)
    colours = colors.red_white_blue if drawing.signed else style.sequential_colours()
    for own in axes:
        own.set_xlim(0, drawing.layout.width)
        own.set_ylim(drawing.layout.height, 0)
        own.set_aspect("equal")
        own.set_axis_off()
    style.name_methods(axes, read.methods)
    _draw_colour_bar(figure, axes, bar_place, drawing, colours)
    figure.draw_without_rendering()  # axes have found their size; type is scaled by it
    for method, own in enumerate(axes):
        _draw_panel(own, drawing, method, colours)
    style.finish(show)
    return tuple(axes)


def _plan(read: Attributions, row: int | None) -> _Drawing:
    graph = read_graph(read.order, read.features)
    names = (*read.features, *(node for node in graph if node not in set(read.features)))
    number = {name: v for v, name in enumerate(names)}
    own_values, texts = read.of_row(row)
    _, font, high, low, width = next(scale for scale in SCALES if len(names) <= scale[0])
    number_text = style.number_format(own_values.ravel(), signed=row is not None)
    labels = [
        style.feature_label(f, text, width, lines=3 if text else 2)
        for f, text in zip(read.features, texts, strict=True)
    ]
    hidden = [style.wrap(name, width) for name in names[len(labels) :]]
    values = np.pad(own_values, ((0, 0), (0, len(hidden))))
    largest = float(np.abs(values).max())
    radii = np.maximum(low, high * np.sqrt(np.abs(values) / (largest or 1.0)))
    # every panel's label has to fit: measure with the longest number
    longest = max(map(number_text, own_values.ravel()), key=len)
    measured = [*(f"{label}\n{longest}" for label in labels), *hidden]
    widths, heights = np.array([style.text_size(label, font) for label in measured]).T
    room = radii.max(axis=0)
    boxes = Boxes(np.maximum(widths / 2 + 0.04, room + 0.14), room + 0.03, room + 0.05 + heights)
    return _Drawing(
        names=names,
        labels=(*labels, *hidden),
        n_features=len(labels),
        layout=lay_out(boxes, [(number[u], number[v]) for u, v in graph.edges]),
        values=values,
        radii=radii,
        largest=largest,
        signed=row is not None,
        font=font,
        certainty={(number[u], number[v]): share for u, v, share in graph.edges(data="certainty") if share is not None},
    )


def _axes(ax: Any, count: int, drawing: _Drawing) -> "tuple[Any, list[Axes], tuple[float, ...] | None]":
    """Figure, panels, and the place of the colour bar in a figure of ours (as a fraction of it)."""
    if ax is not None:
        return *style.panels(ax, count, (1, 1)), None
    layout = drawing.layout
    numbers = max(style.text_size(text, 11)[0] for _, text in _bar_ticks(drawing))
    beside = 0.35 + 0.12 + 0.1 + numbers + 0.3  # the colour bar, its numbers and its name
    # side by side or one above the other, whichever fits a page better
    arrangements = []
    for across, down in ((count, 1), (1, count)):
        width = 2 * MARGIN + across * layout.width + (across - 1) * BETWEEN + beside
        content = down * (TITLE + layout.height) + (down - 1) * BETWEEN
        height = max(2 * MARGIN + content, LOWEST)
        arrangements.append((max(width / PAGE[0], height / PAGE[1]), across, width, height, content))
    _, across, width, height, content = min(arrangements, key=lambda arrangement: max(arrangement[0], 1.0))
    figure = style.blank_figure(width, height, constrained=False)
    axes = []
    for panel in range(count):
        left = MARGIN + (panel % across) * (layout.width + BETWEEN)
        top = (height - content) / 2 + TITLE + (panel // across) * (layout.height + TITLE + BETWEEN)
        place = (left / width, 1 - (top + layout.height) / height, layout.width / width, layout.height / height)
        axes.append(figure.add_axes(place))
    tall = min(2.4, height - 2 * MARGIN - 0.3)
    bar = ((width - MARGIN - beside + 0.35) / width, 0.5 - tall / height / 2, 0.12 / width, tall / height)
    return figure, axes, bar


def _draw_panel(ax: "Axes", drawing: _Drawing, method: int, colours: Any) -> None:
    from matplotlib.patches import Circle, PathPatch, Polygon
    from matplotlib.path import Path

    layout, radii = drawing.layout, drawing.radii[method]
    frame = ax.get_window_extent()
    scale = min(frame.width / layout.width, frame.height / layout.height) / style.root_figure(ax).dpi
    number_text = style.number_format(drawing.values.ravel(), signed=drawing.signed)
    for width, routes in _by_width(layout.routes, drawing.certainty).items():
        paths = Path.make_compound_path(*strokes(routes, radii, HEAD))
        look = {"edgecolor": ARROW, "linewidth": width * scale, "capstyle": "butt"}
        ax.add_patch(PathPatch(paths, fill=False, zorder=1, gid="arrows", **look))
    for v in sorted({v for _, v in layout.routes}):
        tip, y = layout.x[v] - radii[v], layout.y[v]
        corners = [(tip, y), (tip - HEAD, y - 0.4 * HEAD), (tip - HEAD, y + 0.4 * HEAD)]
        ax.add_patch(Polygon(corners, facecolor=ARROW, edgecolor="none", zorder=1, gid=f"head of {drawing.names[v]}"))
    for node, name in enumerate(drawing.names):
        x, y, radius, value = layout.x[node], layout.y[node], radii[node], drawing.values[method, node]
        feature = node < drawing.n_features
        share = value / (drawing.largest or 1.0)
        colour = colours(0.5 + 0.5 * share if drawing.signed else share) if feature else "white"
        edge = {"edgecolor": style.QUIET, "linewidth": 0.9 * scale, "linestyle": "-" if feature else (0, (2, 1.5))}
        ax.add_patch(Circle((x, y), radius, facecolor=colour, zorder=2, gid=name, **edge))
        # a line at a time: matplotlib's own spacing of lines depends on which letters they hold
        lines = [(line, style.INK if feature else style.QUIET) for line in drawing.labels[node].split("\n")]
        lines += [(number_text(value), style.QUIET)] if feature else []
        for i, (line, colour) in enumerate(lines):
            ax.text(
                x,
                y + radius + 0.03 + (i + 0.8) * style.LINE * drawing.font / 72,
                line,
                ha="center",
                va="baseline",
                fontsize=drawing.font * scale,
                color=colour,
                style="normal" if feature else "italic",
                parse_math=False,
                zorder=3,
            )


def _by_width(
    routes: dict[tuple[int, int], np.ndarray], certainty: dict[tuple[int, int], float]
) -> dict[float, dict[tuple[int, int], np.ndarray]]:
    """Arrows of equal width together, narrow ones first: 1 for a single graph, else by certainty."""
    widths = {edge: 0.4 + 2.6 * round(certainty[edge], 2) if certainty else 1.0 for edge in routes}
    return {
        width: {edge: route for edge, route in routes.items() if widths[edge] == width}
        for width in sorted(set(widths.values()))
    }


def strokes(routes: dict[tuple[int, int], np.ndarray], radii: Sequence[float], head: float) -> list[Any]:
    """Each stretch of the arrows once: straight across columns, S-shaped between them, from border to arrowhead.

    Arrows of one node share their first stretches, arrows to one node their last; drawn twice they would look bolder.
    """
    from matplotlib.path import Path

    stretches: dict[tuple[tuple[float, float], ...], None] = {}
    for (u, v), corners in routes.items():
        points = [(float(x), float(y)) for x, y in corners]
        points[0] = (points[0][0] + radii[u], points[0][1])
        points[-1] = (points[-1][0] - radii[v] - head, points[-1][1])
        for i, (a, b) in enumerate(pairwise(points)):
            middle = (a[0] + b[0]) / 2
            stretches[(a, (middle, a[1]), (middle, b[1]), b) if i % 2 else (a, b)] = None
    codes = {2: [Path.MOVETO, Path.LINETO], 4: [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]}
    return [Path(np.array(stretch), codes[len(stretch)]) for stretch in stretches]


def _bar_ticks(drawing: _Drawing) -> list[tuple[float, str]]:
    largest = drawing.largest or 1.0
    text = style.number_format([largest], signed=drawing.signed)
    shares = (-1.0, -0.5, 0.0, 0.5, 1.0) if drawing.signed else (0.0, 0.5, 1.0)
    return [(share * largest, text(share * largest)) for share in shares]


def _draw_colour_bar(
    figure: Any, axes: "Sequence[Axes]", place: tuple[float, ...] | None, drawing: _Drawing, colours: Any
) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    largest = drawing.largest or 1.0
    scale = ScalarMappable(Normalize(-largest if drawing.signed else 0.0, largest), colours)
    if place is None:
        bar = figure.colorbar(scale, ax=list(axes), aspect=30, shrink=0.7)
    else:
        bar = figure.colorbar(scale, cax=figure.add_axes(place))
    ticks, texts = zip(*_bar_ticks(drawing), strict=True)
    bar.set_ticks(list(ticks), labels=list(texts))
    style.dress_colour_bar(bar, style.value_name(drawing.signed))
