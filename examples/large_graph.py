"""A large graph by sampling: hailfinder, 56 nodes, and how to read the standard error.

Hailfinder (Abramson and others, 1996) forecasts severe hail. Its graph has more coalitions than can be listed, so the
planner turns to sampling: uniform topological orders, exact values for each coalition they pass. The values then carry
a standard error, which says how far they may be from the exact ones.

    python examples/large_graph.py --out build/examples/large_graph
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from shap_asv.errors import BudgetExceededError

FORECAST = "SVR"  # severe weather


def learn(network):
    data = sample_rows(network, 3_000, seed=0)
    X, y = data.drop(columns="R5Fcst"), data["R5Fcst"]
    tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=0)
    return make_pipeline(OrdinalEncoder(), tree).fit(X, y), X


def ask_for_exact(model, network, X):
    """What is asked for by name never silently becomes something else."""
    try:
        AsymmetricExplainer(model, network, algorithm="exact")(X)
    except BudgetExceededError as error:
        print(f"algorithm='exact' raises {type(error).__name__}: the graph has more coalitions than fit the limit")


def sample(model, network, X, counts):
    """The same row from more and more orders."""
    explanations = {}
    for n_orders in counts:
        explainer = AsymmetricExplainer(model, network, n_orders=n_orders, seed=0)
        explanations[n_orders] = explainer(X, outputs=FORECAST)
        largest = explanations[n_orders].error_std.max()
        print(f"{n_orders:>5} orders: largest standard error {largest:.4f}")
    return explanations


def read(explanation, model, X):
    """Which features stand clear of zero, and do the values still add up?"""
    values, errors = explanation.values[0], explanation.error_std[0]
    table = pd.DataFrame(
        {"value": values, "standard error": errors, "low": values - 1.96 * errors, "high": values + 1.96 * errors},
        index=explanation.feature_names,
    )
    table = table.loc[table["value"].abs().sort_values(ascending=False).index].head(8)
    print("\nthe largest values of the row, with 95% intervals:")
    print(table.round(4))

    # every sampled order adds up to the prediction, so their mean does too, whatever the sample
    prediction = model.predict_proba(X)[0, list(model.classes_).index(FORECAST)]
    assert abs(explanation.base_values[0] + values.sum() - prediction) < 1e-9
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples/large_graph"), help="folder for the pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    network = load_network("hailfinder")
    model, X = learn(network)
    row = X[42:43]  # the tree is sure of severe weather
    ask_for_exact(model, network, row)
    explanations = sample(model, network, row, counts=(25, 50, 100, 200))
    table = read(explanations[200], model, row)

    # four times the orders halve the error
    ratio = explanations[50].error_std.max() / explanations[200].error_std.max()
    print(f"\nfrom 50 to 200 orders the largest error fell by a factor of {ratio:.1f}")
    assert 1.3 < ratio < 3.0

    plt.errorbar(table["value"], table.index, xerr=1.96 * table["standard error"], fmt="o", capsize=3)
    plt.xlabel("value, with its 95% interval")
    plt.gca().invert_yaxis()
    plt.savefig(out / "intervals.png", dpi=100, bbox_inches="tight")
    plt.close("all")

    # or say how good it has to be, and let the sample grow
    explainer = AsymmetricExplainer(model, network, n_orders=50, seed=0)
    good = explainer(row, outputs=FORECAST, tolerance=0.02)
    print(f"tolerance=0.02 reached: largest standard error {np.max(good.error_std):.4f}")
    assert np.max(good.error_std) <= 0.02
    print(f"pictures in {out}")


if __name__ == "__main__":
    main()
