"""Donors: weights, clamping, dtypes, adjustment, and how close they come to known conditional means."""

import numpy as np
import pandas as pd
import pytest

from shap_asv import errors
from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
from shap_asv.backgrounds.donors.leaf_weights import Forest, LeafWeights, least_on_simplex
from shap_asv.backgrounds.donors.smoothers import PENALTIES, Basis, Ridge, Smoother
from tests.oracles import gaussians

nan = np.nan


def mixed_table(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n_rows)
    age = rng.integers(20, 80, n_rows)
    dose = 0.1 * age + (sex == "m") + rng.normal(size=n_rows)
    table = pd.DataFrame({"sex": pd.Categorical(sex), "age": age, "dose": dose})
    table["gap"] = np.where(rng.random(n_rows) < 0.2 + 0.5 * (sex == "m"), np.nan, dose + rng.normal(size=n_rows))
    table["flag"] = rng.random(n_rows) < 1 / (1 + np.exp(-(dose - 5)))
    table["town"] = rng.choice(["x", "y", "z"], n_rows)
    return table


def random_evidence(background, table, seed=1, count=12):
    rng = np.random.default_rng(seed)
    rows = background.read(table.iloc[:count])
    return np.where(rng.random(rows.shape) < 0.5, rows, nan)


def test_weighted_rows():
    table = mixed_table()
    background = ConditionalTable(table, seed=3)
    evidence = random_evidence(background, table)
    evidence[0], evidence[1] = nan, background.read(table.iloc[[1]])[0]
    rows, weights = background.weighted(evidence)
    assert rows.shape == (len(evidence), len(table), 6)
    assert np.allclose(weights.sum(axis=1), 1, atol=1e-12)
    assert weights.min() >= 0
    for e, lent in zip(evidence, rows, strict=True):
        held = ~np.isnan(e)
        assert np.all(lent[:, held] == e[held])
        assert not np.isnan(lent).any()
    assert np.array_equal(rows[0], background.rows)  # nothing is known: the table itself
    assert np.allclose(weights[0], 1 / len(table))
    assert np.all(rows[1] == evidence[1])


def test_draws_follow_the_weights():
    table = mixed_table()
    background = ConditionalTable(table)
    evidence = random_evidence(background, table, count=6)
    rows, weights = background.weighted(evidence)
    uniforms = ((np.arange(20_000) + 0.5) / 20_000)[:, None]
    drawn = background.draws(evidence, uniforms)
    for e in range(len(evidence)):
        finite = np.where(np.isinf(rows[e]), -1.0, rows[e])
        want = weights[e] @ finite
        got = np.where(np.isinf(drawn[e]), -1.0, drawn[e]).mean(axis=0)
        assert np.allclose(got, want, atol=0.02 * (1 + np.abs(want)))
    ends = background.draws(evidence, np.array([[0.0], [np.nextafter(1, 0)]]))
    assert not np.isnan(ends).any()


def test_gaussian_table_has_the_gaussian_means():
    rng = np.random.default_rng(0)
    n = 5
    mean, covariance = gaussians.random_gaussian(rng, n)
    data = rng.multivariate_normal(mean, covariance, 3000)
    row = mean + np.sqrt(np.diag(covariance)) * rng.normal(size=n)
    scales = np.sqrt(np.diag(covariance))
    background, misses = ConditionalTable(data), []
    for members in ([0], [1, 3], [0, 2, 4], [0, 1, 2, 3]):
        evidence = np.full((1, n), nan)
        evidence[0, members] = row[members]
        want, want_covariance = gaussians.conditional(mean, covariance, row, members)
        rows, weights = background.weighted(evidence)
        misses.append(np.abs((weights[0] @ rows[0] - want) / scales).max())
        spread = np.cov(rows[0].T, aweights=weights[0])
        assert np.abs((spread - want_covariance) / np.outer(scales, scales)).max() < 0.15
    assert max(misses) < 0.12


def test_curved_mean_changing_spread_and_categories():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 3000)
    y = np.sin(2 * x) + (0.1 + 0.5 * (x > 0)) * rng.normal(size=3000)
    town = np.where(rng.random(3000) < np.where(x > 0.5, 0.9, 0.2), "north", "south")
    background = ConditionalTable(pd.DataFrame({"x": x, "y": y, "town": town}))
    for at, spread, north in ((-1.0, 0.1, 0.2), (1.0, 0.6, 0.9)):
        rows, weights = background.weighted(np.array([[at, nan, nan]]))
        mean = weights[0] @ rows[0, :, 1]
        assert abs(mean - np.sin(2 * at)) < 0.1
        assert abs((weights[0] @ (rows[0, :, 1] - mean) ** 2) ** 0.5 - spread) < 0.15
        assert abs(weights[0] @ (rows[0, :, 2] == 0) - north) < 0.12
    # donors keep the dependence among what is free: given the town alone, y still follows x
    rows, weights = background.weighted(np.array([[nan, nan, 0.0]]))
    pair = np.cov(np.sin(2 * rows[0, :, 0]), rows[0, :, 1], aweights=weights[0])
    assert pair[0, 1] / np.sqrt(pair[0, 0] * pair[1, 1]) > 0.7


