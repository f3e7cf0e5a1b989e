"""ASV from its definition (all topological orders times the full joint) through the public API."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shap_asv import AsymmetricExplainer
from tests.declared import NETWORKS, backends_under
from tests.oracles import brute_force
from tests.problems import make_problem, to_codes

MODELS = ["black box", "many outputs", "tree", "forest", "boosted", "linear", "pipeline"]
GRAPHS = ["network", "sparser", "denser", "contradicting", "none", "chain"]


def black_box(table):
    codes = to_codes(table)
    return np.sin(codes @ np.arange(1.0, codes.shape[1] + 1)) + codes[:, 0] * codes[:, -1]


def many_outputs(table):
    codes = to_codes(table)
    return np.stack([codes.sum(axis=1) ** 2.0, np.cos(codes @ np.arange(1, codes.shape[1] + 1))], axis=1)


def make_model(kind, problem, rng):
    """(model, encoder): models of numbers come with the encoder that makes them."""
    if kind == "black box":
        return black_box, None
    if kind == "many outputs":
        return many_outputs, None
    codes = np.array(list(itertools.product(*(range(c) for c in problem.feature_cards))))
    y = rng.normal(size=len(codes))
    labels = pd.DataFrame(problem.labels(codes), columns=problem.features)
    if kind == "pipeline":
        model = make_pipeline(OneHotEncoder(), DecisionTreeRegressor(max_depth=5, random_state=0))
        return model.fit(labels, y), None
    estimator = {
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
        "forest": RandomForestClassifier(4, max_depth=3, random_state=0),
        "boosted": GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0),
        "linear": LinearRegression(),
    }[kind]
    encoder = OrdinalEncoder(categories=[[f"s{i}" for i in range(c)] for c in problem.feature_cards]).fit(labels)
    target = rng.integers(3, size=len(codes)) if kind in ("tree", "forest") else y
    return estimator.fit(encoder.transform(labels), target), encoder


def make_graph(kind, problem, rng):
    """Edges between positions of features, and the argument that the explainer takes for them (None: the network's)."""
    n = len(problem.features)
    edges = {
        "network": problem.projected_edges(),
        "sparser": [edge for edge in problem.projected_edges() if rng.random() < 0.5],
        "denser": problem.projected_edges(),
        "contradicting": [(b, a) for a, b in problem.projected_edges()],
        "none": [],
        "chain": [(i, i + 1) for i in range(n - 1)],
    }[kind]
    if kind == "denser":
        order = brute_force.topological_orders(n, edges)[0]
        edges = edges + [(order[0], other) for other in order[1:]]
    if kind == "network":
        return edges, None
    return edges, [(problem.features[a], problem.features[b]) for a, b in edges]


def oracle(problem, predict, rows, edges):
    joint = problem.joint()
    table = brute_force.model_table(predict, problem.feature_cards)
    return np.stack([brute_force.asv(joint, table, row, edges) for row in rows])


def explain(model, encoder, problem, graph, labels, **options):
    from shap_asv import CausalOrder

    if graph is not None:
        graph = CausalOrder.from_edges(graph, features=problem.features)
    explainer = AsymmetricExplainer(
        model, problem.network(), graph, feature_names=problem.features, encoder=encoder, **options
    )
    return explainer, explainer(labels)


def predict_codes(explainer):
    return explainer._execution.problem.predictor.predict


@pytest.mark.parametrize("model_kind", MODELS)
@pytest.mark.parametrize("graph_kind", GRAPHS)
@pytest.mark.parametrize("latent", [0, 1])
def test_definition(model_kind, graph_kind, latent):
    seed = MODELS.index(model_kind) * 31 + GRAPHS.index(graph_kind) * 7 + latent
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=4 + latent, latent=latent)
    model, encoder = make_model(model_kind, problem, rng)
    edges, graph = make_graph(graph_kind, problem, rng)
    rows = problem.rows(rng, 3)
    explainer, explanation = explain(model, encoder, problem, graph, problem.labels(rows), algorithm="exact")
    expected = oracle(problem, predict_codes(explainer), rows, edges)
    values = explanation.values.reshape(expected.shape)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)
    base = explanation.base_values.reshape(len(rows), -1)
    predictions = predict_codes(explainer)(rows)
    np.testing.assert_allclose(base + values.sum(axis=1), predictions, rtol=0, atol=1e-9)
    assert explanation.error_std is None


EXACT_BACKENDS = [backend.name for backend in backends_under(NETWORKS) if backend.exact]


@pytest.mark.parametrize("backend", EXACT_BACKENDS)
@pytest.mark.parametrize("seed", range(4))
def test_every_exact_backend_by_name(backend, seed):
    """Registering a backend tests it: on a forest that is the network, with a model that the backend can treat."""
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=6, kind="forest", zeros=0.15 * (seed % 2))
    problem.feature_nodes = list(range(6))
    kind = "linear" if backend.endswith("linear") else ["tree", "forest", "boosted"][seed % 3]
    model, encoder = make_model(kind, problem, rng)
    rows = problem.rows(rng, 4)
    explainer, explanation = explain(model, encoder, problem, None, problem.labels(rows), algorithm=backend)
    assert explainer.plan(4).backend.name == backend
    expected = oracle(problem, predict_codes(explainer), rows, problem.projected_edges())
    np.testing.assert_allclose(explanation.values.reshape(expected.shape), expected, rtol=0, atol=1e-9)


def test_expected_value_needs_no_possible_row():
    """The row of all first states may be impossible; nu({}) looks at no row."""
    problem = make_problem(7, n=3)
    problem.tables[0] = np.zeros_like(problem.tables[0])
    problem.tables[0][-1] = 1.0
    explainer = AsymmetricExplainer(black_box, problem.network(), feature_names=problem.features)
    rows = problem.labels(problem.rows(np.random.default_rng(0), 1))
    assert np.isclose(explainer.expected_value, explainer(rows).base_values[0])
