"""Models that shap's private loader is known to read wrong, or that look readable and are not.

Each of them must end exact, or as a black box with a reason: never as a wrong sum.
"""

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

from shap_asv.models.predictor import read_model
from tests.models.examples import (
    CAT,
    CATEGORIES,
    FOUR,
    LGB,
    MATRIX,
    NUMBERS,
    PAIR,
    RATE,
    TEXT,
    TWO,
    VECTORS_HAVE_COVERS,
    XGB,
    Y,
)
from tests.models.problems import FEATURES, all_rows, frame

# XGBoost >= 3.4 says that dart and gblinear will go
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated")

ORDINAL = list(FEATURES[1:3])


def booster():
    return lightgbm.train(
        {"objective": "multiclass", "num_class": 4, "verbose": -1, "min_data_in_leaf": 3, "num_threads": 1},
        lightgbm.Dataset(MATRIX, FOUR),
        num_boost_round=5,
    )


# name -> (make, states, model_output, is the full registry exact?)
CASES = {
    "HistGB categorical": (
        lambda: HistGradientBoostingRegressor(max_iter=6, categorical_features=ORDINAL).fit(MATRIX, Y),
        NUMBERS,
        "auto",
        True,
    ),
    "XGBoost enable_categorical": (
        lambda: xgboost.XGBRegressor(enable_categorical=True, **XGB).fit(CATEGORIES, Y),
        TEXT,
        "auto",
        True,
    ),
    "XGBoost multiclass": (lambda: xgboost.XGBClassifier(**XGB).fit(MATRIX, FOUR), NUMBERS, "raw", True),
    "XGBoost dart": (
        lambda: xgboost.XGBRegressor(booster="dart", rate_drop=0.9, **XGB).fit(MATRIX, Y),
        NUMBERS,
        "auto",
        True,
    ),
    "XGBRF": (lambda: xgboost.XGBRFRegressor(**XGB).fit(MATRIX, Y), NUMBERS, "auto", True),
    "XGBoost leaf vectors": (
        lambda: xgboost.XGBRegressor(multi_strategy="multi_output_tree", **XGB).fit(MATRIX, PAIR),
        NUMBERS,
        "auto",
        VECTORS_HAVE_COVERS,
    ),
    "LightGBM categorical": (
        lambda: lightgbm.LGBMRegressor(min_data_per_group=3, cat_smooth=0.1, **LGB).fit(CATEGORIES, Y),
        TEXT,
        "auto",
        True,
    ),
    "LightGBM categorical_feature": (
        lambda: lightgbm.LGBMRegressor(min_data_per_group=3, cat_smooth=0.1, **LGB).fit(
            MATRIX.to_numpy().astype(int), Y, categorical_feature=[1, 2]
        ),
        NUMBERS,
        "auto",
        True,
    ),
    "LightGBM rf": (lambda: lightgbm.LGBMRegressor(**RATE, **LGB).fit(MATRIX, Y), NUMBERS, "auto", True),
    "LightGBM linear trees": (
        lambda: lightgbm.LGBMRegressor(linear_tree=True, **LGB).fit(MATRIX, Y),
        NUMBERS,
        "auto",
        False,
    ),
    "lgb.Booster multiclass": (booster, NUMBERS, "raw", True),
    "CatBoost multiclass": (lambda: catboost.CatBoostClassifier(**CAT).fit(MATRIX, FOUR), NUMBERS, "raw", True),
    "CatBoostRegressor": (lambda: catboost.CatBoostRegressor(**CAT).fit(MATRIX, Y), NUMBERS, "auto", True),
    "CatBoost categorical": (
        lambda: catboost.CatBoostRegressor(cat_features=list(FEATURES), **CAT).fit(CATEGORIES.astype(str), Y),
        TEXT,
        "auto",
        False,
    ),
}


def read(case):
    make, states, model_output, _ = CASES[case]
    return read_model(make(), FEATURES, states, model_output=model_output)


def is_exact(predictor):
    codes = all_rows(NUMBERS)
    expected = predictor.predict(codes)
    return np.allclose(predictor.products.evaluate(codes), expected, rtol=0, atol=5e-6 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("case", CASES)
def test_the_registry_reads_it_or_says_why_not(case):
    predictor = read(case)
    if CASES[case][3]:
        assert predictor.kind == "tree"
        assert predictor.reason == ""
        assert is_exact(predictor)
    else:
        assert predictor.products is None
        known = ("linear_tree", "splits on categories", "vectors in its leaves")
        assert any(words in predictor.reason for words in known)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (xgboost.XGBClassifier(**XGB).fit(MATRIX, TWO), "the probabilities of XGBClassifier are not a sum over trees"),
        (lightgbm.LGBMClassifier(**LGB).fit(MATRIX, TWO), "probabilities of LGBMClassifier are not a sum over trees"),
        (LogisticRegression().fit(MATRIX, TWO), "probabilities of LogisticRegression are not a sum over features"),
        (PoissonRegressor().fit(MATRIX, np.abs(Y)), "differs from its own output"),
        (HistGradientBoostingRegressor(loss="gamma", max_iter=3).fit(MATRIX, np.exp(Y)), "differs from its own output"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)
def test_what_a_link_hides_is_hinted_at(model, words):
    predictor = read_model(model, FEATURES, NUMBERS)
    assert predictor.products is None
    assert words in predictor.reason
    assert "model_output='raw'" in predictor.reason
    raw = read_model(model, FEATURES, NUMBERS, model_output="raw")
    assert raw.products is not None
    assert is_exact(raw)


def test_boosting_that_starts_from_another_model_is_no_sum_of_trees():
    model = GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(MATRIX, Y)
    predictor = read_model(model, FEATURES, NUMBERS)
    assert predictor.products is None
    assert "differs from its own output" in predictor.reason


def test_early_stopping_uses_the_best_iteration():
    noise = np.random.default_rng(0).normal(size=len(Y))
    train, test = (MATRIX[:200], noise[:200]), (MATRIX[200:], noise[200:])
    settings = {"n_estimators": 60, "max_depth": 6, "learning_rate": 0.5, "n_jobs": 1}
    xgb = xgboost.XGBRegressor(early_stopping_rounds=40, **settings).fit(*train, eval_set=[test], verbose=False)
    assert xgb.best_iteration + 1 < xgb.get_booster().num_boosted_rounds()
    lgb = lightgbm.LGBMRegressor(min_child_samples=2, verbose=-1, **settings)
    lgb.fit(*train, eval_set=[test], callbacks=[lightgbm.early_stopping(40, verbose=False)])
    assert lgb.best_iteration_ < 60
    for model in (xgb, lgb):
        predictor = read_model(model, FEATURES, NUMBERS)
        assert predictor.kind == "tree"
        assert is_exact(predictor)


def test_boosters_without_their_sklearn_dress():
    data = xgboost.DMatrix(MATRIX, Y)
    model = xgboost.train({"max_depth": 3, "nthread": 1}, data, num_boost_round=5)
    predictor = read_model(model, FEATURES, NUMBERS)
    assert predictor.kind == "tree"
    assert is_exact(predictor)
    codes = all_rows(NUMBERS)
    own = model.predict(xgboost.DMatrix(frame(codes, NUMBERS).astype(float)))
    np.testing.assert_allclose(predictor.predict(codes)[:, 0], own, rtol=0, atol=1e-6)
    raw = read_model(booster(), FEATURES, NUMBERS, model_output="raw")
    assert (raw.kind, raw.n_outputs) == ("tree", 4)
