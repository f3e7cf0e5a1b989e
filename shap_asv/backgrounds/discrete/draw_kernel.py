"""Compiled twins of the draws in :mod:`~shap_asv.backgrounds.discrete.drawing`, one draw at a time, straight into the
features' columns.

Import this module only when it pays: it brings numba in. Both versions compare the same uniform numbers with the same
bounds, so they draw the same states.
"""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import kernel


class ForwardArrays(NamedTuple):
    """Nodes in topological order with their distribution functions, flat.

    The bounds of node ``nodes[i]`` given parent state s are ``bounds[first_bounds[i] + s * cards[i] :][: cards[i]]``;
    its parents are
    ``parents[first_parents[i] : first_parents[i + 1]]``, each multiplied by its stride.
    """

    nodes: np.ndarray
    cards: np.ndarray
    first_bounds: np.ndarray
    first_parents: np.ndarray
    parents: np.ndarray
    strides: np.ndarray
    bounds: np.ndarray


class CircuitArrays(NamedTuple):
    """The rows of all buckets, roots first, flat.

    Rows are numbered over all buckets. Row r has entries ``starts[r] : starts[r + 1]``, each with a state, a bound
    and, per child
    of its bucket, a row: children of bucket i are ``children[first_children[i] : first_children[i + 1]]``, and the row
    of the j-th in entry k is ``child_rows[first_rows[i] + j * n_entries(i) + k - first entry(i)]``.
    """

    nodes: np.ndarray
    first_entries: np.ndarray
    first_children: np.ndarray
    children: np.ndarray
    first_rows: np.ndarray
    starts: np.ndarray
    states: np.ndarray
    bounds: np.ndarray
    child_rows: np.ndarray


@kernel
def draw_forward(
    arrays: ForwardArrays, evidence: np.ndarray, uniforms: np.ndarray, columns: np.ndarray, out: np.ndarray
) -> None:
    """``out[e, d, j]`` = state of node ``columns[j]`` in draw d under ancestral evidence e, (E, nodes)."""
    values = np.zeros(evidence.shape[1], dtype=np.int64)
    for e in range(len(evidence)):
        for d in range(len(uniforms)):
            for i in range(len(arrays.nodes)):
                v = arrays.nodes[i]
                state = np.int64(evidence[e, v])
                if state < 0:
                    row = 0
                    for k in range(arrays.first_parents[i], arrays.first_parents[i + 1]):
                        row += values[arrays.parents[k]] * arrays.strides[k]
                    first = arrays.first_bounds[i] + row * arrays.cards[i]
                    state = np.int64(0)
                    for k in range(first, first + arrays.cards[i] - 1):  # all of them: no branch to mispredict
                        state += uniforms[d, v] >= arrays.bounds[k]
                values[v] = state
            for j in range(len(columns)):
                out[e, d, j] = values[columns[j]]


@kernel
def draw_backward(
    arrays: CircuitArrays, root_rows: np.ndarray, uniforms: np.ndarray, columns: np.ndarray, out: np.ndarray
) -> None:
    """``out[e, d, j]`` = state of node ``columns[j]`` in draw d; ``root_rows`` is (buckets, E), -1 for all others."""
    rows = np.zeros(len(arrays.nodes), dtype=np.int64)
    values = np.zeros(uniforms.shape[1], dtype=np.int64)
    for e in range(root_rows.shape[1]):
        for d in range(len(uniforms)):
            for i in range(len(arrays.nodes)):
                row = rows[i] if root_rows[i, e] < 0 else root_rows[i, e]
                entry = arrays.starts[row]
                for k in range(arrays.starts[row], arrays.starts[row + 1] - 1):
                    entry += uniforms[d, arrays.nodes[i]] >= arrays.bounds[k]
                values[arrays.nodes[i]] = arrays.states[entry]
                place = arrays.first_rows[i] + entry - arrays.first_entries[i]
                for k in range(arrays.first_children[i], arrays.first_children[i + 1]):
                    rows[arrays.children[k]] = arrays.child_rows[place]
                    place += arrays.first_entries[i + 1] - arrays.first_entries[i]
            for j in range(len(columns)):
                out[e, d, j] = values[columns[j]]
