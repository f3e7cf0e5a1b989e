"""A DataFrame of background rows: every column reaches the model with the type it had when the model was fitted.

One bool or category column used to turn the whole table into objects, which boosting libraries refuse.
"""

import io
import itertools

import numpy as np
import pandas as pd
import pytest
import shap
from lightgbm import LGBMRegressor
from xgboost import XGBRegressor

from shap_asv import AsymmetricExplainer, ConditionalTable, StructuralModel, fit_network
from shap_asv.errors import RowsError, TableError
from tests.oracles.brute_force import over_orders


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "rooms": rng.integers(1, 6, n),
            "garden": rng.integers(0, 2, n).astype(bool),
            "town": pd.Categorical(rng.choice(["Rome", "Bonn", "Oslo"], n), categories=["Bonn", "Oslo", "Rome", "Ulm"]),
            "floor": pd.array(rng.integers(0, 4, n), dtype="Int64"),
        }
    )


TABLE, ROWS = make_table(25, 0), make_table(3, 1)
TARGET = (
    TABLE["size"] * TABLE["rooms"]
    + 3.0 * TABLE["garden"] * (TABLE["town"] == "Rome")
    + TABLE["floor"].astype(float) * (TABLE["town"] == "Oslo")
).to_numpy(dtype=float)


def mixed(row, members):
    """The background rows with the row's values of the members; columns are put together one by one."""
    columns = {}
    for name in TABLE:
        value = ROWS[name].iloc[[row] * len(TABLE)].reset_index(drop=True)
        columns[name] = value if name in members else TABLE[name]
    frame = pd.DataFrame(columns)
    assert list(frame.dtypes) == list(TABLE.dtypes)
    return frame


def shapley(predict, row):
    """Ordinary Shapley values of one row from the definition, over all orders."""
    names = list(TABLE)

    def nu(members):
        return [float(np.mean(predict(mixed(row, {names[i] for i in members}))))]

    return over_orders(nu, list(itertools.permutations(range(5))))[:, 0]


@pytest.fixture(scope="module", params=["XGBoost", "LightGBM"])
def model(request):
    if request.param == "XGBoost":
        return XGBRegressor(n_estimators=8, max_depth=4, enable_categorical=True, n_jobs=1).fit(TABLE, TARGET)
    options = {"n_estimators": 8, "min_child_samples": 2, "min_data_per_group": 2, "cat_smooth": 1.0, "n_jobs": 1}
    return LGBMRegressor(verbose=-1, **options).fit(TABLE, TARGET)


def test_boosting_libraries_take_the_table(model):
    expected = np.array([shapley(model.predict, row) for row in range(len(ROWS))])
    assert (np.abs(expected).max(axis=0) > 1e-3).sum() >= 3  # several columns matter
    explanation = AsymmetricExplainer(model, TABLE)(ROWS)
    np.testing.assert_allclose(explanation.values, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1), model.predict(ROWS), rtol=0, atol=1e-5
    )


def test_a_masker_of_the_table_that_was_saved(model):
    explainer = AsymmetricExplainer(model, TABLE, seed=0)
    stream = io.BytesIO()
    explainer.save(stream)
    for load in (AsymmetricExplainer.load, shap.Explainer.load):
        stream.seek(0)
        np.testing.assert_array_equal(load(stream)(ROWS).values, explainer(ROWS).values)


class Watching:
    """A model that notes what it is called with."""

    def __init__(self):
        self.seen = []

    def __call__(self, table):
        self.seen.append(table.copy())
        return table["size"].to_numpy() + 10.0 * table["rooms"].to_numpy()


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        ROWS[["town", "floor", "garden", "rooms", "size"]],
        ROWS.astype(object),
        ROWS.to_numpy(dtype=object),
        ROWS.to_dict("records"),
        ROWS.iloc[0],
        ROWS.iloc[0].to_dict(),
        list(ROWS.iloc[0]),
    ],
    ids=["frame", "other order", "objects", "array", "dicts", "Series", "dict", "list"],
)
def test_types_do_not_depend_on_how_rows_come(rows):
    model = Watching()
    explainer = AsymmetricExplainer(model, TABLE)
    explainer(rows)
    for table in model.seen:
        assert dict(table.dtypes) == dict(TABLE.dtypes)
        assert list(table["town"].cat.categories) == ["Bonn", "Oslo", "Rome", "Ulm"]
    last = pd.concat(model.seen).astype(object)
    assert any((last == ROWS.astype(object).iloc[0]).all(axis=1)), "the row itself was never asked about"


