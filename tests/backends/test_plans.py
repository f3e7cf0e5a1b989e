"""What a plan counts, against what is there: closures and their ideals, seconds to an order."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, GaussianModel
from shap_asv.backends.ancestral.closures import closed_sets, estimate_entries, feature_parents
from shap_asv.backends.candidates import Budget, CandidateTable, bytes_text, result_bytes
from shap_asv.backends.contract import Settings
from shap_asv.backends.registry import BACKENDS
from shap_asv.backends.workload import SAMPLED_ORDERS, count_ideals, ideal_columns, sample_coalitions
from shap_asv.values.contract import Workload
from shap_asv.values.expected_terms import seconds_to_condition
from tests.reliability import plans, problems
from tests.reliability.other_problems import FOURTH, wide_neurons
from tests.reliability.problems import neurons_of_numbers, of_numbers


@pytest.mark.parametrize(("name", "target"), [("child", "XrayReport"), ("insurance", "PropCost")])
def test_closures_are_counted_as_they_are(name, target):
    """Ideals of the closures and entries of their tables, of all terms, one by one."""
    problem = problems.on(name, target, problems.tree, 1).make()._known_execution().problem
    background, products = problem.background, problem.predictor.products
    coalitions = ideal_columns(problem, Settings()).coalitions
    sets, member = closed_sets(background, problem.order, products)
    parents = feature_parents(background)
    ideals, entries = [], []
    for term, functions in enumerate(products.terms):
        members = np.flatnonzero(sets[member[term]])
        inside = np.unique(coalitions[:, members], axis=0)
        place = {v: i for i, v in enumerate(members.tolist())}
        active = np.zeros_like(inside)
        for v in members.tolist():
            for cause in parents[v]:
                active[:, place[cause]] |= inside[:, place[cause]] & ~inside[:, place[v]]
        alive = [np.count_nonzero(background_states) for background_states in _functions(products, functions, members)]
        cards = [background.cardinalities[v] for v in members.tolist()]
        ideals.append(len(inside))
        if np.where(active, cards, 1).prod(axis=1).sum() <= 2**24:
            entries.append(np.where(active, alive, 1).prod(axis=1).sum())
    found = estimate_entries(background, problem.order, products, len(coalitions))
    assert found.ideals == pytest.approx(np.mean(ideals), rel=0.4)
    assert found.left == pytest.approx(1 - len(entries) / len(ideals), abs=0.25)
    assert np.mean(entries) / 3 < found.entries < 3 * np.mean(entries)


def _functions(products, functions, members):
    return [products.vectors[v][functions[v]] for v in members.tolist()]


@pytest.mark.parametrize(
    "name",
    ["asia, neurons, 200 rows", "child, decision tree, ideals x trees, 5 rows", "gaussian, sines, 5 rows"],
)
def test_seconds_are_right_to_an_order_and_a_half(name):
    """A machine may be slow and busy; the record of the whole grid asks for a factor of three."""
    factor, enough = plans.judge(plans.measure(name))
    assert factor < 30
    assert enough


@pytest.mark.parametrize(
    ("name", "target"), [("asia", "dysp"), ("child", "Disease"), ("insurance", "PropCost"), ("alarm", "BP")]
)
def test_what_is_not_estimated_would_not_be_chosen(name, target):
    """Of every backend: the least that it takes is not more than its estimate, on however many rows."""
    problem = problems.on(name, target, problems.tree, 1).make()._known_execution().problem
    for n_rows in (1, 1000):
        table = CandidateTable(problem, Settings(), (n_rows, n_rows), Budget(), None)
        exact = [c for c in table.candidates(1.0) if c.runnable and c.backend.exact]
        for candidate in table.candidates(1.0):
            if candidate.runnable:
                assert candidate.backend.at_least(problem, Settings()) <= candidate.seconds
        fresh = CandidateTable(problem, Settings(), (n_rows, n_rows), Budget(), None)
        chosen = min(fresh.cheapest_exact(1.0), key=lambda c: c.seconds)
        assert chosen == min(exact, key=lambda c: c.seconds)
        assert len(fresh._assessed) < len(BACKENDS)


def test_ideals_that_are_listed_to_draw_orders_are_in_the_plan():
    """A few orders of a wide graph: most of the time and of the memory is the lattice that they are drawn from."""
    case = problems.on("alarm", "HREKG", problems.tree, 1)
    problem = case.make()._known_execution().problem
    few = Settings(n_orders=10)
    _, listed, taken = SAMPLED_ORDERS.drawing(problem, few)
    _, swapped, less = SAMPLED_ORDERS.drawing(problem, replace(few, order_method="perfect"))
    assert count_ideals(problem, few) == 283_200
    assert listed > 0.05 > swapped
    assert taken - less > 283_200 * 100


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_neurons_of_a_layer_are_in_the_plan():
    """A batch of 65,536 rows through 300 neurons is 150 MiB, however few features there are."""
    explainer = of_numbers("gaussian", wide_neurons, 3, FOURTH, n_draws=5000).make(seed=0, n_draws=5000)
    few = of_numbers("gaussian", neurons_of_numbers, 3, FOURTH).make(seed=0, n_draws=5000)
    found, less = (made.plan(3).chosen.estimate.memory for made in (explainer, few))
    assert found - less > 65_536 * 8 * 200


def test_plans_of_the_same_question_are_equal():
    first, second = (problems.on("asia", "dysp", problems.tree, 1).make().plan(7) for _ in range(2))
    assert first is not second
    assert replace(first, assess=second.assess) == first


def test_coalitions_that_stand_for_a_mixture_differ_and_come_from_all_of_its_graphs():
    """Thirty graphs that differ in one edge: the same random numbers would give all of them nearly the same sets."""
    names = [f"x{i}" for i in range(31)]
    graphs = [nx.DiGraph([(name, "x30")]) for name in names[:30]]
    for graph in graphs:
        graph.add_nodes_from(names)
    asked = AsymmetricExplainer(
        lambda X: X.sum(axis=1), GaussianModel(np.zeros(31), np.eye(31), names=names), graphs, seed=0
    )
    sampled = sample_coalitions(asked._known_execution().problem, False)
    assert len(np.unique(sampled, axis=0)) == len(sampled) > 200


def test_draws_given_coalitions_that_lack_causes_are_priced_by_their_circuits():
    problem = problems.on("insurance", "Accident", problems.tree, 1).make()._known_execution().problem
    work = Workload(1, 1000, problem.n_features, 100, sample=lambda: sample_coalitions(problem, False))
    one = seconds_to_condition(problem.background, work)
    assert one > 0.01
    assert seconds_to_condition(problem.background, replace(work, n_rows=50)) > 10 * one
    assert seconds_to_condition(problem.background, replace(work, ancestral=True)) == 0.0


# --- memory in sentences and tables -----------------------------------------------------------------------------------


def test_bytes_are_told_in_gibibytes_from_one_on():
    assert [bytes_text(size) for size in (2**30 - 2**20, 2**30, 5 * 2**30)] == ["1023 MiB", "1.0 GiB", "5.0 GiB"]


@pytest.mark.parametrize(("n_outputs", "exact", "per_entry"), [(1, True, 36), (3, True, 52), (3, False, 76)])
def test_results_take_eight_bytes_for_each_output_and_its_error(n_outputs, exact, per_entry):
    # beside the attributions: three numbers and a code for each entry, three numbers for each row
    assert result_bytes(10, 7, n_outputs, exact) == 10 * (7 * per_entry + 24)
