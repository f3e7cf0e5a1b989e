"""Gaussian backgrounds against the closed form written another way, and the ways in and out of one."""

import math
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer, CausalOrder, errors
from shap_asv.backgrounds.gaussian import algebra
from shap_asv.backgrounds.gaussian.algebra import semidefinite_cholesky
from shap_asv.backgrounds.gaussian.copula import CopulaModel
from shap_asv.backgrounds.gaussian.model import GaussianModel, read_gaussian
from tests.oracles import gaussians

nan = np.nan


def evidence_of(row, n):
    subsets = gaussians.all_subsets(n)
    evidence = np.full((len(subsets), n), nan)
    for e, members in enumerate(subsets):
        evidence[e, members] = row[members]
    return subsets, evidence


@pytest.mark.parametrize("seed", range(4))
def test_means_and_covariances_of_every_coalition(seed):
    rng = np.random.default_rng(seed)
    n = 6
    mean, covariance = gaussians.random_gaussian(rng, n)
    row = mean + np.sqrt(np.diag(covariance)) * rng.normal(size=n)
    background = GaussianModel(mean, covariance)
    subsets, evidence = evidence_of(row, n)
    means = background.means(evidence)
    one_by_one = np.where(np.eye(n, dtype=bool), stats.norm.cdf(1.0), 0.5)  # a normal variable is 1, all others 0
    noise = background.draws(evidence, one_by_one) - means[:, None]
    covariances = np.einsum("edi,edj->eij", noise, noise)
    scales = np.sqrt(np.diag(covariance))
    for members, got_mean, got_covariance in zip(subsets, means, covariances, strict=True):
        want_mean, want_covariance = gaussians.conditional(mean, covariance, row, members)
        assert np.abs((got_mean - want_mean) / scales).max() < 1e-9
        assert np.abs((got_covariance - want_covariance) / np.outer(scales, scales)).max() < 1e-9


def test_draws_are_mean_plus_noise_of_the_right_covariance():
    rng = np.random.default_rng(5)
    n, n_draws = 4, 1 << 14
    mean, covariance = gaussians.random_gaussian(rng, n)
    row = mean + np.sqrt(np.diag(covariance)) * rng.normal(size=n)
    uniforms = stats.qmc.Sobol(n, seed=1).random(n_draws)
    subsets, evidence = evidence_of(row, n)
    draws = GaussianModel(mean, covariance).draws(evidence, uniforms)
    assert draws.shape == (len(subsets), n_draws, n)
    scales = np.sqrt(np.diag(covariance))
    for members, drawn in zip(subsets, draws, strict=True):
        want_mean, want_covariance = gaussians.conditional(mean, covariance, row, members)
        assert np.all(drawn[:, members] == row[members])
        assert np.abs((drawn.mean(axis=0) - want_mean) / scales).max() < 2e-3
        assert np.abs((np.cov(drawn.T) - want_covariance) / np.outer(scales, scales)).max() < 1e-2
        rest = [k for k in range(n) if k not in members]
        for k in rest:
            z = (drawn[:, k] - want_mean[k]) / want_covariance[k, k] ** 0.5
            assert stats.kstest(z, "norm").statistic < 5e-3


def test_uniforms_are_common_to_coalitions_and_rows():
    mean, covariance = np.zeros(3), np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 4.0]])
    uniforms = np.random.default_rng(0).random((7, 3))
    draws = GaussianModel(mean, covariance).draws(
        np.array([[nan, nan, nan], [1.0, nan, nan], [2.0, nan, nan]]), uniforms
    )
    assert np.array_equal(draws[0, :, 2], draws[1, :, 2])  # independent of what is known
    assert np.allclose(draws[2, :, 1] - draws[1, :, 1], 0.6)  # another row moves the mean and nothing else
    split = GaussianModel(mean, covariance).draws(np.array([[2.0, nan, nan]]), uniforms)
    assert np.array_equal(split[0], draws[2])


