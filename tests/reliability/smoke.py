"""A first explanation with an installed package: run by itself, outside of the source tree.

Prints where the package was found. pgmpy is heavy, so it must not be there until a network is used.
"""

import sys


def main() -> None:
    import shap_asv

    heavy = {"shap", "pgmpy", "numba", "matplotlib", "sklearn", "pandas"} & set(sys.modules)
    assert not heavy, f"import shap_asv alone imports {heavy}"

    import numpy as np

    from shap_asv import AsymmetricExplainer, CausalOrder, load_network, sample_rows

    matrix = np.random.default_rng(0).normal(size=(30, 3))
    order = CausalOrder.from_edges([("Feature 0", "Feature 1"), ("Feature 1", "Feature 2")])
    explanation = AsymmetricExplainer(lambda X: X[:, 0] * X[:, 1], matrix, order, values="marginal")(matrix[:4])
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, matrix[:4, 0] * matrix[:4, 1], atol=1e-9)
    assert "pgmpy" not in sys.modules, "pgmpy is imported without a network"

    network = load_network("cancer")
    rows = sample_rows(network, 300, seed=0)

    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier

    X, y = rows.drop(columns="Cancer"), rows["Cancer"]
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    explainer = AsymmetricExplainer(model, network)
    explanation = explainer(X[:20])
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X[:20]), atol=1e-9)
    assert explainer.plan(X).exact
    assert "pgmpy" in sys.modules
    print(shap_asv.__file__)


if __name__ == "__main__":
    main()
