"""Random numbers in groups: Latin hypercubes inside, independent outside, each number uniform."""

import numpy as np
import pytest

from shap_asv.strata import group_of_draws, sobol_uniforms, spread_uniforms


@pytest.mark.parametrize(("n_draws", "n_groups"), [(12, 3), (10, 4), (7, 7), (9, 1), (1005, 100)])
def test_one_draw_in_each_interval_of_its_group(n_draws, n_groups):
    numbers = spread_uniforms(np.random.default_rng(0), 4, n_draws, n_groups)
    assert numbers.shape == (4, n_draws)
    assert (numbers >= 0).all()
    assert (numbers < 1).all()
    group = group_of_draws(n_draws, n_groups)
    sizes = np.bincount(group)
    assert len(sizes) == n_groups
    assert sizes.max() - sizes.min() <= 1
    for g, size in enumerate(sizes):
        for row in numbers[:, group == g]:
            assert sorted((row * size).astype(int)) == list(range(size))


def test_each_number_is_uniform_and_coordinates_are_independent():
    """Chi-square over 10 bins for each of 6 places and over 5 x 5 bins for two coordinates; seeds are fixed, over
    others the false alarm is 1e-4 each."""
    rng = np.random.default_rng(1)
    samples = np.stack([spread_uniforms(rng, 2, 6, 2) for _ in range(5000)])
    for place in range(6):
        counts = np.bincount((samples[:, 0, place] * 10).astype(int), minlength=10)
        assert ((counts - 500) ** 2 / 500).sum() < 33.7  # chi-square, 9 degrees of freedom
        pairs = (samples[:, 0, place] * 5).astype(int) * 5 + (samples[:, 1, place] * 5).astype(int)
        counts = np.bincount(pairs, minlength=25)
        assert ((counts - 200) ** 2 / 200).sum() < 59.8  # 24 degrees of freedom


def test_groups_are_independent_and_neighbours_in_a_group_are_not():
    rng = np.random.default_rng(2)
    samples = np.stack([spread_uniforms(rng, 1, 6, 2)[0] for _ in range(4000)])
    correlation = np.corrcoef(samples.T)
    inside = [correlation[0, 1], correlation[0, 2], correlation[4, 5]]
    assert max(inside) < -0.3  # of three in a group: -(1 - 1/9) / 2
    assert np.abs(correlation[:3, 3:]).max() < 0.07


def test_sobol_groups_fill_every_pair_of_coordinates_evenly():
    numbers = sobol_uniforms(np.random.default_rng(1), 5, 128, n_groups=2)
    assert numbers.shape == (5, 128)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    for group in (numbers[:, :64], numbers[:, 64:]):
        for row in group:
            assert np.array_equal(np.sort((64 * row).astype(int)), np.arange(64))
        first, second = (8 * group[0]).astype(int), (8 * group[1]).astype(int)
        assert len(set((8 * first + second).tolist())) == 64
    assert not np.allclose(numbers[:, :64], numbers[:, 64:])


@pytest.mark.parametrize(("n_draws", "n_groups"), [(1, 1), (7, 3), (50, 8), (96, 2)])
def test_sobol_means_are_unbiased_and_groups_independent(n_draws, n_groups):
    """A jump and a product, whose means are known; sizes that are not powers of two, too."""
    runs = np.array([sobol_uniforms(np.random.default_rng(seed), 3, n_draws, n_groups) for seed in range(600)])
    group = group_of_draws(n_draws, n_groups)
    values = (runs[:, 0] > 0.3) * runs[:, 1] + runs[:, 2]
    means = np.stack([values[:, group == g].mean(axis=1) for g in range(n_groups)], axis=1)
    total = values.mean(axis=1)
    assert abs(total.mean() - 0.85) < 5 * total.std() / np.sqrt(len(total))
    if n_groups > 1:
        correlation = np.corrcoef(means[:, 0], means[:, 1])[0, 1]
        assert abs(correlation) < 5 / np.sqrt(len(means))
        # the spread between groups is an honest estimate of the error of their mean (sizes differ by one at most)
        claimed = (means.var(axis=1, ddof=1) / n_groups).mean()
        assert claimed == pytest.approx(means.mean(axis=1).var(), rel=0.35)


def test_sobol_draws_need_a_sixth_of_independent_ones():
    """Variance of the mean of a function with a jump and an interaction, 8 groups of 64."""

    def explained(u):
        return (u[0] + u[1] > 1.1) + u[2] * u[3] + np.sin(3 * u[4])

    def variance(make):
        return np.var([explained(make(np.random.default_rng(seed))).mean() for seed in range(300)])

    spread = variance(lambda rng: sobol_uniforms(rng, 5, 512, n_groups=8))
    independent = variance(lambda rng: rng.random((5, 512)))
    assert spread < independent / 6


def test_more_coordinates_than_sobol_has(monkeypatch):
    from scipy.stats import qmc

    monkeypatch.setattr(qmc.Sobol, "MAXDIM", 2)
    numbers = sobol_uniforms(np.random.default_rng(1), 4, 16, n_groups=2)
    for row in numbers:
        assert np.array_equal(np.sort((8 * row[:8]).astype(int)), np.arange(8))
