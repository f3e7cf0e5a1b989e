"""The explainer end to end: ``python -m benchmarks.explainer [rows] [child] [overhead] [cold] [states] [blackbox]``.

Prints rows per second for child and insurance (decision tree and forest, exact and sampled), what 1,000 rows cost
against one, the share of planning and assembly, and a cold start against ``import shap`` alone. Ratios are taken in
one run; absolute times depend on the machine.
"""

import subprocess
import sys
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from shap_asv.explainer.reading.rows import fit_rows, read_table

# CPU time, interpreter included: wall times of imports depend on what else the machine does.
COLD = """
{}
import time
print(time.process_time())
"""
EXPLAIN_ONE = """
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
from shap_asv import AsymmetricExplainer, load_network
names = ["Pollution", "Smoker", "Xray", "Dyspnoea"]
X = pd.DataFrame([["low", "True", "positive", "True"], ["high", "False", "negative", "False"]], columns=names)
codes = {"low": 0, "high": 1, "True": 1, "False": 0, "positive": 1, "negative": 0}
model = DecisionTreeClassifier().fit([[codes[v] for v in row] for row in X.to_numpy()], [1, 0])
AsymmetricExplainer(model, load_network("cancer"), feature_names=names, encoder=codes)(X[:1])
"""


def timed(action):
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def fitted(name, target, kind, n_rows):
    network = load_network(name)
    table = sample_rows(network, 4000, seed=0)
    X, y = table.drop(columns=target), table[target]
    estimator = (
        DecisionTreeClassifier(max_depth=8, random_state=0)
        if kind == "tree"
        else RandomForestClassifier(100, max_depth=8, random_state=0)
    )
    return network, make_pipeline(OrdinalEncoder(), estimator).fit(X, y), X[:n_rows]


def rows_per_second():
    print(f"{'network':<11}{'target':<12}{'model':<8}{'backend':<20}{'rows':>6}{'rows/s':>10}{'1000 rows / 1 row':>19}")
    cases = [
        ("child", "XrayReport", "tree", "exact", 1000),
        ("child", "Disease", "tree", "exact", 1000),
        ("child", "XrayReport", "forest", "exact", 1000),
        ("child", "XrayReport", "tree", "sampling", 1000),
        ("insurance", "PropCost", "tree", "exact", 200),
        ("insurance", "PropCost", "forest", "exact", 20),
        ("insurance", "PropCost", "tree", "sampling", 200),
    ]
    for name, target, kind, algorithm, n_rows in cases:
        network, model, X = fitted(name, target, kind, n_rows)
        explainer = AsymmetricExplainer(model, network, algorithm=algorithm, seed=0)
        explainer(X, silent=True)  # compile, lay out
        many, _ = timed(lambda explainer=explainer, X=X: explainer(X, silent=True))
        one = min(timed(lambda explainer=explainer, X=X: explainer(X[:1], silent=True))[0] for _ in range(3))
        backend = explainer.plan(X).backend.name
        print(
            f"{name:<11}{target:<12}{kind:<8}{backend:<20}{n_rows:>6}{n_rows / many:>10.0f}"
            f"{many * 1000 / n_rows / one:>18.1f}x"
        )


def full_child(rounds=3):
    """Exact ASV of a forest on the full child network (all 25 edges) against path-dependent TreeSHAP, warm."""
    import shap

    network, model, X = fitted("child", "XrayReport", "forest", 1000)
    explainer = AsymmetricExplainer(model, network)
    tree_shap, codes = shap.TreeExplainer(model[1]), model[0].transform(X)
    compiled, _ = timed(lambda: explainer(X, silent=True))
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(timed(lambda: explainer(X, silent=True))[0])
        theirs.append(timed(lambda: tree_shap.shap_values(codes))[0])
    print(
        f"full child, 100 trees, 1,000 rows, {explainer.plan(X).backend.name}: "
        f"{np.median(ours) / np.median(theirs):.2f}x TreeSHAP (at most 5x asked); "
        f"the first call, with compiler and layout, takes {compiled / np.median(ours):.1f} times a later one"
    )


