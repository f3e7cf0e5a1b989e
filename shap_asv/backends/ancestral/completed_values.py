"""nu of coalitions that lack causes of their members, row by row: the sets of :mod:`completed`, put to use."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shap_asv.backends.ancestral.completed import ClosedSet, bits_in, ends_of
from shap_asv.backends.pace import Report, keep_silent, paced
from shap_asv.backgrounds.grouping import number_rows
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks

if TYPE_CHECKING:
    from shap_asv.backends.ancestral.completion_kernel import Coalitions, Factors, Margins
    from shap_asv.backends.ancestral.value_kernel import RowMargins

# Triples of term, row and class in the first compiled call for a closure.
_FIRST_PIECE = 2**22
# Entries of the tables of the terms that go into one compiled call; a single term may have more.
_TABLES_AT_ONCE = 2**23


@dataclass(frozen=True, eq=False)
class CompletedValues:
    """nu of some coalitions, closure by closure: the sum over the terms that are ``known``, bool (t,)."""

    products: SumOfProducts
    known: np.ndarray
    nodes: np.ndarray
    coalitions: "Coalitions"
    factors: "Factors"
    roots: tuple[ClosedSet, ...]
    margins: "Margins"

    def values(self, rows: np.ndarray, report: Report = keep_silent) -> tuple[np.ndarray, np.ndarray]:
        """Codes (r, n) -> the sum over terms (m, r, k), without the offset, and whether each row is possible (r,)."""
        from shap_asv.backends.ancestral.value_kernel import RowMargins

        codes = self.node_codes(rows)
        posteriors, looks, possible = self.posteriors(codes, self.margins)
        margins = RowMargins(self.margins.starts, posteriors, looks)
        out = np.zeros((len(self.coalitions.held), len(rows), self.products.n_outputs))
        out += self.constant
        done = 0
        for root in self.roots:
            done += self._add(root, codes, margins, out)
            report(done / max(1, self.products.n_terms))
        return out, possible

    @property
    def constant(self) -> np.ndarray:
        """The sum of the terms that look at nothing (k,)."""
        constant = self.known & ~(self.products.terms != 0).any(axis=1)
        return np.asarray(self.products.coefficients[constant].sum(axis=0))

    def node_codes(self, rows: np.ndarray) -> np.ndarray:
        """Codes of the features (r, n) -> codes of all nodes (r, nodes), -1 for those that are not features."""
        codes = np.full((len(rows), len(self.factors.cards)), -1, dtype=np.int64)
        codes[:, self.nodes] = rows
        return codes

    def posteriors(
        self, codes: np.ndarray, margins: "Margins", find_looks: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of what is missing, (r, states of all margins); which rows look alike (r, margins); which are possible.

        Without ``find_looks``, nobody asks which rows look alike, and none is said to.
        """
        from shap_asv.backends.ancestral.completion_kernel import fill_margins, weigh_groups

        coalitions, starts = self.coalitions, self.group_starts
        of_groups = np.empty((len(codes), starts[-1]))
        possible = np.ones(len(codes), dtype=bool)
        weigh_groups(coalitions.missing, coalitions.seen, starts, self.factors, codes, of_groups, possible)
        found = np.empty((len(codes), margins.starts[-1]))
        looks = np.zeros((len(codes), max(1, len(margins.shown))), dtype=np.int64)
        group_looks = np.zeros((len(codes), len(coalitions.seen)), dtype=np.int64)
        if find_looks:
            group_looks = self._group_looks(codes)
        fill_margins(margins, coalitions.missing, starts, self.factors.cards, of_groups, group_looks, found, looks)
        return found, looks, possible

    @property
    def group_starts(self) -> np.ndarray:
        """Where the states of each group start."""
        cards = self.factors.cards
        return ends_of(np.where(bits_in(self.coalitions.missing, np.arange(len(cards))), cards, 1).prod(axis=1))

    def _group_looks(self, codes: np.ndarray) -> np.ndarray:
        """Rows that agree on what a group depends on have the same number, int (rows, groups)."""
        cards = self.factors.cards
        looks = np.zeros((len(codes), len(self.coalitions.seen)), dtype=np.int64)
        for group, seen in enumerate(bits_in(self.coalitions.seen, np.arange(len(cards)))):
            columns = [(codes[:, v], int(cards[v])) for v in np.flatnonzero(seen)]
            looks[:, group] = number_rows(columns, len(codes))[0]
        return looks

    def _add(self, own: ClosedSet, codes: np.ndarray, margins: "RowMargins", out: np.ndarray) -> int:
        """Add the values of a closure and of all below it to those of the set around it, (classes, rows, k)."""
        from shap_asv.backends.ancestral.value_kernel import Leaves, add_classes, add_values

        products, n_rows = self.products, len(codes)
        here = np.zeros((own.n_classes, n_rows, products.n_outputs))
        done = len(own.terms)
        for child in own.children:
            done += self._add(child, codes, margins, here)
        feature_of = {int(node): v for v, node in enumerate(self.nodes)}
        offsets = own.tables.offsets
        factors = np.ones((len(own.terms), offsets[-1]))
        for j, node in enumerate(own.members.tolist()):
            v = feature_of.get(node)
            if v is not None:
                factors[:, offsets[j] : offsets[j + 1]] = products.vectors[v][products.terms[own.terms, v]]
        coefficients = products.coefficients[own.terms]
        inside = np.ascontiguousarray(codes[:, own.members])
        # a first piece of work that is over soon; what does not depend on the terms is done again for every piece
        for some in blocks(len(factors), max(1, _TABLES_AT_ONCE // int(own.shapes.starts[-1]))):
            of_some = Leaves(factors[some], coefficients[some])
            for part in paced(len(of_some.factors), max(1, _FIRST_PIECE // (own.n_classes * n_rows))):
                leaves = Leaves(of_some.factors[part], of_some.coefficients[part])
                add_values(own.shapes, own.tables, own.places, own.kinds, leaves, inside, margins, here)
        add_classes(out.reshape(len(out), -1), here.reshape(len(here), -1), own.parent_classes)
        return done
