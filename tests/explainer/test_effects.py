"""Direct and indirect effects against their definition, on the mutilated joint."""

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, CausalOrder
from shap_asv.errors import MethodNotApplicableError
from tests.explainer.test_causal_values import confounded_problem
from tests.explainer.test_exact import make_model


def explainer_of(model, encoder, problem, graph, **options):
    if graph is not None:
        graph = CausalOrder.from_edges(graph, features=problem.features)
    return AsymmetricExplainer(
        model, problem.network(), graph, feature_names=problem.features, encoder=encoder, values="causal", **options
    )


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
