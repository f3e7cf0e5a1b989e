"""The peers' side of the benchmarks: files, references, environments, and that a peer's win is said.

What a runner answers is compared with the reference whenever it runs; the references are checked here.
"""

import subprocess

import numpy as np
import pytest

from benchmarks.peers import comparison, environments, run_naive
from benchmarks.peers.comparison import Outcome, claims, notes, table_row
from benchmarks.peers.environments import ENVIRONMENTS, Environment, Missing, last_error, prepare
from benchmarks.peers.exchange import Answer, Problem, TreeModel, measure
from benchmarks.peers.reference import exact_marginal, exact_network, lattice
from benchmarks.peers.tasks import OURS, Participant, Task, network_problem, with_tree
from tests.oracles import brute_force


@pytest.fixture(scope="module")
def cancer():
    """A decision tree on the network cancer without its leaf Dyspnoea, and a background."""
    problem, sample = network_problem("cancer", "Dyspnoea", 3)
    problem.background = sample[:4, problem.features]
    return with_tree(problem, sample)


def oracle(problem, edges=None):
    """The definition: all orders times the full joint."""
    cards = [table.shape[0] for table in problem.tables]
    joint = brute_force.joint_table(cards, problem.parents, problem.tables)
    p = brute_force.feature_joint(joint, problem.features)
    m = brute_force.model_table(TreeModel(problem.tree), p.shape)
    orders = brute_force.topological_orders(len(problem.features), problem.edges if edges is None else edges)
    return np.array([brute_force.asv_from_orders(p, m, row, orders)[:, 0] for row in problem.rows])


def test_the_reference_is_the_definition(cancer):
    assert np.allclose(exact_network(cancer), oracle(cancer), atol=1e-12)
    assert lattice(4, cancer.edges).n_orders == len(brute_force.topological_orders(4, cancer.edges))


def test_the_marginal_reference_is_the_definition(cancer):
    model, phi = TreeModel(cancer.tree), np.zeros(cancer.rows.shape)
    orders = brute_force.topological_orders(4, cancer.edges)
    for r, row in enumerate(cancer.rows):
        for order in orders:
            inputs = cancer.background.copy()
            for feature in order:
                before = model(inputs).mean()
                inputs[:, feature] = row[feature]
                phi[r, feature] += (model(inputs).mean() - before) / len(orders)
    assert np.allclose(exact_marginal(cancer), phi, atol=1e-12)


def test_the_tree_predicts_and_counts(cancer):
    model = TreeModel(cancer.tree)
    assert np.array_equal(model(cancer.rows), cancer.fitted.predict(cancer.rows))
    assert (model.calls, model.evaluated) == (1, len(cancer.rows))


def test_a_problem_survives_its_files(cancer, tmp_path):
    cancer.write(tmp_path)
    back = Problem.read(tmp_path)
    assert (back.names, back.parents, back.features) == (cancer.names, cancer.parents, cancer.features)
    assert back.edges == cancer.edges
    assert np.array_equal(back.rows, cancer.rows)
    assert np.array_equal(back.background, cancer.background)
    assert all(np.array_equal(a, b) for a, b in zip(back.tables, cancer.tables, strict=True))
    assert np.array_equal(back.model()(cancer.rows), cancer.model()(cancer.rows))


def test_the_baseline_remembers(cancer, tmp_path):
    calls = {
        memory: run_naive.run(tmp_path, cancer, {"memory": memory, "rounds": 1}).calls for memory in ("none", "values")
    }
    assert calls["values"] < calls["none"]


def test_the_baseline_extrapolates(cancer, tmp_path):
    answer = run_naive.run(tmp_path, cancer, {"memory": "none", "rounds": 1, "first": 2})
    assert answer.values is None
    assert answer.extrapolated.startswith("extrapolated from 2 of")
    assert answer.wall[0] > 0
    assert answer.calls is None
    assert answer.uncounted == "the work was only begun"


def test_calls_are_those_of_the_last_round(cancer):
    model = TreeModel(cancer.tree)
    answer = measure(lambda: lambda rows: [model(rows)], cancer, 3, model, "0")
    assert (answer.calls, answer.evaluated, len(answer.warm)) == (1, len(cancer.rows), 3)


def test_nothing_is_installed_unasked(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("something was started"))
    missing = prepare(ENVIRONMENTS["causasv"], install=False, cache=tmp_path)
    assert missing == Missing("not installed, and this run installs nothing")
    assert not list(tmp_path.iterdir())


def test_a_missing_python_is_a_reason(tmp_path):
    missing = prepare(Environment("x", ("y",), python="1.4", why="wheels for it alone"), cache=tmp_path)
    assert missing == Missing("there is no Python 1.4 here (wheels for it alone)")


def test_a_failed_installation_is_a_reason(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "looking at https://host/x\nERROR: no wheel at https://host/x\n\n")
    monkeypatch.setattr(environments.subprocess, "run", lambda *a, **k: failed)
    missing = prepare(Environment("x", ("y",)), cache=tmp_path)
    assert missing == Missing("installing it failed: ERROR: no wheel at ...")
    assert last_error("") == "no message"


def test_what_is_installed_is_used(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "installed.txt").write_text("y")
    assert prepare(Environment("x", ("y",)), install=False, cache=tmp_path) == tmp_path / "x" / "bin" / "python"
    assert isinstance(prepare(Environment("x", ("z",)), install=False, cache=tmp_path), Missing)


def made_up(seconds, error=0.0):
    """Our outcome at one second, and a peer's."""
    task = Task("work", "Some work", lambda: None, (), None)
    mine = Outcome(Participant(OURS, "ours"), Answer("1", 1.0, [1.0], [1.0], [[0.0]]), error=1e-12)
    peer = Outcome(Participant("Peer", "causasv"), Answer("2", 2.0, [seconds], [1.0], [[0.0]]), error=error)
    return task, [mine, peer]


def test_a_peer_that_wins_is_named():
    task, outcomes = made_up(0.25)
    claim = next(claim for claim in claims({"work": outcomes}) if claim.text == "Faster than causasv")
    assert claim.holds is False
    assert any(
        "Where a peer wins" in note and "Peer is 4.0 times as fast: Some work" in note
        for note in notes({"work": outcomes}, [task])
    )
    assert table_row(task, outcomes[1], outcomes)[comparison.COLUMNS.index("times ours")] == 0.25


def test_a_row_has_wall_seconds_and_says_why_calls_are_not_counted():
    task, outcomes = made_up(3.0)
    outcomes[1].answer.wall = [4.0, 5.0, 9.0]
    outcomes[1].answer.uncounted = "the network is the model"
    outcomes[0].answer.calls = 0
    mine, peer = (dict(zip(comparison.COLUMNS, table_row(task, one, outcomes), strict=True)) for one in outcomes)
    assert peer["all rows, wall s"] == 5.0
    assert peer["remark"] == "model calls not counted: the network is the model"
    assert "counted" not in mine["remark"]


def test_a_peer_that_loses_is_not():
    task, outcomes = made_up(3.0)
    claim = next(claim for claim in claims({"work": outcomes}) if claim.text == "Faster than causasv")
    assert claim.holds is True
    assert not any("Where a peer wins" in note for note in notes({"work": outcomes}, [task]))


def test_our_own_error_is_not_hidden():
    _, outcomes = made_up(3.0)
    outcomes[0].error = 1e-3
    assert claims({"work": outcomes})[0].holds is False
