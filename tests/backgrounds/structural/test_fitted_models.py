"""Fitted from 2,000 rows of known structural models: ASV close to that of the true mechanisms, for all four kinds."""

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from shap_asv.backgrounds.structural import StructuralModel
from tests.oracles.structural_models import KINDS

MOST = {"linear Gaussian": 0.06, "nonlinear": 0.18, "heteroscedastic": 0.17, "mixed": 0.13}


def explained(model, background, rows, n_draws=1024):
    """ASV (rows, 8) with the background's draws, weighed by the oracle."""
    coded = background.read(rows)
    members = np.array([[name in ideal for name in background.features] for ideal in model.ideals()])
    uniforms = stats.qmc.Sobol(background.n_uniforms, seed=1).random(n_draws)
    values = []
    for row in coded:
        draws = background.draws(np.where(members, row, np.nan), uniforms)
        values.append(model.explained(background.inputs(draws.reshape(-1, 8))).reshape(len(members), -1).mean(axis=1))
    return model.asv(np.array(values))


@pytest.fixture(scope="module", params=list(KINDS))
def fitted(request):
    model = KINDS[request.param](11)
    graph = nx.DiGraph(model.edges)
    graph.add_nodes_from(model.names)
    table = model.sample(2000, 1)
    return request.param, model, graph, table, StructuralModel.fit(table, graph, seed=0, silent=True)


def test_asv_is_close_to_that_of_the_true_mechanisms(fitted):
    kind, model, _, _, structural = fitted
    rows = model.sample(10, 77)
    truth = model.asv(model.values(rows, 4096, 3))
    error = np.abs(explained(model, structural.background(), rows) - truth).mean() / np.abs(truth).mean()
    assert error < MOST[kind]


def test_every_mechanism_is_at_least_as_good_as_its_marginal(fitted):
    _, model, _, _, structural = fitted
    saved = structural.report()["saved"]
    assert saved.min() > -0.01
    assert all(saved[name] == 0 for name in model.names if not model.parents[name])
    assert saved.max() > 0.2


def test_samples_look_like_the_table(fitted):
    _, model, _, table, structural = fitted
    sample = structural.sample(4000, seed=5)
    assert sample.dtypes.equals(table.dtypes)
    assert list(sample.columns) == list(table.columns)
    for name in model.names:
        if table[name].dtype == float:
            assert stats.ks_2samp(sample[name], table[name]).statistic < 0.07
        else:
            gap = (sample[name].value_counts(normalize=True) - table[name].value_counts(normalize=True)).abs()
            assert gap.max() < 0.05
    # the explained function sees the whole joint distribution
    true, drawn = model.explained(model.sample(20_000, 3)), model.explained(sample)
    assert stats.ks_2samp(true, drawn).statistic < 0.05
