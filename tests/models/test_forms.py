"""States as names, numbers, categories; Pipelines, encoders, mappings, callables; and every way to get it wrong."""

import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelEncoder,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from shap_asv.errors import EncodingError
from shap_asv.models.predictor import read_model
from tests.models.examples import LGB, XGB
from tests.models.problems import FEATURES, NAMES, NUMBERS, all_rows, frame, target, training_codes

CODES = training_codes(NAMES)
TRAINING = frame(CODES, NAMES)
MIXED = TRAINING.assign(dose=TRAINING["dose"].astype(float))
Y = target(CODES)
ROWS = all_rows(NAMES)
ALL = frame(ROWS, NAMES)
ALL_MIXED = ALL.assign(dose=ALL["dose"].astype(float))
DIGITS = tuple(tuple(str(label) for label in labels) for labels in NUMBERS)


def forest():
    return RandomForestRegressor(4, random_state=0)


def check(predictor, expected, kind):
    assert predictor.kind == kind, predictor.reason
    np.testing.assert_allclose(predictor.predict(ROWS)[:, 0], expected, rtol=0, atol=1e-12)
    if kind != "black box":
        np.testing.assert_allclose(predictor.products.evaluate(ROWS)[:, 0], expected, rtol=0, atol=1e-9)


# --- Pipelines that take names ----------------------------------------------------------------------------------

PIPELINES = {
    "ordinal": (lambda final: make_pipeline(OrdinalEncoder(), final), True),
    "one-hot": (lambda final: make_pipeline(OneHotEncoder(), final), True),
    "one-hot, scaled": (lambda final: make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler(), final), True),
    "nested": (lambda final: make_pipeline(make_pipeline(OrdinalEncoder(), StandardScaler()), final), True),
    "nested at the end": (
        lambda final: make_pipeline(OrdinalEncoder(), make_pipeline(StandardScaler(), final)),
        True,
    ),
    "frames inside": (
        lambda final: make_pipeline(OrdinalEncoder().set_output(transform="pandas"), final),
        True,
    ),
    "parameter search": (
        lambda final: GridSearchCV(
            make_pipeline(OrdinalEncoder(), final), {"ordinalencoder__max_categories": [9]}, cv=2
        ),
        True,
    ),
    "passthrough": (lambda final: make_pipeline("passthrough", OrdinalEncoder(), final), True),
    "columns": (
        lambda final: make_pipeline(
            ColumnTransformer([("a", make_pipeline(OneHotEncoder()), ["pollution"])], remainder=OrdinalEncoder()), final
        ),
        True,
    ),
    **{
        name: (lambda final, mix=mix: make_pipeline(OrdinalEncoder(), mix, final), False)
        for name, mix in {
            "PCA": PCA(4, random_state=0),
            "row norm": Normalizer(),
            "products": PolynomialFeatures(2),
            "a product that is 0 at the base": FunctionTransformer(
                lambda x: (x[:, :1] - x[0, 0]) * (x[:, 1:2] - x[0, 1])
            ),
            "a product that random rows alone show": FunctionTransformer(
                lambda x: np.column_stack([x[:, 0], (x[:, 0] == 1) * (x[:, 2] == 3)])
            ),
            "rows that look at each other": FunctionTransformer(lambda x: x - x.mean(axis=0)),
        }.items()
    },
}


@pytest.mark.parametrize(("final", "kind"), [(forest, "tree"), (Ridge, "linear")])
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_of_names_stay_exact(name, final, kind):
    make, separable = PIPELINES[name]
    model = make(final()).fit(TRAINING, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictor = read_model(model, FEATURES, NAMES)
    check(predictor, model.predict(ALL), kind if separable else "black box")
    if not separable:
        assert "depends on more than one feature" in predictor.reason


def test_names_beside_numbers_that_the_network_writes_as_text():
    model = make_pipeline(
        ColumnTransformer([("hot", OneHotEncoder(), ["smoker", "pollution", "age"])], remainder="passthrough"), forest()
    ).fit(MIXED, Y)
    check(read_model(model, FEATURES, NAMES), model.predict(ALL_MIXED), "tree")


def test_an_encoder_that_ignores_unknown_values_does_not_let_a_wrong_form_through():
    """Fitted on numbers, asked with text, OneHotEncoder(handle_unknown="ignore") would answer zeros in silence."""
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), forest()).fit(MIXED, Y)
    check(read_model(model, FEATURES, NAMES), model.predict(ALL_MIXED), "tree")
    other = TRAINING.assign(dose=TRAINING["dose"].map({"0": "p", "1": "q", "2": "r", "3": "s"}))
    wrong = make_pipeline(OneHotEncoder(handle_unknown="ignore"), forest()).fit(other, Y)
    with pytest.raises(EncodingError, match="other values of 'dose': it knows none of the states '0', '1', '2', '3'"):
        read_model(wrong, FEATURES, NAMES)