def test_singular_covariance_and_constant_columns():
    # c = a + b, and d never changes
    root = np.array([[1.0, 0.0], [0.3, 1.0], [1.3, 1.0], [0.0, 0.0]])
    background = GaussianModel([0.0, 0.0, 0.0, 5.0], root @ root.T, ["a", "b", "c", "d"])
    means = background.means(np.array([[1.0, 2.0, nan, nan], [1.0, nan, 3.0, nan], [1.0, 2.0, 3.0, 5.0]]))
    assert np.allclose(means, [1.0, 2.0, 3.0, 5.0], atol=1e-9)
    draws = background.draws(np.array([[1.0, nan, nan, nan]]), np.random.default_rng(0).random((50, 4)))
    assert np.allclose(draws[0, :, 0] + draws[0, :, 1], draws[0, :, 2])
    assert np.all(draws[0, :, 3] == 5.0)
    with pytest.raises(errors.ImpossibleEvidenceError, match=r"row 1.*a=1, b=2, c=4"):
        background.check(np.array([[1.0, 2.0, 3.0, 5.0], [1.0, 2.0, 4.0, 5.0]]))
    with pytest.raises(errors.ImpossibleEvidenceError, match="d=6"):
        background.check(np.array([[1.0, 2.0, 3.0, 6.0]]))
    # what contradicts the covariance tells nothing of the rest
    assert np.allclose(background.means(np.array([[1.0, nan, nan, 6.0]]))[0], [1.0, 0.3, 1.3, 6.0])


@pytest.mark.parametrize("power", [4, 8, 11, 14])
def test_nearly_singular(power):
    # b = a + noise of size 10^-power/2; conditioning on a, b and independent c
    tiny = 10.0**-power
    covariance = np.array([[1.0, 1.0, 0.0, 0.5], [1.0, 1.0 + tiny, 0.0, 0.5], [0, 0, 1.0, 0.2], [0.5, 0.5, 0.2, 1.0]])
    background = GaussianModel(np.zeros(4), covariance)
    got = background.means(np.array([[0.7, 0.7, -1.0, nan]]))
    assert abs(got[0, 3] - (0.5 * 0.7 - 0.2)) < 1e-6
    draws = background.draws(np.array([[0.7, nan, nan, nan]]), np.random.default_rng(0).random((100, 4)))
    assert np.abs(draws[0, :, 1] - 0.7).max() <= 5 * tiny**0.5 + 1e-9


def test_semidefinite_cholesky_of_any_rank():
    rng = np.random.default_rng(0)
    for rank in range(6):
        root = rng.normal(size=(5, rank))
        matrix = root @ root.T
        lower = semidefinite_cholesky(matrix)
        assert np.allclose(lower @ lower.T, matrix, atol=1e-9)
        assert np.array_equal(lower, np.tril(lower))


@pytest.mark.parametrize(
    ("mean", "covariance", "names", "says"),
    [
        ([0, 0], [[1, 2], [2, 1]], ["a", "b"], "not positive semidefinite"),
        ([0, 0], [[1, 0.5], [0.4, 1]], ["a", "b"], r"not symmetric: \(a, b\) is 0.5"),
        ([0, 0], [[-1, 0], [0, 1]], ["a", "b"], "variance of a is -1"),
        ([0, nan], np.eye(2), ["a", "b"], "mean of b is nan"),
        ([0, 0], [[1, nan], [nan, 1]], ["a", "b"], "covariance of a, b is nan"),
        ([0, 0, 0], np.eye(2), ["a", "b", "c"], r"shape \(3, 3\), not \(3,\) and \(2, 2\)"),
        ([0, 0], np.eye(2), ["a", "a"], "more than once"),
        ([0, 0], np.eye(2), ["a"], "as many names"),
        (["x", "y"], np.eye(2), ["a", "b"], "arrays of numbers"),
    ],
)
def test_bad_moments(mean, covariance, names, says):
    with pytest.raises(errors.TableError, match=says):
        GaussianModel(mean, covariance, names)


def test_fit_keeps_dtypes():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 60, 200), "dose": rng.normal(size=200).astype("float32")})
    background = GaussianModel.fit(table)
    assert np.allclose(background.mean, table.mean())
    assert np.allclose(background.covariance, table.astype(float).cov())
    back = background.inputs(background.read(table))
    assert back.equals(table)
    drawn = background.inputs(background.draws(np.array([[nan, 0.5]]), rng.random((9, 2)))[0])
    assert list(drawn.dtypes) == list(table.dtypes)


