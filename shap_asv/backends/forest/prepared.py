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
from typing import ClassVar

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
from shap_asv.backends.forest.layout import ForestLayout, forest_applicable, lay_out
from shap_asv.backends.forest.recursion import explain_plainly
from shap_asv.backends.forest.terms import TermGroups, group_forest_terms
from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.grouping import row_keys
from shap_asv.errors import MethodNotApplicableError
from shap_asv.models.products import SumOfProducts

# Operations per row (closures x points x terms) below which numpy is done before a compiler would have been loaded.
_SMALL = 200_000


def prepare_forest(
    network: DiscreteNetwork,
    feature_nodes: tuple[int, ...],
    products: SumOfProducts,
    *,
    order_parents: Sequence[Sequence[int]],
) -> "PreparedForest":
    """Do everything that does not depend on the rows.

    Parameters
    ----------
    network : DiscreteNetwork
    feature_nodes : tuple of int
        The network node of each feature.
    products : SumOfProducts
        The model over these features.
    order_parents : sequence of sequences of int
        The causal order, as for :func:`~shap_asv.backends.forest.layout.forest_applicable`.

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
    obstacle = forest_applicable(network, feature_nodes, order_parents)
    if obstacle is not None:
        raise MethodNotApplicableError(
            f"the forest algorithm cannot treat this problem: {obstacle}; use the lattice of ideals, or sampled orders"
        )
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

    rowwise: ClassVar[bool] = True  # a row has the same bits whatever rows come with it

    @property
    def is_small(self) -> bool:
        """Whether plain numpy does it: a matter of model and network alone, so that bits do not depend on the rows."""
        if (self.clock_of_group == _RECURSION).any() or any(len(clock.points) > 1 for clock in self.clocks):
            return False
        points = np.array([*(clock.points.size for clock in self.clocks), 1])
        terms = np.diff(self.groups.start)
        work = points[self.clock_of_group] * self.groups.closure.sum(axis=1) * (terms + _OVERHEAD)
        return int(work.sum()) <= _SMALL

    @property
    def work(self) -> int:
        """Operations for one row: points of the clock times features of the closure, summed over the terms."""
        points = np.array([*(clock.points.size for clock in self.clocks), EXACT_LIMIT, 1])  # at -2 and -1: see above
        return int((points[self.clock_of_group] * self.groups.closure.sum(axis=1) * np.diff(self.groups.start)).sum())

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
            # numba is loaded here, where the work is worth it
            from shap_asv.backends.forest.large import explain_large

            phi = explain_large(layout, groups, self.clocks, self.clock_of_group, distinct, report)
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
