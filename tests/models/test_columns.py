"""Which transformers are functions of one feature per column, found by asking them."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
)

from shap_asv.models.inputs import discover_columns
from shap_asv.models.products import NotSumOfProducts
from tests.models.problems import NAMES, cardinalities, frame, training_codes

CODES = training_codes(NAMES)
TRAINING = frame(CODES, NAMES)


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
