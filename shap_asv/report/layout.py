"""Where the cards of the causal graph stand on the page, and the curves of its arrows.

Every feature is a card with its name, a line for its state and a line for each method. Cards of one drawing have one
size, so that bars can be compared. The layered drawing is that of ``plots/layout.py``, which measures in inches.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.plots.layout import Boxes, lay_out
from shap_asv.plots.reading import read_graph

PIXELS = 96.0  # an inch
NARROWEST, WIDEST = 156, 216
PER_LETTER, PER_SMALL_LETTER = 7.4, 6.2
SHORTEST_LABEL, LONGEST_LABEL = 42, 110
HEAD, PER_METHOD, FOOT = 40, 17, 8  # pixels: name and state, a line for a method, below
COLUMN_GAP, ROW_GAP, TRACK, MARGIN = 46, 14, 8, 6
TIP = 7  # an arrowhead


def place_graph(graph: Any, features: Sequence[str], methods: Sequence[str]) -> dict[str, Any]:
    """Nodes, arrows and size of the drawing, in pixels, ready for the page.

    Parameters
    ----------
    graph : anything that ``plots.causal_graph`` draws
        Nodes that are not features are drawn as latent ones.
    features : sequence of str
        Features that the graph does not know are added without arrows.
    methods : sequence of str
        Names of the lines of a card.

    Returns
    -------
    dict
        ``width``, ``height``; ``card`` (width, height); ``label``, the room of a method's name;
        ``nodes`` with name, feature (a position, or None), x, y (of the upper left corner);
        ``arrows`` with from, to (positions among the nodes), path and certainty.
    """
    dag: nx.DiGraph = read_graph(graph, features)
    dag.add_nodes_from(features)
    names = [*features, *(node for node in dag if node not in set(features))]
    place = {name: i for i, name in enumerate(names)}
    label = int(np.clip(PER_SMALL_LETTER * max(map(len, methods)) + 6, SHORTEST_LABEL, LONGEST_LABEL))
    width = int(np.clip(PER_LETTER * max(map(len, names)) + 24, NARROWEST, WIDEST)) + label - SHORTEST_LABEL
    height = HEAD + PER_METHOD * len(methods) + FOOT
    half_width, half_height = (np.full(len(names), size / 2 / PIXELS) for size in (width, height))
    edges = [(place[cause], place[effect]) for cause, effect in dag.edges]
    column_gap, row_gap, track = (length / PIXELS for length in (COLUMN_GAP, ROW_GAP, TRACK))
    drawing = lay_out(Boxes(half_width, half_height, half_height), edges, column_gap, row_gap, track)
    x, y = (PIXELS * centres + MARGIN for centres in (drawing.x, drawing.y))
    nodes = [
        {
            "name": name,
            "feature": i if i < len(features) else None,
            "x": round(float(x[i]) - width / 2, 1),
            "y": round(float(y[i]) - height / 2, 1),
        }
        for i, name in enumerate(names)
    ]
    arrows = [
        {
            "from": u,
            "to": v,
            "path": _curve(PIXELS * drawing.routes[u, v] + MARGIN, width / 2),
            "certainty": round(float(dag.edges[names[u], names[v]].get("certainty", 1.0)), 4),
        }
        for u, v in edges
    ]
    return {
        "width": round(PIXELS * drawing.width + 2 * MARGIN),
        "height": round(PIXELS * drawing.height + 2 * MARGIN),
        "card": [width, height],
        "label": label,
        "nodes": nodes,
        "arrows": arrows,
    }


def _curve(corners: np.ndarray, half_card: float) -> str:
    """An SVG path from the right side of one card to the left side of another: straight across columns, else curved."""
    points = corners.copy()
    points[0, 0] += half_card
    points[-1, 0] -= half_card + TIP
    # corners inside the cards at both ends would make the path go back
    points[1, 0] = max(points[1, 0], points[0, 0])
    points[-2, 0] = min(points[-2, 0], points[-1, 0])
    path = [f"M{points[0, 0]:.1f} {points[0, 1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points.tolist()):
        if x1 - x0 < 0.05 and abs(y1 - y0) < 0.05:
            continue
        if abs(y1 - y0) < 0.05:
            path.append(f"H{x1:.1f}")
        else:
            middle = (x0 + x1) / 2
            path.append(f"C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}")
    return "".join(path)
