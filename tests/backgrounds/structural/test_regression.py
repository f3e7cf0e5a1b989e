"""The parts that mechanisms are made of: designs, least squares, smooth functions, steps, weights, noises, forests."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from shap_asv.backgrounds.structural import numbers
from shap_asv.backgrounds.structural.mechanisms import Empirical, Support
from shap_asv.backgrounds.structural.numbers import NumberTask
from shap_asv.backgrounds.structural.regression import Design, SmoothFit, Trees
from shap_asv.backgrounds.tables.border import quantile_between
from shap_asv.backgrounds.tables.codec import ColumnKind

NUMBER, CATEGORY = ColumnKind(False), ColumnKind(True, 3)
SLOPES = np.array([0.8, -1.0, 0.6])


def task_of(parents, target, kinds=None, copies=None):
    design = Design.learn(parents, kinds or [NUMBER] * parents.shape[1])
    return NumberTask(design, parents, target, Support.learn(target, False), 0, copies)


def three_parents(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=n), rng.standard_t(4, size=n), rng.integers(0, 3, n)])


def test_held_out_predictions_are_those_of_fits_without_the_row():
    """Written out for some rows of one to three copies: all of these left out, with weights, after one more column."""
    rng = np.random.default_rng(0)
    some = three_parents(60)
    copies = np.repeat(np.arange(60), 1 + np.arange(60) % 3)
    parents = some[copies]
    target = (np.sin(2 * some[:, 0]) + some[:, 2] + rng.normal(size=60))[copies]
    weights = rng.uniform(0.2, 2.0, 60)[copies]
    roots, counts = np.sqrt(weights), np.bincount(copies)[copies]
    fit = SmoothFit.prepare(Design.learn(parents, [NUMBER, NUMBER, CATEGORY]), parents, roots, counts)
    squares, freedom = fit.penalised((1.0, 10.0))
    assert freedom == pytest.approx(np.trace(np.linalg.solve(squares.system, fit.even.system)), rel=1e-6)
    richer = squares.with_column((parents[:, 0] > 0.3).astype(float))
    penalty = richer.system - richer.matrix.T @ richer.matrix
    held_out = richer.fit(np.stack([target, target**2], axis=1))[1]
    for k in range(0, 60, 7):
        inside = copies != k
        matrix, y = richer.matrix[inside], (target * roots)[inside]
        b = np.linalg.solve(matrix.T @ matrix + penalty, matrix.T @ y)
        expected = (richer.matrix[~inside] / roots[~inside, None]) @ b
        np.testing.assert_allclose(held_out[~inside, 0], expected, atol=1e-6)


def test_smooth_fits_find_curves_and_interactions_and_stay_calm_outside():
    parents = three_parents(3000)

    def truth(x):
        bends = np.sin(2 * x[:, 0]) + 0.5 * x[:, 0] * np.clip(x[:, 1], -3, 3)
        return bends + np.array([0.0, 1.0, -1.0])[x[:, 2].astype(int)]

    target = truth(parents) + 0.3 * np.random.default_rng(1).normal(size=3000)
    fitted = numbers.fit_smooth(task_of(parents, target, [NUMBER, NUMBER, CATEGORY]))
    fresh = three_parents(2000, seed=7)
    fresh = fresh[np.abs(fresh[:, 1]) < 3]
    assert np.sqrt(np.mean((fitted.function(fresh) - truth(fresh)) ** 2)) < 0.12
    assert np.mean((target - fitted.held_out) ** 2) < 0.3**2 * 1.15
    far = np.array([[0.0, 1e6, 0.0], [0.0, 1e9, 0.0]])
    assert np.abs(np.diff(fitted.function(far))[0]) <= 1e9  # straight at most: a cubic would give 1e27


@pytest.mark.parametrize("name", ["linear", "smooth", "smooth with steps", "boosting"])
def test_locations_of_noise_know_that_they_know_nothing(name):
    """A fit that has seen a row of pure noise predicts it better than by chance."""
    parents, target = three_parents(200), np.random.default_rng(1).normal(size=200)
    fitted = numbers.LOCATIONS[name](task_of(parents, target, [NUMBER, NUMBER, CATEGORY]))
    assert np.mean((target - fitted.held_out) ** 2) > 0.97 * np.mean((target - target.mean()) ** 2)
    assert np.mean((target - fitted.function(parents)) ** 2) < np.mean((target - fitted.held_out) ** 2)


def test_steps_find_jumps():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2))
    column, edge = numbers.find_step(x, 3.0 * (x[:, 1] > 0.4) + 0.1 * rng.normal(size=2000))
    assert column == 1
    assert edge == pytest.approx(0.4, abs=0.01)
    assert numbers.find_step(np.ones((40, 1)), rng.normal(size=40)) is None
    target = np.sin(x[:, 0]) + 3.0 * (x[:, 1] > 0.4) + 0.3 * rng.normal(size=2000)
    task = task_of(x, target)
    smooth, stepped = numbers.fit_smooth(task), numbers.fit_stepped(task)
    errors = [np.mean((target - one.held_out) ** 2) for one in (smooth, stepped)]
    assert errors[1] < min(0.75 * errors[0], 1.1 * 0.09)
    assert [height for _, _, height in stepped.function.steps] == pytest.approx([3.0], abs=0.2)
    np.testing.assert_allclose(stepped.function(np.array([[0.0, 0.3], [0.0, 0.5]])), [0.0, 3.0], atol=0.4)


@pytest.mark.parametrize("name", ["linear", "smooth"])
def test_weights_follow_the_noise(name):
    """A location where noise is small is not spoiled by rows where it is twenty times as large."""
    rng = np.random.default_rng(0)
    x = rng.standard_t(5, size=(1500, 3))
    target = x @ SLOPES + np.where(x[:, 0] > 0, 2.0, 0.1) * rng.standard_t(3, size=1500)
    task, calm = task_of(x, target), x[:, 0] < 0
    even, weighted = (numbers.LOCATIONS[one](task) for one in (name, f"weighted {name}"))
    assert weighted.name == f"weighted {name}"
    assert numbers.noise_weights(task, even)[1] > 2

    def wrong(fitted):
        return np.std((fitted.function(x) - x @ SLOPES)[calm])

    assert wrong(weighted) < 0.6 * wrong(even)


def test_weights_where_there_is_no_noise_or_a_row_far_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    exact = numbers.FittedLocation("exact", lambda parents: parents @ SLOPES, x @ SLOPES)
    weights, promise = numbers.noise_weights(task_of(x, x @ SLOPES), exact)
    assert promise == 1.0
    assert (weights == 1).all()
    far = x @ SLOPES + 0.1 * rng.standard_t(3, size=200)
    far[7] += 1e6
    weights, _ = numbers.noise_weights(task_of(x, far), exact)
    assert weights[7] == 1e-3  # none is lost
    assert (np.delete(weights, 7) > 1e-3).all()


def test_shaped_noise_follows_modes_that_trade_places():
    """Modes at -1 and 1 of probabilities that change with x; and draws rise with the uniform number."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 1))
    residuals = np.where(rng.random(2000) < expit(3 * x[:, 0]), 1.0, -1.0) + 0.1 * rng.normal(size=2000)
    noise = numbers.learn_noise(task_of(x, residuals), "shaped residuals", residuals)[0]
    at = np.array([[-1.0], [-0.3], [0.0], [0.5], [1.0]])
    drawn = noise.draw(at, np.broadcast_to((np.arange(1000) + 0.5) / 1000, (5, 1000)))
    np.testing.assert_allclose((drawn > 0).mean(axis=1), expit(3 * at[:, 0]), atol=0.08)
    assert (np.diff(drawn, axis=1) >= 0).all()
    assert (np.abs(np.abs(drawn) - 1) < 0.4).mean() > 0.97


