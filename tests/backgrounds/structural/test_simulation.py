"""Draws with sets clamped: equal to a plain simulation row by row, and to closed forms."""

import networkx as nx
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from shap_asv.backgrounds.structural import StructuralModel
from shap_asv.backgrounds.structural import background as background_module
from shap_asv.errors import ArgumentError, NotAncestralError, RowsError
from tests.oracles.structural_models import KINDS, linear_gaussian

CHAIN = [("a", "b"), ("b", "c"), ("a", "c")]
FUNCTIONS = {
    "a": lambda causes, u: ndtri(u),
    "b": lambda causes, u: 2 * causes["a"] + ndtri(u),
    "c": lambda causes, u: causes["a"] * causes["b"] + u,
}


def known(kind, seed):
    model = KINDS[kind](seed)
    graph = nx.DiGraph(model.edges)
    graph.add_nodes_from(model.names)
    return model, StructuralModel(graph, model.mechanisms, like=model.sample(500, 1))


@pytest.mark.parametrize("kind", list(KINDS))
def test_draws_are_those_of_a_plain_simulation(kind):
    """Every ancestral set of three rows at once, against the simulator of the oracle set by set."""
    model, ours = known(kind, 5)
    background = ours.background()
    rows = model.sample(3, 9)
    coded = background.read(rows)
    ideals = model.ideals()
    members = np.array([[name in ideal for name in background.features] for ideal in ideals])
    evidence = np.where(members[None], coded[:, None, :], np.nan).reshape(-1, len(background.features))
    uniforms = np.random.default_rng(3).uniform(1e-6, 1 - 1e-6, (40, background.n_uniforms))
    in_oracle_order = uniforms[:, [ours.nodes.index(name) for name in model.names]]
    draws = background.draws(evidence, uniforms)
    assert draws.shape == (len(evidence), 40, 8)
    held = ~np.isnan(evidence)
    assert np.array_equal(
        np.broadcast_to(evidence[:, None], draws.shape)[np.broadcast_to(held[:, None], draws.shape)],
        draws[np.broadcast_to(held[:, None], draws.shape)],
    )
    for d in (0, 39):  # a single draw is made in another way
        np.testing.assert_array_equal(background.draws(evidence, uniforms[d : d + 1])[:, 0], draws[:, d])
    for e in range(len(evidence)):
        row = rows.iloc[e // len(ideals)]
        expected = model.simulate(in_oracle_order, {name: row[name] for name in ideals[e % len(ideals)]})
        got = background.inputs(draws[e])
        for name in model.names:
            if got[name].dtype == float:
                np.testing.assert_allclose(got[name], expected[name], rtol=1e-12, atol=1e-12)
            else:
                assert got[name].tolist() == expected[name].tolist()


def test_conditionals_of_a_linear_gaussian_model_are_the_closed_form():
    """Mean and covariance of the free features given an ancestral set, from the joint covariance."""
    model = linear_gaussian(2)
    graph = nx.DiGraph(model.edges)
    graph.add_nodes_from(model.names)
    background = StructuralModel(graph, model.mechanisms).background(model.names)
    n = len(model.names)
    zero = {name: np.zeros(1) for name in model.names}
    weights, constants, deviations = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for v, name in enumerate(model.names):

        def at(changes, u, name=name):
            return model.mechanisms[name]({p: changes.get(p, zero[p]) for p in model.parents[name]}, np.array([u]))[0]

        constants[v] = at({}, 0.5)
        deviations[v] = at({}, stats.norm.cdf(1.0)) - constants[v]
        for p in model.parents[name]:
            weights[v, model.names.index(p)] = at({p: np.ones(1)}, 0.5) - constants[v]
    inverse = np.linalg.inv(np.eye(n) - weights)
    mean, covariance = inverse @ constants, inverse @ np.diag(deviations**2) @ inverse.T
    ideal = sorted(model.ideals(), key=len)[len(model.ideals()) // 2]
    held = np.array([name in ideal for name in model.names])
    assert 0 < held.sum() < n
    row = np.arange(n) * 0.3
    gain = covariance[np.ix_(~held, held)] @ np.linalg.inv(covariance[np.ix_(held, held)])
    expected_mean = mean[~held] + gain @ (row - mean)[held]
    expected_covariance = covariance[np.ix_(~held, ~held)] - gain @ covariance[np.ix_(held, ~held)]
    uniforms = np.random.default_rng(0).random((100_000, background.n_uniforms))
    draws = background.draws(np.where(held, row, np.nan)[None], uniforms)[0][:, ~held]
    errors = np.sqrt(np.diag(expected_covariance) / len(draws))
    assert (np.abs(draws.mean(axis=0) - expected_mean) < 5 * errors).all()
    np.testing.assert_allclose(np.cov(draws.T), expected_covariance, atol=0.03 * expected_covariance.max())


def test_each_distinct_piece_of_work_is_done_once(monkeypatch):
    """Evidence rows that agree on the ancestors of a node share its draws; b is simulated for two values of a only."""
    background = StructuralModel(CHAIN, FUNCTIONS).background()
    seen = []
    original = background_module._drawn

    def counted(mechanism, causes, rows, noise):
        seen.append((mechanism.column.name, len(rows)))
        return original(mechanism, causes, rows, noise)

    monkeypatch.setattr(background_module, "_drawn", counted)
    nan = np.nan
    evidence = np.array(
        [
            [nan, nan, nan],
            [1.0, nan, nan],
            [1.0, nan, nan],
            [2.0, nan, nan],
            [1.0, 3.0, nan],
            [1.0, 3.0, nan],
            [1.0, 3.0, 5.0],
        ]
    )
    draws = background.draws(evidence, np.random.default_rng(0).random((10, 3)))
    assert dict(seen) == {"a": 1, "b": 3, "c": 4}
    assert np.array_equal(draws[1], draws[2])
    assert np.array_equal(draws[4], draws[5])
    for e in range(len(evidence)):
        alone = background.draws(evidence[e : e + 1], np.random.default_rng(0).random((10, 3)))
        assert np.array_equal(alone[0], draws[e])


def test_any_set_can_be_clamped_by_intervening():
    background = StructuralModel(CHAIN, FUNCTIONS).background()
    uniforms = np.random.default_rng(0).random((50, 3))
    free = background.draws(np.full((1, 3), np.nan), uniforms)[0]
    held = background.intervened().draws(np.array([[np.nan, 4.0, np.nan]]), uniforms)[0]
    np.testing.assert_array_equal(held[:, 0], free[:, 0])  # a does not hear of what is done to b
    np.testing.assert_allclose(held[:, 2], free[:, 0] * 4.0 + uniforms[:, 2])


def test_a_set_that_is_not_ancestral_is_refused_by_name():
    background = StructuralModel(CHAIN, FUNCTIONS).background()
    uniforms = np.random.default_rng(0).random((5, 3))
    with pytest.raises(NotAncestralError, match="'b' is held while its cause 'a' is free"):
        background.draws(np.array([[np.nan, 1.0, np.nan]]), uniforms)
    with pytest.raises(RowsError, match="evidence of shape"):
        background.draws(np.full((1, 2), np.nan), uniforms)
    with pytest.raises(ArgumentError, match="uniforms of shape"):
        background.draws(np.full((1, 3), np.nan), uniforms[:, :2])


def test_a_background_narrowed_is_the_model_seen_through_fewer_nodes():
    model = StructuralModel(CHAIN, FUNCTIONS)
    whole = model.background()
    narrowed, asked = whole.only(["b", "a"]), model.background(["b", "a"])
    assert (narrowed.features, narrowed.latent) == (("b", "a"), ("c",))
    uniforms = np.random.default_rng(0).random((5, asked.n_uniforms))
    free = np.full((1, 2), np.nan)
    np.testing.assert_array_equal(narrowed.draws(free, uniforms), asked.draws(free, uniforms))
    assert whole.n_uniforms == 3 > narrowed.n_uniforms


def test_latent_nodes():
    """They are drawn, and not seen; what is known of an effect would tell of them."""
    functions = {
        "a": lambda causes, u: u,
        "m": lambda causes, u: causes["a"] + u,
        "b": lambda causes, u: causes["m"] + u,
        "c": lambda causes, u: causes["b"] + u,
    }
    chain = [("a", "m"), ("m", "b"), ("b", "c")]
    uniforms = np.random.default_rng(0).random((5, 4))
    background = StructuralModel(chain, functions).background(["a", "b", "c"])
    assert background.latent == ("m",)
    draws = background.draws(np.array([[0.5, np.nan, np.nan]]), uniforms)[0]
    np.testing.assert_allclose(draws[:, 1], 0.5 + uniforms[:, 1] + uniforms[:, 2])
    with pytest.raises(NotAncestralError, match="'b' is held while its cause 'm' is free"):
        background.draws(np.array([[0.5, 1.5, np.nan]]), uniforms)


def test_nodes_without_effect_on_the_features_are_not_simulated():
    def never(causes, u):
        if len(u) != 4096:  # once, to see what it returns
            raise AssertionError
        return u

    model = StructuralModel([("a", "b")], {"a": lambda causes, u: u, "b": never})
    background = model.background(["a"])
    assert background.n_uniforms == 1
    assert background.draws(np.array([[np.nan]]), np.array([[0.25]])).tolist() == [[[0.25]]]
