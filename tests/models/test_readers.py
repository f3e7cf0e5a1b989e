"""The contract of the registry: what a reader reads is what the model computes at every combination of states, or there
is a reason why not.
"""

import dataclasses

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
)
from sklearn.ensemble._iforest import _average_path_length
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.neighbors import KNeighborsRegressor

from shap_asv.models import readers
from shap_asv.models.predictor import read_model
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.readers import READERS, verify
from shap_asv.models.trees.form import read_ensemble
from tests.models.examples import CATEGORIES, EXAMPLES, FOUR, LGB, MATRIX, TWO, XGB, Y
from tests.models.problems import FEATURES, NUMBERS, all_rows, cardinalities, frame

# XGBoost >= 3.4 says that dart and gblinear will go
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated")

CASES = [(reader, name) for reader, examples in EXAMPLES.items() for name in examples]


def test_every_reader_has_examples_and_every_example_a_reader():
    assert set(EXAMPLES) == {reader.name for reader in READERS}


def own_output(model, example, rows):
    """The model's own answer, asked without any of our code, on a DataFrame like the one it was trained on."""
    package = type(model).__module__.split(".")[0]
    if isinstance(model, IsolationForest):
        steps = _average_path_length(np.array([model.max_samples_]))
        return -np.log2(-model.score_samples(rows))[:, None] * steps
    if example.model_output == "raw":
        if hasattr(model, "decision_function"):
            return model.decision_function(rows).reshape(len(rows), -1)
        if package == "sklearn":
            return np.log(model.predict(rows))[:, None]
        settings = {
            "xgboost": {"output_margin": True},
            "lightgbm": {"raw_score": True},
            "catboost": {"prediction_type": "RawFormulaVal"},
        }[package]
        return np.asarray(model.predict(rows, **settings), dtype=float).reshape(len(rows), -1)
    answer = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
    return np.asarray(answer, dtype=float).reshape(len(rows), -1)


@pytest.mark.parametrize(("reader", "name"), CASES, ids=lambda x: x.replace(" ", "-"))
def test_reader_is_exact_at_every_state(reader, name, monkeypatch):
    """The reader alone, without the others, so that none hides behind another one."""
    monkeypatch.setattr(readers, "READERS", tuple(row for row in READERS if row.name == reader))
    example = EXAMPLES[reader][name]
    model = example.fit()
    predictor = read_model(model, FEATURES, example.states, model_output=example.model_output)
    assert predictor.reason == ""
    assert predictor.kind == next(row.kind for row in READERS if row.name == reader)
    codes = all_rows(example.states)
    table = frame(codes, example.states)
    table = table.astype(CATEGORIES.dtypes if example.categories else float)
    expected = own_output(model, example, table)
    scale = 1 + np.abs(expected).max()
    np.testing.assert_allclose(predictor.predict(codes), expected, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(predictor.products.evaluate(codes), expected, rtol=0, atol=example.tolerance * scale)
    assert predictor.n_outputs == expected.shape[1] == predictor.products.n_outputs
    if predictor.kind == "tree":
        if (reader, name) == ("LightGBM", "random forest"):  # trees alone are their raw score
            expected = expected * model.n_estimators
        trees = read_ensemble(model, example.model_output)
        numbers = trees.rows(table)
        np.testing.assert_allclose(trees.predict(numbers), expected, rtol=0, atol=example.tolerance * scale)
        if not example.categories:
            np.testing.assert_array_equal(trees.rows(table.to_numpy()), numbers)
        inner = np.flatnonzero(trees.left >= 0)
        below = trees.cover[trees.left[inner]] + trees.cover[trees.right[inner]]
        np.testing.assert_allclose(below, trees.cover[inner], rtol=1e-5)
        assert (trees.cover[trees.roots] > 0).all()


def test_a_model_that_another_version_stores_otherwise(monkeypatch):
    monkeypatch.setattr(readers, "READERS", (dataclasses.replace(READERS[0], parse=lambda *arguments: {}["trees"]),))
    predictor = read_model(RandomForestRegressor(3, random_state=0).fit(MATRIX, Y), FEATURES, NUMBERS)
    assert predictor.kind == "black box"
    assert predictor.reason == "RandomForestRegressor could not be read (KeyError: 'trees')"


def test_verification_enters_leaves_that_random_rows_miss():
    """A leaf that needs 12 features to agree is met by one random row in 4096, but by the rows drawn inside regions."""
    n = 12
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(3000, n))
    codes[:40] = 1
    rare = codes.all(axis=1)
    model = RandomForestRegressor(1, bootstrap=False, max_features=None).fit(codes, 10.0 * rare)
    states = [(0, 1)] * n
    predictor = read_model(model, [f"x{i}" for i in range(n)], states)
    coefficients = predictor.products.coefficients.copy()
    deep = np.argmax((predictor.products.terms > 0).sum(axis=1))
    coefficients[deep] += 1e-4
    spoiled = dataclasses.replace(predictor.products, coefficients=coefficients)
    with pytest.raises(NotSumOfProducts):
        verify(spoiled, (2,) * n, predictor.path, 1e-10, "tree")


def test_a_constant_difference_is_read_off_the_model():
    model = RandomForestRegressor(3, random_state=0).fit(MATRIX, Y)
    predictor = read_model(model, FEATURES, NUMBERS)
    shifted = dataclasses.replace(predictor.products, offset=predictor.products.offset + 3.0)
    mended = verify(shifted, cardinalities(NUMBERS), predictor.path, 1e-10, "forest")
    np.testing.assert_allclose(mended.offset, predictor.products.offset, atol=1e-12)


