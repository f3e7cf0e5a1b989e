"""``values="causal"`` and ``"marginal"`` on discrete networks, against the mutilated joint written out."""

import itertools

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, CausalOrder
from shap_asv.errors import ImpossibleEvidenceError
from tests.explainer.test_exact import GRAPHS, MODELS, make_graph, make_model, predict_codes
from tests.oracles import brute_force, interventions
from tests.oracles.random_problems import random_network
from tests.problems import RandomProblem, make_problem


def confounded_problem(seed, n=4, hidden=2, zeros=0.0):
    """Features with common causes that are latent: each latent root stands above two of them."""
    rng = np.random.default_rng(seed)
    total = n + hidden
    edges = [(u, v) for u in range(hidden, total) for v in range(u + 1, total) if rng.random() < 0.5]
    for u in range(hidden):
        edges += [(u, int(v)) for v in rng.choice(np.arange(hidden, total), size=2, replace=False)]
    cards, parents, tables = random_network(rng, total, sorted(edges), max_states=3, zeros=zeros)
    nodes = list(range(hidden, total))
    rng.shuffle(nodes)
    return RandomProblem(cards, parents, tables, [int(v) for v in nodes])


def explain(model, encoder, problem, graph, labels, **options):
    if graph is not None:
        graph = CausalOrder.from_edges(graph, features=problem.features)
    explainer = AsymmetricExplainer(
        model, problem.network(), graph, feature_names=problem.features, encoder=encoder, **options
    )
    return explainer, explainer(labels, silent=True)


VALUES = {"causal": interventions.causal_value, "marginal": interventions.marginal_value}


def conditional_value(network, feature_nodes, table, row, members):
    joint = brute_force.feature_joint(brute_force.joint_table(*network), feature_nodes)
    return brute_force.conditional_expectation(joint, table, row, members)


def expected_values(problem, predict, rows, edges, values):
    network = problem.cards, problem.parents, problem.tables
    table = brute_force.model_table(predict, problem.feature_cards)
    orders = brute_force.topological_orders(len(problem.features), edges)
    value = {**VALUES, "conditional": conditional_value}[values]
    return np.stack(
        [
            brute_force.over_orders(lambda s, row=row: value(network, problem.feature_nodes, table, row, s), orders)
            for row in rows
        ]
    )


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("model_kind", MODELS)
@pytest.mark.parametrize("graph_kind", GRAPHS)
def test_definition(values, model_kind, graph_kind):
    """Every backend that can run, exactly, on networks with latent confounders."""
    seed = MODELS.index(model_kind) * 31 + GRAPHS.index(graph_kind) * 7
    rng = np.random.default_rng(seed)
    problem = confounded_problem(seed)
    model, encoder = make_model(model_kind, problem, rng)
    edges, graph = make_graph(graph_kind, problem, rng)
    rows = problem.rows(rng, 3)
    explainer, explanation = explain(
        model, encoder, problem, graph, problem.labels(rows), values=values, algorithm="exact"
    )
    expected = expected_values(problem, predict_codes(explainer), rows, edges, values)
    able = [c.name for c in explainer.plan(3).candidates if c.runnable and c.backend.exact]
    assert able
    for name in able:
        _, explanation = explain(model, encoder, problem, graph, problem.labels(rows), values=values, algorithm=name)
        found = explanation.values.reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=name)
        total = explanation.base_values.reshape(len(rows), -1) + found.sum(axis=1)
        np.testing.assert_allclose(total, predict_codes(explainer)(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_every_coalition(seed):
    """The values themselves, for all sets, with tables that hold zeros and rows that cannot occur."""
    rng = np.random.default_rng(seed)
    problem = confounded_problem(seed, zeros=0.3) if seed % 2 else make_problem(seed, n=5, latent=1, zeros=0.3)
    n = len(problem.features)
    model, encoder = make_model("forest", problem, rng)
    rows = np.array([[rng.integers(card) for card in problem.feature_cards] for _ in range(3)])
    orders = [list(order) for order in itertools.permutations(range(n))]
    explainer = AsymmetricExplainer(
        model, problem.network(), feature_names=problem.features, encoder=encoder, values="causal", causal_graph=[]
    )
    found = explainer(problem.labels(rows), silent=True, main_effects=True)
    network = problem.cards, problem.parents, problem.tables
    table = brute_force.model_table(predict_codes(explainer), problem.feature_cards)
    for r, row in enumerate(rows):

        def value(members, row=row):
            return interventions.causal_value(network, problem.feature_nodes, table, row, members)

        np.testing.assert_allclose(found.values[r], brute_force.over_orders(value, orders), rtol=0, atol=1e-9)
        alone = np.array([value({i}) - value(()) for i in range(n)])
        np.testing.assert_allclose(found.main_effects[r], alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize("model_kind", ["black box", "forest", "linear"])
@pytest.mark.parametrize("graph_kind", ["network", "denser"])
def test_the_same_as_conditional_on_ancestral_sets_bit_for_bit(model_kind, graph_kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        problem = make_problem(seed + 20, n=5)
        model, encoder = make_model(model_kind, problem, rng)
        _, graph = make_graph(graph_kind, problem, rng)
        labels = problem.labels(problem.rows(rng, 4))
        explainer, causal = explain(model, encoder, problem, graph, labels, values="causal", seed=0)
        _, conditional = explain(model, encoder, problem, graph, labels, values="conditional", seed=0)
        np.testing.assert_array_equal(causal.values, conditional.values)
        np.testing.assert_array_equal(causal.base_values, conditional.base_values)
        assert "computed as conditional" in str(explainer.plan(1))


def test_rows_that_cannot_occur_can_be_set():
    problem = make_problem(3, n=4, zeros=0.6)
    rng = np.random.default_rng(0)
    model, encoder = make_model("forest", problem, rng)
    joint = problem.joint()
    impossible = np.argwhere(joint == 0)[:3]
    possible = np.argwhere(joint > 0)[:2]
    rows = np.vstack([impossible, possible])
    with pytest.raises(ImpossibleEvidenceError, match="row 0"):
        explain(model, encoder, problem, None, problem.labels(rows), values="conditional")
    explainer, explanation = explain(model, encoder, problem, None, problem.labels(rows), values="causal")
    expected = expected_values(problem, predict_codes(explainer), rows, problem.projected_edges(), "causal")
    np.testing.assert_allclose(explanation.values, expected.reshape(explanation.values.shape), rtol=0, atol=1e-9)


def test_sensitivity_asks_for_other_coalitions():
    """Under another graph coalitions lack causes: what was computed as conditional no longer is the same."""
    problem = make_problem(21, n=4)
    rng = np.random.default_rng(0)
    model, encoder = make_model("boosted", problem, rng)
    rows = problem.rows(rng, 2)
    explainer, _ = explain(model, encoder, problem, None, problem.labels(rows), values="causal")
    found = explainer.sensitivity(problem.labels(rows), graphs=[CausalOrder.from_edges([], features=problem.features)])
    expected = expected_values(problem, predict_codes(explainer), rows, [], "causal")
    np.testing.assert_allclose(found.values[0], expected.reshape(found.values[0].shape), rtol=0, atol=1e-9)
