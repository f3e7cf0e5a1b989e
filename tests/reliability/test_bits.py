"""The comparison of two commits by their bits: what is equal, what is not, and by how much."""

import numpy as np
import pytest

from tests.reliability import bits


def explanation(values, error=None, backend="ideals x table", features=("a", "b"), asked="auto"):
    return {
        "asked": asked,
        "backend": backend,
        "features": list(features),
        "values": bits.packed(values),
        "base": bits.packed([0.5]),
        "error": bits.packed(error),
    }


PLAIN = explanation([[1.0, -2.0]])


def exactly(x, backend="orders x trees", error=None):
    return explanation([[1.0, x]], error, backend)


@pytest.mark.parametrize(
    ("one", "other", "kind", "size"),
    [
        (PLAIN, PLAIN, bits.SAME, 0.0),
        (PLAIN, explanation([[1.0, np.nextafter(-2.0, 0)]]), bits.LAST_BITS, 1.1102230246251565e-16),
        (PLAIN, explanation([[1.0, -2.2]]), bits.NUMBERS, 0.1),
        (PLAIN, explanation([[1.0, -2.2]], backend="forest"), bits.OTHER, 0.1),
        (PLAIN, explanation([[-2.0, 1.0]], features=("b", "a")), bits.LAST_BITS, 0.0),  # in another sequence
        (exactly(2.0, error=[[0.0, 0.3]]), exactly(3.0, error=[[0.0, 0.3]]), bits.SAMPLE, 1 / np.hypot(0.3, 0.3)),
        # an error of zero is not a sample
        (exactly(2.0, "forest", [[0.0, 0.0]]), exactly(2.1, "paths", [[0.0, 0.0]]), bits.OTHER, 0.05),
        # the same draws give the same errors: XGBoost's float32 is no sampling error
        (exactly(2.0, error=[[0.0, 0.3]]), exactly(2 + 1e-8, "orders x table", [[0.0, 0.3]]), bits.OTHER, 5e-9),
        (exactly(2.0, error=[[0.0, 0.3]]), exactly(2 + 1e-8, "orders x table", [[0.0, 0.3 + 1e-8]]), bits.OTHER, 5e-9),
        (exactly(2.0, error=[[0.0, 0.3]]), exactly(2.0, "orders x table", [[0.0, 0.31]]), bits.SAMPLE, 0.0),
    ],
)
def test_kinds_of_differences(one, other, kind, size):
    found, by = bits.compare_explanations(one, other)
    assert found == kind
    assert by == pytest.approx(size)
