"""Nothing underflows: long networks, tiny probabilities, deterministic tables."""

import numpy as np
import pytest

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from tests.backgrounds.problems import as_network, expectations


def chain(n, tables):
    return DiscreteBackground(as_network([2] * n, [() if v == 0 else (v - 1,) for v in range(n)], tables))


def ones(n):
    return [np.vstack([np.ones(2), [0.0, 1.0]]) for _ in range(n)]


def test_chain_of_1000_nodes_fully_observed():
    n = 1000
    stay = np.array([[0.9, 0.2], [0.1, 0.8]])
    background = chain(n, [np.array([0.3, 0.7])] + [stay] * (n - 1))
    row = np.random.default_rng(0).integers(0, 2, n)
    expected = np.log([0.3, 0.7][row[0]]) + np.log(stay[row[1:], row[:-1]]).sum()
    assert expected < -745  # beyond what a double can hold
    evidence = np.tile(row, (2, 1))
    evidence[1, 500] = -1
    got = background.log_probability(evidence)
    assert got[0] == pytest.approx(expected, rel=1e-12)
    # the free node given its neighbours
    prior = stay[:, row[499]] * stay[row[501]]
    terms = np.zeros((1, n), dtype=int)
    terms[0, 500] = 1
    value = expectations(background, evidence, ones(n), terms)
    np.testing.assert_allclose(value[:, 0], [row[500], prior[1] / prior.sum()], rtol=1e-12)


def test_products_of_tiny_evidence_do_not_look_impossible():
    """Each observation has probability 1e-200 or 1e-250; jointly they are far below any double."""
    n = 12
    table = np.array([[1 - 1e-200, 1 - 1e-250], [1e-200, 1e-250]])
    background = DiscreteBackground(
        as_network([2] * (n + 1), [()] + [(0,)] * n, [np.array([1e-280, 1 - 1e-280])] + [table] * n)
    )
    evidence = np.full((1, n + 1), 1)
    evidence[0, 0] = -1
    terms = np.zeros((1, n + 1), dtype=int)
    terms[0, 0] = 1
    # odds of n0 = 1: 1e280 * (1e-50)^12 = 1e-320
    value = expectations(background, evidence, ones(n + 1), terms)
    assert value[0, 0] == pytest.approx(0.0, abs=1e-300)
    assert background.log_probability(evidence)[0] == pytest.approx(np.log(1e-280) + n * np.log(1e-200), rel=1e-9)


def test_wide_star_has_no_wide_table():
    """200 effects of one cause: 2^200 joint states, tables of four entries."""
    n = 201
    rng = np.random.default_rng(1)
    tables = [np.array([0.4, 0.6])]
    tables += [(lambda p: np.array([1 - p, p]))(rng.random(2)) for _ in range(n - 1)]
    background = DiscreteBackground(as_network([2] * n, [()] + [(0,)] * (n - 1), tables))
    assert background.size == 2**n
    row = rng.integers(0, 2, n)
    row[0] = -1
    likelihood = np.log([0.4, 0.6]) + sum(np.log(tables[v][row[v]]) for v in range(1, n))
    terms = np.zeros((1, n), dtype=int)
    terms[0, 0] = 1
    value = expectations(background, row[None], ones(n), terms)
    assert value[0, 0] == pytest.approx(1 / (1 + np.exp(likelihood[0] - likelihood[1])), rel=1e-9)
