"""What a plan says, which backend it takes, and whether the figures are right to an order."""

import re

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, GaussianModel, costs, planning
from shap_asv.backends.contract import Settings
from shap_asv.backends.registry import BACKENDS
from shap_asv.planning import AT_ONCE, bytes_text, make_plan, result_bytes
from tests.reliability import plans, problems
from tests.reliability.records import ROOT


def problem_of(name, target, model=problems.tree):
    return problems.on(name, target, model, 1).make()._known_execution().problem


@pytest.mark.parametrize(
    "name", ["asia, neurons, 200 rows", "child, decision tree, ideals x trees, 5 rows", "gaussian, sines, 5 rows"]
)
def test_seconds_are_right_to_an_order_and_a_half(name):
    """A machine may be slow and busy; the record of the whole grid asks for a factor of three."""
    factor, enough = plans.judge(plans.measure(name))
    assert factor < 30
    assert enough


@pytest.mark.parametrize("name", ["asia", "child"])
def test_costs_name_rows_of_the_table_and_grow(name):
    """Every backend that runs: operations of the table, and more of them for more rows."""
    problem = problem_of(name, {"asia": "dysp", "child": "Disease"}[name])
    for backend in BACKENDS:
        if backend.obstacle(problem, Settings()) is None:
            few, many = (backend.cost(problem, Settings(), n) for n in (1, 10_000))
            assert set(few.operations) <= set(costs.SECONDS)
            assert few.seconds < many.seconds
            assert 0 < few.memory <= many.memory


def test_every_operation_of_the_table_is_counted_somewhere():
    package = ROOT / "shap_asv"
    source = "".join(path.read_text() for path in package.rglob("*.py") if path.name != "costs.py")
    assert [name for name in costs.SECONDS if f'"{name}"' not in source] == []


def test_a_gaussian_is_conditioned_on_every_coalition_that_is_met():
    """64 draws with an order each, and the pilot's 64 noises with two: each passes 60 coalitions, cubic each."""
    background = GaussianModel(np.zeros(60), np.eye(60), [str(k) for k in range(60)])
    explainer = AsymmetricExplainer(lambda X: X["0"] * X["1"], background, algorithm="monte_carlo", n_draws=64)
    cost = explainer.plan(5).chosen.cost
    assert cost.operations["mean x feature^3"] == (64 + 64 * 2) * 60 * 60**3


@pytest.mark.parametrize("n_rows", [1, 1000])
@pytest.mark.parametrize(
    ("name", "target"), [("asia", "dysp"), ("child", "Disease"), ("insurance", "PropCost"), ("alarm", "BP")]
)
def test_the_cheapest_exact_backend_is_taken(name, target, n_rows):
    """Or one that is done at once."""
    plan = make_plan(problem_of(name, target), Settings(), n_rows)
    exact = [c.seconds for c in plan.candidates if c.runnable and c.backend.exact]
    assert plan.seconds == min(exact) or plan.seconds < AT_ONCE
    assert plan.chosen in plan.candidates


def test_small_problems_are_planned_without_a_look_at_every_backend(monkeypatch):
    problem = problem_of("asia", "dysp")
    assessed, assess = [], planning.Candidates._assess

    def watched(candidates, backend):
        assessed.append(backend.name)
        return assess(candidates, backend)

    monkeypatch.setattr(planning.Candidates, "_assess", watched)
    plan = make_plan(problem, Settings(), 10)
    assert len(assessed) < len(BACKENDS) / 2
    assert len(plan.candidates) == len(BACKENDS) == len(assessed)


def test_plans_of_the_same_question_are_equal():
    first, second = (problems.on("asia", "dysp", problems.tree, 1).make().plan(7) for _ in range(2))
    assert first is not second
    assert first == second


def black_box(X):
    return np.sin(np.asarray(X, dtype=float)).sum(axis=1)


def test_a_plan_speaks_in_the_words_of_a_user():
    gaussian = GaussianModel(np.zeros(4), np.eye(4), names=list("abcd"))
    explainer = AsymmetricExplainer(black_box, gaussian, [], algorithm="monte_carlo", seed=0)
    text = str(explainer.plan(3))
    for words in (
        r"model: +called as a function, because black_box is a callable",
        r"result: +sampled: about 128 draws of noise for each row, with their own orders, of 16 coalitions; error",
        r"time: +(about [\d.]+ (seconds|minutes)|less than)",
        r"memory: +(about \d+|less than 1) MiB",
        r"to change: +raise n_draws=",
    ):
        assert re.search(words, text), words
    assert "cannot run" not in text
    table = explainer.plan(3).table()
    assert re.search(r"^> monte_carlo +sampled", table, re.MULTILINE)
    assert re.search(r"paths, orders x paths: needs a background with background rows", table)


def test_bytes_are_told_in_gibibytes_from_one_on():
    assert [bytes_text(size) for size in (9, 2**30 - 2**20, 2**30)] == ["less than 1 MiB", "1023 MiB", "1.0 GiB"]


@pytest.mark.parametrize(("n_outputs", "exact", "per_entry"), [(1, True, 36), (3, True, 52), (3, False, 76)])
def test_results_take_eight_bytes_for_each_output_and_its_error(n_outputs, exact, per_entry):
    # beside the attributions: three numbers and a code for each entry, three numbers for each row
    assert result_bytes(10, 7, n_outputs, exact) == 10 * (7 * per_entry + 24)
