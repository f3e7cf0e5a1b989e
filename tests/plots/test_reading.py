"""Explanations are stacked when they belong together, and causal graphs read however they are written."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import shap

from shap_asv.errors import ExplanationError
from shap_asv.plots.reading import causal_sequence, read_attributions
from tests.oracles.random_problems import random_edges
from tests.plots.looking import two_explanations

FEATURES = ["a", "b", "c"]


def explanation(values, **fields):
    values = np.asarray(values, dtype=float)
    rows = 1 if values.ndim == 1 else len(values)
    fields = {"base_values": np.zeros(rows), "feature_names": FEATURES, **fields}
    return shap.Explanation(values, **fields)


def test_a_pair_is_shap_and_asv():
    first, second = two_explanations(FEATURES, rows=4).values()
    read = read_attributions((first, second))
    assert read.methods == ("SHAP", "ASV")
    np.testing.assert_array_equal(read.values, [first.values, second.values])
    np.testing.assert_array_equal(read.base_values, np.full((2, 4), 0.3))


def test_a_comparison_is_read_by_its_dict_and_lends_its_order():
    pair = two_explanations(FEATURES)
    order = [("a", "b")]
    comparison = SimpleNamespace(explanations=pair, order=order)
    assert read_attributions(comparison).methods == ("SHAP", "ASV")
    assert read_attributions(comparison).order is order
    assert read_attributions(comparison, "mine").order == "mine"
    assert read_attributions(pair).order is None


def test_one_row_slices_and_scalar_base_values():
    pair = {name: e[1] for name, e in two_explanations(FEATURES, rows=3).items()}
    read = read_attributions(pair)
    assert read.values.shape == (2, 1, 3)
    np.testing.assert_array_equal(read.base_values, [[0.3], [0.3]])
    assert read.of_row(0)[1] == list(pair["SHAP"].display_data)


def test_columns_in_another_order_are_aligned_by_name():
    first = explanation([[1, 2, 3]], data=np.array([[7.0, 8, 9]]))
    second = explanation([[30, 10, 20]], data=np.array([[9.0, 7, 8]]), feature_names=["c", "a", "b"])
    np.testing.assert_array_equal(read_attributions((first, second)).values[1], [[10, 20, 30]])


def test_missing_names_become_shaps_own():
    assert read_attributions(explanation([[1, 2, 3]], feature_names=None)).features == (
        "Feature 0",
        "Feature 1",
        "Feature 2",
    )


def test_labels_come_before_numbers():
    e = explanation([[1, 2, 3]], data=np.array([[30.0, -0.5, 1 / 3]]))
    assert read_attributions(e).of_row(0)[1] == ["30", "\N{MINUS SIGN}0.5", "0.3333"]
    e = explanation([[1, 2, 3]], data=np.zeros((1, 3)), display_data=np.array([["x", True, 2.0]], dtype=object))
    assert read_attributions(e).of_row(0)[1] == ["x", "True", "2"]
    assert read_attributions(explanation([[1, 2, 3]])).of_row(0)[1] == [None] * 3


def test_data_of_a_model_may_be_a_recoding_of_states():
    ours = explanation(
        np.ones((4, 3)),
        data=np.array([[0.0, 0, 1]] * 2 + [[1.0, 2, 1]] * 2),
        display_data=np.array([["yes", "lo", "p"]] * 2 + [["no", "hi", "p"]] * 2, dtype=object),
    )
    theirs = explanation(np.ones((4, 3)), data=np.array([[1.0, -1, 5]] * 2 + [[0.0, 3, 5]] * 2))
    for pair in ((ours, theirs), (theirs, ours)):
        np.testing.assert_array_equal(read_attributions(pair).display, ours.display_data)
        np.testing.assert_array_equal(read_attributions(pair).data, ours.data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: explanation(np.ones((2, 3, 2)), output_names=["no", "yes"]), r"2 outputs \(no, yes\).*e\[\.\.\., k\]"),
        (lambda: explanation(np.ones((2, 3, 2)), data=np.ones((2, 3)))[0], r"2 outputs; pick one with e\[\.\.\., k\]"),
        (lambda: explanation(np.ones((3, 3)), data=np.ones(3)), "3 outputs"),
        (dict, "explanations is empty"),
        (lambda: {"SHAP": np.ones((1, 3))}, "'SHAP' must be a shap.Explanation, not a ndarray"),
        (lambda: [explanation([[1, 2, 3]])] * 3, "not a list of length 3"),
        (lambda: "SHAP", "not a str"),
        (lambda: explanation(np.ones((0, 3))), "nothing to draw"),
        (lambda: explanation([[1, np.nan, 3]]), "holds nan at row 0, feature 1"),
        (lambda: explanation([[1, 2, 3]], feature_names=["a", "b"]), "3 values per row but 2 feature names"),
        (lambda: explanation([[1, 2, 3]], feature_names=["a", "b", "a"]), "two features named 'a'"),
        (lambda: explanation(np.ones((4, 3)), base_values=np.zeros(2)), "2 base values for 4"),
        (lambda: explanation(np.ones((4, 3)), data=np.ones((3, 3))), r"data of shape \(3, 3\)"),
        (
            lambda: (explanation([[1, 2, 3]]), explanation([[1, 2, 3]], feature_names=["a", "b", "d"])),
            "different features: 'ASV' lacks 'c'; 'SHAP' lacks 'd'",
        ),
        (lambda: (explanation(np.ones((2, 3))), explanation(np.ones((5, 3)))), r"explains 2 row\(s\) and 'ASV' 5"),
        (
            lambda: (
                explanation(np.ones((2, 3)), data=np.array([[1.0, 2, 3], [4, 5, 6]])),
                explanation(np.ones((2, 3)), data=np.array([[1.0, 2, 3], [4, 7, 6]])),
            ),
            "row 1 has b = 5 in one and 7 in the other",
        ),
        (
            lambda: (
                explanation([[1, 2, 3]], display_data=np.array([["x", "y", "z"]], dtype=object)),
                explanation([[1, 2, 3]], display_data=np.array([["x", "y", "w"]], dtype=object)),
            ),
            "row 0 has c = z in one and w in the other",
        ),
    ],
)
def test_refused_with_a_reason(make, message):
    with pytest.raises(ExplanationError, match=message):
        read_attributions(make())


# --- causal graphs ----------------------------------------------------------------------------------------------------


def test_without_an_order_features_stay():
    np.testing.assert_array_equal(causal_sequence(None, ["b", "a"]), [0, 1])


@pytest.mark.parametrize("kind", ["forest", "polytree", "dag", "edgeless", "complete", "chain"])
def test_causes_come_first_and_nothing_else_moves(kind):
    rng = np.random.default_rng(3)
    for _ in range(25):
        n = int(rng.integers(1, 9))
        names = [f"f{i}" for i in rng.permutation(n)]
        edges = [(f"f{u}", f"f{v}") for u, v in random_edges(rng, n, kind)]
        sequence = [names[j] for j in causal_sequence(edges, names)]
        assert sorted(sequence) == sorted(names)
        assert all(sequence.index(u) < sequence.index(v) for u, v in edges)
        # of all topological orders the first one, when compared by position in the given sequence
        graph = nx.DiGraph(edges)
        graph.add_nodes_from(names)
        first = (
            min([names.index(name) for name in order] for order in nx.all_topological_sorts(graph)) if n < 7 else None
        )
        assert first is None or first == [names.index(name) for name in sequence]


def test_hidden_nodes_pass_precedence_on():
    sequence = causal_sequence([("cause", "hidden"), ("hidden", "effect")], ["effect", "other", "cause"])
    np.testing.assert_array_equal(sequence, [1, 2, 0])
