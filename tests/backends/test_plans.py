"""What a plan counts, against what is there: closures and their ideals, seconds to an order."""

import numpy as np
import pytest

from shap_asv.backends.ancestral.closures import closed_sets, estimate_entries, feature_parents
from shap_asv.backends.candidates import Budget, CandidateTable
from shap_asv.backends.contract import Settings
from shap_asv.backends.registry import BACKENDS
from shap_asv.backends.workload import ideal_columns
from tests.reliability import plans, problems


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
