"""Evidence of probability 0: naming it, and going on without it.

Conditioning on an event of probability 0 is undefined. Two answers are offered:

- *raise*: name the row and a minimal set of features whose values contradict one another (no proper subset of it is
  impossible), so that the user sees what to repair;
- *relax*: walk through the evidence in the topological order of the network and leave out each value that is
  impossible given what was kept before it. What is kept depends on the evidence alone, so that nu is still a function
  of the coalition.
"""

from collections.abc import Callable, Sequence

import numpy as np

from shap_asv.backgrounds.discrete.network import DiscreteNetwork

LogProbability = Callable[[np.ndarray], np.ndarray]


def minimal_contradiction(log_probability: LogProbability, evidence: np.ndarray) -> list[int]:
    """Features of an impossible evidence row (n,) that form a minimal impossible set. One query per feature."""
    kept = evidence.copy()
    for v in np.flatnonzero(evidence >= 0):
        trial = kept.copy()
        trial[v] = -1
        if np.isneginf(log_probability(trial[None])[0]):
            kept = trial
    return [int(v) for v in np.flatnonzero(kept >= 0)]


def relax_evidence(log_probability: LogProbability, evidence: np.ndarray, topological: np.ndarray) -> np.ndarray:
    """Evidence (E, n) without the values that contradict those kept before them in ``topological`` order."""
    kept = np.full_like(evidence, -1)
    for v in topological:
        holders = np.flatnonzero(evidence[:, v] >= 0)
        if len(holders) == 0:
            continue
        trial = kept[holders]
        trial[:, v] = evidence[holders, v]
        possible = ~np.isneginf(log_probability(trial))
        kept[holders[possible], v] = evidence[holders[possible], v]
    return kept


def relaxed_expectations(
    expectations: Callable[[np.ndarray, Sequence[np.ndarray], np.ndarray], np.ndarray],
    evidence: np.ndarray,
    kept: np.ndarray,
    vectors: Sequence[np.ndarray],
    terms: np.ndarray,
) -> np.ndarray:
    """Expectations (E, T) given ``kept``, the part of the evidence that is possible.

    A dropped feature is not conditioned on, but the model sees its value: ``g(e_v)`` is a constant factor.
    """
    dropped = (evidence >= 0) & (kept < 0)
    result = np.empty((len(evidence), len(terms)))
    with_ones = [np.vstack([table, np.ones(np.shape(table)[1])]) for table in vectors]
    for pattern in np.unique(dropped, axis=0):
        members = np.flatnonzero((dropped == pattern).all(axis=1))
        outer = np.ones((len(members), len(terms)))
        for v in np.flatnonzero(pattern).tolist():
            outer *= np.asarray(vectors[v], dtype=np.float64)[terms[:, v]][:, evidence[members, v]].T
        unseen = np.where(pattern, [len(table) - 1 for table in with_ones], terms)
        result[members] = outer * expectations(kept[members], with_ones, unseen)
    return result


def read_off(network: DiscreteNetwork, nodes: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
    """Which rows (r, n) of codes of ``nodes`` are impossible, bool (r,), as their entries of the tables tell.

    Where the causes of the nodes are among them, ``P(x) = prod of tables[v][x_v, x_parents(v)]`` over these nodes
    alone. None where a cause is not, or an entry of a row is free: that takes inference.
    """
    column = {int(v): k for k, v in enumerate(nodes)}
    if rows.min(initial=0) < 0 or not all(p in column for v in column for p in network.parents[v]):
        return None
    impossible = np.zeros(len(rows), dtype=bool)
    for v, k in column.items():
        impossible |= network.tables[v][tuple(rows[:, [k, *(column[p] for p in network.parents[v])]].T)] == 0
    return impossible
