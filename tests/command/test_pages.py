"""Tables of many kinds through ``explain`` with its defaults: no traceback, and every sentence is true."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer, CausalOrder, Comparison
from shap_asv.__main__ import main
from shap_asv.command.worth import causal_levels, explained_by_levels, worth_in_words
from tests.command.pages import KINDS, Arrays, check_sentence, check_sentences, payload_of, write_table
from tests.report.problems import random_comparison, told_comparison

SMALL = {"60 columns": 0}  # in `make reliability`, with 200,000 rows, and more draws


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SMALL])
def test_a_table_as_it_comes(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = write_table(kind, 160, tmp_path)
    methods = ["--methods", "SHAP,ASV"] if kind == "edges" else []
    assert main([*words, *methods, "--rows", "12", "--out", str(tmp_path / "page")]) == 0
    said = capsys.readouterr().out
    payload = payload_of((tmp_path / "page" / "index.html").read_text("utf-8"))
    assert check_sentences(payload)
    assert "12 of the 160 rows of the table, drawn at random" in payload["sample"]
    assert payload["sample"] in said
    assert any("it explains" in note and "of the variance" in note for note in payload["notes"])
    if kind == "sorted by class, dates":
        labels = payload["states"][payload["features"].index("Island")]
        assert len({labels["labels"][code] for code in labels["codes"]}) > 1  # not the first twelve rows
        assert any("Date Egg holds dates: read as days since 2007-11-0" in note for note in payload["notes"])
    first = payload["methods"][0]
    if kind != "edges":  # 100 background rows of 160: what the others would change is on the page
        assert "over 100 background rows, as in shap, of the 160 of the table; errors are" in first["background"]
        assert 0 < first["largest_error"] < np.inf
    names = [method["name"] for method in payload["methods"]]
    assert names == (["conditional SHAP", "ASV"] if kind == "edges" else ["marginal SHAP", "ASV"])


def test_a_page_says_on_which_edge_most_hangs(tmp_path, capsys):
    words = write_table("semicolons, decimal commas", 120, tmp_path)
    assert main([*words, "--rows", "4", "--sensitivity", "--methods", "ASV", "--out", str(tmp_path / "page")]) == 0
    payload = payload_of((tmp_path / "page" / "index.html").read_text("utf-8"))
    (note,) = [note for note in payload["notes"] if "matters most" in note]
    change, effect, feature, by = payload["sensitivity"]["effects"][0][0]
    assert note == (
        f"If the graph is not certain: {change} matters most: it moves values by {effect:.2g} on average, those of "
        f"{feature} by {by:.2g}."
    )
    assert note in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(20))
def test_sentences_of_random_comparisons(seed, tmp_path):
    rng = np.random.default_rng(seed)
    sampled = [name for name in ("SHAP", "ASV", "Causal") if rng.random() < 0.5]
    comparison = random_comparison(n_rows=8, sampled=sampled, seed=seed)
    conditional = {"SHAP", "ASV"} if rng.random() < 0.5 else set()
    explanations = {}
    for name, e in comparison.explanations.items():
        error = np.abs(rng.normal(scale=0.1 * rng.random() ** 2, size=e.values.shape)) if name in sampled else None
        named = {"feature_names": e.feature_names, "output_names": e.output_names}
        explanations[name] = shap.Explanation(
            e.values, e.base_values + rng.normal(scale=0.01), error_std=error, **named
        )
    told = Comparison(explanations, comparison.order, comparison.backgrounds, {}, conditional)
    check_sentences(payload_of(told.to_html(tmp_path / "page.html").read_text("utf-8")))


def test_a_page_without_credit(tmp_path):
    told = told_comparison([0.0] * 5, [0.0] * 5)
    assert check_sentences(payload_of(told.to_html(tmp_path / "page.html").read_text("utf-8")))


def test_a_wrong_sentence_would_be_noticed(tmp_path):
    comparison = told_comparison([0.10, 0.20, 0.30, 0.40, 0.0], [0.10, 0.36, 0.45, 0.0, 0.0])
    payload = payload_of(comparison.to_html(tmp_path / "page.html").read_text("utf-8"))
    assert len(check_sentences(payload)) >= 4
    arrays = Arrays(payload, 0)
    for wrong in ("36% of the credit moves between conditional SHAP and ASV.", "ASV likes <tar>.",
                  "<tar> loses part of its credit (0.300 \u2192 0.450).", "ASV gives 0 in every row to <tar>; conditional SHAP does not."):  # fmt: skip  # noqa: E501
        with pytest.raises(AssertionError):
            check_sentence(wrong, arrays, payload)


def test_what_a_fit_is_worth_by_hand():
    """M = a + b with b = a + noise: a explains 4 of 5 parts of the variance."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=1200)
    table = pd.DataFrame({"a": a, "b": a + rng.normal(size=1200), "c": rng.normal(size=1200)})
    model = LinearRegression().fit(table, table["a"] + table["b"])
    order = CausalOrder.from_levels([["c"], ["a"], ["b"]])
    explainer = AsymmetricExplainer(model, table, order, values="conditional", seed=0, silent=True)
    shares, n_rows = explained_by_levels(explainer, table, [["c"], ["a"]], None, 0)
    assert n_rows == 300
    np.testing.assert_allclose(shares, [0.0, 0.8], atol=0.06)
    (sentence,) = worth_in_words(explainer, table, order, None, 0)
    found = re.search(r"explains (\d+)% of the variance of the predictions once c is known, (\d+)% with a\.", sentence)
    np.testing.assert_allclose([int(text) / 100 for text in found.groups()], np.maximum(shares, 0), atol=0.0051)


def test_levels_of_causes():
    features = ["a", "b", "c"]
    assert causal_levels(CausalOrder.from_levels([["a"], ["b", "c"]]), features) == [["a"]]
    assert causal_levels(CausalOrder.from_levels([["a"], ["b"]]), features) == [["a"], ["b"]]
    assert causal_levels([("a", "b"), ("b", "c")], features) == [["a"], ["b"]]
    assert worth_in_words(SimpleNamespace(), pd.DataFrame({"a": [1]}), [("a", "b")], None, 0) == []
