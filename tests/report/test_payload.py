"""What reaches the page: the arrays, to seven digits; the states; the graph; and errors for what does not fit."""

import base64
import json
import re
import tempfile

import networkx as nx
import numpy as np
import pytest
import shap

from shap_asv import Comparison, Sensitivity
from shap_asv.errors import ArgumentError, ExplanationError
from shap_asv.report import write_report
from shap_asv.report.layout import place_graph
from tests.report.problems import EDGES, FEATURES, random_comparison


def render_report(comparison, **options):
    with tempfile.TemporaryDirectory() as folder:
        return write_report(comparison, f"{folder}/page.html", **options).read_text("utf-8")


def payload_of(page):
    text = re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.DOTALL)[1]
    return json.loads(text)


def unpack(text, *shape):
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(shape)


def test_arrays_arrive():
    comparison = random_comparison()
    payload = payload_of(render_report(comparison))
    assert payload["features"] == FEATURES
    for method, (name, explanation) in zip(payload["methods"], comparison.explanations.items(), strict=True):
        assert method["name"] == name
        values = np.moveaxis(explanation.values, 2, 0)
        np.testing.assert_allclose(unpack(method["values"], 2, 40, 5), values, rtol=1e-6, atol=1e-9)
        means = np.abs(explanation.values).mean(axis=0).T
        np.testing.assert_allclose(unpack(method["importance"], 2, 5), means, rtol=1e-6)
    assert [method["error"] is None for method in payload["methods"]] == [False, True, True]
    for j, column in enumerate(payload["states"]):
        shown = [column["labels"][code] for code in column["codes"]]
        assert shown == [str(label) for label in comparison.asv.display_data[:, j]]


def test_features_are_listed_causes_first_whatever_the_order_of_columns():
    comparison = random_comparison()
    turned = {name: e[:, [4, 3, 2, 1, 0]] for name, e in comparison.explanations.items()}
    turned = Comparison(turned, comparison.order, comparison.backgrounds, comparison.plans)
    one, other = (payload_of(render_report(each)) for each in (comparison, turned))
    assert one["methods"] == other["methods"]
    assert one["states"] == other["states"]


