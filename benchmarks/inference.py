"""Exact queries P(region | e_S) against a loop of pgmpy's VariableElimination, in one run on one machine.

    python -m benchmarks.inference            # 10,000 queries on child and on alarm
    python -m benchmarks.inference --queries 400 --loop 20

The regions are the 100 leaves of a decision tree, the evidence is what a row holds on a coalition, once for ancestral
coalitions (conditioning is clamping) and once for arbitrary ones. The queries are a grid: every region for each of 100
evidence rows, as an explanation asks them. Both sides get the same network (renormalised) and must agree to 1e-9. pgmpy
answers one query at a time and is extrapolated from a few hundred of them; a query whose region contradicts the
evidence is answered without asking it. The batched side is timed in full, cold (plans are made; a fresh background each
time) and warm.
"""

import argparse
import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from pgmpy.inference import VariableElimination
from sklearn.tree import DecisionTreeClassifier

from benchmarks.graphs import to_pgmpy
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.pgmpy_networks import load_network, read_network

LEAVES = 100


@dataclass(frozen=True, eq=False)
class Queries:
    """``P(region | e)`` for pairs of an evidence row and a term; regions are products of 0/1 vectors."""

    evidence: np.ndarray
    vectors: list[np.ndarray]
    terms: np.ndarray
    pairs: list[tuple[int, int]]


@dataclass(frozen=True)
class Comparison:
    """Seconds for so many queries: pgmpy's loop (extrapolated), ours in the first call and in later ones."""

    network: str
    ancestral: bool
    n_queries: int
    loop: float
    cold: float
    warm: float
    error: float

    def __str__(self) -> str:
        kind = "ancestral" if self.ancestral else "arbitrary"
        return (
            f"{self.network:6s} {kind} evidence, {self.n_queries} queries: pgmpy {self.loop:6.2f} s; "
            f"batched {1e3 * self.cold:6.1f} ms cold, {1e3 * self.warm:6.1f} ms warm; "
            f"ratio {self.loop / self.cold:5.0f} cold, {self.loop / self.warm:5.0f} warm; "
            f"largest difference {self.error:.0e}"
        )


def tree_regions(background: DiscreteBackground, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Regions of the leaves of a decision tree that predicts the most uncertain feature from all others."""
    rng = np.random.default_rng(seed)
    n = background.n_features
    codes = background.draws(np.full((1, n), -1), rng.random((20_000, background.n_nodes)))[0]
    target = max(range(n), key=lambda v: -np.sum((p := np.bincount(codes[:, v]) / len(codes)) * np.log(p + 1e-300)))
    inputs = codes.copy()
    inputs[:, target] = 0  # the tree never splits on a constant
    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=seed).fit(inputs, codes[:, target]).tree_
    sets: list[dict[tuple[float, ...], int]] = [{(1.0,) * card: 0} for card in background.cardinalities]
    terms = []
    pending = [(0, [np.ones(card) for card in background.cardinalities])]
    while pending:
        node, region = pending.pop()
        if tree.children_left[node] < 0:
            terms.append([sets[v].setdefault(tuple(states), len(sets[v])) for v, states in enumerate(region)])
            continue
        v = tree.feature[node]
        left = np.arange(background.cardinalities[v]) <= tree.threshold[node]
        for child, side in ((tree.children_left[node], left), (tree.children_right[node], ~left)):
            pending.append((child, [states * side if u == v else states for u, states in enumerate(region)]))
    return [np.array(list(known)) for known in sets], np.array(terms)


def evidence_rows(background: DiscreteBackground, count: int, ancestral: bool, seed: int) -> np.ndarray:
    """What random rows hold on random coalitions of all sizes."""
    rng = np.random.default_rng(seed)
    n = background.n_features
    rows = background.draws(np.full((1, n), -1), rng.random((count, background.n_nodes)))[0]
    members = rng.random((count, n)) < rng.random((count, 1))
    if ancestral:
        for v in reversed(range(n)):  # the features are all nodes, in topological order
            for p in background.network.parents[v]:
                members[:, p] |= members[:, v]
        assert background.is_ancestral(members).all()
    return np.where(members, rows, -1)


def ask_in_a_loop(engine: VariableElimination, background: DiscreteBackground, queries: Queries) -> np.ndarray:
    """One call of pgmpy for each query, for the unobserved features of the region."""
    answers = np.empty(len(queries.pairs))
    for i, (row, t) in enumerate(queries.pairs):
        evidence = queries.evidence[row]
        given = {background.features[v]: background.states[v][evidence[v]] for v in np.flatnonzero(evidence >= 0)}
        value = 1.0
        free = {}
        for v in np.flatnonzero(queries.terms[t]):
            function = queries.vectors[v][queries.terms[t, v]]
            if evidence[v] >= 0:
                value *= function[evidence[v]]
            else:
                free[background.features[v]] = (background.states[v], function)
        if value and free:
            factor = engine.query(list(free), evidence=given, show_progress=False)
            table = factor.values
            for axis, name in reversed(list(enumerate(factor.variables))):
                states, function = free[name]
                weights = [function[states.index(state)] for state in factor.state_names[name]]
                table = np.tensordot(table, weights, axes=(axis, 0))
            value *= float(table)
        answers[i] = value
    return answers


def timed(ask: Callable[[DiscreteBackground], np.ndarray], plain: DiscreteNetwork) -> tuple[np.ndarray, float, float]:
    """Answers, and the seconds of the first call with a fresh background and of the fastest of five more."""
    background = DiscreteBackground(plain)
    times = []
    for _ in range(6):
        start = time.perf_counter()
        answers = ask(background)
        times.append(time.perf_counter() - start)
    return answers, times[0], min(times[1:])


def compare(name: str, n_queries: int, n_loop: int) -> Iterator[Comparison]:
    """The comparisons on one bundled network, of ancestral and of arbitrary evidence."""
    plain = read_network(load_network(name))
    engine = VariableElimination(to_pgmpy(plain))
    background = DiscreteBackground(plain)
    vectors, terms = tree_regions(background, seed=0)
    rng = np.random.default_rng(0)
    for ancestral in (True, False):
        evidence = evidence_rows(background, -(-n_queries // len(terms)), ancestral, seed=1)
        pairs = [(row, t) for row in range(len(evidence)) for t in range(len(terms))]
        ask = functools.partial(DiscreteBackground.expectations, evidence=evidence, vectors=vectors, terms=terms)
        answers, cold, warm = timed(ask, plain)
        answers = answers.reshape(-1)
        sample = rng.choice(len(pairs), min(n_loop, len(pairs)), replace=False)
        start = time.perf_counter()
        expected = ask_in_a_loop(engine, background, Queries(evidence, vectors, terms, [pairs[i] for i in sample]))
        loop = (time.perf_counter() - start) / len(sample) * len(pairs)
        error = float(np.abs(answers[sample] - expected).max())
        if error > 1e-9:
            raise SystemExit(f"{name}: answers differ by {error}")
        yield Comparison(name, ancestral, len(pairs), loop, cold, warm, error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["child", "alarm"])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--loop", type=int, default=300)
    arguments = parser.parse_args()
    ratios = []
    for name in arguments.networks:
        for comparison in compare(name, arguments.queries, arguments.loop):
            print(comparison)
            ratios.append(comparison.loop / comparison.warm)
    print(f"target: at least 100 times faster; smallest ratio {min(ratios):.0f}")


if __name__ == "__main__":
    main()