def overhead():
    """Planning, encoding and assembly against the whole call, for a forest that is not a trivial model."""
    network, model, X = fitted("child", "XrayReport", "forest", 500)
    explainer = AsymmetricExplainer(model, network)
    explainer(X, silent=True)
    whole, explanation = timed(lambda: explainer(X, silent=True))
    planning, _ = timed(lambda: explainer.plan(X))
    encoding, _ = timed(lambda: fit_rows(explainer._execution.problem, read_table(X), False))
    assembly, _ = timed(lambda: explanation[: len(X)])
    share = (planning + encoding + assembly) / whole
    print(f"overhead of planning, encoding and assembly: {share:.1%} of the run (at most 10% asked)")


def cold_start(repeats=3):
    def run(code):
        out = subprocess.run([sys.executable, "-c", COLD.format(code)], capture_output=True, text=True, check=True)
        return float(out.stdout)

    shap_alone, ours = zip(*((run("import shap"), run(EXPLAIN_ONE)) for _ in range(repeats)), strict=True)
    print(
        f"cold start, one row of cancer: {np.median(ours) / np.median(shap_alone):.2f}x 'import shap' "
        "(at most 2x asked)"
    )


def black_box(n_rows=3):
    """A callable on the full child network, asked about every possible state, against the tree inside of it."""
    network = load_network("child")
    table = sample_rows(network, 4000, seed=0)
    X, y = table.drop(columns="XrayReport"), table["XrayReport"]
    codes = {name: {state: i for i, state in enumerate(network.get_cpds(name).state_names[name])} for name in X}
    encoded = np.stack([X[name].map(codes[name]) for name in X], axis=1)
    tree = DecisionTreeRegressor(max_depth=8, random_state=0).fit(encoded, (y == "Normal").astype(float))

    def ask(table):
        return tree.tree_.predict(np.ascontiguousarray(table, dtype=np.float32))[:, 0]

    expected = AsymmetricExplainer(tree, network, encoder=codes, feature_names=list(X))(X[:n_rows], silent=True)
    explainer = AsymmetricExplainer(ask, network, encoder=codes, feature_names=list(X), algorithm="exact")
    plan = explainer.plan(X[:n_rows])
    cost = plan.chosen.cost
    seconds, found = timed(lambda: explainer(X[:n_rows]))
    error = np.abs(found.values - expected.values).max()
    later, _ = timed(lambda: explainer(X[n_rows : 2 * n_rows], silent=True))
    print(
        f"black box, full child, {explainer.plan(X[:n_rows]).backend.name}: {cost.asked:,} states, "
        f"{cost.coalitions:,} ideals, {n_rows} rows in {seconds:.0f} s (the plan said {plan.seconds:.0f} s), "
        f"{n_rows} more in {later:.0f} s; largest difference to the tree {error:.0e}"
    )


def possible_states():
    """What a black box costs at least: an exact value needs the model at every state of the features that can occur."""
    import opt_einsum

    from shap_asv.backgrounds.pgmpy_networks import read_network

    for name, leaf in (("child", "XrayReport"), ("insurance", "PropCost")):
        network = read_network(load_network(name))
        tables = []
        for v, (parents, table) in enumerate(zip(network.parents, network.tables, strict=True)):
            if network.names[v] != leaf:  # a leaf that is not a feature sums to one
                tables += [(table > 0).astype(float), [v, *parents]]
        count = float(opt_einsum.contract(*tables, []))
        print(f"{name} without {leaf}: {count:,.0f} possible states of the other {network.n_nodes - 1} nodes")


def main():
    parts = {
        "rows": rows_per_second,
        "child": full_child,
        "overhead": overhead,
        "cold": cold_start,
        "states": possible_states,
        "blackbox": black_box,
    }
    for name in sys.argv[1:] or [name for name in parts if name != "blackbox"]:
        parts[name]()


if __name__ == "__main__":
    main()
