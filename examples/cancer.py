"""The cancer network: a first look at ASV beside SHAP, small enough to check by hand.

Pollution and smoking cause cancer; cancer causes a positive X-ray and dyspnoea. A decision tree predicts cancer from
the other four. Cancer itself is what the tree predicts, so it is not a feature: the explainer sums it out.

    python examples/cancer.py --out build/examples/cancer
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import shap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, load_network, plots, sample_rows


def learn(network):
    """A tree that predicts Cancer from the other four nodes."""
    data = sample_rows(network, 20_000, seed=0)
    X, y = data.drop(columns="Cancer"), data["Cancer"]
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=20, random_state=0)
    return make_pipeline(OrdinalEncoder(), tree).fit(X, y), X


def explain(model, network, X):
    """SHAP and ASV of the probability of cancer, both under the same network."""
    explainer = AsymmetricExplainer(model, network)
    plan = explainer.plan(X)
    print(f"Plan: {plan.chosen.name}, because {plan.why}")
    print(f"{explainer.causal_order.count_topological_orders()} causal orders instead of 24")
    return explainer, explainer.compare(X, outputs="True")


def check_by_hand(network, model, smoker):
    """The ASV of smoking from its definition: smoking comes first, or right after pollution."""
    rows = sample_rows(network, 200_000, seed=1)
    risk = model.predict_proba(rows.drop(columns="Cancer"))[:, 1]
    smokes, low = rows["Smoker"] == "True", rows["Pollution"] == "low"
    alone = risk[smokes].mean() - risk.mean()
    after_pollution = risk[smokes & low].mean() - risk[low].mean()
    by_hand = (alone + after_pollution) / 2
    print(f"ASV of smoking: {smoker:.4f}; from 200,000 draws by hand: {by_hand:.4f}")
    assert abs(by_hand - smoker) < 0.002


def draw(result, network, row, out):
    """The same explanation in our plots and in shap's own."""
    pictures = {
        "causal_graph.png": lambda: plots.causal_graph(result, network, row=row, show=False),
        "comparison.png": lambda: plots.comparison(result, row=row, show=False),
        "comparison_waterfall.png": lambda: plots.comparison_waterfall(result, row=row, show=False),
        "shap_waterfall.png": lambda: shap.plots.waterfall(result.asv[row], show=False),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        picture()
        plt.gcf().savefig(out / name, dpi=100, bbox_inches="tight")
        plt.close("all")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples/cancer"), help="folder for the pictures")
    out = parser.parse_args().out

    network = load_network("cancer")
    model, X = learn(network)
    explainer, result = explain(model, network, X[:300])
    print(result)

    # a smoker in clean air whose tests are both positive
    patient = {"Pollution": "low", "Smoker": "True", "Xray": "positive", "Dyspnoea": "True"}
    one = explainer.compare([patient], outputs="True")
    base, values = one.asv.base_values[0], one.asv.values[0]
    print(f"\nrisk of cancer: {base:.4f} for anybody, {base + values.sum():.4f} for this patient")
    print(one.to_frame(row=0).round(4))
    check_by_hand(network, model, smoker=one.to_frame(row=0).loc["Smoker", "ASV"])
    draw(one, network, 0, out)
    print(f"pictures in {out}")


if __name__ == "__main__":
    main()
