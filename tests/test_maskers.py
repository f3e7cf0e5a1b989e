"""shap's own explainers with our distributions, against Shapley values of the game written out."""

import sys

import numpy as np
import pandas as pd
import pytest
import shap

from shap_asv import errors
from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
from shap_asv.backgrounds.gaussian.model import GaussianModel
from shap_asv.maskers import ConditionalMasker
from tests.backgrounds.problems import Problem
from tests.oracles import brute_force, gaussians


@pytest.fixture(autouse=True)
def _uncompiled(monkeypatch):
    """shap's own functions as plain Python: compiling them takes longer than these problems.

    Its link functions stay what they are, for they are told apart by identity.
    """
    for module in [module for name, module in sys.modules.items() if name.startswith("shap.")]:
        for name, function in list(vars(module).items()):
            if hasattr(function, "py_func") and function.py_func.__module__ != "shap.links":
                monkeypatch.setattr(module, name, function.py_func)


def gaussian_game(seed, n=4):
    """A quadratic model, whose conditional expectations are known: E[x'Ax + b'x] = m'Am + tr(A C) + b'm."""
    rng = np.random.default_rng(seed)
    mean, covariance = gaussians.random_gaussian(rng, n)
    scales = np.sqrt(np.diag(covariance))
    mean, covariance = mean / scales, covariance / np.outer(scales, scales)
    square, slopes = rng.normal(size=(n, n)) / 3, rng.normal(size=n)
    row = mean + rng.normal(size=n)

    def predict(rows):
        return np.einsum("qi,ij,qj->q", rows, square, rows) + rows @ slopes

    def value(members):
        m, c = gaussians.conditional(mean, covariance, row, members)
        return m @ square @ m + np.trace(square @ c) + slopes @ m

    return GaussianModel(mean, covariance), predict, row, gaussians.shapley_values(n, value), value


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("explainer", [shap.ExactExplainer, shap.PermutationExplainer])
def test_explainers_of_shap_condition(explainer, seed):
    background, predict, row, phi, value = gaussian_game(seed)
    # independent sets of draws tell the Monte Carlo error
    runs = []
    for s in range(8):
        masker = ConditionalMasker(background, n_draws=256, seed=s)
        exact = explainer is shap.ExactExplainer
        made = explainer(predict, masker) if exact else explainer(predict, masker, seed=s)
        runs.append(made(row[None]) if exact else made(row[None], max_evals=300))
    values = np.array([run.values[0] for run in runs])
    error = values.std(axis=0, ddof=1) / len(runs) ** 0.5
    assert np.all(np.abs(values.mean(axis=0) - phi) <= 5 * error + 2e-3)
    assert error.max() < 0.1 * np.abs(phi).max()
    assert abs(np.mean([run.base_values[0] for run in runs]) - value([])) < 0.02 * max(1, abs(value([])))
    # and it is not what an unconditional masker says
    rows = np.random.default_rng(0).multivariate_normal(background.mean, background.covariance, 400)
    marginal = shap.ExactExplainer(predict, shap.maskers.Independent(rows, max_samples=400))(row[None]).values[0]
    assert np.abs(marginal - phi).max() > 3 * np.abs(values.mean(axis=0) - phi).max()


def test_partition_explainer():
    background, predict, row, _, value = gaussian_game(0)
    rows = background.draws(np.full((1, 4), np.nan), np.random.default_rng(0).random((200, background.n_uniforms)))[0]
    links = shap.utils.hclust(rows, metric="correlation")
    masker = ConditionalMasker(background, n_draws=512, clustering=links)
    explanation = shap.PartitionExplainer(predict, masker)(row[None])
    assert explanation.values.shape == (1, 4)
    assert np.isclose(explanation.values.sum() + explanation.base_values[0], predict(row[None])[0])
    assert abs(explanation.base_values[0] - value([])) < 0.05


@pytest.mark.parametrize("seed", [0, 3])
def test_discrete_network(seed):
    problem = Problem(seed, n=4, latent=False)
    background = problem.background
    weights = np.random.default_rng(seed).normal(size=(len(problem.cards), 8))
    states = [list(states) for states in background.states]

    def on_codes(codes):
        total = np.zeros(len(codes))
        for v in range(codes.shape[1]):
            total += weights[v][codes[:, v]] * (1 + (v > 0) * (codes[:, v - 1] == 0))
        return total

    def on_labels(rows):
        return on_codes(np.array([[states[v].index(x) for v, x in enumerate(row)] for row in rows]))

    table = brute_force.model_table(on_codes, problem.cards)

    def value(members):
        return brute_force.conditional_expectation(problem.p_features, table, problem.row, set(members))[0]

    phi = gaussians.shapley_values(len(problem.cards), value)
    row = background.labels(np.asarray(problem.row))
    runs = np.array(
        [
            shap.ExactExplainer(on_labels, ConditionalMasker(background, 256, seed=s))(row[None]).values[0]
            for s in range(6)
        ]
    )
    error = runs.std(axis=0, ddof=1) / len(runs) ** 0.5
    assert np.all(np.abs(runs.mean(axis=0) - phi) <= 5 * error + 2e-3)


def test_the_model_gets_its_dtypes_back():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": pd.Categorical(rng.choice(["f", "m"], 200)), "age": rng.integers(20, 60, 200)})
    table["dose"] = rng.normal(size=200) + (table["sex"] == "m")
    masker = ConditionalMasker(ConditionalTable(table), n_draws=64)
    seen = []

    def predict(frame):
        seen.append(frame.dtypes)
        return frame["dose"].to_numpy() + 2.0 * (frame["sex"] == "m").to_numpy()

    explanation = shap.ExactExplainer(masker.predictor(predict), masker)(table.iloc[:2])
    assert all(dtypes.equals(table.dtypes) for dtypes in seen)
    assert np.allclose(explanation.values.sum(axis=1) + explanation.base_values, predict(table.iloc[:2]))
    assert abs(explanation.values[0, 1]) < 0.3  # age says nothing
    assert masker.feature_names == ["sex", "age", "dose"]


def test_known_features_stay_and_the_rest_varies():
    masker = ConditionalMasker(GaussianModel(np.zeros(3), np.eye(3)), n_draws=10)
    row = np.array([0.1, 0.2, 0.3])
    (rows,) = masker(np.array([True, False, True]), row)
    assert rows.shape == masker.shape == (10, 3)
    assert np.all(rows[:, [0, 2]] == row[[0, 2]])
    assert rows[:, 1].std() > 0.3
    assert np.all(masker(True, row)[0] == row)
    assert masker(False, row)[0].shape == (10, 3)


def test_refusals():
    with pytest.raises(errors.MethodNotApplicableError, match="has no draws"):
        ConditionalMasker(np.zeros((3, 2)))
    background = GaussianModel(np.zeros(2), np.eye(2))
    with pytest.raises(errors.ArgumentError, match="n_draws=0 is not a positive integer"):
        ConditionalMasker(background, n_draws=0)
    with pytest.raises(errors.RowsError, match="do not fit 2 features"):
        ConditionalMasker(background)(np.array([True, False, True]), np.zeros(3))

    class Forwards:
        conditions_on = "ancestral"
        features = ("a",)
        n_uniforms = 1

        def draws(self, evidence, uniforms):
            raise AssertionError

    with pytest.raises(errors.MethodNotApplicableError, match="ancestral sets only"):
        ConditionalMasker(Forwards())
