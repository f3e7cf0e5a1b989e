"""Messages on a polytree: the expected factors of a term on one side of an edge, given the time at the other end.

Cut time at t. Features that arrived before t are observed (the ideal S), the others are not. An observed feature
contributes its own function at the row's state; an unobserved one is summed over its states, its CPT times its
function. For each edge and each direction there is a message: what to expect of the features behind the edge, given
the time of the feature in front of it,

- in front observed: one number per point in time below t;
- in front unobserved: one number per point above t and state of the cause of the two, with which the effect's CPT is
  contracted.

Effects of unobserved features are unobserved, causes of observed ones are observed; behind the other edges both occur,
and the operators of :mod:`~shap_asv.backends.polytree.times` know how often. Arrays are (cuts, points, lanes) and
(cuts, points, lanes, states); a lane is a pair of term and row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from shap_asv.backends.polytree.times import (
    Cuts,
    Density,
    EdgeOperators,
    TimeModel,
    down_operators,
    gap_integrals,
    up_operators,
)

# Bytes of the operators that are kept.
_OPERATOR_LIMIT = 2**28


@dataclass(frozen=True, eq=False)
class Piece:
    """A connected part of the polytree that a group of terms runs through, and what its terms and rows show there.

    Attributes
    ----------
    n_lanes : int
    parents, children : dicts of tuples
        Neighbours within the piece; the keys are its features.
    functions : dict of float64 (L, card)
        The term's function of each feature of its closure. Other features only connect them: they have no states.
    tables : dict of float64 (*cards of the causal parents, card)
    codes : dict of int (L,)
    """

    n_lanes: int
    parents: dict[int, tuple[int, ...]]
    children: dict[int, tuple[int, ...]]
    functions: dict[int, np.ndarray]
    tables: dict[int, np.ndarray]
    codes: dict[int, np.ndarray]

    def own(self, v: int) -> np.ndarray:
        """The function of v at the row's state, (L,)."""
        return self.functions[v][np.arange(self.n_lanes), self.codes[v]] if v in self.functions else np.ones(1)


@dataclass(frozen=True, eq=False)
class Message:
    """``below`` (T, Q, L), ``above`` (T, Q, L, states), and the values of one of them when the front is at the cut.

    ``at_cut`` is (T, L) from a cause (its effect arrives at t), (T, L, states) from an effect (its cause does).
    """

    below: np.ndarray
    above: np.ndarray
    at_cut: np.ndarray


class Operators:
    """Operators of the edges, each worked out when it is first needed; the oldest give way beyond a limit of memory."""

    def __init__(self, times: TimeModel, cuts: Cuts) -> None:
        self.times, self.cuts = times, cuts
        self._known: dict[tuple[int, int, bool], EdgeOperators] = {}
        self._arrival: dict[int, np.ndarray] = {}
        self._presence: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Operators, (self.times, self.cuts)  # what was worked out is worked out again

    def up(self, effect: int, cause: int) -> EdgeOperators:
        return self._find(effect, cause, up_operators, True)

    def down(self, cause: int, effect: int) -> EdgeOperators:
        return self._find(cause, effect, down_operators, False)

    def arrival(self, x: int) -> np.ndarray:
        """Density of x's time at the cuts, (T,); its sum with the cuts' weights is 1."""
        if x not in self._arrival:
            density = self.times.side(x, -1)(self.cuts.times)
            self._arrival[x] = density / (density @ self.cuts.weights)
        return self._arrival[x]

    def presence(self, x: int) -> tuple[np.ndarray, np.ndarray]:
        """Weights (T, Q) of functions of x's time below and above the cut; the weights of one cut add up to 1."""
        if x not in self._presence:
            under, over = (part.sum(axis=1) for part in gap_integrals(self.times.side(x, -1), self.cuts))
            whole = (under.sum(axis=1) + over.sum(axis=1))[:, None]
            self._presence[x] = (under / whole, over / whole)
        return self._presence[x]

    def _find(self, u: int, v: int, make: Callable[[Density, Cuts], Any], upward: bool) -> Any:
        key = (u, v, upward)
        with self._lock:
            found = self._known.get(key)
        if found is None:
            found = make(self.times.side(u, v), self.cuts)
            with self._lock:
                while self._known and len(self._known) * found.n_bytes > _OPERATOR_LIMIT:
                    del self._known[next(iter(self._known))]
                self._known[key] = found
        return found


class _Timeless:
    """Operators for a cut before everything: all is unobserved, and times do not matter."""

    cuts = Cuts(np.zeros(1), np.ones(1), np.zeros(1), np.zeros((2, 0)), np.zeros((2, 0)), np.zeros((2, 0, 1)))

    def up(self, effect: int, cause: int) -> EdgeOperators:
        return EdgeOperators(np.zeros((1, 1, 1)), np.ones((1, 1)), np.ones((1, 2, 1)))

    def down(self, cause: int, effect: int) -> EdgeOperators:
        return EdgeOperators(np.ones((1, 2, 1)), np.zeros((1, 1)), np.ones((1, 1, 1)))


Messages = dict[tuple[int, int], Message]


def expect_piece(piece: Piece) -> np.ndarray:
    """Expected factor of the piece with nothing observed, (L,)."""
    timeless = _Timeless()
    root = next(iter(piece.parents))
    messages = _send_all(piece, timeless)
    return _unobserved(piece, messages, timeless.cuts, root, -1)[0, 0].sum(axis=-1)


