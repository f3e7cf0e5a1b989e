"""Evidence of probability 0: a named error, or a documented way on. Never NaN."""

import itertools

import numpy as np
import pytest

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.errors import ImpossibleEvidenceError, RowsError, UnknownStateError
from tests.backgrounds.problems import Problem, as_network, expectations


@pytest.fixture
def wet():
    """rain -> wet -> slippery, wet a copy of rain; mood alone."""
    network = as_network(
        [2, 2, 2, 2],
        [(), (0,), (1,), ()],
        (np.array([0.75, 0.25]), np.eye(2), np.array([[0.9, 0.4], [0.1, 0.6]]), np.array([0.5, 0.5])),
    )

    def build(**kwargs):
        return DiscreteBackground(network, **kwargs)

    return build


def impossible_rows(problem):
    return np.argwhere(problem.p_features == 0)


def test_rows_are_checked_with_a_minimal_contradiction(wet):
    with pytest.raises(ImpossibleEvidenceError, match="row 1 is impossible") as caught:
        wet().check(np.array([[0, 0, 1, 0], [1, 0, 1, 1]]))
    message = str(caught.value)
    assert "n0='s1', n1='s0'." in message
    assert "n2" not in message
    assert "n3" not in message
    assert "impossible='relax'" in message
    with pytest.raises(ImpossibleEvidenceError, match=r"row 0 is impossible under the network \(1 more like it\)"):
        wet().check(np.array([[1, 0, 0, 0], [0, 1, 0, 0]]))
    wet().check(np.array([[0, 0, 1, 0], [1, 1, 1, 1]]))
    wet(impossible="relax").check(np.array([[1, 0, 0, 0]]))


def test_queries_raise_on_impossible_evidence(wet):
    background = wet()
    evidence = np.array([[-1, -1, -1, -1], [1, 0, -1, -1]])
    vectors = [np.ones((1, 2))] * 4
    with pytest.raises(ImpossibleEvidenceError, match=r"evidence row 1 .*n0='s1', n1='s0'"):
        expectations(background, evidence, vectors, np.zeros((1, 4), dtype=int))
    with pytest.raises(ImpossibleEvidenceError, match="evidence row 1"):
        background.draws(evidence, np.zeros((3, 4)))
    assert np.isneginf(background.log_probability(evidence)).tolist() == [False, True]


@pytest.mark.parametrize("seed", range(12))
def test_contradictions_are_minimal(seed):
    problem = Problem(seed, n=5, zeros=0.4)
    rows = impossible_rows(problem)
    for row in rows[:: max(1, len(rows) // 5)]:
        with pytest.raises(ImpossibleEvidenceError) as caught:
            problem.background.check(row[None])
        named = [v for v, name in enumerate(problem.background.features) if f"{name}=" in str(caught.value)]
        assert p_of(problem, row, named) == 0
        for v in named:
            assert p_of(problem, row, [u for u in named if u != v]) > 0


def p_of(problem, row, members):
    index = tuple(row[v] if v in members else slice(None) for v in range(len(row)))
    return problem.p_features[index].sum()


def relaxed_members(problem, row, members):
    """The documented rule: in the network's order, keep what is possible with what was kept."""
    kept = []
    for v in sorted(members, key=lambda u: problem.nodes[u]):
        if p_of(problem, row, [*kept, v]) > 0:
            kept.append(v)
    return kept


@pytest.mark.parametrize("seed", range(10))
def test_relaxed_expectations(seed):
    """Dropped evidence is not conditioned on, but its own value still enters the term."""
    problem = Problem(seed, n=5, zeros=0.4, impossible="relax")
    tables = problem.term_tables()
    rows = impossible_rows(problem)
    for row in rows[:: max(1, len(rows) // 3)]:
        got = expectations(problem.background, problem.evidence(row), problem.vectors, problem.terms)
        assert np.isfinite(got).all()
        for members, value in zip(problem.coalitions, got, strict=True):
            observed = set(np.flatnonzero(members))
            kept = relaxed_members(problem, row, observed)
            condition = tuple(row[v] if v in kept else slice(None) for v in range(len(row)))
            p = np.zeros_like(problem.p_features)
            p[condition] = problem.p_features[condition]
            p /= p.sum()
            # the model sees e_v for every observed feature, kept or not
            seen = np.ix_(*([row[v]] * c if v in observed else range(c) for v, c in enumerate(problem.cards)))
            expected = (p[..., None] * tables[seen]).reshape(-1, tables.shape[-1]).sum(axis=0)
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-9)
        ones = np.ones((len(problem.terms), 1))
        sums = problem.background.expected_sums(problem.evidence(row), problem.vectors, problem.terms, ones)
        np.testing.assert_allclose(sums[:, 0], got.sum(axis=1), rtol=0, atol=1e-9)
        full = got[problem.coalitions.all(axis=1)][0]
        np.testing.assert_allclose(full, tables[tuple(row)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_relaxed_draws(seed):
    problem = Problem(seed, n=5, zeros=0.4, impossible="relax")
    rows = impossible_rows(problem)
    if not len(rows):
        pytest.fail("this seed has no impossible row; choose another")
    row = rows[len(rows) // 2]
    evidence = problem.evidence(row)
    conditions = problem.background.possible_evidence(evidence)
    for members, condition in zip(problem.coalitions, conditions, strict=True):
        kept = relaxed_members(problem, row, set(np.flatnonzero(members)))
        assert sorted(np.flatnonzero(condition >= 0)) == sorted(kept)
    draws = problem.background.draws(evidence, np.random.default_rng(1).random((30, 5)))
    for e, d in zip(evidence, draws, strict=True):
        np.testing.assert_array_equal(d[:, e >= 0], np.broadcast_to(e[e >= 0], d[:, e >= 0].shape))


def test_possible_rows_are_not_relaxed(wet):
    every = np.array(list(itertools.product([-1, 0, 1], repeat=4)))
    possible = ~np.isneginf(wet().log_probability(every))
    relaxed = wet(impossible="relax").possible_evidence(every)
    np.testing.assert_array_equal(relaxed[possible], every[possible])
    assert (relaxed[~possible] != every[~possible]).any(axis=1).all()


def test_unsigned_codes(wet):
    row = np.array([[1, 0, 1, 0]])
    relaxed = wet(impossible="relax").possible_evidence(row.astype(np.uint8))
    np.testing.assert_array_equal(relaxed, wet(impossible="relax").possible_evidence(row))
    assert (relaxed == -1).any()


def test_codes_are_checked(wet):
    with pytest.raises(UnknownStateError, match="row 1: 2 is not a state code of feature 'n0'"):
        wet().check(np.array([[0, 0, 0, 0], [2, 0, 0, 0]]))
    with pytest.raises(UnknownStateError, match="-2"):
        wet().log_probability(np.array([[0, 0, 0, -2]]))
    with pytest.raises(UnknownStateError, match="70000"):
        wet().log_probability(np.array([[0, 0, 0, 70000]]))
    with pytest.raises(RowsError, match=r"\(rows, 4\)"):
        wet().log_probability(np.array([[0, 0, 0]]))
    with pytest.raises(RowsError, match="integers"):
        wet().log_probability(np.array([[0.0, 0.0, 0.0, 0.0]]))
