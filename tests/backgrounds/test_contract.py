"""What is promised of every background, for each row of the table: its border, its words, and what it can be asked for.

A capability is tested where it is claimed. Examples come from the table of backgrounds, so that a new kind is tested
as soon as it has a row there.
"""

import io
import itertools
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import shap

from shap_asv import AsymmetricExplainer
from shap_asv.backgrounds import registry
from shap_asv.backgrounds.contract import (
    DRAWS,
    JOINT,
    MASKED,
    MOMENTS,
    TERMS,
    Background,
    FiniteStates,
    is_free,
)
from shap_asv.backgrounds.naming import Distribution
from shap_asv.backgrounds.tables.border import some_rows
from shap_asv.errors import RowsError, ShapAsvError, UnknownFeatureError
from shap_asv.values.contract import evidence_of
from tests.backgrounds.problems import expectations
from tests.declared import (
    BACKEND_PAIRS,
    BACKGROUNDS,
    FEATURES,
    any_form,
    as_table,
    coalitions_of,
    example_background,
    example_problem,
    example_table,
    explainer_for,
    pair_name,
    possible_rows,
    read_distribution,
    uniforms,
)
from tests.oracles import brute_force

N_DRAWS = 20_000
#: Standard errors; a seeded test of a hundred means is wrong by chance once in ten thousand times.
FAR = 5.0


def of_kinds(*capabilities):
    """All kinds that can be asked for the capabilities."""
    kinds = [kind for kind in BACKGROUNDS if not any(c.obstacle(example_background(kind)) for c in capabilities)]
    return pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.name)


@pytest.fixture
def background(kind):
    return example_background(kind)


@pytest.fixture
def table(kind):
    return example_table(kind, 20)


@pytest.fixture
def rows(background):
    return possible_rows(background, 4)


@pytest.fixture
def evidence(background, rows):
    """All rows under all coalitions, and which entries are held."""
    coalitions = coalitions_of(background)
    return evidence_of(coalitions, rows, background.free), np.tile(coalitions, (len(rows), 1))


def same_answers(one, other):
    """Whether two backgrounds say the same about everything that they can be asked for."""
    rows = possible_rows(one, 6)
    assert (one.features, one.latent, one.conditions_on) == (other.features, other.latent, other.conditions_on)
    assert one.describe() == other.describe()
    assert (one.graph is None) == (other.graph is None)
    assert one.graph is None or set(one.graph.edges) == set(other.graph.edges)
    np.testing.assert_array_equal(one.read(as_table(one, rows)), other.read(as_table(other, rows)))
    np.testing.assert_array_equal(one.free, other.free)
    evidence = evidence_of(coalitions_of(one), rows, one.free)
    if DRAWS.obstacle(one) is None:
        np.testing.assert_array_equal(*(b.draws(evidence, uniforms(b, 7)) for b in (one, other)))
    if MOMENTS.obstacle(one) is None:
        np.testing.assert_array_equal(one.means(evidence), other.means(evidence))
    if JOINT.obstacle(one) is None:
        np.testing.assert_array_equal(one.feature_joint(), other.feature_joint())
    if MASKED.obstacle(one) is None:
        for a, b in zip(*(b.masked_inputs(coalitions_of(b), rows[0]) for b in (one, other)), strict=True):
            np.testing.assert_array_equal(a, b)


# --- words and names -------------------------------------------------------------------------------------------------


def test_every_row_of_the_table_has_an_example():
    assert {registry.kind_of(kind.example()) for kind in BACKGROUNDS} == set(registry.BACKGROUNDS)


@of_kinds()
def test_names_words_and_types(background):
    assert background.features == FEATURES
    assert isinstance(background.latent, tuple)
    assert not set(background.latent) & set(FEATURES)
    assert background.conditions_on in ("any", "ancestral")
    assert isinstance(background.free, np.generic), "its type is the type of evidence"
    assert isinstance(hash(background), int)
    words = background.describe()
    assert words == words.strip()
    assert words
    assert "\n" not in words
    assert not words.endswith("."), "it stands inside of sentences"


