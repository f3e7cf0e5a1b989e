"""Every state asked once: block by block, only states that can occur, and equal to the full joint."""

import itertools

import numpy as np
import pytest
import tqdm.auto

from shap_asv import AsymmetricExplainer
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.errors import BudgetExceededError, MethodNotApplicableError
from shap_asv.models.predictor import read_model
from shap_asv.values import agreement
from shap_asv.values.agreement import AGREEMENT, EveryState
from shap_asv.values.contract import ValueOptions
from tests.backgrounds.problems import as_network
from tests.oracles import brute_force
from tests.problems import make_problem, to_codes


def black_box(table):
    codes = to_codes(table)
    return np.stack([np.cos(codes @ np.arange(2, codes.shape[1] + 2)), codes.sum(axis=1)], axis=1)


@pytest.mark.parametrize("block", [1, 7, 1 << 19])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_states(seed, block, monkeypatch):
    monkeypatch.setattr(agreement, "_BLOCK", block)
    monkeypatch.setattr(agreement, "_SUMS_HELD", 6 << 5)  # two rows at a time
    problem = make_problem(seed, n=5, latent=seed % 3, zeros=0.3 * (seed % 2))
    background = DiscreteBackground(problem.network(), problem.features)
    predictor = read_model(black_box, problem.features, background.states)
    values = EveryState(background, predictor, ValueOptions(batch_size=5))
    coalitions = np.array(list(itertools.product([False, True], repeat=background.n_features)))
    rows = problem.rows(np.random.default_rng(seed), 3)
    found = values.values(coalitions, rows)
    joint, table = problem.joint(), brute_force.model_table(predictor.predict, problem.feature_cards)
    for r, row in enumerate(rows):
        for m, members in enumerate(coalitions):
            expected = brute_force.conditional_expectation(joint, table, row, set(np.flatnonzero(members)))
            np.testing.assert_allclose(found[r, m], expected, rtol=0, atol=1e-9)


def test_the_model_is_asked_once_about_each_state_that_can_occur():
    problem = make_problem(1, n=5, zeros=0.5)
    background = DiscreteBackground(problem.network(), problem.features)
    predictor = read_model(black_box, problem.features, background.states)
    asked = []

    class Counting:
        n_outputs = predictor.n_outputs

        @staticmethod
        def predict(codes):
            asked.extend(map(tuple, codes))
            return predictor.predict(codes)

    values = EveryState(background, Counting(), ValueOptions(batch_size=4))
    possible = set(map(tuple, np.argwhere(problem.joint() > 0)))
    assert 0 < len(possible) < background.size
    assert sorted(asked) == sorted(possible)
    values.values(np.ones((1, 5), dtype=bool), problem.rows(np.random.default_rng(0), 2))
    assert len(asked) == len(possible)


def test_through_the_explainer_by_name():
    problem = make_problem(7, n=6, latent=1)
    rows = DiscreteBackground(problem.network(), problem.features).labels(problem.rows(np.random.default_rng(1), 3))
    results = [
        AsymmetricExplainer(black_box, problem.network(), feature_names=problem.features, algorithm=name)(rows)
        for name in ("ideals x table", "ideals x agreement")
    ]
    np.testing.assert_allclose(results[0].values, results[1].values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(results[0].base_values, results[1].base_values, rtol=0, atol=1e-9)
    assert results[1].error_std is None


def test_main_effects_ask_the_model_nothing_new():
    problem = make_problem(7, n=5)
    calls = []

    def counting(table):
        calls.append(len(table))
        return black_box(table)

    rows = DiscreteBackground(problem.network(), problem.features).labels(problem.rows(np.random.default_rng(1), 3))
    explainer = AsymmetricExplainer(
        counting, problem.network(), feature_names=problem.features, algorithm="ideals x agreement"
    )
    before = explainer(rows)
    calls.clear()
    effects = explainer(rows, main_effects=True).main_effects
    assert sum(calls) == 0
    table = AsymmetricExplainer(
        black_box, problem.network(), feature_names=problem.features, algorithm="ideals x table"
    )(rows, main_effects=True)
    np.testing.assert_allclose(effects, table.main_effects, rtol=0, atol=1e-9)
    np.testing.assert_allclose(before.values, table.values, rtol=0, atol=1e-9)


def test_what_it_refuses(monkeypatch):
    problem = make_problem(2, n=4)
    relaxing = DiscreteBackground(problem.network(), problem.features, impossible="relax")
    predictor = read_model(black_box, problem.features, relaxing.states)
    assert "impossible='relax'" in AGREEMENT.obstacle(relaxing, predictor)
    background = DiscreteBackground(problem.network(), problem.features)
    monkeypatch.setattr(agreement, "STATE_LIMIT", background.size - 1)
    with pytest.raises(BudgetExceededError, match=f"{background.size} joint states, more than"):
        EveryState(background, predictor, ValueOptions())
    monkeypatch.setattr(agreement, "STATE_LIMIT", background.size)
    assert AGREEMENT.obstacle(background, predictor) is None
    monkeypatch.setattr(agreement, "FEATURE_LIMIT", 3)
    assert "4 features, more than the 3" in AGREEMENT.obstacle(background, predictor)


def test_a_row_too_rare_for_doubles_is_an_error():
    tiny = np.array([1.0, 1e-150])
    network = as_network([2, 2], [(), ()], [tiny / tiny.sum()] * 2)
    background = DiscreteBackground(network)
    predictor = read_model(black_box, background.features, background.states)
    values = EveryState(background, predictor, ValueOptions())
    everything = np.array([[True, True]])
    np.testing.assert_allclose(values.values(everything, np.array([[0, 1]]))[0], predictor.predict(np.array([[0, 1]])))
    with pytest.raises(MethodNotApplicableError, match="the row n0='s1', n1='s1' has probability 1e-300"):
        values.values(everything, np.array([[1, 1]]))


@pytest.mark.parametrize("silent", [True, False])
def test_progress_is_shown_where_it_takes_long(silent, monkeypatch):
    monkeypatch.setattr(agreement, "_SHOWN_FROM", 1)
    shown = []

    class Bar(tqdm.auto.tqdm):
        def update(self, n=1):
            shown.append((self.disable, self.total, n))

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    problem = make_problem(2, n=4)
    background = DiscreteBackground(problem.network(), problem.features)
    predictor = read_model(black_box, problem.features, background.states)
    AsymmetricExplainer(black_box, problem.network(), feature_names=problem.features, algorithm="ideals x agreement")(
        background.labels(problem.rows(np.random.default_rng(0), 1)), silent=silent
    )
    ours = [entry for entry in shown if entry[1] == background.size]
    assert {disable for disable, _, _ in ours} == {silent}
    assert sum(n for _, _, n in ours) == background.size
    assert predictor.n_outputs == 2
