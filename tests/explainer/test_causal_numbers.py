"""``values="causal"`` where features are numbers: linear Gaussian networks, levels, structural models, donors."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel, StructuralModel
from shap_asv.backgrounds.gaussian.model import network_setting
from shap_asv.backgrounds.interventions import LevelByLevel
from shap_asv.backgrounds.pgmpy_networks import LinearGaussianNetwork
from tests.oracles import gaussian_interventions as oracle
from tests.oracles.brute_force import over_orders
from tests.oracles.gaussians import random_gaussian

N = 4
NAMES = list("abcd")
EVERY_ORDER = list(itertools.permutations(range(N)))
#: Levels, and which of them are confounded.
MIXTURES = [
    ([[0, 1, 2, 3]], ()),
    ([[2, 0], [1, 3]], (0,)),
    ([[2, 0], [1, 3]], (0, 1)),
    ([[1], [0, 3], [2]], (1,)),
    ([[3], [2], [1], [0]], (1, 2)),
    ([[0, 1, 3], [2]], (0,)),
]


def sets(n=N):
    return np.array(list(itertools.product([False, True], repeat=n)))


def linear_model(rng):
    weights, offset = rng.normal(size=N), rng.normal()
    model = LinearRegression().fit(pd.DataFrame(np.eye(N), columns=NAMES), np.zeros(N))
    model.coef_, model.intercept_ = weights, offset
    return model, weights, offset


def gaussian(seed):
    return random_gaussian(np.random.default_rng(seed), N)


def pgmpy_network(rng, n_latent=1):
    """A linear Gaussian network over z0.., a..d with random edges; the z are latent, each above two features."""
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    names = [f"z{k}" for k in range(n_latent)] + NAMES
    total = len(names)
    slopes = np.tril(rng.normal(size=(total, total)), -1) * (rng.random((total, total)) < 0.6)
    slopes[:n_latent, :n_latent] = 0.0
    for k in range(n_latent):
        slopes[n_latent + rng.choice(N, 2, replace=False), k] = rng.normal(size=2)
    intercepts, deviations = rng.normal(size=total), rng.uniform(0.5, 2.0, size=total)
    edges = [(names[p], names[v]) for v in range(total) for p in range(v) if slopes[v, p] != 0]
    network = LinearGaussianBayesianNetwork(edges)
    network.add_nodes_from(names)
    for v, name in enumerate(names):
        causes = [p for p in range(v) if slopes[v, p] != 0]
        beta = [intercepts[v], *slopes[v, causes]]
        network.add_cpds(LinearGaussianCPD(name, beta, deviations[v], [names[p] for p in causes]))
    return network, intercepts, slopes, deviations


@pytest.mark.parametrize("seed", range(3))
def test_linear_models_under_linear_gaussian_networks(seed):
    """All sets and all orders, with latent confounders, to the last digits."""
    rng = np.random.default_rng(seed)
    n_latent = seed % 3
    network, intercepts, slopes, _ = pgmpy_network(rng, n_latent)
    model, weights, offset = linear_model(rng)
    row = rng.normal(size=N)

    def value(members):
        means = oracle.network_means(intercepts, slopes, {n_latent + i: row[i] for i in members})
        return [offset + means[n_latent:] @ weights]

    explainer = AsymmetricExplainer(model, network, feature_names=NAMES, values="causal", causal_graph=[])
    assert explainer.plan(1).backend.method.name == "moments"
    found = explainer(pd.DataFrame([row], columns=NAMES), silent=True)
    np.testing.assert_allclose(found.values[0], over_orders(value, EVERY_ORDER)[:, 0], rtol=0, atol=1e-9)
    total = found.base_values[0] + found.values[0].sum()
    np.testing.assert_allclose(total, offset + row @ weights, rtol=0, atol=1e-9)
    along = AsymmetricExplainer(model, network, feature_names=NAMES, values="causal")
    orders = [order for order in EVERY_ORDER if _respects(order, along.causal_order)]
    found = along(pd.DataFrame([row], columns=NAMES), silent=True)
    np.testing.assert_allclose(found.values[0], over_orders(value, orders)[:, 0], rtol=0, atol=1e-9)


def _respects(order, causal_order):
    place = {i: k for k, i in enumerate(order)}
    return all(place[causal_order.index(a)] < place[causal_order.index(b)] for a, b in causal_order.edges)


@pytest.mark.parametrize("seed", range(2))
def test_second_moments_under_linear_gaussian_networks(seed):
    rng = np.random.default_rng(seed)
    _, intercepts, slopes, deviations = pgmpy_network(rng, 1)
    names = ("z0", *NAMES)
    network = LinearGaussianNetwork(names, intercepts, slopes, deviations, ("z0",))
    for members in sets():
        setting = network_setting(network, NAMES, members)
        fixed = dict.fromkeys((1 + np.flatnonzero(members)).tolist(), 0.0)
        expected = oracle.network_covariance(slopes, deviations, fixed)[1:, 1:]
        np.testing.assert_allclose(setting.covariance, expected[np.ix_(~members, ~members)], rtol=0, atol=1e-9)
        factor = setting.factor()
        np.testing.assert_allclose(factor @ factor.T, setting.covariance, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("levels", "confounded"), MIXTURES)
def test_linear_models_by_levels(levels, confounded):
    """Confounded and unconfounded levels in every mixture."""
    mean, covariance = gaussian(len(levels) + 10 * len(confounded))
    rng = np.random.default_rng(5)
    model, weights, offset = linear_model(rng)
    row = rng.normal(size=N)

    def value(members):
        fixed = {i: row[i] for i in members}
        return [offset + oracle.level_means(mean, covariance, levels, confounded, fixed) @ weights]

    order = CausalOrder.from_levels([[NAMES[i] for i in level] for level in levels], confounded=confounded)
    explainer = AsymmetricExplainer(model, GaussianModel(mean, covariance, NAMES), order, values="causal")
    table = pd.DataFrame([row], columns=NAMES)
    allowed = [o for o in EVERY_ORDER if _respects(o, order.restricted_to([order.index(name) for name in NAMES]))]
    np.testing.assert_allclose(
        explainer(table, silent=True).values[0], over_orders(value, allowed)[:, 0], rtol=0, atol=1e-9
    )
    symmetric = explainer.symmetric()
    assert "causal Shapley values" in str(symmetric.plan(1))
    np.testing.assert_allclose(
        symmetric(table, silent=True).values[0], over_orders(value, EVERY_ORDER)[:, 0], rtol=0, atol=1e-9
    )


def test_one_level_is_conditional_or_marginal():
    """The two ends of Heskes' rule: features that influence one another, and features that only share causes."""
    mean, covariance = gaussian(3)
    model, _, _ = linear_model(np.random.default_rng(0))
    table = pd.DataFrame([[0.5, -1.0, 2.0, 0.3]], columns=NAMES)
    background = GaussianModel(mean, covariance, NAMES)
    by = {
        confounded: AsymmetricExplainer(
            model, background, CausalOrder.from_levels([NAMES], confounded=confounded), values="causal"
        )(table, silent=True).values
        for confounded in ((), (0,))
    }
    conditional = AsymmetricExplainer(model, background, values="conditional")(table, silent=True).values
    marginal = AsymmetricExplainer(model, background, values="marginal")(table, silent=True).values
    np.testing.assert_allclose(by[()], conditional, rtol=0, atol=1e-9)
    np.testing.assert_allclose(by[(0,)], marginal, rtol=0, atol=1e-9)
    assert np.abs(conditional - marginal).max() > 0.1


