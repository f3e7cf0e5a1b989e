"""Peers on tables: the references are the definition, work survives its files, and whoever wins is named."""

import sys
import types

import numpy as np
import pytest

from benchmarks import table_peers
from benchmarks.peers import run_dowhy, run_shapiq
from benchmarks.peers.environments import Missing
from benchmarks.peers.table_tasks import conditional_means, level_weights, linear_work, structural_work
from benchmarks.peers.table_work import TableAnswer, TableWork
from benchmarks.table_peers import (
    BIKES,
    CONDITIONAL,
    DOWHY,
    SHAPIQ,
    TREES,
    Outcome,
    answers,
    claims,
    winners,
)
from tests.oracles import gaussians
from tests.oracles.brute_force import topological_orders
from tests.oracles.interventions import over_orders


@pytest.fixture(scope="module")
def mixed():
    return structural_work("mixed", 0, full=False)


def test_work_survives_its_files(mixed, tmp_path):
    """Labels, bools and counts too: the model says the same of what was read back."""
    work, model, _ = mixed
    work.write(tmp_path)
    again = TableWork.read(tmp_path)
    rows = model.sample(2, 777)
    np.testing.assert_array_equal(again.rows, work.rows)
    np.testing.assert_allclose(again.predict(again.rows), model.explained(rows), rtol=0, atol=1e-12)
    frame = again.frame(again.rows)
    assert frame.equals(rows[again.names].astype(frame.dtypes))
    between = again.rows + np.where([kind == "f" for kind in again.kinds], 0.0, 0.3)  # imputers do not know codes
    np.testing.assert_allclose(again.predict(between), model.explained(rows), rtol=0, atol=1e-12)


def test_shapley_values_of_a_linear_model_are_the_definition():
    work, found = linear_work(4, full=False)
    slopes = np.array(work.model["linear"])
    mean, covariance = work.table.mean(axis=0), np.cov(work.table.T)

    def nu(row, members):
        return gaussians.conditional(mean, covariance, row, sorted(members))[0] @ slopes

    orders = topological_orders(4, [])
    for row, phi in zip(work.rows, found, strict=True):
        expected = over_orders(lambda members, row=row: np.array([nu(row, members)]), orders)[:, 0]
        np.testing.assert_allclose(phi, expected, rtol=0, atol=1e-9)


def test_means_given_coalitions_are_those_of_the_gaussian():
    work, _ = linear_work(4, full=False)
    covariance = np.cov(work.table.T)
    work.coalitions = np.array(level_weights([["a", "b"], ["c", "d"]]).coalitions)
    found = conditional_means(work, covariance, 2**12)
    for row, means in zip(work.rows, found, strict=True):
        for members, mean in zip(work.coalitions, means, strict=True):
            given = gaussians.conditional(np.zeros(4), covariance, row, np.flatnonzero(members).tolist())[0]
            assert mean == pytest.approx(given @ np.array(work.model["linear"]), abs=0.01)


def test_a_small_run_asks_nobody_else(mixed):
    (found,) = answers(mixed[0], DOWHY[:1], small=True).values()
    assert found == Missing("a small run installs nothing")


def test_shapiq_is_asked_about_the_same_coalitions(monkeypatch):
    """A stand-in that fills what is missing with the mean of the table."""
    work, _ = linear_work(3, full=False)
    work.coalitions = np.array([[False] * 3, [True, False, False], [True] * 3])

    class Imputer:
        def __init__(self, model, data, sample_size, random_state, normalize=True):
            self.model, self.mean = model, data.mean(axis=0)

        def fit(self, row):
            self.row = row
            return self

        def value_function(self, coalitions):
            return self.model(np.where(coalitions, self.row, self.mean))

    monkeypatch.setattr(run_shapiq, "version", lambda name: "0")
    module = types.SimpleNamespace(imputer=types.SimpleNamespace(GaussianImputer=Imputer, MarginalImputer=Imputer))
    monkeypatch.setitem(sys.modules, "shapiq", module)
    answer = run_shapiq.run(work, {"imputer": "gaussian"})
    slopes, mean = np.array(work.model["linear"]), work.table.mean(axis=0)
    expected = [[np.where(s, row, mean) @ slopes for s in work.coalitions] for row in work.rows]
    np.testing.assert_allclose(answer.nu, expected, rtol=0, atol=1e-12)


def test_arrows_of_levels():
    work = TableWork(list("abc"), "fff", *np.zeros((3, 1, 3)), {}, levels=[["a"], ["b"], ["c"]])
    assert run_dowhy.arrows(work) == [("a", "b"), ("a", "c"), ("b", "c")]
    work.edges = [["c", "a"]]
    assert run_dowhy.arrows(work) == [("c", "a")]


def made_up(error_of_peer, seconds_of_peer):
    def outcome(work, peer, error, seconds):
        return Outcome(work, 0, peer, TableAnswer("1", 0.0, seconds), error)

    return [
        outcome("nonlinear", CONDITIONAL, 0.1, 1.0),
        outcome("nonlinear", DOWHY[0], error_of_peer, 1.0),
        outcome("trees", TREES[0], 0.0, 1.0),
        outcome("trees", TREES[2], 0.0, seconds_of_peer),
    ]


@pytest.mark.parametrize("wins", [True, False])
def test_claims_follow_what_was_measured(wins):
    outcomes = made_up(0.2 if wins else 0.05, 3.0 if wins else 0.5)
    assert [claim.holds for claim in claims(outcomes, full=True)] == [wins, wins]
    told = " ".join(winners(outcomes))
    assert f"Lowest error: {CONDITIONAL.name if wins else DOWHY[0].name}" in told
    assert f"Quickest, fit included: {(TREES[0] if wins else TREES[2]).name}" in told


def test_a_peer_is_compared_on_the_variants_that_it_was_asked_about():
    """One that answered on a hard variant alone is beaten there, though its error is the larger one of all."""
    outcomes = made_up(0.2, 3.0)
    for peer, error in ((CONDITIONAL, 0.9), (DOWHY[0], 1.0)):
        outcomes.append(Outcome("nonlinear", 1, peer, TableAnswer("1", 0.0, 1.0), error))
    outcomes.append(Outcome("nonlinear", 0, SHAPIQ["copula"], TableAnswer("1", 0.0, 1.0), 0.15))
    claim = claims(outcomes, full=True)[0]
    assert claim.holds
    assert "closest peer 0.600 (dowhy.gcm" in claim.measured
    outcomes[-1].error = 0.05  # better where it was asked, so not beaten
    assert claims(outcomes, full=True)[0].holds is False


def test_a_peer_that_sees_what_is_to_be_left_out_does_not_win_where_no_truth_is_known():
    for work, wins in (("nonlinear", True), (BIKES, False)):
        outcomes = [
            Outcome(work, 0, peer, TableAnswer("1", 0.0, 1.0), error)
            for peer, error in ((CONDITIONAL, 0.3), (DOWHY[0], 0.4), (SHAPIQ["generative"], 0.1))
        ]
        assert (f"Lowest error: {SHAPIQ['generative'].name}" in winners(outcomes)[0]) == wins


def test_a_peer_that_fails_is_left_out_with_a_word(mixed, monkeypatch, tmp_path):
    mixed[0].write(tmp_path)
    monkeypatch.setattr(table_peers, "prepare", lambda environment, install: sys.executable)
    found = table_peers.ask(DOWHY[0], tmp_path, small=False)
    assert isinstance(found, Missing)
    assert found.reason.startswith("fails: ")
    assert "dowhy" in found.reason
