"""The parts that mechanisms are made of: designs, smooth functions, steps, forests."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.special import expit

from shap_asv.backgrounds.structural.mechanisms.contract import Empirical, Support
from shap_asv.backgrounds.structural.mechanisms.design import Design
from shap_asv.backgrounds.structural.mechanisms.forests import LeafValues
from shap_asv.backgrounds.structural.mechanisms.locations import LocationData, fit_smooth, fit_stepped, fit_straight
from shap_asv.backgrounds.structural.mechanisms.noises import Scale, ShapedNoise
from shap_asv.backgrounds.structural.mechanisms.splines import SmoothFit, cubic_basis
from shap_asv.backgrounds.structural.mechanisms.steps import Steps, find_step
from shap_asv.backgrounds.tables.columns import ColumnKind
from shap_asv.backgrounds.tables.quantiles import quantile_between

NUMBER, CATEGORY = ColumnKind(False), ColumnKind(True, 3)


def three_parents(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=n), rng.standard_t(4, size=n), rng.integers(0, 3, n)])


def test_splines_are_those_of_scipy():
    t = np.linspace(0, 1, 50)
    knots = np.arange(-3, 8) / 4.0
    expected = BSpline.design_matrix(np.minimum(t, 1 - 1e-12), knots, 3).toarray()
    np.testing.assert_allclose(cubic_basis(t, 7), expected, atol=1e-9)
    np.testing.assert_allclose(cubic_basis(np.array([-5.0, 9.0]), 7), cubic_basis(np.array([0.0, 1.0]), 7))


def test_a_tabulated_function_is_the_regression_it_came_from():
    parents = three_parents(800)
    target = np.sin(2 * parents[:, 0]) + parents[:, 2] * parents[:, 0] + np.random.default_rng(1).normal(size=800)
    design = Design.learn(parents, [NUMBER, NUMBER, CATEGORY])
    fit = SmoothFit.prepare(design, parents)
    b = fit.coefficients(target, fit.best_penalty(target))
    np.testing.assert_allclose(fit.basis.tabulated(b)(parents), fit.matrix @ b, atol=0.02)
    # a twin: penalised least squares written out
    main, pair = fit.basis.penalties()
    stacked = fit.matrix.T @ fit.matrix + 1.0 * main + 10.0 * pair + 1e-6 * np.eye(len(b))
    expected = np.linalg.solve(stacked, fit.matrix.T @ target)
    np.testing.assert_allclose(fit.matrix @ fit.coefficients(target, (1.0, 10.0)), fit.matrix @ expected, atol=1e-6)
    some = np.arange(800) % 3 > 0
    short = fit.matrix[some]
    expected = np.linalg.solve(
        short.T @ short + 1.0 * main + 10.0 * pair + 1e-6 * np.eye(len(b)), short.T @ target[some]
    )
    np.testing.assert_allclose(
        fit.matrix @ fit.coefficients(target, (1.0, 10.0), some), fit.matrix @ expected, atol=1e-5
    )


def test_smooth_fits_find_curves_and_interactions_and_stay_calm_outside():
    parents = three_parents(3000)

    def truth(x):
        return (
            np.sin(2 * x[:, 0])
            + 0.5 * x[:, 0] * np.clip(x[:, 1], -3, 3)
            + np.array([0.0, 1.0, -1.0])[x[:, 2].astype(int)]
        )

    target = truth(parents) + 0.3 * np.random.default_rng(1).normal(size=3000)
    design = Design.learn(parents, [NUMBER, NUMBER, CATEGORY])
    folds = np.arange(3000) % 5
    fitted = fit_smooth(LocationData(design, parents, target, folds))
    fresh = three_parents(2000, seed=7)
    fresh = fresh[np.abs(fresh[:, 1]) < 3]
    assert np.sqrt(np.mean((fitted.function(fresh) - truth(fresh)) ** 2)) < 0.12
    assert np.mean((target - fitted.held_out) ** 2) < 0.3**2 * 1.15
    far = np.array([[0.0, 1e6, 0.0], [0.0, 1e9, 0.0]])
    assert np.abs(np.diff(fitted.function(far))[0]) <= 1e9  # straight at most: a cubic would give 1e27


def test_smooth_fits_remember_what_they_were_asked(monkeypatch):
    parents = three_parents(300)
    fit = SmoothFit.prepare(Design.learn(parents, [NUMBER, NUMBER, CATEGORY]), parents)
    rows, target = parents[:, 0] > -0.5, parents[:, 1] + np.sin(parents[:, 0])
    first = fit.coefficients(target, fit.best_penalty(target), rows)
    for penalty, _, freedom in fit._factors:
        assert freedom == pytest.approx(np.trace(np.linalg.solve(fit._system(penalty), fit.gram)), rel=1e-6)
    solved = []
    monkeypatch.setattr(SmoothFit, "_solved", lambda self, target, *rest: solved.append(target) or target)
    assert fit.coefficients(target.copy(), fit.best_penalty(target), rows) is first
    for other in ((target + 1, rows), (target, ~rows), (target, None)):
        fit.coefficients(other[0], fit.best_penalty(target), other[1])
    assert len(solved) == 3


def test_held_out_predictions_have_not_seen_their_rows():
    """With a target that is pure noise, a fit that has seen a row predicts it better than by chance."""
    parents = three_parents(200)
    target = np.random.default_rng(1).normal(size=200)
    design = Design.learn(parents, [NUMBER, NUMBER, CATEGORY])
    folds = np.arange(200) % 5
    for fit in (fit_straight, fit_smooth, fit_stepped):
        fitted = fit(LocationData(design, parents, target, folds))
        assert np.mean((target - fitted.held_out) ** 2) > 0.99 * np.mean((target - target.mean()) ** 2)
        assert np.mean((target - fitted.function(parents)) ** 2) < np.mean((target - fitted.held_out) ** 2)


def test_steps_find_jumps():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2))
    column, edge = find_step(x, 3.0 * (x[:, 1] > 0.4) + 0.1 * rng.normal(size=4000))
    assert column == 1
    assert edge == pytest.approx(0.4, abs=0.01)
    steps = Steps.build(2, [(1, 2.0), (1, 0.5), (0, 0.0)], np.array([3.0, 1.0, -5.0]))
    np.testing.assert_allclose(steps.at(np.array([[-1.0, 0.0], [-1.0, 1.0], [-1.0, 3.0], [1.0, 3.0]])), [0, 1, 4, -1])
    assert find_step(np.ones((40, 1)), rng.normal(size=40)) is None
    design = Design.learn(x, [NUMBER, NUMBER])
    target = np.sin(x[:, 0]) + 3.0 * (x[:, 1] > 0.4) + 0.3 * rng.normal(size=4000)
    errors = {
        fit: np.mean((target - fit(LocationData(design, x, target, np.arange(4000) % 5)).held_out) ** 2)
        for fit in (fit_smooth, fit_stepped)
    }
    assert errors[fit_stepped] < 0.75 * errors[fit_smooth]
    assert errors[fit_stepped] < 1.1 * 0.09


def test_a_forest_finds_where_the_spread_changes():
    """Same mean everywhere; trees on the mean alone would see nothing."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (3000, 1))
    y = rng.normal(size=3000) * np.where(x[:, 0] > 0.5, 3.0, 0.5)
    forest = LeafValues.grow(Design.learn(x, [NUMBER]), x, y, 600, seed=0)
    uniforms = rng.random((2, 4000, 2))
    drawn = forest.draw(np.array([[0.3], [0.7]]), uniforms)
    np.testing.assert_allclose(drawn.std(axis=1), [0.5, 3.0], rtol=0.3)
    # one draw at each of many points is the same function as many draws at one
    one_by_one = forest.draw(np.repeat([[0.3], [0.7]], 4000, axis=0), uniforms.reshape(-1, 1, 2))
    np.testing.assert_array_equal(one_by_one.reshape(2, 4000), drawn)


