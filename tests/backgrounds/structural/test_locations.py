"""Where fitted mechanisms lie: along a direction, and by weights that follow the noise."""

from dataclasses import replace

import numpy as np
import pytest

from shap_asv.backgrounds.structural import StructuralModel
from shap_asv.backgrounds.structural.mechanisms.bends import fit_bend
from shap_asv.backgrounds.structural.mechanisms.design import Design
from shap_asv.backgrounds.structural.mechanisms.locations import (
    LocationData,
    fit_bent,
    fit_smooth,
    fit_straight,
    fit_weighted,
    noise_weights,
)
from shap_asv.backgrounds.structural.mechanisms.steps import find_step
from shap_asv.backgrounds.tables.codec import TableCodec


def problem(mean, spread, n=1500, columns=3, seed=0):
    """Rows (n, columns) of causes, the mean of their effect, and what locations are fitted to."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    causes = rng.standard_t(5, size=(n, columns))
    target = mean(causes) + spread(causes) * rng.standard_t(3, size=n)
    kinds = [column.kind for column in TableCodec.learn(pd.DataFrame(causes)).columns]
    data = LocationData(Design.learn(causes, kinds), causes, target, rng.permutation(n) % 5)
    return data, mean(causes)


def missed(fitted, data, truth):
    """Root mean squared error of a location, beside a shift that the noise takes up."""
    return float(np.std(fitted.function(data.parents) - truth))


SLOPES = np.array([0.8, -1.0, 0.6])


def wave(causes):
    return 2 * np.sin(causes @ SLOPES)


def test_a_curve_along_a_direction_finds_both():
    data, truth = problem(wave, lambda causes: np.full(len(causes), 0.1))
    bend = fit_bend(data.design, data.parents, data.target)
    found = bend.slopes / [variable.scale for variable in data.design.variables]
    assert found / np.linalg.norm(found) == pytest.approx(SLOPES / np.linalg.norm(SLOPES), abs=0.02)
    assert np.mean((bend(data.parents) - truth) ** 2) < 0.1 * np.var(truth)


def test_a_bent_location_follows_what_main_effects_and_pairs_blur():
    data, truth = problem(wave, lambda causes: np.full(len(causes), 0.3))
    assert missed(fit_bent(data), data, truth) < 0.5 * missed(fit_smooth(data), data, truth)


@pytest.mark.parametrize("fit", [fit_straight, fit_smooth, fit_bent])
def test_weights_follow_the_noise(fit):
    """A location where noise is small is not spoiled by rows where it is twenty times as large."""
    data, truth = problem(lambda causes: causes @ SLOPES, lambda causes: np.where(causes[:, 0] > 0, 2.0, 0.1))
    even, weighted = fit(data), fit_weighted(fit, data)
    assert weighted.name == f"weighted {even.name}"
    assert noise_weights(data, even)[1] > 2
    calm = data.parents[:, 0] < 0

    def wrong(fitted):
        return np.std((fitted.function(data.parents) - truth)[calm])

    assert wrong(weighted) < 0.6 * wrong(even)
    assert np.std((weighted.held_out - truth)[calm]) < 0.8 * np.std((even.held_out - truth)[calm])


def test_even_weights_change_nothing():
    data, _ = problem(wave, lambda causes: np.full(len(causes), 0.3), n=300)
    ones = LocationData(data.design, data.parents, data.target, data.folds, roots=np.ones(300))
    for fit in (fit_straight, fit_smooth, fit_bent):
        assert fit(ones).held_out == pytest.approx(fit(data).held_out, abs=1e-9)


def test_without_noise_weights_promise_nothing():
    data, _ = problem(lambda causes: causes @ SLOPES, lambda causes: np.zeros(len(causes)), n=200)
    exact = fit_straight(data)
    weights, promise = noise_weights(data, replace(exact, held_out=data.target))
    assert promise == 1.0
    assert (weights == 1).all()


def test_no_row_weighs_less_than_a_thousandth_of_the_mean():
    data, truth = problem(lambda causes: causes @ SLOPES, lambda causes: np.full(len(causes), 0.1))
    far = data.target.copy()
    far[7] += 1e6
    weights, _ = noise_weights(replace(data, target=far), replace(fit_straight(data), held_out=truth))
    assert weights[7] == 1e-3
    assert (np.delete(weights, 7) > 1e-3).all()


@pytest.mark.parametrize("columns", [2, 3])
def test_auto_takes_what_it_needs(columns):
    import pandas as pd

    names = ["a", "b", "c"][:columns]
    data, _ = problem(
        lambda causes: 2 * np.sin(causes @ SLOPES[:columns]),
        lambda causes: np.where(causes[:, 0] > 0, 0.6, 0.1),
        columns=columns,
    )
    table = pd.DataFrame(data.parents, columns=names).assign(y=data.target)
    model = StructuralModel.fit(table, [(cause, "y") for cause in names], seed=0, silent=True)
    assert model.mechanisms[model.nodes.index("y")].describe().startswith("weighted bent + ")


@pytest.mark.parametrize(("jump", "edge"), [(14, 14.5), (15, 14.5), (40, 39.5), (85, 84.5), (86, 84.5)])
def test_a_step_has_fifteen_rows_on_either_side(jump, edge):
    """A hundred rows at 0, 1, ...: a jump nearer to an end is taken for one that is just far enough."""
    place = np.arange(100.0)
    residuals = np.where(place >= jump, 1.0, 0.0)
    shuffled = np.random.default_rng(0).permutation(100)
    columns = np.column_stack([np.zeros(100), place])[shuffled]
    assert find_step(columns, (residuals - residuals.mean())[shuffled]) == (1, edge)
    assert find_step(columns[:29], residuals[shuffled][:29]) is None
