"""Bad input meets an error that names the thing, the value and the way out; nothing ends in NaN."""

import ast
import io
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import shap
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.linear_model import LinearRegression

import shap_asv
from shap_asv import AsymmetricExplainer, CausalOrder, errors
from tests.explainer.bad_input import CATALOGUE
from tests.explainer.bad_input.setting import Bad, Setting, fault

ENTRIES = [(group, name) for group, entries in CATALOGUE.items() for name in entries]


@pytest.fixture(scope="module")
def case():
    return Setting()


# --- the catalogue ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("group", "name"), ENTRIES, ids=[f"{group}: {name}" for group, name in ENTRIES])
def test_catalogue(group, name, case):
    assert fault(CATALOGUE[group][name], case) is None


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (Bad(lambda c: np.nan, errors.RowsError, ""), "no error, but nan"),
        (Bad(lambda c: c.good([]), errors.ModelError, ""), "RowsError instead of ModelError"),
        (Bad(lambda c: c.good([]), errors.ShapAsvError, ""), "RowsError instead of ShapAsvError"),
        (Bad(lambda c: c.good([]), errors.RowsError, "two rows"), "does not say 'two rows'"),
        (Bad(lambda c: np.zeros(2)[5], IndexError, ""), "IndexError comes from"),
        (Bad(lambda c: np.float64(1) / 0, errors.RowsError, ""), "RuntimeWarning instead"),
    ],
)
def test_the_judge_sees_what_is_wrong(entry, found, case):
    assert found in fault(entry, case)


def test_every_public_name_is_in_the_catalogue():
    """Functions and classes are called in some entry, modules are asked for something in one."""
    folder = Path(__file__).parent / "bad_input"
    called = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called |= {part.id for part in ast.walk(node.func) if isinstance(part, ast.Name)}
    missing = set(shap_asv.__all__) - called - {"__version__", "errors"}
    assert not missing


# --- what is said in a warning --------------------------------------------------------------------------------------


def test_graph_that_misses_features_or_has_others_warns(case):
    with pytest.warns(errors.CausalGraphWarning, match="does not mention 'asia'"):
        case.make(causal_graph=[("smoke", "lung")])
    chain = [*zip(case.names, case.names[1:], strict=False), ("moon", "smoke"), ("moon", "lung")]
    with pytest.warns(errors.CausalGraphWarning, match="'moon', not a feature of the model"):
        case.make(causal_graph=chain)


@pytest.mark.parametrize(
    ("edge", "says"),
    [(("smoke", "xrey"), "'xrey', .*did you mean 'xray'"), (("smoke", "ill"), "'ill', .*leave it out"),
     (("ill", "smoke"), "'ill', .*leave it out")],
)  # fmt: skip
@pytest.mark.parametrize("over", ["network", "table", "levels", "a list"])
def test_an_edge_to_an_unknown_name_is_an_error(case, over, edge, says):
    """It left plain SHAP, with a warning. A mediator and a hidden common cause may have names of their own."""
    table = case.X.assign(**{name: (case.X[name] == "yes").astype(float) for name in case.names})
    given = {"network": (case.network, [edge]), "a list": (case.network, [[("smoke", "lung")], [edge]])}
    given |= {"table": (table, [edge]), "levels": (table, CausalOrder.from_levels([[name] for name in edge]))}
    with pytest.raises(errors.CausalGraphError, match=says):
        AsymmetricExplainer(lambda X: np.zeros(len(X)), *given[over], feature_names=case.names)


@pytest.mark.parametrize(
    ("levels", "says"),
    [([["asia", "smokee"], ["lung"]], "'smokee', .*did you mean 'smoke'"), ([["asia"], ["lung"], ["ill"]], "'ill', ")],
)
def test_levels_that_name_no_feature(case, levels, says):
    with pytest.raises(errors.CausalGraphError, match=f"the levels name {says}"):
        case.make(causal_graph=CausalOrder.from_levels(levels))


def test_names_in_edges_that_change_nothing_warn():
    features = ["smoking", "tar", "cancer"]
    with pytest.warns(errors.CausalGraphWarning, match="'smokng', .* did you mean 'smoking'"):
        CausalOrder.from_edges([("smokng", "tar"), ("smokng", "cancer")], features=features)
    with pytest.warns(errors.CausalGraphWarning, match="'moon', which is not a feature and puts no feature before"):
        CausalOrder.from_edges([("smoking", "tar"), ("tar", "moon")], features=features)
    CausalOrder.from_edges([("gene", "smoking"), ("gene", "cancer")], features=features)  # a hidden common cause
    CausalOrder.from_edges([("smoking", "lungs"), ("lungs", "cancer")], features=features)  # a mediator


