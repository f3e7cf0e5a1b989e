"""Exact asymmetric Shapley values of sums of products on causal polytrees, in polynomial time.

Let the cover graph of the causal order be an undirected forest (a feature may have several causes, but there is at most
one path between two features), and let the network's parents of each feature be among its causes. Then each ideal S
contains the network ancestors of its members, so conditioning on it is clamping.

Independent uniform times, kept when causes come before effects, arrive in a uniform topological order. Cut time at t:
S is what came before. An edge whose ends lie on different sides of t couples nothing any more, because the cause is
clamped, and its time says nothing about the effect's. What remains coupled (times among the observed and among the
unobserved, states among the unobserved) is coupled along edges of a tree. So one message per edge and direction, a
function of one time (and of one state where unobserved), carries everything; see
:mod:`~shap_asv.backends.polytree.messages`. For one term

    phi_x = ∫ dt  density of x's time at t  *  product of the messages of x's causes at t
                  *  (o_x * product of the messages of x's effects for e_x  -  the same summed over the states of x)
                  *  product over the other trees of their expected factor at t.

The integrand is a polynomial in t, which Gauss-Legendre cuts integrate exactly; messages are smooth functions of time,
sampled at so many points that attributions add up to rounding, which is checked for every term and row. Per term and
row: O(|A| T Q^2 c) operations, and c^(d+1) for a CPT with d parents of c states; T <= n/2, Q of the order of sqrt(n).
See ``docs/forest-algorithm.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backends.polytree.layout import PolytreeLayout, lay_out, polytree_applicable
from shap_asv.backends.polytree.messages import Operators, Piece, attribute_piece, expect_piece
from shap_asv.backends.polytree.times import make_cuts
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.grouping import number_rows
from shap_asv.errors import MethodNotApplicableError
from shap_asv.models.products import SumOfProducts

# Numbers held in the messages of one block of lanes: 2**24 are 128 MiB.
_MESSAGE_LIMIT = 2**24
# Attributions of a term must add up to this, as a share of its largest value; else more points are taken.
_GAP = 1e-11
_REFINEMENTS = 3


def choose_grid(size: int) -> tuple[int, int]:
    """(cuts, points) for trees of ``size`` features in all.

    Half as many cuts as features integrate every attribution exactly. Larger trees do with fewer: a polynomial of
    degree n between 0 and 1 in Bernstein form is one of degree c sqrt(n), up to an error that falls like exp(-c^2).
    """
    return min((size + 1) // 2, int(8 + 2.6 * size**0.5)), min(size + 2, int(14 + 2 * size**0.5))


def prepare_polytree(
    network: DiscreteNetwork,
    feature_nodes: tuple[int, ...],
    products: SumOfProducts,
    *,
    order_parents: Sequence[Sequence[int]],
) -> "PreparedPolytree":
    """Do everything that does not depend on the rows; arguments as for
    :func:`shap_asv.backends.forest.prepared.prepare_forest`.

    Examples
    --------
    Two fair coins a, b and their exclusive or c: neither coin alone says anything about c, so each gets half of what
    both together settle, and c itself, which adds nothing then, gets none.

    >>> import numpy as np
    >>> from shap_asv.backgrounds.discrete.network import DiscreteNetwork
    >>> from shap_asv.models.products import SumOfProducts
    >>> coin, xor = np.array([0.5, 0.5]), np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> network = DiscreteNetwork(("a", "b", "c"), ((0, 1),) * 3, ((), (), (0, 1)), (coin, coin, xor))
    >>> ones = np.ones((1, 2))
    >>> model = SumOfProducts(
    ...     (ones, ones, np.array([[1.0, 1.0], [0.0, 1.0]])), np.array([[0, 0, 1]]), np.ones((1, 1)), np.zeros(1)
    ... )
    >>> prepared = prepare_polytree(network, (0, 1, 2), model, order_parents=((), (), (0, 1)))
    >>> prepared.attributions(np.array([[1, 0, 1]]))[0, :, 0].round(12)
    array([0.25, 0.25, 0.  ])
    """
    obstacle = polytree_applicable(network, feature_nodes, order_parents)
    if obstacle is not None:
        raise MethodNotApplicableError(
            f"the polytree algorithm cannot treat this problem: {obstacle}; use the ideals, or sampled orders"
        )
    return PreparedPolytree(lay_out(network, feature_nodes, order_parents), products)


@dataclass(frozen=True, eq=False)
class PreparedPolytree:
    """A model on a causal polytree, ready for rows. Operators of edges are kept from call to call."""

    layout: PolytreeLayout
    products: SumOfProducts
    operators: dict[tuple[int, int], Operators] = field(default_factory=dict, repr=False)

    rowwise: ClassVar[bool] = False  # the bits of numpy's matrix products depend on the rows that come together

    def attributions(self, codes: np.ndarray, *, report: Report = keep_silent) -> np.ndarray:
        """Attributions (r, n, k) of rows of codes (r, n)."""
        codes = np.asarray(codes)
        out = np.zeros((len(codes), self.layout.n_features, self.products.n_outputs))
        if len(codes) == 0:
            return out
        groups = self.layout.closures_of(self.products.terms)
        for done, (terms, closure) in enumerate(groups, start=1):
            out[:, closure] += self._attribute_group(terms, closure, codes)
            report(done / len(groups))
        return out

    def _attribute_group(self, terms: np.ndarray, closure: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Attributions (r, |A|, k) of terms with one closure A; rows that agree on A are computed once."""
        cards = self.layout.cards
        of_row, chosen = number_rows([(codes[:, v], cards[v]) for v in closure], len(codes))
        patterns = codes[chosen]
        pieces = self.layout.pieces(closure)
        size = sum(self.layout.component_sizes[piece[0]] for piece in pieces)
        n_cuts, n_points = choose_grid(size)
        widest = max(cards[v] for v in closure)
        per_lane = sum(map(len, pieces)) * 2 * (n_cuts + 1) * (n_points + 1) * (widest + 1)
        step = max(1, _MESSAGE_LIMIT // per_lane)
        lanes = np.stack(np.meshgrid(terms, np.arange(len(patterns)), indexing="ij"), axis=-1).reshape(-1, 2)
        phi = np.concatenate(
            [
                self._attribute_lanes(
                    lanes[start : start + step, 0],
                    patterns[lanes[start : start + step, 1]],
                    (closure, pieces),
                    (n_cuts, n_points),
                )
                for start in range(0, len(lanes), step)
            ]
        )
        coefficients = self.products.coefficients[terms]
        return np.einsum("tpv,tk->pvk", phi.reshape(len(terms), len(patterns), -1), coefficients)[of_row]

    def _attribute_lanes(
        self,
        terms: np.ndarray,
        codes: np.ndarray,
        where: tuple[np.ndarray, list[tuple[int, ...]]],
        grid: tuple[int, int],
    ) -> np.ndarray:
        """Attributions (lanes, |A|) of one term and one row per lane."""
        closure, parts = where
        seen = set(closure.tolist())
        pieces = [self._make_piece(part, seen, terms, codes) for part in parts]
        own = np.prod([piece.own(v) for piece in pieces for v in piece.functions], axis=0)
        mean = np.prod([expect_piece(piece) for piece in pieces], axis=0)
        scale = np.prod([np.abs(piece.functions[v]).max(axis=1) for piece in pieces for v in piece.functions], axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        for _ in range(_REFINEMENTS):
            if grid not in self.operators:
                self.operators[grid] = Operators(self.layout.times, make_cuts(*grid))
            here = self.operators[grid]
            results = [attribute_piece(piece, here) for piece in pieces]
            phi = np.empty((len(terms), len(closure)))
            place = {v: i for i, v in enumerate(closure.tolist())}
            for i, (gains, _) in enumerate(results):
                rest = np.prod([expected for j, (_, expected) in enumerate(results) if j != i], axis=0)
                for v, gain in gains.items():
                    phi[:, place[v]] = here.cuts.weights @ (gain * rest)
            gap = float((np.abs(phi.sum(axis=1) - own + mean) / scale).max())
            if gap <= _GAP:
                break
            grid = (grid[0] * 3 // 2 + 1, grid[1] * 3 // 2 + 1)
        if gap > 100 * _GAP:
            raise MethodNotApplicableError(
                f"the polytree algorithm does not resolve {len(closure)} features: attributions of a term miss their "
                f"sum by {gap:.0e} of its largest value; use the ideals, or sampled orders"
            )
        return phi

    def _make_piece(self, part: tuple[int, ...], seen: set[int], terms: np.ndarray, codes: np.ndarray) -> Piece:
        layout, products = self.layout, self.products
        members = set(part)
        return Piece(
            len(terms),
            {v: tuple(u for u in layout.parents[v] if u in members) for v in part},
            {v: tuple(u for u in layout.children[v] if u in members) for v in part},
            {v: products.vectors[v][products.terms[terms, v]] for v in part if v in seen},
            {v: layout.tables[v] for v in part if v in seen},
            {v: codes[:, v] for v in part if v in seen},
        )
