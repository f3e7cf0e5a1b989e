"""Bad input meets an error that names the thing, the value and the way out; nothing ends in NaN."""

import io
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import shap
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, errors, load_network, sample_rows


@pytest.fixture(scope="module")
def case(asia, explainer):
    """Everything a bad call needs: network, model, X, names, and an explainer that works."""

    network, model, X = asia
    numbers = DecisionTreeClassifier(max_depth=3).fit((X == "yes").astype(int).to_numpy(), X["xray"])
    return SimpleNamespace(network=network, model=model, X=X, names=list(X.columns), good=explainer, numbers=numbers)


def constant(table):
    return np.zeros(len(table))


def make(case, **options):
    return AsymmetricExplainer(case.model, case.network, **options)


def half_a_network():
    network = DiscreteBayesianNetwork([("a", "b")])
    network.add_cpds(TabularCPD("a", 2, [[0.5], [0.5]]))
    return network


def impossible_row(case):
    return case.X.iloc[[0]].assign(lung="yes", either="no")


CONSTRUCTION = {
    "no masker": (lambda c: AsymmetricExplainer(c.model, None), ValueError, "masker cannot be None."),
    "masker is a word": (
        lambda c: AsymmetricExplainer(c.model, "asia"),
        errors.NetworkError,
        "cannot be read from a str",
    ),
    "1-D matrix": (lambda c: AsymmetricExplainer(constant, np.zeros(3)), errors.NetworkError, r"shape \(3,\)"),
    "empty matrix": (lambda c: AsymmetricExplainer(constant, np.zeros((0, 2))), errors.NetworkError, "no rows"),
    "no CPTs": (
        lambda c: AsymmetricExplainer(constant, DiscreteBayesianNetwork([("a", "b")])),
        errors.NetworkError,
        "node 'a' has no CPT",
    ),
    "one CPT missing": (
        lambda c: AsymmetricExplainer(constant, half_a_network()),
        errors.NetworkError,
        "node 'b' has no",
    ),
    "continuous network": (
        lambda c: AsymmetricExplainer(constant, LinearGaussianBayesianNetwork([("a", "b")])),
        errors.NetworkError,
        "continuous nodes",
    ),
    "model is a number": (
        lambda c: AsymmetricExplainer(42, c.network, feature_names=c.names),
        errors.ModelError,
        "must be callable",
    ),
    "model not fitted": (
        lambda c: AsymmetricExplainer(DecisionTreeClassifier(), c.network, feature_names=c.names),
        errors.ModelError,
        "not fitted",
    ),
    "names for a model of numbers": (
        lambda c: AsymmetricExplainer(c.numbers, c.network, feature_names=c.names),
        errors.EncodingError,
        "encoder=",
    ),
    "encoder lacks a state": (
        lambda c: AsymmetricExplainer(c.numbers, c.network, feature_names=c.names, encoder={"yes": 1}),
        errors.EncodingError,
        "no value for the state 'no'",
    ),
    "model returns NaN": (
        lambda c: AsymmetricExplainer(lambda t: np.full(len(t), np.nan), c.network, feature_names=c.names),
        errors.ModelError,
        "returned nan",
    ),
    "model returns the wrong length": (
        lambda c: AsymmetricExplainer(lambda t: np.zeros(3), c.network, feature_names=c.names),
        errors.ModelError,
        r"shape \(3,\)",
    ),
    "unknown feature": (lambda c: make(c, feature_names=["zzz"]), errors.UnknownFeatureError, "'zzz' is no node"),
    "feature twice": (lambda c: make(c, feature_names=["asia", "asia"]), errors.UnknownFeatureError, "named twice"),
    "cycle": (
        lambda c: make(c, causal_graph=[("smoke", "lung"), ("lung", "smoke")]),
        errors.CausalGraphError,
        "smoke -> lung -> smoke",
    ),
    "self-loop": (
        lambda c: make(c, causal_graph=[("smoke", "smoke")]),
        errors.CausalGraphError,
        "self-loop at 'smoke'",
    ),
    "undirected graph": (
        lambda c: make(c, causal_graph=nx.Graph([("smoke", "lung")])),
        errors.CausalGraphError,
        "undirected",
    ),
    "graph is a word": (lambda c: make(c, causal_graph="smoke"), errors.CausalGraphError, "cannot be read from a str"),
    "edge of three": (
        lambda c: make(c, causal_graph=[("a", "b", "c")]),
        errors.CausalGraphError,
        "no .cause, effect. pair",
    ),
    "graph of strangers": (
        lambda c: make(c, causal_graph=[("sun", "moon")]),
        errors.CausalGraphError,
        "none of which is a feature",
    ),
    "graph and orders": (
        lambda c: make(c, causal_graph=[("smoke", "lung")], orders=[c.names]),
        errors.UnknownMethodError,
        "not both",
    ),
    "no orders": (lambda c: make(c, orders=[]), errors.CausalGraphError, "orders= is empty"),
    "short order": (lambda c: make(c, orders=[c.names[:-1]]), errors.CausalGraphError, "each of the 7 features once"),
    "order of a stranger": (lambda c: make(c, orders=[[*c.names[:-1], "q"]]), errors.UnknownFeatureError, "'q'"),
    "weights alone": (lambda c: make(c, weights=[1]), errors.UnknownMethodError, "goes with orders="),
    "negative weight": (lambda c: make(c, orders=[c.names], weights=[-1]), errors.CausalGraphError, ">= 0"),
    "weights of another length": (
        lambda c: make(c, orders=[c.names], weights=[1, 2]),
        errors.CausalGraphError,
        "must be 1",
    ),
    "n_orders": (lambda c: make(c, n_orders=0), errors.ShapAsvError, "n_orders=0 must be"),
    "n_draws": (lambda c: make(c, n_draws="many"), errors.ShapAsvError, "n_draws='many' must be"),
    "tolerance": (lambda c: make(c, tolerance=-1), errors.ShapAsvError, "tolerance=-1 must be"),
    "impossible": (lambda c: make(c, impossible="x"), errors.UnknownMethodError, "use 'raise' or 'relax'"),
    "model_output": (lambda c: make(c, model_output="log"), errors.UnknownMethodError, "auto, raw, probability"),
    "link": (lambda c: make(c, link="logit"), TypeError, "callable"),
    "output_names": (lambda c: make(c, output_names=["a"]), errors.ModelError, "2 outputs"),
    "encoder with a matrix": (
        lambda c: AsymmetricExplainer(constant, np.zeros((3, 2)), encoder={"a": 1}),
        errors.UnknownMethodError,
        "goes with a Bayesian network",
    ),
    "foreign file": (
        lambda c: AsymmetricExplainer.load(io.BytesIO(b"nothing")),
        errors.PersistenceError,
        "no saved explainer",
    ),
}