@of_kinds(DRAWS)
def test_known_features_tell_of_others_where_it_is_said(background, evidence):
    """The same uniform numbers give the same hidden features whatever is known, where nothing is told."""
    asked, held = evidence
    draws = background.draws(asked, uniforms(background, 50))
    told = (draws != draws[:1]) & ~held[:, None]
    assert not held[0].any()
    assert background.dependent == told.any()


@of_kinds(MASKED)
def test_background_rows_replace_whatever_is_known(background):
    assert not background.dependent


@of_kinds()
def test_the_graph_is_over_features_and_latent_variables(background):
    if background.graph is None:
        assert background.conditions_on == "any", "causes are needed to know which sets are ancestral"
        return
    assert isinstance(background.graph, nx.DiGraph)
    assert set(background.graph) == {*background.features, *background.latent}
    assert nx.is_directed_acyclic_graph(background.graph)


@pytest.mark.parametrize("protocol", [Background, Distribution])
@of_kinds()
def test_nothing_of_the_protocol_is_missing(protocol, kind, background):
    thing = background if protocol is Background else read_distribution(kind.example())
    asked = [name for name in vars(protocol) if not name.startswith("_")]
    assert len(asked) >= 7
    assert [name for name in asked if not hasattr(thing, name)] == []


@of_kinds()
def test_who_the_features_are(kind, background):
    distribution = read_distribution(kind.example())
    assert distribution.known_features(list(FEATURES), None) == list(FEATURES)
    assert distribution.features_in(list(FEATURES), 3) == list(FEATURES)
    if not distribution.named:
        return
    with pytest.raises(UnknownFeatureError, match="x7"):
        distribution.known_features(["x0", "x1", "x7"], None)
    try:
        some = distribution.known_features(["x2", "x0"], None)
    except UnknownFeatureError:  # all of them, or none
        return
    smaller = distribution.background(tuple(some))
    assert smaller.features == ("x2", "x0")
    rows = smaller.read(example_table(kind, 20)[["x0", "x2"]])
    np.testing.assert_array_equal(rows, background.read(example_table(kind, 20))[:, [2, 0]])


# --- the border ------------------------------------------------------------------------------------------------------


@of_kinds()
def test_columns_are_read_by_name_and_arrays_by_place(background, table):
    by_name = background.read(table[["x2", "x0", "x1"]])
    assert by_name.shape == (20, 3)
    np.testing.assert_array_equal(by_name, background.read(table))
    np.testing.assert_array_equal(by_name, background.read(table.to_numpy(dtype=object)))
    background.check(by_name)
    assert not is_free(by_name, background.free).any(), "an entry of a row looks like a free one"


@of_kinds()
def test_the_model_gets_what_was_read(kind, background, table):
    rows = background.read(table)
    np.testing.assert_array_equal(rows, possible_rows(background, 20))
    if read_distribution(kind.example()).of_model:
        return  # the model is read, never called
    seen = []

    def model(table):
        seen.append(table)
        return np.zeros(len(table))

    AsymmetricExplainer(
        model, kind.example(), feature_names=list(FEATURES)
    )._known_execution().problem.predictor.predict(rows)
    assert list(getattr(seen[-1], "columns", FEATURES)) == list(FEATURES)
    np.testing.assert_array_equal(np.asarray(seen[-1], dtype=object), table.to_numpy(dtype=object))


@of_kinds()
def test_a_table_reaches_the_model_as_it_was_given(kind, background):
    """Names, order, types and values; of a background that was made of a table."""
    given = kind.example()
    data = getattr(given, "data", given)
    if not isinstance(data, pd.DataFrame):
        pytest.skip("not made of a table")
    pd.testing.assert_frame_equal(background.inputs(background.read(data[["x1", "x2", "x0"]])), data[list(FEATURES)])


