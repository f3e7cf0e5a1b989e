"""What questions to a network are expected to take, against the circuits that are built for them."""

import numpy as np
import pytest

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.inference.engine import Inference
from shap_asv.backgrounds.discrete.inference.pricing import shape_of
from shap_asv.backgrounds.discrete.inference.terms import count_products, number_terms
from tests.reliability.jobs import network as random_network
from tests.reliability.problems import many_states

#: How far an expected count may be off: a sample of coalitions stands for all.
FACTOR = 3.0


def closed_sets(network, rng, n):
    """Coalitions that hold the causes of their members, all sizes."""
    found = np.zeros((n, network.n_nodes), dtype=bool)
    for v, parents in enumerate(network.parents):
        found[:, v] = found[:, list(parents)].all(axis=1) & (rng.random(n) < 0.8)
    return found


def leaves(network, rng, n):
    """Terms with three indicators each: vectors per node, and (n, nodes)."""
    vectors = [np.concatenate([np.ones((1, c)), np.eye(c)]) for c in network.cardinalities]
    terms = np.zeros((n, network.n_nodes), dtype=np.intp)
    for term in terms:
        for v in rng.choice(network.n_nodes, 3, replace=False):
            term[v] = rng.integers(1, len(vectors[v]))
    return vectors, terms


@pytest.mark.parametrize(
    "network",
    [random_network("dag", 16), random_network("polytree", 25), random_network("chain", 40), many_states(14, 3, 4)],
    ids=["dag", "polytree", "chain", "large tables"],
)
@pytest.mark.parametrize("n_rows", [1, 20])
def test_circuits_are_as_large_as_expected(network, n_rows):
    rng = np.random.default_rng(0)
    inference = Inference(network, np.arange(network.n_nodes))
    coalitions = np.unique(closed_sets(network, rng, 2000), axis=0)
    sample = coalitions[rng.permutation(len(coalitions))[:240]]
    vectors, terms = leaves(network, rng, 40)
    background = DiscreteBackground(network)
    rows = background.draws(np.full((1, network.n_nodes), -1), rng.random((n_rows, network.n_nodes)))[0]
    evidence = np.where(coalitions[None], rows[:, None], -1).reshape(-1, network.n_nodes).T
    entries = products = 0
    for _, circuit in inference.circuits(evidence, (terms > 0).any(axis=0)):
        entries += circuit.n_entries
        products += count_products(circuit, number_terms(circuit.plan, vectors, terms))
    expected = inference.questions(sample, (terms, len(terms)), inference.is_causal(evidence))
    work = expected.work(len(coalitions), n_rows)
    assert entries / FACTOR < work.entries < FACTOR * entries
    assert products / FACTOR < work.products < FACTOR * products


def test_buckets_are_those_of_the_plan():
    network = many_states(12, 3, 4)
    inference = Inference(network, np.arange(12))
    plan = inference.plan(np.ones(12, dtype=bool))
    shape = shape_of(network, [bucket.node for bucket in plan.buckets], np.ones(12, dtype=bool))
    for b, bucket in enumerate(plan.buckets):
        assert set(np.flatnonzero(shape.scope[b])) == {bucket.node, *bucket.separator}
        below = set().union({bucket.node}, *(np.flatnonzero(shape.below[c]) for c in bucket.children))
        assert set(np.flatnonzero(shape.below[b])) == below
        assert shape.n_children[b] == len(bucket.children)


def test_roots_of_parts_that_are_not_connected():
    network = random_network("forest", 12)
    inference = Inference(network, np.arange(12))
    apart = [v for v in range(12) if not network.parents[v]][:2]
    terms = np.zeros((2, 12), dtype=np.intp)
    terms[0, apart[0]] = terms[1, apart[1]] = 1
    nothing = np.zeros((4, 12), dtype=bool)
    assert inference.questions(nothing, (terms, 2), True).work(1, 1).n_roots == 2


def test_terms_in_numpy_are_slower_until_kernels_are_worth_it(monkeypatch):
    import sys

    from shap_asv.backgrounds.discrete.inference import engine
    from shap_asv.backgrounds.discrete.inference.pricing import Work

    inference = Inference(random_network("dag", 16), np.arange(16))
    work = Work(1e4, 1e5, 4e8, 1e6, 1)
    monkeypatch.delitem(sys.modules, engine._EVIDENCE_KERNELS, raising=False)
    plain, twice = inference.seconds(work, 100), inference.seconds(work.times(2.0), 100)
    assert twice < 1.9 * plain  # the second half is compiled
    monkeypatch.setitem(sys.modules, engine._EVIDENCE_KERNELS, engine)
    assert inference.seconds(work, 100) < plain / 3
