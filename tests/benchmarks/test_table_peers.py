"""Peers on tables: the references are the definition, work survives its files, and the winner is named."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import run_dowhy, run_shapiq, table_participants
from benchmarks.peers.environments import Missing
from benchmarks.peers.table_participants import CONDITIONAL, DOWHY, SHAPIQ, answers, ask, tree_peers
from benchmarks.peers.table_tasks import conditional_means, level_weights, linear_work, structural_work
from benchmarks.peers.table_work import TableAnswer, TableWork
from benchmarks.peers.workers import Worker, Workers
from benchmarks.table_peers import Outcome, claims, relative_error, winners
from benchmarks.table_peers_levels import BIKES, quickest, tree_claims
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
    (found,) = answers(mixed[0], DOWHY[:1], None).values()
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


@pytest.mark.parametrize("wins", [True, False])
@pytest.mark.parametrize("ground", [0, 100])
def test_one_peer_that_is_faster_on_trees_is_enough(wins, ground):
    ours, shap, levels, woodelf, *_ = tree_peers(ground)
    outcomes = [
        outcome("trees", ours, 0.0, fit=0.5),
        outcome("trees", shap, 0.0, 3.0),
        outcome("trees", levels, None, 0.1),
        outcome("trees", woodelf, 0.0, 1.2 if wins else 0.5),
    ]
    once, included = tree_claims(outcomes, full=True)
    assert once.holds is wins
    assert f"woodelf {1.2 if wins else 0.5} times" in once.measured
    assert included.holds is False  # half a second of setting up is too much here
    assert f"woodelf {1.2 / 1.5 if wins else 0.5 / 1.5:.2g} times" in included.measured
    (told,) = quickest(outcomes)
    assert "setting up included: woodelf" in told  # it took none here
    assert f"once set up: {'shap_asv' if wins else 'woodelf'} (" in told
    assert "levels" not in told


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


def test_a_peer_that_fails_is_left_out_with_a_word(mixed, monkeypatch, tmp_path):
    """Here it cannot even be imported, twice."""
    mixed[0].write(tmp_path)
    monkeypatch.setattr(table_participants, "prepare", lambda environment, install: sys.executable)
    with Workers() as workers:
        for _ in range(2):
            found = ask(DOWHY[0], tmp_path, workers)
            assert isinstance(found, Missing)
            assert found.reason == "fails: ModuleNotFoundError: No module named 'dowhy'"


@pytest.fixture
def stand_in(mixed, tmp_path):
    mixed[0].write(tmp_path)
    worker = Worker(Path(sys.executable), "tests.benchmarks.stand_in")
    yield lambda do, limit=20.0, patience=50.0: worker.ask(tmp_path, {"do": do}, limit, patience)
    worker.close()


def test_one_process_does_many_pieces_and_each_starts_afresh(stand_in, mixed):
    first, second = stand_in("answer"), stand_in("answer")
    assert first.values == second.values == mixed[0].rows.tolist()
    (imported, one, seen), (again, two, seen_again) = first.note.split(), second.note.split()
    assert imported == again
    assert one != two
    assert seen == seen_again == "1"


@pytest.mark.parametrize(
    ("do", "limits", "why"),
    [
        ("burn", (0.2, 1000), "stopped after 0.2 s of the CPU"),
        ("sleep", (100, 0.01), "stopped after 1 s by the clock"),
        ("fail", (100, 100), "fails: ValueError: no such row"),
        ("fall over", (100, 100), "fails: no message"),
        ("end it all", (100, 100), "fails: no message"),
    ],
)
def test_a_piece_that_goes_wrong_takes_no_other_with_it(stand_in, mixed, do, limits, why):
    """Whatever was printed before is not taken for its error."""
    assert stand_in("answer").values == mixed[0].rows.tolist()
    assert stand_in(do, *limits) == Missing(why)
    assert stand_in("answer").values == mixed[0].rows.tolist()
