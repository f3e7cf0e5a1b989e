"""Draws are exact: chi-square against enumerated conditionals, seeded; false alarms at most 1e-4 per test."""

import numpy as np
import pytest
from scipy.stats import chisquare

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.drawing import distribution_function
from shap_asv.backgrounds.pgmpy_networks import read_network
from shap_asv.errors import ShapAsvError
from tests.backgrounds.problems import Problem, as_network, loaded


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


def test_draws_do_not_depend_on_the_batch():
    """A network large enough for several elimination orders: the batch must not choose among them."""
    plain = read_network(loaded("child"))
    background = DiscreteBackground(plain, [name for name in plain.names if name != "Disease"])
    n = background.n_features
    rng = np.random.default_rng(0)
    uniforms = rng.random((100, n + 1))
    rows = background.draws(np.full((1, n), -1), uniforms)[0]
    arbitrary = np.where(rng.random((30, n)) < 0.5, rows[:30], -1)
    together = background.draws(arbitrary, uniforms)
    # evidence that is closed under the features' own causes, but not under the latent one
    closed = np.full((100, n), -1)
    for name in ("BirthAsphyxia", "LVH", "DuctFlow"):
        closed[:, background.features.index(name)] = rows[:, background.features.index(name)]
    outnumbered = background.draws(np.concatenate([arbitrary, closed]), uniforms)
    np.testing.assert_array_equal(outnumbered[:30], together)
    np.testing.assert_array_equal(outnumbered[30:31], background.draws(closed[:1], uniforms))


def test_both_kinds_of_evidence_are_covered():
    problem = Problem(0, n=5, latent=False)
    ancestral = problem.background.is_ancestral(problem.coalitions)
    assert 1 < ancestral.sum() < len(ancestral) - 1
    uniforms = np.random.default_rng(7).random((20_000, 5))
    for kind in (True, False):
        evidence = problem.evidence()[ancestral == kind]
        draws = problem.background.draws(evidence, uniforms)
        p_values = [chi_square(problem, e, d) for e, d in zip(evidence, draws, strict=True)]
        assert min(p_values) > 1e-4 / len(p_values)


def test_observed_features_keep_their_values():
    problem = Problem(2, n=6)
    evidence = problem.evidence()
    draws = problem.background.draws(evidence, np.random.default_rng(0).random((50, 6)))
    for e, d in zip(evidence, draws, strict=True):
        np.testing.assert_array_equal(d[:, e >= 0], np.broadcast_to(e[e >= 0], d[:, e >= 0].shape))


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


def test_wrong_uniforms():
    background = Problem(0, n=4, latent=False).background
    with pytest.raises(ShapAsvError, match=r"\(10, 3\) are given; \(draws, 4\) is needed"):
        background.draws(np.full((1, 4), -1), np.zeros((10, 3)))


def test_no_evidence_no_draws():
    background = Problem(0, n=4, latent=False).background
    assert background.draws(np.empty((0, 4), dtype=int), np.zeros((10, 4))).shape == (0, 10, 4)
    assert background.draws(np.full((2, 4), -1), np.empty((0, 4))).shape == (2, 0, 4)
