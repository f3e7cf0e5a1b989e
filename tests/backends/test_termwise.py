"""Groups of terms: which terms go through the evidence together, and that it changes no value."""

import numpy as np
import pytest

from shap_asv.backends import termwise
from shap_asv.backends.contract import Settings
from shap_asv.backends.workload import IDEALS, network_and_terms
from tests.backends.test_closures import over
from tests.explainer.test_exact import make_model, oracle, predict_codes
from tests.problems import make_problem


def reach(parents, nodes):
    """Nodes with all that stands above them."""
    found, waiting = set(), list(nodes)
    while waiting:
        v = waiting.pop()
        if v not in found:
            found.add(v)
            waiting += parents[v]
    return found


@pytest.mark.parametrize("few", [0, 3, 1000])
@pytest.mark.parametrize("latent", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_groups_of_any_size_have_the_values_of_the_definition(few, latent, seed, monkeypatch):
    monkeypatch.setattr(termwise, "FEW_TERMS", few)
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=6 + latent, latent=latent, zeros=0.1)
    model, encoder = make_model("forest", problem, rng)
    explainer = over(problem, model, encoder, None, algorithm="ideals x terms")
    rows = problem.rows(rng, 4)
    found = explainer(problem.labels(rows), silent=True).values
    order = explainer.causal_order
    edges = [(p, v) for v, causes in enumerate(order.parents) for p in causes]
    expected = oracle(problem, predict_codes(explainer), rows, edges)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_every_term_is_in_one_group_and_small_sets_join_larger_ones(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=7, latent=1)
    model, encoder = make_model("forest", problem, rng)
    asked = over(problem, model, encoder, None)._execution.problem
    background, products = network_and_terms(asked)
    parents = background.network.parents
    looks = [np.flatnonzero(term) for term in products.terms]
    closures = [frozenset(reach(parents, background.nodes[features].tolist())) for features in looks]
    counts = {}
    for few in (0, 3, 1000):
        monkeypatch.setattr(termwise, "FEW_TERMS", few)
        member = termwise.gather_terms(background, products)
        assert [m < 0 for m in member] == [len(features) == 0 for features in looks]
        counts[few] = member.max(initial=-1) + 1
        assert set(range(counts[few])) == set(member[member >= 0].tolist())
        for group in range(counts[few]):
            inside = [closures[t] for t in np.flatnonzero(member == group)]
            assert frozenset().union(*inside) in inside  # one of its terms sees all that the others see
        groups = termwise.group_terms(background, products, IDEALS.columns(asked, Settings()))
        assert sum(len(group.terms) for group in groups) == (member >= 0).sum()
    assert counts[0] == len({closure for closure in closures if closure})
    assert counts[1000] <= counts[3] <= counts[0]