CALLS = {
    "unknown algorithm": (lambda c: make(c, algorithm="magic")(c.X[:1]), errors.UnknownMethodError, "'magic'"),
    "backend that cannot run": (
        lambda c: make(c, algorithm="ideals x linear")(c.X[:1]),
        errors.MethodNotApplicableError,
        "the model is not linear",
    ),
    "unknown sampler": (
        lambda c: make(c, algorithm="sampling", order_method="kahn")(c.X[:1]),
        errors.UnknownMethodError,
        "'kahn'",
    ),
    "no rows": (lambda c: c.good(c.X[:0]), errors.RowsError, "no rows"),
    "empty list": (lambda c: c.good([]), errors.RowsError, "no rows"),
    "column missing": (lambda c: c.good(c.X.drop(columns="smoke")), errors.RowsError, "missing: smoke"),
    "column too many": (lambda c: c.good(c.X.assign(foo=1)), errors.RowsError, "surplus column.* foo"),
    "target left in": (
        lambda c: c.good(c.X.assign(dysp="yes")),
        errors.RowsError,
        "dysp: in the network, but no feature",
    ),
    "column twice": (lambda c: c.good(pd.concat([c.X, c.X[["smoke"]]], axis=1)), errors.RowsError, "'smoke' twice"),
    "unknown state": (
        lambda c: c.good(c.X.assign(smoke="maybe")),
        errors.UnknownStateError,
        "row 0: 'maybe' is no state of feature 'smoke'; known states: 'yes', 'no'",
    ),
    "NaN": (lambda c: c.good(c.X.assign(smoke=np.nan)), errors.RowsError, "no value .NaN. for feature 'smoke'"),
    "three dimensions": (lambda c: c.good(np.zeros((2, 2, 2))), errors.RowsError, "3 dimensions"),
    "a number": (lambda c: c.good(5), errors.RowsError, "0 dimensions"),
    "wrong width": (lambda c: c.good([["yes", "no"]]), errors.RowsError, "do not fit 7 features"),
    "ragged rows": (lambda c: c.good([["yes", "no"], ["yes"]]), errors.RowsError, "different lengths"),
    "impossible row": (
        lambda c: c.good(impossible_row(c)),
        errors.ImpossibleEvidenceError,
        "row 0 is impossible.*lung='yes', either='no'",
    ),
    "max_evals too low": (lambda c: c.good(c.X[:1], max_evals=3), errors.BudgetExceededError, "two orders need 14"),
    "max_evals a word": (lambda c: c.good(c.X[:1], max_evals="lots"), errors.ShapAsvError, "max_evals='lots'"),
    "batch_size": (lambda c: c.good(c.X[:1], batch_size=0), errors.ShapAsvError, "batch_size=0"),
    "output by position": (lambda c: c.good(c.X[:1], outputs=7), errors.UnknownMethodError, "outputs=7"),
    "output by name": (lambda c: c.good(c.X[:1], outputs="maybe"), errors.UnknownMethodError, "'maybe'"),
    "link outside its domain": (
        lambda c: AsymmetricExplainer(constant, c.network, feature_names=c.names, link=shap.links.logit)(c.X[:1]),
        errors.ModelError,
        "link function is not finite",
    ),
    "nobody names the features": (
        lambda c: AsymmetricExplainer(constant, c.network)(c.X[:2].to_numpy()),
        errors.RowsError,
        "pass feature_names=",
    ),
    "plan before the features are known": (
        lambda c: AsymmetricExplainer(constant, c.network).plan(),
        errors.RowsError,
        "pass feature_names=",
    ),
    "X wider than the matrix": (
        lambda c: AsymmetricExplainer(lambda t: t[:, 0], np.zeros((3, 2)))(np.zeros((2, 3))),
        errors.RowsError,
        "X has 3 columns, the background has 2",
    ),
    "NaN through a matrix": (
        lambda c: AsymmetricExplainer(lambda t: t[:, 0], np.zeros((3, 2)))([[np.nan, 1.0]]),
        errors.ModelError,
        "returned nan",
    ),
}


