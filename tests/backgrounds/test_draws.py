"""Draws are exact: chi-square against enumerated conditionals, seeded; false alarms at most 1e-4 per test."""

import numpy as np
import pytest
from scipy.stats import chisquare

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.circuit import distribution_function
from tests.backgrounds.problems import Problem, as_network, holds_causes


def conditional(problem, evidence):
    """P(x | e) over all joint states of the features, flat."""
    p = problem.p_features.copy()
    for v, code in enumerate(evidence):
        if code >= 0:
            keep = np.zeros(problem.cards[v], dtype=bool)
            keep[code] = True
            p *= keep.reshape([-1 if u == v else 1 for u in range(p.ndim)])
    return p.ravel() / p.sum()


def chi_square(problem, evidence, draws):
    flat = np.ravel_multi_index(tuple(draws.T), problem.cards)
    counts = np.bincount(flat, minlength=problem.p_features.size)
    p = conditional(problem, evidence)
    assert counts[p == 0].sum() == 0, "an impossible state was drawn"
    expected = p * len(draws)
    # states that are expected fewer than 5 times are counted together
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    if wanted[-1] < 5:
        smallest = np.argmin(wanted[:-1])
        observed[smallest] += observed[-1]
        wanted[smallest] += wanted[-1]
        observed, wanted = observed[:-1], wanted[:-1]
    return 1.0 if len(wanted) < 2 else chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue


@pytest.mark.parametrize("latent", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_draws_follow_the_conditional(seed, latent):
    problem = Problem(seed, n=5, zeros=0.2 * (seed % 2), latent=latent)
    evidence = problem.evidence()
    uniforms = np.random.default_rng(100 + seed).random((20_000, 5))
    picked = np.unique(np.linspace(0, len(evidence) - 1, 12).astype(int))
    draws = problem.background.draws(evidence[picked], uniforms)
    assert draws.shape == (len(picked), 20_000, len(problem.cards))
    p_values = [chi_square(problem, evidence[i], draws[j]) for j, i in enumerate(picked)]
    assert min(p_values) > 1e-4 / len(picked)


def test_both_kinds_of_evidence_are_covered():
    problem = Problem(0, n=5, latent=False)
    ancestral = holds_causes(problem.background, problem.coalitions)
    assert 1 < ancestral.sum() < len(ancestral) - 1
    uniforms = np.random.default_rng(7).random((20_000, 5))
    for kind in (True, False):
        evidence = problem.evidence()[ancestral == kind]
        draws = problem.background.draws(evidence, uniforms)
        p_values = [chi_square(problem, e, d) for e, d in zip(evidence, draws, strict=True)]
        assert min(p_values) > 1e-4 / len(p_values)


def test_common_random_numbers():
    """The same numbers give the same draws, whatever else is in the batch; and close conditions give close draws."""
    problem = Problem(4, n=6, latent=False)
    evidence = problem.evidence()
    uniforms = np.random.default_rng(3).random((200, 6))
    together = problem.background.draws(evidence, uniforms)
    for i in (0, 5, 17, len(evidence) - 1):
        np.testing.assert_array_equal(problem.background.draws(evidence[i : i + 1], uniforms)[0], together[i])
    np.testing.assert_array_equal(problem.background.draws(evidence, uniforms[:20]), together[:, :20])


def test_features_out_of_reach_of_the_evidence_do_not_move():
    """n2 is independent of n0 -> n1: its draws are the same under all evidence on the others, clamped or not."""
    tables = (np.array([0.3, 0.7]), np.array([[0.8, 0.1], [0.2, 0.9]]), np.array([0.25, 0.75]))
    background = DiscreteBackground(as_network([2, 2, 2], [(), (0,), ()], tables))
    uniforms = np.random.default_rng(5).random((500, 3))
    draws = background.draws(np.array([[-1, -1, -1], [1, -1, -1], [-1, 0, -1], [0, 1, -1]]), uniforms)
    for other in draws[1:]:
        np.testing.assert_array_equal(draws[0, :, 2], other[:, 2])


def test_zero_probability_is_never_drawn():
    bounds = distribution_function(np.array([0.0, 0.5, 0.0, 0.5, 0.0]))
    for u, state in ((0.0, 1), (0.499999, 1), (0.5, 3), (np.nextafter(1, 0), 3)):
        assert (u >= bounds).sum() == state
    # ten times 0.1 adds up to less than the largest number below 1
    bounds = distribution_function(np.array([0.1] * 10 + [0.0]))
    assert (np.nextafter(1, 0) >= bounds).sum() == 9
