"""Exact ASV of tree ensembles: against TreeSHAP, and on large forests. ``python -m benchmarks.ensembles``

Times are taken side by side in one run, one thread each, after a first call of each (which loads or compiles); the
median of several rounds. What is compared:

- **child**: the Child network pruned to a tree as in the paper, target XrayReport (a leaf of it) left out, a random
  forest of 100 trees; against ``shap.TreeExplainer`` with path-dependent and with interventional expectations.
- **models**: the same with gradient boosting of several libraries.
- **sizes**: balanced binary trees of 125 to 1000 features.
- **star**: naive Bayes with 200 leaves, which has 2^200 equivalence classes.
"""

import argparse
import functools
import resource
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.graphs import KEPT_PARENT
from shap_asv.backends.forest.backend import PreparedForest, prepare_forest
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.predictor import read_model

TARGET = "XrayReport"


def side_by_side(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Median seconds of each piece of work, the pieces taking turns."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, times in zip(works, taken, strict=True):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return [median(times) for times in taken]


@functools.cache
def pruned_child_network() -> DiscreteNetwork:
    """Child with one parent per node: the edges of the paper's tree, CPTs of the others summed out exactly."""
    from pgmpy.inference import VariableElimination

    from shap_asv.backgrounds.pgmpy_networks import load_network, read_network

    child = load_network("child")
    network = read_network(child)
    inference = VariableElimination(child)
    place = {name: v for v, name in enumerate(network.names)}
    parents, tables = list(network.parents), list(network.tables)
    for effect, cause in KEPT_PARENT.items():
        v, p = place[effect], place[cause]
        joint = inference.query([effect, cause], show_progress=False)
        values = np.moveaxis(joint.values, joint.variables.index(effect), 0)
        effect_states = [joint.state_names[effect].index(label) for label in network.states[v]]
        cause_states = [joint.state_names[cause].index(label) for label in network.states[p]]
        values = values[np.ix_(effect_states, cause_states)]
        parents[v], tables[v] = (p,), values / values.sum(axis=0)
    states = tuple(tuple(range(len(labels))) for labels in network.states)
    return DiscreteNetwork(network.names, states, tuple(parents), tuple(tables))


def balanced_network(n: int, rng: np.random.Generator) -> DiscreteNetwork:
    """A balanced binary tree of n binary features with random CPTs."""
    flips = rng.uniform(0.05, 0.95, size=(n, 2))
    tables = [np.array([0.5, 0.5]), *(np.stack([1 - p, p]) for p in flips[1:])]
    parents = tuple(((v - 1) // 2,) if v else () for v in range(n))
    return DiscreteNetwork(tuple(f"x{v}" for v in range(n)), ((0, 1),) * n, parents, tuple(tables))


def draw(network: DiscreteNetwork, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of codes over all nodes, drawn from the network."""
    rows = np.zeros((count, network.n_nodes), dtype=np.int64)
    for v, table in enumerate(network.tables):
        share = table[(slice(None), *(rows[:, p] for p in network.parents[v]))].reshape(table.shape[0], -1)
        rows[:, v] = np.minimum((rng.random(count) > np.cumsum(share, axis=0)).sum(axis=0), table.shape[0] - 1)
    return rows


def prepare(network: DiscreteNetwork, features: tuple[int, ...], model: Any, **options: Any) -> PreparedForest:
    predictor = read_model(
        model, [network.names[v] for v in features], [network.states[v] for v in features], **options
    )
    assert predictor.products is not None, predictor.reason
    place = {v: i for i, v in enumerate(features)}
    causes = tuple(tuple(place[p] for p in network.parents[v] if p in place) for v in features)
    return prepare_forest(network, features, predictor.products, order_parents=causes)


def child_problem(n_rows: int) -> tuple[DiscreteNetwork, tuple[int, ...], tuple[np.ndarray, np.ndarray], np.ndarray]:
    """(network, features, training data, rows to explain)."""
    rng = np.random.default_rng(0)
    network = pruned_child_network()
    target = network.names.index(TARGET)
    features = tuple(v for v in range(network.n_nodes) if v != target)
    data = draw(network, 20_000, rng)
    return network, features, (data[:, features], data[:, target]), draw(network, n_rows, rng)[:, features]


def compare_child(n_rows: int = 1000, n_trees: int = 100, rounds: int = 5, interventional_rows: int = 100) -> float:
    """A random forest on the pruned Child; returns the ratio to path-dependent TreeSHAP."""
    import shap
    from sklearn.ensemble import RandomForestClassifier

    network, features, (inputs, outputs), rows = child_problem(n_rows)
    model = RandomForestClassifier(n_trees, max_depth=8, random_state=0, n_jobs=1).fit(inputs, outputs)
    n_leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    print(
        f"\nPruned Child, {len(features)} features, {n_trees} trees, {n_leaves:,} leaves, {n_rows:,} rows, one thread"
    )
    start = time.perf_counter()
    prepared = prepare(network, features, model)
    print(f"  reading the model and preparing: {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    prepared.attributions(rows[:2])
    print(f"  first call (compiles, or loads what was compiled): {time.perf_counter() - start:.2f} s")
    points = rows.astype(float)
    path_dependent = shap.TreeExplainer(model)
    path_dependent.shap_values(points[:2])
    ours, theirs = side_by_side(
        [lambda: prepared.attributions(rows), lambda: path_dependent.shap_values(points)], rounds
    )
    interventional = shap.TreeExplainer(model, data=inputs[:100].astype(float))
    some = points[:interventional_rows]
    few, slow = side_by_side([lambda: None, lambda: interventional.shap_values(some)], 1)
    slow = (slow - few) * n_rows / len(some)
    print(f"  exact ASV                          {ours:8.2f} s")
    print(
        f"  TreeSHAP, path-dependent           {theirs:8.2f} s   ASV / TreeSHAP = {ours / theirs:.2f} "
        f"(asked: 1.0, aim 0.3)"
    )
    print(
        f"  TreeSHAP, interventional, 100 rows {slow:8.2f} s   TreeSHAP / ASV = {slow / ours:.0f} (asked: 20; "
        f"measured on {len(some)} rows)"
    )
    _print_efficiency(prepared.attributions(rows), model.predict_proba(rows))
    return ours / theirs


def compare_models(n_rows: int = 1000, rounds: int = 3) -> None:
    """Gradient boosting of several libraries on the pruned Child, raw outputs."""
    import shap
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from xgboost import XGBClassifier

    network, features, (inputs, outputs), rows = child_problem(n_rows)
    points = rows.astype(float)
    print(f"\nBoosted models on the pruned Child, {n_rows:,} rows, raw output, one thread")
    for name, model in {
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        "XGBoost": XGBClassifier(n_estimators=100, max_depth=6, random_state=0, n_jobs=1),
        "LightGBM": LGBMClassifier(n_estimators=100, random_state=0, n_jobs=1, verbose=-1),
    }.items():
        model.fit(inputs, outputs)
        prepared = prepare(network, features, model, model_output="raw")
        prepared.attributions(rows[:2])
        try:
            explainer = shap.TreeExplainer(model)
            explainer.shap_values(points[:2])
        except Exception as problem:  # shap refuses some models; that is a result, too
            print(f"  {name:22} TreeSHAP: {type(problem).__name__}")
            continue
        ours, theirs = side_by_side(
            [lambda p=prepared: p.attributions(rows), lambda e=explainer: e.shap_values(points)], rounds
        )
        terms = len(prepared.groups.terms)
        print(
            f"  {name:22} {terms:7,} terms   ASV {ours:7.2f} s   TreeSHAP {theirs:7.2f} s   ratio {ours / theirs:.2f}"
        )


def balanced_problem(n: int, n_rows: int) -> tuple[DiscreteNetwork, np.ndarray, np.ndarray, np.ndarray]:
    """(network, training inputs, outputs, rows to explain) on a balanced tree; one feature in ten matters."""
    rng = np.random.default_rng(n)
    network = balanced_network(n, rng)
    data = draw(network, 5000, rng)
    score = (data - 0.5) @ (rng.normal(size=n) * (rng.random(n) < 0.1))
    outputs = (score + rng.normal(size=len(score)) * score.std() / 2 > np.median(score)).astype(int)
    return network, data, outputs, draw(network, n_rows, rng)


def grow(sizes: Sequence[int] = (125, 250, 500, 1000), n_rows: int = 10, n_trees: int = 100) -> list[float]:
    """Seconds for a random forest and a boosted model on balanced trees of growing size; those of the random forest."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    print(f"\nBalanced binary trees, {n_trees} trees, {n_rows} rows, one thread")
    taken = []
    for n in sizes:
        network, data, outputs, rows = balanced_problem(n, n_rows)
        for name, model, output in (
            ("random forest, depth 8", RandomForestClassifier(n_trees, max_depth=8, random_state=0), "auto"),
            ("boosted, depth 3", GradientBoostingClassifier(n_estimators=n_trees, max_depth=3, random_state=0), "raw"),
        ):
            model.fit(data, outputs)
            prepared = prepare(network, tuple(range(n)), model, model_output=output)
            prepared.attributions(rows[:1])
            start = time.perf_counter()
            phi = prepared.attributions(rows)
            seconds = time.perf_counter() - start
            if name.startswith("random"):
                taken.append(seconds)
            predicted = model.predict_proba(rows) if output == "auto" else model.decision_function(rows)[:, None]
            gap = efficiency_gap(phi, predicted)
            terms = len(prepared.groups.terms)
            print(f"  {n:5} features  {name:22} {terms:7,} terms  {seconds:7.2f} s   efficiency {gap:.0e}")
    growth = [np.log2(b / a) / np.log2(m / n) for a, b, n, m in zip(taken, taken[1:], sizes, sizes[1:], strict=False)]
    print("  growth of the random forest's time with the features, as a power:", " ".join(f"{g:.1f}" for g in growth))
    return taken


def star(n_leaves: int = 200, n_rows: int = 1000) -> None:
    """Naive Bayes whose class is a feature, and a random forest over it."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    flips = rng.uniform(0.1, 0.9, size=(n_leaves, 2))
    network = DiscreteNetwork(
        ("class", *(f"x{v}" for v in range(n_leaves))),
        ((0, 1),) * (n_leaves + 1),
        ((), *((0,) for _ in range(n_leaves))),
        (np.array([0.4, 0.6]), *(np.stack([1 - p, p]) for p in flips)),
    )
    data = draw(network, 5000, rng)
    score = (data - 0.5) @ (rng.normal(size=n_leaves + 1) * (rng.random(n_leaves + 1) < 0.2))
    model = RandomForestClassifier(100, max_depth=8, random_state=0).fit(data, score > np.median(score))
    prepared = prepare(network, tuple(range(n_leaves + 1)), model)
    rows = draw(network, n_rows, rng)
    prepared.attributions(rows[:1])
    start = time.perf_counter()
    phi = prepared.attributions(rows)
    print(f"\nStar with {n_leaves} leaves, {len(prepared.groups.terms):,} terms, {n_rows:,} rows:", end=" ")
    print(f"{time.perf_counter() - start:.2f} s")
    _print_efficiency(phi, model.predict_proba(rows))


def efficiency_gap(phi: np.ndarray, predicted: np.ndarray) -> float:
    """Attributions must add up to prediction minus a number that is the same for all rows."""
    base = predicted - phi.sum(axis=1)
    return float(np.abs(base - base[0]).max())


def _print_efficiency(phi: np.ndarray, predicted: np.ndarray) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  efficiency holds to {efficiency_gap(phi, predicted):.0e}; peak memory of the process {peak:.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[], help="child, models, sizes, star (all by default)")
    parser.add_argument("--rows", type=int, default=1000)
    arguments = parser.parse_args()
    parts = arguments.parts or ["child", "models", "sizes", "star"]
    if "child" in parts:
        compare_child(arguments.rows)
    if "models" in parts:
        compare_models(arguments.rows)
    if "sizes" in parts:
        grow()
    if "star" in parts:
        star(n_rows=arguments.rows)


if __name__ == "__main__":
    main()
