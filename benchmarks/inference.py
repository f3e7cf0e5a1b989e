"""Exact queries P(region | e_S) against a loop of pgmpy's VariableElimination, in one run on one machine.

    python -m benchmarks.inference            # 10,000 queries on child and on alarm
    python -m benchmarks.inference --queries 400 --loop 20

The queries are those of an explanation: the regions are the 100 leaves of a decision tree, the evidence is what a row
holds on a coalition, once for ancestral coalitions (conditioning is clamping) and once for arbitrary ones. Both sides
get the same network (renormalised) and must agree to 1e-9. pgmpy answers one query at a time and is extrapolated from
the first few hundred; a query whose region contradicts the evidence is answered without asking it. The batched side is
timed in full, cold (plans are made; a fresh background each time) and warm.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
from pgmpy.inference import VariableElimination
from sklearn.tree import DecisionTreeClassifier

from shap_asv.backgrounds.discrete import DiscreteBackground
from shap_asv.backgrounds.pgmpy_networks import load_network, read_network, to_pgmpy

LEAVES = 100


@dataclass(frozen=True, eq=False)
class Queries:
    """Every term for every evidence row: ``P(region_t | e)``, regions as products of 0/1 vectors."""

    evidence: np.ndarray
    vectors: list[np.ndarray]
    terms: np.ndarray


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


def ask_in_a_loop(
    engine: VariableElimination, background: DiscreteBackground, queries: Queries, count: int
) -> np.ndarray:
    """``count`` queries spread over the grid, one call of pgmpy each, for the unobserved features of the region."""
    answers = np.empty(count)
    for i, (row, t) in enumerate(spread(queries, count)):
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


def spread(queries: Queries, count: int) -> list[tuple[int, int]]:
    """``count`` (evidence, term) pairs, evenly over the grid."""
    size = len(queries.evidence) * len(queries.terms)
    return [divmod(int(q), len(queries.terms)) for q in np.random.default_rng(0).choice(size, count, replace=False)]


def compare(name: str, n_queries: int, n_loop: int) -> float:
    """Print the comparison on one bundled network; returns the smallest ratio of times (warm)."""
    plain = read_network(load_network(name))
    engine = VariableElimination(to_pgmpy(plain))
    vectors, terms = tree_regions(DiscreteBackground(plain), seed=0)
    ratios = []
    for ancestral in (True, False):
        background = DiscreteBackground(plain)
        evidence = evidence_rows(background, -(-n_queries // len(terms)), ancestral, seed=1)
        queries = Queries(evidence, vectors, terms)
        background = DiscreteBackground(plain)
        times = []
        for _ in range(6):
            start = time.perf_counter()
            answers = background.expectations(evidence, vectors, terms)
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        expected = ask_in_a_loop(engine, background, queries, n_loop)
        loop = (time.perf_counter() - start) / n_loop * answers.size
        error = max(abs(answers[pair] - value) for pair, value in zip(spread(queries, n_loop), expected, strict=True))
        if error > 1e-9:
            raise SystemExit(f"{name}: answers differ by {error}")
        cold, warm = times[0], min(times[1:])
        ratios.append(loop / warm)
        kind = "ancestral" if ancestral else "arbitrary"
        print(
            f"{name:6s} {kind} evidence, {answers.size} queries: pgmpy {loop:6.2f} s (from {n_loop}); "
            f"batched {1e3 * cold:6.1f} ms cold, {1e3 * warm:6.1f} ms warm; "
            f"ratio {loop / cold:5.0f} cold, {loop / warm:5.0f} warm; largest difference {error:.0e}"
        )
    return min(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["child", "alarm"])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--loop", type=int, default=300)
    arguments = parser.parse_args()
    ratios = [compare(name, arguments.queries, min(arguments.loop, arguments.queries)) for name in arguments.networks]
    print(f"target: at least 100 times faster; smallest ratio {min(ratios):.0f}")


if __name__ == "__main__":
    main()
