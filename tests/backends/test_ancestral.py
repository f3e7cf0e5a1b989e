"""The ancestral backend against the definition, on causal orders that differ from the network's own."""

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, CausalOrder
from tests.explainer.test_exact import make_model, oracle, predict_codes
from tests.problems import make_problem


@pytest.mark.parametrize("kind", ["forest", "boosted", "linear"])
@pytest.mark.parametrize("seed", range(10))
def test_orders_denser_than_the_network(kind, seed):
    """Extra precedence against the network's numbering:

    an ideal's last member is the causal order's, not the network's.
    """
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=5, zeros=0.1)
    rank = rng.permutation(5)
    edges = set(problem.projected_edges())
    for a in range(5):
        for b in range(5):
            if rank[a] < rank[b] and rng.random() < 0.4 and not _reaches(edges, b, a):
                edges.add((a, b))
    graph = CausalOrder.from_edges([(problem.features[a], problem.features[b]) for a, b in edges], problem.features)
    model, encoder = make_model(kind, problem, rng)
    explainer = AsymmetricExplainer(
        model, problem.network(), graph, feature_names=problem.features, encoder=encoder, algorithm="ancestral"
    )
    rows = problem.rows(rng, 4)
    expected = oracle(problem, predict_codes(explainer), rows, sorted(edges))
    found = explainer(problem.labels(rows))
    np.testing.assert_allclose(found.values.reshape(expected.shape), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        found.base_values.reshape(4, -1) + found.values.reshape(expected.shape).sum(axis=1),
        predict_codes(explainer)(rows),
        atol=1e-9,
    )


def _reaches(edges, start, goal):
    seen, todo = set(), [start]
    while todo:
        v = todo.pop()
        if v == goal:
            return True
        if v not in seen:
            seen.add(v)
            todo += [b for a, b in edges if a == v]
    return False


def test_terms_without_tables_are_explained_by_the_other_backend(monkeypatch):
    """With hardly any table allowed most terms are left over; the numbers stay."""
    from shap_asv.backends.ancestral import closures

    rng = np.random.default_rng(3)
    problem = make_problem(3, n=5)
    model, encoder = make_model("forest", problem, rng)
    labels = problem.labels(problem.rows(rng, 4))

    def values():
        options = {"feature_names": problem.features, "encoder": encoder, "algorithm": "ancestral"}
        explanation = AsymmetricExplainer(model, problem.network(), **options)(labels)
        return explanation.values, explanation.base_values

    whole = values()
    monkeypatch.setattr(closures, "ENTRY_LIMIT", 4)
    for found, expected in zip(values(), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
