"""Exact values of any model on a large state space: ask it about every possible state once, then count agreement.

For a row e let ``A(x)`` be the features in which a state x agrees with it. A coalition S is consistent with x if and
only if it lies in ``A(x)``, so with

    F(A) = sum of P(x) M(x) over the states x with A(x) = A

the numerators of all ``nu(S) = E[M | e_S]`` are sums over supersets,

    nu(S) P(e_S) = sum over A that contain S of F(A),        and P(e_S) likewise with M = 1,

which one sweep per feature gives for all 2^n coalitions at once (a zeta transform). A row costs one addition per state
and ``n 2^n`` more, whatever the coalitions are; no table of a coalition is ever held. The model is the expensive part:
no exact method can leave out a state of positive probability, since changing M there changes ``nu({})``.
"""

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from shap_asv.backgrounds.contract import JOINT, JointTable
from shap_asv.backgrounds.discrete.joint import rough
from shap_asv.errors import BudgetExceededError, MethodNotApplicableError
from shap_asv.models.calls.forms import show_row
from shap_asv.models.contract import BLACK_BOX, Predictor
from shap_asv.values.contract import Cost, ValueMethod, ValueOptions, Workload, blocks
from shap_asv.values.table import RARE

#: Joint states of the features that may be walked through.
STATE_LIMIT = 1 << 30
#: Features whose 2^n coalitions may be held for a row.
FEATURE_LIMIT = 22
_BLOCK = 1 << 19
_SUMS_HELD = 1 << 24
_AGREEMENT_HELD = 1 << 25
_SECONDS_AT_LEAST = 0.05
_SECONDS_PER_ADDITION = 6e-9
_SHOWN_FROM = 1 << 24


