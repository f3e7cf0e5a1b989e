"""The hypergeometric recursion in plain numpy: exact in discrete time, whatever the shape of the forest.

Instead of a clock, count arrivals. Let beta_v(k) be the expected factor of v's subtree after k arrivals in a uniform
order of that subtree (these are the Bernstein coefficients of f_v). Then

    beta_v(0) = m_v,    beta_v(k) = o_v * beta_F(k - 1)    for the forest F below v,
    beta_{A + B}(k) = sum over j of  C(a, j) C(b, k - j) / C(a + b, k) * beta_A(j) * beta_B(k - j),
    Psi = sum over k < N of  beta(k) / (N - k)             over the forest of all members, of N features,

with features outside of the closure as a part whose beta is 1. All weights are positive and sum to one, so nothing
cancels. One pass of reverse differentiation gives dPsi/dm_v for all v. O(N^2) per lane.

It takes models so small that they should not wait for a compiler, and groups of terms for which a clock would need very
many points: large closures with long paths. All terms of a group and many rows are done at once, as arrays (lanes,)
with lane = (term, row). No lane ever sees another one, so that a row has the same bits whatever rows come with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shap_asv.backends.forest.layout import ForestLayout, TermGroups
from shap_asv.orders.restricted_polytrees import mixing_chances

# Doubles in all betas of a block of lanes: 2**22 are 32 MiB.
_BLOCK = 2**22
# Stands above the members, the roots of what hangs below the top.
_ABOVE = -1


@dataclass(frozen=True, eq=False)
class Branches:
    """A closure as a tree: its top, the positions below it, effects within the closure, and how many features (of the
    whole forest) each position has below it; ``_ABOVE`` stands for the parent of the members."""

    top: list[int]
    below: list[int]
    children: dict[int, list[int]]
    inside: dict[int, int]


def read_branches(layout: ForestLayout, closure: np.ndarray) -> Branches:
    """The tree of one closure, bool (n,)."""
    positions = np.flatnonzero(closure).tolist()
    children: dict[int, list[int]] = {v: [] for v in (_ABOVE, *positions)}
    for v in positions:
        children[int(layout.parent[v])].append(v)
    top: list[int] = []
    while len(children[_ABOVE]) == 1:
        top += children[_ABOVE]
        children[_ABOVE] = children[top[-1]]
    inside = {v: int(layout.size[v]) - 1 for v in positions}
    inside[_ABOVE] = sum(inside[v] + 1 for v in children[_ABOVE])
    return Branches(top, positions[len(top) :], children, inside)


def explain_plainly(layout: ForestLayout, groups: TermGroups, chosen: Iterable[int], codes: np.ndarray) -> np.ndarray:
    """Attributions (r, n, k) by the chosen groups, for distinct rows (r, n); all in preorder."""
    if len(codes) == 1:  # numpy adds a single column up in another order than one of many
        return explain_plainly(layout, groups, chosen, np.repeat(codes, 2, axis=0))[:1]
    contexts, every = layout.row_contexts(codes), np.arange(len(codes))
    out = np.zeros((len(codes), layout.n_features, groups.coefficients.shape[1]))
    for g in chosen:
        branches = read_branches(layout, groups.closure[g])
        positions = branches.top + branches.below
        per_lane = 4 * sum(branches.inside[v] + 2 for v in (_ABOVE, *branches.below))
        n_terms = max(1, _BLOCK // per_lane)
        for first in range(groups.start[g], groups.start[g + 1], n_terms):
            some = slice(first, min(first + n_terms, groups.start[g + 1]))
            functions = {v: _functions(layout, groups, groups.terms[some], v) for v in positions}
            tables = _send_messages(layout, branches, functions)
            n_blocks = -(-len(codes) * (some.stop - first) * per_lane // _BLOCK)
            for block in np.array_split(every, min(n_blocks, len(codes) // 2)) if n_blocks > 1 else [every]:
                own = {v: functions[v][:, codes[block, v]].reshape(-1) for v in positions}
                message = {v: tables[v][:, contexts[block, v]].reshape(-1) for v in positions}
                phi = attribute(branches, own, message)
                by_term = np.array([phi[v] for v in positions]).reshape(len(positions), some.stop - first, -1, 1)
                share = (by_term * groups.coefficients[some, None]).sum(axis=1)
                out[block[:, None], positions] += share.transpose(1, 0, 2)
    return out


def _functions(layout: ForestLayout, groups: TermGroups, terms: np.ndarray, v: int) -> np.ndarray:
    """g_v of each term, tabulated: (T, card)."""
    start = groups.vector_offset[v] + terms[:, v, None].astype(np.int64) * layout.card[v]
    return groups.vectors[start + np.arange(layout.card[v])]


def _send_messages(layout: ForestLayout, branches: Branches, functions: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """``m_v(context) = sum over x of P(x | context) g_v(x) * product of m_c over effects c of v`` -> (T, contexts)."""
    messages: dict[int, np.ndarray] = {}
    for v in reversed(branches.top + branches.below):
        table = layout.table[layout.table_offset[v] : layout.table_offset[v + 1]].reshape(-1, layout.card[v])
        product = table * functions[v][:, None, :]
        for c in branches.children[v]:
            index = layout.child_index[layout.child_offset[c] : layout.child_offset[c + 1]]
            product *= messages[c][:, index.reshape(table.shape)]
        messages[v] = product.sum(axis=2)
    return messages


def attribute(branches: Branches, own: dict[int, np.ndarray], message: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """phi of every position of a closure, from ``o_v`` and ``m_v`` per lane."""
    children, inside = branches.children, branches.inside

    def gain(v: int) -> np.ndarray:
        after = own[v]
        for c in children[v]:
            after = after * message[c]
        return after - message[v]

    phi: dict[int, np.ndarray] = {}
    alive = np.ones_like(next(iter(own.values())))
    for v in branches.top:  # arrives in a fixed order
        phi[v] = alive * gain(v)
        alive = alive * own[v]
    if not branches.below:
        return phi
    # up: what is outside of the closure, then one effect after the other; joined[c] is the union before effect c
    beta: dict[int, np.ndarray] = {}
    joined: dict[int, np.ndarray] = {}
    mixing: dict[int, np.ndarray] = {}
    for v in (*reversed(branches.below), _ABOVE):
        outside = inside[v] - sum(inside[c] + 1 for c in children[v])
        union = np.ones((outside + 1, len(alive)))
        for c in children[v]:
            joined[c], mixing[c] = union, mixing_chances(len(union) - 1, inside[c] + 1)
            union = _join(union, beta[c], mixing[c])
        if v != _ABOVE:
            beta[v] = np.concatenate([message[v][None], own[v] * union])
    # down: derivatives of Psi, the joins undone last effect first
    by_beta: dict[int, np.ndarray] = {}
    for v in (_ABOVE, *branches.below):
        if v == _ABOVE:
            by_union = np.append(1.0 / np.arange(inside[v], 0, -1), 0.0)[:, None] * alive
        else:
            phi[v] = (inside[v] + 1) * gain(v) * by_beta[v][0]
            by_union = own[v] * by_beta[v][1:]
        for c in reversed(children[v]):
            by_beta[c] = _join_adjoint(by_union, joined[c], mixing[c].T)
            if c != children[v][0]:  # what is outside of the closure depends on nothing
                by_union = _join_adjoint(by_union, beta[c], mixing[c])
    return phi


def _join(first: np.ndarray, second: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """beta of a disjoint union; arrays (arrivals, lanes)."""
    if len(first) == 1:  # nothing has arrived from no features, which is 1
        return second
    if len(first) > len(second):
        first, second, mixing = second, first, mixing.T
    out = np.zeros((len(first) + len(second) - 1, second.shape[1]))
    for j, value in enumerate(first):
        out[j : j + len(second)] += mixing[j, :, None] * (value * second)
    return out


def _join_adjoint(by_out: np.ndarray, second: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """Derivative by the first part (arrivals, lanes), for a given derivative by the union."""
    a, b = mixing.shape
    if b == 1:
        return by_out
    if a < b:
        return np.array([(mixing[j, :, None] * second * by_out[j : j + b]).sum(axis=0) for j in range(a)])
    out = np.zeros((a, second.shape[1]))
    for i, value in enumerate(second):
        out += mixing[:, i, None] * (value * by_out[i : i + a])
    return out
