"""Example models for every reader of the registry, and what is known about each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn import ensemble, linear_model, svm, tree
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from tests.models.problems import FEATURES, NUMBERS, classes, frame, target, training_codes

CODES = training_codes(NUMBERS)
MATRIX = pd.DataFrame(CODES.astype(float), columns=list(FEATURES))
TEXT = tuple(tuple(f"s{label}" for label in labels) for labels in NUMBERS)
CATEGORIES = frame(CODES, TEXT).astype("category")
Y = target(CODES)
TWO, FOUR = classes(CODES, 2), classes(CODES, 4)
PAIR = np.stack([Y, -2 * Y + CODES[:, 0]], axis=1)

LGB = {"n_estimators": 6, "min_child_samples": 3, "verbose": -1, "num_threads": 1}
#: XGBoost 3.1 does not tell the covers of trees with vectors in their leaves; such models are black boxes then.
VECTORS_HAVE_COVERS = tuple(map(int, xgboost.__version__.split(".")[:2])) >= (3, 2)
XGB = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}
CAT = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
RATE = {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}


@dataclass(frozen=True)
class Example:
    """A model that must be read exactly: built on first use, over numbers or over pandas categories."""

    make: Callable[[], Any]
    y: np.ndarray
    model_output: str = "auto"
    categories: bool = False
    tolerance: float = 1e-9

    @property
    def states(self):
        return TEXT if self.categories else NUMBERS

    def fit(self):
        return self.make().fit(CATEGORIES if self.categories else MATRIX, self.y)


def forest(name, y, module=ensemble, **settings):
    return Example(lambda: getattr(module, name)(random_state=0, **settings), y)


def boosted(make, y, model_output="auto", **more):
    return Example(make, y, model_output, **more)


EXAMPLES = {
    "sklearn forests": {
        "tree classifier": forest("DecisionTreeClassifier", FOUR, tree),
        "tree regressor": forest("DecisionTreeRegressor", Y, tree),
        "tree absolute error": forest("DecisionTreeRegressor", Y, tree, criterion="absolute_error", max_depth=4),
        "tree of two outputs": forest("DecisionTreeRegressor", PAIR, tree, max_depth=5),
        "stump": forest("DecisionTreeRegressor", np.ones(len(Y)), tree),
        "extra tree": forest("ExtraTreeClassifier", TWO, tree),
        "random forest classifier": forest("RandomForestClassifier", FOUR, n_estimators=7),
        "weighted classes": forest("RandomForestClassifier", TWO, n_estimators=3, class_weight="balanced"),
        "random forest regressor": forest("RandomForestRegressor", Y, n_estimators=7),
        "forest of two outputs": forest("RandomForestRegressor", PAIR, n_estimators=4),
        "extra trees classifier": forest("ExtraTreesClassifier", FOUR, n_estimators=7),
        "extra trees regressor": forest("ExtraTreesRegressor", Y, n_estimators=7),
    },
    "sklearn boosting": {
        "regression": forest("GradientBoostingRegressor", Y, n_estimators=6),
        "huber, zero": forest("GradientBoostingRegressor", Y, n_estimators=6, loss="huber", init="zero"),
        "two classes": boosted(lambda: ensemble.GradientBoostingClassifier(n_estimators=6), TWO, "raw"),
        "four classes": boosted(lambda: ensemble.GradientBoostingClassifier(n_estimators=6), FOUR, "raw"),
    },
    "sklearn isolation forest": {
        "all columns": forest("IsolationForest", Y, n_estimators=6),
        "some columns": forest("IsolationForest", Y, n_estimators=6, max_features=0.5, max_samples=50),
    },
    "sklearn histogram boosting": {
        "regression": boosted(lambda: ensemble.HistGradientBoostingRegressor(max_iter=6), Y),
        "poisson": boosted(lambda: ensemble.HistGradientBoostingRegressor("poisson", max_iter=6), np.abs(Y), "raw"),
        "two classes": boosted(lambda: ensemble.HistGradientBoostingClassifier(max_iter=6), TWO, "raw"),
        "four classes": boosted(lambda: ensemble.HistGradientBoostingClassifier(max_iter=6), FOUR, "raw"),
        "categorical by position": boosted(
            lambda: ensemble.HistGradientBoostingRegressor(max_iter=6, categorical_features=[1, 2]), Y
        ),
        "categorical by dtype": boosted(
            lambda: ensemble.HistGradientBoostingClassifier(max_iter=6, categorical_features="from_dtype"),
            FOUR,
            "raw",
            categories=True,
        ),
    },
    "XGBoost": {
        "regression": boosted(lambda: xgboost.XGBRegressor(**XGB), Y, tolerance=3e-6),
        "two classes": boosted(lambda: xgboost.XGBClassifier(**XGB), TWO, "raw", tolerance=3e-6),
        "four classes": boosted(lambda: xgboost.XGBClassifier(**XGB), FOUR, "raw", tolerance=3e-6),
        "dart": boosted(lambda: xgboost.XGBRegressor(booster="dart", rate_drop=0.5, **XGB), Y, tolerance=3e-6),
        "poisson": boosted(
            lambda: xgboost.XGBRegressor(objective="count:poisson", **XGB), np.abs(Y), "raw", tolerance=3e-6
        ),
        "random forest": boosted(lambda: xgboost.XGBRFRegressor(**XGB), Y, tolerance=3e-6),
        "two targets": boosted(lambda: xgboost.XGBRegressor(**XGB), PAIR, tolerance=3e-6),
        **(
            {
                "leaf vectors": boosted(
                    lambda: xgboost.XGBRegressor(multi_strategy="multi_output_tree", **XGB), PAIR, tolerance=3e-6
                )
            }
            if VECTORS_HAVE_COVERS
            else {}
        ),
        "categorical": boosted(
            lambda: xgboost.XGBRegressor(enable_categorical=True, **XGB), Y, categories=True, tolerance=3e-6
        ),
    },
    "LightGBM": {
        "regression": boosted(lambda: lightgbm.LGBMRegressor(**LGB), Y),
        "two classes": boosted(lambda: lightgbm.LGBMClassifier(**LGB), TWO, "raw"),
        "four classes": boosted(lambda: lightgbm.LGBMClassifier(**LGB), FOUR, "raw"),
        "dart": boosted(lambda: lightgbm.LGBMRegressor(boosting_type="dart", **LGB), Y),
        "random forest": boosted(lambda: lightgbm.LGBMRegressor(**RATE, **LGB), Y),
        "random forest, sum": boosted(lambda: lightgbm.LGBMRegressor(**RATE, **LGB), Y, "raw"),
        "poisson": boosted(lambda: lightgbm.LGBMRegressor(objective="poisson", **LGB), np.abs(Y), "raw"),
        "categorical": boosted(
            lambda: lightgbm.LGBMRegressor(min_data_per_group=3, cat_smooth=0.1, **LGB), Y, categories=True
        ),
    },
    "CatBoost": {
        "regression": boosted(lambda: catboost.CatBoostRegressor(**CAT), Y),
        "two classes": boosted(lambda: catboost.CatBoostClassifier(**CAT), TWO, "raw"),
        "four classes": boosted(lambda: catboost.CatBoostClassifier(**CAT), FOUR, "raw"),
        "two targets": boosted(lambda: catboost.CatBoostRegressor(loss_function="MultiRMSE", **CAT), PAIR),
        "lossguide": boosted(lambda: catboost.CatBoostRegressor(grow_policy="Lossguide", **CAT), Y),
        "one-hot": boosted(
            lambda: catboost.CatBoostRegressor(cat_features=list(FEATURES), one_hot_max_size=4, **CAT),
            Y,
            categories=True,
        ),
        "statistics, four classes": boosted(
            lambda: catboost.CatBoostClassifier(cat_features=list(FEATURES), max_ctr_complexity=1, **CAT),
            FOUR,
            "raw",
            categories=True,
        ),
    },
    "linear": {
        "least squares": Example(linear_model.LinearRegression, Y),
        "least squares of two": Example(linear_model.LinearRegression, PAIR),
        "ridge": Example(linear_model.Ridge, Y),
        "lasso": Example(lambda: linear_model.Lasso(0.01), Y),
        "elastic net": Example(lambda: linear_model.ElasticNet(0.01), Y),
        "gradient descent": Example(lambda: linear_model.SGDRegressor(random_state=0), Y),
        "no intercept": Example(lambda: linear_model.LinearRegression(fit_intercept=False), Y),
        "logistic": Example(linear_model.LogisticRegression, TWO, "raw"),
        "logistic, four classes": Example(linear_model.LogisticRegression, FOUR, "raw"),
        "support vectors": Example(lambda: svm.LinearSVC(random_state=0), FOUR, "raw"),
        "discriminant": Example(LinearDiscriminantAnalysis, FOUR, "raw"),
        "poisson": Example(linear_model.PoissonRegressor, np.abs(Y), "raw"),
    },
}
