"""Trees over features: columns are found by name, whatever order features come in."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shap_asv.errors import ModelError, RowsError
from shap_asv.models.predictor import predictor_of_trees
from shap_asv.models.readers import explained_call
from shap_asv.models.trees.form import made_of_trees, place_trees, read_ensemble


def read_trees(model, features, inputs=None):
    return place_trees(read_ensemble(model), explained_call(model, "auto"), features, inputs)


@pytest.fixture(scope="module")
def fitted():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=["a", "b", "c"])
    return RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, X["a"] + 2 * X["b"] * X["c"]), X


def test_columns_are_found_by_name_and_others_are_never_asked(fitted):
    model, X = fitted
    trees = read_trees(model, ["note", "c", "a", "b"], lambda rows: pd.DataFrame(rows))
    rows = X.assign(note="text")[["note", "c", "a", "b"]].to_numpy(dtype=object)
    numbers = trees.numbers(rows)
    np.testing.assert_array_equal(numbers[:, [2, 3, 1]], X.to_numpy())
    np.testing.assert_allclose(trees.ensemble.predict(numbers)[:, 0], model.predict(X), rtol=0, atol=1e-12)
    assert 0 not in trees.ensemble.column[trees.ensemble.left >= 0]
    pd.testing.assert_frame_equal(trees.decode(numbers), X)
    alone = predictor_of_trees(read_trees(model, list("cab")), X.to_numpy()[:2], None)
    np.testing.assert_allclose(alone.predict(X[["c", "a", "b"]].to_numpy())[:, 0], model.predict(X))


def test_features_that_are_not_the_columns(fitted):
    model, _ = fitted
    with pytest.raises(ModelError, match="the rows lack the column 'b' that RandomForestRegressor was fitted on"):
        read_trees(model, ["a", "c", "d"])
    with pytest.raises(ModelError, match="fitted on 3 columns, but the rows have 2"):
        read_trees(model, ["x", "y"])
    assert read_trees(model, ["x", "y", "z"]).place.tolist() == [0, 1, 2]


def test_a_model_that_takes_no_missing_values(fitted):
    _, X = fitted
    trees = read_trees(GradientBoostingRegressor(n_estimators=2).fit(X, X["a"]), ["c", "b", "a"])
    with pytest.raises(RowsError, match="no value for 'b', and GradientBoostingRegressor does not take missing"):
        trees.numbers(np.array([[0.0, np.nan, 0.0]]))


def test_which_models_are_made_of_trees(fitted):
    model, X = fitted
    assert made_of_trees(model)
    assert made_of_trees(model.predict)
    assert made_of_trees(make_pipeline(model))
    assert not made_of_trees(make_pipeline(StandardScaler(), model))
    assert not made_of_trees(LinearRegression().fit(X, X["a"]))
    assert not made_of_trees(lambda rows: rows)
