"""Networks fitted to tables, against counts and a joint that are written out here, without anything of the package."""

import itertools

import numpy as np
import pandas as pd
import pytest

from shap_asv import CausalOrder, fit_network
from shap_asv.backgrounds.discrete.fitted import MOST_NUMBERS
from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    CausalGraphWarning,
    ImpossibleEvidenceError,
    RowsError,
    TableError,
    UnknownStateError,
)
from tests.oracles.fitted_networks import counted_tables

DAG = [("age", "work"), ("age", "pay"), ("work", "pay")]


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(2, 7, n) * 10
    work = np.where(rng.random(n) < 0.3 + 0.006 * age, "office", "field")
    pay = np.round(1 + 0.04 * age + 2 * (work == "office") + rng.normal(0, 1, n))
    pay[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "work": work, "pay": pay})


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 7.5])
def test_the_joint_is_that_of_counts_by_hand(smoothing):
    table = people()
    network = fit_network(table, DAG, smoothing=smoothing)
    states = [sorted(set(column.fillna("missing")), key=lambda s: (s == "missing", s)) for _, column in table.items()]
    codes = np.array(
        [[own.index(s) for own, s in zip(states, row, strict=True)] for row in table.fillna("missing").values]
    )
    of_age, of_work, of_pay = counted_tables(codes, list(map(len, states)), [[], [0], [0, 1]], smoothing)
    expected = np.empty(list(map(len, states)))
    for a, w, p in itertools.product(*map(range, expected.shape)):
        expected[a, w, p] = of_age[a] * of_work[w, a] * of_pay[p, a, w]
    assert expected.sum() == pytest.approx(1)
    assert [list(column.labels) for column in network.columns] == states
    np.testing.assert_allclose(network.background().feature_joint(), expected, rtol=0, atol=1e-13)


def test_columns_stay_as_they_are():
    n = 64
    table = pd.DataFrame(
        {
            "many": np.arange(n) % MOST_NUMBERS,
            "size": pd.Categorical(np.array(["S", "L", "M"])[np.arange(n) % 3], ["S", "M", "L", "XL"], ordered=True),
            "flag": np.arange(n) % 2 == 0,
            "who": np.array(["ann", None], dtype=object)[np.arange(n) % 2],
        }
    )
    with pytest.warns(CausalGraphWarning, match="'many'"):
        network = fit_network(table, [("size", "flag")])
    labels = {column.name: column.labels for column in network.columns}
    assert labels["many"] == tuple(range(MOST_NUMBERS))
    assert labels["size"] == ("S", "M", "L"), "in the order of the categories, without one that no row has"
    assert labels["flag"] == (False, True)
    assert labels["who"] == ("ann", "missing")
    background = network.background()
    pd.testing.assert_frame_equal(background.inputs(background.read(table)), table)
    assert network.sample(50, seed=0).dtypes.equals(table.dtypes)
    assert "flag <- size: 2 values: False, True" in str(network)


def test_values_that_the_table_does_not_have():
    background = fit_network(people(), DAG).background()
    row = pd.DataFrame({"age": [20], "work": ["office"], "pay": [3.0]})
    with pytest.raises(UnknownStateError, match=r"'work', row 0: 'farm' .*'field', 'office'"):
        background.read(row.assign(work="farm"))
    with pytest.raises(UnknownStateError, match=r"'age', row 0: 25 does not occur.*its states are 20, 30"):
        background.read(row.assign(age=25))
    with pytest.raises(RowsError, match="column 'pay', row 0: nan is missing"):
        fit_network(people().fillna(3.0), DAG).background().read(row.assign(pay=np.nan))


def test_without_smoothing_what_never_happened_is_impossible():
    table = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5})
    row = pd.DataFrame({"a": [0], "b": [1]})
    certain = fit_network(table, [("a", "b")], smoothing=0).background()
    with pytest.raises(ImpossibleEvidenceError):
        certain.check(certain.read(row))
    smooth = fit_network(table, [("a", "b")], smoothing=1).background()
    smooth.check(smooth.read(row))


def test_constant_columns_and_ten_rows():
    table = pd.DataFrame({"a": np.zeros(10), "b": ["x"] * 10, "c": [np.nan] * 10})
    network = fit_network(table, [("a", "b"), ("b", "c")])
    assert [column.labels for column in network.columns] == [(0.0,), ("x",), ("missing",)]
    assert network.background().feature_joint().tolist() == [[[1.0]]]


WIDE = [("age", "pay"), ("work", "pay"), ("more", "pay"), ("most", "pay")]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"smoothing": np.nan}, ArgumentError, "smoothing=nan"),
        ({"graph": [("age", "wage")]}, TableError, "node 'wage'"),
        (
            {"graph": CausalOrder.from_levels([["age"], ["work", "pay"]])},
            CausalGraphError,
            "only says what comes first",
        ),
        ({"data": people().assign(day=pd.Timestamp("2024-01-01"))}, TableError, r"'day' holds datetimes.*dt.month"),
        (
            {"data": people().assign(pay=np.arange(300.0))},
            TableError,
            r"'pay' holds 300 distinct numbers.*table itself.*pandas.cut\(table\['pay'\]",
        ),
        (
            {
                "data": people(4000).assign(more=np.arange(4000).astype(str), most=np.arange(4000) % 30),
                "graph": WIDE,
            },
            TableError,
            r"'pay' \(.* states\) given age \(5\), work \(2\), more \(4000\), most \(30\) would have .*table itself",
        ),
    ],
)
def test_what_cannot_be_fitted(arguments, error, words):
    with pytest.raises(error, match=words):
        fit_network(**{"data": people(), "graph": DAG, **arguments})
