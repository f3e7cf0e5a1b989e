"""Numerical extremes: each within its stated tolerance, nothing NaN, no warning (pytest turns them into errors)."""

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer
from tests.reliability.extremes import EXTREMES, interacting, tiny_network


@pytest.mark.parametrize("extreme", [e for e in EXTREMES if e.quick], ids=lambda extreme: extreme.name)
def test_gaps_stay_within_their_tolerance(extreme):
    gaps = extreme.measure()
    assert gaps.efficiency <= extreme.tolerance
    assert gaps.values is None or gaps.values <= extreme.tolerance


def test_rare_rows_and_common_rows_together():
    """A row of probability 1e-600 among others: each is what it is alone."""
    network = tiny_network()
    explainer = AsymmetricExplainer(interacting, network, feature_names=network.names, algorithm="ideals x table")
    rows = np.array([[0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [0, 0, 1, 1, 0], [1, 1, 1, 1, 0]])
    together = explainer(rows).values
    for row, values in zip(rows, together, strict=True):
        np.testing.assert_allclose(explainer(row).values[0], values, rtol=0, atol=1e-14)
    np.testing.assert_allclose(together.sum(axis=1) + explainer.expected_value, interacting(rows), atol=1e-12)
