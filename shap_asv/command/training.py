"""A sensible model where none was given, and what it is worth on rows that it has not seen."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shap_asv.errors import ModelError, TableError

MOST_CLASSES = 20
HELD_OUT = 0.25


@dataclass(frozen=True, eq=False)
class Trained:
    """A model, sentences that say which, on how many rows, and how good it is, and the rows that it has not seen.

    ``held_out`` is bool (r,), None where nothing is known of it.
    """

    model: Any
    notes: list[str]
    held_out: np.ndarray | None = None


def is_classification(y: pd.Series) -> bool:
    """Text and truth values are classes; so are whole numbers of which there are few."""
    if y.dtype.kind not in "iuf":
        return True
    return bool((y == y.round()).all()) and int(y.nunique()) <= min(MOST_CLASSES, max(2, len(y) // 10))


def train(X: pd.DataFrame, y: pd.Series, seed: int, categorical_states: Any = None) -> Trained:
    """Gradient boosting for a table; a decision tree over the states of a network, which is explained exactly.

    ``categorical_states`` are the states of each column, low codes first, where the table holds states.
    """
    held_out, known = np.ones(len(y), dtype=bool), y.notna()
    places = np.flatnonzero(known)
    X, y = X[known], y[known]
    if int(y.nunique()) < 2:
        raise TableError(f"the target {y.name!r} has one value only, {y.iloc[0]!r}: there is nothing to predict")
    classes = is_classification(y)
    counts = y.value_counts()
    stratify = y if classes and int(counts.min()) > 1 else None
    try:
        parts = train_test_split(X, y, places, test_size=HELD_OUT, random_state=seed, stratify=stratify)
    except ValueError as error:
        raise TableError(f"the table is too small to train a model on and to test it: {error}") from None
    X_train, X_test, y_train, y_test, trained_on, _ = parts
    held_out[trained_on] = False
    model = _estimator(classes, seed, categorical_states).fit(X_train, y_train)
    predicted = model.predict(X_test)
    if classes:
        score = float(np.mean(predicted == y_test.to_numpy()))
        often = float((y_test == y_train.mode().iloc[0]).mean())
        worth = f"right in {score:.0%} of {len(X_test):,} other rows (the most frequent class would be in {often:.0%})"
        # a rare class may be well ranked and never be the likeliest: what is explained are probabilities
        gain = _gain(model, y_train, X_test, y_test)
        worth += f"; the squared error of its probabilities is {gain:.0%} below that of a constant" if gain > 0 else ""
        learned = gain > 0
    else:
        total = float(((y_test - y_train.mean()) ** 2).sum())
        score = 1 - float(((y_test - predicted) ** 2).sum()) / total if total > 0 else 0.0
        worth = f"it explains {score:.0%} of the variance in {len(X_test):,} other rows"
        learned = score > 0
    if not learned:
        worth += ", which is no better than a constant: there may be nothing to explain"
    kind = (
        "A decision tree of depth 5"
        if categorical_states is not None
        else "Gradient boosting (scikit-learn's HistGradientBoosting)"
    )
    return Trained(model, [f"{kind} was trained on {len(X_train):,} rows; {worth}."], held_out)


def _gain(model: Any, y_train: pd.Series, X_test: pd.DataFrame, y_test: pd.Series) -> float:
    """``1 - B / B'``: squared errors of probabilities (Brier score) of the model, and of the shares of the classes."""
    truth = y_test.to_numpy()[:, None] == np.asarray(model.classes_)
    shares = np.array([(y_train == name).mean() for name in model.classes_])
    return 1 - float(((model.predict_proba(X_test) - truth) ** 2).sum() / ((shares - truth) ** 2).sum())


def _estimator(classes: bool, seed: int, categorical_states: Any) -> Any:
    if categorical_states is not None:
        kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
        tree = kind(max_depth=5, min_samples_leaf=5, random_state=seed)
        return make_pipeline(OrdinalEncoder(categories=categorical_states), tree)
    boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    # small steps and small trees: tables of a thousand rows are learned, not learned by heart
    return boosting(
        max_iter=100, learning_rate=0.05, max_leaf_nodes=8, random_state=seed, categorical_features="from_dtype"
    )


def load_model(path: Path) -> Any:
    """The model of a file that joblib or pickle wrote. Runs the code in it."""
    try:
        model = joblib.load(path)
    except Exception as error:  # whatever the pickle does
        raise ModelError(f"{path} cannot be loaded as a model: {type(error).__name__}: {error}") from error
    if not callable(model) and not hasattr(model, "predict"):
        raise ModelError(f"{path} holds a {type(model).__name__}, which is not a model: it has no predict")
    return model
