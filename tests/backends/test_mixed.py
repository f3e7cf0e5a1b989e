"""A node in the middle of the network that is not a feature: a mixture over its states, against the definition.

``expected_leaf`` is what a piece table and the kernel compute, in plain Python over the full joint.
"""

import itertools

import numpy as np
import pytest

from shap_asv.backends.ancestral import completed_backend
from shap_asv.backends.ancestral.completed_values import CompletedValues
from shap_asv.backends.ancestral.pieces import demanded, mixed_values, tables
from shap_asv.backends.ancestral.pieces.demanded import DemandedSums
from shap_asv.backends.ancestral.pieces.mixed_values import MixedValues, without_gaps
from shap_asv.backends.contract import Settings
from shap_asv.backends.workload import IDEALS, network_and_terms
from tests.backends.test_completed import over
from tests.explainer.test_exact import make_model, oracle, predict_codes
from tests.problems import make_problem


def latent_in_the_middle(seed, n=7):
    """A random problem whose latent node has causes and effects among the features."""
    problems = (make_problem(number, n=n, latent=1, zeros=0.1) for number in itertools.count(100 * seed))
    return next(problem for problem in problems if stands_between(problem.network(), problem.features))


def stands_between(network, features):
    hidden = next(v for v, name in enumerate(network.names) if name not in features)
    return len(network.parents[hidden]) > 0 and sum(hidden in parents for parents in network.parents) > 1


def values_of(explainer):
    asked = explainer._execution.problem
    return completed_backend.attribute_columns(asked, IDEALS.columns(asked, Settings())).values


def explained(problem, seed, **options):
    rng = np.random.default_rng(seed)
    model, encoder = make_model("forest", problem, rng)
    return over(problem, model, encoder, None, algorithm="ideals x closures", **options), problem.rows(rng, 5)


@pytest.mark.parametrize("seed", range(8))
def test_against_the_definition(seed):
    problem = latent_in_the_middle(seed)
    explainer, rows = explained(problem, seed)
    assert isinstance(values_of(explainer), MixedValues)
    edges = [(p, v) for v, causes in enumerate(explainer.causal_order.parents) for p in causes]
    found = explainer(problem.labels(rows), silent=True)
    expected = oracle(problem, predict_codes(explainer), rows, edges)
    np.testing.assert_allclose(found.values.reshape(expected.shape), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_where_nothing_is_latent_nothing_is_mixed(seed):
    problem = make_problem(seed, n=6, zeros=0.1)
    explainer, rows = explained(problem, seed)
    values = values_of(explainer)
    assert isinstance(values, MixedValues)
    assert values.copies == 1
    edges = [(p, v) for v, causes in enumerate(explainer.causal_order.parents) for p in causes]
    found = explainer(problem.labels(rows), silent=True)
    expected = oracle(problem, predict_codes(explainer), rows, edges)
    np.testing.assert_allclose(found.values.reshape(expected.shape), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ([(completed_backend, "MIXTURE_LIMIT")], False),
        ([(tables, "ENTRY_LIMIT")], True),
        ([(tables, "ENTRY_LIMIT"), (demanded, "STATE_BITS")], False),
        ([(tables, "ENTRY_LIMIT"), (demanded, "VALUE_LIMIT")], True),
        ([(tables, "ENTRY_LIMIT"), (demanded, "TERMS_AT_ONCE")], True),
        ([(tables, "ENTRY_LIMIT"), (demanded, "_ROOM")], True),
        ([(completed_backend, "FEW_TERMS")], True),
        ([(tables, "_TERMS_AT_ONCE")], True),
    ],
)
def test_limits_change_the_way_and_not_the_values(limits, kept, monkeypatch):
    problem = latent_in_the_middle(3)
    explainer, rows = explained(problem, 3)
    before = explainer(problem.labels(rows), silent=True).values
    for module, limit in limits:
        monkeypatch.setattr(module, limit, 1)
    again, _ = explained(problem, 3)
    values = values_of(again)
    assert isinstance(values, MixedValues if kept else CompletedValues)
    if kept:
        assert isinstance(values.sums, DemandedSums) == ((tables, "ENTRY_LIMIT") in limits)
    np.testing.assert_allclose(again(problem.labels(rows), silent=True).values, before, rtol=0, atol=1e-12)


@pytest.mark.parametrize("limit", [None, 1])
def test_a_row_has_the_same_bits_whatever_rows_come_with_it(limit, monkeypatch):
    if limit is not None:
        monkeypatch.setattr(tables, "ENTRY_LIMIT", limit)
    problem = latent_in_the_middle(5)
    explainer, rows = explained(problem, 5)
    labels = problem.labels(rows)
    together = explainer(labels, silent=True).values
    for i in range(len(rows)):
        np.testing.assert_array_equal(explainer(labels[i : i + 1], silent=True).values[0], together[i])