@pytest.mark.parametrize("fit", [GaussianModel.fit, CopulaModel])
def test_ten_rows_with_a_constant_column(fit):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(10, 12)), columns=list("abcdefghijkl"))  # fewer rows than columns
    table["k"] = 3.0
    background = fit(table)
    evidence = background.read(table.iloc[:3]).copy()
    evidence[:, 4:9] = nan
    draws = background.draws(evidence, rng.random((20, 12)))
    assert np.isfinite(draws).all()
    assert np.all(draws[:, :, 10] == 3.0)


def test_shaps_spelling():
    read = read_gaussian((np.zeros(2), np.eye(2)), None)
    assert read.names == ("Feature 0", "Feature 1")
    background = read.background(read.names)
    assert isinstance(background.inputs(np.zeros((1, 2))), np.ndarray)
    series = pd.Series([0.0, 1.0], index=["a", "b"])
    named = (series, pd.DataFrame(np.eye(2), ["a", "b"], ["a", "b"]))
    assert read_gaussian(named, None).names == ("a", "b")
    with pytest.raises(errors.TableError, match="in one order"):
        GaussianModel(series, pd.DataFrame(np.eye(2), ["b", "a"], ["b", "a"]))
    with pytest.raises(errors.NetworkError, match=r"tuple of 2 .* \(mean, covariance\)"):
        read_gaussian((np.eye(2), np.zeros(2)), None)
    assert read_gaussian(background, None).stored() is background


# --- networks -----------------------------------------------------------------------------------------------


def random_lgbn(seed, n=5):
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in rng.permutation(n)]  # the order of nodes() is not topological
    edges = [(names[i], names[j]) for j in range(n) for i in range(j) if rng.random() < 0.5]
    network = LinearGaussianBayesianNetwork()
    network.add_nodes_from(sorted(names))
    network.add_edges_from(edges)
    weights, cpds = {}, []
    for name in names:
        causes = [str(c) for c in rng.permutation([a for a, b in edges if b == name])]
        weights[name] = (float(rng.normal()), {c: float(rng.normal()) for c in causes}, float(rng.uniform(0.5, 2)))
        shift, slopes, deviation = weights[name]
        cpds.append(LinearGaussianCPD(name, [shift, *slopes.values()], deviation, evidence=causes))
    network.add_cpds(*cpds)
    return network, names, weights


def simulated(names, weights, rng, n_rows, do=()):
    values = {}
    for name in names:
        shift, slopes, deviation = weights[name]
        values[name] = shift + sum(w * values[c] for c, w in slopes.items()) + deviation * rng.normal(size=n_rows)
        if name in dict(do):
            values[name] = np.full(n_rows, float(dict(do)[name]))
    return pd.DataFrame(values)


@pytest.mark.parametrize("seed", range(3))
def test_linear_gaussian_network(seed):
    network, names, weights = random_lgbn(seed)
    background = GaussianModel.from_network(network)
    table = simulated(names, weights, np.random.default_rng(seed), 400_000)[list(background.features)]
    assert np.abs((background.mean - table.mean()) / table.std()).max() < 0.01
    scales = np.outer(table.std(), table.std())
    assert np.abs((background.covariance - table.cov().to_numpy()) / scales).max() < 0.01
    assert set(background.graph.edges) == set(network.edges)
    # latent nodes: the rest is conditioned on without them
    shown = list(background.features[:3])
    fewer = background.only(shown)
    assert set(fewer.latent) == set(background.features[3:])
    row = table.iloc[0][shown].to_numpy()
    subsets, evidence = evidence_of(row, 3)
    for members, got in zip(subsets, fewer.means(evidence), strict=True):
        want, _ = gaussians.conditional(background.mean[:3], background.covariance[:3, :3], row, members)
        assert np.allclose(got, want, atol=1e-9)


def test_latent_nodes_of_the_network_itself():
    network, _, _ = random_lgbn(0)
    network.latents = {"v2"}
    background = GaussianModel.from_network(network)
    assert background.latent == ("v2",)
    assert "v2" not in background.features


