"""Models that are sums of products of one-feature functions: what exact values can be computed for.

    M(x) = offset + sum over terms t of  coefficients[t] * prod over features v of  g_tv(x_v)

A leaf of a decision tree is such a term (each ``g`` is the indicator of a set of states), and so is each
summand of a linear model (a single ``g`` that is not constant). The expectation of a term under a network is one
query, whatever the model it came from.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class SumOfProducts:
    """A model as arrays.

    Attributes
    ----------
    vectors : tuple of float64 arrays, one per feature, each of shape (V_v, card(v))
        The distinct functions ``g`` of feature ``v``, tabulated over its states. Row 0 is all ones ("the term does not
        look at v").
    terms : int32 array (T, n)
        ``terms[t, v]`` is the row of ``vectors[v]`` that term ``t`` uses.
    coefficients : float64 array (T, k)
        One column per model output.
    offset : float64 array (k,)
    """

    vectors: tuple[np.ndarray, ...]
    terms: np.ndarray
    coefficients: np.ndarray
    offset: np.ndarray

    @property
    def n_outputs(self) -> int:
        return self.coefficients.shape[1]

    @property
    def n_terms(self) -> int:
        return self.terms.shape[0]

    def evaluate(self, codes: np.ndarray) -> np.ndarray:
        """M at rows of state codes (r, n) -> (r, k). O(r T n): for probing and tests, not for bulk prediction."""
        products = np.ones((len(codes), self.n_terms))
        for v, vectors in enumerate(self.vectors):
            if len(vectors) > 1:
                products *= vectors[self.terms[:, v]][:, codes[:, v]].T
        return self.offset + products @ self.coefficients
