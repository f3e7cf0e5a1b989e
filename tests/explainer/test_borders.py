"""Where users' models and tables come in: what is explained is what the model answers to rows as they were given."""

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import shap
import xgboost
from sklearn.ensemble import IsolationForest, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from shap_asv import AsymmetricExplainer, ConditionalTable, CopulaModel, GaussianModel, StructuralModel, fit_network
from shap_asv.errors import ModelError, RowsError, ShapAsvWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(1)
Y = X[:, 0] * X[:, 1] + X[:, 2]
HOLES = np.where(RNG.random(X.shape) < 0.3, -1.0, X)  # a number that may stand for missing
ZEROS = np.where(RNG.random(X.shape) < 0.5, 0.0, X)
NAMES = list("abcd")
XGB = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
LGB = {"n_estimators": 8, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}


def adds_up(explanation, expected, precision=1e-5):
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, expected, rtol=0, atol=precision)


def gaps():
    """Integers, some of them categories, some of those missing."""
    column = pd.Categorical([1, 2, None, 4, 2, 1] * 20)
    return pd.DataFrame({"i": np.arange(120) % 7, "c": column, "k": np.arange(120) % 3})


# model, the rows it was fitted on and is explained on, the background
SEEN = {
    "a number that is missing": lambda: (xgboost.XGBRegressor(missing=-1.0, **XGB).fit(HOLES, Y), HOLES),
    "sparse rows, absent is missing": lambda: (
        xgboost.XGBRegressor(**XGB).fit(sp.csr_matrix(ZEROS), Y),
        sp.csr_matrix(ZEROS),
    ),
    "sparse rows, absent is zero": lambda: (
        lightgbm.LGBMRegressor(**LGB).fit(sp.csr_matrix(ZEROS), Y),
        sp.csr_matrix(ZEROS),
    ),
    "sparse rows, zero is missing": lambda: (
        lightgbm.LGBMRegressor(zero_as_missing=True, **LGB).fit(sp.csr_matrix(ZEROS), Y),
        sp.coo_matrix(ZEROS),
    ),
    "sparse rows of a forest": lambda: (
        RandomForestRegressor(4, max_depth=4, random_state=0).fit(sp.csr_matrix(ZEROS), Y),
        sp.csc_array(ZEROS),
    ),
    "gaps in integer categories": lambda: (
        lightgbm.LGBMRegressor(min_data_per_group=3, **LGB).fit(gaps(), np.arange(120.0) % 11),
        gaps(),
    ),
}


@pytest.mark.parametrize("background", ["covers", "rows"])
@pytest.mark.parametrize("case", SEEN)
def test_rows_are_what_the_model_takes_them_for(case, background):
    model, rows = SEEN[case]()
    dense = rows.toarray() if sp.issparse(rows) else rows
    explainer = AsymmetricExplainer(model, None if background == "covers" else dense[100:])
    assert explainer._known_execution().problem.predictor.trees is not None
    some = rows.tocsr()[:30] if sp.issparse(rows) else rows[:30]
    adds_up(explainer(some), model.predict(some))


def test_a_reader_is_compared_with_the_rows_of_every_call():
    """The model was changed after it was read: nobody but the rows themselves can tell."""
    model = LinearRegression().fit(X, Y)
    explainer = AsymmetricExplainer(model, GaussianModel(X.mean(axis=0), np.cov(X.T)))
    explainer(X[:3])
    model.coef_ = model.coef_ + 1.0
    with pytest.raises(ModelError, match=r"LinearRegression.predict answers row \d, as it was handed over"):
        explainer(X[:3])


def test_a_black_box_that_takes_absent_entries_otherwise_is_refused():
    inner = xgboost.XGBRegressor(**XGB).fit(sp.csr_matrix(ZEROS), Y)
    explainer = AsymmetricExplainer(lambda rows: inner.predict(rows), ZEROS[:20])
    explainer(ZEROS[:3])
    with pytest.raises(ModelError, match=r"as it was handed over \(in a csr_matrix\)"):
        explainer(sp.csr_matrix(ZEROS[:3]))


def test_a_booster_that_stopped_early_ends_with_its_best_round():
    noise = RNG.normal(size=300)
    train, test = xgboost.DMatrix(X[:200], noise[:200]), xgboost.DMatrix(X[200:], noise[200:])
    settings = {"max_depth": 6, "eta": 0.5, "nthread": 1}
    booster = xgboost.train(settings, train, 60, evals=[(test, "test")], early_stopping_rounds=20, verbose_eval=False)
    best = booster.best_iteration + 1
    assert best < booster.num_boosted_rounds()
    for background in (None, X[:20]):
        with pytest.warns(ShapAsvWarning, match=f"its best {best} of {booster.num_boosted_rounds()} rounds"):
            explainer = AsymmetricExplainer(booster, background)
        adds_up(explainer(X[:9]), booster.predict(xgboost.DMatrix(X[:9]), iteration_range=(0, best)))
        theirs = shap.TreeExplainer(booster, background)(X[:9])
        np.testing.assert_allclose(explainer(X[:9]).values, theirs.values, rtol=0, atol=1e-5)
    adds_up(AsymmetricExplainer(booster[:])(X[:9]), booster.predict(xgboost.DMatrix(X[:9])))


