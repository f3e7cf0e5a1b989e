"""pgmpy's networks are read right, agree with pgmpy's own inference, and are refused when they are broken."""

import pickle

import networkx as nx
import numpy as np
import pytest
from pgmpy.base import DAG
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork

from benchmarks.graphs import to_pgmpy
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.pgmpy_networks import is_network, load_network, read_network
from shap_asv.errors import NetworkError, UnknownFeatureError
from tests.backgrounds.problems import as_network, expectations, loaded
from tests.oracles import random_problems


@pytest.mark.parametrize(("name", "target"), [("child", "Disease"), ("insurance", "Accident"), ("alarm", "LVFAILURE")])
def test_agrees_with_variable_elimination(name, target):
    """P(region | e_S) with the target latent: a few dozen queries, of every number of observed features."""
    plain = read_network(loaded(name))
    network = to_pgmpy(plain)  # the same, renormalised: files print few digits
    features = [node for node in plain.names if node != target]
    background = DiscreteBackground(plain, features)
    rng = np.random.default_rng(0)
    n = len(features)
    rows = background.draws(np.full((1, n), -1), rng.random((24, plain.n_nodes)))[0]
    engine = VariableElimination(network)
    for count, row in enumerate(rows):
        members = rng.permutation(n)[: (count * n) // 24]
        asked = rng.permutation(np.setdiff1d(np.arange(n), members))[:3]
        evidence = np.full((1, n), -1)
        evidence[0, members] = row[members]
        vectors = [np.ones((1, c)) for c in background.cardinalities]
        term = np.zeros((1, n), dtype=int)
        for v in asked:
            vectors[v] = np.vstack([vectors[v], rng.integers(0, 2, background.cardinalities[v])])
            term[0, v] = 1
        got = expectations(background, evidence, vectors, term)[0, 0]
        labels = background.labels(row[None])[0]
        factor = engine.query(
            [features[v] for v in asked], evidence={features[v]: labels[v] for v in members}, show_progress=False
        )
        values = np.transpose(factor.values, [factor.variables.index(features[v]) for v in asked])
        for axis, v in enumerate(asked):
            names = factor.state_names[features[v]]
            values = np.take(values, [names.index(state) for state in background.states[v]], axis=axis)
        for v in asked[::-1]:
            values = values @ vectors[v][1]
        assert got == pytest.approx(float(values), abs=1e-9)


def test_round_trip():
    plain = as_network(*random_problems.random_network(np.random.default_rng(3), 6))
    again = read_network(to_pgmpy(plain))
    assert to_pgmpy(plain).check_model()
    assert set(again.names) == set(plain.names)
    place = [again.names.index(name) for name in plain.names]
    for v, w in enumerate(place):
        assert again.states[w] == plain.states[v]
        assert {again.names[p] for p in again.parents[w]} == {plain.names[p] for p in plain.parents[v]}
        axes = [0, *(1 + again.parents[w].index(place[p]) for p in plain.parents[v])]
        np.testing.assert_allclose(again.tables[w].transpose(axes), plain.tables[v], atol=1e-15)


def test_networks_survive_pickling():
    plain = read_network(loaded("asia"))
    background = DiscreteBackground(plain, ["smoke", "lung", "dysp"])
    evidence = np.array([[0, -1, 1], [-1, -1, 1]])
    before = background.log_probability(evidence)
    copy = pickle.loads(pickle.dumps(background))
    np.testing.assert_array_equal(copy.log_probability(evidence), before)
    assert copy.features == background.features


def small(smoker=((0.3,), (0.7,)), cancer=((0.9, 0.5), (0.1, 0.5))):
    network = DiscreteBayesianNetwork([("smoker", "cancer")])
    names = {"smoker": ["yes", "no"], "cancer": ["no", "yes"]}
    if smoker is not None:
        network.add_cpds(TabularCPD("smoker", 2, smoker, state_names={"smoker": names["smoker"]}))
    if cancer is not None:
        network.add_cpds(TabularCPD("cancer", 2, cancer, evidence=["smoker"], evidence_card=[2], state_names=names))
    return network


def test_topological_order_and_states():
    network = DiscreteBayesianNetwork([("b", "c"), ("a", "c")])
    network.add_node("lonely")
    for name in ("a", "b", "lonely"):
        network.add_cpds(TabularCPD(name, 2, [[0.2], [0.8]], state_names={name: ["x", "y"]}))
    values = np.arange(1, 9).reshape(2, 4) / np.array([6, 8, 10, 12])
    states = {"c": ["p", "q"], "b": ["x", "y"], "a": ["x", "y"]}
    network.add_cpds(TabularCPD("c", 2, values, evidence=["b", "a"], evidence_card=[2, 2], state_names=states))
    plain = read_network(network)
    assert plain.names.index("c") > max(plain.names.index("a"), plain.names.index("b"))
    assert "lonely" in plain.names
    c = plain.names.index("c")
    axes = [0, *(1 + plain.parents[c].index(plain.names.index(name)) for name in ("b", "a"))]
    np.testing.assert_allclose(plain.tables[c].transpose(axes), values.reshape(2, 2, 2))
    assert read_network(plain).names == plain.names


def test_parent_states_are_matched_by_name():
    """The child's CPT lists the parent's states the other way round."""
    network = small(cancer=None)
    states = {"smoker": ["no", "yes"], "cancer": ["no", "yes"]}
    cpd = TabularCPD("cancer", 2, [[0.5, 0.9], [0.5, 0.1]], evidence=["smoker"], evidence_card=[2], state_names=states)
    network.add_cpds(cpd)
    turned = read_network(network)
    straight = read_network(small())
    for a, b in zip(turned.tables, straight.tables, strict=True):
        np.testing.assert_allclose(a, b)


def test_rounding_is_renormalised():
    plain = read_network(small(cancer=((0.895, 0.5), (0.1, 0.5))))
    np.testing.assert_allclose(plain.tables[1][:, 0], np.array([0.895, 0.1]) / 0.995, rtol=1e-12)


def test_what_was_read_is_read_again_without_changing_a_bit():
    rng = np.random.default_rng(0)
    for _ in range(300):
        card, columns = rng.integers(2, 40), rng.integers(1, 50)
        tables = (np.full(columns, 1 / columns), rng.dirichlet(np.ones(card) * 0.3, columns).round(3).T)
        states = tuple(range(columns)), tuple(range(card))
        first = read_network(DiscreteNetwork(("a", "b"), states, ((), (0,)), _near_one(tables)))
        second = read_network(first)
        for a, b in zip(first.tables, second.tables, strict=True):
            np.testing.assert_array_equal(a, b)


def _near_one(tables):
    """Tables whose columns miss a sum of one by at most 0.9 percent."""
    return tuple(np.where(np.abs(t.sum(axis=0) - 1) < 9e-3, t, t / t.sum(axis=0)) for t in tables)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["b", "a", "b"], "feature(s) named more than once: b"),
        (["a", "c"], "no node called c; its nodes are a, b"),
        ([], "no features are left"),
    ],
)
def test_features_that_the_network_does_not_have_once(features, message):
    network = DiscreteBayesianNetwork([("a", "b")])
    network.add_cpds(
        TabularCPD("a", 2, [[0.5], [0.5]]),
        TabularCPD("b", 2, [[0.2, 0.3], [0.8, 0.7]], evidence=["a"], evidence_card=[2]),
    )
    with pytest.raises(UnknownFeatureError) as caught:
        DiscreteBackground(read_network(network), features)
    assert message in str(caught.value)


