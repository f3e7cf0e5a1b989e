"""Evidence of probability 0: a named error. Never NaN."""

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
    assert "cpd.values = " in message
    with pytest.raises(ImpossibleEvidenceError, match=r"row 0 is impossible under the network \(1 more like it\)"):
        wet().check(np.array([[1, 0, 0, 0], [0, 1, 0, 0]]))
    wet().check(np.array([[0, 0, 1, 0], [1, 1, 1, 1]]))


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
