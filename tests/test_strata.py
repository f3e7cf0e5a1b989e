"""Random numbers in groups: Latin hypercubes inside, independent outside, each number uniform."""

import numpy as np
import pytest

from shap_asv.strata import group_of_draws, spread_uniforms


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
