"""Terms that are multiplied out only where they are alive, against the same terms everywhere: the same bits."""

import numpy as np
import pytest

from shap_asv.backgrounds.discrete.inference import compiled_terms
from shap_asv.backgrounds.discrete.inference.circuit import compile_evidence
from shap_asv.backgrounds.discrete.inference.compiled_terms import evaluate_indicators, only_indicators
from shap_asv.backgrounds.discrete.inference.elimination import plan_elimination
from shap_asv.backgrounds.discrete.inference.terms import evaluate_terms, expected_sums, number_terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork


def random_case(seed, n_terms, indicators=True):
    """A network with zeros in its tables and two parts, evidence on any nodes, terms on some."""
    rng = np.random.default_rng(seed)
    n = 9
    cards = rng.integers(1, 4, size=n)
    # nodes 0 to 5 and 6 to 8 are not connected
    parents = [tuple(p for p in range(0 if v < 6 else 6, v) if rng.random() < 0.4) for v in range(n)]
    tables = []
    for v in range(n):
        table = rng.random((cards[v], *cards[list(parents[v])])) * (
            rng.random((cards[v], *cards[list(parents[v])])) < 0.8
        )
        table[0] += 1e-3
        tables.append(table / table.sum(axis=0))
    states = tuple(tuple(range(card)) for card in cards)
    network = DiscreteNetwork(tuple("abcdefghi"), states, tuple(parents), tuple(tables))
    vectors = [np.ones((4, card)) for card in cards]
    for table in vectors:
        table[1:] = rng.random(table[1:].shape) < 0.5 if indicators else rng.random(table[1:].shape)
    vectors[3] = None  # nobody looks at it
    terms = np.where(rng.random((n_terms, n)) < 0.5, rng.integers(0, 4, size=(n_terms, n)), 0)
    terms[:, 3] = 0
    evidence = np.where(rng.random((n, 40)) < 0.5, rng.integers(0, cards[:, None], size=(n, 40)), -1)
    plan = plan_elimination(network)
    return compile_evidence(plan, evidence, 1 << 20), number_terms(plan, vectors, terms)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_terms", [1, 64, 150])
def test_no_bit_differs_from_terms_multiplied_out_everywhere(seed, n_terms):
    circuit, terms = random_case(seed, n_terms)
    assert only_indicators(terms)
    everywhere, alive = np.empty((40, n_terms)), np.full((40, n_terms), np.nan)
    evaluate_terms(circuit, terms, everywhere, compiled=False)
    evaluate_indicators(circuit, terms, alive)
    np.testing.assert_array_equal(alive, everywhere)
    found = np.full((40, n_terms), np.nan)
    evaluate_terms(circuit, terms, found, compiled=True, alive_only=False)
    np.testing.assert_array_equal(found, everywhere)


def test_sums_of_terms_on_several_parts_are_multiplied_out_everywhere(monkeypatch):
    circuit, terms = random_case(2, 30)
    assert sum(columns is not None for columns in terms.root_columns) > 1
    monkeypatch.setattr(compiled_terms, "evaluate_indicators", None)  # would raise
    coefficients = np.random.default_rng(0).normal(size=(30, 2))
    sums = [expected_sums(circuit, terms, coefficients, compiled) for compiled in (False, True)]
    np.testing.assert_array_equal(*sums)


def test_terms_that_look_at_nothing_are_one():
    circuit, _ = random_case(0, 3)
    terms = number_terms(circuit.plan, [None] * 9, np.zeros((3, 9), dtype=int))
    out = np.empty((40, 3))
    evaluate_indicators(circuit, terms, out)
    np.testing.assert_array_equal(out, 1.0)


def test_other_functions_are_multiplied_out_everywhere():
    circuit, terms = random_case(1, 20, indicators=False)
    assert not only_indicators(terms)
    expected, found = np.empty((40, 20)), np.empty((40, 20))
    evaluate_terms(circuit, terms, expected, compiled=False)
    compiled_terms.evaluate_compiled(circuit, terms, found)
    np.testing.assert_array_equal(found, expected)
