"""The forest algorithm in plain numpy: for models so small that they should not wait for a compiler.

All terms of a group and all rows are done at once, as arrays (lanes,) with lane = (term, row). Functions of time are
arrays (panels, points, lanes); see :mod:`shap_asv.backends.forest.clock`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backends.forest.clock import Clock
from shap_asv.backends.forest.layout import ForestLayout
from shap_asv.backends.forest.terms import TermGroups

# Doubles in one function of time; rows are taken in blocks below it.
_BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class Branches:
    """A closure as a tree: positions, children within the closure, roots, subtree sizes in the whole forest."""

    positions: tuple[int, ...]
    children: dict[int, list[int]]
    roots: list[int]
    size: np.ndarray


def read_branches(layout: ForestLayout, closure: np.ndarray) -> Branches:
    """The tree of one closure, bool (n,)."""
    positions = tuple(int(v) for v in np.flatnonzero(closure))
    children: dict[int, list[int]] = {v: [] for v in positions}
    roots: list[int] = []
    for v in positions:
        above = int(layout.parent[v])
        (children[above] if above >= 0 else roots).append(v)
    return Branches(positions, children, roots, layout.size)


def explain_small(
    layout: ForestLayout, groups: TermGroups, clocks: Sequence[Clock | None], codes: np.ndarray
) -> np.ndarray:
    """Attributions (r, n, k) in preorder of rows in preorder; ``clocks[g]`` is None for a group that is all top."""
    contexts = layout.row_contexts(codes)
    out = np.zeros((len(codes), layout.n_features, groups.coefficients.shape[1]))
    for g in range(groups.n_groups):
        branches = read_branches(layout, groups.closure[g])
        terms = groups.terms[groups.start[g] : groups.start[g + 1]]
        coefficients = groups.coefficients[groups.start[g] : groups.start[g + 1]]
        tables = send_messages(layout, groups, branches, terms)
        clock = clocks[g]
        step = max(1, _BLOCK // (len(terms) * (1 if clock is None else clock.points.size)))
        for start in range(0, len(codes), step):
            block = slice(start, start + step)
            own = {v: _functions(layout, groups, terms, v)[:, codes[block, v]].reshape(-1) for v in branches.positions}
            message = {v: tables[v][:, contexts[block, v]].reshape(-1) for v in branches.positions}
            phi = attribute(branches, clock, own, message)
            for v in branches.positions:
                out[block, v] += phi[v].reshape(len(terms), -1).T @ coefficients
    return out


def send_messages(
    layout: ForestLayout, groups: TermGroups, branches: Branches, terms: np.ndarray
) -> dict[int, np.ndarray]:
    """``m_v(context) = sum over x of P(x | context) g_v(x) * product of m_c over effects c of v`` -> (T, contexts)."""
    messages: dict[int, np.ndarray] = {}
    for v in reversed(branches.positions):
        table = layout.table[layout.table_offset[v] : layout.table_offset[v + 1]].reshape(-1, layout.card[v])
        product = table * _functions(layout, groups, terms, v)[:, None, :]
        for c in branches.children[v]:
            base = layout.child_base[layout.child_offset[c] : layout.child_offset[c + 1]]
            product *= messages[c][:, base[:, None] + np.arange(layout.card[v]) * layout.child_stride[c]]
        messages[v] = product.sum(axis=2)
    return messages


def _functions(layout: ForestLayout, groups: TermGroups, terms: np.ndarray, v: int) -> np.ndarray:
    """g_v of each term, tabulated: (T, card)."""
    start = groups.vector_offset[v] + terms[:, v, None].astype(np.int64) * layout.card[v]
    return groups.vectors[start + np.arange(layout.card[v])]


def attribute(
    branches: Branches, clock: Clock | None, own: dict[int, np.ndarray], message: dict[int, np.ndarray]
) -> dict[int, np.ndarray]:
    """phi of every position of a closure, from ``o_v`` and ``m_v`` per lane."""

    def gain(v: int) -> np.ndarray:
        after = own[v]
        for c in branches.children[v]:
            after = after * message[c]
        return after - message[v]

    phi: dict[int, np.ndarray] = {}
    members, alive = branches.roots, np.ones_like(own[branches.positions[0]])
    while len(members) == 1:  # the top arrives in a fixed order
        v = members[0]
        phi[v] = alive * gain(v)
        alive = alive * own[v]
        members = branches.children[v]
    if not members:
        return phi
    assert clock is not None
    value: dict[int, np.ndarray] = {}
    shape = (*clock.points.shape, len(alive))
    below = [v for v in branches.positions if v not in phi]
    for v in reversed(below):
        inside = np.ones(shape)
        for c in branches.children[v]:
            inside = inside * value[c]
        value[v] = clock.arrive(int(branches.size[v]), own[v] * inside, message[v])
    weight: dict[int, np.ndarray] = {}

    def pass_down(effects: list[int], base: np.ndarray) -> None:
        """The weight of an effect: base times the values of the others, without dividing."""
        for step in (effects, effects[::-1]):
            running = base
            for c in step:
                weight[c] = weight[c] * running if c in weight else running
                running = running * value[c]
            base = np.ones(shape)

    pass_down(members, clock.weights[..., None] * alive)
    for v in below:
        by_inside, by_message = clock.arrive_adjoint(int(branches.size[v]), weight[v])
        phi[v] = branches.size[v] * gain(v) * by_message
        pass_down(branches.children[v], own[v] * by_inside)
    return phi
