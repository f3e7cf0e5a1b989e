"""Exact draws from ``P(x | e)`` by inverse distribution functions, with common random numbers.

Every node has one uniform number per draw, shared by all evidence rows, and turns it into a state through the
distribution function of its conditional. Two evidence rows that agree on a conditional get the same state from the
same number, so differences between coalitions are estimated with far less noise than from independent draws.

- *Forward*: when every cause of an observed feature is observed (an ancestral coalition), conditioning is clamping,
  and nodes are drawn causes first from their CPTs.
- *Backward*: otherwise nodes are drawn in the reverse of the elimination order, each from its conditional given what
  was drawn before it and all evidence, which is what a compiled ``Circuit`` holds.
"""

import numpy as np

from shap_asv.backgrounds.discrete.circuit import BucketRows, Circuit
from shap_asv.backgrounds.discrete.network import DiscreteNetwork


def distribution_function(probabilities: np.ndarray) -> np.ndarray:
    """Upper bounds of the uniform numbers of each state along the last axis; +inf from the last possible state on.

    The state of a uniform number u in [0, 1) is the number of bounds <= u. A state of probability 0 is never hit, and
    rounding in the sum cannot push a number past the last possible state.

    Examples
    --------
    >>> distribution_function(np.array([0.25, 0.0, 0.75, 0.0])).tolist()
    [0.25, 0.25, inf, inf]
    """
    bounds = np.cumsum(probabilities, axis=-1)
    possible_from = np.flip(np.logical_or.accumulate(np.flip(probabilities > 0, axis=-1), axis=-1), axis=-1)
    bounds[..., :-1][~possible_from[..., 1:]] = np.inf
    bounds[..., -1] = np.inf
    return bounds


def _states(bounds: np.ndarray, rows: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """State of each uniform number under row ``rows`` of ``bounds`` (rows, card); the last bound is never needed."""
    states = np.zeros(rows.shape, dtype=np.intp)
    for column in range(bounds.shape[1] - 1):
        states += uniforms >= bounds[:, column][rows]
    return states


def node_bounds(network: DiscreteNetwork, v: int) -> np.ndarray:
    """Distribution functions of a node given its parents, (joint states of the parents, card)."""
    return distribution_function(np.moveaxis(network.tables[v], 0, -1).reshape(-1, len(network.states[v])))


def draw_forward(
    network: DiscreteNetwork, evidence: np.ndarray, uniforms: np.ndarray, columns: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Draws under ancestral evidence (nodes, E), -1 = free -> int32 (E, D, columns).

    ``uniforms`` is (D, nodes), ``columns`` are the nodes to return, ``wanted`` bool (nodes,) these and their ancestors.
    O(E D nodes card).
    """
    draws = np.zeros((network.n_nodes, evidence.shape[1], len(uniforms)), dtype=np.int32)
    cards = network.cardinalities
    for v in np.flatnonzero(wanted):
        free = evidence[v] < 0
        draws[v, ~free] = evidence[v, ~free, None]
        if not free.any():
            continue
        rows = np.zeros((int(free.sum()), len(uniforms)), dtype=np.intp)
        for p in network.parents[v]:
            rows = rows * cards[p] + draws[p, free]
        draws[v, free] = _states(node_bounds(network, int(v)), rows, uniforms[None, :, v])
    return np.ascontiguousarray(np.moveaxis(draws[columns], 0, -1))


def draw_backward(circuit: Circuit, uniforms: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Draws under possible evidence, through its circuit -> int32 (E, D, columns). O(E D nodes card)."""
    n_evidence, n_draws = circuit.n_evidence, len(uniforms)
    draws = np.zeros((uniforms.shape[1], n_evidence, n_draws), dtype=np.int32)
    rows: list[np.ndarray | None] = [None] * len(circuit.buckets)
    rows[-1] = np.broadcast_to(circuit.root_rows[:, None], (n_evidence, n_draws))
    for b in reversed(range(len(circuit.buckets))):
        bucket, held, here = circuit.plan.buckets[b], circuit.buckets[b], rows[b]
        assert here is not None
        entries = held.starts[here] + _states(_row_bounds(held), here, uniforms[None, :, bucket.node])
        draws[bucket.node] = held.states[entries]
        for c, child_rows in zip(bucket.children, held.child_rows, strict=True):
            rows[c] = child_rows[entries]
        rows[b] = None
    return np.ascontiguousarray(np.moveaxis(draws[columns], 0, -1))


def _row_bounds(rows: BucketRows) -> np.ndarray:
    """Distribution functions of all rows as one array (rows, most entries of a row)."""
    padded = np.zeros((rows.n_rows, int(np.diff(rows.starts).max())))
    padded[_owner_and_place(rows)] = rows.weights
    return distribution_function(padded)


def _owner_and_place(rows: BucketRows) -> tuple[np.ndarray, np.ndarray]:
    """The row of each entry, and its place in the row."""
    owners = np.repeat(np.arange(rows.n_rows), np.diff(rows.starts))
    return owners, np.arange(rows.n_entries) - rows.starts[owners]
