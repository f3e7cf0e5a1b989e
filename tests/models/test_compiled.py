"""Trees that answer to rows of codes in compiled code: as the model itself, called with the user's own table."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

from shap_asv import AsymmetricExplainer
from tests.independent import IndependentColumns

RNG = np.random.default_rng(0)
N = 400
NUMBERS = pd.DataFrame(
    {"x": RNG.normal(size=N), "whole": RNG.integers(0, 30, N), "single": RNG.normal(size=N).astype(np.float32)}
)
GAPS = NUMBERS.assign(x=NUMBERS["x"].where(RNG.random(N) < 0.8))
TABLE = GAPS.assign(
    town=pd.Categorical([f"town {k}" for k in RNG.integers(0, 150, N)]),  # more codes than a word has bits
    colour=pd.Categorical(RNG.choice(["red", "green", None], N)),
    flag=RNG.random(N) < 0.5,
)
SIGNAL = (
    NUMBERS["x"] * (TABLE["colour"] == "red") + TABLE["town"].cat.codes % 7 + NUMBERS["single"] + NUMBERS["whole"] / 9
).to_numpy()
TWO, THREE = (np.median(SIGNAL) < SIGNAL).astype(int), np.digitize(SIGNAL, [2.0, 5.0])
XGB = {"n_estimators": 15, "max_depth": 5, "n_jobs": 1, "enable_categorical": True}
LGB = {"n_estimators": 15, "min_child_samples": 2, "min_data_per_group": 1, "verbose": -1, "n_jobs": 1}
HIST = {"max_iter": 15, "categorical_features": "from_dtype", "early_stopping": False}
FEW = TABLE.assign(town=TABLE["town"].cat.codes % 40)
# for XGBoost the zeros of a sparse matrix are missing, between numbers that are not
SPARSE = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["colour", "flag"]), remainder="passthrough", sparse_threshold=1.0),
    xgboost.XGBRegressor(**XGB),
)
CODED = ["town", "colour", "flag"]


def steps(encoder, model, target):
    """Gaps are filled, numbers scaled; what a scaled threshold is in the table hangs on the last bit."""
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((encoder, CODED), (scaled, ["x", "whole", "single"]))
    return make_pipeline(columns, model).fit(TABLE, target)


CASES = {
    "XGBoost": lambda: (xgboost.XGBRegressor(**XGB).fit(TABLE, SIGNAL), TABLE, "auto"),
    "XGBoost two classes": lambda: (xgboost.XGBClassifier(**XGB).fit(TABLE, TWO), TABLE, "auto"),
    "XGBoost margin": lambda: (xgboost.XGBClassifier(**XGB).fit(TABLE, TWO), TABLE, "raw"),
    "XGBoost loss": lambda: (xgboost.XGBClassifier(**XGB).fit(TABLE, TWO), TABLE, "log_loss"),
    "XGBoost three classes": lambda: (xgboost.XGBClassifier(**XGB).fit(TABLE, THREE), TABLE, "auto"),
    "XGBoost counts": lambda: (xgboost.XGBRegressor(objective="count:poisson", **XGB).fit(TABLE, THREE), TABLE, "auto"),
    "XGBoost missing": lambda: (
        xgboost.XGBRegressor(missing=3.0, max_depth=4, n_estimators=9, n_jobs=1).fit(NUMBERS, SIGNAL),
        NUMBERS,
        "auto",
    ),
    "LightGBM two classes": lambda: (lightgbm.LGBMClassifier(**LGB).fit(TABLE, TWO), TABLE, "auto"),
    "LightGBM three classes": lambda: (lightgbm.LGBMClassifier(**LGB).fit(TABLE, THREE), TABLE, "auto"),
    "histograms": lambda: (HistGradientBoostingRegressor(**HIST).fit(TABLE, SIGNAL), TABLE, "auto"),
    "histograms two classes": lambda: (HistGradientBoostingClassifier(**HIST).fit(TABLE, TWO), TABLE, "auto"),
    "forest": lambda: (RandomForestRegressor(9, random_state=0).fit(NUMBERS, SIGNAL), NUMBERS, "auto"),
    "forest of classes": lambda: (RandomForestClassifier(9, random_state=0).fit(GAPS, THREE), GAPS, "auto"),
    "boosting": lambda: (GradientBoostingClassifier(n_estimators=9).fit(NUMBERS, THREE), NUMBERS, "auto"),
    "isolation forest": lambda: (IsolationForest(n_estimators=9).fit(NUMBERS), NUMBERS, "auto"),
    "an array": lambda: (RandomForestRegressor(3).fit(NUMBERS.to_numpy(), SIGNAL), NUMBERS, "auto"),
    "one-hot, scaled, XGBoost": lambda: (steps(OneHotEncoder(), xgboost.XGBClassifier(**XGB), TWO), TABLE, "auto"),
    "ordinal, scaled, forest": lambda: (
        steps(OrdinalEncoder(), RandomForestRegressor(9, random_state=0), SIGNAL),
        TABLE,
        "auto",
    ),
    "one leaf": lambda: (RandomForestRegressor(2, max_depth=1).fit(NUMBERS, np.ones(N)), NUMBERS, "auto"),
}


@pytest.fixture(autouse=True)
def no_warnings_of_libraries(recwarn):
    """scikit-learn warns of names that a model fitted on an array does not know."""


@pytest.mark.parametrize("name", CASES)
def test_trees_answer_as_the_model_does(name):
    model, table, output = CASES[name]()
    explainer = AsymmetricExplainer(model, IndependentColumns(table), model_output=output)
    problem = explainer._known_execution().problem
    predictor = problem.predictor
    assert "trees in compiled code" in str(explainer.plan(1))
    rows = problem.background.read(table)
    rows = np.stack([RNG.permutation(column) for column in rows.T], axis=1)
    own = predictor.call(predictor.path.prepare(rows))
    found = predictor.predict(rows)
    np.testing.assert_allclose(found, own, rtol=0, atol=5e-6 * max(1.0, np.abs(own).max()))
    np.testing.assert_array_equal(found[7:9], predictor.predict(rows[7:9]))  # whatever rows come along


class Clipped(xgboost.XGBRegressor):
    """Half of its answers are what its trees add up to, the others are not."""

    def predict(self, X, output_margin=False, **more):
        answer = super().predict(X, output_margin=output_margin, **more)
        return answer if output_margin else np.minimum(answer, np.median(SIGNAL))


@pytest.mark.parametrize(
    ("model", "table"),
    [
        (make_pipeline(PCA(), RandomForestRegressor(2)).fit(NUMBERS, SIGNAL), NUMBERS),
        (make_pipeline(KBinsDiscretizer(4), RandomForestRegressor(2)).fit(NUMBERS, SIGNAL), NUMBERS),
        (SPARSE.fit(TABLE.drop(columns="town"), SIGNAL), TABLE.drop(columns="town")),
        (LinearRegression().fit(NUMBERS, SIGNAL), NUMBERS),
        (Clipped(n_estimators=15, max_depth=4, n_jobs=1).fit(NUMBERS, SIGNAL), NUMBERS),
        (RandomForestClassifier(2).fit(NUMBERS, TWO).predict, NUMBERS),  # labels are no function of what is added up
        (lightgbm.LGBMRegressor(**LGB).fit(FEW, SIGNAL, categorical_feature=["town"]), FEW),  # codes that are numbers
        (catboost.CatBoostRegressor(iterations=3, verbose=0, allow_writing_files=False).fit(NUMBERS, SIGNAL), NUMBERS),
    ],
    ids=["mixed", "bins", "zeros", "linear", "clipped", "labels", "numbers as categories", "CatBoost"],
)
def test_other_models_are_called_as_they_were_handed_over(model, table):
    explainer = AsymmetricExplainer(model, IndependentColumns(table))
    predictor = explainer._known_execution().problem.predictor
    assert predictor.compiled is None
    assert "compiled code" not in str(explainer.plan(1))
    rows = explainer._known_execution().problem.background.read(table)
    owner = getattr(model, "__self__", model)
    np.testing.assert_allclose(predictor.predict(rows)[:, 0], owner.predict(table), rtol=0, atol=1e-12)