def test_drawn_leaves_are_those_of_the_drawn_trees():
    """Each draw falls into the leaf of its own tree, whether there are more draws than trees or fewer."""
    rng = np.random.default_rng(0)
    x = rng.random((500, 1))
    trees = Trees.grow(Design.learn(x, [NUMBER]), x, (x > 0.5).astype(float), 20, n_trees=30, seed=0)
    points, uniforms = np.array([[0.3], [0.7]]), rng.random((2, 4000))
    leaves = trees.drawn_leaves(points, uniforms)
    expected = trees.leaves(points)[(uniforms * 30).astype(int), np.arange(2)[:, None]]
    np.testing.assert_array_equal(leaves, expected)
    one_by_one = trees.drawn_leaves(np.repeat(points, 4000, axis=0), uniforms.reshape(-1, 1))
    np.testing.assert_array_equal(one_by_one.ravel(), leaves.ravel())


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
    middle = np.median(gaps[np.isfinite(gaps)])
    filled, known = (design.linear(np.array([[7.0, number, 1.0]]))[0, 30] for number in (np.inf, middle))
    assert filled == known


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


def test_penalties_are_as_large_with_copies_as_without():
    """Each row three times: leave-one-out that sees the copies would take noise for a curve."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 1))
    followed = 0
    for _ in range(10):
        y = np.sin(x[:, 0]) + rng.normal(size=60)
        thrice, copies = np.repeat(x, 3, axis=0), np.repeat(np.arange(60), 3)
        once = task_of(x, y).smooth.squares(y)
        with_copies = task_of(thrice, np.repeat(y, 3), copies=copies).smooth.squares(np.repeat(y, 3))
        blind = task_of(thrice, np.repeat(y, 3)).smooth.squares(np.repeat(y, 3))
        freedom = [np.sum(one.leverage) for one in (once, with_copies, blind)]
        assert freedom[1] <= 1.5 * freedom[0] + 1
        followed += freedom[2] > 1.5 * freedom[0] + 1
    assert followed > 2


def test_auto_takes_what_it_needs():
    """Noise that differs twenty-fold asks for weights and a scale; a jump for a step."""
    from shap_asv import StructuralModel

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 1500))
    jump = 2 * (b > 0.2) + np.sin(2 * a) + 0.3 * rng.normal(size=1500)
    uneven = a - b + np.where(a > 0, 2.0, 0.1) * rng.standard_t(3, size=1500)
    table = pd.DataFrame({"a": a, "b": b, "jump": jump, "uneven": uneven})
    edges = [(cause, effect) for cause in "ab" for effect in ("jump", "uneven")]
    model = StructuralModel.fit(table, edges, seed=0, silent=True)
    described = {name: one.describe() for name, one in zip(model.nodes, model.mechanisms, strict=True)}
    assert described["jump"].startswith("smooth with steps + ")
    assert described["uneven"].startswith("weighted ")
    assert described["uneven"].split(" + ")[1] != "residuals"
