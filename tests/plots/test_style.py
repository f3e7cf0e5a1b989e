"""Numbers, wrapped names, and colours that stay apart for every eye."""

import numpy as np
import pytest

from shap_asv.errors import ExplanationError
from shap_asv.plots import style


@pytest.mark.parametrize(
    ("largest", "value", "text"),
    [
        (0.352, 0.352, "+0.352"),
        (0.352, -0.1, "\N{MINUS SIGN}0.100"),
        (0.352, 1e-5, "0"),
        (12.0, 12.0, "+12.0"),
        (345.0, -7.0, "\N{MINUS SIGN}7"),
        (3e7, 1.5e7, "+1.50e+07"),
        (3e-9, -1.5e-9, "\N{MINUS SIGN}1.50e\N{MINUS SIGN}09"),
        (0.0, 0.0, "0"),
    ],
)
def test_numbers(largest, value, text):
    assert style.number_format([largest])(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1 + 0.2, "0.3"), (12345.0, "12345"), (-1000.25, "\N{MINUS SIGN}1000.25"), (2e7, "2e+07"), (0.0, "0")],
)
def test_ticks_are_written_out(value, text):
    assert style.tick_text(value) == text


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        ("Smoker", "Smoker"),
        ("household_income", "household_\nincome"),
        ("HypoxiaInOxygen", "HypoxiaIn\nOxygen"),
        ("abcdefghijklmnop", "abcdefghij\nklmnop"),
        ("one two three four five six", "one two\nthree fou…"),
    ],
)
def test_wrapping(text, wrapped):
    assert style.wrap(text, 10) == wrapped


def test_a_value_that_does_not_fit_goes_below():
    assert style.feature_label("Smoker", "True") == "Smoker = True"
    assert style.feature_label("CardiacMixing", "Transposed", width=16) == "CardiacMixing\n= Transposed"
    assert style.feature_label("Smoker", None) == "Smoker"


def test_the_most_important_features_are_shown_in_sequence():
    importance = np.array([5.0, 1.0, 4.0, 3.0, 2.0])
    shown, grouped = style.chosen_features(importance, np.array([4, 3, 2, 1, 0]), 3)
    np.testing.assert_array_equal(shown, [2, 0])
    np.testing.assert_array_equal(grouped, [4, 3, 1])
    for limit in (5, 9, None):
        shown, grouped = style.chosen_features(importance, np.arange(5), limit)
        assert len(shown) == 5
        assert len(grouped) == 0


@pytest.mark.parametrize("limit", [0, -1, 2.5, True])
def test_max_display_must_make_sense(limit):
    with pytest.raises(ExplanationError, match="max_display"):
        style.chosen_features(np.ones(3), np.arange(3), limit)
