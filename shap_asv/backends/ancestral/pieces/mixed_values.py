"""nu of coalitions that lack a few nodes only, such as a target in the middle of the network: a mixture over states.

Let Z be all nodes that any coalition lacks (see :mod:`~shap_asv.backends.ancestral.completed`), none of them a feature,
z a state of them, and J = S with all that stands above its members. Given z, everything is clamped:

    nu(S) = sum over z of  P(z | e_S) * nu(J; e, z)

Only the posterior ``P(z | e_S)`` depends on members of S far away from a term, and it is the same for all terms. What
a closure A sees of J is an ideal of A, so that each term is summed over the ideals of its own closure, once per state
z, in place of once per class of coalitions with equal posteriors. A path that a row fails is dead in all states at
once. The values of J come from :mod:`~shap_asv.backends.ancestral.pieces.tables`, or where these are too large from
:mod:`~shap_asv.backends.ancestral.pieces.demanded`. Where nothing is ever missing, nothing is mixed.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shap_asv.backends.ancestral.completed import bits_in
from shap_asv.backends.ancestral.completed_values import CompletedValues
from shap_asv.backends.ancestral.pieces.demanded import DemandedSums
from shap_asv.backends.ancestral.pieces.tables import PieceSums
from shap_asv.backends.pace import Report, keep_silent
from shap_asv.models.products import SumOfProducts

if TYPE_CHECKING:
    from shap_asv.backends.ancestral.completion_kernel import Coalitions

#: States of all nodes that are missing anywhere, up to which they are gone through one by one.
MIXTURE_LIMIT = 16
#: Terms of a closure that are not worth handing on values in every state.
FEW_TERMS = 60


def missing_anywhere(coalitions: "Coalitions", n_nodes: int) -> np.ndarray:
    """The nodes that any coalition lacks."""
    together = np.bitwise_or.reduce(coalitions.missing, initial=0)
    return np.flatnonzero(bits_in(np.array([together]), np.arange(n_nodes))[0])


def only_indicators(products: SumOfProducts) -> bool:
    """Whether every function is 0 or 1: then what is known of a term is whether it is dead."""
    return all(bool(((table == 0) | (table == 1)).all()) for table in products.vectors)


def without_gaps(coalitions: "Coalitions") -> tuple["Coalitions", np.ndarray]:
    """The distinct sets J of coalitions (m,), which lack nothing, and the one of each coalition (m,)."""
    from shap_asv.backends.ancestral.completion_kernel import Coalitions

    whole, number = np.unique(coalitions.closed, return_inverse=True)
    nothing = np.zeros(0, dtype=np.int64)
    starts = np.zeros(len(whole) + 1, dtype=np.int64)
    return Coalitions(whole, whole, starts, nothing, nothing, nothing), number.reshape(-1)


@dataclass(frozen=True, eq=False)
class MixedValues:
    """nu of coalitions from the values of the sets J: ``lacking`` knows the posteriors, ``sums`` the terms.

    ``of_whole`` (m,) is the set J of each coalition, ``latent`` the nodes Z.
    """

    lacking: CompletedValues
    sums: PieceSums | DemandedSums
    of_whole: np.ndarray
    latent: np.ndarray

    @property
    def copies(self) -> int:
        """States z."""
        return int(np.prod(self.sums.cards[self.latent]))

    def values(self, rows: np.ndarray, report: Report = keep_silent) -> tuple[np.ndarray, np.ndarray]:
        """Codes (r, n) -> the sum over terms (m, r, k), without the offset, and whether each row is possible (r,)."""
        from shap_asv.backends.ancestral.completion_kernel import Margins

        m, n_states, k = len(self.of_whole), self.copies, self.sums.products.n_outputs
        codes = self.lacking.node_codes(rows)
        if not len(self.latent):  # nothing is ever missing
            summed = np.zeros((len(rows), int(self.of_whole.max()) + 1, 1, k))
            self.sums.add(codes, 1, summed, report)
            summed += self.lacking.constant
            if not np.array_equal(self.of_whole, np.arange(summed.shape[1])):
                summed = summed[:, self.of_whole]
            return summed[:, :, 0].transpose(1, 0, 2), np.ones(len(rows), dtype=bool)
        # one margin for each coalition, over all of Z: what it does not lack stays in its first state
        margins = Margins(
            n_states * np.arange(m + 1),
            self.lacking.coalitions.starts,
            self.lacking.coalitions.groups,
            np.full(m, sum(1 << int(v) for v in self.latent), dtype=np.int64),
        )
        found, _, possible = self.lacking.posteriors(codes, margins, find_looks=False)
        posteriors = found.reshape(len(rows), m, n_states)
        copies = np.repeat(codes, n_states, axis=0)
        stride = 1
        for v in self.latent.tolist():  # the first node fastest
            copies[:, v] = np.tile(np.arange(n_states) // stride % self.sums.cards[v], len(rows))
            stride *= self.sums.cards[v]
        summed = np.zeros((len(rows), int(self.of_whole.max()) + 1, n_states, k))
        self.sums.add(copies, n_states, summed, report)
        mixed = np.zeros((m, len(rows), k))
        mixed += self.lacking.constant
        for row in range(len(rows)):
            for z in range(n_states):  # state by state: the same bits, whatever rows come together
                mixed[:, row] += posteriors[row, :, z, None] * summed[row, self.of_whole, z]
        return mixed, possible
