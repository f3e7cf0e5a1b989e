"""phi of a sum of products, term by term, without ever writing nu(S) down.

For a term that looks at the features F, ``E[prod g(X_F) | e_S]`` does not depend on all of S: given the rest, some
evidence is cut off from F (d-separation). Coalitions with the same *requisite* evidence have the same expectation, so
their rows of W may be added up first:

    phi = sum over terms t of c_t * sum over classes q of  E_t(q) * W_q,      W_q = sum over S in class q of W[S]

W_q depends on the graph and on F alone. For an ideal of the network the classes are cuts of the ancestral set of F, a
few dozen even where the lattice has millions of ideals; rows that agree on what the classes see share the result.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.columns import Columns, contract
from shap_asv.backends.contract import Attribution
from shap_asv.backgrounds.discrete import DiscreteBackground
from shap_asv.backgrounds.grouping import number_rows
from shap_asv.backgrounds.requisite import RequisiteEvidence
from shap_asv.models.products import SumOfProducts
from shap_asv.values.contract import blocks

# Doubles held at one time: 2**22 are 32 MiB.
_DENSE_LIMIT = 2**22


@dataclass(frozen=True, eq=False)
class TermGroup:
    """Terms that look at the same features, with the classes of coalitions they can tell apart.

    ``classes`` bool (q, n) is the requisite evidence of each class, ``weights`` sparse (q, c) the summed rows of W,
    and ``seen`` the features that any class looks at.
    """

    terms: np.ndarray
    classes: np.ndarray
    weights: sp.csr_array
    seen: np.ndarray


@dataclass(frozen=True, eq=False)
class TermwiseAttributor:
    """``phi = sum over groups of (expectations of the group's classes) @ (summed weights)``."""

    background: DiscreteBackground
    products: SumOfProducts
    columns: Columns
    groups: tuple[TermGroup, ...]

    def attribute(self, rows: np.ndarray) -> Attribution:
        products = self.products
        contracted = np.zeros((len(rows), self.columns.matrix.shape[1], products.n_outputs))
        for group in self.groups:
            patterns, back = np.unique(rows[:, group.seen], axis=0, return_inverse=True)
            full = np.full((len(patterns), rows.shape[1]), -1, dtype=rows.dtype)
            full[:, group.seen] = patterns
            contracted += self._group_values(group, full)[back.reshape(-1)]
        empty = np.full((1, rows.shape[1]), -1, dtype=rows.dtype)
        base = products.offset + (
            self.background.expectations(empty, products.vectors, products.terms)[0] @ products.coefficients
        )
        phi, error = self.columns.combine(contracted)
        return Attribution(phi, base, error)

    def _group_values(self, group: TermGroup, patterns: np.ndarray) -> np.ndarray:
        """Patterns (u, n) -> their share of ``nu @ W``, (u, c, k)."""
        products = self.products
        terms, coefficients = products.terms[group.terms], products.coefficients[group.terms]
        q, k = len(group.classes), products.n_outputs
        out = np.empty((len(patterns), group.weights.shape[1], k))
        per_block = max(1, _DENSE_LIMIT // (q * max(len(terms), k)))
        for block in blocks(len(patterns), per_block):
            evidence = np.where(group.classes[None], patterns[block, None, :], -1)
            size = len(evidence)
            flat = evidence.reshape(size * q, -1)
            nu = self.background.expectations(flat, products.vectors, terms) @ coefficients
            out[block] = contract(nu.reshape(size, q, k), group.weights)
        return out


def group_terms(background: DiscreteBackground, products: SumOfProducts, columns: Columns) -> tuple[TermGroup, ...]:
    """Group the terms by the features they look at, and find each group's classes of coalitions."""
    touched, member = np.unique(products.terms != 0, axis=0, return_inverse=True)
    member = member.reshape(-1)
    evidence = RequisiteEvidence(background.network, background.nodes.tolist(), columns.coalitions)
    groups = []
    for index, features in enumerate(touched):
        if not features.any():
            continue  # a constant moves no feature; its rows of W cancel
        needed = evidence.of(features)
        of_coalition, chosen = number_rows([(needed[:, v], 2) for v in range(needed.shape[1])], len(needed))
        classes = needed[chosen]
        merge = sp.csr_array(
            (np.ones(len(of_coalition)), (of_coalition, np.arange(len(of_coalition)))),
            shape=(len(classes), len(of_coalition)),
        )
        groups.append(
            TermGroup(
                np.flatnonzero(member == index),
                classes,
                sp.csr_array(merge @ columns.matrix),
                classes.any(axis=0),
            )
        )
    return tuple(groups)
