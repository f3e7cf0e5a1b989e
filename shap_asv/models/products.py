"""Models that are sums of products of one-feature functions: what exact values can be computed for.

    M(x) = offset + sum over terms t of  coefficients[t] * prod over features v of  g_tv(x_v)

A leaf of a decision tree is such a term (each ``g`` is the indicator of a set of states), and so is each
summand of a linear model (a single ``g`` that is not constant). The expectation of a term under a network is one
query, whatever the model it came from.
"""

from dataclasses import dataclass

import numpy as np


class NotSumOfProducts(Exception):
    """A model is no sum of products, or could not be read as one. Its message is a sentence for the plan."""


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
        """M at rows of state codes (r, n) -> (r, k): for probing and tests, not for bulk prediction.

        First the terms that are not zero at a row, from bitsets over terms, O(r n T / 8); then their products only.
        A tree has one such term per row.
        """
        codes = np.asarray(codes)
        alive = np.full((len(codes), (self.n_terms + 7) // 8), 255, dtype=np.uint8)
        seen = [v for v, vectors in enumerate(self.vectors) if len(vectors) > 1]
        for v in seen:
            nonzero = np.packbits((self.vectors[v] != 0)[self.terms[:, v]].T, axis=1)  # (card, T / 8)
            alive &= nonzero[codes[:, v]]
        row, term = np.nonzero(np.unpackbits(alive, axis=1, count=self.n_terms))
        products = np.ones(len(row))
        for v in seen:
            products *= self.vectors[v][self.terms[term, v], codes[row, v]]
        outputs = [
            np.bincount(row, weights=products * self.coefficients[term, o], minlength=len(codes))
            for o in range(self.n_outputs)
        ]
        return self.offset + np.stack(outputs, axis=1)
