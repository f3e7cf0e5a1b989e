"""SumOfProducts.evaluate against the definition, term by term."""

import numpy as np
import pytest

from shap_asv.models.products import SumOfProducts


def by_definition(products, codes):
    outputs = np.tile(products.offset, (len(codes), 1))
    for r, row in enumerate(codes):
        for t in range(products.n_terms):
            factor = 1.0
            for v, code in enumerate(row):
                factor *= products.vectors[v][products.terms[t, v], code]
            outputs[r] += factor * products.coefficients[t]
    return outputs


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("indicators", [True, False])
def test_evaluate_is_the_definition(seed, indicators):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 5, size=rng.integers(1, 6))
    vectors = []
    for card in cards:
        rest = rng.normal(size=(rng.integers(0, 4), card)) * (rng.random((1, card)) < 0.8)
        vectors.append(np.concatenate([np.ones((1, card)), (rest > 0).astype(float) if indicators else rest]))
    n_terms, k = int(rng.integers(1, 30)), int(rng.integers(1, 4))
    terms = np.stack([rng.integers(len(v), size=n_terms) for v in vectors], axis=1).astype(np.int32)
    products = SumOfProducts(tuple(vectors), terms, rng.normal(size=(n_terms, k)), rng.normal(size=k))
    codes = rng.integers(cards, size=(21, len(cards)))
    np.testing.assert_allclose(products.evaluate(codes), by_definition(products, codes), rtol=0, atol=1e-12)


def test_no_terms_and_no_rows():
    constant = SumOfProducts(
        (np.ones((1, 2)),), np.zeros((0, 1), dtype=np.int32), np.zeros((0, 2)), np.array([1.0, 2.0])
    )
    np.testing.assert_array_equal(constant.evaluate(np.array([[0], [1]])), [[1, 2], [1, 2]])
    assert constant.evaluate(np.zeros((0, 1), dtype=int)).shape == (0, 2)
