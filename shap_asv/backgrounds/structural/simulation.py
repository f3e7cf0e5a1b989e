"""Forward simulation with any set of nodes clamped, each distinct piece of work done once.

The draws of a node depend on the evidence at the node or, if it is free there, on the draws of its parents, and on
nothing else. So evidence rows are put into *groups* node by node: two rows share a group at v if they clamp v to the
same value, or leave it free and share the groups of all its parents. Each group is simulated once. When feature i
joins a coalition, only the groups of i and of its descendants are new: that is how the coalitions of one row, and rows
with equal causes, share their work.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.structural.mechanisms import Mechanism


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
    n_draws = len(uniforms)
    draws: list[NodeDraws | None] = [None] * dag.n_nodes
    for v in map(int, np.flatnonzero(wanted)):
        held = evidence[:, v]
        free = np.isnan(held)
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
            noise = uniforms[:, int(starts[v]) : int(starts[v]) + mechanisms[v].n_uniforms]
            values[len(known) :] = _drawn(mechanisms[v], causes, first, noise)
        draws[v] = NodeDraws(keys, values, settled)
    return draws


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
