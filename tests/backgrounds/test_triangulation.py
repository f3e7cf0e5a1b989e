"""Elimination orders: valid clique trees, roots that are worth it, limits that are kept."""

import math

import networkx as nx
import numpy as np
import pytest

from shap_asv.backgrounds.discrete import elimination
from shap_asv.backgrounds.discrete.elimination import elimination_order, outline, plan_elimination
from shap_asv.backgrounds.pgmpy_networks import read_network
from shap_asv.errors import BudgetExceededError
from tests.backgrounds.problems import as_network, loaded
from tests.oracles import random_problems


def networks():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        kind = ["dag", "forest", "polytree", "edgeless", "complete", "chain"][seed % 6]
        n = int(rng.integers(1, 10))
        yield as_network(*random_problems.random_network(rng, n, random_problems.random_edges(rng, n, kind)))


def whole(network):
    return np.ones(network.n_nodes, dtype=bool)


def test_an_order_keeps_families_together_and_buckets_form_one_tree():
    for network in networks():
        order = elimination_order(network, whole(network))
        assert sorted(order) == list(range(network.n_nodes))
        buckets = outline(network, order)
        assert sorted(w for bucket in buckets for w in bucket.families) == list(range(network.n_nodes))
        filled = nx.Graph()
        for bucket in buckets:
            filled.add_nodes_from([bucket.node])
            filled.add_edges_from((bucket.node, u) for u in bucket.separator)
            for w in bucket.families:  # what its tables are about is in its scope
                assert {w, *network.parents[w]} <= {bucket.node, *bucket.separator} | single_states(network)
        assert nx.is_chordal(filled)
        tree = nx.DiGraph((c, b) for b, bucket in enumerate(buckets) for c in bucket.children)
        assert len(buckets) == 1 or nx.is_arborescence(tree.reverse())


def single_states(network):
    return {v for v, card in enumerate(network.cardinalities) if card == 1}


def test_buckets_of_barren_nodes_are_left_out():
    network = read_network(loaded("child"))
    relevant = np.zeros(network.n_nodes, dtype=bool)
    relevant[network.names.index("Disease")] = True
    for p in network.parents[network.names.index("Disease")]:
        relevant[p] = True
    plan = plan_elimination(network, relevant)
    assert sorted(bucket.node for bucket in plan.buckets) == np.flatnonzero(relevant).tolist()


@pytest.mark.parametrize(
    ("name", "most"), [("child", 1000), ("insurance", 60_000), ("alarm", 2000), ("andes", 800_000)]
)
def test_real_networks_stay_small(name, most):
    network = read_network(loaded(name))
    assert plan_elimination(network, whole(network)).n_entries <= most


def test_tables_have_a_limit(monkeypatch):
    monkeypatch.setattr(elimination, "TABLE_LIMIT", 30)
    rng = np.random.default_rng(0)
    network = as_network(*random_problems.random_network(rng, 6, random_problems.random_edges(rng, 6, "complete")))
    largest = max(math.prod(table.shape) for table in network.tables)
    assert largest > 30
    with pytest.raises(BudgetExceededError, match=r"the limit is 30\."):
        plan_elimination(network, whole(network))


def test_orders_end_in_the_middle_without_further_fill():
    """Tables are those of min-fill; what hangs below the last node of a chain is about half of it, on either side."""
    for network in networks():
        greedy, order = (make(network, whole(network)) for make in (elimination.min_fill, elimination_order))
        sizes = [sorted(len(bucket.separator) for bucket in outline(network, one)) for one in (greedy, order)]
        assert sizes[0] == sizes[1]
    rng = np.random.default_rng(0)
    chain = as_network(*random_problems.random_network(rng, 21, [(v, v + 1) for v in range(20)]))
    assert 9 <= elimination_order(chain, whole(chain))[-1] <= 11
