"""Models that are sums of products of one-feature functions: what exact values can be computed for.

    M(x) = offset + sum over terms t of  coefficients[t] * prod over features v of  g_tv(x_v)

A leaf of a decision tree is such a term (each ``g`` is the indicator of a set of states), and so is each
summand of a linear model (a single ``g`` that is not constant). The expectation of a term under a network is one
query, whatever the model it came from.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

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
        codes = np.asarray(codes)
        n_rows = len(codes)
        term, feature = np.nonzero(self.terms)
        by_feature = np.argsort(feature, kind="stable")
        starts = np.searchsorted(feature[by_feature], np.arange(len(self.vectors) + 1))
        users = [term[by_feature[a:b]] for a, b in pairwise(starts)]
        alive = np.full((self.n_terms, (n_rows + 7) // 8), 255, dtype=np.uint8)
        for v, mine in enumerate(users):
            if len(mine):
                nonzero = np.packbits((self.vectors[v] != 0)[:, codes[:, v]], axis=1)
                alive[mine] &= nonzero[self.terms[mine, v]]
        term, row = np.nonzero(np.unpackbits(alive, axis=1, count=n_rows))
        first = np.searchsorted(term, np.arange(self.n_terms + 1))
        products = np.ones(len(term))
        for v, mine in enumerate(users):
            if len(mine) and not np.isin(self.vectors[v], (0.0, 1.0)).all():
                pairs = _ranges(first[mine], first[mine + 1])
                products[pairs] *= self.vectors[v][self.terms[term[pairs], v], codes[row[pairs], v]]
        outputs = [
            np.bincount(row, weights=products * self.coefficients[term, o], minlength=n_rows)
            for o in range(self.n_outputs)
        ]
        return self.offset + np.stack(outputs, axis=1)


def _ranges(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """``start, ..., stop - 1`` for each pair, end to end."""
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
