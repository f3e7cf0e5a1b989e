"""Networks fitted to tables, against counts and a joint that are written out here, without anything of the package."""

import itertools

import numpy as np
import pandas as pd
import pytest

from shap_asv import fit_network
from shap_asv.backgrounds.discrete.binning import FEW_VALUES, Cuts, interval_labels, learn_states, quantile_cuts
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    CausalGraphWarning,
    ImpossibleEvidenceError,
    ModelError,
    RowsError,
    TableError,
    UnknownStateError,
)

DAG = [("age", "work"), ("age", "pay"), ("work", "pay")]


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 70, n)
    work = np.where(rng.random(n) < 0.3 + 0.006 * age, "office", "field")
    pay = 20 + 0.4 * age + 8 * (work == "office") + rng.normal(0, 5, n)
    pay[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "work": work, "pay": pay})


# --- an oracle: states, counts and the joint by loops ------------------------------------------------------------


def bin_by_hand(value, cuts):
    if pd.isna(value):
        return "missing"
    return sum(value > cut for cut in cuts)


def probability_by_hand(states, causes, smoothing):
    """P(v | causes) as dict of dicts, from lists of states of the rows; rows as in the docstring of fit_network."""
    own = sorted(set(states), key=str)
    marginal = {s: (states.count(s) + smoothing / len(own)) / (len(states) + smoothing) for s in own}

    def given(*values):
        rows = [i for i in range(len(states)) if all(c[i] == v for c, v in zip(causes, values, strict=True))]
        if not causes:
            return marginal
        if not rows and not smoothing:
            return marginal
        return {s: (sum(states[i] == s for i in rows) + smoothing * marginal[s]) / (len(rows) + smoothing) for s in own}

    return own, given


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 7.5])
def test_the_joint_is_that_of_counts_by_hand(smoothing):
    table = people()
    cuts = {"age": [30, 45], "pay": [35, 45, 55]}
    network = fit_network(table, DAG, bins=cuts, smoothing=smoothing)
    age = [bin_by_hand(x, cuts["age"]) for x in table["age"]]
    pay = [bin_by_hand(x, cuts["pay"]) for x in table["pay"]]
    work = list(table["work"])
    ages, of_age = probability_by_hand(age, [], smoothing)
    works, of_work = probability_by_hand(work, [age], smoothing)
    pays, of_pay = probability_by_hand(pay, [age, work], smoothing)
    expected = np.array([[[of_age()[a] * of_work(a)[w] * of_pay(a, w)[p] for p in pays] for w in works] for a in ages])
    assert expected.sum() == pytest.approx(1)
    assert pays[-1] == "missing"
    np.testing.assert_allclose(network.background().feature_joint(), expected, rtol=0, atol=1e-13)