def test_intervention_cuts_the_edges():
    network, names, weights = random_lgbn(2)
    background = GaussianModel.from_network(network)
    target = names[2]
    held = np.where(np.array(background.features) == target, 3.0, np.nan)[None]
    under_do = background.intervened()
    table = simulated(names, weights, np.random.default_rng(0), 400_000, do={target: 3.0}.items())
    table = table[list(background.features)]
    scale = table.std().replace(0, 1)
    assert (np.abs(under_do.means(held)[0] - table.mean()) / scale).max() < 0.01
    drawn = under_do.draws(held, np.random.default_rng(1).random((400_000, len(names))))[0]
    gap = np.cov(drawn.T) - table.cov()
    assert np.abs(gap / np.outer(scale, scale)).to_numpy().max() < 0.02


def test_networks_that_cannot_be_read():
    network, _, _ = random_lgbn(1)
    network.remove_cpds(network.get_cpds("v0"))
    with pytest.raises(errors.NetworkError, match="node 'v0' has no CPD"):
        GaussianModel.from_network(network)
    with pytest.raises(errors.NetworkError, match="LinearGaussianBayesianNetwork is needed, not dict"):
        GaussianModel.from_network({})


# --- copulas ------------------------------------------------------------------------------------------------


def test_copula_of_transformed_gaussians():
    rng = np.random.default_rng(0)
    rho = 0.8
    z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 20_000)
    background = CopulaModel(np.column_stack([np.exp(z[:, 0]), z[:, 1] ** 3]))
    assert abs(background.correlation[0, 1] - rho) < 0.01
    uniforms = stats.qmc.Sobol(2, seed=0).random(4096)
    drawn = background.draws(np.array([[np.exp(1.0), nan], [nan, nan]]), uniforms)
    want = stats.norm(rho, (1 - rho**2) ** 0.5)
    assert np.all(drawn[0, :, 0] == np.exp(1.0))
    assert stats.kstest(np.cbrt(drawn[0, :, 1]), want.cdf).statistic < 0.03
    assert stats.kstest(np.log(drawn[1, :, 0]), "norm").statistic < 0.01
    assert not hasattr(background, "means")


def test_copula_with_ties():
    rng = np.random.default_rng(0)
    z = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 20_000)
    table = pd.DataFrame({"claims": np.maximum(0, np.floor(2 * z[:, 0])).astype(int), "income": np.exp(z[:, 1])})
    background = CopulaModel(table)
    drawn = background.draws(np.array([[nan, nan], [nan, np.exp(1.5)], [0, nan]]), rng.random((4000, 2)))
    counts = table["claims"].value_counts(normalize=True)
    for value, share in counts.items():
        assert abs((drawn[0, :, 0] == value).mean() - share) < 0.03
    assert np.all(drawn[:2, :, 0] == np.rint(drawn[:2, :, 0]))
    rich = table["claims"][(np.log(table["income"]) - 1.5).abs() < 0.1]
    assert abs(drawn[1, :, 0].mean() - rich.mean()) < 0.1
    assert abs(background.correlation[0, 1] - 0.7) < 0.02
    none = np.log(table["income"][table["claims"] == 0])
    assert abs(np.log(drawn[2, :, 1]).mean() - none.mean()) < 0.05
    assert background.inputs(drawn[0]).dtypes.equals(table.dtypes)


def test_copula_beyond_its_range():
    background = CopulaModel(np.column_stack([np.arange(50.0), np.arange(50.0)[::-1]]))
    drawn = background.draws(np.array([[1e6, nan]]), np.random.default_rng(0).random((20, 2)))
    assert drawn[0, :, 1].min() >= 0
    assert drawn[0, :, 1].max() < 5


