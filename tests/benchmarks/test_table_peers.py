"""Peers on tables: the references are the definition, work survives its files, and the winner is named."""

import numpy as np
import pytest

from benchmarks.peers.table_participants import CONDITIONAL, DOWHY, SHAPIQ
from benchmarks.peers.table_tasks import conditional_means, level_weights, linear_work
from benchmarks.peers.table_work import TableAnswer
from benchmarks.table_peers import Outcome, claims, relative_error, winners
from benchmarks.table_peers_levels import BIKES
from tests.oracles import gaussians
from tests.oracles.brute_force import over_orders, topological_orders


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


def outcome(work, peer, error, seconds=1.0, fit=0.0):
    return Outcome(work, 0, peer, TableAnswer("1", fit, seconds), error)


def made_up(error_of_peer):
    return [outcome("nonlinear", CONDITIONAL, 0.1), outcome("nonlinear", DOWHY[0], error_of_peer)]


@pytest.mark.parametrize("wins", [True, False])
def test_claims_follow_what_was_measured(wins):
    outcomes = made_up(0.2 if wins else 0.05)
    assert [claim.holds for claim in claims(outcomes, full=True)] == [wins]
    (told,) = winners(outcomes)
    assert (f"Lowest error: {CONDITIONAL.name} (0.1)" if wins else f"{DOWHY[0].name} (0.05; ours 0.1)") in told
    outcomes[1].answer.seconds, outcomes[1].answer.fit = 0.25, 0.5 if wins else 2.0
    (told,) = winners(outcomes)
    assert f"once fitted: {DOWHY[0].name} (0.25 s, error {0.2 if wins else 0.05}; ours 1 s)" in told
    assert f"fit included: {DOWHY[0].name if wins else CONDITIONAL.name} (" in told


def test_errors_are_of_the_rows_that_were_explained():
    truth = np.array([[1.0, -1.0], [3.0, 3.0]])
    assert relative_error(truth + 0.5, truth) == pytest.approx(0.25)
    assert relative_error(truth[:1] + 0.5, truth) == pytest.approx(0.5)


def test_a_peer_is_compared_on_the_variants_that_it_was_asked_about():
    """One that answered on a hard variant alone is beaten there, though its error is the larger one of all."""
    outcomes = made_up(0.2)
    for peer, error in ((CONDITIONAL, 0.9), (DOWHY[0], 1.0)):
        outcomes.append(Outcome("nonlinear", 1, peer, TableAnswer("1", 0.0, 1.0), error))
    outcomes.append(Outcome("nonlinear", 0, SHAPIQ["copula"], TableAnswer("1", 0.0, 1.0), 0.15))
    claim = claims(outcomes, full=True)[0]
    assert claim.holds
    assert "closest peer 0.600 (dowhy.gcm" in claim.measured
    outcomes[-1].error = 0.05  # better where it was asked, so not beaten
    assert claims(outcomes, full=True)[0].holds is False


def test_a_peer_that_sees_what_is_to_be_left_out_does_not_win_where_no_truth_is_known():
    errors = ((CONDITIONAL, 0.3), (DOWHY[0], 0.4), (SHAPIQ["generative"], 0.1))
    outcomes = [outcome(BIKES, peer, error) for peer, error in errors]
    for truth in (True, False):
        assert (f"Lowest error: {SHAPIQ['generative'].name}" in winners(outcomes, truth)[0]) == truth
