"""Direct and indirect effects against their definition, on the mutilated joint and by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, CopulaModel, GaussianModel, StructuralModel
from shap_asv.errors import MethodNotApplicableError
from tests.explainer.test_causal_numbers import NAMES, gaussian, linear_model
from tests.explainer.test_causal_values import confounded_problem
from tests.explainer.test_exact import make_graph, make_model, predict_codes
from tests.oracles import brute_force, interventions
from tests.oracles import gaussian_interventions as gaussians
from tests.problems import make_problem


def explainer_of(model, encoder, problem, graph, **options):
    if graph is not None:
        graph = CausalOrder.from_edges(graph, features=problem.features)
    return AsymmetricExplainer(
        model, problem.network(), graph, feature_names=problem.features, encoder=encoder, values="causal", **options
    )


@pytest.mark.parametrize("latent", [True, False])
@pytest.mark.parametrize("graph_kind", ["network", "none", "contradicting"])
@pytest.mark.parametrize("model_kind", ["black box", "many outputs", "forest", "linear"])
def test_definition(model_kind, graph_kind, latent):
    """With latent confounders, and where the causal values themselves are computed as conditional ones."""
    for seed in (0,):
        rng = np.random.default_rng(seed)
        problem = confounded_problem(seed) if latent else make_problem(seed, n=4)
        model, encoder = make_model(model_kind, problem, rng)
        edges, graph = make_graph(graph_kind, problem, rng)
        explainer = explainer_of(model, encoder, problem, graph)
        rows = problem.rows(rng, 2)
        labels = problem.labels(rows)
        direct, indirect = explainer.effects(labels, silent=True)
        network = problem.cards, problem.parents, problem.tables
        table = brute_force.model_table(predict_codes(explainer), problem.feature_cards)
        orders = brute_force.topological_orders(len(problem.features), edges)
        expected = np.stack(
            [interventions.direct_effects(network, problem.feature_nodes, table, row, orders) for row in rows]
        )
        np.testing.assert_allclose(direct.values.reshape(expected.shape), expected, rtol=0, atol=1e-9)
        whole = explainer(labels, silent=True)
        np.testing.assert_allclose(direct.values + indirect.values, whole.values, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(direct.base_values, whole.base_values)
        assert direct.error_std is None
        assert indirect.feature_names == list(problem.features)


def test_linear_models_by_hand():
    """The direct effect of a linear model is its weight times the change of the feature."""
    mean, covariance = gaussian(4)
    model, weights, _ = linear_model(np.random.default_rng(1))
    order = CausalOrder.from_levels([["a"], ["b", "c"], ["d"]], confounded=[1])
    explainer = AsymmetricExplainer(model, GaussianModel(mean, covariance, NAMES), order, values="causal")
    row = np.array([1.0, -1.0, 0.5, 2.0])
    direct, indirect = explainer.effects(pd.DataFrame([row], columns=NAMES), silent=True)
    levels, confounded = [[0], [1, 2], [3]], [1]
    expected = np.zeros(4)
    orders = [(0, 1, 2, 3), (0, 2, 1, 3)]
    for one in orders:
        for place, i in enumerate(one):
            fixed = {j: row[j] for j in one[:place]}
            before = gaussians.level_means(mean, covariance, levels, confounded, fixed)
            expected[i] += weights[i] * (row[i] - before[i]) / len(orders)
    np.testing.assert_allclose(direct.values[0], expected, rtol=0, atol=1e-9)
    # a confounded level moves nobody within it, and the last one has no effects
    assert abs(indirect.values[0, 3]) < 1e-12
    assert abs(indirect.values[0, 0]) > 1e-3


def chain():
    return StructuralModel(
        [("x", "y")], {"x": lambda causes, u: ndtri(u), "y": lambda causes, u: 2.0 * causes["x"] + ndtri(u)}
    )


def test_structural_models_by_simulation():
    """M = x + y: x moves the model by itself as much as it changes, and through y by twice that."""

    def model(X):
        return np.asarray(X["x"], dtype=float) + np.asarray(X["y"], dtype=float)

    explainer = AsymmetricExplainer(model, chain(), feature_names=["x", "y"], values="causal", seed=0, n_draws=2000)
    direct, indirect = explainer.effects(pd.DataFrame({"x": [1.5], "y": [1.0]}), silent=True)
    assert (np.abs(direct.values[0] - [1.5, -2.0]) <= 5 * direct.error_std[0] + 1e-9).all()
    assert (np.abs(indirect.values[0] - [3.0, 0.0]) <= 5 * indirect.error_std[0] + 1e-9).all()
    assert direct.error_std.max() < 0.2


@pytest.mark.parametrize("make", [ConditionalTable, CopulaModel])
def test_tables_by_levels(make):
    rng = np.random.default_rng(0)
    cause = rng.normal(size=300)
    table = pd.DataFrame({"cause": cause, "effect": 2 * cause + 0.1 * rng.normal(size=300)})

    def model(X):
        return np.asarray(X["effect"], dtype=float)

    order = CausalOrder.from_levels([["cause"], ["effect"]])
    explainer = AsymmetricExplainer(model, make(table), order, values="causal", seed=0)
    direct, indirect = explainer.effects(pd.DataFrame({"cause": [1.0], "effect": [0.0]}), silent=True)
    assert abs(direct.values[0, 0]) < 1e-9, "the model does not look at the cause"
    assert indirect.values[0, 0] == pytest.approx(2.0, abs=0.4)
    assert abs(indirect.values[0, 1]) <= 5 * indirect.error_std[0, 1] + 1e-9


def test_sampled_orders_have_errors():
    problem = confounded_problem(5)
    rng = np.random.default_rng(0)
    model, encoder = make_model("boosted", problem, rng)
    labels = problem.labels(problem.rows(rng, 3))
    exact = explainer_of(model, encoder, problem, []).effects(labels, silent=True)
    sampled = explainer_of(model, encoder, problem, [], algorithm="sampling", n_orders=200, seed=0)
    for ours, theirs in zip(sampled.effects(labels, silent=True), exact, strict=True):
        assert (np.abs(ours.values - theirs.values) <= 5 * ours.error_std + 1e-9).all()
        assert ours.error_std.max() > 0


def test_outputs_are_chosen_as_in_a_call():
    problem = confounded_problem(6)
    rng = np.random.default_rng(0)
    model, encoder = make_model("forest", problem, rng)
    labels = problem.labels(problem.rows(rng, 2))
    explainer = explainer_of(model, encoder, problem, None)
    whole, one = explainer.effects(labels), explainer.effects(labels, outputs=1)
    np.testing.assert_array_equal(one.direct.values, whole.direct.values[..., 1])
    assert one.indirect.values.ndim == 2


def test_only_causal_values_have_parts():
    problem = confounded_problem(1)
    model, encoder = make_model("forest", problem, np.random.default_rng(0))
    explainer = AsymmetricExplainer(model, problem.network(), feature_names=problem.features, encoder=encoder)
    with pytest.raises(
        MethodNotApplicableError, match="these are conditional; make the explainer with values='causal'"
    ):
        explainer.effects(problem.labels(problem.rows(np.random.default_rng(0), 1)))
