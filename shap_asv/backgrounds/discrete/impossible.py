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


def relaxed_sums(
    expected_sums: Callable[..., np.ndarray],
    evidence: np.ndarray,
    kept: np.ndarray,
    vectors: Sequence[np.ndarray],
    terms: np.ndarray,
    coefficients: np.ndarray,
) -> np.ndarray:
    """Sums (E, k) given ``kept``, the part of the evidence that is possible.

    A dropped feature is not conditioned on, but the model sees its value: ``g(e_v)`` is a constant factor.
    """
    dropped = np.where(kept < 0, evidence, -1)
    result = np.empty((len(evidence), coefficients.shape[1]))
    with_ones = [np.vstack([table, np.ones(np.shape(table)[1])]) for table in vectors]
    for values in np.unique(dropped, axis=0):
        members = (dropped == values).all(axis=1)
        factors = np.ones(len(terms))
        for v in np.flatnonzero(values >= 0).tolist():
            factors *= with_ones[v][terms[:, v], values[v]]
        unseen = np.where(values >= 0, [len(table) - 1 for table in with_ones], terms)
        result[members] = expected_sums(kept[members], with_ones, unseen, factors[:, None] * coefficients)
    return result
