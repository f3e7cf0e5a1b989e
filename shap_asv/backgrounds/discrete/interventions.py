"""A Bayesian network whose features are set, not seen: ``P(X | do(X_S = e_S))`` for every set S, exactly.

Setting X_S cuts the edges into S. What is left is the truncated factorisation

    P(x | do(x_S)) = prod over nodes v outside of S of P(x_v | x_parents(v)),      x_S = e_S,

the network without the CPTs of S. Nothing is conditioned on: latent nodes keep the distribution that they have, which
is what makes confounding visible, and no evidence is impossible. Inference is that of the network
(:mod:`~shap_asv.backgrounds.discrete.inference`) with these factors left out.

Where S holds, with each member, all causes of it, and none of them is latent, this is the conditional distribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from shap_asv.backgrounds.discrete.background import JOINT_LIMIT, DiscreteBackground
from shap_asv.backgrounds.discrete.inference.engine import Inference
from shap_asv.backgrounds.discrete.inference.requisite import RequisiteEvidence
from shap_asv.backgrounds.discrete.joint import intervened_joint
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.discrete.questions import checked_coefficients
from shap_asv.backgrounds.intervening import Intervening, natural_own
from shap_asv.backgrounds.tables.evidence import checked_uniforms


@dataclass(frozen=True, eq=False)
class DiscreteInterventions(Intervening):
    """The features of a network under interventions. Evidence is what is set; -1 is what follows its causes.

    Attributes
    ----------
    natural : DiscreteBackground
        The same features where nobody intervenes.

    Examples
    --------
    >>> from shap_asv.backgrounds.discrete.network import DiscreteNetwork
    >>> rain_and_grass = DiscreteNetwork(
    ...     names=("rain", "wet"),
    ...     states=(("no", "yes"), ("no", "yes")),
    ...     parents=((), (0,)),
    ...     tables=(np.array([0.75, 0.25]), np.array([[1.0, 0.0], [0.0, 1.0]])),
    ... )
    >>> natural = DiscreteBackground(rain_and_grass)
    >>> it_rains = (np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 1.0]]))
    >>> wet = np.array([[-1, 1]])
    >>> natural.expectations(wet, it_rains, np.array([[1, 0]])).tolist()
    [[1.0]]
    >>> natural.intervened().expectations(wet, it_rains, np.array([[1, 0]])).tolist()
    [[0.25]]
    """

    natural: DiscreteBackground

    impossible: ClassVar[str] = "raise"

    # --- what there is ----------------------------------------------------------------------------------------

    network, nodes, states = natural_own("network"), natural_own("nodes"), natural_own("states")
    cardinalities, size, values = natural_own("cardinalities"), natural_own("size"), natural_own("values")
    probe, positions, as_given = natural_own("probe"), natural_own("positions"), natural_own("as_given")
    joint_obstacle = natural_own("joint_obstacle")  # cutting nodes makes no table larger

    @cached_property
    def inference(self) -> Inference:
        return Inference(self.network, self.nodes, intervenes=True)

    def describe(self) -> str:
        latent = f", latent: {', '.join(self.latent)}" if self.latent else ""
        return f"interventions on a Bayesian network of {self.network.n_nodes} nodes{latent}"

    # --- rows -------------------------------------------------------------------------------------------------

    def check(self, rows: np.ndarray) -> None:
        """Every row of states can be set, whether it occurs by itself or not."""
        self.natural.checked_evidence(rows)

    # --- under do ---------------------------------------------------------------------------------------------

    def log_probability(self, evidence: np.ndarray) -> np.ndarray:
        """0: what is set is as it was set."""
        return np.zeros(len(self.natural.checked_evidence(evidence)))

    def expectations(self, evidence: np.ndarray, vectors: Sequence[np.ndarray], terms: np.ndarray) -> np.ndarray:
        """``E[prod over v of g_tv(X_v) | do(X_S = e_S)]`` for every evidence row and term -> float64 (E, T).

        Arguments as for :meth:`DiscreteBackground.expectations`.
        """
        codes = self._codes(evidence)
        return self.inference.expectations(codes, *self.natural.checked_terms(vectors, terms))[0]

    def expected_sums(
        self, evidence: np.ndarray, vectors: Sequence[np.ndarray], terms: np.ndarray, coefficients: np.ndarray
    ) -> np.ndarray:
        """``sum over t of coefficients[t] * E[term t | do(X_S = e_S)]`` -> float64 (E, k)."""
        codes = self._codes(evidence)
        by_node, node_terms = self.natural.checked_terms(vectors, terms)
        coefficients = checked_coefficients(coefficients, len(node_terms))
        return self.inference.expected_sums(codes, by_node, node_terms, coefficients)[0]

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Exact draws of ``X | do(X_S = e_S)`` -> int32 codes (E, D, n), by forward simulation."""
        uniforms = checked_uniforms(uniforms, self.n_uniforms)
        codes = self._codes(evidence)
        result = np.empty((len(evidence), len(uniforms), len(self.features)), dtype=np.int32)
        for where, drawn in self.inference.draw(codes, True, uniforms, self.nodes):
            result[where] = drawn
        return result

    def _codes(self, evidence: np.ndarray) -> np.ndarray:
        return self.natural.on_nodes(self.natural.checked_evidence(evidence))

    def requisite(self, coalitions: np.ndarray) -> RequisiteEvidence:
        """Which of what is set an answer can depend on, for coalitions (m, n)."""
        return RequisiteEvidence(self.network, self.nodes.tolist(), coalitions, intervenes=True)

    def intervened_joint(self, members: np.ndarray) -> np.ndarray:
        """``P(x_rest | do(x_S))`` for S (n,) bool, one axis per feature (length 1 where nothing depends on it).

        The axes of S run over what it may be set to; over the others it sums to 1.
        """
        cut = frozenset(int(v) for v in self.nodes[np.asarray(members, dtype=bool)])
        return intervened_joint(self.network, [int(v) for v in self.nodes], cut, JOINT_LIMIT)

    def showing(self, feature: int) -> "DiscreteInterventions":
        """The same where evidence about ``feature`` is shown to the model and reaches nobody else.

        The node is split: its natural half, now latent, keeps its causes and its effects, and the half that the model
        sees stands alone.
        """
        network, node = self.network, int(self.nodes[feature])
        name = network.names[node]
        card = len(network.states[node])
        hidden = f"{name} (natural)"
        while hidden in network.names:
            hidden += "'"
        split = replace(
            network,
            names=(*network.names[:node], hidden, *network.names[node + 1 :], name),
            states=(*network.states, network.states[node]),
            parents=(*network.parents, ()),
            tables=(*network.tables, np.full(card, 1.0 / card)),
        )
        return DiscreteInterventions(DiscreteBackground(split, self.features, border=lambda _: self.natural.border))

    def cut_loose(self) -> DiscreteBackground:
        """The features, each with the distribution that it has in the network, independent of one another."""
        natural, n = self.natural, len(self.features)
        tables = []
        for v, card in enumerate(self.cardinalities):
            evidence = np.full((card, n), -1)
            evidence[:, v] = np.arange(card)
            tables.append(np.exp(natural.log_probability(evidence)))
        alone = DiscreteNetwork(self.features, self.states, ((),) * n, tuple(tables))
        words = f"{n} features, each with its own distribution in a Bayesian network, cut loose from all others"
        border = replace(natural.border, words=words)
        loose = DiscreteBackground(alone, self.features, natural.impossible, lambda _: border)
        # what causes what is still known, and who is not a feature
        vars(loose).update(graph=self.graph, latent=self.latent)
        return loose
