"""Real tables from end to end: bike rentals, census income and NHEFS, four kinds of models, every kind of background.

The tables have integers, numbers, bools, categories, strings and gaps. Whatever the background, values add up to the
model's own prediction, and the model is called with the dtypes that it was fitted with.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shap_asv import AsymmetricExplainer, CausalOrder, StructuralModel

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
ROWS = [3, 40, 77]


@dataclass(frozen=True)
class RealTable:
    """A table with the model's target, what causes what, and in which levels."""

    file: str
    target: str
    dag: tuple[tuple[str, str], ...]
    levels: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    every: int


TABLES = {
    "bike": RealTable(
        "bike_daily.csv",
        "count",
        (("day", "season"), ("season", "temp"), ("day", "temp"), ("season", "windspeed"), ("day", "workingday")),
        (("day",), ("season", "workingday"), ("temp", "windspeed")),
        ("season",),
        4,
    ),
    "census": RealTable(
        "census_income.csv",
        "income",
        (
            ("age", "education_num"),
            ("sex", "occupation"),
            ("education_num", "occupation"),
            ("age", "hours_per_week"),
            ("occupation", "hours_per_week"),
        ),
        (("age", "sex"), ("education_num",), ("occupation", "hours_per_week")),
        ("sex", "occupation"),
        13,
    ),
    "nhefs": RealTable(
        "nhefs.csv",
        "wt82_71",
        (("age", "smokeyrs"), ("sex", "smokeyrs"), ("smokeyrs", "sbp"), ("age", "sbp"), ("sbp", "qsmk")),
        (("age", "sex"), ("smokeyrs",), ("sbp", "qsmk")),
        (),
        9,
    ),
}


@cache
def columns_and_target(name):
    """The features as read, with a bool and a nullable integer where the table has room for one, and the target."""
    real = TABLES[name]
    data = pd.read_csv(DATA / real.file).dropna(subset=[real.target]).reset_index(drop=True)
    X = data[[feature for level in real.levels for feature in level]].copy()
    if name == "bike":
        X["workingday"] = X["workingday"].astype(bool)
    if name == "nhefs":
        X["qsmk"] = X["qsmk"].astype(bool)
        X["sex"] = X["sex"].astype("int8")
    y = data[real.target]
    return X, (y == ">50K").astype(int) if name == "census" else y


def typed(name, kind):
    """The features as the kind of model takes them: boosting splits on categories, a forest on their codes."""
    X, y = columns_and_target(name)
    labels = {label: X[label].astype("category") for label in TABLES[name].labels}
    if kind in ("xgboost", "lightgbm"):
        return X.assign(**labels), y
    if kind == "forest":
        return X.assign(**{label: column.cat.codes for label, column in labels.items()}), y
    return X, y


@cache
def fitted(name, kind) -> Any:
    X, y = typed(name, kind)
    classes = name == "census"
    if kind == "xgboost":
        library = pytest.importorskip("xgboost")
        make = library.XGBClassifier if classes else library.XGBRegressor
        return make(n_estimators=12, max_depth=3, enable_categorical=True, n_jobs=1).fit(X, y)
    if kind == "lightgbm":
        library = pytest.importorskip("lightgbm")
        make = library.LGBMClassifier if classes else library.LGBMRegressor
        return make(n_estimators=12, num_leaves=7, verbose=-1, n_jobs=1).fit(X, y)
    if kind == "forest":
        make = RandomForestClassifier if classes else RandomForestRegressor
        return make(10, min_samples_leaf=20, random_state=0).fit(X, y)
    labels = list(TABLES[name].labels)
    numbers = [column for column in X.columns if column not in labels]
    words = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore"))
    front = ColumnTransformer(
        [("words", words, labels), ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers)]
    )
    final = LogisticRegression() if classes else GradientBoostingRegressor(n_estimators=10, random_state=0)
    return make_pipeline(front, final).fit(X, y)


def own_prediction(model, kind, rows, margin):
    """What the model says itself; the margin of boosted classifiers where the trees are what is explained."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(rows), dtype=float)
    if margin and kind == "xgboost":
        return np.asarray(model.predict(rows, output_margin=True), dtype=float)
    if margin and kind == "lightgbm":
        return np.asarray(model.predict(rows, raw_score=True), dtype=float)
    return np.asarray(model.predict_proba(rows), dtype=float)


def assert_adds_up(explanation, expected):
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, expected, rtol=2e-6, atol=2e-6)


def watch(monkeypatch, model):
    """The dtypes of every DataFrame that the model is asked about."""
    seen = set()
    for method in ("predict", "predict_proba"):
        if hasattr(model, method):
            monkeypatch.setattr(model, method, watched(getattr(model, method), seen), raising=False)
    return seen


def watched(asked, seen):
    def answer(X, *more, **words):
        if isinstance(X, pd.DataFrame):
            seen.add(tuple(X.dtypes))
        return asked(X, *more, **words)

    return answer


KINDS = ("xgboost", "lightgbm", "forest", "pipeline")
cases = pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in TABLES for kind in KINDS])


@cases
@pytest.mark.parametrize("causes", ["dag", "levels"])
def test_conditional(name, kind, causes, monkeypatch):
    real, model, (X, _) = TABLES[name], fitted(name, kind), typed(name, kind)
    graph = list(real.dag) if causes == "dag" else CausalOrder.from_levels([list(level) for level in real.levels])
    seen = watch(monkeypatch, model)
    explainer = AsymmetricExplainer(
        model, X.iloc[:: real.every], graph, values="conditional", n_draws=32, seed=0, silent=True
    )
    explanation = explainer(X.iloc[ROWS], silent=True)
    assert_adds_up(explanation, own_prediction(model, kind, X.iloc[ROWS], margin=False))
    evaluated = explainer._known_execution().problem.predictor.evaluated  # its trees were asked about numbers, too
    assert tuple(X.dtypes) in seen if evaluated else seen == {tuple(X.dtypes)}
    assert isinstance(explainer.masker, StructuralModel) == (causes == "dag")
    exact = explainer.plan(X.iloc[ROWS]).exact  # donors may be added up, not drawn
    assert exact == (explanation.error_std is None)
    assert exact or explanation.error_std.max() > 0


@cases
def test_marginal(name, kind):
    model, (X, _) = fitted(name, kind), typed(name, kind)
    explainer = AsymmetricExplainer(model, X.iloc[::40], list(TABLES[name].dag), values="marginal", seed=0)
    explanation = explainer(X.iloc[ROWS], silent=True)
    assert_adds_up(explanation, own_prediction(model, kind, X.iloc[ROWS], margin=True))


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in TABLES for kind in KINDS[:3]])
def test_the_trees_own_covers(name, kind):
    model, (X, _) = fitted(name, kind), typed(name, kind)
    explanation = AsymmetricExplainer(
        model, causal_graph=list(TABLES[name].dag), feature_perturbation="tree_path_dependent"
    )(X.iloc[ROWS], silent=True)
    assert_adds_up(explanation, own_prediction(model, kind, X.iloc[ROWS], margin=True))