def test_shaped_noise_follows_modes_that_trade_places():
    """Modes at -1 and 1 of probabilities that change with x; and draws rise with the uniform number."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 1))
    upper = expit(3 * x[:, 0])
    residuals = np.where(rng.random(3000) < upper, 1.0, -1.0) + 0.1 * rng.normal(size=3000)
    fit = SmoothFit.prepare(Design.learn(x, [NUMBER]), x)
    noise = ShapedNoise.learn(fit, residuals, np.ones(3000, dtype=bool))
    at = np.array([[-1.0], [-0.3], [0.0], [0.5], [1.0]])
    grid = (np.arange(1000) + 0.5) / 1000
    drawn = noise.draw(at, np.broadcast_to(grid[None, :, None], (5, 1000, 1)))
    np.testing.assert_allclose((drawn > 0).mean(axis=1), expit(3 * at[:, 0]), atol=0.06)
    assert (np.diff(drawn, axis=1) >= 0).all()
    assert (np.abs(np.abs(drawn) - 1) < 0.4).mean() > 0.97


def test_scaled_noise_finds_the_spread():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 1))
    fit = SmoothFit.prepare(Design.learn(x, [NUMBER]), x)
    residuals = np.exp(0.8 * x[:, 0]) * rng.normal(size=3000)
    scale = Scale.learn(fit, residuals)
    assert scale(np.array([[1.0]]))[0] / scale(np.array([[-1.0]]))[0] == pytest.approx(np.exp(1.6), rel=0.2)
    assert scale(np.array([[50.0]]))[0] <= np.exp(0.8 * x.max())  # held inside of what was met


def test_a_forest_draws_training_values_of_the_leaf():
    x = np.repeat([0.0, 1.0], 50)[:, None]
    y = np.concatenate([np.arange(50.0), 100 + np.arange(50.0)])
    forest = LeafValues.grow(Design.learn(x, [NUMBER]), x, y, 10, seed=0, between=False)
    uniforms = np.random.default_rng(0).random((2, 3000, 2))
    drawn = forest.draw(np.array([[0.0], [1.0]]), uniforms)
    assert set(drawn[0]) == set(range(50))
    assert set(drawn[1]) == set(range(100, 150))
    assert abs(drawn[0].mean() - 24.5) < 5 * 14.5 / np.sqrt(3000)


def test_designs_of_categories_gaps_and_rare_codes():
    kinds = [ColumnKind(True, 40), ColumnKind(False, missing=True), ColumnKind(False)]
    codes = np.repeat(np.arange(40), np.arange(40, 0, -1))
    gaps = np.where(np.arange(len(codes)) % 4 == 0, np.inf, np.arange(len(codes)))
    parents = np.column_stack([codes, gaps, np.ones(len(codes))])
    design = Design.learn(parents, kinds)
    assert [variable.n_codes for variable in design.variables] == [30, 0, 2]  # the constant is left out
    matrix = design.linear(parents)
    assert matrix.shape == (len(codes), 33)
    assert np.isfinite(matrix).all()
    np.testing.assert_array_equal(matrix[:, :30].sum(axis=1), 1)
    assert (matrix[codes >= 29, 29] == 1).all()
    np.testing.assert_array_equal(matrix[:, 32], np.isinf(gaps))
    np.testing.assert_array_equal(
        design.linear(np.array([[7.0, np.inf, 1.0]]))[0, 30],
        design.linear(np.array([[7.0, np.median(gaps[np.isfinite(gaps)]), 1.0]]))[0, 30],
    )


@pytest.mark.parametrize(
    ("values", "whole", "drawn", "held"),
    [
        ([0.5, 1.0, 2.5] * 5, False, [-9, 0.7, 0.8, 1.7, 1.8, 9], [0.5, 0.5, 1.0, 1.0, 2.5, 2.5]),
        (np.arange(100.0), True, [-30.0, 1.4, 1.6, 500], [0, 1, 2, 124]),
        (np.arange(100.0) - 50, True, [-90.0, 1.4], [-75, 1]),
        (np.linspace(0, 1, 50), False, [-0.5, 0.333, 2.0], [-0.25, 0.333, 1.25]),
    ],
)
def test_draws_stay_where_values_may_lie(values, whole, drawn, held):
    support = Support.learn(np.asarray(values), whole)
    np.testing.assert_allclose(support.hold(np.asarray(drawn, dtype=float)), held)


def test_quantiles():
    ordered = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(quantile_between(ordered, np.array([0.0, 1 / 6, 0.5, 2 / 3, 0.9999])), [1, 1, 2, 3, 4])
    root = Empirical.learn(np.array([3.0, 1.0, 2.0, 2.0]))
    uniforms = np.array([[[0.0], [0.3], [0.74], [0.75], [0.999999]]])
    assert root.draw(np.empty((1, 0)), uniforms).tolist() == [[1.0, 2.0, 2.0, 3.0, 3.0]]
