"""Groups of terms: which terms go through the evidence together, and that it changes no value."""

import numpy as np
import pytest

from shap_asv.backends import termwise
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
