"""How many operations questions to a network take, read off the shape of its elimination; no table is touched.

Eliminating in some order leaves a *bucket* for each node: tables over the bucket's scope, filled for every evidence
that differs at or below it. With E distinct evidence in all (coalitions times rows), a bucket b that K features stand
in or below is filled for at most

    d_b = min(coalitions, 2^K) * min(rows, states of the K features)

of them. Some of the coalitions leave a feature open, so that a bucket has about prod (1 + open (states - 1)) entries
over its features, and prod states over its latent nodes. Terms that differ at or below it are multiplied one by one.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from shap_asv.backgrounds.discrete.elimination import OPEN, TOLD_APART, elimination_order
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.costs import Cost

#: Bytes for an entry of the largest circuit: its tables in the plan, and what is held while terms run through it.
BYTES_PER_ENTRY = 120
# Entries of the circuits that are held together (``engine``).
_ENTRIES_AT_ONCE = 1 << 20


class Shape(NamedTuple):
    """Buckets of an order of elimination: the variables of each, bool (b, nodes), all at or below it, bool (b, nodes),
    and how many buckets it reads (b,).
    """

    scope: np.ndarray
    below: np.ndarray
    n_children: np.ndarray


def shape_of(network: DiscreteNetwork, order: Sequence[int], relevant: np.ndarray) -> Shape:
    """The buckets of the ``relevant`` nodes, which hold the parents of each of them, in an order of elimination."""
    n, cards = network.n_nodes, network.cardinalities
    inside = [v for v in order if relevant[v]]
    position = {v: b for b, v in enumerate(inside)}
    scopes: list[set[int]] = [{v} for v in inside]
    for v in inside:
        family = (v, *network.parents[v])
        scopes[min(position[u] for u in family)].update(u for u in family if cards[u] > 1)
    scope, below = np.zeros((len(inside), n), dtype=bool), np.zeros((len(inside), n), dtype=bool)
    n_children = np.zeros(len(inside))
    for b, v in enumerate(inside):
        scope[b, list(scopes[b])] = below[b, v] = True
        separator = scopes[b] - {v}
        above = min((position[u] for u in separator), default=len(inside) - 1)
        if above > b:
            scopes[above] |= separator
            below[above] |= below[b]
            n_children[above] += 1
    return Shape(scope, below, n_children)


@lru_cache(maxsize=8)
def _shape(inference: Any, relevant: bytes) -> Shape:
    order = elimination_order(inference.network, inference.is_latent)
    return shape_of(inference.network, order, np.frombuffer(relevant, dtype=bool))


def count_queries(inference: Any, n_coalitions: float, n_rows: float, n_functions: np.ndarray, n_terms: float) -> Cost:
    """Expectations of terms given so many coalitions of so many rows.

    Parameters
    ----------
    inference : Inference
    n_functions : int array (nodes,)
        How many different functions of a node the terms are made of; 0 where none looks at it.
    n_terms : float
    """
    network, latent = inference.network, inference.is_latent
    asked = n_functions > 0
    relevant = inference.with_ancestors(asked if inference.intervenes else asked | ~latent)
    scope, below, n_children = _shape(inference, relevant.tobytes())
    logs = np.log(np.array(network.cardinalities, dtype=float))
    known = ((scope | below) & ~latent).astype(float)
    log_coalitions, log_rows = np.log(max(n_coalitions, 1.0)), np.log(max(n_rows, 1.0))
    different = np.minimum(log_coalitions, known.sum(axis=1) * np.log(2.0))
    different += np.minimum(log_rows, TOLD_APART * (known @ logs))
    half_open = np.where(latent, logs, np.log(1.0 + OPEN * (np.exp(logs) - 1.0)))
    entries = np.exp(np.minimum(different + scope @ half_open, 80.0))
    columns = np.exp(np.minimum(np.log(max(n_terms, 1.0)), below @ np.log(np.maximum(n_functions, 1))))
    columns *= (below & asked).any(axis=1)
    largest = min(_ENTRIES_AT_ONCE, float(np.exp(np.minimum(scope @ logs, 60.0)).sum()) * 64)
    operations = {
        "elimination": network.n_nodes**1.5,
        "evidence": float(n_coalitions * n_rows),
        "circuit entry": float(entries.sum()),
        "circuit product": float((entries * columns * (1.0 + n_children)).sum()),
    }
    return Cost(operations, int(BYTES_PER_ENTRY * largest))
