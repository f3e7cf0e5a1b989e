"""A structural model as a background: forward simulation with any set of nodes clamped, each distinct work done once.

The draws of a node depend on the evidence at the node or, if it is free there, on the draws of its parents, and on
nothing else. So evidence rows are put into *groups* node by node: two rows share a group at v if they clamp v to the
same value, or leave it free and share the groups of all its parents. Each group is simulated once. When feature i
joins a coalition, only the groups of i and of its descendants are new: that is how the coalitions of one row, and rows
with equal causes, share their work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import networkx as nx
import numpy as np

from shap_asv.backgrounds.contract import Conditions
from shap_asv.backgrounds.interventions import ShowingNumbers, with_shown, without
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.structural.mechanisms import Mechanism
from shap_asv.backgrounds.tables.border import TableBorder, checked_evidence, checked_uniforms
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.costs import Cost
from shap_asv.errors import NotAncestralError


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

    def _keep(self, kept: list[int]) -> None:
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
        """One line for each node: its causes and its mechanism."""
        lines = [f"structural model, {self.dag.n_nodes} node{'s' if self.dag.n_nodes != 1 else ''}"]
        for v, name in enumerate(self.dag.names):
            causes = ", ".join(self.dag.names[p] for p in self.dag.parents[v])
            lines.append(f"  {name}{' <- ' + causes if causes else ''}: {self.mechanisms[v].describe()}")
        return "\n".join(lines)

    def drawing_cost(self, n_coalitions: int, n_rows: int, n_draws: int, ancestral: bool) -> Cost:
        """Half of the nodes are simulated for a draw, on average over the coalitions of an order."""
        return Cost({"draw x node": n_coalitions * n_rows * n_draws * int(self._wanted.sum() + 1) // 2})

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """``X | e_S`` for ancestral sets S: evidence (E, n), nan where free; uniforms (D, n_uniforms) -> (E, D, n).

        The same uniform numbers serve all evidence. The array is laid out feature by feature in memory.

        Raises
        ------
        NotAncestralError
            A feature is held while one of its causes is free: that cannot be conditioned on by simulation.
        """
        evidence = checked_evidence(evidence, self.n_features)
        held = np.zeros((self.dag.n_nodes, len(evidence)), dtype=bool)
        held[self._nodes] = ~np.isnan(evidence.T)
        for v in self._nodes:
            for p in self.dag.parents[v]:
                if (held[v] & ~held[p]).any():
                    raise NotAncestralError(
                        f"{self.dag.names[v]!r} is held while its cause {self.dag.names[p]!r} is free; a structural "
                        "model conditions on ancestral sets only. Use orders that follow its graph, causal "
                        "values (do), or a background that conditions on any set (Gaussian, donors)"
                    )
        return self.simulated(evidence, uniforms)

    def intervened(self) -> "StructuralInterventions":
        """The features under ``do(X_S = e_S)`` instead of ``X_S = e_S``."""
        return StructuralInterventions(self)

    def simulated(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Rows (E, D, n) with any set clamped: edges into it are cut, the rest follows its mechanisms."""
        uniforms = checked_uniforms(uniforms, self.n_uniforms)
        held = np.full((len(evidence), self.dag.n_nodes), np.nan)
        held[:, self._nodes] = evidence
        if len(uniforms) == 1:
            return simulate_once(self.dag, self.mechanisms, held, uniforms, self._starts, self._wanted)[
                :, None, self._nodes
            ]
        draws = simulate(self.dag, self.mechanisms, held, uniforms, self._starts, self._wanted)
        result = np.empty((len(self.features), len(evidence), len(uniforms)))
        for j, v in enumerate(self._nodes):
            drawn = draws[v]
            assert drawn is not None
            np.take(drawn.values, drawn.group, axis=0, out=result[j])
        return np.moveaxis(result, 0, -1)


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
        evidence = checked_evidence(evidence, len(self.features))
        drawn = self.natural.simulated(without(evidence, self.shown), uniforms)
        return with_shown(drawn, evidence, self.shown)


# --- simulation -----------------------------------------------------------------------------------------------------


# Rows that are drawn together where each has a single draw: what they hold stays in the processor's cache.
_TOGETHER = 4096


@dataclass(frozen=True, eq=False)
class NodeDraws:
    """Draws of one node: evidence row e has ``values[group[e]]`` (D,); a settled group has the same in all draws."""

    group: np.ndarray
    values: np.ndarray
    settled: np.ndarray


