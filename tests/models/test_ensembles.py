"""Parsed ensembles over rows of numbers: what is read is the model, or there is a sentence why not."""

import dataclasses

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import explained_call
from shap_asv.models.trees.form import probe_numbers, read_ensemble, verify_ensemble
from tests.models.examples import LGB, MATRIX, XGB, Y

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
TARGET = np.nan_to_num(HOLES[:, 0]) * 2 + np.isnan(HOLES[:, 1]) + np.nan_to_num(HOLES[:, 2] * HOLES[:, 3])


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10),
        xgboost.XGBRegressor(**XGB),
        lightgbm.LGBMRegressor(**LGB),
        lightgbm.LGBMRegressor(zero_as_missing=True, **LGB),
        lightgbm.LGBMRegressor(use_missing=False, **LGB),
    ],
    ids=lambda model: f"{type(model).__name__}{'-zero' * bool(getattr(model, 'zero_as_missing', False))}",
)
def test_missing_numbers_and_zeros(model):
    y = TARGET > 1 if "Classifier" in type(model).__name__ else TARGET
    rows = HOLES.copy()
    rows[::5, 0] = 0.0
    rows[1::5, 2] = -1e-36
    model.fit(rows, y)
    ensemble = read_ensemble(model)
    call = explained_call(model, "auto")
    np.testing.assert_allclose(ensemble.predict(rows), call(rows), rtol=0, atol=3e-6)


@pytest.mark.parametrize(
    ("model", "words", "output"),
    [
        (LinearRegression().fit(X, TARGET), "LinearRegression is not a tree ensemble", "auto"),
        (GradientBoostingClassifier(n_estimators=2).fit(X, TARGET > 1), "not a sum over trees", "probability"),
        (GradientBoostingClassifier(n_estimators=2).fit(X, TARGET > 1).predict_proba, "not a sum over trees", "auto"),
        (RandomForestClassifier(3).fit(X, TARGET > 1).predict, "answers with a class", "auto"),
        (make_pipeline(PCA(), RandomForestRegressor(2)).fit(X, TARGET), "depends on more than one feature", "auto"),
        (lambda rows: rows[:, 0], "cannot be looked into", "auto"),
        (lightgbm.LGBMRegressor(linear_tree=True, **LGB).fit(X, TARGET), "linear_tree", "auto"),
        (
            GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(X, TARGET),
            "differs from its own output",
            "auto",
        ),
    ],
    ids=[
        "linear",
        "probability",
        "bound probability",
        "classes",
        "pipeline",
        "callable",
        "linear leaves",
        "another model inside",
    ],
)
def test_a_sentence_says_why_not(model, words, output):
    with pytest.raises(NotSumOfProducts, match=words):
        read_ensemble(model, output)


def test_verification_notices_every_single_leaf():
    model = RandomForestRegressor(3, max_leaf_nodes=20, random_state=0).fit(X, TARGET)
    ensemble = read_ensemble(model)
    call = explained_call(model, "auto")
    for leaf in np.flatnonzero(ensemble.left < 0):
        values = ensemble.values.copy()
        values[leaf] += 1e-4
        with pytest.raises(NotSumOfProducts, match="differs from its own output"):
            verify_ensemble(dataclasses.replace(ensemble, values=values), call, 1e-10)


def test_probes_reach_leaves_and_sit_on_thresholds():
    model = xgboost.XGBRegressor(**XGB).fit(MATRIX, Y)
    ensemble = read_ensemble(model)
    rows = probe_numbers(ensemble, np.random.default_rng(0))
    reached = np.unique(ensemble.leaves_of(rows))
    # splits may contradict each other, but most leaves are met
    assert len(reached) > 0.9 * ensemble.n_leaves
    inner = ensemble.left >= 0
    assert all(np.isin(t, rows[:, j]) for j, t in zip(ensemble.column[inner], ensemble.threshold[inner], strict=True))


def test_labels_of_a_column_with_one_category():
    """LightGBM drops such a column from its notes, and stores its list of categories all the same."""
    rows = pd.DataFrame({"a": X[:, 0], "z": pd.Categorical(["one"] * len(X)), "b": pd.Categorical(X[:, 1] > 0)})
    rows["b"] = rows["b"].cat.rename_categories(["no", "yes"])
    model = lightgbm.LGBMRegressor(**LGB).fit(rows, X[:, 0] + (X[:, 1] > 0))
    ensemble = read_ensemble(model)
    assert ensemble.labels == (None, ("one",), ("no", "yes"))
    np.testing.assert_allclose(ensemble.predict(ensemble.rows(rows))[:, 0], model.predict(rows), atol=1e-12)
