"""Is an admissions model fair? ASV answers a question that SHAP leaves open.

After Frye, Rowat and Feige (2020), section 4.2. Women and men apply to departments at different rates, and one
department is harder to get into. That difference is called *resolved*: the department is a fair reason. A model
discriminates when gender still matters once the department is known.

So let the resolving variable come first. The ASV of gender is then what gender adds on top of the department:
exactly 0 for a fair model, whatever the applicants look like. SHAP mixes both questions and is never 0.

    python examples/admissions.py --out build/examples/admissions
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, CausalOrder, compare, plots, sample_rows

FEATURES = ["Gender", "Test", "Department", "Referral"]


def build_network():
    """Gender -> Department, Gender -> Referral; Test, Department and Referral -> Admission."""
    states = {
        "Gender": ["woman", "man"],
        "Test": ["low", "high"],
        "Department": ["easy", "hard"],
        "Referral": ["no", "yes"],
        "Admission": ["no", "yes"],
    }

    def table(node, rows, causes=()):
        return TabularCPD(
            node,
            len(states[node]),
            rows,
            evidence=list(causes) or None,
            evidence_card=[len(states[cause]) for cause in causes] or None,
            state_names={name: states[name] for name in (node, *causes)},
        )

    network = DiscreteBayesianNetwork(
        [("Gender", "Department"), ("Gender", "Referral")]
        + [(cause, "Admission") for cause in ("Test", "Department", "Referral")]
    )
    # P(Admission = yes): the test helps, the hard department admits fewer, a referral by a friend helps too
    admitted = [
        1 / (1 + np.exp(-(-1.0 + 2.0 * test - 1.5 * hard + 1.5 * referral)))
        for test in (0, 1)
        for hard in (0, 1)
        for referral in (0, 1)
    ]
    network.add_cpds(
        table("Gender", [[0.5], [0.5]]),
        table("Test", [[0.5], [0.5]]),
        table("Department", [[0.2, 0.8], [0.8, 0.2]], ["Gender"]),
        table("Referral", [[0.9, 0.4], [0.1, 0.6]], ["Gender"]),
        table("Admission", [[1 - p for p in admitted], admitted], ["Test", "Department", "Referral"]),
    )
    return network


def learn(applicants, columns):
    """A tree that sees some of the columns only."""
    encoder = make_column_transformer((OrdinalEncoder(), columns), remainder="drop")
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    return make_pipeline(encoder, tree).fit(applicants[FEATURES], applicants["Admission"])


# What each model is allowed to see.
MODELS = {
    "fair": ["Test", "Department"],
    "unfair": ["Gender", "Test", "Department"],  # gender stands in for the referral it does not see
    "blind": ["Test", "Department", "Referral"],  # never sees gender, but uses what follows from it
}

# The department resolves, so it comes before gender; a referral does not, so it stays behind gender.
RESOLVED = CausalOrder.from_edges([("Department", "Gender"), ("Gender", "Referral")], features=FEATURES)

# The order of causes: gender before everything that follows from it.
CAUSAL = CausalOrder.from_edges([("Gender", "Department"), ("Gender", "Referral")], features=FEATURES)


def judge(model, network, rows):
    """Mean |value| of gender: by SHAP, by ASV with causes first, by ASV with the department first."""
    resolved = compare(model, network, rows, RESOLVED, feature_names=FEATURES).output("yes")
    causal = AsymmetricExplainer(model, network, CAUSAL, feature_names=FEATURES)(rows, outputs="yes")
    gender = FEATURES.index("Gender")
    return resolved, {
        "SHAP": np.abs(resolved.shap.values[:, gender]).mean(),
        "ASV, gender first": np.abs(causal.values[:, gender]).mean(),
        "ASV, department first": np.abs(resolved.asv.values[:, gender]).mean(),
    }


def draw(results, out):
    out.mkdir(parents=True, exist_ok=True)
    for name, result in results.items():
        plots.causal_graph(result, RESOLVED, show=False)
        plt.gcf().savefig(out / f"{name}.png", dpi=100, bbox_inches="tight")
        plt.close("all")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples/admissions"), help="folder for the pictures")
    out = parser.parse_args().out

    network = build_network()
    applicants = sample_rows(network, 20_000, seed=0)
    print("share admitted:")
    print((applicants["Admission"] == "yes").groupby(applicants["Gender"]).mean().round(3).to_string())

    results, verdicts = {}, {}
    for name, columns in MODELS.items():
        model = learn(applicants, columns)
        results[name], verdicts[name] = judge(model, network, applicants[FEATURES][:200])
    verdict = pd.DataFrame(verdicts).T
    print("\nmean |value| of gender:")
    print(verdict.round(4))

    # SHAP gives gender credit in all three models: it cannot tell them apart.
    assert (verdict["SHAP"] > 0.02).all()
    # With the department first, the fair model is cleared, exactly; both others are exposed.
    assert verdict.loc["fair", "ASV, department first"] < 1e-12
    assert verdict.loc["unfair", "ASV, department first"] > 0.02
    assert verdict.loc["blind", "ASV, department first"] > 0.02
    # With gender first, ASV shows the whole effect of gender, the resolved part included.
    assert (verdict["ASV, gender first"] > 0.02).all()
    draw(results, out)
    print(f"pictures in {out}")


if __name__ == "__main__":
    main()