def test_clustering_of_a_masker_is_not_used_in_silence():
    masker = shap.maskers.Partition(np.random.default_rng(0).normal(size=(20, 3)))
    with pytest.warns(errors.ShapAsvWarning, match="clustering"):
        AsymmetricExplainer(lambda t: t[:, 0], masker)


def test_warnings_point_at_the_users_line(case):
    with pytest.warns(errors.CausalGraphWarning) as seen:
        AsymmetricExplainer(case.model, case.network, [("smoke", "lung")])
    assert seen[0].filename == __file__


# --- odd, but fine: the number that comes out is the right one ----------------------------------------------------


def test_errors_leave_the_explainer_usable(case):
    before = case.good(case.X[:2]).values
    with pytest.raises(errors.RowsError):
        case.good([])
    np.testing.assert_array_equal(case.good(case.X[:2]).values, before)


def test_models_that_write_into_their_input(case):
    def tidy(table):
        return 1.0 * (table["smoke"] == "yes")

    def messy(table):
        answer = tidy(table)
        table["smoke"] = "no"
        return answer

    np.testing.assert_array_equal(
        case.over_network(messy)(case.X[:3]).values, case.over_network(tidy)(case.X[:3]).values
    )

    def zeroing(table):
        answer = table[:, 0].copy()
        table[:] = 0
        return answer

    matrix, rows = case.matrix.copy(), case.matrix[:2].copy()
    found = AsymmetricExplainer(zeroing, matrix)(rows).values
    np.testing.assert_allclose(found, case.over_matrix(lambda table: table[:, 0])(case.matrix[:2]).values, atol=1e-12)
    np.testing.assert_array_equal(matrix, case.matrix)
    np.testing.assert_array_equal(rows, case.matrix[:2])


def test_minus_zero_is_another_row(case):
    rows = np.array([[0.0, 1.0, 1.0], [-0.0, 1.0, 1.0]])
    explainer = case.over_matrix(lambda table: np.copysign(1.0, table[:, 0]))
    explanation = explainer(rows)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), [1.0, -1.0])


def numbered_network():
    """Nodes 1 -> 2, which are numbers and not their text."""
    network = DiscreteBayesianNetwork([(1, 2)])
    network.add_cpds(TabularCPD(1, 2, [[0.5], [0.5]]), TabularCPD(2, 2, [[0.2, 0.7], [0.8, 0.3]], [1], [2]))
    return network


def test_nodes_that_are_numbers():
    def model(table):
        return 1.0 * table["1"] + 4.0 * table["2"]  # names are strings

    explainer = AsymmetricExplainer(model, numbered_network())
    explanation = explainer(pd.DataFrame({2: [1], 1: [0]}))
    np.testing.assert_allclose(explanation.values[0], [0.8, 0.5])
    assert explanation.feature_names == ["2", "1"]
    stream = io.BytesIO()
    explainer.save(stream)
    stream.seek(0)
    again = AsymmetricExplainer.load(stream)
    np.testing.assert_array_equal(again(pd.DataFrame({2: [1], 1: [0]})).values, explanation.values)


def test_columns_that_are_numbers(case):
    background = pd.DataFrame(case.matrix, columns=[2, 1, 0])
    explainer = AsymmetricExplainer(lambda table: table[1] * table[2], background)
    explanation = explainer(background[:3])
    reference = case.over_matrix(lambda table: table[:, 1] * table[:, 0])(case.matrix[:3])
    np.testing.assert_allclose(explanation.values, reference.values, atol=1e-12)


def test_names_say_which_column_is_which(case):
    """A model that knows its columns gets them by name, also when the background is an array in another order."""
    table = pd.DataFrame(case.matrix[:, :2], columns=["b", "a"])
    model = LinearRegression().fit(table, table["b"] + 10 * table["a"])
    rows = table[["a", "b"]].to_numpy()
    explanation = AsymmetricExplainer(model, rows, feature_names=["a", "b"])(rows[:3])
    np.testing.assert_allclose(explanation.values, ((rows - rows.mean(axis=0)) * [10, 1])[:3], atol=1e-9)


def test_isolated_columns_of_a_graph_are_mentioned(case):
    graph = nx.DiGraph([(0, 1)])
    graph.add_node(2)
    order = case.over_matrix(lambda table: table[:, 0], causal_graph=graph).causal_order
    assert order.edges == (("Feature 0", "Feature 1"),)
