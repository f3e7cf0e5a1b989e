"""Coalitions that lack causes of their members, as mixtures of sets that lack nothing.

Let S be a coalition, J = S with all that stands above its members in the network, and M = J - S what it lacks. J is
closed under causes, so that the probability of a state of J is a product of table entries. With x a state of M,

    nu(S) = sum over x of  P(x | e_S) nu(J; e_S, x),       P(x | e_S) ~ prod over v in J of P(x_v | parents of v),

and the factors that hold no node of M cancel. Coalitions are grouped by M: what remains for each group is ``nu(J; e)``
of closed sets, at states of all their members, which :mod:`~shap_asv.backends.closures.on_demand` knows.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shap_asv.backends.closures.on_demand import ClosedSetValues, lay_out
from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.termwise import TermwiseAttributor, relevant_nodes, termwise_attributor, with_causes
from shap_asv.backends.weight_columns import Columns
from shap_asv.backends.workload import expected_output
from shap_asv.backgrounds.contract import Terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.grouping import row_keys
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks
from shap_asv.values.expected_terms import ExactProducts

#: Numbers of nu that are held at one time.
NU_LIMIT = 2**24
#: States of missing nodes that a coalition may have.
STATE_LIMIT = 2**8
#: Sets M that are treated one after the other: those that most coalitions lack.
MOST_GROUPS = 64


@dataclass(frozen=True, eq=False)
class ClosuresAttributor:
    """Coalitions that lack the same nodes one after the other; ``others`` has those that lack too much."""

    background: Terms
    products: SumOfProducts
    columns: Columns
    groups: tuple[tuple["LackingAlike", ClosedSetValues], ...]
    others: TermwiseAttributor | None

    @property
    def rowwise(self) -> bool:
        return self.others is None

    @property
    def compiled(self) -> bool:
        return self.others is None

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        network, n_outputs, matrix = self.background.network, self.products.n_outputs, self.columns.matrix
        codes = np.full((len(rows), network.n_nodes), -1, dtype=np.int64)
        codes[:, self.background.nodes] = rows
        contracted = np.zeros((len(rows), matrix.shape[1], n_outputs))
        base, empty = None, np.asarray(~self.columns.coalitions.any(axis=1))
        n_parts = len(self.groups) + (self.others is not None)
        for number, (group, values) in enumerate(self.groups):
            within = part_of(report, number / n_parts, (number + 1) / n_parts)
            own = matrix[group.coalitions]
            step = max(1, NU_LIMIT // (values.shape[0] * len(group.states) * n_outputs))
            for block in blocks(len(rows), step):
                share = part_of(within, block.start / len(rows), block.stop / len(rows))
                nu = self._nu(group, values, codes[block], share)
                found = np.asarray(own.T @ nu.reshape(len(nu), -1)).reshape(-1, nu.shape[1], n_outputs)
                contracted[block] += found.transpose(1, 0, 2)
                if base is None and empty[group.coalitions].any():  # the same for all rows and calls
                    base = self._constant + nu[empty[group.coalitions].argmax(), 0]
        if self.others is not None:
            contracted += self.others.contracted(rows, part_of(report, 1 - 1 / n_parts, 1.0))
        phi, error = self.columns.combine(contracted)
        return Attribution(phi, self._base if base is None else base, error)

    def _nu(self, group: "LackingAlike", values: ClosedSetValues, codes: np.ndarray, report: Report) -> np.ndarray:
        """Codes of all nodes (r, nodes) -> nu of the coalitions of a group (g, r, k), but for what is constant."""
        n_states = len(group.states)
        given = values.values(group.fill_in(codes), report)
        given = given.reshape(len(codes), n_states, *given.shape[1:])
        posteriors, possible = group.posteriors(self.background.network, codes)
        weights = posteriors[group.of_factors]
        nu = np.zeros((len(weights), len(codes), self.products.n_outputs))
        for row in range(len(codes)):
            for state in range(n_states):  # state by state: the same bits, whatever rows come together
                nu[:, row] += weights[:, row, state, None] * given[row, state]
        if not possible.all():  # the background knows what to say about such a row
            sets = self.columns.coalitions[group.coalitions]
            rows = codes[~possible][:, self.background.nodes]
            known = ExactProducts(self.background, self.products).values(sets, rows)
            nu[:, ~possible] = known.transpose(1, 0, 2) - self._constant
        return nu

    @property
    def _constant(self) -> np.ndarray:
        """The offset, and terms that look at nothing (k,): the weights of all coalitions together let it vanish."""
        constant = ~(self.products.terms != 0).any(axis=1)
        return np.asarray(self.products.offset + self.products.coefficients[constant].sum(axis=0))

    @cached_property
    def _base(self) -> np.ndarray:
        """The value of the empty coalition (k,), by elimination: only where no group holds it, or there is no row."""
        return expected_output(self.background, self.products)


def closures_attributor(background: Terms, products: SumOfProducts, columns: Columns) -> ClosuresAttributor:
    """An attributor for any weights over any coalitions."""
    relevant = relevant_nodes(background, products)
    found, left = group_by_missing(background.network, background.nodes, columns.coalitions, relevant)
    groups = tuple(zip(found, lay_out(background, products, [group.closed for group in found]), strict=True))
    others = (
        termwise_attributor(
            background, products, replace(columns, coalitions=columns.coalitions[left], matrix=columns.matrix[left])
        )
        if len(left)
        else None
    )
    return ClosuresAttributor(background, products, columns, groups, others)


# --- coalitions that lack the same nodes ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LackingAlike:
    """Coalitions that lack the same nodes.

    Attributes
    ----------
    coalitions : int array (g,)
        Places among all coalitions.
    closed : bool array (g, nodes)
        J of each.
    missing : int array (n,)
        The nodes M.
    states : int array (x, n)
        Their joint states.
    factors : bool array (f, nodes)
        The distinct sets of nodes whose tables hold a node of M.
    of_factors : int array (g,)
        The one of each coalition.
    """

    coalitions: np.ndarray
    closed: np.ndarray
    missing: np.ndarray
    states: np.ndarray
    factors: np.ndarray
    of_factors: np.ndarray

    def fill_in(self, codes: np.ndarray) -> np.ndarray:
        """Codes (r, nodes) -> (r * x, nodes): each row in every state of M."""
        filled = np.repeat(codes, len(self.states), axis=0)
        filled[:, self.missing] = np.tile(self.states, (len(codes), 1))
        return filled

    def posteriors(self, network: DiscreteNetwork, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``P(x | e_S)`` (f, r, x) for codes (r, nodes), and which rows are possible (r,)."""
        states: list[np.ndarray] = [codes[:, v, None] for v in range(network.n_nodes)]
        for j, v in enumerate(self.missing.tolist()):
            states[v] = self.states[None, :, j]
        found = np.ones((len(self.factors), len(codes), len(self.states)))
        for joint, factors in zip(found, self.factors, strict=True):
            for v in np.flatnonzero(factors).tolist():
                joint *= network.tables[v][(states[v], *(states[p] for p in network.parents[v]))]
        total = found.sum(axis=2, keepdims=True)
        return found / np.where(total > 0, total, 1.0), np.asarray((total > 0).all(axis=(0, 2)))


