"""Exact asymmetric Shapley values of sums of products on causal forests, in polynomial time.

Let the causal order be a rooted forest, and let the network's parents of each feature be among its causal ancestors.
Then each ideal S contains the network ancestors of its members, conditioning on it is clamping, and what hangs below S
falls apart into independent subtrees. For one term ``prod g_v(x_v)`` write o_v = g_v(e_v), and m_v for the expectation
of the term's factors in the subtree of v given the row's values above v. Then

    nu(S) = product of o_u over u in S  *  product of m_v over the features v just outside of S.

A uniform topological order lets v arrive ``Exp(s_v)`` after its parent, independently, with s_v the size of its
subtree (equivalently: the next feature is v with probability s_v / number of features left). Let f_v be the
expected factor of v's subtree as a function of the time since the parent's arrival. With ``y = exp(-time)``

    f_v(y) = m_v y^{s_v} + o_v ∫_y^1 s_v (y/z)^{s_v} F_v(z) dz/z,     F_v = product of f_c over effects c of v,

and with Psi = ∫_0^1 F(y) dy/y over the product F of all roots, each attribution is a derivative:

    phi_v = s_v * (o_v * product of m_c over effects c of v  -  m_v) * dPsi / dm_v.

Since all functions are polynomials in y, Gauss-Legendre points make both integrals exact, and one pass up and one
pass down (reverse differentiation) give all features. No set of features, no equivalence class is ever enumerated.
Small models, and paths too long for such points, take the coefficients of the same polynomials instead of their values
(:mod:`~shap_asv.backends.forest.recursion`).
Only the closure of a term (its features and their ancestors) takes part. See ``docs/forest-algorithm.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backends.forest.clock import (
    COARSE_DEPTH,
    EXACT_LIMIT,
    FINE_DEPTH,
    PANEL_POINTS,
    Clock,
    exact_points,
    make_clock,
    panel_edges,
)
from shap_asv.backends.forest.layout import ForestLayout, TermGroups, group_forest_terms, lay_out
from shap_asv.backends.forest.recursion import explain_plainly
from shap_asv.backends.pace import Report, keep_silent, paced
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.grouping import row_keys
from shap_asv.models.products import SumOfProducts

_ROW_BLOCK = 2048
# Numbers in the results of one block of rows: 2**24 are 128 MiB.
_RESULT_LIMIT = 2**24
# Operations that a compiled call may take for a single group of terms, which cannot be cut: about a second.
_WORK_LIMIT = 10**9
# Lanes that go through the passes together, and half of them above so many points of a clock.
_LANES, _MANY_POINTS = 64, 64
# Operations per row (closures x points x terms) below which numpy is done before a compiler would have been loaded.
_SMALL = 200_000


def prepare_forest(
    network: DiscreteNetwork,
    feature_nodes: Sequence[int],
    products: SumOfProducts,
    *,
    order_parents: Sequence[Sequence[int]],
) -> "PreparedForest":
    """Do everything that does not depend on the rows.

    Parameters
    ----------
    network : DiscreteNetwork
    feature_nodes : sequence of int
        The network node of each feature.
    products : SumOfProducts
        The model over these features.
    order_parents : sequence of sequences of int
        The causal order, as for :func:`~shap_asv.backends.forest.layout.forest_obstacle`, which has to find none.

    Examples
    --------
    A chain a -> b -> c of copied coins, and the model "c is 1": a alone determines it, so a gets all of the credit.

    >>> import numpy as np
    >>> from shap_asv.backgrounds.discrete.network import DiscreteNetwork
    >>> from shap_asv.models.products import SumOfProducts
    >>> coin, copy = np.array([0.5, 0.5]), np.eye(2)
    >>> chain = DiscreteNetwork(("a", "b", "c"), ((0, 1),) * 3, ((), (0,), (1,)), (coin, copy, copy))
    >>> ones = np.ones((1, 2))
    >>> model = SumOfProducts(
    ...     (ones, ones, np.array([[1.0, 1.0], [0.0, 1.0]])), np.array([[0, 0, 1]]), np.ones((1, 1)), np.zeros(1)
    ... )
    >>> prepared = prepare_forest(chain, (0, 1, 2), model, order_parents=((), (0,), (1,)))
    >>> prepared.attributions(np.array([[1, 1, 1]]))[0, :, 0]
    array([0.5, 0. , 0. ])
    """
    layout = lay_out(network, feature_nodes, order_parents)
    groups = group_forest_terms(layout, products)
    clocks, clock_of_group = _choose_clocks(layout, groups)
    return PreparedForest(layout, groups, clocks, clock_of_group)


@dataclass(frozen=True, eq=False)
class PreparedForest:
    """A model on a causal forest, ready for rows.

    Attributes
    ----------
    layout : ForestLayout
    groups : TermGroups
    clocks : tuple of Clock
    clock_of_group : int64 (G,)
        Place in ``clocks``; -1 for a group that is all top, -2 for one without a clock, which takes the recursion.
    """

    layout: ForestLayout
    groups: TermGroups
    clocks: tuple[Clock, ...]
    clock_of_group: np.ndarray

    @property
    def is_small(self) -> bool:
        """Whether plain numpy does it: a matter of model and network alone, so that bits do not depend on the rows."""
        if (self.clock_of_group == _RECURSION).any() or any(len(clock.points) > 1 for clock in self.clocks):
            return False
        points = np.array([*(clock.points.size for clock in self.clocks), 1])
        terms = np.diff(self.groups.start)
        work = points[self.clock_of_group] * self.groups.closure.sum(axis=1) * (terms + _OVERHEAD)
        return int(work.sum()) <= _SMALL

    def attributions(self, codes: np.ndarray, *, report: Report = keep_silent) -> np.ndarray:
        """Attributions (r, n, k) of rows of codes (r, n) in feature order.

        ``phi_v = sum over terms of coefficient * s_v * (o_v * product of m_c - m_v) * dPsi/dm_v`` (see the module).
        Rows are clamped, not conditioned on: the same wherever the row is possible, and well-defined where it is not.

        Per group of terms with one closure A, per row pattern and term: O(|A| Q), and O(Q^2) for each feature of A
        whose part of A branches, with Q points on the clock (at most the number of features in the subtrees below A's
        top).
        """
        layout, groups = self.layout, self.groups
        preordered = np.ascontiguousarray(np.asarray(codes)[:, layout.order], dtype=np.int32)
        out = np.zeros((len(preordered), layout.n_features, groups.coefficients.shape[1]))
        if groups.n_groups == 0 or len(preordered) == 0:
            return out
        distinct, back = _distinct_rows(preordered, int(layout.card.max()))
        if self.is_small:
            phi = explain_plainly(layout, groups, range(groups.n_groups), distinct)
        else:
            phi = _explain_by_clocks(layout, groups, self.clocks, self.clock_of_group, distinct, report)
        out[:, layout.order] = phi[back]
        return out


# One numpy operation costs as much as this many lanes.
_OVERHEAD = 100
_RECURSION = -2


def _choose_clocks(layout: ForestLayout, groups: TermGroups) -> tuple[tuple[Clock, ...], np.ndarray]:
    """The smallest exact clock of each group; past the limit a panel clock, or -2 (the recursion) for long paths."""
    sizes = np.unique(layout.size)
    below = groups.degree > 0
    needed = np.zeros(groups.n_groups, dtype=np.int64)
    pairs, back = np.unique(np.stack([groups.degree, groups.largest], axis=1), axis=0, return_inverse=True)
    if groups.n_groups:
        needed = np.array([exact_points(int(degree), int(largest)) for degree, largest in pairs])[back.reshape(-1)]
    index = np.full(groups.n_groups, -1)
    clocks: list[Clock] = []
    exact = below & (needed <= EXACT_LIMIT)
    for points in np.unique(needed[exact]):
        index[exact & (needed == points)] = len(clocks)
        clocks.append(make_clock((1.0, 0.0), int(points), tuple(sizes[sizes < points].tolist())))
    large = below & ~exact
    for low, high in ((0, COARSE_DEPTH), (COARSE_DEPTH, FINE_DEPTH)):
        mine = large & (groups.depth > low) & (groups.depth <= high)
        if mine.any():
            index[mine] = len(clocks)
            known = tuple(sizes[sizes <= groups.largest[mine].max()].tolist())
            clocks.append(make_clock(panel_edges(int(groups.degree[mine].max()), high), PANEL_POINTS, known))
    index[large & (groups.depth > FINE_DEPTH)] = _RECURSION
    return tuple(clocks), index


def _distinct_rows(codes: np.ndarray, most_states: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in lexicographic order, and the number of each row's own."""
    small = np.ascontiguousarray(codes, dtype=np.uint8 if most_states <= 256 else ">u4")
    _, first, back = np.unique(row_keys(small), return_index=True, return_inverse=True)
    return np.ascontiguousarray(codes[first]), back.reshape(-1)


