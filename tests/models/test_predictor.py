"""The predictor: batches, checks, names."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv.errors import ModelError
from shap_asv.models import predictor as models
from shap_asv.models.predictor import read_model, read_plain_model
from tests.models.problems import FEATURES, NAMES, NUMBERS, all_rows, classes, frame, training_codes

CODES = training_codes(NAMES)
LABELS = np.array(["bad", "fair", "good"])[classes(CODES, 3)]
ROWS = all_rows(NAMES)


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(OrdinalEncoder(), RandomForestClassifier(4, random_state=0)).fit(frame(CODES, NAMES), LABELS)


def test_names_of_outputs(pipeline):
    assert read_model(pipeline, FEATURES, NAMES).output_names == ["bad", "fair", "good"]
    assert read_model(pipeline, FEATURES, NAMES, output_names=("x", "y", "z")).output_names == ["x", "y", "z"]
    assert read_model(lambda x: np.zeros((len(x), 2)), FEATURES, NAMES).output_names is None
    numbers = DecisionTreeClassifier().fit(CODES, CODES[:, 0])
    assert read_model(numbers, FEATURES, NUMBERS).output_names == ["0", "1"]
    binary = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame(CODES, NAMES), CODES[:, 0])
    assert read_model(binary, FEATURES, NAMES, model_output="raw").output_names is None
    with pytest.raises(ModelError, match="2 output_names"):
        read_model(pipeline, FEATURES, NAMES, output_names=["x", "y"])


def test_a_model_that_changes_its_mind_about_outputs():
    def fickle(x):
        return np.ones((len(x), 2 if len(x) > 20 else 1))

    predictor = read_model(fickle, FEATURES, NAMES)
    with pytest.raises(ModelError, match=r"returned \[1, 2\] outputs in different calls"):
        predictor.predict(ROWS)


def test_many_features_and_states():
    rng = np.random.default_rng(0)
    cards = [70, *([2] * 299)]
    codes = rng.integers(cards, size=(500, 300))
    model = RandomForestClassifier(5, random_state=0).fit(codes, codes[:, 0] % 3)
    predictor = read_model(model, [f"x{i}" for i in range(300)], [list(range(card)) for card in cards])
    assert predictor.kind == "tree"
    rows = rng.integers(cards, size=(200, 300))
    np.testing.assert_allclose(predictor.products.evaluate(rows), model.predict_proba(rows), rtol=0, atol=1e-12)


# --- over data matrices, as shap uses them ----------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(50, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("batch_size", [None, 1, 7, 50])
@pytest.mark.parametrize("rows", [X, FRAME, FRAME[["c", "a", "b"]]], ids=["array", "frame", "other order"])
def test_rows_reach_the_model_under_the_names_it_knows(rows, batch_size):
    model = RandomForestClassifier(3, random_state=0).fit(FRAME, Y)
    predictor = replace(read_plain_model(model, feature_names=["a", "b", "c"], probe=X[:2]), batch_size=batch_size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(predictor.predict(rows), model.predict_proba(FRAME))
    assert predictor.n_outputs == 2
    assert predictor.output_names == ["0", "1"]


def test_a_linear_last_step_over_categories_is_a_black_box():
    """Rows are codes of categories, and a row in between two of them is not one."""
    labels = np.array(["a", "b", "c"])
    table = pd.DataFrame({"x": labels[[0, 1, 2, 0, 1, 2]]})
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(table, [0, 0, 1, 0, 1, 1])
    predictor = read_plain_model(
        model,
        probe=np.array([[0.0], [2.0]]),
        inputs=lambda rows: pd.DataFrame({"x": labels[rows[:, 0].astype(int)]}),
    )
    assert predictor.affine is None
    assert "'x' does not hold numbers" in predictor.reason


def test_large_outputs_are_linear_up_to_their_own_rounding():
    """A house costs a million, and a million has its last digit at 1e-10."""
    model = LinearRegression().fit(X, 1e9 + 1e9 * X @ [0.3, -0.7, 0.11])
    predictor = read_plain_model(model, probe=X)
    assert predictor.affine is not None, predictor.reason
    np.testing.assert_allclose(predictor.affine(X), predictor.predict(X), rtol=1e-12)


def test_calls_have_as_many_rows_as_make_so_many_cells(monkeypatch):
    """Without batch_size=, what a model is called with stays within 32 MiB, however many rows there are."""
    asked = []

    def model(rows):
        asked.append(len(rows))
        return rows.sum(axis=1)

    rows = np.arange(30.0).reshape(10, 3)
    predictor = read_plain_model(model, probe=rows[:2])
    monkeypatch.setattr(models, "CELLS", 12)
    asked.clear()
    np.testing.assert_array_equal(predictor.predict(rows)[:, 0], rows.sum(axis=1))
    assert asked == [4, 4, 2]
