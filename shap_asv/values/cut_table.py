"""Exact causal values of any model on a small state space: tabulate it once, then sum under each truncated joint.

    nu(S) = sum over x_rest of  P(x_rest | do(x_S = e_S)) M(e_S, x_rest)

Under interventions the distribution of the rest is not a quotient of one joint table: each coalition has a joint of
its own, the product of the CPTs that are not cut. It is written down once per coalition, for all rows together.
"""

import numpy as np

from shap_asv.backgrounds.contract import CUT_JOINT, IntervenedJoint
from shap_asv.backgrounds.discrete.joint import rough
from shap_asv.errors import BudgetExceededError
from shap_asv.models.contract import BLACK_BOX, Predictor
from shap_asv.values.contract import Cost, ValueMethod, ValueOptions, Workload, blocks
from shap_asv.values.table import STATE_LIMIT

_SECONDS_PER_CELL = 2e-9
_SECONDS_PER_COALITION = 2e-4


class CutTable:
    """nu of any model under interventions on a discrete network, exactly.

    Parameters
    ----------
    batch_size : int
        Rows per call of the model.
    """

    exact = True

    def __init__(self, background: IntervenedJoint, predictor: Predictor, batch_size: int = 65_536) -> None:
        obstacle = _limit(background, predictor)
        if obstacle is not None:
            raise BudgetExceededError(f"the model cannot be tabulated: {obstacle}")
        self.background = background
        self.n_outputs = predictor.n_outputs
        cards = background.cardinalities
        table = np.empty((background.size, self.n_outputs))
        for block in blocks(background.size, batch_size):
            states = np.stack(np.unravel_index(np.arange(block.start, block.stop), cards), axis=1)
            table[block] = predictor.predict(states)
        self._m = table.reshape(*cards, self.n_outputs)

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and codes (r, n) -> float64 (r, m, k). O(states n) for each coalition."""
        result = np.empty((len(rows), len(coalitions), self.n_outputs))
        for j, members in enumerate(coalitions):
            weights = self.background.intervened_joint(members)
            rest = tuple(np.flatnonzero(~members).tolist())
            means = (weights[..., None] * self._m).sum(axis=rest)
            result[:, j] = means[tuple(rows[:, v] for v in np.flatnonzero(members))] if members.any() else means
        return result


def _limit(background: IntervenedJoint, predictor: Predictor) -> str | None:
    if background.size > STATE_LIMIT:
        return f"{rough(background.size)} joint states, more than {STATE_LIMIT:,}"
    return background.joint_obstacle()[1]


def _cost(background: IntervenedJoint, predictor: Predictor, work: Workload) -> Cost:
    size, k = background.size, predictor.n_outputs
    cells = work.n_coalitions * (size * (work.n_features + 2 * k) + work.n_rows * k)
    memory = 8 * (size * (3 * k + 2) + work.n_rows * work.n_coalitions * k) + 16 * background.joint_obstacle()[0]
    seconds = predictor.seconds(size, -(-size // work.rows_per_call(predictor)))
    seconds += cells * _SECONDS_PER_CELL + work.n_coalitions * _SECONDS_PER_COALITION
    return Cost(model_calls=size, queries=work.n_coalitions, seconds=seconds, memory=memory)


def _build(background: IntervenedJoint, predictor: Predictor, options: ValueOptions) -> CutTable:
    return CutTable(background, predictor, options.batch_size)


CUT_TABLE = ValueMethod("cut table", True, CUT_JOINT, BLACK_BOX, _cost, _build, _limit, asks_first=True)
