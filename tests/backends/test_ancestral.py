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


@pytest.mark.parametrize("seed", range(6))
def test_ideals_are_laid_out_as_a_tree(seed):
    """Each hangs below itself without its highest member; its skip leads past all that hang below it."""
    from shap_asv.backends.ancestral.kernel import lay_out_ideals

    rng = np.random.default_rng(seed)
    a = 1 + seed
    effects = np.triu(rng.random((a, a)) < 0.4, 1)
    sets = [frozenset(u for u in range(a) if mask >> u & 1) for mask in range(1 << a)]
    ideals = [own for own in sets if all(u in own for v in own for u in range(a) if effects[u, v])]
    masks = np.array([sum(1 << u for u in own) for own in ideals])
    children = effects @ (1 << np.arange(a))
    cards = rng.integers(2, 4, size=a)
    layout = lay_out_ideals(rng.permutation(masks), children, cards)

    walked = sorted(map(sorted, ideals))
    place = {frozenset(own): t for t, own in enumerate(walked)}
    for t, own in enumerate(walked):
        below = [s for s, other in enumerate(walked) if other[: len(own)] == own]
        assert layout.skip[t] == max(below) + 1
        assert layout.last[t] == (own[-1] if own else -1)
        assert layout.parent[t] == (place[frozenset(own[:-1])] if own else -1)
        rest = [u for u in range(a) if u not in own]
        assert layout.step[t] == (rest[0] if rest else -1)
        assert layout.next_ideal[t] == (place[frozenset([*own, rest[0]])] if rest else -1)
        active = [u for u in own if effects[u, rest].any()]
        assert layout.starts[t + 1] - layout.starts[t] == np.prod(cards[active], dtype=int)
        assert layout.strides[t].nonzero()[0].tolist() == active