def test_gaps_are_lent_as_often_as_they_occur():
    table = mixed_table(2000)
    background = ConditionalTable(table)
    for code, want in ((0.0, 0.2), (1.0, 0.7)):
        rows, weights = background.weighted(np.array([[code, nan, nan, nan, nan, nan]]))
        assert abs(weights[0] @ np.isinf(rows[0, :, 3]) - want) < 0.08
        assert background.inputs(rows[0])["gap"].isna().mean() > 0
    # a gap can be conditioned on, where the table had some and where it had none
    assert np.isfinite(background.weighted(np.array([[nan, nan, nan, np.inf, nan, nan]]))[1]).all()
    assert np.isfinite(background.weighted(np.array([[nan, nan, np.inf, nan, nan, nan]]))[1]).all()


def test_atoms_and_few_values_are_lent_as_they_are():
    rng = np.random.default_rng(0)
    base = rng.normal(size=500)
    table = pd.DataFrame(
        {"base": base, "rain": np.maximum(0, base), "grade": np.digitize(base, [-1, 0, 1]).astype(float)}
    )
    background = ConditionalTable(table)
    rows, _ = background.weighted(np.array([[0.3, nan, nan]]))
    assert set(rows[0, :, 2]) <= {0.0, 1.0, 2.0, 3.0}
    assert set(rows[0, :, 1]) <= set(table["rain"])


def test_ten_rows_and_a_constant_column():
    table = mixed_table(10)
    table["constant"] = 7.0
    background = ConditionalTable(table)
    evidence = np.hstack([random_evidence(ConditionalTable(table.iloc[:, :6]), table.iloc[:, :6], count=10)])
    evidence = np.column_stack([evidence, np.where(np.arange(10) % 2, 7.0, nan)])
    rows, weights = background.weighted(evidence)
    assert np.allclose(weights.sum(axis=1), 1)
    assert np.all(rows[:, :, 6] == 7.0)
    evidence[:, 6] = 8.0  # a value that the table never had changes nothing else
    assert np.allclose(background.weighted(evidence)[1].sum(axis=1), 1)
    assert np.isfinite(ConditionalTable(table.iloc[:2]).weighted(evidence[:2])[1]).all()


def test_thinning_and_refusals():
    table = mixed_table(300)
    assert len(ConditionalTable(table, n_donors=100).rows) == 100
    with pytest.raises(errors.TableError, match="at least 2"):
        ConditionalTable(table.iloc[:1])
    with pytest.raises(errors.ArgumentError, match="n_trees=0"):
        ConditionalTable(table, n_trees=0)
    background = ConditionalTable(table)
    strange = table.iloc[:1].assign(town="atlantis")
    with pytest.raises(errors.UnknownStateError, match="atlantis"):
        background.read(strange)
    with pytest.raises(errors.RowsError, match="no column 'town'"):
        background.read(table.drop(columns="town"))
    with pytest.raises(errors.RowsError, match="does not fit 6 features"):
        background.weighted(np.zeros((1, 5)))
    with pytest.raises(errors.TableError, match="datetimes"):
        ConditionalTable(table.assign(day=pd.Timestamp("2020-01-01")))


# --- the parts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curved", [False, True])
def test_leave_one_out_is_what_it_says(curved):
    rng = np.random.default_rng(0)
    matrix, targets = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    basis = Basis.curved(matrix, 0.5, rng) if curved else Basis.straight(matrix)
    ridge = Ridge.fit(basis, matrix, targets)
    columns = basis.training(matrix)
    best = np.inf
    for penalty in PENALTIES:
        left = np.empty(40)
        for i in range(40):
            kept = np.delete(np.arange(40), i)
            centre = columns.mean(axis=0)  # of all rows: the penalty pulls towards the same place
            design = np.column_stack([np.ones(39), columns[kept] - centre])
            ridge_matrix = np.diag([0.0] + [penalty] * columns.shape[1])
            b = np.linalg.solve(design.T @ design + ridge_matrix, design.T @ targets[kept, 0])
            left[i] = targets[i, 0] - np.concatenate([[1.0], columns[i] - centre]) @ b
        if (left**2).mean() < best:
            best, expected = (left**2).mean(), left
    assert np.allclose(ridge.held_out[:, 0], expected, atol=1e-6)