def test_a_number_between_integers_is_not_cut_off():
    explanation = AsymmetricExplainer(Watching(), TABLE)(ROWS.assign(rooms=[2.5, 2.25, 3.0]))
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, ROWS["size"] + [25.0, 22.5, 30.0], rtol=0, atol=1e-9)


def test_gaps_reach_the_model():
    model = Watching()
    gaps = ROWS.copy()
    gaps.loc[1, ["town", "floor"]] = None
    assert dict(gaps.dtypes) == dict(TABLE.dtypes)
    AsymmetricExplainer(model, TABLE)(gaps[1:2])
    for table in model.seen:
        assert dict(table.dtypes) == dict(TABLE.dtypes)
    assert any(table[["town", "floor"]].isna().all(axis=1).any() for table in model.seen)


def test_a_gap_among_bools_is_not_true():
    def model(table):
        return np.array([0.5 if pd.isna(value) else float(value) for value in table["garden"]])

    gaps = ROWS.astype({"garden": object}).assign(garden=[True, None, False])
    explanation = AsymmetricExplainer(model, TABLE)(gaps)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, [1.0, 0.5, 0.0], rtol=0, atol=1e-12)


def test_a_category_that_was_never_there_is_an_error():
    explainer = AsymmetricExplainer(Watching(), TABLE)
    with pytest.raises(RowsError, match="row 1: 'Paris' is not a category of 'town'; the background has 'Bonn'"):
        explainer(ROWS.astype({"town": object}).assign(town=["Rome", "Paris", "Oslo"]))
    explainer(ROWS.assign(town=pd.Categorical(["Ulm"] * 3)))  # a category without a background row is one


DAYS = pd.Series(pd.date_range("2024-01-25", periods=len(TABLE)))
BACKGROUNDS = {
    "rows": lambda table: AsymmetricExplainer(Watching(), table),
    "a table with a graph": lambda table: AsymmetricExplainer(Watching(), table, [("size", "town")], silent=True),
    "donors": ConditionalTable,
    "network": lambda table: fit_network(table, [("size", "town")]),
    "structural": lambda table: StructuralModel.fit(table, [("size", "town")], "own distribution", seed=0, silent=True),
}


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize(
    ("since", "way_out"),
    [
        (DAYS, r"table\['since'\]\.dt\.month or the days since"),
        (DAYS - DAYS[0], r"table\['since'\]\.dt\.month"),
        (DAYS.dt.date, r"\(date\).*\.dt\.month"),
        (
            DAYS.dt.strftime("%Y-%m-%d"),
            r"texts such as '2024-01-25'.*pandas.to_datetime\(table\['since'\]\)\.dt\.month",
        ),
        (DAYS.dt.strftime("%d.%m.%Y %H:%M").astype(object), r"texts such as '25.01.2024 00:00'.*pandas.to_datetime"),
    ],
    ids=["dates", "times", "objects", "texts", "texts with times of day"],
)
def test_dates_are_refused_by_every_background(background, since, way_out):
    """Texts became a category with as many values as rows, without a word."""
    with pytest.raises(TableError, match="column 'since' holds datetimes.*" + way_out):
        BACKGROUNDS[background](TABLE.assign(since=since.to_numpy()))


@pytest.mark.parametrize("texts", [["2024-01-25", "2024-07-25"], ["v1", "2024-01-25"]], ids=["few", "not all"])
def test_texts_that_may_be_categories_stay_what_they_are(texts):
    table = pd.concat([TABLE] * 5, ignore_index=True)
    table["since"] = np.resize(texts, len(table))
    assert "since" in AsymmetricExplainer(Watching(), table)(table[:2]).feature_names
    assert ConditionalTable(table).codec.columns[-1].categories == tuple(sorted(texts))


def test_a_series_over_a_matrix_is_numbers():
    """Its values reached the model as objects, on which numpy's functions raise."""
    matrix = np.random.default_rng(0).normal(size=(20, 3))

    def model(X):
        return np.exp(np.asarray(X)).sum(axis=1)

    for background in (matrix, pd.DataFrame(matrix, columns=list("abc"))):
        explainer = AsymmetricExplainer(model, background)
        expected = explainer([[1.0, 2.0, 3.0]]).values[0]
        for row in (
            pd.Series([1.0, 2.0, 3.0], index=list("abc")),
            pd.Series([1, 2.0, 3], index=list("abc"), dtype=object),
        ):
            np.testing.assert_allclose(explainer.shap_values(row), expected, rtol=0, atol=1e-12)