@of_kinds()
def test_what_an_explanation_shows(background, table):
    rows = background.read(table)
    data, labels = background.shown_numbers(rows), background.labels(rows)
    assert data.shape == (20, 3)
    if labels is not None:
        assert labels.shape == (20, 3)
        np.testing.assert_array_equal(labels.astype(object), table.to_numpy(dtype=object))
    else:
        np.testing.assert_array_equal(data, table.to_numpy())


@of_kinds()
def test_the_model_can_be_tried_on_the_probe(kind, background):
    probe = some_rows(background)
    assert probe.shape[1] == 3
    assert len(probe) > 1
    predictor = example_problem(kind, any_form(kind)).predictor
    outputs = predictor.predict(probe)
    assert outputs.shape == (len(probe), predictor.n_outputs)
    assert not np.allclose(outputs, outputs[0]), "rows that are all alike try nothing"


@of_kinds()
def test_columns_that_do_not_fit(background, table):
    with pytest.raises(RowsError, match="x1"):
        background.read(table.drop(columns="x1"))
    with pytest.raises(RowsError, match="surplus"):
        background.read(table.assign(surplus=table["x0"]))
    with pytest.raises(RowsError, match=r"x1.*'x_1'|'x_1'.*x1"):
        background.read(table.rename(columns={"x1": "x_1"}))
    with pytest.raises(RowsError, match="2"):
        background.read(table.to_numpy()[:, :2])


# --- files and processes ---------------------------------------------------------------------------------------------


@of_kinds()
def test_what_is_stored_is_the_same_background(kind, background):
    stored = pickle.loads(pickle.dumps(read_distribution(kind.example()).stored()))
    assert registry.kind_of(stored) is registry.kind_of(kind.example())
    same_answers(background, read_distribution(stored).background(FEATURES))


@of_kinds()
def test_backgrounds_travel_to_other_processes(background):
    same_answers(background, pickle.loads(pickle.dumps(background)))


@pytest.mark.parametrize("pair", BACKEND_PAIRS, ids=pair_name)
def test_saved_explainers_give_the_same_bits(pair):
    kind, _ = pair
    explainer = explainer_for(*pair)
    expected = explainer(example_table(kind, 3), silent=True)
    stream = io.BytesIO()
    explainer.save(stream)
    for load in (AsymmetricExplainer.load, shap.Explainer.load):
        stream.seek(0)
        found = load(stream)(example_table(kind, 3), silent=True)
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.base_values, expected.base_values)
        np.testing.assert_array_equal(found.data, expected.data)


# --- draws -----------------------------------------------------------------------------------------------------------


@of_kinds(DRAWS)
def test_draws_hold_the_evidence(background, evidence):
    asked, held = evidence
    before = asked.copy()
    draws = background.draws(asked, uniforms(background, 50))
    assert draws.shape == (len(asked), 50, 3)
    clamped = np.broadcast_to(asked[:, None, :], draws.shape)[np.broadcast_to(held[:, None, :], draws.shape)]
    np.testing.assert_array_equal(draws[np.broadcast_to(held[:, None, :], draws.shape)], clamped)
    assert not is_free(draws, background.free).any()
    np.testing.assert_array_equal(asked, before)
    varied = np.ptp(draws.astype(float), axis=1) > 0
    assert varied[~held].mean() > 0.5, "what is free hardly moves"


@of_kinds(DRAWS)
def test_draws_are_rows(background):
    drawn = possible_rows(background, 50)  # which checks them
    np.testing.assert_array_equal(background.read(as_table(background, drawn)), drawn)


