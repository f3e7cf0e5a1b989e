"""Exact conditional expectations against sums over the full joint, on random networks and all coalitions."""

import numpy as np
import pytest

from shap_asv.backgrounds.discrete import engine
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.engine import Inference
from shap_asv.errors import BudgetExceededError, ShapAsvError
from tests.backgrounds.problems import Problem, as_network, expectations, holds_causes

KINDS = ["dag", "forest", "polytree", "edgeless", "complete", "chain"]


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_the_full_joint(kind, zeros):
    for seed in range(6):
        problem = Problem(seed, kind, n=2 + seed % 5, zeros=zeros)
        got = expectations(problem.background, problem.evidence(), problem.vectors, problem.terms)
        np.testing.assert_allclose(got, problem.expected(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["dag", "edgeless", "forest"])
def test_sums_are_expectations_times_coefficients(kind, monkeypatch):
    for seed in range(4):
        problem = Problem(seed, kind, n=5, n_terms=30)
        shuffled = problem.rng.permutation(2 * len(problem.coalitions))
        evidence = np.repeat(problem.evidence(), 2, axis=0)[shuffled]
        coefficients = problem.rng.normal(size=(30, 3))
        expected = np.repeat(problem.expected(), 2, axis=0)[shuffled] @ coefficients
        for limit in (1 << 20, 64):
            monkeypatch.setattr(engine, "RESULT_LIMIT", limit)
            got = problem.background.expected_sums(evidence, problem.vectors, problem.terms, coefficients)
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_row_0_of_the_vectors_is_all_ones():
    problem = Problem(0, n=4, latent=False)
    flipped = [vectors[::-1] for vectors in problem.vectors]
    with pytest.raises(ShapAsvError, match=r"row 0 of the vectors of feature 'n\d'.*all ones"):
        expectations(problem.background, problem.evidence(), flipped, problem.terms)


@pytest.mark.parametrize("seed", range(8))
def test_log_probability(seed):
    problem = Problem(seed, n=6, zeros=0.2)
    joint = problem.p_features
    for row in np.argwhere(np.ones(joint.shape, dtype=bool))[:: max(1, joint.size // 8)]:
        evidence = problem.evidence(row)
        got = problem.background.log_probability(evidence)
        for members, value in zip(evidence >= 0, got, strict=True):
            p = joint[tuple(row[v] if members[v] else slice(None) for v in range(len(row)))].sum()
            assert np.exp(value) == pytest.approx(p, abs=1e-12)
            assert np.isneginf(value) == (p == 0)


def test_the_probability_of_closed_evidence_needs_no_clique(monkeypatch):
    problem = Problem(3, n=6, latent=False, kind="complete")
    background = problem.background
    asked = []
    monkeypatch.setattr(
        Inference, "circuits", lambda self, evidence, nodes: asked.append(evidence.shape[1]) or iter(())
    )
    first_known = np.full((6, 6), -1)
    for size in range(6):  # the first nodes of a complete graph are all causes of one another
        first_known[size, np.isin(background.nodes, np.arange(size))] = 0
    assert holds_causes(background, first_known >= 0).all()
    background.log_probability(first_known)
    assert sum(asked) == 0
    background.log_probability(np.where(np.isin(background.nodes, [5]), 0, first_known))
    assert sum(asked) == 5  # all but the last, in which nothing is missing


def test_joint_table_has_a_limit():
    background = Problem(0, n=6, latent=False).background
    with pytest.raises(BudgetExceededError, match=f"needs {background.size} entries"):
        background.feature_joint(limit=background.size - 1)


def test_ancestral_coalitions():
    # n0 -> n1 -> n2, n3 alone; n1 latent, so n2 can never be clamped
    tables = (np.full(2, 0.5), np.eye(2), np.eye(2), np.full(2, 0.5))
    network = as_network([2] * 4, [(), (0,), (1,), ()], tables)
    coalitions = np.array(
        [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]], dtype=bool
    )
    assert holds_causes(DiscreteBackground(network), coalitions).tolist() == [True, True, False, True, True, True]
    latent = DiscreteBackground(network, ["n0", "n2", "n3"])
    assert holds_causes(latent, coalitions[:, [0, 2, 3]]).tolist() == [True, True, True, True, False, True]
