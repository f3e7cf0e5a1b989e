"""The predictor: batches, checks, names."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv.errors import ModelError
from shap_asv.models.predictor import read_model
from tests.models.problems import FEATURES, NAMES, NUMBERS, all_rows, classes, frame, training_codes

CODES = training_codes(NAMES)
LABELS = np.array(["bad", "fair", "good"])[classes(CODES, 3)]
ROWS = all_rows(NAMES)


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(OrdinalEncoder(), RandomForestClassifier(4, random_state=0)).fit(frame(CODES, NAMES), LABELS)


class Counting:
    def __init__(self):
        self.sizes = []

    def __call__(self, x):
        self.sizes.append(len(x))
        return x["smoker"] == "yes"


@pytest.mark.parametrize("batch_size", [1, 7, 48, 1000])
def test_batches_never_pass_their_size_and_change_nothing(batch_size):
    model = Counting()
    predictor = replace(read_model(model, FEATURES, NAMES), batch_size=batch_size)
    model.sizes.clear()
    outputs = predictor.predict(ROWS)
    np.testing.assert_array_equal(outputs[:, 0], ROWS[:, 0])
    assert max(model.sizes) <= batch_size
    assert sum(model.sizes) == len(ROWS)


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
