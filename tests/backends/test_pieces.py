"""Pieces of closures on demand: taken apart, in which sequence, and more terms than one integer has bits."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from shap_asv import AsymmetricExplainer
from shap_asv.backends.ancestral.completed import family_masks
from shap_asv.backends.ancestral.pieces import demanded
from shap_asv.backends.ancestral.pieces.demand_kernel import find_alike, find_asked, pack_entry, unpack_entry
from shap_asv.backends.ancestral.pieces.part_kernel import Fields, take_apart
from shap_asv.backends.ancestral.pieces.sequence import find_sequence
from shap_asv.backends.workload import network_and_terms
from tests.explainer.test_exact import oracle, predict_codes
from tests.problems import make_problem


def fall_apart(nodes, families):
    """Pieces of a set of nodes: two are in one piece if the table of a member holds both."""
    left, found = set(nodes), []
    while left:
        piece = {min(left)}
        while True:
            touched = {u for v in left if families[v] & piece for u in families[v] & left}
            if touched <= piece:
                break
            piece |= touched
        found.append(frozenset(piece))
        left -= piece
    return found


@pytest.mark.parametrize("seed", range(6))
def test_pieces_are_taken_apart_as_by_hand(seed):
    network = make_problem(seed, n=9).network()
    families = [{v, *parents} for v, parents in enumerate(network.parents)]
    sequence = find_sequence(network, np.array([2**9 - 1]))
    masks, roots, starts, parts = take_apart(np.array([2**9 - 1]), family_masks(network), sequence)
    sets = [frozenset(v for v in range(9) if (mask >> v) & 1) for mask in masks.tolist()]
    assert len(set(sets)) == len(sets)
    for i, piece in enumerate(sets):
        root = next(v for v in sequence.tolist() if v in piece)
        assert roots[i] == root
        below = {sets[part] for part in parts[starts[i] : starts[i + 1]]}
        assert below == set(fall_apart(piece - {root}, families))


def cost_by_hand(network, pieces, sequence):
    total = 0
    for mask in pieces.tolist():
        inside = [v for v in range(network.n_nodes) if (mask >> v) & 1]
        around = {p for v in inside for p in network.parents[v]} - set(inside)
        root = min(sequence.index(v) for v in inside)
        total += np.prod([network.cardinalities[u] for u in around if sequence.index(u) < root], dtype=float)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_sequence_has_causes_first_and_no_single_move_is_better(seed):
    network = make_problem(seed, n=8).network()
    pieces = np.random.default_rng(seed).integers(1, 2**8, 30)
    sequence = find_sequence(network, pieces).tolist()
    assert sorted(sequence) == list(range(8))
    assert all(sequence.index(p) < sequence.index(v) for v in range(8) for p in network.parents[v])
    cost = cost_by_hand(network, pieces, sequence)
    assert cost <= cost_by_hand(network, pieces, list(range(8)))
    for v, place in itertools.product(range(8), range(8)):
        moved = [u for u in sequence if u != v]
        moved.insert(place, v)
        if all(moved.index(p) < moved.index(u) for u in range(8) for p in network.parents[u]):
            assert cost_by_hand(network, pieces, moved) >= 0.998 * cost


@pytest.mark.parametrize(("n_trees", "least"), [(2, 30), (12, 125), (40, 250)])
@pytest.mark.parametrize("at_once", [demanded.TERMS_AT_ONCE, 40])
def test_more_terms_than_bits_against_the_definition(n_trees, least, at_once, monkeypatch):
    monkeypatch.setattr(demanded, "TERMS_AT_ONCE", at_once)
    problem = make_problem(11, n=6, zeros=0.1)
    rng = np.random.default_rng(0)
    codes = problem.rows(rng, 400)
    target = rng.normal(size=(400, 2)) + codes.sum(axis=1)[:, None]
    forest = RandomForestRegressor(n_trees, max_depth=6, random_state=0)
    states = [[f"s{i}" for i in range(card)] for card in problem.feature_cards]
    model = make_pipeline(OrdinalEncoder(categories=states), forest).fit(problem.labels(codes), target)
    options = {"algorithm": "ideals x closures", "feature_names": problem.features}
    explainer = AsymmetricExplainer(model, problem.network(), **options)
    assert network_and_terms(explainer._execution.problem)[1].n_terms >= least
    found = explainer(problem.labels(codes[:4]), silent=True)
    expected = oracle(problem, predict_codes(explainer), codes[:4], problem.projected_edges())
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-9)


def test_rows_alike_are_found_where_only_the_highest_bits_differ():
    fields = Fields(np.array([0, 30, 58]), np.array([3, 3 << 30, 7 << 58]))
    packed = np.array([1, 1 | 5 << 58, 1 | 6 << 58, 1 | 5 << 58, 2])
    alike = np.empty((5, 3), dtype=np.int32)
    find_alike(np.array([0b001, 0b101, 0b010]), fields, packed, alike)
    assert alike.T.tolist() == [[0, 0, 0, 0, 4], [0, 1, 2, 1, 4], [0, 0, 0, 0, 0]]


def test_what_is_held_decides_who_passes():
    passed = np.array([0b0110, 0b1100])
    nodes = np.array([2, 5])
    assert [find_asked(held, nodes, passed, 0b1111) for held in (0, 1 << 2, 1 << 5, 1 << 2 | 1 << 5, 1)] == [
        0b1111,
        0b0110,
        0b1100,
        0b0100,
        0b1111,
    ]


@pytest.mark.parametrize(("cards", "fits"), [((2**16, 2, 1), True), ((2**16 + 1, 2, 1), False), ((2**16,) * 4, False)])
def test_states_that_have_no_room_are_left_to_others(cards, fits):
    network = SimpleNamespace(cardinalities=cards)
    widths = demanded.field_widths(network, np.ones(len(cards), dtype=bool))
    assert (widths is not None) == fits
    assert demanded.field_widths(network, np.zeros(len(cards), dtype=bool)).sum() == 0
    if fits:
        assert all(card <= 1 << width for card, width in zip(cards, widths.tolist(), strict=True))


def test_entries_are_packed_without_loss():
    for entry in ((0, 0), (2**16 - 1, 2**38), (10_000, 12)):
        assert unpack_entry(pack_entry(*entry)) == entry
