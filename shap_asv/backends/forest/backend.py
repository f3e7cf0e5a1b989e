"""Exact asymmetric Shapley values of sums of products on causal forests, in polynomial time.

Let the causal order be a rooted forest, and let its edges hold those of the network between features.
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
Only the closure of a term (its features and their ancestors) takes part. See ``docs/forest-algorithm.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backends.conditioning import ancestral_obstacle
from shap_asv.backends.contract import Attribution, Attributor, Backend, Problem, Settings
from shap_asv.backends.forest.clock import Clock, count_points, make_clock
from shap_asv.backends.forest.layout import ForestLayout, TermGroups, forest_obstacle, group_forest_terms, lay_out
from shap_asv.backends.pace import Report, keep_silent, paced
from shap_asv.backends.polytrees import one_order_obstacle
from shap_asv.backends.termwise import TERM_ROW_BLOCK, measure_groups
from shap_asv.backends.workload import expected_output, network_and_terms, patterns
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.costs import Cost
from shap_asv.models.products import SumOfProducts
from shap_asv.orders import CausalOrder
from shap_asv.orders.counting import subtree_sizes

_ROW_BLOCK = 2048
# Numbers in the results of one block of rows: 2**24 are 128 MiB.
_RESULT_LIMIT = 2**24
# Operations that a compiled call may take for a single group of terms, which cannot be cut: about a second.
_WORK_LIMIT = 10**9
# Lanes that go through the passes together, and half of them above so many points of a clock.
_LANES, _MANY_POINTS = 64, 64


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
    points = np.array([count_points(d, s) if d else 0 for d, s in zip(groups.degree, groups.largest, strict=True)])
    known, sizes = np.unique(points[points > 0]), np.unique(layout.size)
    clocks = tuple(make_clock(int(q), tuple(sizes[sizes <= groups.largest[points == q].max()].tolist())) for q in known)
    return PreparedForest(layout, groups, clocks, np.where(points > 0, np.searchsorted(known, points), -1))


@dataclass(frozen=True, eq=False)
class PreparedForest:
    """A model on a causal forest, ready for rows.

    Attributes
    ----------
    layout : ForestLayout
    groups : TermGroups
    clocks : tuple of Clock
    clock_of_group : int64 (G,)
        Place in ``clocks``; -1 for a group that is all top.
    """

    layout: ForestLayout
    groups: TermGroups
    clocks: tuple[Clock, ...]
    clock_of_group: np.ndarray

    def attributions(self, codes: np.ndarray, *, report: Report = keep_silent) -> np.ndarray:
        """Attributions (r, n, k) of rows of codes (r, n) in feature order.

        ``phi_v = sum over terms of coefficient * s_v * (o_v * product of m_c - m_v) * dPsi/dm_v`` (see the module).
        Rows are clamped, not conditioned on: the same wherever the row is possible, and well-defined where it is not.

        Per group of terms with one closure A, per row pattern and term: O(|A| Q), and O(Q^2) for each feature of A
        whose part of A branches, with Q points on the clock (:func:`~shap_asv.backends.forest.clock.count_points`).
        Blocks of rows are cut by the model and the network alone, and each is added up group by group: a row has the
        same bits whatever rows come with it.
        """
        from shap_asv.backends.forest import kernels  # brings numba in

        layout, groups, clocks = self.layout, self.groups, self.clocks
        codes = np.ascontiguousarray(np.asarray(codes)[:, layout.order], dtype=np.int32)
        n, k = layout.n_features, groups.coefficients.shape[1]
        shape = kernels.Shape(**{name: getattr(layout, name) for name in kernels.Shape._fields})
        named = {name: getattr(groups, name) for name in kernels.Model._fields[:-1]}
        model, dials = kernels.Model(**named, clock=self.clock_of_group), _lay_clocks(layout, clocks)
        # nothing interrupts a compiled call: each gets as many groups as it works off in a fraction of a second
        rows_at_once = max(16, _WORK_LIMIT // _most_work(groups, clocks))
        step = max(1, min(_ROW_BLOCK, _RESULT_LIMIT // (n * k), rows_at_once))
        out = np.zeros((len(codes), n, k))
        for start in range(0, len(codes), step):
            block = np.ascontiguousarray(codes[start : start + step])
            scratch, part = _make_scratch(layout, groups, clocks, len(block)), np.zeros((n, k, len(block)))
            for some in paced(groups.n_groups):
                kernels.explain_groups(shape, model, dials, block, scratch, some.start, some.stop, part)
                report((start + len(block) * some.stop / groups.n_groups) / len(codes))
            out[start : start + step, layout.order] = part.transpose(2, 0, 1)
        return out


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

    clocks = clocks or [make_clock(1, ())]  # all of every closure is top: no clock is asked
    arrival_at, used = np.zeros((len(clocks), layout.n_features), dtype=np.int64), 0
    for own, clock in zip(arrival_at, clocks, strict=True):
        known = np.isin(layout.size, clock.sizes)
        own[known] = used + np.searchsorted(clock.sizes, layout.size[known]) * len(clock.points) ** 2
        used += clock.arrivals.size
    n_points = np.array([len(clock.points) for clock in clocks], dtype=np.int64)
    return kernels.Clocks(
        n_points=n_points,
        points=np.concatenate([clock.points for clock in clocks]),
        weights=np.concatenate([clock.weights for clock in clocks]),
        offset=np.concatenate([[0], np.cumsum(n_points)]),
        arrivals=np.concatenate([clock.arrivals.ravel() for clock in clocks]),
        arrival_at=arrival_at,
    )


# --- the row of the table of backends -------------------------------------------------------------------------------


def _nodes(background: Terms) -> tuple[int, ...]:
    return tuple(int(node) for node in background.nodes)


def _cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
    """A pass over the closure of a term for each pattern of rows that it tells apart, at each point of the clock."""
    background, products = network_and_terms(problem)
    assert isinstance(problem.order, CausalOrder)
    n, depth = problem.n_features, int((products.terms != 0).sum(axis=1).max(initial=1))
    shares, sizes = measure_groups(background, products), set(subtree_sizes(problem.order))
    points = count_points(n, max(sizes))
    closure = float(shares.mean()) * n if len(shares) else 0.0
    told_apart = patterns(n_rows) if closure < 12 else n_rows
    operations = {
        "loading of compiled code": 1,
        "forest term": products.n_terms,
        "forest group x feature": len(shares) * n,
        "forest operation": products.n_terms * told_apart * closure * min(closure, depth + 1)
        + 2 * len(sizes) * points**2 * max(64, points),
    }
    memory = 2**26 + products.n_terms * (4 * n + 200) + 32 * min(n_rows, TERM_ROW_BLOCK) * n * products.n_outputs
    return Cost(operations, memory + 8 * len(sizes) * points**2)


@dataclass(frozen=True, eq=False)
class ForestAttributor:
    """``base`` (k,) is the expected output."""

    prepared: PreparedForest
    base: np.ndarray

    rowwise = compiled = True

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        return Attribution(self.prepared.attributions(rows, report=report), self.base)


def _obstacle(problem: Problem, settings: Settings) -> str | None:
    found = one_order_obstacle(problem)
    if found is not None:
        return found
    assert isinstance(problem.order, CausalOrder)
    background, _ = network_and_terms(problem)
    found = forest_obstacle(background.network, _nodes(background), problem.order.parents)
    return ancestral_obstacle(problem) if found is None else found


def _prepare(problem: Problem, settings: Settings) -> Attributor:
    background, products = network_and_terms(problem)
    assert isinstance(problem.order, CausalOrder)
    parents = problem.order.parents
    prepared = prepare_forest(background.network, _nodes(background), products, order_parents=parents)
    return ForestAttributor(prepared, expected_output(background, products))


FOREST = Backend("forest", False, None, _obstacle, _cost, _prepare, TERM_ROW_BLOCK)