def test_a_rare_state_that_the_encoder_ignores_on_purpose():
    seen = (TRAINING["pollution"] != "mid").to_numpy()
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), forest()).fit(TRAINING[seen], Y[seen])
    check(read_model(model, FEATURES, NAMES), model.predict(ALL), "tree")


class Doubled(Pipeline):
    """A Pipeline whose last step alone does not give its answer."""

    def predict(self, x, **settings):
        return 2 * super().predict(x, **settings)


def test_a_pipeline_with_an_answer_of_its_own_is_not_taken_apart():
    model = Doubled([("encode", OrdinalEncoder()), ("forest", forest())]).fit(TRAINING, Y)
    predictor = read_model(model, FEATURES, NAMES)
    check(predictor, model.predict(ALL), "black box")
    assert predictor.reason == "the final step RandomForestRegressor alone does not give the output of the model"


# --- states that are numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_frame", [True, False])
@pytest.mark.parametrize("kind", [int, float, str, np.int64])
def test_states_that_are_numbers(kind, as_frame):
    states = tuple(tuple(kind(label) for label in labels) for labels in NUMBERS)
    x = pd.DataFrame(CODES.astype(float), columns=list(FEATURES)) if as_frame else CODES
    model = forest().fit(x, Y)
    expected = model.predict(pd.DataFrame(ROWS.astype(float), columns=list(FEATURES)) if as_frame else ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(read_model(model, FEATURES, states), expected, "tree")


# --- categories -------------------------------------------------------------------------------------------------

CATEGORICAL = {
    "XGBoost": lambda: xgboost.XGBRegressor(enable_categorical=True, **XGB),
    "LightGBM": lambda: lightgbm.LGBMRegressor(min_data_per_group=3, cat_smooth=0.1, **LGB),
    "histogram boosting": lambda: HistGradientBoostingRegressor(max_iter=6, categorical_features="from_dtype"),
}


@pytest.mark.parametrize("name", CATEGORICAL)
@pytest.mark.parametrize(
    "columns", [["smoker", "pollution", "age"], list(FEATURES)], ids=["names as categories", "all as categories"]
)
def test_pandas_categories_are_matched_by_name(name, columns):
    """Whatever order the categories of the training data had: alphabetical here, not the order of the states."""
    training = MIXED.assign(**{c: pd.Categorical(TRAINING[c]) for c in columns})
    model = CATEGORICAL[name]().fit(training, Y)
    rows = ALL_MIXED.assign(**{c: pd.Categorical(ALL[c], categories=training[c].cat.categories) for c in columns})
    predictor = read_model(model, FEATURES, NAMES)
    assert predictor.kind == "tree", predictor.reason
    expected = model.predict(rows)
    np.testing.assert_allclose(predictor.predict(ROWS)[:, 0], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(predictor.products.evaluate(ROWS)[:, 0], expected, rtol=0, atol=3e-6)


@pytest.mark.parametrize("make", [lambda: xgboost.XGBRegressor(**XGB), lambda: lightgbm.LGBMRegressor(**LGB), forest])
def test_names_never_become_codes_behind_the_users_back(make):
    model = make().fit(frame(CODES, NUMBERS).astype(float), Y)
    with pytest.raises(EncodingError) as error:
        read_model(model, FEATURES, NAMES)
    message = str(error.value)
    assert "feature 'smoker' (and 2 more) has the states 'no', 'yes'" in message
    assert "encoder={'smoker': {'no': 0, 'yes': 1}}" in message


# --- encoder= ---------------------------------------------------------------------------------------------------

PER_FEATURE = {name: {label: code for code, label in enumerate(NAMES[v])} for v, name in enumerate(FEATURES)}
SHARED = {"no": 0, "yes": 1, "low": 0, "mid": 1, "high": 2, "young": 0, "old": 1}


@pytest.mark.parametrize("mapping", [PER_FEATURE, SHARED, {k: v for k, v in PER_FEATURE.items() if k != "dose"}])
@pytest.mark.parametrize("as_frame", [True, False])
def test_mappings(mapping, as_frame):
    x = frame(CODES, NUMBERS) if as_frame else CODES
    model = forest().fit(x, Y)
    expected = model.predict(frame(ROWS, NUMBERS) if as_frame else ROWS)
    check(read_model(model, FEATURES, NAMES, encoder=mapping), expected, "tree")


def test_label_encoders_by_feature():
    encoders = {name: LabelEncoder().fit(TRAINING[name]) for name in FEATURES}

    def encode(rows):
        return np.column_stack([encoders[name].transform(rows[name]) for name in FEATURES])

    model = forest().fit(encode(TRAINING), Y)
    check(read_model(model, FEATURES, NAMES, encoder=encoders), model.predict(encode(ALL)), "tree")


ENCODERS = {
    "ordinal": OrdinalEncoder(),
    "one-hot": OneHotEncoder(),
    "frame": OrdinalEncoder().set_output(transform="pandas"),
    "columns": ColumnTransformer([("hot", OneHotEncoder(), ["pollution", "age"])], remainder=OrdinalEncoder()),
}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("opaque", [False, True], ids=["estimator", "callable"])
def test_fitted_encoders(name, opaque):
    encoder = ENCODERS[name].fit(TRAINING)
    model = forest().fit(encoder.transform(TRAINING), Y)
    expected = model.predict(encoder.transform(ALL))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = (lambda x: model.predict(x)) if opaque else model
        predictor = read_model(given, FEATURES, NAMES, encoder=encoder)
    check(predictor, expected, "black box" if opaque else "tree")
    assert predictor.path.transformers == ()  # tabulated: the encoder is not run on every call


def test_an_encoder_in_front_of_a_model_that_knows_names():
    """The model was fitted on a DataFrame of codes, with the columns in an order of its own."""
    encoder = OrdinalEncoder().fit(TRAINING.to_numpy(dtype=object))
    columns = ["dose", "age", "smoker", "pollution"]

    def encode(rows):
        codes = encoder.transform(rows.to_numpy(dtype=object))
        return pd.DataFrame(codes, columns=list(FEATURES))[columns]

    model = forest().fit(encode(TRAINING), Y)
    check(read_model(model, FEATURES, NAMES, encoder=encoder), model.predict(encode(ALL)), "tree")


def test_the_prefixes_of_a_column_transformer_are_looked_through():
    """It calls its columns hot__age; the model was fitted on a DataFrame whose columns carry the plain names."""
    encoder = ColumnTransformer([("a", OrdinalEncoder(), ["age", "dose"])], remainder=OrdinalEncoder()).fit(TRAINING)

    def encode(rows):
        return pd.DataFrame(encoder.transform(rows), columns=["age", "dose", "smoker", "pollution"])[list(FEATURES)]

    model = forest().fit(encode(TRAINING), Y)
    check(read_model(model, FEATURES, NAMES, encoder=encoder), model.predict(encode(ALL)), "tree")


# --- callables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "states"),
    [
        (lambda x: (x["smoker"] == "yes") * 2.0 + (x["dose"] == "3"), NAMES),
        (lambda x: [2.0 * (row[0] == "yes") + (row[2] == "3") for row in np.asarray(x)], NAMES),
        (lambda x: [2.0 * (row[0] == "yes") + (row[2] == "3") for row in x], NAMES),
        (lambda x: 2.0 * x[:, 0] + (x[:, 2] == 3), NUMBERS),
        (lambda x: 2.0 * x["smoker"] + (x["dose"] == 3), NUMBERS),
        (lambda x: 2.0 * x["smoker"] + (x["dose"] == 3), DIGITS),
        (lambda x: 2.0 * x[:, 0] + (x[:, 2] == 3), DIGITS),
        (lambda x: (x["smoker"] == "1") * 2.0 + (x["dose"] == "3"), DIGITS),
        (lambda x: (x["smoker"] == 1) * 2.0 + (x["dose"] == 3), DIGITS),
        (lambda x: np.asarray(x).astype(float) @ [2.0, 0, 0, 0] + (np.asarray(x).astype(float)[:, 2] == 3), DIGITS),
        (lambda x: x["smoker"].map({0: 0.0, 1: 2.0}) + (x["dose"] == 3), NUMBERS),
    ],
)
def test_callables_get_what_they_understand(function, states):
    predictor = read_model(function, FEATURES, states)
    check(predictor, 2.0 * ROWS[:, 0] + (ROWS[:, 2] == 3), "black box")
    assert "is a callable" in predictor.reason


def test_a_callable_around_a_model_does_not_warn_about_names():
    """sklearn warns when a model fitted on an array gets a DataFrame, and the other way round."""
    on_array = forest().fit(CODES, Y)
    on_frame = forest().fit(frame(CODES, NUMBERS).astype(float), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (on_array, on_frame):
            predictor = read_model(lambda x, m=model: m.predict(x), FEATURES, DIGITS)
            check(predictor, on_array.predict(ROWS), "black box")


def test_a_bound_method_is_as_good_as_its_owner():
    model = make_pipeline(OrdinalEncoder(), DecisionTreeRegressor(random_state=0)).fit(TRAINING, Y)
    check(read_model(model.predict, FEATURES, NAMES), model.predict(ALL), "tree")


def test_text_and_numbers_that_mean_different_things_are_ambiguous():
    def odd(x):
        return [
            1.0 * (row[0] == 1) + 2.0 * (row[0] == "1") + 3.0 * (str(row[2]) in ("3", "2.0")) for row in np.asarray(x)
        ]

    with pytest.raises(
        EncodingError, match=r"answers differently \(for example '0' and 0\); say what is meant with enc"
    ):
        read_model(odd, FEATURES, DIGITS)
    text = {name: {label: label for label in DIGITS[v]} for v, name in enumerate(FEATURES)}
    check(read_model(odd, FEATURES, DIGITS, encoder=text), 2.0 * ROWS[:, 0] + 3.0 * (ROWS[:, 2] == 3), "black box")
