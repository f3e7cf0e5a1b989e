"""Exact values of any model on a small state space: tabulate it once, then sum variables out.

With T(x) = P(x) M(x) over all joint states of the features (latent nodes already summed out of P),

    nu(S) = A_S(e_S) / B_S(e_S),     A_S = sum over x_rest of T,     B_S = sum over x_rest of P,

and ``A_S = sum over x_v of A_{S+v}``: the tables of smaller coalitions come from those of larger ones. This needs no
property of the causal order or of the network. A table is kept only while a smaller coalition still waits for it.

Doubles end at 1e-308. A row rarer than :data:`RARE` is summed from logarithms instead, one coalition at a time.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from shap_asv.backgrounds.contract import JOINT, FiniteStates, IntervenedJoint, JointTable
from shap_asv.backgrounds.discrete.joint import rough
from shap_asv.errors import BudgetExceededError
from shap_asv.models.contract import BLACK_BOX, Predictor
from shap_asv.values.contract import Cost, ValueMethod, ValueOptions, Workload, blocks

#: Joint states of the features that may be tabulated.
STATE_LIMIT = 2_000_000
#: Below this probability of a row, states that underflow could weigh as much as a rounding error.
RARE = 1e-280
SECONDS_PER_CELL = 2e-9


class TabulatedModel:
    """nu of any model under a discrete network, exactly, by tabulating the model over all joint states.

    With ``impossible="relax"`` evidence that contradicts itself is not conditioned on, so a row of probability zero
    cannot be read off the tables; its coalitions are summed one by one, with
    :meth:`JointTable.possible_evidence` as the condition.
    """

    def __init__(self, background: JointTable, predictor: Predictor, options: ValueOptions) -> None:
        self.background = background
        self.n_outputs = predictor.n_outputs
        self._m = tabulate(background, predictor, options.batch_size)
        self._p = background.feature_joint()

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and codes (r, n) -> float64 (r, m, k)."""
        result = np.empty((len(rows), len(coalitions), self.n_outputs))
        rare = self._p[tuple(rows.T)] < RARE
        if rare.any():
            result[rare] = self._one_by_one(coalitions, rows[rare])
        common = np.flatnonzero(~rare)
        if len(common):
            self._fill(result, coalitions, rows, common)
        return result

    def _fill(self, result: np.ndarray, coalitions: np.ndarray, rows: np.ndarray, common: np.ndarray) -> None:
        """Walk the coalitions from large to small; each takes its table from the smallest one at hand that holds it."""
        n = rows.shape[1]
        full = (1 << n) - 1
        weights = [1 << v for v in range(n)]
        keys = [sum(w for w, inside in zip(weights, members, strict=True) if inside) for members in coalitions.tolist()]
        tables: dict[int, tuple[np.ndarray, np.ndarray]] = {full: (self._p[..., None] * self._m, self._p)}
        by_size: dict[int, list[int]] = {}
        for position, key in enumerate(keys):
            by_size.setdefault(key.bit_count(), []).append(position)
        for size in sorted(by_size, reverse=True):
            fresh: dict[int, tuple[np.ndarray, np.ndarray]] = {}
            for position in by_size[size]:
                key = keys[position]
                if key in tables:
                    fresh[key] = tables[key]
                elif key not in fresh:
                    source = self._superset_at_hand(key, n, tables)
                    a, b = tables[source]
                    gone = tuple(v for v in range(n) if (source >> v) & 1 and not (key >> v) & 1)
                    fresh[key] = (a.sum(axis=gone, keepdims=True), b.sum(axis=gone, keepdims=True))
                a, b = fresh[key]
                index = tuple(rows[common, v] if (key >> v) & 1 else 0 for v in range(n))
                result[common, position] = (
                    (a[index] / b[index][..., None]) if key else (a.reshape(-1) / b.reshape(-1))[None, :]
                )
            # what is to come needs this level, and the full table as a last resort
            tables = {full: tables[full], **fresh}

    @staticmethod
    def _superset_at_hand(key: int, n: int, tables: dict[int, tuple[np.ndarray, np.ndarray]]) -> int:
        """The coalition with one feature more that has the smallest table;

        in a lattice of ideals there always is one.
        """
        above = [key | (1 << v) for v in range(n) if not (key >> v) & 1]
        return min((c for c in above if c in tables), key=lambda c: tables[c][1].size, default=(1 << n) - 1)

    @cached_property
    def _log_p(self) -> np.ndarray:
        """``log P(x)`` over all joint states: what has underflowed in ``_p`` is still told apart."""
        ask = self.background.log_probability
        return np.concatenate([ask(states) for _, states in all_states(self.background, 65_536)]).reshape(self._p.shape)

    def _one_by_one(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Rare and impossible rows: the model sees e_S, the rest follows the part of e_S that is possible."""
        out = np.empty((len(rows), len(coalitions), self.n_outputs))
        for i, row in enumerate(rows):
            for j, members in enumerate(coalitions):
                evidence = np.where(members, row, -1)
                given = self.background.possible_evidence(evidence[None])[0]
                log_p = self._log_p[tuple(slice(None) if code < 0 else slice(code, code + 1) for code in given)]
                p = np.exp(log_p - log_p.max())  # only ratios count
                dropped = tuple(v for v in range(len(row)) if members[v] and given[v] < 0)
                p = p.sum(axis=dropped, keepdims=True)
                m = self._m[
                    tuple(slice(e, e + 1) if inside else slice(None) for e, inside in zip(row, members, strict=True))
                ]
                out[i, j] = (p[..., None] * m).reshape(-1, self.n_outputs).sum(axis=0) / p.sum()
        return out


def all_states(background: FiniteStates, at_a_time: int) -> Iterator[tuple[slice, np.ndarray]]:
    """The joint states of the features in C order: (which ones, codes (b, n))."""
    for block in blocks(background.size, at_a_time):
        codes = np.unravel_index(np.arange(block.start, block.stop), background.cardinalities)
        yield block, np.stack(codes, axis=1)


def tabulate(background: JointTable | IntervenedJoint, predictor: Predictor, batch_size: int) -> np.ndarray:
    """The model at every joint state of the features: float64, one axis per feature and one for the outputs."""
    obstacle = tabulation_limit(background, predictor)
    if obstacle is not None:
        raise BudgetExceededError(
            f"the model cannot be tabulated: {obstacle}; use algorithm='sampling', or fewer features"
        )
    table = np.empty((background.size, predictor.n_outputs))
    for block, states in all_states(background, batch_size):
        table[block] = predictor.predict(states)
    return table.reshape(*background.cardinalities, predictor.n_outputs)


def tabulation_limit(background: JointTable | IntervenedJoint, predictor: Predictor) -> str | None:
    """Why the states are too many; None where they are not."""
    if background.size > STATE_LIMIT:
        return f"{rough(background.size)} joint states, more than {STATE_LIMIT:,}"
    return background.joint_obstacle()[1]


def tabulation_cost(
    background: JointTable | IntervenedJoint, predictor: Predictor, work: Workload, seconds: float
) -> Cost:
    """Asking the model about every state, and ``seconds`` for the sums."""
    size, k = background.size, predictor.n_outputs
    memory = 8 * (size * (3 * k + 2) + work.n_rows * work.n_coalitions * k) + 16 * background.joint_obstacle()[0]
    return Cost(size, work.n_coalitions, work.seconds_to_ask(predictor, size) + seconds, memory)


def _cost(background: JointTable, predictor: Predictor, work: Workload) -> Cost:
    # half the features are summed out of a typical coalition's superset
    cells = work.n_coalitions * (background.size**0.5 * 4 + work.n_rows) * (predictor.n_outputs + 1)
    return tabulation_cost(background, predictor, work, cells * SECONDS_PER_CELL + work.n_coalitions * 5e-5)


TABLE = ValueMethod("table", True, JOINT, BLACK_BOX, _cost, TabulatedModel, tabulation_limit, asks_first=True)
