"""A mixture of backgrounds: with probability ``shares[c]`` a draw comes from component c.

``X | e_S`` is taken from each component as it is, so that ``nu(S)`` of the mixture is the mean of the components'
values with the same shares for every coalition: what :mod:`~shap_asv.backgrounds.choice.choosing` weighs against
held-out rows.
"""

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Conditions, CountsDraws
from shap_asv.backgrounds.interventions import by_levels
from shap_asv.backgrounds.tables.border import TableBorder, checked_evidence, checked_uniforms
from shap_asv.costs import Cost


class MixtureModel(TableBorder):
    """Several backgrounds of the same table, each with a share.

    Parameters
    ----------
    components : sequence of backgrounds
        All with the same features and the same coding of rows (fitted to the same table), and all with ``draws``. If
        one of them conditions on ancestral sets only, so does the mixture.
    shares : sequence of float
        Positive; scaled to sum to one.

    Examples
    --------
    >>> from shap_asv.backgrounds.gaussian.model import GaussianModel
    >>> low, high = GaussianModel([0.0], [[0.0]]), GaussianModel([1.0], [[0.0]])
    >>> mixture = MixtureModel([low, high], [0.25, 0.75])
    >>> uniforms = np.array([[0.1, 0.5], [0.3, 0.5], [0.9, 0.5]])  # the first one picks the component
    >>> mixture.draws(np.array([[np.nan]]), uniforms)[0, :, 0].tolist()
    [0.0, 1.0, 1.0]
    """

    def __init__(self, components: Sequence[Any], shares: Sequence[float]) -> None:
        self.components: tuple[Any, ...] = tuple(components)
        self.shares: np.ndarray = np.array(shares) / np.sum(shares)
        self.codec = self.components[0].codec

    def _keep(self, kept: list[int]) -> None:
        self.components = tuple(part.only(self.features) for part in self.components)

    @property
    def latent(self) -> tuple[str, ...]:
        """Latent variables of any component, each once."""
        return tuple(dict.fromkeys(name for component in self.components for name in component.latent))

    @property
    def graph(self) -> nx.DiGraph | None:
        """The graphs of the components that condition on ancestral sets only, laid over one another; None without any.

        A set that holds all causes in it can be conditioned on by every component.
        """
        graphs = [component.graph for component in self.components if component.conditions_on == "ancestral"]
        return nx.compose_all(graphs) if graphs else None

    @property
    def conditions_on(self) -> Conditions:  # type: ignore[override]
        """What all components can condition on: "any" coalition, or "ancestral" ones."""
        return "any" if all(component.conditions_on == "any" for component in self.components) else "ancestral"

    @property
    def n_uniforms(self) -> int:
        """One that picks the component, and as many as the most demanding component takes."""
        return 1 + max(component.n_uniforms for component in self.components)

    def drawing_cost(self, n_coalitions: int, n_rows: int, n_draws: int, ancestral: bool) -> Cost:
        """Each component draws its share, and conditions on every coalition."""
        cost = Cost({"draw": n_coalitions * n_rows * n_draws})
        for component, share in zip(self.components, self.shares, strict=True):
            if isinstance(component, CountsDraws):
                cost += component.drawing_cost(n_coalitions, n_rows, int(np.ceil(share * n_draws)), ancestral)
        return cost

    def describe(self) -> str:
        parts = (f"{share:.0%} {one.describe()}" for share, one in zip(self.shares, self.components, strict=True))
        return "mixture of " + "; ".join(parts)

    def check(self, rows: np.ndarray) -> None:
        for component in self.components:
            component.check(rows)

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n); uniforms (D, n_uniforms), the first column picks the component of a draw."""
        evidence = checked_evidence(evidence, self.n_features)
        uniforms = checked_uniforms(uniforms, self.n_uniforms)
        bounds = np.cumsum(self.shares)[:-1]
        picked = np.searchsorted(bounds, uniforms[:, 0], side="right")
        result = np.empty((len(evidence), len(uniforms), self.n_features))
        for c, component in enumerate(self.components):
            chosen = picked == c
            if chosen.any():
                result[:, chosen] = component.draws(evidence, uniforms[chosen, 1 : 1 + component.n_uniforms])
        return result

    def intervened_by_levels(self, levels: Sequence[Sequence[int]], confounded: Sequence[int]) -> "MixtureModel":
        """Each component under ``do(X_S = e_S)`` by levels, with the same shares."""
        return MixtureModel([by_levels(part, levels, confounded) for part in self.components], list(self.shares))

    def showing(self, feature: int) -> "MixtureModel":
        """Components under interventions where evidence about ``feature`` is shown to the model alone."""
        return MixtureModel([part.showing(feature) for part in self.components], list(self.shares))
