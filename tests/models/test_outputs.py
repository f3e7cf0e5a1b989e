"""Which function is called, and what comes back."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shap_asv.models.calls import as_matrix
from shap_asv.models.readers import choose_call

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([1, 2], [[1.0], [2.0]]),
        ((1, 2), [[1.0], [2.0]]),
        (np.array([True, False]), [[1.0], [0.0]]),
        (np.array([[1.0], [2.0]]), [[1.0], [2.0]]),
        (np.ones((2, 3), dtype=np.float32), np.ones((2, 3))),
        (pd.Series([1, 2], index=[7, 5]), [[1.0], [2.0]]),
        (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), [[1.0, 3.0], [2.0, 4.0]]),
        (csr_matrix([[1, 0], [0, 2]]), [[1.0, 0.0], [0.0, 2.0]]),
        ([np.array([1.0, 2.0]), np.array([3.0, 4.0])], [[1.0, 2.0], [3.0, 4.0]]),
        (np.array([1, 2.5], dtype=object), [[1.0], [2.5]]),
    ],
)
def test_answers_become_a_float_matrix(answer, expected):
    found = as_matrix(answer, 2, "model")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


def reference(model, output):
    return {
        "auto": lambda: model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)[:, None],
        "probability": lambda: model.predict_proba(X),
        "margin": lambda: model.decision_function(X).reshape(len(X), -1),
        "prediction": lambda: model.predict(X)[:, None],
        "log": lambda: np.log(model.predict(X))[:, None],
    }[output]()


@pytest.mark.parametrize(
    ("model", "target", "model_output", "expected"),
    [
        (DecisionTreeClassifier(max_depth=2), Y, "auto", "probability"),
        (DecisionTreeClassifier(max_depth=2), Y, "probability", "probability"),
        (DecisionTreeClassifier(max_depth=2), Y, "raw", "probability"),
        (RandomForestClassifier(3, random_state=0), Y, "raw", "probability"),
        (GradientBoostingClassifier(n_estimators=3), Y, "auto", "probability"),
        (GradientBoostingClassifier(n_estimators=3), Y, "raw", "margin"),
        (LogisticRegression(), Y, "raw", "margin"),
        (LinearSVC(), Y, "raw", "margin"),
        (DecisionTreeRegressor(max_depth=2), Y, "auto", "prediction"),
        (DecisionTreeRegressor(max_depth=2), Y, "raw", "prediction"),
        (PoissonRegressor(), Y, "auto", "prediction"),
        (PoissonRegressor(), Y, "raw", "log"),
        (HistGradientBoostingRegressor(loss="poisson", max_iter=3), Y, "raw", "log"),
        (make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=3)), Y, "raw", "margin"),
        (GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2), Y, "raw", "margin"),
    ],
)
def test_model_output(model, target, model_output, expected):
    model.fit(X, target)
    np.testing.assert_array_equal(choose_call(model, model_output)(X), reference(model, expected))


def test_a_callable_is_called_as_it_is():
    np.testing.assert_array_equal(choose_call(lambda x: x[:, 0])(X), X[:, :1])
    model = LogisticRegression().fit(X, Y)
    call = choose_call(model.predict_proba)
    assert call.target is model
    np.testing.assert_array_equal(call(X), model.predict_proba(X))
