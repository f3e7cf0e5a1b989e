"""The layered layout: arrows to the right, nothing on anything else, few crossings."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from shap_asv.plots.layout import Boxes, assign_layers, lay_out
from tests.oracles.random_problems import random_edges
from tests.plots.looking import NETWORKS, nodes


def numbered(edges):
    place = {name: i for i, name in enumerate(nodes(edges))}
    return len(place), [(place[u], place[v]) for u, v in edges]


def random_boxes(rng, n):
    return Boxes(rng.uniform(0.2, 0.9, n), rng.uniform(0.05, 0.3, n), rng.uniform(0.2, 0.8, n))


def graphs():
    rng = np.random.default_rng(5)
    for name, edges in NETWORKS.items():
        yield pytest.param(*numbered(edges), id=name)
    for kind in ("forest", "polytree", "dag", "edgeless", "complete", "chain"):
        for n in (1, 9, 25):
            if kind != "complete" or n < 10:
                yield pytest.param(n, random_edges(rng, n, kind), id=f"{kind}-{n}")
    yield pytest.param(40, [(0, v) for v in range(1, 40)], id="star-40")
    yield pytest.param(40, [(v, 39) for v in range(39)], id="funnel-40")


def curves(route):
    """Points along an arrow: straight across columns, a cubic with level ends between them."""
    t = np.linspace(0, 1, 60)[:, None]
    pieces = []
    for i, (a, b) in enumerate(pairwise(route)):
        middle = (a[0] + b[0]) / 2
        c, d = (np.array([middle, a[1]]), np.array([middle, b[1]])) if i % 2 else (a + (b - a) / 3, b - (b - a) / 3)
        pieces.append((1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * c + 3 * t**2 * (1 - t) * d + t**3 * b)
    return np.concatenate(pieces)


@pytest.mark.parametrize(("n", "edges"), graphs())
def test_nothing_lies_on_anything_else(n, edges):
    boxes = random_boxes(np.random.default_rng(n), n)
    layout = lay_out(boxes, edges)
    left, right = layout.x - boxes.half_widths, layout.x + boxes.half_widths
    top, bottom = layout.y - boxes.above, layout.y + boxes.below
    assert left.min() >= -1e-9
    assert right.max() <= layout.width + 1e-9
    assert top.min() >= -1e-9
    assert bottom.max() <= layout.height + 1e-9
    for u, v in combinations(range(n), 2):
        apart = max(left[u] - right[v], left[v] - right[u], top[u] - bottom[v], top[v] - bottom[u])
        assert apart > 0.05, (u, v)
    assert set(layout.routes) == set(edges)
    for (u, v), route in layout.routes.items():
        np.testing.assert_allclose(route[0], [layout.x[u], layout.y[u]])
        np.testing.assert_allclose(route[-1], [layout.x[v], layout.y[v]])
        assert layout.x[u] < layout.x[v]
        assert (np.diff(route[:, 0]) > -1e-9).all(), "an arrow goes back"
        points = curves(route)
        for w in set(range(n)) - {u, v}:
            inside = (
                (points[:, 0] > left[w])
                & (points[:, 0] < right[w])
                & (points[:, 1] > top[w])
                & (points[:, 1] < bottom[w])
            )
            assert not inside.any(), f"{u} -> {v} runs through {w}"


@pytest.mark.parametrize(("n", "edges"), graphs())
def test_layers_go_forward_and_hold_few_enough(n, edges):
    for cap in (1, 3, 100):
        layer = assign_layers(n, edges, cap)
        assert all(layer[u] < layer[v] for u, v in edges)
        assert np.bincount(layer).max() <= cap
    unlimited = assign_layers(n, edges, n)
    longest = np.zeros(n, dtype=int)  # edges of the random problems go from smaller to larger numbers, networks do not
    for _ in range(n):
        for u, v in edges:
            longest[v] = max(longest[v], longest[u] + 1)
    assert unlimited.max() == longest.max(), "more layers than the longest chain needs"


def count_crossings(layout):
    """Pairs of arrows that swap their heights between neighbouring columns; those that share an end do not count."""
    stretches = {
        (tuple(np.round(a, 6)), tuple(np.round(b, 6)))
        for route in layout.routes.values()
        for a, b in zip(route[1::2], route[2::2], strict=False)
    }
    count = 0
    for (a, b), (c, d) in combinations(stretches, 2):
        if a[0] == c[0] and b[0] == d[0] and (a[1] - c[1]) * (b[1] - d[1]) < 0:
            count += 1
    return count


@pytest.mark.parametrize("name", ["cancer", "asia", "child"])
def test_networks_that_can_be_drawn_without_or_with_few_crossings(name):
    n, edges = numbered(NETWORKS[name])
    layout = lay_out(Boxes(np.full(n, 0.5), np.full(n, 0.2), np.full(n, 0.4)), edges)
    assert count_crossings(layout) <= {"cancer": 0, "asia": 0, "child": 1}[name]


def test_forests_have_no_crossings():
    rng = np.random.default_rng(8)
    for _ in range(15):
        n = int(rng.integers(3, 20))
        edges = random_edges(rng, n, "forest")
        layout = lay_out(random_boxes(rng, n), edges, max_per_layer=n)
        assert count_crossings(layout) == 0
