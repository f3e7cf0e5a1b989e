"""Exact values of any model on a small state space: tabulate it once, then sum variables out.

With T(x) = P(x) M(x) over all joint states of the features (latent nodes already summed out of P),

    nu(S) = A_S(e_S) / B_S(e_S),     A_S = sum over x_rest of T,     B_S = sum over x_rest of P,

and ``A_S = sum over x_v of A_{S+v}``: the tables of smaller coalitions come from those of larger ones. This needs no
property of the causal order or of the network. A table is kept only while a smaller coalition still waits for it; but
where the quotients of all coalitions are few numbers, these are kept, and rows are looked up in them.

Under interventions the distribution of the rest is not a quotient of one joint table: each coalition has a joint of its
own, the product of the CPTs that are not cut, which is written down once for all rows together (``cut table``),

    nu(S) = sum over x_rest of  P(x_rest | do(x_S = e_S)) M(e_S, x_rest).

Doubles end at 1e-308. A row rarer than :data:`RARE` is summed from logarithms instead, one coalition at a time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shap_asv.backgrounds.contract import CUT_JOINT, JOINT, FiniteStates, IntervenedJoint, JointTable
from shap_asv.backgrounds.discrete.joint import rough
from shap_asv.costs import Cost
from shap_asv.errors import BudgetExceededError
from shap_asv.models.predictor import BLACK_BOX, Predictor
from shap_asv.values.contract import ValueMethod, ValueOptions, Workload, blocks

#: Joint states of the features that may be tabulated.
STATE_LIMIT = 2_000_000
#: Below this probability of a row, states that underflow could weigh as much as a rounding error.
RARE = 1e-280
#: Quotients that are kept between calls, over all coalitions.
KEPT = 2**20


class TabulatedModel:
    """nu of any model under a discrete network, exactly, by tabulating the model over all joint states."""

    def __init__(self, background: JointTable, predictor: Predictor, options: ValueOptions) -> None:
        self.background = background
        self.n_outputs = predictor.n_outputs
        self._m = tabulate(background, predictor, options.batch_size)
        self._p = background.feature_joint()
        self._kept: dict[bytes, Quotients] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": {}}  # quickly made again

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and codes (r, n) -> float64 (r, m, k)."""
        result = np.empty((len(rows), len(coalitions), self.n_outputs))
        rare = self._p[tuple(rows.T)] < RARE
        if rare.any():
            result[rare] = self._one_by_one(coalitions, rows[rare])
        common = np.flatnonzero(~rare)
        if len(common):
            quotients = self._quotients(coalitions)
            if quotients is not None:
                result[common] = quotients.at(rows[common])
                return result
            for position, key, a, b in self._sums(coalitions):
                index = tuple(rows[common, v] if (key >> v) & 1 else 0 for v in range(rows.shape[1]))
                result[common, position] = a[index] / b[index][..., None]
        return result

    def _quotients(self, coalitions: np.ndarray) -> "Quotients | None":
        """nu(S) at every e_S, or None where these are more numbers than are kept."""
        cards = np.array(self.background.cardinalities)
        sizes = np.exp(coalitions @ np.log(cards)) if len(cards) else np.ones(len(coalitions))
        room = sizes.sum() * self.n_outputs
        if room > KEPT:
            return None
        asked = coalitions.tobytes()
        found = self._kept.get(asked)
        if found is None:
            found = _lay_out(coalitions, cards, ((place, a, b) for place, _, a, b in self._sums(coalitions)))
            if room + sum(kept.table.size for kept in list(self._kept.values())) > KEPT:
                self._kept = {}
            self._kept[asked] = found
        return found

    def _sums(self, coalitions: np.ndarray) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """A_S (..., k) and B_S of each coalition, with its place and its bits; axes that were summed out have length 1.

        Walks the coalitions from large to small; each takes its table from the smallest one at hand that holds it.
        """
        n = coalitions.shape[1]
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
                yield position, key, *fresh[key]
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
        """Rare rows: probabilities that have underflowed are summed from their logarithms."""
        out = np.empty((len(rows), len(coalitions), self.n_outputs))
        for i, row in enumerate(rows):
            for j, members in enumerate(coalitions):
                at = tuple(slice(e, e + 1) if inside else slice(None) for e, inside in zip(row, members, strict=True))
                log_p = self._log_p[at]
                p = np.exp(log_p - log_p.max())  # only ratios count
                out[i, j] = (p[..., None] * self._m[at]).reshape(-1, self.n_outputs).sum(axis=0) / p.sum()
        return out


@dataclass(frozen=True, eq=False)
class Quotients:
    """nu(S) of some coalitions at every e_S, one after the other: ``table`` (cells, k); where each begins, and how far
    a state of each feature leads in it (m, n), 0 outside of S. Floats, because their matrix products are quick; exact.
    """

    table: np.ndarray
    starts: np.ndarray
    strides: np.ndarray

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Codes (r, n) -> (r, m, k)."""
        return self.table[(rows @ self.strides.T + self.starts).astype(np.intp)]


def _lay_out(
    coalitions: np.ndarray, cards: np.ndarray, sums: Iterable[tuple[int, np.ndarray, np.ndarray]]
) -> Quotients:
    strides = np.zeros(coalitions.shape)
    size = np.ones(len(coalitions))
    for v in reversed(range(coalitions.shape[1])):
        strides[:, v] = np.where(coalitions[:, v], size, 0)
        size *= np.where(coalitions[:, v], cards[v], 1)
    ends = np.cumsum(size)
    parts: list[Any] = [None] * len(coalitions)
    with np.errstate(divide="ignore", invalid="ignore"):  # impossible states, which no row is in
        for place, a, b in sums:
            parts[place] = (a / b[..., None]).reshape(-1, a.shape[-1])
    return Quotients(np.concatenate(parts), ends - size, strides)


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
    background: JointTable | IntervenedJoint, predictor: Predictor, work: Workload, cells: float
) -> Cost:
    """Asking the model about every state, and sums over so many cells."""
    size, k = background.size, predictor.n_outputs
    memory = 8 * (size * (3 * k + 2) + work.n_rows * work.n_coalitions * k) + 16 * background.joint_obstacle()[0]
    return Cost({"table cell": cells}, memory, size, work.calls(predictor, size))


def _cost(background: JointTable, predictor: Predictor, work: Workload) -> Cost:
    # half the features are summed out of a typical coalition's superset
    cells = work.n_coalitions * (background.size**0.5 * 4 + work.n_rows) * (predictor.n_outputs + 1)
    return tabulation_cost(background, predictor, work, cells) + Cost({"table": work.n_coalitions})


TABLE = ValueMethod("table", True, JOINT, BLACK_BOX, _cost, TabulatedModel, tabulation_limit, asks_first=True)


# --- interventions --------------------------------------------------------------------------------------------------


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


def _cut_cost(background: IntervenedJoint, predictor: Predictor, work: Workload) -> Cost:
    size, k = background.size, predictor.n_outputs
    cells = work.n_coalitions * (size * (work.n_features + 2 * k) + work.n_rows * k)
    return tabulation_cost(background, predictor, work, cells) + Cost({"intervened table": work.n_coalitions})


CUT_TABLE = ValueMethod("cut table", True, CUT_JOINT, BLACK_BOX, _cut_cost, CutTable, tabulation_limit, asks_first=True)