@of_kinds(DRAWS)
def test_draws_depend_on_their_own_evidence_and_numbers_alone(background, evidence):
    asked, _ = evidence
    u = uniforms(background, 30)
    together = background.draws(asked, u)
    np.testing.assert_array_equal(together, background.draws(asked, u))
    np.testing.assert_array_equal(together[::-1], background.draws(asked[::-1], u))
    for i in range(0, len(asked), 3):
        np.testing.assert_array_equal(together[i : i + 1], background.draws(asked[i : i + 1], u))
    np.testing.assert_array_equal(together[:, 10:20], background.draws(asked, u[10:20]))
    assert not np.array_equal(together, background.draws(asked, uniforms(background, 30, seed=1)))


@of_kinds(DRAWS)
def test_draws_take_numbers_from_the_whole_interval(background, evidence):
    asked, _ = evidence
    for edge in (0.0, np.nextafter(1.0, 0.0)):
        draws = background.draws(asked, np.full((1, background.n_uniforms), edge))
        assert np.isfinite(draws.astype(float)).all()
        background.check(draws[0])


def known_means(kind):
    """Column means (3,) of the example, by counting or by summing over all states; None where neither can be done."""
    given = kind.example()
    data = getattr(given, "data", given)
    if isinstance(data, pd.DataFrame) and all(dtype.kind in "iuf" for dtype in data.dtypes):
        return data[list(FEATURES)].to_numpy(dtype=float).mean(axis=0)
    background = example_background(kind)
    if TERMS.obstacle(background) is None:
        joint = network_joint(background)
        return np.array([np.arange(c) @ joint.sum(axis=tuple({0, 1, 2} - {v})) for v, c in enumerate(joint.shape)])
    return None


def network_joint(background):
    """P of the features from the tables of the network, by multiplying them out."""
    network = background.network
    joint = brute_force.joint_table([len(s) for s in network.states], network.parents, network.tables)
    return brute_force.feature_joint(joint, background.nodes.tolist())


@of_kinds(DRAWS)
def test_draws_given_nothing_have_the_means_of_the_example(kind, background):
    means = known_means(kind)
    if means is None:
        pytest.skip("nothing to compare with")
    nothing = np.full((1, 3), background.free)
    draws = background.draws(nothing, uniforms(background, N_DRAWS))[0].astype(float)
    error = draws.std(axis=0) / np.sqrt(N_DRAWS)
    assert (np.abs(draws.mean(axis=0) - means) <= FAR * error).all()


@of_kinds(DRAWS, TERMS)
def test_draws_given_evidence_have_the_means_of_the_joint(background, evidence):
    asked, held = evidence
    draws = background.draws(asked, uniforms(background, N_DRAWS)).astype(float)
    expected = joint_means(background, asked, held)
    error = draws.std(axis=1) / np.sqrt(N_DRAWS)
    assert (np.abs(draws.mean(axis=1) - expected) <= FAR * error + 1e-9).all()


def joint_means(background, asked, held):
    """E[code | evidence] (E, n) by summing over the joint."""
    joint = network_joint(background)
    codes = np.stack(np.meshgrid(*map(np.arange, joint.shape), indexing="ij"), axis=-1).astype(float)
    return np.array(
        [
            brute_force.conditional_expectation(joint, codes, row, set(np.flatnonzero(members)))
            for row, members in zip(asked, held, strict=True)
        ]
    )


# --- means -----------------------------------------------------------------------------------------------------------


@of_kinds(MOMENTS)
def test_means_hold_the_evidence(background, evidence):
    asked, held = evidence
    means = background.means(asked)
    assert means.shape == asked.shape
    assert means.dtype == np.float64
    np.testing.assert_array_equal(means[held], asked[held])
    np.testing.assert_allclose(means[::-1], background.means(asked[::-1]), rtol=0, atol=1e-12)


@of_kinds(MOMENTS)
def test_means_given_nothing_are_those_of_the_example(kind, background):
    means = known_means(kind)
    if means is None:
        pytest.skip("nothing to compare with")
    np.testing.assert_allclose(background.means(np.full((1, 3), background.free))[0], means, rtol=1e-9)


