"""W of a few features: the distribution of restricted orders, for every kind of order, against all orders."""

import itertools

import numpy as np
import pytest

from shap_asv.errors import BudgetExceededError
from shap_asv.orders import CausalOrder, restricted
from shap_asv.orders.restricted import (
    FOREST,
    LATTICE,
    LEVELS,
    PARTS,
    Sets,
    StepLister,
    kind_of,
    list_polytree_steps,
    restrict_order,
    restrict_orders,
    shuffling_work,
)
from tests.oracles.brute_force import topological_orders

N = 6
CASES = {
    "levels": [(a, b) for a in (0, 1, 2) for b in (3, 4, 5)],
    "forest": [(5, 0), (5, 1), (0, 2), (3, 4)],
    "lattice": [(0, 2), (1, 2), (1, 3), (4, 3), (4, 5)],
    "half a graph": [(0, 2), (1, 2), (2, 3), (1, 4)],
    "diamond beside a chain": [(3, 1), (3, 4), (1, 0), (4, 0), (2, 5)],
    "diamond inside of a series": [(5, 3), (5, 2), (5, 0), (3, 1), (3, 4), (2, 1), (2, 4), (0, 1)],
    "two prime parts": [(0, 1), (0, 2), (3, 2), (4, 5)],
    "zigzag before and after": [(5, 0), (5, 2), (0, 1), (2, 1), (2, 3), (1, 4), (3, 4)],
}
KINDS = {"levels": LEVELS, "forest": FOREST, "lattice": LATTICE}  # all others fall apart


def weights_by_counting(orders, features, shares):
    """w_D(i, B) as a dictionary {(B as bits over places, place): weight}."""
    weights = {}
    for order, share in zip(orders, shares, strict=True):
        code = 0
        for v in order:
            if v in features:
                place = features.index(v)
                weights[code, place] = weights.get((code, place), 0.0) + share
                code |= 1 << place
    return weights


def all_sets(weights):
    """Every set of features, as the order wants them sorted."""
    rank = np.argsort(np.argsort(weights.level, kind="stable"))
    sets = [sorted(own, key=rank.__getitem__) for d in range(1, N + 1) for own in itertools.combinations(range(N), d)]
    return sets, np.cumsum([0, *map(len, sets)]), np.concatenate(sets)


def steps_of(lister, sets, start, feature, at):
    """w_D of one set as a dictionary, and its features."""
    steps = lister.merged(Sets(start, feature, np.array([at])))
    return dict(zip(zip(steps.code.tolist(), steps.place.tolist(), strict=True), steps.weight, strict=True)), sets[at]


@pytest.mark.parametrize("kind", [*CASES, "orders"])
def test_steps_are_the_distribution_of_restricted_orders(kind, monkeypatch):
    if kind == "orders":
        orders, shares = [(0, 1, 2, 3, 4, 5), (5, 1, 3, 0, 2, 4), (2, 0, 5, 4, 1, 3)], [1 / 3] * 3
        weights = restrict_orders(np.array(orders))
    else:
        order = CausalOrder.from_edges(CASES[kind], features=range(N))
        monkeypatch.setattr(restricted, "FEW_IDEALS", 1)
        assert kind_of(order) == KINDS.get(kind, PARTS)
        weights = restrict_order(order)
        orders = topological_orders(N, CASES[kind])
        shares = [1 / len(orders)] * len(orders)
    lister, listed = StepLister(weights), all_sets(weights)
    for at in range(2**N - 1):
        found, features = steps_of(lister, *listed, at)
        expected = weights_by_counting(orders, features, shares)
        assert found.keys() == expected.keys()
        for key, weight in expected.items():
            assert found[key] == pytest.approx(weight, abs=1e-14)


@pytest.mark.parametrize("kind", [kind for kind in CASES if kind not in KINDS])
def test_room_for_parts_is_counted(kind):
    """The plan's count of numbers that are kept is never below what the kernel took, and not far above."""
    order = CausalOrder.from_edges(CASES[kind], features=range(N))
    weights = restrict_order(order, kind=PARTS)
    lister, listed = StepLister(weights), all_sets(weights)
    for at in range(2**N - 1):
        _, features = steps_of(lister, *listed, at)
        taken = lister._room.used.sum()
        _, kept = shuffling_work(order, np.isin(np.arange(N), features)[None])
        assert taken <= kept[0] <= 2 * taken + 64


def test_a_set_of_too_many_coalitions_is_refused(monkeypatch):
    monkeypatch.setattr(restricted, "MOST_STEPS", 3)
    order = CausalOrder.from_edges([(0, 1), (0, 2), (0, 3)])
    with pytest.raises(BudgetExceededError, match="3 features have too many coalitions"):
        StepLister(restrict_order(order)).merged(Sets(np.array([0, 3]), np.array([1, 2, 3]), np.array([0])))


@pytest.mark.parametrize("seed", range(6))
def test_polytrees_without_their_lattice(seed):
    """Equal to the projected lattice (22 features), and to the walk on a forest (80), to 1e-12 of each weight."""
    rng = np.random.default_rng(seed)
    n = 80 if seed == 5 else 22
    edges = [(int(rng.integers(v)), v) for v in range(1, n) if v % 7 or seed % 2]  # a tree, or several
    if seed < 5:
        edges = [edge if rng.random() < 0.5 else edge[::-1] for edge in edges]
    order = CausalOrder.from_edges(edges, features=range(n))
    features = np.sort(rng.choice(n, 1 + seed, replace=False))
    known = StepLister(restrict_order(order)).merged(Sets(np.array([0, 1 + seed]), features, np.array([0])))
    code, place, weight = list_polytree_steps(order, features)
    found = {(c, p): w for c, p, w in zip(code.tolist(), place.tolist(), weight.tolist(), strict=True) if w > 0}
    wanted = {
        (c, p): w for c, p, w in zip(known.code.tolist(), known.place.tolist(), known.weight.tolist(), strict=True)
    }
    assert found == pytest.approx(wanted, rel=1e-12, abs=0)