# --- compiled -------------------------------------------------------------------------------------------------------


def _explain_by_clocks(
    layout: ForestLayout,
    groups: TermGroups,
    clocks: Sequence[Clock],
    clock_of_group: np.ndarray,
    codes: np.ndarray,
    report: Report,
) -> np.ndarray:
    """Attributions (r, n, k) of distinct rows (r, n), all in preorder, by compiled code.

    Blocks of rows are cut by the model and the network alone, and each is added up group by group: a row has the same
    bits whatever rows come with it. Nothing interrupts a compiled call, so each gets only as many groups as it works
    off in a fraction of a second.
    """
    from shap_asv.backends.forest import kernels  # brings numba in

    n, k = layout.n_features, groups.coefficients.shape[1]
    shape = kernels.Shape(**{name: getattr(layout, name) for name in kernels.Shape._fields})
    named = {name: getattr(groups, name) for name in kernels.Model._fields[:-1]}
    model, dials = kernels.Model(**named, clock=clock_of_group), _lay_clocks(layout, clocks)
    rows_at_once = max(16, _WORK_LIMIT // _most_work(groups, clocks))
    step = max(1, min(_ROW_BLOCK, _RESULT_LIMIT // (n * k), rows_at_once))
    out = np.zeros((n, k, len(codes)))
    for start in range(0, len(codes), step):
        block = np.ascontiguousarray(codes[start : start + step])
        rows = kernels.Rows(codes=block, contexts=layout.row_contexts(block))
        scratch = _make_scratch(layout, groups, clocks, len(block))
        part, failed = np.zeros((n, k, len(block))), np.zeros(groups.n_groups, dtype=bool)
        for some in paced(groups.n_groups):
            kernels.explain_groups(shape, model, dials, rows, scratch, some.start, some.stop, (part, failed))
            report((start + len(block) * some.stop / groups.n_groups) / len(codes))
        for g in np.flatnonzero(failed).tolist():
            part += explain_plainly(layout, groups, (g,), block).transpose(1, 2, 0)
        out[:, :, start : start + step] = part
    return out.transpose(2, 0, 1)


def _make_scratch(layout: ForestLayout, groups: TermGroups, clocks: Sequence[Clock], n_rows: int) -> Any:
    """Room for any group: its closure, patterns of the rows, functions of time, and a batch of terms."""
    from shap_asv.backends.forest import kernels  # brings numba in

    widest = max(1, int(groups.closure.sum(axis=1).max(initial=1)))
    points = max((clock.points.size for clock in clocks), default=1)
    n_lanes = _LANES if points <= _MANY_POINTS else _LANES // 2
    n_chunks = -(-n_rows // n_lanes)

    def whole(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.int64)

    closure = kernels.Closure(
        **{name: whole(widest) for name in kernels.Closure._fields}
        | {"rate": np.zeros(widest), "chain": np.zeros(widest, dtype=bool)}
    )
    patterns = kernels.Patterns(
        of_row=whole(n_rows),
        top=whole(n_rows),
        example=whole(n_rows),
        top_start=whole(n_rows + 1),
        codes=np.zeros((widest, n_rows), dtype=np.int32),
        contexts=np.zeros((widest, n_rows), dtype=np.int32),
        table=whole(n_rows * int(layout.card.max(initial=1))),
    )
    lanes = kernels.Lanes(
        before=np.zeros((widest, n_lanes)),
        less=np.zeros((widest, n_lanes)),
        path=np.zeros((widest, points)),
        value=np.zeros((widest, points, n_lanes)),
        weight=np.zeros((widest, points, n_lanes)),
        inside=np.zeros((points, n_lanes)),
        scratch=np.zeros((points, n_lanes)),
        carry=np.zeros((2, n_lanes)),
        front=np.zeros((2, points + 1)),
    )
    batch = kernels.Batch(
        own=np.zeros((n_chunks, widest, n_lanes)),
        message=np.zeros((n_chunks, widest, n_lanes)),
        phi=np.zeros((n_chunks, widest, n_lanes)),
        runs=whole(2 * n_chunks * n_lanes, 5),
        factor=np.zeros(2 * n_chunks * n_lanes),
        by_pattern=np.zeros(n_rows),
    )
    message = np.zeros(int(layout.message_offset[-1]))
    total = np.zeros((widest, groups.coefficients.shape[1], n_rows))
    return kernels.Scratch(closure, patterns, lanes, batch, message, total, whole(layout.n_features), whole(2))


def _most_work(groups: TermGroups, clocks: Sequence[Clock]) -> int:
    """Terms x features x points of the largest group: what a row of its own pattern costs at most, in operations."""
    points = max((clock.points.size for clock in clocks), default=1)
    return max(1, int((np.diff(groups.start) * groups.closure.sum(axis=1)).max(initial=1)) * points)


def _lay_clocks(layout: ForestLayout, clocks: Sequence[Clock]) -> Any:
    """All clocks laid end to end, for the kernels."""
    from shap_asv.backends.forest import kernels

    local_at = np.zeros((max(1, len(clocks)), layout.n_features), dtype=np.int64)
    decay_at = np.zeros_like(local_at)
    local_offset = np.concatenate([[0], np.cumsum([clock.local.size for clock in clocks])]).astype(np.int64)
    decay_offset = np.concatenate([[0], np.cumsum([clock.decay.size for clock in clocks])]).astype(np.int64)
    for c, clock in enumerate(clocks):
        known = np.isin(layout.size, clock.sizes)
        row = np.searchsorted(clock.sizes, layout.size[known])
        n_panels, n_points = clock.points.shape
        local_at[c, known] = local_offset[c] + row * n_panels * n_points * (n_points + 1)
        decay_at[c, known] = decay_offset[c] + row * n_panels * (n_points + 1)
    if not clocks:  # all of every closure is top: no clock is asked
        clocks = [make_clock((1.0, 0.0), 1, ())]
    return kernels.Clocks(
        n_panels=np.array([clock.points.shape[0] for clock in clocks], dtype=np.int64),
        n_points=np.array([clock.points.shape[1] for clock in clocks], dtype=np.int64),
        weights=np.concatenate([clock.weights.ravel() for clock in clocks]),
        weight_offset=np.concatenate([[0], np.cumsum([clock.weights.size for clock in clocks])]).astype(np.int64),
        local=np.concatenate([clock.local.ravel() for clock in clocks]),
        decay=np.concatenate([clock.decay.ravel() for clock in clocks]),
        local_at=local_at,
        decay_at=decay_at,
    )
