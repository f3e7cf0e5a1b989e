"""The compiled parts of the tree algorithm against readable twins."""

import itertools

import numpy as np
import pytest

from shap_asv.backends.trees import orderings
from shap_asv.backends.trees.coding import code_ensemble
from shap_asv.backends.trees.ground import Grounds
from shap_asv.backends.trees.leaves import find_leaves
from shap_asv.backends.trees.orderings import (
    FOREST,
    LATTICE,
    LEVELS,
    PARTS,
    kind_of,
    order_by_list,
    order_by_precedence,
)
from shap_asv.backends.trees.parts import shuffling_work
from shap_asv.backends.trees.steps import StepLister
from shap_asv.orders import CausalOrder
from tests.backends.tree_problems import ensemble_of
from tests.oracles import tree_games as oracle

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


def paths_of(ordering, *features):
    """Leaves with the given features, as the order wants them sorted: only start and feature matter here."""
    leaf = {"value": [1.0], "cover": 1.0}
    trees = []
    for own in features:
        node = leaf
        for j in own:
            node = {"column": j, "threshold": 0.0, "nan_left": True, "cover": 4.0, "left": node, "right": leaf}
        trees.append(node)
    coding = code_ensemble(ensemble_of(trees, N))
    return find_leaves(coding, np.argsort(np.argsort(ordering.level, kind="stable")))[0]


@pytest.mark.parametrize("kind", [*CASES, "orders"])
def test_steps_are_the_distribution_of_restricted_orders(kind, monkeypatch):
    if kind == "orders":
        orders = [(0, 1, 2, 3, 4, 5), (5, 1, 3, 0, 2, 4), (2, 0, 5, 4, 1, 3)]
        shares = [0.5, 0.3, 0.2]
        ordering = order_by_list(np.array(orders), shares)
    else:
        order = CausalOrder.from_edges(CASES[kind], features=range(N))
        monkeypatch.setattr(orderings, "FEW_IDEALS", 1)
        assert kind_of(order) == KINDS.get(kind, PARTS)
        ordering = order_by_precedence(order)
        orders = oracle.topological_orders(N, CASES[kind])
        shares = [1 / len(orders)] * len(orders)
    lister = StepLister(ordering)
    leaves = paths_of(ordering, *[own for d in range(1, N + 1) for own in itertools.combinations(range(N), d)])
    seen = set()
    for leaf in range(len(leaves.values)):
        features = leaves.feature[leaves.start[leaf] : leaves.start[leaf + 1]].tolist()
        if tuple(features) in seen:
            continue
        seen.add(tuple(features))
        steps = lister.merged(leaves, leaf)
        found = dict(zip(zip(steps.code.tolist(), steps.place.tolist(), strict=True), steps.weight, strict=True))
        expected = weights_by_counting(orders, features, shares)
        assert found.keys() == expected.keys()
        for key, weight in expected.items():
            assert found[key] == pytest.approx(weight, abs=1e-14)
    assert len(seen) == 2**N - 1


@pytest.mark.parametrize("kind", [kind for kind in CASES if kind not in KINDS])
def test_room_for_parts_is_counted(kind):
    """The plan's count of numbers that are kept is never below what the kernel took, and not far above."""
    order = CausalOrder.from_edges(CASES[kind], features=range(N))
    ordering = order_by_precedence(order, kind=PARTS)
    lister = StepLister(ordering)
    leaves = paths_of(ordering, *[own for d in range(1, N + 1) for own in itertools.combinations(range(N), d)])
    for leaf in range(len(leaves.values)):
        features = leaves.feature[leaves.start[leaf] : leaves.start[leaf + 1]]
        lister.merged(leaves, leaf)
        taken = lister._parts_room.used.sum()
        _, kept = shuffling_work(order, np.isin(np.arange(N), features)[None])
        assert taken <= kept[0] <= 2 * taken + 64


@pytest.mark.parametrize("n_rows", [1, 64, 200])
def test_counts_of_background_rows(n_rows, monkeypatch):
    """F(D - B) of every leaf and every B, several blocks of rows, NaN and categories among them."""
    monkeypatch.setattr("shap_asv.backends.trees.ground.BLOCK", 90)
    rng = np.random.default_rng(n_rows)
    trees = [oracle.random_tree(rng, N, 6, categorical=(2,)) for _ in range(3)]
    coding = code_ensemble(ensemble_of(trees, N))
    leaves, _ = find_leaves(coding, np.arange(N))
    rows = oracle.random_rows(rng, n_rows, N, (2,), missing=0.2)
    codes = coding.codes(rows)
    grounds = Grounds(codes, coding.nan_code, np.arange(N) == 2)
    lengths = np.diff(leaves.start)
    at = np.concatenate([[0], np.cumsum(1 << lengths)])
    outside = np.empty(at[-1])
    for _ in range(2):  # the second time from what was kept
        grounds.count_outside(leaves, (0, len(lengths)), at, outside)
        shares = grounds.shares(leaves)
        for leaf in range(len(lengths)):
            entries = range(leaves.start[leaf], leaves.start[leaf + 1])
            holds = np.array([satisfies(leaves, e, codes[leaves.feature[e]]) for e in entries])
            for inside in range(1 << lengths[leaf]):
                needed = [j for j in range(lengths[leaf]) if not inside >> j & 1]
                assert outside[at[leaf] + inside] == pytest.approx(holds[needed].all(axis=0).mean(), abs=1e-15)
            assert shares[leaf] == pytest.approx(holds.all(axis=0).mean(), abs=1e-15)


def satisfies(leaves, entry, codes):
    if leaves.offset[entry] >= 0:
        return leaves.allowed[leaves.offset[entry] + codes]
    inside = (codes >= leaves.low[entry]) & (codes <= leaves.high[entry])
    return inside | (leaves.nan[entry] & (codes == leaves.nan_code[leaves.feature[entry]]))


def test_paths_are_the_ways_through_the_trees():
    """Each row satisfies all conditions of exactly one leaf per tree, the one it reaches."""
    rng = np.random.default_rng(0)
    trees = [oracle.random_tree(rng, N, 8, categorical=(0, 5)) for _ in range(4)]
    coding = code_ensemble(ensemble_of(trees, N))
    leaves, constant = find_leaves(coding, np.arange(N))
    rows = oracle.random_rows(rng, 50, N, (0, 5), missing=0.2)
    codes = coding.codes(rows)
    total = np.zeros(len(rows)) + constant
    reached = np.zeros(len(rows))
    for leaf, value in enumerate(leaves.values[:, 0]):
        entries = range(leaves.start[leaf], leaves.start[leaf + 1])
        inside = np.array([satisfies(leaves, e, codes[leaves.feature[e]]) for e in entries]).all(axis=0)
        total += value * inside
        reached += inside
    np.testing.assert_allclose(total, [sum(oracle.output(tree, row)[0] for tree in trees) for row in rows], atol=1e-12)
    assert (reached <= len(trees)).all()
