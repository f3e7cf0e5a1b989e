"""A structural model whose features are set: cut the edges into S, clamp S, simulate the rest forwards."""

from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.intervening import ShowingNumbers, with_shown, without


@dataclass(frozen=True, eq=False)
class StructuralInterventions(ShowingNumbers):
    """Draws of ``X | do(X_S = e_S)`` for any set S, with the same uniform numbers for all evidence.

    Examples
    --------
    >>> from scipy.special import ndtri
    >>> from shap_asv import StructuralModel
    >>> model = StructuralModel(
    ...     [("dose", "effect")],
    ...     {"dose": lambda causes, u: 1 + u, "effect": lambda causes, u: 2 * causes["dose"] + ndtri(u)},
    ... )
    >>> set_effect = np.array([[np.nan, 9.0]])  # tells nothing of the dose
    >>> model.background().intervened().draws(set_effect, np.array([[0.25, 0.5]])).tolist()
    [[[1.25, 9.0]]]
    """

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Evidence (E, n), nan where free, and uniforms (D, n_uniforms) -> rows (E, D, n)."""
        drawn = self.natural.intervene(without(np.asarray(evidence, dtype=float), self.shown), uniforms)
        return with_shown(drawn, evidence, self.shown)
