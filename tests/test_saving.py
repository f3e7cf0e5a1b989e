"""Comparisons as files: everything comes back, no code runs, and what is no such file says so."""

import json

import numpy as np
import pytest
import shap

from shap_asv import CausalOrder, Comparison, GraphMixture
from shap_asv.errors import PersistenceError
from tests.report.problems import EDGES, FEATURES, random_comparison

ORDERS = {
    "edges": CausalOrder.from_edges(EDGES, features=FEATURES),
    "levels": CausalOrder.from_levels([FEATURES[:2], FEATURES[2:]], confounded=[0]),
    "a mixture": GraphMixture(
        [CausalOrder.from_edges(EDGES, features=FEATURES), CausalOrder.from_edges(EDGES[:2], features=FEATURES)], [3, 1]
    ),
    "nothing": None,
}


def same(one, other):
    if one is None or other is None:
        assert one is other is None
    elif np.asarray(one).dtype.kind in "biuf":
        np.testing.assert_array_equal(one, other)
    else:
        assert np.asarray(one, dtype=object).tolist() == np.asarray(other, dtype=object).tolist()


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", list(ORDERS))
def test_everything_comes_back(kind, n_outputs, tmp_path):
    made = random_comparison(n_rows=4, n_outputs=n_outputs)
    comparison = Comparison(made.explanations, ORDERS[kind], made.backgrounds, made.plans, {"ASV"})
    comparison.save(tmp_path / "new" / "file.json")
    again = Comparison.load(tmp_path / "new" / "file.json")
    assert (again.backgrounds, again.plans, again.conditional) == (made.backgrounds, made.plans, {"ASV"})
    assert list(again.explanations) == list(made.explanations)
    for name, explanation in made.explanations.items():
        for word in ("values", "base_values", "data", "display_data", "error_std", "feature_names", "output_names"):
            same(getattr(again.explanations[name], word), getattr(explanation, word))
    assert again.order == comparison.order
    if kind == "levels":
        assert again.order.levels == comparison.order.levels
    if kind == "a mixture":
        np.testing.assert_allclose(again.order.weights, [0.75, 0.25])
    again.to_html(tmp_path / "page.html")


def test_rows_of_all_kinds(tmp_path):
    data = np.array([[1, np.nan, "a", True, None], [np.float32(2.5), 1e300, "b", np.bool_(False), "x"]], dtype=object)
    one = shap.Explanation(np.ones((2, 5)), np.zeros(2), data=data, feature_names=list("abcde"))
    Comparison({"ASV": one}).save(tmp_path / "file.json")
    again = Comparison.load(tmp_path / "file.json").asv.data
    assert [[type(item) for item in row] for row in again] == [
        [int, float, str, bool, type(None)], [float, float, str, bool, str]
    ]  # fmt: skip
    assert np.isnan(again[0, 1])
    assert again[1].tolist() == [2.5, 1e300, "b", False, "x"]


def test_a_file_of_the_first_format_is_read(tmp_path):
    """Written by hand: what later versions have to read."""
    array = {"dtype": "<f8", "shape": [1, 1], "base64": "AAAAAAAA4D8="}
    explanation = {"values": array, "base_values": {**array, "shape": [1]}, "data": {"shape": [1, 1], "items": ["old"]},
                   "display_data": None, "error_std": None, "main_effects": None, "feature_names": ["age"],
                   "output_names": None, "compute_time": 1.5}  # fmt: skip
    kept = {"kind": "shap_asv comparison", "version": 1, "explanations": {"ASV": explanation},
            "order": [[{"features": ["age"], "parents": [[]], "levels": None}, 1.0]], "mixture": False,
            "backgrounds": {}, "plans": {"ASV": "by hand"}, "conditional": []}  # fmt: skip
    (tmp_path / "file.json").write_text(json.dumps(kept))
    found = Comparison.load(tmp_path / "file.json")
    assert found.asv.values.tolist() == [[0.5]]
    assert found.asv.data.tolist() == [["old"]]
    assert found.features == ["age"]
    (tmp_path / "file.json").write_text(json.dumps({**kept, "version": 3}))
    with pytest.raises(PersistenceError, match="has format 3, this version of shap_asv reads up to 2"):
        Comparison.load(tmp_path / "file.json")
    (tmp_path / "file.json").write_text(json.dumps({**kept, "explanations": {"ASV": {}}}))
    with pytest.raises(PersistenceError, match="is damaged: KeyError"):
        Comparison.load(tmp_path / "file.json")
    for text in ("no JSON", "[1]", '{"kind": "another"}'):
        (tmp_path / "file.json").write_text(text)
        with pytest.raises(PersistenceError, match="holds no comparison"):
            Comparison.load(tmp_path / "file.json")