def curved(table):
    x = np.asarray(table, dtype=float)
    return np.maximum(x[:, 0], x[:, 1]) + x[:, 2] * x[:, 3]


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("confounded", [(), (0, 1)])
def test_draws_by_levels(generic, confounded):
    """Closed form and level by level: both meet plain draws within their errors."""
    mean, covariance = gaussian(8)
    levels = ((0, 2), (1, 3))
    natural = GaussianModel(mean, covariance, NAMES)
    background = (
        LevelByLevel(natural, levels, confounded) if generic else natural.intervened_by_levels(levels, confounded)
    )
    rng = np.random.default_rng(0)
    row = rng.normal(size=N)
    uniforms = rng.random((4000, background.n_uniforms))
    evidence = np.where(sets(), row, np.nan)
    found = background.draws(evidence, uniforms)
    for members, drawn in zip(sets(), found, strict=True):
        np.testing.assert_array_equal(drawn[:, members], np.broadcast_to(row[members], drawn[:, members].shape))
        fixed = {i: row[i] for i in np.flatnonzero(members)}
        theirs = curved(oracle.level_draws(rng, mean, covariance, levels, confounded, fixed, 4000))
        ours = curved(drawn)
        error = np.hypot(ours.std(), theirs.std()) / np.sqrt(4000)
        assert abs(ours.mean() - theirs.mean()) <= 5 * error + 1e-9