@pytest.mark.parametrize("as_array", [False, True])
def test_linear_models_on_whole_numbers_are_exact(as_array):
    """A column of integers is shown to the model as integers, but its conditional mean is what it is."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 300)
    children = np.clip(rng.poisson(age / 30), 0, 9)
    table = pd.DataFrame({"age": age, "children": children})
    if not as_array:
        table["income"] = 20 + 0.5 * age + 5 * rng.normal(size=300)
    columns = list(table.columns)
    model = LinearRegression().fit(table.to_numpy() if as_array else table, age + 2.0 * children)
    given = table.to_numpy() if as_array else table
    explainer = AsymmetricExplainer(model, GaussianModel.fit(given), seed=0)
    assert explainer.plan(2).chosen.name == "ideals x moments"
    nu = {}
    mean, covariance, row = table.mean().to_numpy(), np.cov(table.T), table.to_numpy()[0]
    for members in product([False, True], repeat=len(columns)):
        held = np.array(members)
        x = np.where(held, row, mean).astype(float)
        if held.any():
            slopes = np.linalg.solve(covariance[np.ix_(held, held)], covariance[np.ix_(held, ~held)])
            x[~held] += (row - mean)[held] @ slopes
        nu[members] = model.intercept_ + x @ model.coef_
    phi = np.zeros(len(columns))
    for order in permutations(range(len(columns))):
        for k, i in enumerate(order):
            before, after = (tuple(j in order[:m] for j in range(len(columns))) for m in (k, k + 1))
            phi[i] += (nu[after] - nu[before]) / math.factorial(len(columns))
    np.testing.assert_allclose(explainer(given[:1], silent=True).values[0], phi, atol=1e-9)


@pytest.mark.parametrize("singular", [False, True])
def test_slopes_are_those_of_the_means(singular, monkeypatch):
    """Of all coalitions at once, a few at a time; with a constant and two columns that are one, too."""
    monkeypatch.setattr(algebra, "SOLVED", 100)
    rng = np.random.default_rng(5)
    mean, covariance = gaussians.random_gaussian(rng, 5)
    if singular:
        mix = np.vstack([np.eye(4, 5), 2 * np.eye(1, 5), np.zeros((1, 5))])
        mean, covariance = mix @ mean + 1, mix @ covariance @ mix.T
    n = len(mean)
    background = GaussianModel(mean, covariance)
    weights = rng.normal(size=(n, 2))
    row = mean + covariance @ rng.normal(size=n)
    coalitions = ~np.isnan(evidence_of(row, n)[1])
    slopes = background.mean_slopes(coalitions, weights)
    assert not slopes[~coalitions].any()
    expected = background.means(evidence_of(row, n)[1]) @ weights
    np.testing.assert_allclose(mean @ weights + np.einsum("mnk,n->mk", slopes, row - mean), expected, atol=1e-9)


@pytest.mark.parametrize("algorithm", ["ideals x moments", "orders x moments"])
def test_one_matrix_for_all_rows_is_value_by_value(algorithm):
    """With the identity as a link of one's own, every value is written down: the same attributions and errors."""
    rng = np.random.default_rng(6)
    mean, covariance = gaussians.random_gaussian(rng, 7)
    model = LinearRegression().fit(rng.normal(size=(30, 7)), rng.normal(size=(30, 2)))
    options = {"algorithm": algorithm, "n_orders": 50, "seed": 0}
    names = [f"Feature {k}" for k in range(7)]
    order = CausalOrder.from_levels([names[:3], names[3:]])
    rows = rng.multivariate_normal(mean, covariance, size=5)
    one, each = (
        AsymmetricExplainer(model, GaussianModel(mean, covariance), order, **options, **link)
        for link in ({}, {"link": lambda nu: nu})
    )
    found, expected = one(rows, silent=True), each(rows, silent=True)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
    np.testing.assert_allclose(found.base_values, expected.base_values, atol=1e-9)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(rows), atol=1e-9)
    if algorithm.startswith("orders"):
        assert found.error_std.max() > 0.01
        np.testing.assert_allclose(found.error_std, expected.error_std, atol=1e-9)


@pytest.mark.parametrize("variance", [4.0, 0.25])
def test_a_constant_that_is_cut_loose_stays_constant(variance):
    model = GaussianModel([1.0, 3.0], [[variance, 0.0], [0.0, 0.0]], ["varies", "constant"]).cut_loose()
    draws = model.draws(np.full((1, 2), np.nan), np.array([[0.1, 0.1], [0.9, 0.9]]))[0]
    assert draws[:, 1].tolist() == [3.0, 3.0]
    assert draws[1, 0] - 1.0 == pytest.approx(np.sqrt(variance) * stats.norm.ppf(0.9))
