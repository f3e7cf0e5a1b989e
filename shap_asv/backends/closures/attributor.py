"""``phi = nu @ W`` with nu of coalitions as mixtures of closed sets, whose values are known on demand."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shap_asv.backends.closures.ancestral_sets import relevant_nodes
from shap_asv.backends.closures.missing_causes import LackingAlike, group_by_missing
from shap_asv.backends.closures.on_demand import ClosedSetValues, lay_out
from shap_asv.backends.contract import Attribution
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.termwise import TermwiseAttributor, termwise_attributor
from shap_asv.backends.weight_columns import Columns
from shap_asv.backends.workload import expected_output
from shap_asv.backgrounds.contract import Terms
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks
from shap_asv.values.expected_terms import ExactProducts

#: Numbers of nu that are held at one time.
NU_LIMIT = 2**24


@dataclass(frozen=True, eq=False)
class ClosuresAttributor:
    """Coalitions that lack the same nodes one after the other; ``others`` has those that lack too much."""

    background: Terms
    products: SumOfProducts
    columns: Columns
    groups: tuple[tuple[LackingAlike, ClosedSetValues], ...]
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

    def _nu(self, group: LackingAlike, values: ClosedSetValues, codes: np.ndarray, report: Report) -> np.ndarray:
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
