"""Models of other libraries: pgmpy's networks, and dowhy's where it is installed."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.models import LinearGaussianBayesianNetwork
from scipy import stats
from scipy.special import ndtri

from shap_asv import load_network
from shap_asv.backgrounds.structural import StructuralModel
from shap_asv.errors import MechanismError, NetworkError


def linear_gaussian_network():
    network = LinearGaussianBayesianNetwork([("a", "c"), ("b", "c"), ("c", "d")])
    network.add_cpds(
        LinearGaussianCPD("a", [1.0], 2.0),
        LinearGaussianCPD("b", [0.0], 1.0),
        LinearGaussianCPD("c", [0.5, 2.0, -1.0], 0.5, ["b", "a"]),
        LinearGaussianCPD("d", [0.0, 1.0], 1.0, ["c"]),
    )
    return network


def test_linear_gaussian_networks_of_pgmpy():
    background = StructuralModel.from_network(linear_gaussian_network()).background(["a", "b", "c", "d"])
    uniforms = np.random.default_rng(0).random((7, 4))
    held = np.array([[1.5, np.nan, np.nan, np.nan]])
    z = ndtri(uniforms)
    b = z[:, 1]
    c = 0.5 + 2 * b - 1.5 + 0.5 * z[:, 2]
    expected = np.stack([np.full(7, 1.5), b, c, c + z[:, 3]], axis=1)
    np.testing.assert_allclose(background.draws(held, uniforms)[0], expected)
    broken = linear_gaussian_network()
    broken.remove_cpds(broken.get_cpds("d"))
    with pytest.raises(NetworkError, match="'d' has no CPD"):
        StructuralModel.from_network(broken)


def test_discrete_networks_of_pgmpy():
    """Frequencies of a million draws against the tables, by chi-square on the joint of two nodes with their cause."""
    network = load_network("cancer")
    model = StructuralModel.from_network(network)
    background = model.background(["Smoker", "Cancer", "Xray"])
    assert set(background.latent) == {"Pollution", "Dyspnoea"}
    assert "table of 4 x 2" in str(model)
    held = np.full((1, 3), np.nan)
    held[0, 0] = background.codec.columns[0].read(["True"])[0]
    draws = background.draws(held, np.random.default_rng(0).random((1_000_000, background.n_uniforms)))[0]
    labels = background.inputs(draws)
    assert (labels["Smoker"] == "True").all()
    smoke = network.get_cpds("Cancer")
    pollution = network.get_cpds("Pollution")
    share = sum(
        pollution.get_value(Pollution=p) * smoke.get_value(Cancer="True", Smoker="True", Pollution=p)
        for p in ("low", "high")
    )
    observed = (labels["Cancer"] == "True").to_numpy()
    assert abs(observed.mean() - share) < 5 * np.sqrt(share / 1e6)
    seen = (labels.loc[observed, "Xray"] == "positive").mean()
    assert abs(seen - network.get_cpds("Xray").get_value(Xray="positive", Cancer="True")) < 5 / np.sqrt(observed.sum())


def test_a_state_of_probability_zero_is_never_drawn():
    from shap_asv.backgrounds.structural.foreign import TableMechanism

    mechanism = TableMechanism.of(np.array([[0.1, 0.0], [0.9 - 1e-16, 1.0], [0.0, 0.0]]))
    parents = np.array([[0.0], [1.0]])
    uniforms = np.tile(np.array([0.0, 0.5, np.nextafter(1, 0)])[None, :, None], (2, 1, 1))
    assert mechanism.draw(parents, uniforms).tolist() == [[0, 1, 1], [1, 1, 1]]


def test_a_large_discrete_network_is_simulated_whole():
    model = StructuralModel.from_network(load_network("alarm"))
    sample = model.sample(500, seed=0)
    assert sample.shape == (500, 37)


class Root:
    """What dowhy's stochastic models offer."""

    def draw_samples(self, n):
        return np.random.normal(2.0, 1.0, (n, 1))  # noqa: NPY002


class Additive:
    """What dowhy's functional causal models offer; the causes come sorted by name."""

    def draw_noise_samples(self, n):
        return np.random.uniform(-1, 1, (n, 1))  # noqa: NPY002

    def evaluate(self, parents, noise):
        return 10 * parents[:, :1] + parents[:, 1:2] + noise


class Model:
    def __init__(self, mechanisms):
        self.graph = nx.DiGraph([("b", "e"), ("a", "e")])
        self.causal_mechanism = mechanisms.__getitem__


def test_models_that_look_like_those_of_dowhy():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    model = StructuralModel.from_dowhy(Model({"a": Root(), "b": Root(), "e": Additive()}), seed=0)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    background = model.background(["a", "b", "e"])
    uniforms = np.random.default_rng(0).random((5000, 3))
    draws = background.draws(np.array([[1.0, 2.0, np.nan]]), uniforms)[0, :, 2]
    assert stats.kstest(draws, stats.uniform(11, 2).cdf).pvalue > 1e-4
    free = background.draws(np.full((1, 3), np.nan), uniforms)[0]
    assert abs(free[:, 0].mean() - 2) < 0.1
    np.testing.assert_array_equal(free, background.draws(np.full((1, 3), np.nan), uniforms)[0])
    with pytest.raises(MechanismError, match="'e', Root, has no evaluate"):
        StructuralModel.from_dowhy(Model({"a": Root(), "b": Root(), "e": Root()}))
    with pytest.raises(MechanismError, match="'a' could not be drawn: AttributeError"):
        StructuralModel.from_dowhy(Model({"a": None, "b": Root(), "e": Additive()}))


@pytest.mark.filterwarnings("ignore")
def test_a_fitted_model_of_dowhy():
    gcm = pytest.importorskip("dowhy.gcm")
    rng = np.random.default_rng(0)
    a = rng.normal(size=1500)
    b = np.where(rng.random(1500) < stats.norm.cdf(a), "yes", "no")
    table = pd.DataFrame({"a": a, "b": b, "c": 2 * a + (b == "yes") + 0.5 * rng.normal(size=1500)})
    scm = gcm.StructuralCausalModel(nx.DiGraph([("a", "b"), ("a", "c"), ("b", "c")]))
    scm.set_causal_mechanism("a", gcm.ScipyDistribution(stats.norm))
    scm.set_causal_mechanism("b", gcm.ClassifierFCM(gcm.ml.create_logistic_regression_classifier()))
    scm.set_causal_mechanism("c", gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor()))
    gcm.config.disable_progress_bars()
    gcm.fit(scm, table)
    sample = StructuralModel.from_dowhy(scm, seed=0).sample(4000, seed=1)
    theirs = gcm.draw_samples(scm, 4000)
    for name in ("a", "c"):
        assert stats.ks_2samp(sample[name], theirs[name]).statistic < 0.05
    assert abs((sample["b"] == "yes").mean() - (theirs["b"] == "yes").mean()) < 0.05
    fit = np.polyfit(sample.loc[sample["b"] == "yes", "a"], sample.loc[sample["b"] == "yes", "c"], 1)
    np.testing.assert_allclose(fit, [2, 1], atol=0.1)