def group_by_missing(
    network: DiscreteNetwork, nodes: np.ndarray, coalitions: np.ndarray, relevant: np.ndarray
) -> tuple[tuple[LackingAlike, ...], np.ndarray]:
    """Coalitions of features, bool (m, n), by what they lack; and those left out, int (l,): they lack too much.

    What is missing counts where any of it is among the ``relevant`` nodes, bool (nodes,): values depend on no others.
    """
    held = np.zeros((len(coalitions), network.n_nodes), dtype=bool)
    held[:, nodes] = coalitions
    closed = with_causes(network, held)
    missing = closed & ~held
    missing[~(missing & relevant).any(axis=1)] = False
    _, first, member, counts = np.unique(
        row_keys(np.packbits(missing, axis=1)), return_index=True, return_inverse=True, return_counts=True
    )
    sizes = np.exp(missing[first] @ np.log(np.array(network.cardinalities, dtype=float)))
    fits = sizes < STATE_LIMIT + 0.5
    common = np.argsort(-np.where(fits, counts, 0), kind="stable")[:MOST_GROUPS]
    chosen = np.sort(common[fits[common]])
    groups = tuple(
        _lacking(network, closed, np.flatnonzero(member == group), np.flatnonzero(missing[first[group]]))
        for group in chosen.tolist()
    )
    return groups, np.flatnonzero(~np.isin(member, chosen))


def _lacking(network: DiscreteNetwork, closed: np.ndarray, own: np.ndarray, missing: np.ndarray) -> LackingAlike:
    touches = np.zeros(network.n_nodes, dtype=bool)
    for v, parents in enumerate(network.parents):
        touches[v] = np.isin([v, *parents], missing).any()
    factors, of_factors = np.unique(closed[own] & touches, axis=0, return_inverse=True)
    cards = [network.cardinalities[v] for v in missing.tolist()]
    states = np.stack(np.unravel_index(np.arange(int(np.prod(cards, dtype=int))), cards), axis=1) if cards else None
    if states is None:
        states = np.zeros((1, 0), dtype=np.int64)
    return LackingAlike(own, closed[own], missing, states, factors, of_factors.reshape(-1))