def test_smoother_prefers_straight_lines_unless_there_is_a_curve():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (600, 2))
    targets = np.column_stack([x @ [1.0, -2.0], np.sin(2 * x[:, 0])]) + 0.3 * rng.normal(size=(600, 2))
    smoother = Smoother.fit(x, targets, rng)
    assert smoother.choice[0] == 0
    assert smoother.choice[1] > 0
    fresh = rng.uniform(-1.8, 1.8, (200, 2))
    means = smoother.predict(fresh)
    assert np.abs(means[:, 0] - fresh @ [1.0, -2.0]).max() < 0.15
    assert np.abs(means[:, 1] - np.sin(2 * fresh[:, 0])).max() < 0.3
    far = smoother.predict(np.full((1, 2), 50.0))
    assert targets[:, 1].min() <= far[0, 1] <= targets[:, 1].max()


def test_held_out_means_against_a_loop():
    rng = np.random.default_rng(0)
    matrix, targets = rng.normal(size=(60, 2)), rng.normal(size=(60, 3))
    events = (rng.random((60, 4)) < 0.5).astype(float)
    forest = Forest.grow(matrix, targets, 5, 7, rng)
    rows = np.array([0, 3, 59, 17])
    got = forest.held_out_means(rows, events)
    for place, i in enumerate(rows):
        votes = []
        for t in range(7):
            mates = [k for k in range(60) if k != i and forest.leaves[t, k] == forest.leaves[t, i]]
            if mates and not forest.grown_from[t, i]:
                votes.append(events[mates].mean(axis=0))
        want = np.mean(votes, axis=0) if votes else np.delete(events, i, axis=0).mean(axis=0)
        assert np.allclose(got[place], want)


def test_weights_and_drawn_rows_are_those_of_the_leaves():
    rng = np.random.default_rng(0)
    matrix, targets = rng.normal(size=(80, 2)), rng.normal(size=(80, 3))
    forests = LeafWeights.fit(matrix, targets, (targets > 0).astype(float), 4, rng, np.arange(80)).forests
    shares = np.array([0.4, *np.full(len(forests), 0.6 / len(forests))])
    leaves, points = LeafWeights.of(forests, shares, rng.permutation(80)), rng.normal(size=(5, 2))
    want = np.full((5, 80), 0.4 / 80)
    for forest, share in zip(forests, shares[1:], strict=True):
        for tree in forest.trees:
            mates = tree.apply(points.astype(np.float32))[:, None] == tree.apply(matrix.astype(np.float32))
            want += share / 4 * mates / mates.sum(axis=1, keepdims=True)
    assert forests
    np.testing.assert_allclose(leaves.at(points), want, atol=1e-14)
    uniforms = np.tile((np.arange(20_000) + 0.5) / 20_000, (5, 1))
    picked = leaves.picked(points, uniforms)
    for line, weights in zip(picked, want, strict=True):
        np.testing.assert_allclose(np.bincount(line, minlength=80) / 20_000, weights, atol=2 / 20_000)
    assert leaves.picked(points[:1], np.array([[0.0, np.nextafter(1, 0)]])).tolist() == [leaves.order[[0, -1]].tolist()]


def test_weights_are_local_only_where_it_helps():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 2))
    noise, dependent = rng.random((1000, 3)) < 0.5, x[:, :1] + 0.3 * rng.normal(size=(1000, 1)) > 0
    flat = LeafWeights.fit(x, noise.astype(float), noise.astype(float), 10, rng, np.arange(1000))
    weights = flat.at(x[:100])
    assert np.mean(1 / (weights**2).sum(axis=1)) > 550  # rows that count, in effect
    sharp = LeafWeights.fit(x, dependent.astype(float), dependent.astype(float), 10, rng, np.arange(1000))
    assert sharp.shares[0] < 0.1


def test_least_on_simplex_against_a_grid():
    rng = np.random.default_rng(0)
    grid = np.array([(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]) / 100
    for _ in range(20):
        root = rng.normal(size=(3, 4)) + rng.normal()
        form = root @ root.T
        shares = least_on_simplex(form)
        assert np.isclose(shares.sum(), 1)
        assert shares.min() >= 0
        assert shares @ form @ shares <= np.einsum("gi,ij,gj->g", grid, form, grid).min() + 1e-9
