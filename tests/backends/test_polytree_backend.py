"""The polytree backend through the explainer, on polytrees that are not forests."""

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer
from tests.explainer.test_exact import make_model, oracle, predict_codes
from tests.problems import make_problem


@pytest.mark.parametrize("kind", ["forest", "boosted", "linear"])
@pytest.mark.parametrize("seed", range(6))
def test_polytrees(kind, seed):
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=6, kind="polytree", max_states=3)
    problem.feature_nodes = list(range(6))
    model, encoder = make_model(kind, problem, rng)
    options = {"feature_names": problem.features, "encoder": encoder, "algorithm": "polytree"}
    explainer = AsymmetricExplainer(model, problem.network(), **options)
    rows = problem.rows(rng, 4)
    expected = oracle(problem, predict_codes(explainer), rows, problem.projected_edges())
    found = explainer(problem.labels(rows)).values.reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