@pytest.mark.parametrize("limit", [None, 1])
def test_progress_grows_to_one(limit, monkeypatch):
    if limit is not None:
        monkeypatch.setattr(tables, "ENTRY_LIMIT", limit)
    problem = latent_in_the_middle(5)
    explainer, rows = explained(problem, 5)
    said = []
    values_of(explainer).values(rows, said.append)
    assert said == sorted(said)
    assert said[-1] == pytest.approx(1.0)


def expected_leaf(network, functions, known, codes):
    """``E[prod of functions of unknown nodes | known nodes]`` for a set that is closed under causes."""
    total = 0.0
    unknown = [v for v in range(network.n_nodes) if v not in known]
    for states in itertools.product(*(range(network.cardinalities[v]) for v in unknown)):
        x = dict(known) | dict(zip(unknown, states, strict=True))
        share = 1.0
        for v in unknown:
            share *= network.tables[v][(x[v], *(x[p] for p in network.parents[v]))] * functions[v][x[v]]
        total += share
    return total


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("seed", range(3))
def test_tables_of_pieces_have_the_values_of_the_joint(seed, limit, monkeypatch):
    if limit is not None:
        monkeypatch.setattr(tables, "ENTRY_LIMIT", limit)
    problem = latent_in_the_middle(seed, n=6)
    explainer, rows = explained(problem, seed)
    mixed = values_of(explainer)
    background, products = network_and_terms(explainer._execution.problem)
    network, sums = background.network, mixed.sums
    whole, _ = without_gaps(mixed.lacking.coalitions)
    # rows that agree in part, each with two states of what is latent
    codes = np.repeat(mixed.lacking.node_codes(rows[[0, 1, 0]]), 2, axis=0)
    codes[4:, background.nodes[-1]] = 1 - codes[0, background.nodes[-1]].clip(max=1)
    codes[:, mixed.latent] = np.tile([0, 1], 3)[:, None]
    out = np.zeros((3, len(whole.held), 2, products.n_outputs))
    sums.add(codes, 2, out, lambda share: None)
    for place, row in itertools.product(range(0, len(whole.held), 3), range(len(codes))):
        known = {v: int(codes[row, v]) for v in range(network.n_nodes) if (whole.held[place] >> v) & 1}
        expected = np.zeros(products.n_outputs)
        for term, coefficients in zip(products.terms, products.coefficients, strict=True):
            if not term.any():
                continue  # a constant is added elsewhere
            functions = [np.ones(card) for card in network.cardinalities]
            for feature, node in enumerate(background.nodes):
                functions[node] = products.vectors[feature][term[feature]]
            value = expected_leaf(network, functions, known, codes[row])
            for v, x in known.items():
                value *= functions[v][x]
            expected += value * coefficients
        np.testing.assert_allclose(out[row // 2, place, row % 2], expected, rtol=0, atol=1e-10)


def test_functions_that_are_not_indicators_go_another_way():
    problem = latent_in_the_middle(2)
    rng = np.random.default_rng(2)
    model, encoder = make_model("linear", problem, rng)
    explainer = over(problem, model, encoder, None, algorithm="ideals x closures")
    assert not mixed_values.only_indicators(network_and_terms(explainer._execution.problem)[1])
    assert isinstance(values_of(explainer), CompletedValues)


@pytest.mark.parametrize("latent", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_the_base_value_is_that_of_the_empty_ideal(monkeypatch, seed, latent):
    """Closures know it; nobody eliminates the whole network for it. It is the same to the bit, whatever the rows."""
    problem = latent_in_the_middle(seed) if latent else make_problem(seed, n=6, zeros=0.1)
    explainer, rows = explained(problem, seed)
    expected = predict_codes(explainer)
    asked = explainer._execution.problem
    whole = completed_backend.expected_output(*network_and_terms(asked))

    def forbidden(background, products):
        raise AssertionError("the network was asked for what closures know")

    monkeypatch.setattr(completed_backend, "expected_output", forbidden)
    together = completed_backend.attribute_columns(asked, IDEALS.columns(asked, Settings())).attribute(rows)
    np.testing.assert_allclose(together.base, whole, rtol=0, atol=1e-12)
    np.testing.assert_allclose(together.base + together.phi.sum(axis=1), expected(rows), atol=1e-9)
    for row in rows:
        alone = completed_backend.attribute_columns(asked, IDEALS.columns(asked, Settings())).attribute(row[None])
        np.testing.assert_array_equal(alone.base, together.base)
