"""Values under a background that is a weighted table: ``nu(S) = sum over k of w_k(e_S) M(x^k)``.

Donors condition on e_S by giving every row of a table a weight and the entries of S; what is left of the row they lend.
Then nu is a finite sum. It has no error but that of the background itself: where draws would pick five hundred donors
by their weights, all of them are asked once.
"""

import numpy as np

from shap_asv.backgrounds.contract import WEIGHTED, WeightedRows, is_free
from shap_asv.costs import Cost
from shap_asv.models.predictor import BLACK_BOX, Predictor
from shap_asv.values.contract import (
    ValueMethod,
    ValueOptions,
    Workload,
    blocks,
    distinct_rows,
    drawing_cost,
    evidence_of,
)


class WeightedValues:
    """nu of any model under a weighted table, exactly; the rows of one coalition are always held together."""

    exact = True

    def __init__(self, background: WeightedRows, predictor: Predictor, options: ValueOptions) -> None:
        self.background = background
        self.predictor = predictor
        self.n_outputs = predictor.n_outputs
        self.batch_size = options.batch_size

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and rows (r, n) -> float64 (r, m, k)."""
        free = self.background.free
        evidence, back = distinct_rows(evidence_of(coalitions, rows, free))
        nu = np.empty((len(evidence), self.n_outputs))
        complete = ~is_free(evidence, free).any(axis=1)
        for block in blocks(int(complete.sum()), self.batch_size):  # nothing is open: one row each
            chosen = np.flatnonzero(complete)[block]
            nu[chosen] = self.predictor.predict(evidence[chosen])
        for block in blocks(int((~complete).sum()), self.batch_size // self.background.n_weighted):
            chosen = np.flatnonzero(~complete)[block]
            nu[chosen] = self._sums(evidence[chosen])
        return nu[back].reshape(len(rows), len(coalitions), self.n_outputs)

    def _sums(self, evidence: np.ndarray) -> np.ndarray:
        """(E, k). Every sum is one of its own, so that its bits do not depend on what else is in the batch."""
        rows, weights = self.background.weighted(evidence)
        counts = weights > 0
        outputs = np.zeros((*weights.shape, self.n_outputs))
        inputs, predicted = rows[counts], np.empty((int(counts.sum()), self.n_outputs))
        for piece in blocks(len(inputs), self.batch_size):
            predicted[piece] = self.predictor.predict(inputs[piece])
        outputs[counts] = predicted
        return np.stack([(own[:, None] * out).sum(axis=0) for own, out in zip(weights, outputs, strict=True)])


def _cost(background: WeightedRows, predictor: Predictor, work: Workload) -> Cost:
    count = background.n_weighted
    calls = work.n_rows * work.n_coalitions * count
    # rows as lent, those with weight, and as the model takes them; weights and outputs beside them
    at_once = max(min(calls, work.batch_size), count)
    held = at_once * (4 * work.n_features + 2 + 3 * predictor.n_outputs)
    held += work.n_rows * work.n_coalitions * (work.n_features + predictor.n_outputs)
    return Cost({}, 8 * held, calls, work.calls(predictor, calls)) + drawing_cost(background, work, count)


WEIGHTED_SUM = ValueMethod("weighted", True, WEIGHTED, BLACK_BOX, _cost, WeightedValues)
