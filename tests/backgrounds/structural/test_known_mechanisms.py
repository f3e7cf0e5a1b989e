"""Given mechanisms of four kinds: ASV against brute force over the lattice.

The oracle clamps every ancestral set and averages 2^15 scrambled Sobol draws in numpy; it imports nothing of ours.
"""

import networkx as nx
import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, StructuralModel
from tests.oracles.structural_models import KINDS

VARIANT = 11


def explainer_of(model, table, **options):
    graph = nx.DiGraph(model.edges)
    graph.add_nodes_from(model.names)
    background = StructuralModel(graph, model.mechanisms, like=table)
    return AsymmetricExplainer(
        model.explained, background, feature_names=list(model.names), algorithm="monte_carlo", **options
    )


@pytest.fixture(scope="module", params=KINDS)
def known(request):
    model = KINDS[request.param](VARIANT)
    row = model.sample(1, 777)
    return model, model.sample(300, 1), row, model.asv(model.values(row, 2**15, 3))[0]


def test_asv_is_that_of_brute_force(known):
    model, table, row, truth = known
    explanation = explainer_of(model, table, n_draws=4096, seed=0)(row, silent=True)
    error = explanation.error_std[0]
    assert (np.abs(explanation.values[0] - truth) <= 5 * error + 1e-3).all()
    assert error.max() < 0.1 * np.abs(truth).max()  # or the line above says nothing
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1), model.explained(row), atol=1e-9
    )