def test_groups_relate_columns_and_states_are_drawn_within_them():
    """At the thresholds of a model: P(v | causes) = P(g | g causes) P(v | g), from counts by hand."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    table = pd.DataFrame({"x": x, "y": x + rng.normal(size=400), "z": rng.normal(size=400)})
    thresholds = {"x": np.linspace(-2, 2, 11), "y": np.linspace(-1, 3, 7)}
    smoothing, n_groups = 2.0, 3
    codec = TableCodec.learn(table)
    from shap_asv.backgrounds.discrete.fitted import fit_tables
    from shap_asv.backgrounds.structural.graph import Dag

    columns = [
        learn_states(c, table[c.name].to_numpy(), Cuts(thresholds.get(c.name, np.empty(0)), None, True), 5, n_groups)
        for c in codec.columns
    ]
    rows = table.to_numpy()
    network = fit_tables(Dag.read([("x", "y"), ("y", "z")], codec.names), codec, columns, rows, smoothing)

    coarse = {name: np.sort(table[name])[[133, 266]] for name in table}  # thirds of 400 rows
    fine = {name: np.union1d(coarse[name], thresholds.get(name, [])) for name in table}
    group = {name: [bin_by_hand(v, coarse[name]) for v in table[name]] for name in table}
    state = {name: [bin_by_hand(v, fine[name]) for v in table[name]] for name in table}
    inside = {
        name: [bin_by_hand((a + b) / 2, coarse[name]) for a, b in zip([-9, *f], [*f, 9], strict=True)]
        for name, f in fine.items()
    }

    def within(name, s):
        g = inside[name][s]
        members = [t for t in range(len(inside[name])) if inside[name][t] == g]
        return (state[name].count(s) + smoothing / len(members)) / (group[name].count(g) + smoothing)

    _, of_x = probability_by_hand(group["x"], [], smoothing)
    _, of_y = probability_by_hand(group["y"], [group["x"]], smoothing)
    _, of_z = probability_by_hand(group["z"], [group["y"]], smoothing)
    sizes = [len(inside[name]) for name in table]
    expected = np.empty(sizes)
    for a, b, c in itertools.product(*map(range, sizes)):
        ga, gb, gc = inside["x"][a], inside["y"][b], inside["z"][c]
        shares = within("x", a) * within("y", b) * within("z", c)
        expected[a, b, c] = of_x()[ga] * of_y(ga)[gb] * of_z(gb)[gc] * shares
    background = network.background()
    np.testing.assert_allclose(background.feature_joint(), expected, rtol=0, atol=1e-13)
    assert set(background.latent) == {"x (group)", "y (group)"}
    assert set(network.graph.edges) == {("x", "y"), ("y", "z")}


# --- states ------------------------------------------------------------------------------------------------------


def test_bins_are_quantiles_and_stand_for_medians():
    table = pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100) % 3})
    network = fit_network(table, [("x", "y")], bins=4)
    x, y = network.columns
    assert x.labels == ("<= 24", "(24, 49]", "(49, 74]", "> 74")
    assert x.codes.tolist() == [12.0, 37.0, 62.0, 87.0]
    assert y.labels == (0, 1, 2)
    assert network.representatives(table.iloc[[0, 30, 99]])["x"].tolist() == [12.0, 37.0, 87.0]


def test_columns_with_few_values_labels_and_bools_stay_as_they_are():
    n = 60
    table = pd.DataFrame(
        {
            "few": np.arange(n) % FEW_VALUES,
            "many": np.arange(n) % (FEW_VALUES + 1),
            "size": pd.Categorical(np.array(["S", "L", "M"])[np.arange(n) % 3], ["S", "M", "L", "XL"], ordered=True),
            "flag": np.arange(n) % 2 == 0,
            "who": np.array(["ann", "bob"], dtype=object)[np.arange(n) % 2],
        }
    )
    with pytest.warns(CausalGraphWarning, match="'few'"):
        network = fit_network(table, [("size", "flag")])
    labels = {column.name: column.labels for column in network.columns}
    assert labels["few"] == tuple(range(FEW_VALUES))
    assert len(labels["many"]) == 5
    assert labels["size"] == ("S", "M", "L"), "in the order of the categories, without one that no row has"
    assert labels["flag"] == (False, True)
    assert labels["who"] == ("ann", "bob")
    pd.testing.assert_frame_equal(network.representatives(table).drop(columns="many"), table.drop(columns="many"))
    assert network.sample(50, seed=0).dtypes.equals(table.dtypes)


def test_missing_values_are_a_state_of_their_own():
    table = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0] * 20, "s": ["a", None, "b", "a"] * 20})
    table["x"] += np.linspace(0, 0.1, 80)
    network = fit_network(table, [("x", "s")], bins=2)
    assert [column.labels[-1] for column in network.columns] == ["missing", "missing"]
    background = network.background()
    assert background.read(table.iloc[2:4]).tolist() == [[2, 1], [1, 0]]
    again = network.representatives(table)
    assert again["x"].isna().tolist() == table["x"].isna().tolist()
    assert again["s"].isna().tolist() == table["s"].isna().tolist()
    with pytest.raises(RowsError, match="column 'x', row 1: nan is missing"):
        fit_network(table.fillna({"x": 3.0}), [("x", "s")], bins={"x": 2}).background().read(table.iloc[[0, 2]])


def test_rows_past_the_table_and_values_that_it_does_not_have():
    network = fit_network(people(), DAG)
    far = pd.DataFrame({"age": [-5.0, 200.0], "work": ["office", "field"], "pay": [-1e9, 1e9]})
    assert network.background().read(far)[:, [0, 2]].tolist() == [[0, 0], [4, 4]]
    with pytest.raises(UnknownStateError, match=r"'work', row 0: 'farm' .*'field', 'office'"):
        network.background().read(far.assign(work="farm"))
    few = fit_network(pd.DataFrame({"a": [0, 1, 2] * 9, "b": [0.5, 1.5, 1.5] * 9}), [("a", "b")])
    with pytest.raises(UnknownStateError, match=r"'a', row 0: 7 does not occur.*bins=\{'a': "):
        few.background().read(pd.DataFrame({"a": [7], "b": [0.5]}))


def test_without_smoothing_what_never_happened_is_impossible():
    table = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5})
    row = pd.DataFrame({"a": [0], "b": [1]})
    certain = fit_network(table, [("a", "b")], smoothing=0).background()
    with pytest.raises(ImpossibleEvidenceError):
        certain.check(certain.read(row))
    smooth = fit_network(table, [("a", "b")], smoothing=1).background()
    smooth.check(smooth.read(row))


@pytest.mark.parametrize(
    ("numbers", "n_bins", "expected"),
    [
        ([1, 2, 3, 4], 2, [2]),
        ([5, 5, 5, 5, 9], 4, [5]),
        ([1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9], 4, [1]),
        ([3, 3, 3], 3, []),
        ([np.nan, 1, 2], 2, [1]),
    ],
)
def test_quantile_cuts(numbers, n_bins, expected):
    assert quantile_cuts(np.array(numbers, dtype=float), n_bins).tolist() == expected


def test_labels_tell_bins_apart():
    assert interval_labels(np.array([1.00001, 1.00002])) == ("<= 1.00001", "(1.00001, 1.00002]", "> 1.00002")


def test_cuts_between_which_there_is_no_number_are_left_out():
    """No whole number is in (2.2, 2.8], and no float32 between two doubles that are next to each other."""
    table = pd.DataFrame({"n": np.arange(40), "x": np.linspace(0, 1, 40).astype(np.float32)})
    codec = TableCodec.learn(table)
    rows = codec.read(table)
    whole = learn_states(codec.columns[0], rows[:, 0], [2.2, 2.8, 50.5, 50.7])
    assert whole.labels == ("<= 2.8", "(2.8, 50.7]", "> 50.7")
    assert whole.codes.tolist() == [1, 21, 76]
    single = learn_states(codec.columns[1], rows[:, 1], [0.5, np.nextafter(0.5, 1), 2.0])
    assert len(single.codes) == 3
    for states in (whole, single):
        assert states.read(states.codes).tolist() == list(range(states.n_states))


# --- input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"bins": 1}, ArgumentError, "bins=1 is not understood"),
        ({"bins": {"wage": 3}}, ArgumentError, "'wage', which is not a column"),
        ({"bins": {"ages": 3}}, ArgumentError, "did you mean 'age'"),
        ({"bins": {"age": [3, 3]}}, ArgumentError, "column 'age'.*increasing"),
        ({"bins": {"age": "x"}}, ArgumentError, "'x' for column 'age'"),
        ({"bins": {"work": 3}}, ArgumentError, "'work', which holds categories"),
        ({"smoothing": np.nan}, ArgumentError, "smoothing=nan"),
        ({"graph": [("age", "wage")]}, TableError, "node 'wage'"),
        ({"bins": {"age": 200, "pay": 1000}}, TableError, r"'pay' \(.* states\) given age .*StructuralModel"),
    ],
)
def test_what_cannot_be_fitted(arguments, error, words):
    table = people(30_000 if "1000" in str(arguments) else 50)
    given = {"graph": DAG, **arguments}
    if error is TableError and "pay" in words:
        given["graph"] = [("age", "pay"), ("work", "pay"), ("more", "pay")]
        table["more"] = np.random.default_rng(0).normal(size=len(table))
        given["bins"] = {**arguments["bins"], "more": 200}
    with pytest.raises(error, match=words):
        fit_network(table, **given)


def test_levels_and_datetimes_are_refused():
    from shap_asv import CausalOrder

    with pytest.raises(CausalGraphError, match="CausalOrder only says what comes first"):
        fit_network(people(), CausalOrder.from_levels([["age"], ["work", "pay"]]))
    with pytest.raises(TableError, match=r"'day' holds datetimes.*dt.month"):
        fit_network(people().assign(day=pd.Timestamp("2024-01-01")), DAG)


def test_a_model_without_thresholds():
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeRegressor

    table = people()[["age", "pay"]].dropna()
    with pytest.raises(ModelError, match=r"bins=model needs.*LinearRegression"):
        fit_network(table, [("age", "pay")], bins=LinearRegression().fit(table, table["pay"]))
    scaled = make_pipeline(StandardScaler(), DecisionTreeRegressor()).fit(table, table["pay"])
    with pytest.raises(ModelError, match=r"StandardScaler stands in front.*bins=5"):
        fit_network(table, [("age", "pay")], bins=scaled)


def test_too_many_thresholds_name_the_column():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=3000), "b": rng.integers(0, 2, 3000)})
    deep = DecisionTreeRegressor().fit(table, rng.normal(size=3000))
    with pytest.raises(TableError, match=r"'a' would be cut at 2,\d+ places.*shallower.*bins=\{'a': 10\}"):
        fit_network(table, [("a", "b")], bins=deep)
    assert fit_network(table, [("a", "b")], bins={"a": 10}).columns[0].n_states == 10
