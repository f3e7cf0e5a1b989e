"""Exact causal values of any model on a small state space: tabulate it once, then sum under each truncated joint.

    nu(S) = sum over x_rest of  P(x_rest | do(x_S = e_S)) M(e_S, x_rest)

Under interventions the distribution of the rest is not a quotient of one joint table: each coalition has a joint of
its own, the product of the CPTs that are not cut. It is written down once per coalition, for all rows together.
"""

import numpy as np

from shap_asv.backgrounds.contract import CUT_JOINT, IntervenedJoint
from shap_asv.costs import Cost
from shap_asv.models.contract import BLACK_BOX, Predictor
from shap_asv.values.contract import ValueMethod, ValueOptions, Workload
from shap_asv.values.table import tabulate, tabulation_cost, tabulation_limit


class CutTable:
    """nu of any model under interventions on a discrete network, exactly."""

    def __init__(self, background: IntervenedJoint, predictor: Predictor, options: ValueOptions) -> None:
        self.background = background
        self.n_outputs = predictor.n_outputs
        self._m = tabulate(background, predictor, options.batch_size)

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and codes (r, n) -> float64 (r, m, k). O(states n) for each coalition."""
        result = np.empty((len(rows), len(coalitions), self.n_outputs))
        for j, members in enumerate(coalitions):
            weights = self.background.intervened_joint(members)
            rest = tuple(np.flatnonzero(~members).tolist())
            means = (weights[..., None] * self._m).sum(axis=rest)
            result[:, j] = means[tuple(rows[:, v] for v in np.flatnonzero(members))] if members.any() else means
        return result


def _cost(background: IntervenedJoint, predictor: Predictor, work: Workload) -> Cost:
    size, k = background.size, predictor.n_outputs
    cells = work.n_coalitions * (size * (work.n_features + 2 * k) + work.n_rows * k)
    return tabulation_cost(background, predictor, work, cells) + Cost({"intervened table": work.n_coalitions})


CUT_TABLE = ValueMethod("cut table", True, CUT_JOINT, BLACK_BOX, _cost, CutTable, tabulation_limit, asks_first=True)