def simulate(
    dag: Dag,
    mechanisms: Sequence[Mechanism],
    evidence: np.ndarray,
    uniforms: np.ndarray,
    starts: np.ndarray,
    wanted: np.ndarray,
) -> list[NodeDraws | None]:
    """Draws of the ``wanted`` nodes (which hold all their ancestors) under evidence (E, nodes), nan where free.

    ``uniforms`` is (D, columns), and node v reads ``mechanisms[v].n_uniforms`` columns from ``starts[v]`` on.
    O(sum over nodes of groups * D * cost of its mechanism).
    """
    n_draws, is_free = len(uniforms), np.isnan(evidence)
    draws: list[NodeDraws | None] = [None] * dag.n_nodes
    for v in map(int, np.flatnonzero(wanted)):
        held, free = evidence[:, v], is_free[:, v]
        if not free.any() and not is_free[:, list(dag.children[v])].any():  # nothing is drawn given v
            everyone = np.arange(len(held))
            draws[v] = NodeDraws(everyone, np.broadcast_to(held[:, None], (len(held), n_draws)), everyone >= 0)
            continue
        known, key = np.unique(held[~free], return_inverse=True)
        keys = np.empty(len(held), dtype=np.int64)
        keys[~free] = key
        causes: list[NodeDraws] = []
        n_free = 0
        if free.any():
            joint, n_free = np.zeros(int(free.sum()), dtype=np.int64), 1
            for p in dag.parents[v]:
                cause = draws[p]
                assert cause is not None
                causes.append(cause)
                if n_free < len(joint):  # renumbered at every parent, so that the product of the groups never overflows
                    met, joint = np.unique(joint * len(cause.values) + cause.group[free], return_inverse=True)
                    n_free = len(met)
            keys[free] = joint + len(known)
        values = np.empty((len(known) + n_free, n_draws))
        values[: len(known)] = known[:, None]
        settled = np.arange(len(values)) < len(known)
        if n_free:
            first = np.empty(n_free, dtype=np.intp)  # an evidence row of each group
            first[keys[free] - len(known)] = np.flatnonzero(free)
            noise = _noise_of(mechanisms[v], uniforms, int(starts[v]))
            values[len(known) :] = _drawn(mechanisms[v], causes, first, noise)
        draws[v] = NodeDraws(keys, values, settled)
    return draws


def simulate_once(
    dag: Dag,
    mechanisms: Sequence[Mechanism],
    evidence: np.ndarray,
    uniforms: np.ndarray,
    starts: np.ndarray,
    wanted: np.ndarray,
) -> np.ndarray:
    """:func:`simulate` for a single draw -> (E, nodes), nan where not wanted.

    To look for rows that tell the same of the causes of a node would cost more than to draw it.
    """
    drawn = np.empty(evidence.shape)
    for block in range(0, len(evidence), _TOGETHER):
        state = np.ascontiguousarray(evidence[block : block + _TOGETHER].T)
        for v in map(int, np.flatnonzero(wanted)):
            free = np.flatnonzero(np.isnan(state[v]))
            if len(free):
                noise = _noise_of(mechanisms[v], uniforms, int(starts[v]))
                causes = np.empty((len(dag.parents[v]), len(free)))
                for j, p in enumerate(dag.parents[v]):
                    np.take(state[p], free, out=causes[j])
                numbers = np.broadcast_to(noise, (len(free), *noise.shape))
                state[v, free] = mechanisms[v].draw(causes.T, numbers)[:, 0]
        drawn[block : block + _TOGETHER] = state.T
    return drawn


def _noise_of(mechanism: Mechanism, uniforms: np.ndarray, start: int) -> np.ndarray:
    """The columns that a node reads."""
    return uniforms[:, start : start + mechanism.n_uniforms]


def _drawn(mechanism: Mechanism, causes: list[NodeDraws], rows: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Draws (rows, D) of a node that is free in these evidence rows."""
    n_draws, k = noise.shape
    settled = np.ones(len(rows), dtype=bool)
    for cause in causes:
        settled &= cause.settled[cause.group[rows]]
    result = np.empty((len(rows), n_draws))
    if settled.any():  # the causes are the same in all draws: one point each
        at = rows[settled]
        parents = np.empty((len(at), len(causes)))
        for j, cause in enumerate(causes):
            parents[:, j] = cause.values[cause.group[at], 0]
        result[settled] = mechanism.draw(parents, np.broadcast_to(noise, (len(at), n_draws, k)))
    if not settled.all():
        at = rows[~settled]
        columns = np.empty((len(causes), len(at), n_draws))
        for j, cause in enumerate(causes):
            np.take(cause.values, cause.group[at], axis=0, out=columns[j])
        parents = columns.reshape(len(causes), -1).T
        numbers = np.broadcast_to(noise, (len(at), n_draws, k)).reshape(-1, 1, k)
        result[~settled] = mechanism.draw(parents, numbers).reshape(len(at), n_draws)
    return result