def test_many_rows_are_thinned_out_and_means_are_over_all():
    comparison = random_comparison(n_rows=700, n_outputs=1)
    payload = payload_of(render_report(comparison, max_rows=100))
    assert len(payload["rows"]) == 100
    assert payload["n_rows"] == 700
    stacked = np.stack([e.values for e in comparison.explanations.values()])
    apart = (stacked.max(axis=0) - stacked.min(axis=0)).sum(axis=1)
    assert int(apart.argmax()) in payload["rows"]
    asv = payload["methods"][1]
    np.testing.assert_allclose(
        unpack(asv["values"], 100, 5), comparison.asv.values[payload["rows"]], rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(unpack(asv["importance"], 5), np.abs(comparison.asv.values).mean(axis=0), rtol=1e-6)


def test_tones_go_from_low_to_high():
    comparison = random_comparison()
    states = payload_of(render_report(comparison))["states"]
    tar = states[FEATURES.index("tar")]
    tones = {tar["labels"][code]: tone for code, tone in zip(tar["codes"], tar["tones"], strict=True)}
    assert tones == {"low": 0.0, "some": 0.5, "high": 1.0}


def test_names_cannot_become_markup():
    nasty = '</script><img src=x onerror="alert(1)"> & <b>'
    explanations = {
        name: shap.Explanation(np.ones((2, 1)), np.zeros(2), data=np.zeros((2, 1)), feature_names=[nasty])
        for name in ("SHAP", "ASV")
    }
    comparison = Comparison(explanations)
    page = render_report(comparison, title=nasty, notes=[nasty])
    assert "<img" not in page
    assert payload_of(page)["features"] == [nasty]
    assert payload_of(page)["graph"] is None


@pytest.mark.parametrize("methods", [("ASV",), ("SHAP", "ASV", "a", "b", "c")])
def test_any_number_of_methods(methods):
    full = random_comparison(methods=("SHAP", "ASV", "a", "b", "c"))
    some = Comparison({name: full.explanations[name] for name in methods}, full.order)
    payload = payload_of(render_report(some))
    assert [method["name"] for method in payload["methods"]] == list(methods)
    assert payload["pair"] == (None if len(methods) == 1 else [0, 1])


def test_sensitivity_gives_ranges():
    comparison = random_comparison(n_outputs=1)
    rng = np.random.default_rng(1)
    values = comparison.asv.values + rng.normal(scale=0.02, size=(4, 40, 5))
    sensitivity = Sensitivity(
        values[:, :, ::-1], FEATURES[::-1], [f"flip {k}" for k in range(4)], reference=values[0, :, ::-1]
    )
    packed = payload_of(render_report(comparison, sensitivity=sensitivity))["sensitivity"]
    np.testing.assert_allclose(unpack(packed["low"], 40, 5), values.min(axis=0), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(unpack(packed["high"], 40, 5), values.max(axis=0), rtol=1e-5, atol=1e-9)
    assert packed["effects"][0][0][0] == sensitivity.edge_effects().index[0]
    with pytest.raises(ExplanationError, match="same rows and outputs"):
        render_report(random_comparison(n_rows=3, n_outputs=1), sensitivity=sensitivity)


def test_cards_do_not_overlap_and_arrows_go_right():
    placed = place_graph([*EDGES, ("a latent cause of much", "cough")], FEATURES, ["SHAP", "ASV", "causal ASV"])
    width, height = placed["card"]
    nodes = placed["nodes"]
    assert [node["feature"] for node in nodes] == [0, 1, 2, 3, 4, None]
    for i, one in enumerate(nodes):
        assert 0 <= one["x"] <= placed["width"] - width
        assert 0 <= one["y"] <= placed["height"] - height
        for other in nodes[:i]:
            assert abs(one["x"] - other["x"]) >= width or abs(one["y"] - other["y"]) >= height
    assert len(placed["arrows"]) == 5
    for arrow in placed["arrows"]:
        assert nodes[arrow["from"]]["x"] + width < nodes[arrow["to"]]["x"]
        start = float(re.match(r"M([\d.]+) ", arrow["path"])[1])
        assert start == pytest.approx(nodes[arrow["from"]]["x"] + width, abs=0.2)


def test_features_that_the_graph_does_not_know_are_drawn_too():
    placed = place_graph(nx.DiGraph([("age", "smoker")]), FEATURES, ["SHAP", "ASV"])
    assert {node["name"] for node in placed["nodes"]} == set(FEATURES)


def test_wrong_words(tmp_path):
    comparison = random_comparison()
    with pytest.raises(ArgumentError, match=r"does not end in \.html"):
        comparison.to_html(tmp_path / "report.pdf")
    with pytest.raises(ArgumentError, match="max_rows"):
        comparison.to_html(tmp_path / "report.html", max_rows=0)
    with pytest.raises(ArgumentError, match="list of sentences"):
        comparison.to_html(tmp_path / "report.html", notes="one")
    broken = dict(comparison.explanations)
    values = np.array(broken["ASV"].values)
    values[3, 2] = np.nan
    broken["ASV"] = shap.Explanation(values, broken["ASV"].base_values, feature_names=FEATURES)
    with pytest.raises(ExplanationError, match="row 3, feature 2"):
        Comparison(broken, comparison.order).to_html(tmp_path / "report.html")


def test_three_hundred_rows_of_twenty_features_are_small(tmp_path):
    rng = np.random.default_rng(0)
    names, data = [f"feature_{j}" for j in range(20)], rng.normal(size=(300, 20))
    explanations = {
        name: shap.Explanation(
            rng.normal(size=(300, 20, 4)),
            np.zeros((300, 4)),
            data=data,
            feature_names=names,
            output_names=list("abcd"),
            error_std=rng.uniform(size=(300, 20, 4)),
        )
        for name in ("SHAP", "ASV")
    }
    path = Comparison(explanations).to_html(tmp_path / "new" / "report.html")
    assert path.stat().st_size < 2_000_000
