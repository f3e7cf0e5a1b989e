"""Which transformers are functions of one feature per column, found by asking them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)

from shap_asv.models.inputs import discover_columns
from shap_asv.models.products import NotSumOfProducts
from tests.models.problems import NAMES, all_rows, cardinalities, frame, target, training_codes

CODES = training_codes(NAMES)
TRAINING = frame(CODES, NAMES)

SEPARABLE = {
    "ordinal": OrdinalEncoder(),
    "one-hot": OneHotEncoder(),
    "one-hot, dense, first dropped": OneHotEncoder(sparse_output=False, drop="first"),
    "one-hot of rare states": OneHotEncoder(min_frequency=0.3, handle_unknown="infrequent_if_exist"),
    "scaled": make_pipeline(OrdinalEncoder(), StandardScaler()),
    "binned": make_pipeline(OrdinalEncoder(), KBinsDiscretizer(2, strategy="uniform")),
    "target encoder": TargetEncoder(random_state=0),
    "columns": ColumnTransformer(
        [("hot", OneHotEncoder(), ["age", "pollution"]), ("ordinal", OrdinalEncoder(), ["dose"])], remainder="drop"
    ),
    "columns as a frame": ColumnTransformer(
        [("ordinal", OrdinalEncoder(), ["dose", "age"])], remainder=OrdinalEncoder()
    ).set_output(transform="pandas"),
    "two columns of one feature": make_pipeline(
        OrdinalEncoder(), FunctionTransformer(lambda x: np.column_stack([x, x[:, 1] ** 2]))
    ),
    "constant column": make_pipeline(
        OrdinalEncoder(), FunctionTransformer(lambda x: np.column_stack([np.full(len(x), 7.0), x]))
    ),
    "NaN for a state": make_pipeline(OrdinalEncoder(), FunctionTransformer(lambda x: np.where(x == 1, np.nan, x))),
}


@pytest.mark.parametrize("name", SEPARABLE)
def test_tables_reproduce_the_transformer_at_every_state(name):
    transformer = SEPARABLE[name].fit(TRAINING, target(CODES))
    columns = discover_columns(lambda codes: transformer.transform(frame(codes, NAMES)), cardinalities(NAMES))
    rows = all_rows(NAMES)
    expected = transformer.transform(frame(rows, NAMES))
    if isinstance(expected, pd.DataFrame):
        assert columns.names == tuple(expected.columns)
    expected = expected.toarray() if hasattr(expected, "toarray") else np.asarray(expected)
    np.testing.assert_array_equal(columns.matrix(rows), expected)


MIXING = {
    "PCA": make_pipeline(OneHotEncoder(sparse_output=False), PCA(3)),
    "row norm": make_pipeline(OrdinalEncoder(), Normalizer()),
    "products": make_pipeline(OrdinalEncoder(), PolynomialFeatures(2)),
    "product that is 0 at the base": make_pipeline(
        OrdinalEncoder(), FunctionTransformer(lambda x: (x[:, :1] - x[0, 0]) * (x[:, 1:2] - x[0, 1]))
    ),
    "rows that look at each other": make_pipeline(OrdinalEncoder(), FunctionTransformer(lambda x: x - x.mean(axis=0))),
}


@pytest.mark.parametrize("name", MIXING)
def test_transformers_that_mix_features_are_found_out(name):
    transformer = MIXING[name].fit(TRAINING)
    with pytest.raises(NotSumOfProducts, match="depends on more than one feature"):
        discover_columns(lambda codes: transformer.transform(frame(codes, NAMES)), cardinalities(NAMES))


def test_an_interaction_that_only_random_rows_show():
    """Varying one feature at a time from a base row cannot see a product of two deviations."""

    def transform(codes):
        return np.column_stack([codes[:, 0], (codes[:, 0] == 1) * (codes[:, 2] == 3) * 1.0])

    with pytest.raises(NotSumOfProducts, match="column 1 "):
        discover_columns(transform, cardinalities(NAMES))


def test_steps_that_do_not_end_in_numbers():
    with pytest.raises(NotSumOfProducts, match="do not end in numbers"):
        discover_columns(lambda codes: frame(codes, NAMES), cardinalities(NAMES))
    with pytest.raises(NotSumOfProducts, match="do not end in a matrix"):
        discover_columns(lambda codes: codes[:, 0], cardinalities(NAMES))
