"""Numbers, wrapped names, and colours that stay apart for every eye."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from shap_asv.errors import ExplanationError
from shap_asv.plots import convergence, style
from shap_asv.plots.convergence import MARKERS, PALETTE

# linear RGB as seen without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1)
VISION = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(colour):
    c = np.array(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def lab(colour, vision):
    """CIE L*a*b* of a colour as one kind of eye sees it."""
    rgb = np.clip(VISION[vision] @ linear(colour), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_colours_stay_apart_for_every_eye(vision):
    def distance(a, b):
        return float(np.linalg.norm(lab(a, vision) - lab(b, vision)))

    positive, negative = style.sign_colours()
    assert distance(positive, negative) > 40
    signed = style.diverging_colours()
    assert distance(signed(0.0)[:3], signed(1.0)[:3]) > 40
    assert min(distance(signed(s)[:3], signed(0.5)[:3]) for s in (0.0, 1.0)) > 40
    # neighbouring lines differ by marker as well, so 10 (a difference seen at a glance) is enough
    assert min(distance(a, b) for a, b in combinations(PALETTE, 2)) > 10
    amount = [lab(style.sequential_colours()(x)[:3], vision)[0] for x in np.linspace(0, 1, 30)]
    assert (np.diff(amount) < 0).all()
    assert amount[0] - amount[-1] > 60


def test_signs_are_equal_in_grey_so_that_colour_must_not_speak_alone():
    """The reason why every plot has a second cue; if shap changes its colours this may be relaxed."""
    a, b = (luminance(colour) for colour in style.sign_colours())
    assert (max(a, b) + 0.05) / (min(a, b) + 0.05) < 1.5


@pytest.mark.parametrize("colour", [style.INK, style.QUIET])
def test_type_is_dark_enough_on_white(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


def test_markers_are_a_second_cue():
    assert len(set(MARKERS)) == len(MARKERS) == len(PALETTE)


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


def test_numbers_without_sign():
    assert style.number_format([0.25], signed=False)(0.25) == "0.250"


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


def test_package_exports_the_function_of_the_module_of_the_same_name():
    assert callable(convergence)
