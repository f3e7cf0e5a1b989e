"""Exact inference on a network, in blocks: evidence and terms of any number through circuits of bounded size.

What happens to one block: barren nodes (no evidence, no term at or below them) are dropped, the rest is eliminated by
a plan that is kept for later calls (``elimination``), the evidence is compiled, and the terms run through it, or draws
do (``circuit``). What that takes is counted at the end of this file, from the shape of the elimination alone.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from shap_asv.backgrounds.discrete.circuit import (
    Circuit,
    TermColumns,
    compile_evidence,
    draw_backward,
    draw_forward,
    expected_sums,
    number_terms,
)
from shap_asv.backgrounds.discrete.elimination import EliminationPlan, elimination_order, outline, plan_elimination
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.costs import Cost

ENTRY_LIMIT = 1 << 20
"""Entries of one circuit (about 40 bytes each); evidence is split into blocks that stay below."""
RESULT_LIMIT = 1 << 24
"""Numbers held between the buckets while terms are evaluated; terms are split into blocks that stay below."""
EVIDENCE_BLOCK = 1 << 15
PLAN_ENTRIES_KEPT = 1 << 22
"""Table entries of all plans that are kept."""


class Inference:
    """Queries on a network by node indices. Evidence is (nodes, E), terms are (T, nodes); nothing is checked here.

    Parameters
    ----------
    network : DiscreteNetwork
    features : int array (n,)
        Nodes that may carry evidence and terms.
    intervenes : bool
        Evidence is not conditioned on but set: ``do(X_S = e_S)``.
    """

    def __init__(self, network: DiscreteNetwork, features: np.ndarray, intervenes: bool = False) -> None:
        self.network = network
        self.intervenes = intervenes
        self.is_latent = ~np.isin(np.arange(network.n_nodes), features)
        above = np.zeros((network.n_nodes, network.n_nodes), dtype=bool)
        for v, parents in enumerate(network.parents):
            for p in parents:
                above[:, v] |= above[:, p]
                above[p, v] = True
        self.ancestors = above
        self._plans: dict[bytes, EliminationPlan] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_plans": {}}  # plans are quickly made again, and large

    def with_ancestors(self, nodes: np.ndarray) -> np.ndarray:
        """bool (nodes,) -> the smallest ancestral set that contains them."""
        return np.asarray(nodes | self.ancestors[:, nodes].any(axis=1))

    def plan(self, asked: np.ndarray) -> EliminationPlan:
        """How variables are eliminated when evidence and terms are on the ``asked`` nodes, bool (nodes,)."""
        relevant = self.with_ancestors(asked)
        relevant[0] |= not relevant.any()  # a plan has a root
        key = relevant.tobytes()
        plan = self._plans.get(key)
        if plan is None:
            plan = plan_elimination(self.network, relevant, self.intervenes)
            if sum(kept.n_entries for kept in list(self._plans.values())) > PLAN_ENTRIES_KEPT:
                self._plans = {}
            self._plans[key] = plan
        return plan

    def circuits(self, evidence: np.ndarray, asked: np.ndarray) -> Iterator[tuple[slice, Circuit]]:
        """Circuits of consecutive blocks of evidence within :data:`ENTRY_LIMIT`, fit for terms on ``asked`` nodes."""
        if self.intervenes:
            # what is set tells nothing of its causes: nothing but the ancestors of what is asked matters
            evidence = self._without_idle_nodes(evidence, asked)
            plan = self.plan(asked)
        else:
            plan = self.plan(asked | (evidence.max(axis=1, initial=-1) >= 0))
        first, step = 0, EVIDENCE_BLOCK
        while first < evidence.shape[1]:
            where = slice(first, min(first + step, evidence.shape[1]))
            cut = evidence[:, where] >= 0 if self.intervenes else None
            circuit = compile_evidence(plan, evidence[:, where], ENTRY_LIMIT, cut)
            if circuit is None:
                step = max(1, (where.stop - first) // 2)
                continue
            yield where, circuit
            first = where.stop
            if 4 * circuit.n_entries < ENTRY_LIMIT:
                step = min(2 * step, EVIDENCE_BLOCK)

    def _without_idle_nodes(self, evidence: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Evidence (nodes, E) under do with every node that cannot reach an ``asked`` one set to its first state.

        A node is idle where each of its paths down to an asked node meets one that is set. Setting it, too, changes
        nothing, and evidence that differs in idle nodes alone becomes one. O(E edges).
        """
        active = np.repeat(asked[:, None], evidence.shape[1], axis=1)
        for v in reversed(range(self.network.n_nodes)):
            reached = active[v] & (evidence[v] < 0)
            for p in self.network.parents[v]:
                active[p] |= reached
        return np.where(active, evidence, np.zeros((), dtype=evidence.dtype))

    def holds_causes(self, evidence: np.ndarray) -> np.ndarray:
        """bool (E,): evidence holds all causes of what it holds, so that conditioning is clamping."""
        known, closed = evidence >= 0, np.ones(evidence.shape[1], dtype=bool)
        for v, parents in enumerate(self.network.parents):
            closed &= ~known[v] | known[list(parents)].all(axis=0)
        return closed

    def log_probability(self, evidence: np.ndarray) -> np.ndarray:
        """``log P(e)`` -> (E,), ``-inf`` where it is impossible.

        Evidence that holds all causes of what it holds is a product of entries of tables: no clique is too large.
        """
        known, closed = evidence >= 0, self.holds_causes(evidence)
        result = np.zeros(evidence.shape[1])
        for v, parents in enumerate(self.network.parents):
            rows = np.flatnonzero(closed & known[v])
            with np.errstate(divide="ignore"):
                result[rows] += np.log(self.network.tables[v][tuple(evidence[u, rows] for u in (v, *parents))])
        others = np.flatnonzero(~closed)
        for where, circuit in self.circuits(evidence[:, others], np.zeros(self.network.n_nodes, dtype=bool)):
            result[others[where]] = circuit.log_probability
        return result

    def expected_sums(
        self,
        evidence: np.ndarray,
        vectors: Sequence[np.ndarray | None],
        terms: np.ndarray,
        coefficients: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """``sum over t of coefficients[t] * E[term t | e]`` -> (E, k), and the evidence rows that are impossible (their
        values mean nothing).

        Distinct evidence is multiplied out once. ``vectors[v]`` is None for nodes that no term looks at.
        """
        result = np.zeros((evidence.shape[1], coefficients.shape[1]))
        impossible = np.zeros(evidence.shape[1], dtype=bool)
        numbered: dict[int, list[tuple[slice, TermColumns]]] = {}
        for where, circuit in self.circuits(evidence, np.array([table is not None for table in vectors])):
            impossible[where] = np.isneginf(circuit.log_probability)
            for block, columns in _term_blocks(circuit, vectors, terms, numbered):
                result[where] += expected_sums(circuit, columns, coefficients[block])
        return result, np.flatnonzero(impossible)

    def draw(self, evidence: np.ndarray, ancestral: bool, uniforms: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Exact draws of the ``columns`` (node indices) under possible evidence -> int32 (E, D, columns)."""
        wanted = np.zeros(self.network.n_nodes, dtype=bool)
        wanted[columns] = True
        wanted = self.with_ancestors(wanted)
        if ancestral:
            return draw_forward(self.network, evidence, uniforms, columns, wanted)
        result = np.empty((evidence.shape[1], len(uniforms), len(columns)), dtype=np.int32)
        for where, circuit in self.circuits(evidence, wanted):
            result[where] = draw_backward(circuit, uniforms, columns)
        return result


def _term_blocks(
    circuit: Circuit,
    vectors: Sequence[np.ndarray | None],
    terms: np.ndarray,
    numbered: dict[int, list[tuple[slice, TermColumns]]],
) -> list[tuple[slice, TermColumns]]:
    """Blocks of terms within :data:`RESULT_LIMIT`; numbered once per block size, which is a power of two."""
    largest = max(1, RESULT_LIMIT // max(1, circuit.n_rows))
    step = min(1 << (largest.bit_length() - 1), 1 << max(0, len(terms) - 1).bit_length())
    if step not in numbered:
        blocks = [slice(first, min(first + step, len(terms))) for first in range(0, len(terms), step)]
        numbered[step] = [(block, number_terms(circuit.plan, vectors, terms[block])) for block in blocks]
    return numbered[step]


# --- what questions take --------------------------------------------------------------------------------------------
#
# With E distinct evidence in all (coalitions times rows), a bucket b that K features stand in or below is filled for at
# most
#
#     d_b = min(coalitions, 2^K) * min(rows, states of the K features)
#
# of them. Some of the coalitions leave a feature open, so that a bucket has about prod (1 + open (states - 1)) entries
# over its features, and prod states over its latent nodes. Terms that differ at or below it are multiplied one by one.

#: Share of the coalitions that leave a feature open at a bucket: where it matters, most is known.
OPEN = 0.35
#: States are not equally likely: a variable tells rows apart less than its cardinality suggests.
TOLD_APART = 0.5
#: Bytes for an entry of the largest circuit: its tables in the plan, and what is held while terms run through it.
BYTES_PER_ENTRY = 120


@lru_cache(maxsize=8)
def _shape(inference: Inference, relevant: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Variables of each bucket, bool (b, nodes), those at or below it, bool (b, nodes), and how many it reads (b,)."""
    network = inference.network
    outlines = outline(network, elimination_order(network, np.frombuffer(relevant, dtype=bool)))
    scope, below = np.zeros((2, len(outlines), network.n_nodes), dtype=bool)
    for b, one in enumerate(outlines):
        scope[b, [*one.separator, one.node]] = below[b, one.node] = True
        for c in one.children:
            below[b] |= below[c]
    return scope, below, np.array([len(one.children) for one in outlines], dtype=float)


def count_queries(
    inference: Inference, n_coalitions: float, n_rows: float, n_functions: np.ndarray, n_terms: float
) -> Cost:
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
    largest = min(ENTRY_LIMIT, float(np.exp(np.minimum(scope @ logs, 60.0)).sum()) * 64)
    operations = {
        "elimination": network.n_nodes**1.5,
        "evidence": float(n_coalitions * n_rows),
        "circuit entry": float(entries.sum()),
        "circuit product": float((entries * columns * (1.0 + n_children)).sum()),
    }
    return Cost(operations, int(BYTES_PER_ENTRY * largest))
