"""The background distribution of discrete features: a Bayesian network, conditioned on anything.

:class:`DiscreteBackground` is what the rest of the house sees of probability. It joins the parts of this room: tables
to codes (``border``) and inference on the network (``engine``).
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Conditions, StateValues
from shap_asv.backgrounds.discrete.border import Border, LabelBorder
from shap_asv.backgrounds.discrete.engine import Inference, count_queries
from shap_asv.backgrounds.discrete.joint import feature_joint, intervened_joint, largest_product, rough
from shap_asv.backgrounds.discrete.network import DiscreteNetwork, checked_network
from shap_asv.backgrounds.discrete.requisite import RequisiteEvidence
from shap_asv.backgrounds.interventions import Intervening, natural_own
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.pgmpy_networks import is_network, read_network
from shap_asv.backgrounds.tables.border import checked_uniforms
from shap_asv.costs import Cost
from shap_asv.errors import (
    ImpossibleEvidenceError,
    RowsError,
    ShapAsvError,
    UnknownFeatureError,
    UnknownStateError,
)

JOINT_LIMIT = 1 << 25


class DiscreteBackground:
    """A discrete Bayesian network as the distribution of the features.

    Parameters
    ----------
    network : DiscreteNetwork
        Checked and renormalised here.
    features : sequence of str, optional
        The players, in this order; all nodes in the network's order by default. Other nodes are latent: summed out
        exactly.
    border : callable (features) -> Border, optional
        How tables become codes; by default they hold the labels of the states.
    causes : networkx.DiGraph, optional
        What causes what among features and latent variables, where it is more than the network says.

    Examples
    --------
    >>> import numpy as np
    >>> from shap_asv.backgrounds.discrete.network import DiscreteNetwork
    >>> rain_and_grass = DiscreteNetwork(
    ...     names=("rain", "wet"),
    ...     states=(("no", "yes"), ("no", "yes")),
    ...     parents=((), (0,)),
    ...     tables=(np.array([0.75, 0.25]), np.array([[1.0, 0.0], [0.0, 1.0]])),
    ... )
    >>> background = DiscreteBackground(rain_and_grass)
    >>> background.read([["yes", "yes"]]).tolist()
    [[1, 1]]
    >>> it_rains = (np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 1.0]]))
    >>> background.expected_sums(np.array([[-1, -1], [-1, 1]]), it_rains, np.array([[1, 0]]), np.ones((1, 1))).tolist()
    [[0.25], [1.0]]
    >>> background.draws(np.array([[-1, 1]]), np.random.default_rng(0).random((3, 2))).tolist()
    [[[1, 1], [1, 1], [1, 1]]]
    """

    def __init__(
        self,
        network: DiscreteNetwork,
        features: Sequence[str] | None = None,
        border: Callable[[Sequence[str]], Border] | None = None,
        causes: nx.DiGraph | None = None,
    ) -> None:
        self.network = checked_network(network)
        self.features: tuple[str, ...] = self.network.names if features is None else tuple(features)
        position = {name: v for v, name in enumerate(self.network.names)}
        unknown = [str(name) for name in self.features if name not in position]
        if unknown:
            raise UnknownFeatureError(
                f"the network has no node called {', '.join(unknown)}; its nodes are {', '.join(self.network.names)}"
            )
        if len(set(self.features)) < len(self.features):
            repeated = sorted({name for name in self.features if self.features.count(name) > 1})
            raise UnknownFeatureError(f"feature(s) named more than once: {', '.join(repeated)}")
        if not self.features:
            raise UnknownFeatureError("no features are left; name at least one node of the network")
        self.nodes: np.ndarray = np.array([position[name] for name in self.features], dtype=np.intp)
        self.graph: nx.DiGraph = self.network.graph() if causes is None else causes
        self.latent: tuple[str, ...] = tuple(name for name in self.graph if name not in set(self.features))
        self.border = LabelBorder(self.features, self.states, self.latent) if border is None else border(self.features)

    # --- what there is ----------------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def n_nodes(self) -> int:
        return self.network.n_nodes

    @cached_property
    def states(self) -> tuple[tuple[Hashable, ...], ...]:
        """Labels per feature; a code is a position in them."""
        return tuple(self.network.states[v] for v in self.nodes)

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        return tuple(len(states) for states in self.states)

    @property
    def size(self) -> int:
        return math.prod(self.cardinalities)

    @cached_property
    def inference(self) -> Inference:
        return Inference(self.network, self.nodes)

    # --- the border --------------------------------------------------------------------------------------------

    conditions_on: ClassVar[Conditions] = "any"
    dependent: ClassVar[bool] = True

    def drawing_cost(self, n_coalitions: int, n_rows: int, n_draws: int, ancestral: bool) -> Cost:
        """A draw walks through the nodes; a coalition that lacks causes is first brought into two circuits."""
        draws = n_coalitions * n_rows * n_draws
        walks = Cost({"network draw": draws, "network draw x node": draws * self.n_nodes})
        if ancestral:
            return walks
        nothing = np.zeros(self.n_nodes, dtype=int)
        return walks + count_queries(self.inference, n_coalitions, n_rows, nothing, 1).times(2)

    @property
    def n_uniforms(self) -> int:
        """Uniform numbers that a draw needs: one per node, latent ones included."""
        return self.n_nodes

    @cached_property
    def free(self) -> np.signedinteger:
        """-1, in the smallest type that holds the codes: there are millions of them."""
        return (np.int16 if max(self.cardinalities) < 1 << 15 else np.int32)(-1)

    def describe(self) -> str:
        return self.border.describe(self.network.names, self.latent)

    def read(self, table: Any) -> np.ndarray:
        """State codes int32 (r, n) of rows of labels: a DataFrame (columns by name, any order), a Series, or an array
        in feature order.

        A column too many, too few or without a value is a RowsError, a value that is not a state an UnknownStateError.
        """
        return self.border.read(table)

    def check(self, rows: np.ndarray) -> None:
        """Raise if a row (r, n) has probability 0, naming the row and a minimal set of contradictory values.

        Where a whole row is possible, so is every coalition of it.
        """
        self._refuse_impossible(self.checked_evidence(rows), "row")

    def inputs(self, rows: np.ndarray) -> Any:
        """Codes, as a model of states is read together with its states; or the values that states stand for."""
        return self.border.inputs(rows)

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        """Labels of codes (r, n), as an object array of the same shape; or the values that states stand for."""
        return self.border.labels(rows)

    @property
    def values(self) -> StateValues | None:
        """The values that states stand for; None where they are labels."""
        return self.border.values

    def shown_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Where each code (r, n) stands among the states of its feature, low to high; or what the states stand for."""
        numbers = self.border.positions(rows)
        return np.where(np.isinf(numbers), np.nan, numbers)

    def probe(self) -> np.ndarray:
        """Every state of every feature once; such rows need not be possible."""
        last = np.array(self.cardinalities) - 1
        return np.minimum(np.arange(last.max() + 1)[:, None], last).astype(np.intp)

    def __repr__(self) -> str:
        unseen = f", {len(self.latent)} latent" if self.latent else ""
        return f"DiscreteBackground({self.n_features} features{unseen}, {self.size} joint states)"

    # --- conditioning -----------------------------------------------------------------------------------------

    def log_probability(self, evidence: np.ndarray) -> np.ndarray:
        """``log P(X_S = e_S)`` for evidence (E, n), -1 = free -> float64 (E,); ``-inf`` where it is impossible."""
        return self._log_probability(self.checked_evidence(evidence))

    def expected_sums(
        self, evidence: np.ndarray, vectors: Sequence[np.ndarray], terms: np.ndarray, coefficients: np.ndarray
    ) -> np.ndarray:
        """``sum over t of coefficients[t] * E[prod over v of g_tv(X_v) | X_S = e_S]`` -> float64 (E, k), exactly.

        Memory does not grow with E times T, and repeated evidence is multiplied out once.

        Parameters
        ----------
        evidence : int array (E, n)
            Codes, -1 where the feature is free.
        vectors : sequence of n float arrays (V_v, card(v))
            The functions ``g`` of each feature, tabulated over its states; row 0 is all ones.
        terms : int array (T, n)
            Which row of ``vectors[v]`` each term uses.
        coefficients : float array (T, k)
        """
        evidence = self.checked_evidence(evidence)
        result, rows = self.inference.expected_sums(
            self.on_nodes(evidence), *self.terms_on_nodes(vectors, terms), coefficients
        )
        if len(rows):
            self._refuse_impossible(evidence)
        return result

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Exact draws of ``X | X_S = e_S`` -> int32 codes (E, D, n), with ``X_S = e_S`` in every draw.

        Parameters
        ----------
        evidence : int array (E, n)
            Codes, -1 where the feature is free.
        uniforms : float array (D, n_uniforms) in [0, 1)
            One number per draw and node of the network, used by every evidence row alike.
        """
        evidence = self.checked_evidence(evidence)
        uniforms = checked_uniforms(uniforms, self.n_nodes)
        result = np.empty((len(evidence), len(uniforms), self.n_features), dtype=np.int32)
        self._refuse_impossible(evidence)
        codes = self.on_nodes(evidence)
        closed = self.inference.holds_causes(codes)
        for kind in (True, False):
            rows = np.flatnonzero(closed == kind)
            if len(rows):
                result[rows] = self.inference.draw(codes[:, rows], kind, uniforms, self.nodes)
        return result

    def joint_obstacle(self) -> tuple[int, str | None]:
        """Entries of the largest table on the way to the joint, and why it cannot be had (None where it can)."""
        largest = largest_product(self.network, tuple(self.nodes.tolist()))
        if largest <= JOINT_LIMIT:
            return largest, None
        return largest, (
            f"summing the latent nodes out takes a table of {rough(largest)} entries, more than {JOINT_LIMIT:,}"
        )

    def feature_joint(self, limit: int = JOINT_LIMIT) -> np.ndarray:
        """``P(x_features)``, one axis per feature, latent nodes summed out; an error past ``limit`` entries."""
        return feature_joint(self.network, [int(v) for v in self.nodes], limit)

    def requisite(self, coalitions: np.ndarray) -> RequisiteEvidence:
        """Which evidence an answer can depend on, for coalitions (m, n)."""
        return RequisiteEvidence(self.network, self.nodes.tolist(), coalitions)

    def intervened(self) -> "DiscreteInterventions":
        """The features under ``do(X_S = e_S)`` instead of ``X_S = e_S``."""
        return DiscreteInterventions(self)

    def cut_loose(self) -> "DiscreteBackground":
        """The features, independent of one another."""
        return self.intervened().cut_loose()

    # --- the machinery ----------------------------------------------------------------------------------------

    def _refuse_impossible(self, evidence: np.ndarray, what: str = "evidence row") -> None:
        """Conditioning on an event of probability 0 is undefined: an error that names the first row that does."""
        failing = np.flatnonzero(np.isneginf(self._log_probability(evidence)))
        if not len(failing):
            return
        first = evidence[failing[0]]
        culprits = minimal_contradiction(self._log_probability, first)
        values = ", ".join(f"{self.features[v]}={self.states[v][first[v]]!r}" for v in culprits)
        more = f" ({len(failing) - 1} more like it)" if len(failing) > 1 else ""
        raise ImpossibleEvidenceError(
            f"{what} {failing[0]} is impossible under the network{more}: it has probability 0 because of {values}. "
            "Correct the row, or smooth the network, so that nothing is impossible: "
            "cpd.values = 0.999 * cpd.values + 0.001 / len(cpd.values)"
        )

    def checked_evidence(self, evidence: np.ndarray) -> np.ndarray:
        """Evidence (E, n) as signed integers, each -1 (free) or a code of its feature; an error names what is not."""
        evidence = np.asarray(evidence)
        if evidence.ndim != 2 or evidence.shape[1] != self.n_features or evidence.dtype.kind not in "iu":
            raise RowsError(
                f"codes must be integers of shape (rows, {self.n_features}), not {evidence.dtype} {evidence.shape}"
            )
        if evidence.dtype.kind == "u":
            evidence = evidence.astype(np.int64)
        cards = np.array(self.cardinalities)
        if evidence.size and (evidence.min() < -1 or (evidence.max(axis=0) >= cards).any()):
            row, v = (int(i) for i in np.argwhere((evidence < -1) | (evidence >= cards))[0])
            raise UnknownStateError(
                f"row {row}: {evidence[row, v]} is not a state code of feature {self.features[v]!r}, which has "
                f"{cards[v]} states"
            )
        return evidence

    def terms_on_nodes(
        self, vectors: Sequence[np.ndarray], terms: np.ndarray
    ) -> tuple[list[np.ndarray | None], np.ndarray]:
        """Vectors per node (None where no term looks) and terms (T, nodes), of those per feature."""
        by_node: list[np.ndarray | None] = [None] * self.n_nodes
        node_terms = np.zeros((len(terms), self.n_nodes), dtype=np.int64)
        for name, node, table, column in zip(self.features, self.nodes, vectors, terms.T, strict=True):
            if not (table[0] == 1).all():
                raise ShapAsvError(f"row 0 of the vectors of feature {name!r} is {table[0]}; it has to be all ones")
            if column.any():
                by_node[node], node_terms[:, node] = table, column
        return by_node, node_terms

    def on_nodes(self, evidence: np.ndarray) -> np.ndarray:
        """Evidence (E, n) per node: (nodes, E), free on latent nodes."""
        codes = np.full((self.n_nodes, len(evidence)), self.free)
        if len(evidence):
            for v in np.flatnonzero(evidence.max(axis=0) >= 0):
                codes[self.nodes[v]] = evidence[:, v]
        return codes

    def _log_probability(self, evidence: np.ndarray) -> np.ndarray:
        return self.inference.log_probability(self.on_nodes(evidence))


def is_discrete_network(thing: Any) -> bool:
    return isinstance(thing, DiscreteNetwork) or is_network(thing)


def read_discrete(given: Any, masker: Any) -> NamedDistribution:
    """A pgmpy network, or one that was read already, as a distribution whose features are not known yet."""
    network = read_network(given)
    words = ("a node of the network", "its nodes are")
    # kept as plain arrays, which every version of pgmpy can do without
    return NamedDistribution(network.names, partial(DiscreteBackground, network), words, network)


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
    >>> natural.expected_sums(wet, it_rains, np.array([[1, 0]]), np.ones((1, 1))).tolist()
    [[1.0]]
    >>> natural.intervened().expected_sums(wet, it_rains, np.array([[1, 0]]), np.ones((1, 1))).tolist()
    [[0.25]]
    """

    natural: DiscreteBackground

    # --- what there is ----------------------------------------------------------------------------------------

    network, nodes, states = natural_own("network"), natural_own("nodes"), natural_own("states")
    cardinalities, size, values = natural_own("cardinalities"), natural_own("size"), natural_own("values")
    probe = natural_own("probe")
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

    def expected_sums(
        self, evidence: np.ndarray, vectors: Sequence[np.ndarray], terms: np.ndarray, coefficients: np.ndarray
    ) -> np.ndarray:
        """``sum over t of coefficients[t] * E[term t | do(X_S = e_S)]`` -> float64 (E, k)."""
        by_node, node_terms = self.natural.terms_on_nodes(vectors, terms)
        return self.inference.expected_sums(self._codes(evidence), by_node, node_terms, coefficients)[0]

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Exact draws of ``X | do(X_S = e_S)`` -> int32 codes (E, D, n), by forward simulation."""
        uniforms = checked_uniforms(uniforms, self.n_uniforms)
        return self.inference.draw(self._codes(evidence), True, uniforms, self.nodes)

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
        return DiscreteBackground(alone, self.features, lambda _: border, self.graph)


def minimal_contradiction(log_probability: Callable[[np.ndarray], np.ndarray], evidence: np.ndarray) -> list[int]:
    """Features of an impossible evidence row (n,) that form a minimal impossible set. One query per feature."""
    kept = evidence.copy()
    for v in np.flatnonzero(evidence >= 0):
        trial = kept.copy()
        trial[v] = -1
        if np.isneginf(log_probability(trial[None])[0]):
            kept = trial
    return [int(v) for v in np.flatnonzero(kept >= 0)]
