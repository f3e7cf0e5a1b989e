"""A structural model as a background distribution: evidence in, draws out."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Conditions
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.structural.mechanism import Mechanism
from shap_asv.backgrounds.structural.simulation import simulate
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import NotAncestralError, RowsError

if TYPE_CHECKING:
    from shap_asv.backgrounds.structural.interventions import StructuralInterventions
    from shap_asv.backgrounds.structural.model import StructuralModel


@dataclass(frozen=True, eq=False)
class StructuralBackground:
    """Draws of the features given those of an ancestral set: forward simulation with the set clamped.

    Attributes
    ----------
    dag : Dag
    mechanisms : tuple of Mechanism
        One per node of the dag.
    codec : TableCodec
        Of the features, in their order.
    free : float
        What a free entry of evidence looks like: nan.
    """

    dag: Dag
    mechanisms: tuple[Mechanism, ...]
    codec: TableCodec

    conditions_on: ClassVar[Conditions] = "ancestral"
    free: ClassVar[np.float64] = np.float64("nan")

    @property
    def features(self) -> tuple[str, ...]:
        return self.codec.names

    @property
    def latent(self) -> tuple[str, ...]:
        return tuple(name for name in self.dag.names if name not in set(self.features))

    @property
    def graph(self) -> nx.DiGraph:
        return self.dag.to_networkx()

    @cached_property
    def _nodes(self) -> np.ndarray:
        """Node of each feature."""
        return np.array([self.dag.names.index(name) for name in self.features])

    @cached_property
    def _wanted(self) -> np.ndarray:
        """Nodes that some feature depends on; the others are never simulated."""
        return self.dag.with_ancestors(self._nodes)

    @cached_property
    def _starts(self) -> np.ndarray:
        """First column of the uniform numbers of each node, and their number at the end."""
        sizes = [m.n_uniforms if wanted else 0 for m, wanted in zip(self.mechanisms, self._wanted, strict=True)]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @property
    def n_uniforms(self) -> int:
        return int(self._starts[-1])

    def describe(self) -> str:
        latent = f", {len(self.latent)} latent" if self.latent else ""
        return f"structural model of {len(self.features)} features{latent}, simulated forwards"

    # --- rows ---

    def read(self, data: Any) -> np.ndarray:
        return self.codec.read(data)

    def inputs(self, rows: np.ndarray) -> Any:
        return self.codec.inputs(rows)

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        return self.codec.labels(rows)

    def check(self, rows: np.ndarray) -> None:
        self.codec.check(rows)

    # --- draws ---

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """``X | e_S`` for ancestral sets S: evidence (E, n), nan where free; uniforms (D, n_uniforms) -> (E, D, n).

        The same uniform numbers serve all evidence. Evidence rows share what they can, see
        :mod:`shap_asv.backgrounds.structural.simulation`. The array is laid out feature by feature in memory.

        Raises
        ------
        NotAncestralError
            A feature is held while one of its causes is free: that cannot be conditioned on by simulation.
        """
        evidence = self._checked(evidence, uniforms)
        self.check_ancestral(~np.isnan(evidence))
        return self._simulated(evidence, uniforms)

    def intervene(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """``X | do(X_S = e_S)`` for any set S: edges into S are cut, S is clamped, the rest follows its mechanisms."""
        return self._simulated(self._checked(evidence, uniforms), uniforms)

    def intervened(self) -> "StructuralInterventions":
        """The features under ``do(X_S = e_S)`` instead of ``X_S = e_S``."""
        from shap_asv.backgrounds.structural.interventions import StructuralInterventions

        return StructuralInterventions(self)

    def check_ancestral(self, coalitions: np.ndarray) -> None:
        """Raise for the first of the coalitions (q, n) on which conditioning is not clamping."""
        features = np.zeros(self.dag.n_nodes, dtype=bool)
        features[self._nodes] = True
        for members in np.unique(np.asarray(coalitions, dtype=bool), axis=0):
            clamped = np.zeros(self.dag.n_nodes, dtype=bool)
            clamped[self._nodes[members]] = True
            found = self.dag.free_cause(clamped, features & ~clamped)
            if found is None:
                continue
            held, cause, told = (self.dag.names[v] for v in found)
            what = f"its cause {cause!r}" if features[found[1]] else f"its latent cause {cause!r}"
            about = "" if cause == told else f", which also bears on {told!r}"
            raise NotAncestralError(
                f"{held!r} is held while {what} is free{about}; a structural model conditions on ancestral sets only. "
                "Use orders that follow its graph, causal values (do), or a background that conditions on any set "
                "(Gaussian, donors)"
            )

    def _checked(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        evidence = np.asarray(evidence, dtype=float)
        if evidence.ndim != 2 or evidence.shape[1] != len(self.features):
            raise RowsError(f"evidence of shape {evidence.shape} does not fit {len(self.features)} features")
        if np.ndim(uniforms) != 2 or np.shape(uniforms)[1] != self.n_uniforms:
            raise RowsError(f"uniforms of shape {np.shape(uniforms)} do not fit {self.n_uniforms} per draw")
        return evidence

    def _simulated(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        held = np.full((len(evidence), self.dag.n_nodes), np.nan)
        held[:, self._nodes] = evidence
        draws = simulate(self.dag, self.mechanisms, held, np.asarray(uniforms, dtype=float), self._starts, self._wanted)
        result = np.empty((len(self.features), len(evidence), len(uniforms)))
        for j, v in enumerate(self._nodes):
            drawn = draws[v]
            assert drawn is not None
            np.take(drawn.values, drawn.group, axis=0, out=result[j])
        return np.moveaxis(result, 0, -1)


def background_of(model: "StructuralModel", codec: TableCodec) -> StructuralBackground:
    """The model seen through some of its nodes."""
    return StructuralBackground(model.dag, model.mechanisms, codec)
