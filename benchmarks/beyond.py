"""Past the paper: networks that are not trees, a thousand features, and what TreeSHAP takes for the same model.

The paper prunes Child to a tree, and its classes grow with the number of leaves. Here: exact ASV on all edges of child,
insurance and alarm (the target is a leaf of the network and left out of the features); the forest algorithm on the
pruned Child and on balanced trees of 125 to 1000 features. Beside each stand the times of ``shap.TreeExplainer`` for
the same model and rows, path-dependent and interventional (100 background rows). TreeSHAP answers another question,
ordinary Shapley values without the network, so only times compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Plot, Progress, Result, Size, Table
from benchmarks.timing import shortest, timed

NETWORKS = (("child", "XrayReport", 1000), ("insurance", "PropCost", 50), ("alarm", "BP", 10))
ABOUT = """The paper prunes Child to a tree; here all edges stay. Exact ASV of a decision tree (depth 8) on whole
networks, and of a random forest (100 trees of depth 8) by the forest algorithm, whose cost does not depend on the
number of classes. *ASV / TreeSHAP* divides our time by that of `shap.TreeExplainer` for the same model and rows, after
a first call of each: below 1, we are faster. TreeSHAP's values are others (no network, all orders), only its time
compares."""
BACKGROUND = 100
AT_MOST = 5.0


def run(size: Size, progress: Progress) -> Result:
    """Both tables."""
    full = size == "full"
    networks = [
        whole_network(name, target, rows if full else 2)
        for name, target, rows in progress.over(NETWORKS if full else (("asia", "dysp", 0),), "whole networks")
    ]
    pruned = pruned_child(200 if full else 10, 100 if full else 3)
    grown = [balanced(n, 10 if full else 2, 100 if full else 3) for n in progress.over(sizes(full), "balanced trees")]
    tables = (
        Table(
            "networks",
            (
                "network", "features", "causal edges", "topological orders", "backend", "rows", "first row, s",
                "s per row", "ASV / TreeSHAP, path-dependent", "ASV / TreeSHAP, interventional", "efficiency gap",
            ),
            tuple(networks),
            caption="A decision tree on whole networks, exactly.",
        ),
        Table(
            "forests",
            (
                "causal graph", "features", "orders, log10", "leaves of the model", "rows", "s per row",
                "ASV / TreeSHAP, path-dependent", "ASV / TreeSHAP, interventional", "efficiency gap",
            ),
            (pruned, *grown),
            caption="A random forest on rooted trees, by the forest algorithm.",
        ),
    )  # fmt: skip
    return Result("beyond", "Beyond the paper", tables, claims(tables), notes(tables))


def notes(tables: tuple[Table, ...]) -> tuple[str, ...]:
    """Where TreeSHAP is faster, said plainly."""
    said = []
    for table in tables:
        for row in table.rows:
            cells = dict(zip(table.columns, row, strict=True))
            faster = [
                f"{cells[f'ASV / TreeSHAP, {kind}']:,.0f} times ({kind})"
                for kind in ("path-dependent", "interventional")
                if cells[f"ASV / TreeSHAP, {kind}"] > 1
            ]
            if faster:
                said.append(f"{row[0]}, {cells['features']} features: {', '.join(faster)}")
    gap = "Efficiency gap: the largest difference between a row's sum of values and its prediction minus the mean one."
    return (*([f"**Where TreeSHAP is faster.** {'; '.join(said)}."] if said else []), gap)


def sizes(full: bool) -> tuple[int, ...]:
    return (125, 250, 500, 1000) if full else (15, 31)


def ratio(ours: float, work: Callable[[], object], share: float = 1.0) -> float:
    """Our seconds over those of ``work`` done once before; ``share``: how much of the rows it does."""
    work()
    return ours / (shortest(work, 3, enough=AT_MOST) / share)


def tree_shap(model: Any, rows: np.ndarray, background: np.ndarray) -> list[Callable[[], object]]:
    """TreeSHAP with both of its expectations, ready to run."""
    import shap

    points = rows.astype(float)
    path_dependent = shap.TreeExplainer(model)
    interventional = shap.TreeExplainer(model, data=background.astype(float))
    return [lambda: path_dependent.shap_values(points), lambda: interventional.shap_values(points)]


def whole_network(name: str, target: str, n_rows: int) -> tuple:
    """One row of the table of networks."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier

    from shap_asv import AsymmetricExplainer, load_network, sample_rows

    network = load_network(name)
    drawn = sample_rows(network, 4000, seed=0)
    X = drawn.drop(columns=target)
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=8, random_state=0)).fit(X, drawn[target])
    rows = X.drop_duplicates()[: n_rows or 2]
    explainer = AsymmetricExplainer(model, network, algorithm="exact")
    first, _ = timed(lambda: explainer(rows[:1], silent=True))
    explanation = explainer(rows, silent=True)
    seconds = shortest(lambda: explainer(rows, silent=True), 3, enough=AT_MOST)
    gap = np.abs(explanation.values.sum(axis=1) + explanation.base_values - model.predict_proba(rows)).max()
    encoded = model[0].transform(X)
    ratios = [ratio(seconds, work) for work in tree_shap(model[1], model[0].transform(rows), encoded[-BACKGROUND:])]
    order = explainer.causal_order
    return (
        name, order.n_features, sum(map(len, order.parents)), order.count_topological_orders(),
        explainer.plan(rows).backend.name, len(rows), first, seconds / len(rows), *ratios, float(gap),
    )  # fmt: skip