@pytest.mark.parametrize("name", CONSTRUCTION)
def test_at_construction(name, case):
    action, error, message = CONSTRUCTION[name]
    with pytest.raises(error, match=message):
        action(case)


@pytest.mark.parametrize("name", CALLS)
def test_at_the_call(name, case):
    action, error, message = CALLS[name]
    with pytest.raises(error, match=message):
        action(case)


def test_exact_values_that_do_not_exist():
    """A black box over child has 1e9 joint states: exact is refused, with the reason for every backend."""
    network = load_network("child")
    rows = sample_rows(network, 1, seed=0)
    explainer = AsymmetricExplainer(constant, network, feature_names=list(rows.columns), algorithm="exact")
    with pytest.raises(errors.MethodNotApplicableError, match="joint states"):
        explainer(rows)


def test_graph_that_misses_features_or_has_others_warns(case):
    with pytest.warns(errors.CausalGraphWarning, match="does not mention 'asia'"):
        make(case, causal_graph=[("smoke", "lung")])
    chain = [*zip(case.names, case.names[1:], strict=False), ("moon", "smoke")]
    with pytest.warns(errors.CausalGraphWarning, match="'moon', no feature of the model"):
        make(case, causal_graph=chain)


def test_clustering_of_a_masker_is_not_used_in_silence():
    masker = shap.maskers.Partition(np.random.default_rng(0).normal(size=(20, 3)))
    with pytest.warns(errors.ShapAsvWarning, match="clustering"):
        AsymmetricExplainer(lambda t: t[:, 0], masker)


