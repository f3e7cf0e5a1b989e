"""The conclusion says what the numbers say: who loses, to whom, how much, and nothing that noise could have done."""

from dataclasses import replace

import numpy as np
import pytest
import shap

from shap_asv import CausalOrder, Comparison, GraphMixture
from shap_asv.report.reading import read_block
from shap_asv.report.sentences import conclude, in_words, share_moved
from tests.report.problems import FEATURES, random_comparison, told_comparison


def words(comparison, output=0):
    block = read_block(comparison)
    return [in_words(sentence, block.features) for sentence in conclude(block, output)]


def test_credit_that_moves_to_causes():
    told = words(told_comparison([0.10, 0.20, 0.30, 0.40, 0.0], [0.10, 0.36, 0.45, 0.0, 0.0]))
    assert told == [
        "37% of the credit moves between conditional SHAP and ASV. "
        "Conditional SHAP gives the most to cough (0.400), ASV to tar (0.450).",
        "cough loses its credit (0.400 → 0): what it tells is known from smoker and tar, which come before it.",
        "smoker gains credit (0.200 → 0.360): it comes before cough, and what that says of it is counted as its own.",
        "tar gains credit (0.300 → 0.450): it comes before cough, and what that says of it is counted as its own.",
        "ASV gives 0 in every row to cough; conditional SHAP does not.",
        "The two differ most in row 0, by 0.710 over its features.",
    ]


def test_part_of_the_credit():
    told = words(told_comparison([0, 0, 0.2, 0.4, 0], [0, 0, 0.3, 0.3, 0]))
    assert told[1] == (
        "cough loses part of its credit (0.400 → 0.300): "
        "part of what it tells is known from tar, which comes before it."
    )
    assert not any("in every row" in line for line in told)


def test_a_loss_without_causes_has_no_reason():
    told = words(told_comparison([0.5, 0.1, 0, 0, 0], [0.2, 0.4, 0, 0, 0]))
    assert "age loses part of its credit (0.500 → 0.200)." in told
    assert "smoker gains credit (0.100 → 0.400)." in told


def test_reasons_are_given_only_where_they_hold():
    told = words(told_comparison([0, 0, 0.2, 0.4, 0], [0, 0, 0.3, 0.3, 0], conditional={"SHAP"}))
    assert "cough loses part of its credit (0.400 → 0.300)." in told
    comparison = told_comparison([0, 0, 0.2, 0.4, 0], [0, 0, 0.3, 0.3, 0])
    named = {f"causal {name}": e for name, e in comparison.explanations.items()}
    told = words(Comparison({"mine": comparison.asv, **named}, comparison.order))
    assert told[0].startswith("17% of the credit moves between causal SHAP and causal ASV.")
    assert "cough loses part of its credit (0.400 → 0.300)." in told


def test_a_constant_model_gives_no_credit():
    """What rounding leaves of an exact 0, beside a mean prediction of 3, is none."""
    comparison = told_comparison([0, 1e-16, 0, 0, 0], [2e-16, 0, 0, 0, 0])
    sides = {
        name: shap.Explanation(e.values, np.full(2, 3.0), feature_names=FEATURES)
        for name, e in comparison.explanations.items()
    }
    told = words(Comparison(sides, comparison.order))
    assert told == ["No feature gets credit: the prediction is the same whatever is known."]


def test_the_same_story():
    told = words(told_comparison([0, 0, 0.2, 0.4, 0], [0, 0, 0.201, 0.4, 0]))
    assert told[0].startswith(
        "Conditional SHAP and ASV tell the same story here: less than 1% of the credit moves. cough has the most"
    )
    assert not any("loses" in line or "gains" in line for line in told)


def test_nothing_is_told_below_two_standard_errors():
    comparison = told_comparison([0, 0, 0.2, 0.4, 0], [0, 0, 0.3, 0.3, 0])
    noisy = shap.Explanation(
        comparison.shap.values, comparison.shap.base_values, feature_names=FEATURES, error_std=np.full((2, 5), 0.06)
    )
    told = words(Comparison({"SHAP": noisy, "ASV": comparison.asv}, comparison.order))
    assert told[0].startswith(
        "SHAP and ASV cannot be told apart here: no feature's credit differs by more than two standard errors. "
        "Differences below 0.12 would not show."
    )
    assert told[-1] == (
        "SHAP is sampled: standard errors of a feature's credit are at most 0.06, and what is below two of them is not "
        "told here."
    )
    assert not any("loses" in line for line in told)


def test_another_method_and_another_distribution():
    comparison = told_comparison(
        [0, 0, 0.2, 0.4, 0], [0, 0, 0.4, 0.2, 0], backgrounds={"SHAP": "rows", "ASV": "a network"}
    )
    told = words(comparison.add("mine", comparison.asv))
    assert "mine is closer to ASV than to conditional SHAP: 0% of the credit differs, against 33%." in told
    assert any("different distributions" in line for line in told)


@pytest.mark.parametrize("base", [0.2501, 0.29])
def test_mean_predictions_that_differ_are_told(base):
    comparison = told_comparison([0, 0, 0.2, 0.4, 0], [0, 0, 0.4, 0.2, 0])
    sides = {
        name: shap.Explanation(explanation.values, base_values=np.full(2, start), feature_names=FEATURES)
        for (name, explanation), start in zip(comparison.explanations.items(), (0.25, base), strict=True)
    }
    told = [line for line in words(Comparison(sides, comparison.order)) if "mean prediction" in line]
    expected = (
        "Values add up from the mean prediction, and not all methods have the same one: SHAP from 0.250, ASV from "
        "0.290. So 0.040 of what is between them has nothing to do with causes."
    )
    assert told == ([expected] if base == 0.29 else [])


def test_causes_of_a_mixture_are_those_of_most_graphs():
    comparison = told_comparison([0.2, 0.5, 0, 0, 0], [0.5, 0.2, 0, 0, 0])
    both = [CausalOrder.from_edges([edge], features=FEATURES) for edge in (("age", "smoker"), ("smoker", "age"))]
    for weights, known in (((0.7, 0.3), True), ((0.3, 0.7), False)):
        mixture = GraphMixture(tuple(both), weights)
        told = words(replace(comparison, order=mixture))
        assert any("is known from age" in line for line in told) == known


def test_share_moved_by_hand():
    assert share_moved(np.array([1.0, 3.0]), np.array([3.0, 1.0])) == pytest.approx(4 / 8)
    assert share_moved(np.zeros(2), np.zeros(2)) == 0.0


def test_every_sentence_of_random_numbers_names_what_exists():
    comparison = random_comparison()
    block = read_block(comparison)
    for output in range(2):
        for sentence in conclude(block, output):
            for part in sentence:
                assert isinstance(part, str) or set(part) <= {"feature", "row"}
