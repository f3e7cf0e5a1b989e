"""The peers' side of the benchmarks: files, references, environments, and that a peer's win is said.

What a runner answers is compared with the reference whenever it runs; the references are checked here.
"""

import numpy as np
import pytest

from benchmarks.peers import comparison
from benchmarks.peers.comparison import Outcome, claims, notes, table_row
from benchmarks.peers.exchange import Answer, TreeModel
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


def test_a_peer_that_loses_is_not():
    task, outcomes = made_up(3.0)
    claim = next(claim for claim in claims({"work": outcomes}) if claim.text == "Faster than causasv")
    assert claim.holds is True
    assert not any("Where a peer wins" in note for note in notes({"work": outcomes}, [task]))


def test_our_own_error_is_not_hidden():
    _, outcomes = made_up(3.0)
    outcomes[0].error = 1e-3
    assert claims({"work": outcomes})[0].holds is False