def pruned_child(n_rows: int, n_trees: int) -> tuple:
    """The forest algorithm on the paper's own graph."""
    from sklearn.ensemble import RandomForestClassifier

    from benchmarks.ensembles import child_problem

    network, features, (inputs, outputs), rows = child_problem(n_rows)
    model = RandomForestClassifier(n_trees, max_depth=8, random_state=0, n_jobs=1).fit(inputs, outputs)
    return _forest("child, pruned to a tree", network, features, model, inputs, rows)


def balanced(n: int, n_rows: int, n_trees: int) -> tuple:
    """The forest algorithm on a balanced binary tree of n features."""
    from sklearn.ensemble import RandomForestClassifier

    from benchmarks.ensembles import balanced_problem

    network, data, outputs, rows = balanced_problem(n, n_rows)
    model = RandomForestClassifier(n_trees, max_depth=8, random_state=0).fit(data, outputs)
    return _forest("balanced binary tree", network, tuple(range(n)), model, data, rows)


def _forest(
    graph: str, network: Any, features: tuple[int, ...], model: Any, inputs: np.ndarray, rows: np.ndarray
) -> tuple:
    from benchmarks.ensembles import efficiency_gap, prepare
    from shap_asv import CausalOrder

    prepared = prepare(network, features, model)
    phi = prepared.attributions(rows)
    seconds = shortest(lambda: prepared.attributions(rows), 3, enough=AT_MOST)
    path_dependent, interventional = tree_shap(model, rows, inputs[:BACKGROUND])
    few = rows[: max(1, len(rows) // 20)]  # a hundred background rows: too slow for all of them
    _, interventional = tree_shap(model, few, inputs[:BACKGROUND])
    edges = [(p, v) for v in features for p in network.parents[v] if p in features]
    order = CausalOrder.from_edges(edges, features)
    digits = float(len(str(order.count_topological_orders())) - 1)
    return (
        graph, len(features), digits, sum(tree.tree_.n_leaves for tree in model.estimators_), len(rows),
        seconds / len(rows), ratio(seconds, path_dependent), ratio(seconds, interventional, len(few) / len(rows)),
        efficiency_gap(phi, model.predict_proba(rows)),
    )  # fmt: skip


def claims(tables: tuple[Table, ...]) -> tuple[Claim, ...]:
    networks, forests = tables
    gap = max(networks.column("efficiency gap") + forests.column("efficiency gap"))
    slowest = max(networks.column("s per row"))
    path_dependent, interventional = (
        forests.column(f"ASV / TreeSHAP, {kind}")[0] for kind in ("path-dependent", "interventional")
    )
    times, features = forests.column("s per row")[1:], forests.column("features")[1:]
    growth = float(np.log(times[-1] / times[0]) / np.log(features[-1] / features[0]))
    return (
        Claim(
            "Exact ASV on whole networks, nothing pruned", "at most 10 s per row",
            f"at most {slowest:.2g} s per row ({', '.join(networks.column('network'))})", slowest <= 10,
        ),
        Claim("Values add up to the prediction", "1e-9", f"{gap:.0e}", gap <= 1e-9),
        Claim(
            "A random forest on the paper's graph is as fast as path-dependent TreeSHAP", "ratio of at most 1",
            f"{path_dependent:.2f}", path_dependent <= 1,
        ),
        Claim(
            "... and 20 times as fast as interventional TreeSHAP", "ratio of at most 0.05",
            f"{interventional:.2g}", interventional <= 0.05,
        ),
        Claim(
            "The forest algorithm's time is polynomial in the features", "at most quadratic up to the largest size",
            f"grows with the power {growth:.1f} from {features[0]} to {features[-1]} features", growth <= 2,
        ),
    )  # fmt: skip


def draw(result: Result) -> list[Plot]:
    """Time per row over the number of features, beside TreeSHAP's."""
    import matplotlib.pyplot as plt

    forests, networks = result.table("forests"), result.table("networks")
    ours = np.array(forests.column("s per row")[1:])
    features = forests.column("features")[1:]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    left.plot(features, 1000 * ours, "o-", label="exact ASV")
    for kind, style in (("path-dependent", "s--"), ("interventional", "^--")):
        ratios = np.array(forests.column(f"ASV / TreeSHAP, {kind}")[1:])
        left.plot(features, 1000 * ours / ratios, style, label=f"TreeSHAP, {kind}")
    left.set(xscale="log", yscale="log", xlabel="features of a balanced binary causal tree", ylabel="ms per row")
    left.set_xticks(features, [str(n) for n in features])
    left.minorticks_off()
    left.set_title("random forest, the forest algorithm", fontsize=10)
    left.legend(fontsize=8)
    names = [f"{name}, whole" for name in networks.column("network")] + [forests.rows[0][0]]
    places = np.arange(len(names))
    for offset, kind in ((-0.2, "path-dependent"), (0.2, "interventional")):
        column = f"ASV / TreeSHAP, {kind}"
        ratios = np.array(networks.column(column) + forests.column(column)[:1])
        right.barh(places + offset, ratios - 1, 0.4, left=1, label=f"TreeSHAP, {kind}")
    right.axvline(1, color="black", linewidth=1)
    right.set(xscale="log", xlabel="time of exact ASV / time of TreeSHAP")
    right.set_yticks(places, names)
    right.invert_yaxis()
    right.set_title("right of the line: TreeSHAP is faster", fontsize=10)
    right.legend(fontsize=8)
    return [Plot("treeshap", "Exact ASV beside TreeSHAP: per row by size, and as ratios", figure)]


BEYOND = Experiment("beyond", "Beyond the paper", run, draw, ABOUT)
