"""The child network: exact ASV on the full graph of 20 nodes, which has 1.3e11 causal orders.

Child (Spiegelhalter and others, 1993) describes the diagnosis of heart disease in newborns. A decision tree predicts
the disease from the other 19 nodes. Nothing is pruned: the exact algorithm visits the 3,367 coalitions that can come
first in a causal order, and no others.

    python examples/child.py --out build/examples/child
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, Comparison, load_network, plots, sample_rows

DISEASE = "TGA"  # transposition of the great arteries


def learn(network):
    """A tree that predicts the disease, and the names of the features it looks at."""
    data = sample_rows(network, 5_000, seed=0)
    X, y = data.drop(columns="Disease"), data["Disease"]
    tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=0)
    model = make_pipeline(OrdinalEncoder(), tree).fit(X, y)
    looked_at = {X.columns[j] for j in tree.tree_.feature if j >= 0}
    return model, X, looked_at


def explain(model, network, X):
    """ASV exactly; SHAP, which has 2**19 coalitions here, from a sample of orders."""
    explainer = AsymmetricExplainer(model, network, algorithm="exact")
    order = explainer.causal_order
    print(f"{order.count_topological_orders():,} causal orders, {order.count_ideals():,} coalitions")
    print(f"SHAP has {2**order.n_features:,} coalitions")
    asv = explainer(X, outputs=DISEASE)
    symmetric = AsymmetricExplainer(model, network, algorithm="sampling", n_orders=1_000, seed=0).symmetric()
    return Comparison({"SHAP": symmetric(X, outputs=DISEASE), "ASV": asv}, order)


def check(result, model, X, looked_at):
    """Values add up to the prediction; features that neither are used nor cause what is used get exactly nothing."""
    prediction = model.predict_proba(X)[:, list(model.classes_).index(DISEASE)]
    assert np.allclose(result.asv.base_values + result.asv.values.sum(axis=1), prediction, atol=1e-9)

    table = result.to_frame()
    useful = looked_at.union(*(result.order.ancestors(name) for name in looked_at))
    idle = [name for name in table.index if name not in useful]
    print(f"\nneither looked at by the tree nor a cause of what it looks at: {', '.join(idle)}")
    print(table.loc[idle, ["SHAP", "ASV"]].round(4))
    assert (table.loc[idle, "ASV"] < 1e-12).all()
    assert (table.loc[idle, "SHAP"] > 1e-3).any()


def draw(result, network, out):
    row = int(np.argmax(np.abs(result.difference).sum(axis=1)))  # where the two differ most
    pictures = {
        "causal_graph.png": lambda: plots.causal_graph(result, network, show=False),
        "comparison.png": lambda: plots.comparison(result, row=row, show=False),
        "comparison_beeswarm.png": lambda: plots.comparison_beeswarm(result, show=False),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        picture()
        plt.gcf().savefig(out / name, dpi=100, bbox_inches="tight")
        plt.close("all")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples/child"), help="folder for the pictures")
    out = parser.parse_args().out

    network = load_network("child")
    model, X, looked_at = learn(network)
    rows = X[:60]
    result = explain(model, network, rows)
    print(result)
    check(result, model, rows, looked_at)
    draw(result, network, out)
    print(f"pictures in {out}")


if __name__ == "__main__":
    main()
