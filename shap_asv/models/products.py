"""Models that are sums of products of one-feature functions: what exact values can be computed for.

    M(x) = offset + sum over terms t of  coefficients[t] * prod over features v of  g_tv(x_v)

A leaf of a decision tree is such a term (each ``g`` is the indicator of a set of states), and so is each
summand of a linear model (a single ``g`` that is not constant). The expectation of a term under a network is one
query, whatever the model it came from.
"""

from dataclasses import dataclass, replace

import numpy as np


class NotSumOfProducts(Exception):
    """A model is not a sum of products, or could not be read as one. Its message is a sentence for the plan."""


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

    def only(self, terms: np.ndarray) -> "SumOfProducts":
        """The same offset with some of the terms, int (l,)."""
        return replace(self, terms=self.terms[terms], coefficients=self.coefficients[terms])

    def evaluate(self, codes: np.ndarray) -> np.ndarray:
        """M at rows of state codes (r, n) -> (r, k): for probing and tests, not for bulk prediction.

        First the (term, row) pairs at which no factor is zero, from bitsets over rows: O(r / 8) per factor that is not
        constant. Then their products, which are 1 where all functions are indicators. A tree has one such pair per row.
        """
        n_rows = len(codes)
        alive = np.full((self.n_terms, (n_rows + 7) // 8), 255, dtype=np.uint8)
        for v, vectors in enumerate(self.vectors):
            users = np.flatnonzero(self.terms[:, v])
            alive[users] &= np.packbits((vectors != 0)[:, codes[:, v]], axis=1)[self.terms[users, v]]
        term, row = np.nonzero(np.unpackbits(alive, axis=1, count=n_rows))
        products = np.ones(len(term))
        for v, vectors in enumerate(self.vectors):
            if not np.isin(vectors, (0.0, 1.0)).all():
                products *= vectors[self.terms[term, v], codes[row, v]]
        outputs = [
            np.bincount(row, weights=products * self.coefficients[term, o], minlength=n_rows)
            for o in range(self.n_outputs)
        ]
        return self.offset + np.stack(outputs, axis=1)
