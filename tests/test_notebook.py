"""Results in notebooks: the table one would want, escaped, in the colours of the page around it."""

import re

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, Sensitivity
from tests.report.problems import random_comparison


def cells(text):
    return re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", text)


def explainer():
    rows = np.array([[0.0, 1.0], [1.0, 0.0]])
    return AsymmetricExplainer(lambda X: X[:, 0], rows, feature_names=["<age>", "sex"])


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        (explainer, ["features", "&lt;age&gt;, sex", "algorithm", "auto"]),
        (lambda: explainer().plan(2), ["because", "result", "exact", "time"]),
        (lambda: random_comparison(n_outputs=1), ["SHAP", "ASV", "ASV - SHAP", "smoker", "x-ray"]),
        (
            lambda: Sensitivity([[[0.3, -0.1]], [[0.2, 0.4]]], ["smoker", "<b>"]),
            ["mean", "smoker", "&lt;b&gt;", "0.2500"],
        ),
    ],
    ids=["explainer", "plan", "comparison", "sensitivity"],
)
def test_tables_in_notebooks(thing, shown):
    text = thing()._repr_html_()
    assert set(shown) <= set(cells(text))
    assert "<b>" not in text
    assert "<script" not in text
    colours = set(re.findall(r"(?:color|background)\s*:\s*([^;\'\"]+)", text))
    assert colours <= {"inherit", "none"}  # of the page around it, light or dark


def test_numbers_are_those_of_the_text():
    comparison = random_comparison(n_outputs=1)
    printed = [line.split() for line in repr(comparison).splitlines()]
    (line,) = [line for line in printed if line and line[0] == "tar"]
    found = cells(comparison._repr_html_())
    place = found.index("tar")
    assert found[place : place + len(line)] == line
    assert "the largest standard error of a value is 0.001" in comparison._repr_html_()
