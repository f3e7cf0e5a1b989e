"""The list of what tables, graphs and mechanisms get wrong, through the front door: an error by name, or an answer.

What each background refuses on its own is tested beside it; here is what a user of ``AsymmetricExplainer`` meets.
"""

import numpy as np
import pandas as pd
import pytest

from shap_asv import AsymmetricExplainer, CausalOrder, StructuralModel, fit_network
from shap_asv.errors import (
    CausalGraphError,
    CausalGraphWarning,
    MechanismError,
    MethodNotApplicableError,
    RowsError,
    TableError,
)

DAG = [("age", "job"), ("age", "pay"), ("job", "pay")]
LEVELS = CausalOrder.from_levels([["age"], ["job", "pay"]])


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    age = 5 * rng.normal(8, 2, n).round()
    job = np.where(rng.random(n) < 0.5, "field", "office")
    return pd.DataFrame({"age": age, "job": job, "pay": age + 5.0 * (job == "office") + rng.integers(0, 2, n)})


def model(X):
    return np.asarray(X["pay"], dtype=float) * (X["job"] == "office") + np.asarray(X["age"], dtype=float)


def conditional(table, graph, model=model):
    return AsymmetricExplainer(model, table, graph, values="conditional", seed=0, n_draws=16, silent=True)


def network(table, graph, model=model):
    return AsymmetricExplainer(model, fit_network(table, graph), feature_names=list(table.columns))


def assert_adds_up(explainer, rows, expected):
    explanation = explainer(rows, silent=True)
    assert np.isfinite(explanation.values).all()
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), expected, atol=1e-9)


both = pytest.mark.parametrize("make", [conditional, network])


@both
def test_a_node_without_a_column(make):
    graph = [*DAG, ("luck", "pay")]
    if make is network:
        with pytest.raises(TableError, match=r"node 'luck'.*no column.*leave it out"):
            make(people(), graph)
        return
    with pytest.raises(CausalGraphError, match="'luck', which is neither a feature nor"):
        make(people(), graph)
    # a hidden cause of two: what is not measured is not learned, and the others are related without it
    graph = [*DAG, ("luck", "pay"), ("luck", "job")]
    with pytest.warns(CausalGraphWarning, match="'luck', not a feature of the model; projected out"):
        explainer = make(people(), graph)
    assert not isinstance(explainer.masker, StructuralModel)
    assert_adds_up(explainer, people().iloc[:2], model(people().iloc[:2]))
    with pytest.raises(TableError, match=r"node 'luck'.*no column.*leave it out"):
        StructuralModel.fit(people(), graph)


@both
def test_a_column_without_a_node_is_told_what_happens_to_it(make):
    with pytest.warns(CausalGraphWarning, match=r"'pay'.*(independent|without causes)"):
        make(people(), [("age", "job")])


def test_a_mechanism_that_returns_nan_only_for_some_row():
    """Not among the rows that were tried at first: an error when it happens, never a NaN in an explanation."""
    like = pd.DataFrame({"age": [30.0, 40.0], "pay": [1.0, 2.0]})
    scm = StructuralModel(
        [("age", "pay")],
        {"age": lambda causes, u: 20 + 50 * u, "pay": lambda causes, u: np.sqrt(np.maximum(causes["age"], -1)) + u},
        like=like,
    )
    explainer = AsymmetricExplainer(lambda X: X["pay"], scm, feature_names=["age", "pay"], n_draws=16, seed=0)
    row = pd.DataFrame({"age": [-5.0], "pay": [1.0]})
    with np.errstate(invalid="ignore"), pytest.raises(MechanismError, match=r"'pay' returned nan"):
        explainer(row, silent=True)


@pytest.mark.parametrize(
    ("make", "graph"),
    [(conditional, DAG), (conditional, LEVELS), (network, DAG)],
    ids=["structural", "levels", "network"],
)
def test_a_table_of_ten_rows(make, graph):
    table = people(10)
    explainer = make(table, graph)
    assert_adds_up(explainer, table, model(table))


@both
def test_datetimes(make):
    table = people().assign(pay=pd.Timestamp("2024-05-01"))
    with pytest.raises(TableError, match=r"'pay' holds datetimes.*dt\.month"):
        make(table, DAG)
    with pytest.raises(RowsError, match="'age'"):
        make(people(), DAG)(people().iloc[:1].assign(age=pd.Timestamp("2024-05-01")))


def test_a_coalition_that_cannot_be_conditioned_on():
    scm = StructuralModel.fit(people(), DAG, "own distribution", seed=0, silent=True)
    order = CausalOrder.from_edges([("pay", "age")], features=["age", "job", "pay"])
    with pytest.raises(MethodNotApplicableError, match=r"can only condition on a set that holds the causes.*any set"):
        AsymmetricExplainer(model, scm, order, feature_names=["age", "job", "pay"], seed=0)
    # a network of the same table conditions on any set
    other = AsymmetricExplainer(model, fit_network(people(), DAG), order, feature_names=list(people()))
    assert np.isfinite(other(people().iloc[:1]).values).all()
