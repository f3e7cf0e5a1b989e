"""Calls that take long say so before they start; samples shrink to the budget, and say so too."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, GaussianModel
from shap_asv.backends.contract import Settings
from shap_asv.backgrounds.choice.mixture import MixtureModel
from shap_asv.errors import ApproximationWarning, LongCallWarning
from shap_asv.explainer import execution as executing

NAMES = [f"x{v}" for v in range(12)]


def model(X):
    return np.sin(np.asarray(X, dtype=float)).sum(axis=1)


def explainer(**options):
    rows = np.random.default_rng(0).normal(size=(20, 12))
    order = CausalOrder.from_edges([("x0", "x1")], NAMES)
    asv = AsymmetricExplainer(model, rows, order, values="marginal", feature_names=NAMES, seed=0, **options)
    return asv, rows


def test_a_plan_is_made_once_for_the_same_question():
    asv, _ = explainer()
    assert asv.plan(2) is asv.plan(2)
    assert asv.plan(3) is not asv.plan(2)
    changed = asv._known_execution()
    assert changed.plan(Settings(n_orders=7), 2) is not changed.plan(Settings(n_orders=8), 2)


def test_a_sample_shrinks_to_the_budget_and_tells():
    asv, rows = explainer(n_orders=4000)
    seconds = {c.name: c.seconds for c in asv.plan(20).candidates}
    exact = min(s for name, s in seconds.items() if name.startswith("ideals x marginal"))
    sampled = seconds["orders x marginal"]
    small, _ = explainer(n_orders=4000, budget=min(exact, sampled) / 5)
    plan = small.plan(20)
    assert plan.backend.samples_orders
    assert plan.n_orders < 4000
    assert f"{plan.n_orders} orders are what budget=" in plan.why
    with pytest.warns(ApproximationWarning, match="instead of 4000; error_std"):
        explanation = small(rows, silent=True)
    truth = asv(rows, silent=True).values
    assert (np.abs(explanation.values - truth) <= 1e-9 + 6 * explanation.error_std).all()
    np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, model(rows), atol=1e-9)


def test_the_fewest_orders_are_not_said_to_fit():
    small, _ = explainer(n_orders=4000, budget=1e-9)
    plan = small.plan(20)
    assert plan.n_orders == executing.FEWEST_ORDERS
    assert re.search(
        r"^\S+ x marginal would take about .*; 20 orders are the fewest, and take about [\d.]+ sec", plan.why
    )


def test_an_algorithm_that_was_asked_for_keeps_its_orders():
    asked, _ = explainer(n_orders=500, budget=1e-3, algorithm="sampling")
    assert asked.plan(20).n_orders == 500


def test_a_long_call_is_told_before_it_starts(monkeypatch):
    asv, rows = explainer()
    monkeypatch.setattr(executing, "LONG_CALL", 0.0)
    with pytest.warns(LongCallWarning, match=r"about 0\.\d seconds by ideals x marginal: explain fewer rows"):
        asv(rows[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asv(rows[:2], silent=True)


def test_orders_that_visit_the_same_coalitions_again_pay_once():
    """A chain of four beside two loose features has 20 ideals: 200 orders and 2,000 ask the model for the same rows."""
    asked = []

    def counting(X):
        asked.append(len(X))
        return model(X)

    names = NAMES[:6]
    rows = np.random.default_rng(0).normal(size=(5, 6))
    order = CausalOrder.from_edges([("x0", "x1"), ("x1", "x2"), ("x2", "x3")], names)
    counts = {}
    for n_orders in (200, 2000):
        asv = AsymmetricExplainer(
            counting,
            rows,
            order,
            values="marginal",
            feature_names=names,
            algorithm="orders x marginal",
            n_orders=n_orders,
            seed=0,
        )
        asked.clear()
        asv(rows[:2], silent=True)
        counts[n_orders] = sum(asked)
    ideals = order.count_ideals()
    assert ideals == 20
    # each ideal once for each explained row and background row, and a few rows to look at the model and at the base
    assert 2 * 5 * (ideals - 2) <= counts[2000] <= 2 * 5 * (ideals + 4)
    assert counts[200] == counts[2000]


def test_a_mixture_takes_as_long_as_its_donors():
    """Donors are fitted once for every coalition; alone or in a mixture, the plan says so."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 6)), columns=list("abcdef"))
    donors, gaussian = ConditionalTable(table), GaussianModel.fit(table)
    mixture = MixtureModel([gaussian, donors], [0.7, 0.3])
    seconds = [
        AsymmetricExplainer(
            lambda X: np.asarray(X).sum(axis=1), background, [], algorithm="monte_carlo", n_draws=64, seed=0
        )
        .plan(table[:2])
        .seconds
        for background in (gaussian, donors, mixture)
    ]
    assert seconds[2] > 5 * seconds[0]
    assert seconds[2] < 2 * seconds[1]
