"""Low and high: numbers, truth, intervals and words as a reader expects them, and nothing made up elsewhere."""

import itertools

import numpy as np
import pandas as pd
import pytest

from benchmarks.graphs import to_pgmpy
from shap_asv import AsymmetricExplainer, StructuralModel
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.discrete.ranking import Interval, low_to_high, ranks, read_interval


@pytest.mark.parametrize(
    "ascending",
    [
        ("False", "True"),
        (False, True),
        ("no", "yes"),
        ("0", "1", "2", "10"),
        (-1, 2.5, 10),
        ("<5", "5-12", "12+"),
        ("<7.5", ">=7.5"),
        ("0-3_days", "4-10_days", "11-30_days"),
        ("(-inf, 0]", "(0, 30]", "(30, inf)"),
        ("[0;10)", "[10;20)"),
        ("\N{LESS-THAN OR EQUAL TO}3", "3..9", ">9"),
        tuple(pd.cut([1.0, 5.0, 9.0], [0, 3, 6, 10])),
        ("Low", "Medium", "High"),
        ("none", "mild", "moderate", "severe"),
        ("very_low", "low", "average", "high"),
        ("0", "1-3", "4+"),
        ("negative", "positive"),
    ],
    ids=str,
)
def test_from_low_to_high_whatever_the_order_given(ascending):
    for given in itertools.permutations(ascending):
        assert [given[k] for k in low_to_high(given)] == list(ascending)
        np.testing.assert_array_equal(ranks(given), [ascending.index(state) for state in given])


@pytest.mark.parametrize(
    "states", [("red", "green"), ("yes", "no", "perhaps"), ("low", "blue"), ("high", "tall"), ("x", "5"), ("nan", "1")]
)
def test_unknown_scales_keep_the_order_given(states):
    assert low_to_high(states) is None
    assert ranks(states).tolist() == list(range(len(states)))


def test_ends_of_intervals():
    assert read_interval("(0, 30]") == Interval(0, 30, False, True)
    assert 30 in read_interval("(0,30]")
    assert 0 not in read_interval("(0,30]")
    assert 5 not in read_interval("<5")
    assert 12 in read_interval("12+")
    assert 4.5 not in read_interval("5-12")
    assert read_interval("2020-01-01") is None
    assert read_interval("Asy/Patch") is None


def test_true_is_red_in_a_network_that_has_it_first():
    tables = (np.array([0.3, 0.7]), np.array([[0.9, 0.2], [0.1, 0.8]]))
    states = (("True", "False"), ("high", "low"))
    network = to_pgmpy(DiscreteNetwork(("smoker", "tar"), states, ((), (0,)), tables))
    explainer = AsymmetricExplainer(lambda X: 1.0 * (X["tar"] == "high"), network)
    explanation = explainer(pd.DataFrame({"smoker": ["True", "False"], "tar": ["low", "high"]}))
    assert explanation.data.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert explanation.display_data.tolist() == [["True", "low"], ["False", "high"]]


def test_high_is_red_in_a_table():
    rng = np.random.default_rng(0)
    dose = rng.choice(["low", "medium", "high"], size=200)
    table = pd.DataFrame({"dose": dose, "effect": rng.normal(size=200)})
    model = StructuralModel.fit(table, [("dose", "effect")])
    explainer = AsymmetricExplainer(lambda X: 1.0 * (X["dose"] == "high") + X["effect"], model, seed=0, n_draws=16)
    rows = pd.DataFrame({"dose": ["high", "low", "medium"], "effect": [0.0, 0.0, 0.0]})
    explanation = explainer(rows)
    assert explanation.data[:, 0].tolist() == [2.0, 0.0, 1.0]


def test_given_categories_stay_as_given():
    given = pd.CategoricalDtype(["high", "low"])
    rng = np.random.default_rng(0)
    dose = pd.Series(rng.choice(["high", "low"], size=60), dtype=given)
    table = pd.DataFrame({"dose": dose, "effect": rng.normal(size=60)})
    model = StructuralModel.fit(table, [("dose", "effect")])
    explainer = AsymmetricExplainer(lambda X: 1.0 * (X["dose"] == "high") + X["effect"], model, seed=0, n_draws=16)
    explanation = explainer(table[:4])
    assert explanation.data[:, 0].tolist() == [["high", "low"].index(label) for label in dose[:4]]