def test_a_random_forest_of_lightgbm_is_its_raw_score_whoever_holds_it():
    model = lightgbm.LGBMRegressor(boosting_type="rf", subsample=0.7, subsample_freq=1, **LGB).fit(X, Y)
    theirs = shap.TreeExplainer(model)(X[:5])
    for held in (model, model.booster_):
        with pytest.warns(ShapAsvWarning, match="is the sum of its trees"):
            explainer = AsymmetricExplainer(held)
        np.testing.assert_allclose(explainer(X[:5]).values, theirs.values, rtol=0, atol=1e-9)
    adds_up(AsymmetricExplainer(model.predict)(X[:5]), model.predict(X[:5]))


def test_an_isolation_forest_is_its_path_lengths():
    for settings in ({}, {"max_features": 0.5, "max_samples": 64, "contamination": 0.2}):
        model = IsolationForest(n_estimators=9, random_state=0, **settings).fit(X)
        for background in (None, X[:20]):
            theirs = shap.TreeExplainer(model, background)(X[:6], check_additivity=False)
            ours = AsymmetricExplainer(model, background)(X[:6])
            np.testing.assert_allclose(ours.values, theirs.values.reshape(ours.shape), rtol=0, atol=1e-5)
        lengths = AsymmetricExplainer(make_pipeline(model), GaussianModel(X.mean(axis=0), np.cov(X.T)), seed=0)(X[:2])
        covers = AsymmetricExplainer(model)(X[:2])
        adds_up(lengths, covers.base_values + covers.values.sum(axis=1))


def polars(columns=NAMES):
    return pl.DataFrame({name: X[:, NAMES.index(name)] for name in columns})


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_frames_of_any_library_are_read_by_name(kind):
    frame = pd.DataFrame(X, columns=NAMES)
    turned = {order: polars(order) if kind == "polars" else polars(order).to_arrow() for order in ("abcd", "dbca")}
    forest = RandomForestRegressor(4, max_depth=4, random_state=0).fit(frame, Y)
    backgrounds = {
        "covers": (None, None),
        "rows": (frame[100:150], turned["abcd"][100:150]),
        "Gaussian": (GaussianModel.fit(frame), GaussianModel.fit(turned["dbca"])),
        "donors": (ConditionalTable(frame), ConditionalTable(turned["dbca"])),
    }
    for name, (mine, theirs) in backgrounds.items():
        expected = AsymmetricExplainer(forest, mine, seed=0)(frame[:5])
        found = AsymmetricExplainer(forest, theirs, seed=0)(turned["dbca"][:5])
        assert found.feature_names == expected.feature_names, name
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_beside_the_rows_are_frames_of_any_library(kind):
    frame = pd.DataFrame(X, columns=NAMES)
    table = {"pandas": frame, "polars": polars(), "pyarrow": polars().to_arrow()}[kind]
    explainer = AsymmetricExplainer(
        lambda rows: rows["a"] * rows["b"],
        frame,
        [("a", "b"), ("c", "d")],
        values="conditional",
        seed=0,
        silent=True,
        n_draws=16,
    )
    replicas = [explainer.bootstrap(frame[:2], n=2, data=data, silent=True).replicas for data in (frame, table)]
    np.testing.assert_array_equal(*replicas)
    functions = {name: lambda causes, noise: noise for name in NAMES}
    assert StructuralModel([("a", "b"), ("c", "d")], functions, like=table).nodes == tuple(NAMES)


GAPS = {
    "Gaussian": GaussianModel.fit,
    "copula": CopulaModel,
    "donors": ConditionalTable,
    "structural": lambda table: StructuralModel.fit(table, [("a", "b"), ("c", "d")], "linear", 0, silent=True),
    "network": lambda table: fit_network(table, [("a", "b"), ("c", "d")]),
}


@pytest.mark.parametrize("background", GAPS)
def test_a_gap_where_the_table_had_none_is_refused_by_every_background(background):
    frame = pd.DataFrame(X.round(), columns=NAMES)
    causes = [("a", "b"), ("c", "d")] if background in ("structural", "network") else None
    explainer = AsymmetricExplainer(
        lambda rows: np.zeros(len(rows)), GAPS[background](frame), causes, seed=0, n_draws=8
    )
    rows = frame[:3].copy()
    rows.loc[1, "c"] = np.nan
    with pytest.raises(RowsError, match="row 1") as raised:
        explainer(rows)
    assert "'c'" in str(raised.value)
    assert "fill it in" in str(raised.value)


def test_a_polars_column_of_any_type_is_what_pandas_makes_of_it():
    table = pl.DataFrame(
        {
            "n": [1, 2, None],
            "f": [0.5, None, 2.0],
            "b": [True, None, False],
            "t": ["u", None, "v"],
            "c": pl.Series(["y", "x", None], dtype=pl.Enum(["y", "x"])),
        }
    )
    background = ConditionalTable(table)
    assert background.read(table).tolist()[0] == [1.0, 0.5, 1.0, 0.0, 0.0]
    shown = background.inputs(background.read(table))
    assert shown.isna().to_numpy().sum() == 5
    assert shown["c"].cat.categories.tolist() == ["y", "x"]