def test_continuous_networks_are_refused():
    network = LinearGaussianBayesianNetwork([("a", "b")])
    network.add_cpds(LinearGaussianCPD("a", [1], 1), LinearGaussianCPD("b", [1, 2], 1, ["a"]))
    assert is_network(network)
    with pytest.raises(NetworkError, match="LinearGaussianBayesianNetwork has continuous nodes"):
        read_network(network)


def test_recognising_networks():
    assert is_network(small())
    assert is_network(DAG([("a", "b")]))
    for thing in (np.eye(2), nx.DiGraph(), None, "child", lambda x: x, read_network(small())):
        assert not is_network(thing)


def test_loading(tmp_path):
    assert len(loaded("asia")) == 8
    with pytest.raises(NetworkError, match="no network is called 'atlantis'; known: alarm, andes, asia"):
        load_network("atlantis")
    with pytest.raises(NetworkError, match="there is no file"):
        load_network(tmp_path / "missing.bif")
    path = tmp_path / "mine.bif"
    to_pgmpy(read_network(loaded("cancer"))).save(str(path), filetype="bif")
    assert set(load_network(path).nodes()) == set(loaded("cancer").nodes())
    path.write_text("this is not a network")
    with pytest.raises(NetworkError, match="cannot be read as a network in BIF"):
        load_network(path)
    (tmp_path / "broken.bif.gz").write_bytes(b"not gzip")
    with pytest.raises(NetworkError, match="cannot be read"):
        load_network(tmp_path / "broken.bif.gz")


@pytest.mark.parametrize("name", ["cancer", "asia"])
def test_bundled_networks_sum_to_one(name):
    plain = read_network(loaded(name))
    joint = DiscreteBackground(plain).feature_joint()
    assert joint.sum() == pytest.approx(1, abs=1e-9)