@of_kinds(MOMENTS, DRAWS)
def test_means_are_those_of_draws(background, evidence):
    asked, _ = evidence
    draws = background.draws(asked, uniforms(background, N_DRAWS)).astype(float)
    error = draws.std(axis=1) / np.sqrt(N_DRAWS)
    assert (np.abs(draws.mean(axis=1) - background.means(asked)) <= FAR * error + 1e-9).all()


# --- states ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [k for k in BACKGROUNDS if isinstance(example_background(k), FiniteStates)], ids=lambda kind: kind.name
)
def test_rows_are_codes_of_states(background):
    assert background.cardinalities == tuple(map(len, background.states))
    assert background.size == np.prod(background.cardinalities)
    every = np.array(list(itertools.product(*map(range, background.cardinalities))))
    np.testing.assert_array_equal(background.read(as_table(background, every)), every)


@of_kinds(TERMS)
def test_expectations_and_probabilities_are_those_of_the_joint(background, evidence):
    asked, held = evidence
    joint, rng = network_joint(background), np.random.default_rng(0)
    log_p = background.log_probability(asked)
    everything = [
        tuple(e if m else slice(None) for e, m in zip(*pair, strict=True)) for pair in zip(*evidence, strict=True)
    ]
    np.testing.assert_allclose(np.exp(log_p), [joint[index].sum() for index in everything], rtol=1e-9)
    vectors = [np.vstack([np.ones(c), rng.normal(size=c)]) for c in background.cardinalities]
    terms = np.array(list(itertools.product(range(2), repeat=3)))
    found = expectations(background, asked, vectors, terms)
    products = np.stack(
        [np.einsum("i,j,k->ijk", *(v[t] for v, t in zip(vectors, ts, strict=True))) for ts in terms], -1
    )
    for i, (row, members) in enumerate(zip(asked, held, strict=True)):
        expected = brute_force.conditional_expectation(joint, products, row, set(np.flatnonzero(members)))
        np.testing.assert_allclose(found[i], expected, atol=1e-9)
    weights = rng.normal(size=(len(terms), 2))
    np.testing.assert_allclose(background.expected_sums(asked, vectors, terms, weights), found @ weights, atol=1e-9)


@of_kinds(JOINT)
def test_the_joint_is_a_distribution(background, evidence):
    asked, held = evidence
    assert background.joint_obstacle()[1] is None
    joint = background.feature_joint()
    assert joint.shape == background.cardinalities
    assert joint.min() >= 0
    np.testing.assert_allclose(joint.sum(), 1, rtol=1e-12)
    full = asked[held.all(axis=1)]
    np.testing.assert_allclose(np.exp(background.log_probability(full)), [joint[tuple(e)] for e in full], rtol=1e-9)


# --- masked inputs ---------------------------------------------------------------------------------------------------


@of_kinds(MASKED)
def test_masked_inputs_hold_the_members(background, rows):
    coalitions = coalitions_of(background)
    inputs, counts = background.masked_inputs(coalitions, rows[0])
    assert inputs.shape == (counts.sum(), 3)
    assert counts.max() <= background.n_samples
    members = np.repeat(coalitions, counts, axis=0)
    np.testing.assert_array_equal(inputs[members], np.broadcast_to(rows[0], inputs.shape)[members])
    empty, full = inputs[: counts[0]], inputs[-counts[-1] :]
    assert (full == rows[0]).all()
    other, _ = background.masked_inputs(coalitions[:1], rows[1])
    np.testing.assert_array_equal(other, empty)  # of which row does not matter where nothing is held
    singles = [background.masked_inputs(coalitions[m : m + 1], rows[0])[0] for m in range(len(coalitions))]
    np.testing.assert_array_equal(np.concatenate(singles), inputs)


def test_an_unknown_thing_is_refused_with_a_way_out():
    with pytest.raises(ShapAsvError, match="pass a"):
        AsymmetricExplainer(lambda X: np.zeros(len(X)), object())
