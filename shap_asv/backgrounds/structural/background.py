"""A structural model as a background distribution: evidence in, draws out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Conditions
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.structural.mechanisms import Mechanism
from shap_asv.backgrounds.structural.simulation import simulate
from shap_asv.backgrounds.tables.border import TableBorder, checked_evidence, checked_uniforms
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import NotAncestralError

if TYPE_CHECKING:
    from shap_asv.backgrounds.structural.interventions import StructuralInterventions


class StructuralBackground(TableBorder):
    """Draws of the features given those of an ancestral set: forward simulation with the set clamped.

    Parameters
    ----------
    dag : Dag
    mechanisms : tuple of Mechanism
        One per node of the dag.
    codec : TableCodec
        Of the features, in their order.
    """

    conditions_on: ClassVar[Conditions] = "ancestral"

    def __init__(self, dag: Dag, mechanisms: tuple[Mechanism, ...], codec: TableCodec) -> None:
        self.dag, self.mechanisms, self.codec = dag, mechanisms, codec
        self._look()

    def _keep(self, kept: list[int], impossible: str) -> None:
        self._look()

    def _look(self) -> None:
        """Nodes of the features, nodes that some feature depends on (the others are never simulated), and the first
        column of the uniform numbers of each node, with their number at the end.
        """
        self._nodes = np.array([self.dag.names.index(name) for name in self.features])
        self._wanted = self.dag.with_ancestors(self._nodes)
        sizes = [m.n_uniforms if wanted else 0 for m, wanted in zip(self.mechanisms, self._wanted, strict=True)]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @property
    def latent(self) -> tuple[str, ...]:
        return tuple(name for name in self.dag.names if name not in set(self.features))

    @property
    def graph(self) -> nx.DiGraph:
        return self.dag.to_networkx()

    @property
    def n_uniforms(self) -> int:
        return int(self._starts[-1])

    def describe(self) -> str:
        latent = f", {len(self.latent)} latent" if self.latent else ""
        return f"structural model of {len(self.features)} features{latent}, simulated forwards"

    def __str__(self) -> str:
        return described(self.dag, self.mechanisms)

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """``X | e_S`` for ancestral sets S: evidence (E, n), nan where free; uniforms (D, n_uniforms) -> (E, D, n).

        The same uniform numbers serve all evidence. Evidence rows share what they can, see
        :mod:`shap_asv.backgrounds.structural.simulation`. The array is laid out feature by feature in memory.

        Raises
        ------
        NotAncestralError
            A feature is held while one of its causes is free: that cannot be conditioned on by simulation.
        """
        evidence = checked_evidence(evidence, self.n_features)
        self.check_ancestral(~np.isnan(evidence))
        return self._simulated(evidence, uniforms)

    def intervene(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """``X | do(X_S = e_S)`` for any set S: edges into S are cut, S is clamped, the rest follows its mechanisms."""
        return self._simulated(checked_evidence(evidence, self.n_features), uniforms)

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

    def _simulated(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        uniforms = checked_uniforms(uniforms, self.n_uniforms)
        held = np.full((len(evidence), self.dag.n_nodes), np.nan)
        held[:, self._nodes] = evidence
        draws = simulate(self.dag, self.mechanisms, held, uniforms, self._starts, self._wanted)
        result = np.empty((len(self.features), len(evidence), len(uniforms)))
        for j, v in enumerate(self._nodes):
            drawn = draws[v]
            assert drawn is not None
            np.take(drawn.values, drawn.group, axis=0, out=result[j])
        return np.moveaxis(result, 0, -1)


def described(dag: Dag, mechanisms: Sequence[Mechanism]) -> str:
    """One line for each node: its causes and its mechanism."""
    lines = [f"structural model, {dag.n_nodes} node{'s' if dag.n_nodes != 1 else ''}"]
    for v, name in enumerate(dag.names):
        causes = ", ".join(dag.names[p] for p in dag.parents[v])
        lines.append(f"  {name}{' <- ' + causes if causes else ''}: {mechanisms[v].describe()}")
    return "\n".join(lines)