def three_nodes():
    """x -> y -> w with a hidden cause of x and w."""
    return StructuralModel(
        [("h", "x"), ("x", "y"), ("y", "w"), ("h", "w")],
        {
            "h": lambda causes, u: ndtri(u),
            "x": lambda causes, u: causes["h"] + 0.5 * ndtri(u),
            "y": lambda causes, u: 2.0 * causes["x"] + 0.5 * ndtri(u),
            "w": lambda causes, u: causes["y"] - 3.0 * causes["h"] + 0.5 * ndtri(u),
        },
    )


def test_structural_models_with_a_hidden_cause():
    """A linear model by hand: setting x moves w through y alone, though h ties them."""
    model = LinearRegression().fit(pd.DataFrame(np.eye(3), columns=["x", "y", "w"]), np.zeros(3))
    model.coef_, model.intercept_ = np.array([0.0, 0.0, 1.0]), 0.0
    explainer = AsymmetricExplainer(
        model, three_nodes(), feature_names=["x", "y", "w"], values="causal", seed=0, n_draws=4000
    )
    found = explainer(pd.DataFrame([[1.0, 5.0, 0.0]], columns=["x", "y", "w"]), silent=True)
    # do(x=1): E[w] = 2; do(x=1, y=5): E[w] = 5; all: 0
    assert (np.abs(found.values[0] - [2.0, 3.0, -5.0]) <= 5 * found.error_std[0] + 1e-9).all()
    assert found.error_std.max() < 0.2
    assert "simulated forwards" in str(explainer.plan(1))


def test_structural_models_condition_where_that_is_the_same():
    model = StructuralModel(
        [("x", "y")], {"x": lambda causes, u: ndtri(u), "y": lambda causes, u: causes["x"] ** 2 + ndtri(u)}
    )

    def product(table):
        return np.asarray(table["x"]) * np.asarray(table["y"])

    rows = pd.DataFrame({"x": [1.0, -2.0], "y": [0.5, 3.0]})
    causal, conditional = (
        AsymmetricExplainer(product, model, feature_names=["x", "y"], values=values, seed=1)
        for values in ("causal", "conditional")
    )
    np.testing.assert_array_equal(causal(rows, silent=True).values, conditional(rows, silent=True).values)
    assert "computed as conditional" in str(causal.plan(1))
    # SHAP asks for y without x, which only interventions know
    symmetric = causal.symmetric()(rows, silent=True)
    means = {(): 0.0, ("x",): rows.x * rows.x**2, ("y",): 0.0 * rows.y, ("x", "y"): rows.x * rows.y}
    expected = ((means["x",] - means[()]) + (means["x", "y"] - means["y",])) / 2
    assert (np.abs(symmetric.values[:, 0] - expected) <= 5 * symmetric.error_std[:, 0] + 1e-9).all()


def test_a_table_and_a_graph_are_enough():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=300)
    table = pd.DataFrame({"cause": cause, "effect": 2 * cause + rng.normal(size=300)})

    def model(X):
        return np.asarray(X["cause"], dtype=float)

    rows = pd.DataFrame({"cause": [0.0], "effect": [4.0]})
    options = {"values": "causal", "seed": 0, "silent": True}
    by_dag = AsymmetricExplainer(model, table, [("cause", "effect")], **options)
    assert isinstance(by_dag.masker, StructuralModel)
    by_levels = AsymmetricExplainer(model, table, CausalOrder.from_levels([["cause"], ["effect"]]), **options)
    for explainer in (by_dag, by_levels):
        assert explainer.values == "causal"
        assert np.abs(explainer.symmetric()(rows, silent=True).values[0, 1]) < 0.1
    unnamed = AsymmetricExplainer(
        lambda X: np.asarray(X, dtype=float)[:, 0], table.to_numpy(), CausalOrder.from_levels([[0], [1]]), **options
    )
    assert np.abs(unnamed.symmetric()(rows.to_numpy(), silent=True).values[0, 1]) < 0.1