class EveryState:
    """nu of any model under a discrete network, exactly; the model is called once at every state that can occur.

    That is the long part, before the first row: progress is shown unless it is to be silent.
    """

    def __init__(self, background: JointTable, predictor: Predictor, options: ValueOptions) -> None:
        obstacle = _limit(background, predictor)
        if obstacle is not None:
            raise BudgetExceededError(f"not every state can be asked about: {obstacle}")
        self.background = background
        self.n_outputs = predictor.n_outputs
        cards = background.cardinalities
        self._n_fixed = next(n for n in range(len(cards) + 1) if math.prod(cards[n:]) <= _BLOCK)
        self.rows_at_a_time = _rows_at_a_time(background, self.n_outputs)
        self._last: tuple[bytes, np.ndarray] | None = None
        self._base = np.zeros(self.n_outputs)
        self._outputs = np.zeros((background.size, self.n_outputs))
        progress = _progress(background.size, options.silent)
        for where, p in self._blocks():
            possible = where.start + np.flatnonzero(p)
            for block in blocks(len(possible), options.batch_size):
                states = np.stack(np.unravel_index(possible[block], cards), axis=1)
                self._outputs[possible[block]] = predictor.predict(states)
            self._base += p @ self._outputs[where]
            progress.update(len(p))
        progress.close()

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and codes (r, n) -> float64 (r, m, k)."""
        result = np.empty((len(rows), len(coalitions), self.n_outputs))
        result[:, ~coalitions.any(axis=1)] = self._base
        asked = np.flatnonzero(coalitions.any(axis=1))
        n = rows.shape[1]
        if len(asked):
            places = coalitions[asked] @ (1 << np.arange(n)[::-1])
            for block in blocks(len(rows), self.rows_at_a_time):
                sums = self._remembered_sums(rows[block])[:, :, places]
                numerators, p = sums[:, :-1], sums[:, -1:]
                if p.min() < RARE:
                    rarest = rows[block][int(p.min(axis=(1, 2)).argmin())]
                    raise MethodNotApplicableError(
                        f"the row {self._show(rarest)} has probability {p.min():.0e}, where sums of plain doubles end; "
                        "use algorithm='sampling' for it"
                    )
                result[block, asked] = (numerators / p).transpose(0, 2, 1)
        return result

    def _show(self, row: np.ndarray) -> str:
        return show_row(row, self.background.features, self.background.states)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def _remembered_sums(self, rows: np.ndarray) -> np.ndarray:
        """:meth:`_superset_sums`; the last rows come back when they are asked for other coalitions."""
        key, last = rows.tobytes(), self._last
        if last is None or last[0] != key:
            self._last = last = key, self._superset_sums(rows)
        return last[1]

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """The states in C order, a block for each state of the leading features: (which states, P of them)."""
        start = 0
        for p in self.background.joint_blocks(self._n_fixed):
            yield slice(start, start + len(p)), p
            start += len(p)

    def _superset_sums(self, rows: np.ndarray) -> np.ndarray:
        """Rows (r, n) -> (r, k + 1, 2^n): P M, and last P, summed over the states that agree on S (S in binary)."""
        n_rows, n = rows.shape
        cards = self.background.cardinalities
        inner = n - self._n_fixed
        agreeing = [_agreement(row[self._n_fixed :], cards[self._n_fixed :]) for row in rows]
        sums = np.zeros((n_rows, self.n_outputs + 1, 1 << self._n_fixed, 1 << inner))
        outer_states = np.ndindex(*cards[: self._n_fixed])
        for codes, (where, p) in zip(outer_states, self._blocks(), strict=True):
            weighted = np.vstack([(self._outputs[where] * p[:, None]).T, p])
            outer = (rows[:, : self._n_fixed] == np.array(codes, dtype=int)) @ (1 << np.arange(self._n_fixed)[::-1])
            for r in range(n_rows):
                for k in range(len(weighted)):
                    sums[r, k, outer[r]] += np.bincount(agreeing[r], weighted[k], minlength=1 << inner)
        sums = sums.reshape(-1, *(2,) * n)
        for axis in range(1, n + 1):
            without, with_it = np.split(sums, 2, axis=axis)
            without += with_it
        return sums.reshape(n_rows, self.n_outputs + 1, -1)


def _agreement(row: np.ndarray, cards: tuple[int, ...]) -> np.ndarray:
    """The features in which each state (C order) agrees with the row, in binary, first feature highest."""
    agreement = np.zeros(1, dtype=np.int32)
    for code, card in zip(row, cards, strict=True):
        agreement = (2 * agreement[:, None] + (np.arange(card) == code).astype(np.int32)).reshape(-1)
    return agreement


def _progress(total: int, silent: bool) -> Any:
    from tqdm.auto import tqdm

    hidden = silent or total < _SHOWN_FROM
    return tqdm(total=total, desc="asking the model", unit=" states", unit_scale=True, disable=hidden, file=sys.stderr)


def _rows_at_a_time(background: JointTable, n_outputs: int) -> int:
    """Rows whose sums and agreements are held together."""
    sums = (n_outputs + 1) << len(background.cardinalities)
    return max(1, min(_SUMS_HELD // sums, _AGREEMENT_HELD // min(_BLOCK, background.size)))


def _limit(background: JointTable, predictor: Predictor) -> str | None:
    if background.size > STATE_LIMIT:
        return f"{rough(background.size)} joint states, more than {STATE_LIMIT:,}"
    if len(background.cardinalities) > FEATURE_LIMIT:
        return f"{len(background.cardinalities)} features, more than the {FEATURE_LIMIT} whose coalitions can be held"
    if background.impossible == "relax":
        return "impossible='relax' would ask the model about states that cannot occur"
    return background.joint_obstacle()[1]


def _cost(background: JointTable, predictor: Predictor, work: Workload) -> Cost:
    size, k, n = background.size, predictor.n_outputs + 1, len(background.cardinalities)
    seconds = _SECONDS_AT_LEAST + work.n_rows * k * (size + (n << n)) * _SECONDS_PER_ADDITION
    rows = min(work.n_rows * work.n_coalitions, _rows_at_a_time(background, predictor.n_outputs))
    held = rows * (2 * 8 * (k << n) + 4 * min(_BLOCK, size))
    held += 16 * background.joint_obstacle()[0]
    memory = 8 * (size * k + (4 + k) * _BLOCK) + held + 2**26
    return Cost(size, 0, seconds, memory, work.seconds_to_ask(predictor, size))


AGREEMENT = ValueMethod("agreement", True, JOINT, BLACK_BOX, _cost, EveryState, _limit, asks_first=True)