def attribute_piece(piece: Piece, operators: Operators) -> tuple[dict[int, np.ndarray], np.ndarray]:
    """Gain of each feature when it arrives at a cut, times the density of its time; expected factor of the piece.

    Both per cut, (T, L). The gain is ``o_x * messages of the effects at e_x - sum over states``, given that the causes
    have arrived.
    """
    messages = _send_all(piece, operators)
    cuts = operators.cuts
    lanes = np.arange(piece.n_lanes)
    gains = {}
    for x, function in piece.functions.items():
        before = np.ones((1, 1))
        for b in piece.parents[x]:
            before = before * messages[b, x].at_cut
        after = np.ones((len(cuts.times), *function.shape))
        for c in piece.children[x]:
            after *= messages[c, x].at_cut
        conditional = piece.tables[x][tuple(piece.codes[b] for b in piece.parents[x])]
        gain = piece.own(x) * after[:, lanes, piece.codes[x]] - (function * conditional * after).sum(axis=-1)
        gains[x] = operators.arrival(x)[:, None] * before * gain
    root = next(iter(piece.parents))
    under, over = operators.presence(root)
    expected = np.einsum("tq,tql->tl", under, _observed(piece, messages, cuts, root, -1))
    expected += np.einsum("tq,tqls->tl", over, _unobserved(piece, messages, cuts, root, -1))
    return gains, expected


def _send_all(piece: Piece, operators: Operators | _Timeless) -> Messages:
    """Messages along every edge of the piece in both directions: towards a root, then away from it."""
    root = next(iter(piece.parents))
    order, hook = [root], {root: -1}
    for v in order:  # grows while it is read
        for u in (*piece.parents[v], *piece.children[v]):
            if u not in hook:
                hook[u] = v
                order.append(u)
    messages: Messages = {}
    for v in reversed(order[1:]):
        messages[v, hook[v]] = _send(piece, messages, operators, v, hook[v])
    for v in order[1:]:
        messages[hook[v], v] = _send(piece, messages, operators, hook[v], v)
    return messages


def _send(piece: Piece, messages: Messages, operators: Operators | _Timeless, u: int, v: int) -> Message:
    """The message from u to v, from those that u got from its other neighbours."""
    observed = _observed(piece, messages, operators.cuts, u, v)
    unobserved = _unobserved(piece, messages, operators.cuts, u, v)
    n_cuts, n_points, n_lanes, n_states = unobserved.shape
    flat = unobserved.reshape(n_cuts, n_points, -1)
    lanes = np.arange(n_lanes)
    if v in piece.parents[u]:
        up = operators.up(u, v)
        above = (up.above @ flat).reshape(n_cuts, n_points + 1, n_lanes, n_states)
        at_cut = above[:, -1]
        clamped = at_cut[:, lanes, piece.codes[v]] if n_states > 1 else at_cut[..., 0]
        return Message(up.below @ observed + up.escape[..., None] * clamped[:, None], above[:, :-1], at_cut)
    down = operators.down(u, v)
    below = down.below @ observed
    above = (down.above @ flat).reshape(n_cuts, n_points, n_lanes, n_states)
    above[:, :, lanes, piece.codes[u] if n_states > 1 else 0] += down.escape[..., None] * below[:, -1:]
    return Message(below[:, :-1], above, below[:, -1])


def _observed(piece: Piece, messages: Messages, cuts: Cuts, u: int, without: int) -> np.ndarray:
    """Factor of u and of all behind it, with u observed: (T, Q, L)."""
    out = np.empty((len(cuts.times), len(cuts.points), piece.n_lanes))
    out[:] = piece.own(u)
    for z in (*piece.parents[u], *piece.children[u]):
        if z != without:
            out *= messages[z, u].below
    return out


def _unobserved(piece: Piece, messages: Messages, cuts: Cuts, u: int, without: int) -> np.ndarray:
    """Factor of u and of all behind it, with u unobserved: (T, Q, L, states).

    The states are those of u, or those of the cause ``without`` if that is what it is left open for.
    """
    shape = (len(cuts.times), len(cuts.points), piece.n_lanes)
    effects = [messages[c, u].above for c in piece.children[u] if c != without]
    if u not in piece.functions:
        out = np.ones((*shape, 1))
        for above in effects:
            out *= above
        for b in piece.parents[u]:
            if b != without:
                out *= messages[b, u].above.sum(axis=-1, keepdims=True)
        return out
    inside = np.empty((*shape, piece.functions[u].shape[1]))
    inside[:] = piece.functions[u]
    for above in effects:
        inside *= above
    # contract the CPT with the causes, one after the other; an open cause keeps its axis, right before the states of u
    table = piece.tables[u]
    axes = list(piece.parents[u])
    if without in axes:
        table = np.moveaxis(table, axes.index(without), -2)
        axes.remove(without)
    for place, b in enumerate(axes):
        above = messages[b, u].above
        if place == 0:
            table = np.tensordot(above, table, axes=(3, 0))
        else:
            table = np.einsum("tqls,tqls...->tql...", above, table)
    if without in piece.parents[u]:
        return np.einsum("tqls,tqlos->tqlo", inside, np.broadcast_to(table, (*shape, *table.shape[-2:])))
    return inside * table
