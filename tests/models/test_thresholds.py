"""States that are awkward numbers: on a threshold, equal only in float32, NaN."""

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from shap_asv.models.predictor import read_model
from tests.models.examples import CAT, LGB
from tests.models.problems import all_rows, target, training_codes, values_matrix

FEATURES = ("fractions", "thirds", "large", "holes")
NAN = float("nan")
STATES = (
    (0.1, 0.2, 0.3, 0.7),
    (1e-3, 1 / 3, 2 / 3),
    (16777216.0, 16777217.0, 16777219.0, 16777218.0),  # pairs that float32 cannot tell apart
    (NAN, -1.0, 0.0, 0.05),
)
CODES = training_codes(STATES, 1500)
X, Y = values_matrix(CODES, STATES), target(CODES)

MODELS = {
    "tree": DecisionTreeRegressor(random_state=0),
    "forest": RandomForestRegressor(5, random_state=0),
    "histogram boosting": HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=2),
    "XGBoost": xgboost.XGBRegressor(n_estimators=15, n_jobs=1),
    "XGBoost exact": xgboost.XGBRegressor(n_estimators=15, tree_method="exact", n_jobs=1),
    "LightGBM": lightgbm.LGBMRegressor(**{**LGB, "n_estimators": 15}),
    "LightGBM zero as missing": lightgbm.LGBMRegressor(zero_as_missing=True, **LGB),
    "CatBoost": catboost.CatBoostRegressor(**CAT),
    "CatBoost, NaN largest": catboost.CatBoostRegressor(nan_mode="Max", **CAT),
}


NO_GAPS = {"extra trees": ExtraTreesRegressor(5, random_state=0), "boosting": GradientBoostingRegressor(n_estimators=9)}
SEEN = ~np.isnan(X).any(axis=1)
#: (model, the rows it is fitted to, the columns it takes)
CASES = {
    **{name: (model, slice(None), 4) for name, model in MODELS.items()},
    **{
        f"{name}, fitted without NaN": (MODELS[name], SEEN, 4)
        for name in ("tree", "forest", "histogram boosting", "XGBoost", "LightGBM")
    },
    **{name: (model, slice(None), 3) for name, model in NO_GAPS.items()},
}


@pytest.mark.parametrize("case", CASES)
def test_awkward_numbers(case):
    model, rows, n = CASES[case]
    model.fit(X[rows, :n], Y[rows])
    predictor = read_model(model, FEATURES[:n], STATES[:n])
    assert predictor.kind == "tree", predictor.reason
    codes = all_rows(STATES[:n])
    expected = model.predict(values_matrix(codes, STATES[:n]))
    np.testing.assert_allclose(predictor.predict(codes)[:, 0], expected, rtol=0, atol=1e-12)
    tolerance = 3e-6 if "XGBoost" in case else 1e-9
    np.testing.assert_allclose(predictor.products.evaluate(codes)[:, 0], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", ["tree", "histogram boosting", "XGBoost", "LightGBM", "CatBoost"])
def test_states_that_sit_exactly_on_the_thresholds(name):
    """The states explained are the thresholds themselves, not the values the model was trained on."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 10, size=(300, 2)) / 10
    y = np.sin(7 * x[:, 0]) + (x[:, 1] > 0.45) * x[:, 0]
    model = MODELS[name].fit(x, y)
    cuts = tuple(sorted({float(c) for c in (np.arange(20) / 20)} | {float(np.float32(c)) for c in np.arange(10) / 10}))
    if name == "tree":
        cuts = tuple(sorted(set(model.tree_.threshold[model.tree_.feature >= 0].tolist())))
    states = (cuts, cuts)
    predictor = read_model(model, ("a", "b"), states)
    assert predictor.kind == "tree"
    codes = all_rows(states)
    np.testing.assert_allclose(
        predictor.products.evaluate(codes)[:, 0], model.predict(values_matrix(codes, states)), rtol=0, atol=3e-6
    )


def test_nan_from_an_encoder_takes_the_default_route():
    states = (("none", "small", "large"), ("a", "b"))
    mapping = {"size": {"none": None, "small": 1, "large": 2}, "kind": {"a": 0, "b": 1}}
    codes = training_codes(states, 300)
    table = np.array([NAN, 1.0, 2.0])
    x = np.stack([table[codes[:, 0]], codes[:, 1]], axis=1)
    model = RandomForestRegressor(5, random_state=0).fit(x, target(codes))
    predictor = read_model(model, ("size", "kind"), states, encoder=mapping)
    assert predictor.kind == "tree"
    rows = all_rows(states)
    expected = model.predict(np.stack([table[rows[:, 0]], rows[:, 1]], axis=1))
    np.testing.assert_allclose(predictor.products.evaluate(rows)[:, 0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("zero_goes_with", [-2.0, 2.0])
def test_zero_as_missing_value_of_lightgbm(zero_goes_with):
    """Zero takes the default route, against the order of the numbers, when it behaves like the far side of a split."""
    states = ((-2.0, -1.0, 0.0, 1.0, 2.0),)
    x = np.repeat(np.array(states[0]), 40)[:, None]
    y = ((x[:, 0] == 0) | (x[:, 0] == zero_goes_with)) * 1.0
    model = lightgbm.LGBMRegressor(zero_as_missing=True, n_estimators=1, num_leaves=2, verbose=-1, num_threads=1)
    predictor = read_model(model.fit(x, y), ("x",), states)
    assert predictor.kind == "tree"
    np.testing.assert_allclose(
        predictor.products.evaluate(np.arange(5)[:, None])[:, 0], model.predict(np.array(states).T.copy()), atol=1e-12
    )
    near = states[0].index(zero_goes_with)
    assert predictor.predict(np.array([[2]])) == predictor.predict(np.array([[near]]))