def test_a_wrong_number_of_outputs_is_caught():
    model = RandomForestRegressor(3, random_state=0).fit(MATRIX, Y)
    predictor = read_model(model, FEATURES, NUMBERS)
    with pytest.raises(NotSumOfProducts, match="was read with 1 outputs, but it returns 2"):
        verify(
            predictor.products, cardinalities(NUMBERS), lambda rows: np.tile(predictor.path(rows), 2), 1e-10, "forest"
        )


def test_a_model_that_no_reader_knows():
    model = KNeighborsRegressor().fit(MATRIX, Y)
    predictor = read_model(model, FEATURES, NUMBERS)
    assert predictor.kind == "black box"
    assert predictor.products is None
    assert predictor.reason == "KNeighborsRegressor is neither a tree ensemble nor a linear model that can be read"


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_verification_is_relative_to_the_size_of_the_outputs(size):
    model = LinearRegression().fit(MATRIX, size * Y)
    predictor = read_model(model, FEATURES, NUMBERS)
    assert predictor.kind == "linear"
    coefficients = predictor.products.coefficients.copy()
    coefficients[0] *= 1 + 1e-4
    spoiled = dataclasses.replace(predictor.products, coefficients=coefficients)
    with pytest.raises(NotSumOfProducts):
        verify(spoiled, cardinalities(NUMBERS), predictor.path, 1e-9, "least squares")


def test_terms_that_cancel_are_no_reason_to_distrust_a_linear_model():
    """A prediction near zero between weights of a billion carries the rounding errors of the billions."""
    model = LinearRegression().fit(MATRIX, Y)
    model.coef_ = np.array([1e9, -1e9, 3.0, 2.0])
    assert read_model(model, FEATURES, NUMBERS).kind == "linear"


# --- what looks readable and is not: a black box with a reason, never a wrong sum -------------------------------------


def is_exact(predictor):
    codes = all_rows(NUMBERS)
    expected = predictor.predict(codes)
    return np.allclose(predictor.products.evaluate(codes), expected, rtol=0, atol=5e-6 * (1 + np.abs(expected).max()))


def test_categories_by_position():
    model = lightgbm.LGBMRegressor(min_data_per_group=3, cat_smooth=0.1, **LGB)
    model.fit(MATRIX.to_numpy().astype(int), Y, categorical_feature=[1, 2])
    assert is_exact(read_model(model, FEATURES, NUMBERS))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (xgboost.XGBClassifier(**XGB).fit(MATRIX, TWO), "the probabilities of XGBClassifier are not a sum over trees"),
        (lightgbm.LGBMClassifier(**LGB).fit(MATRIX, TWO), "probabilities of LGBMClassifier are not a sum over trees"),
        (LogisticRegression().fit(MATRIX, TWO), "probabilities of LogisticRegression are not a sum over features"),
        (PoissonRegressor().fit(MATRIX, np.abs(Y)), "differs from its own output"),
        (HistGradientBoostingRegressor(loss="gamma", max_iter=3).fit(MATRIX, np.exp(Y)), "differs from its own output"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else "",
)
def test_what_a_link_hides_is_hinted_at(model, words):
    predictor = read_model(model, FEATURES, NUMBERS)
    assert predictor.products is None
    assert words in predictor.reason
    assert "model_output='raw'" in predictor.reason
    raw = read_model(model, FEATURES, NUMBERS, model_output="raw")
    assert raw.products is not None
    assert is_exact(raw)


def test_early_stopping_uses_the_best_iteration():
    noise = np.random.default_rng(0).normal(size=len(Y))
    train, test = (MATRIX[:200], noise[:200]), (MATRIX[200:], noise[200:])
    settings = {"n_estimators": 60, "max_depth": 6, "learning_rate": 0.5, "n_jobs": 1}
    xgb = xgboost.XGBRegressor(early_stopping_rounds=40, **settings).fit(*train, eval_set=[test], verbose=False)
    assert xgb.best_iteration + 1 < xgb.get_booster().num_boosted_rounds()
    lgb = lightgbm.LGBMRegressor(min_child_samples=2, verbose=-1, **settings)
    lgb.fit(*train, eval_set=[test], callbacks=[lightgbm.early_stopping(40, verbose=False)])
    assert lgb.best_iteration_ < 60
    for model in (xgb, lgb):
        predictor = read_model(model, FEATURES, NUMBERS)
        assert predictor.kind == "tree"
        assert is_exact(predictor)


def test_boosters_without_their_sklearn_dress():
    data = xgboost.DMatrix(MATRIX, Y)
    model = xgboost.train({"max_depth": 3, "nthread": 1}, data, num_boost_round=5)
    predictor = read_model(model, FEATURES, NUMBERS)
    assert predictor.kind == "tree"
    assert is_exact(predictor)
    codes = all_rows(NUMBERS)
    own = model.predict(xgboost.DMatrix(frame(codes, NUMBERS).astype(float)))
    np.testing.assert_allclose(predictor.predict(codes)[:, 0], own, rtol=0, atol=1e-6)
    words = {"objective": "multiclass", "num_class": 4, "verbose": -1, "min_data_in_leaf": 3, "num_threads": 1}
    boosted = lightgbm.train(words, lightgbm.Dataset(MATRIX, FOUR), num_boost_round=5)
    raw = read_model(boosted, FEATURES, NUMBERS, model_output="raw")
    assert (raw.kind, raw.n_outputs) == ("tree", 4)