def test_impossible_rows_can_be_relaxed(case):
    rows = pd.concat([impossible_row(case), case.X[:3]])
    explanation = make(case, impossible="relax")(rows)
    assert np.isfinite(explanation.values).all()
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, case.model.predict_proba(rows), atol=1e-9)
    np.testing.assert_allclose(explanation.values[1:], case.good(case.X[:3]).values, atol=1e-12)


def test_errors_leave_the_explainer_usable(case):
    before = case.good(case.X[:2]).values
    with pytest.raises(errors.RowsError):
        case.good([])
    np.testing.assert_array_equal(case.good(case.X[:2]).values, before)


def test_truncated_file(case):
    stream = io.BytesIO()
    case.good.save(stream)
    with pytest.raises(errors.PersistenceError, match=r"truncated|damaged"):
        AsymmetricExplainer.load(io.BytesIO(stream.getvalue()[:-40]))


def test_levels_are_not_read_as_edges(case):
    with pytest.raises(errors.CausalGraphError, match="from_levels"):
        make(case, causal_graph=[["asia", "smoke"], ["tub", "lung"]])


def test_already_encoded_rows_are_explained(case):
    explainer = AsymmetricExplainer(case.numbers, case.network, feature_names=case.names, encoder={"yes": 1, "no": 0})
    with pytest.raises(errors.UnknownStateError, match="X holds states"):
        explainer((case.X[:2] == "yes").astype(int))


def test_number_of_jobs(case):
    with pytest.raises(errors.ShapAsvError, match="n_jobs=0"):
        make(case, n_jobs=0)


@pytest.mark.parametrize("n", [-1, 0, 2.5, True])
def test_rows_to_draw(case, n):
    with pytest.raises(errors.ShapAsvError, match="rows cannot be drawn"):
        sample_rows(case.network, n)


def test_a_typo_in_an_edge_is_no_latent_node(case):
    with pytest.raises(errors.CausalGraphError, match="did you mean 'bronc'"):
        make(case, causal_graph=[("smoke", "bron")])


def test_warnings_point_at_the_users_line(case):
    with pytest.warns(errors.CausalGraphWarning) as seen:
        make(case, causal_graph=[("smoke", "lung")])
    assert seen[0].filename == __file__


@pytest.mark.parametrize("seed", [-1, 1.5, "a", True])
def test_seeds(case, seed):
    with pytest.raises(errors.ShapAsvError, match="seed="):
        make(case, seed=seed)


def test_tolerance_of_a_call(case):
    with pytest.raises(errors.ShapAsvError, match="tolerance=-1"):
        case.good(case.X[:1], tolerance=-1)


def test_sampling_past_the_memory_limit_is_refused_before_it_starts(case):
    with pytest.raises(errors.MethodNotApplicableError, match="the limit is"):
        make(case, algorithm="sampling", seed=0)(case.X[:1], max_evals=10**9)


@pytest.mark.parametrize("edge", [(0, 7), (-1, 0)])
def test_positions_outside_of_the_matrix(edge):
    with pytest.raises(errors.CausalGraphError, match="the columns are 0 to 3"):
        AsymmetricExplainer(lambda t: t[:, 0], np.zeros((3, 4)), [edge])


def test_names_that_are_not_the_matrixs_columns():
    background = pd.DataFrame(np.zeros((3, 2)), columns=["a", "b"])
    with pytest.raises(errors.UnknownFeatureError, match="are not the background's columns"):
        AsymmetricExplainer(constant, background, feature_names=["a", "c"])
    with pytest.raises(errors.UnknownFeatureError, match="1 feature_names for a background of 2 columns"):
        AsymmetricExplainer(constant, np.zeros((3, 2)), feature_names=["a"])
