"""A small fitted model over a bundled network, shared by the tests of shap's interface."""

import matplotlib as mpl

mpl.use("Agg")

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, load_network, sample_rows


@pytest.fixture(scope="session")
def asia():
    network = load_network("asia")
    frame = sample_rows(network, 600, seed=0)
    X, y = frame.drop(columns="dysp"), frame["dysp"]
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    return network, model, X


@pytest.fixture(scope="session")
def asia_score(asia):
    """A single-output model over asia."""
    network, model, X = asia

    def score(table):
        return model.predict_proba(table)[:, 1]

    return network, score, X


@pytest.fixture(scope="session")
def explainer(asia):
    network, model, _ = asia
    return AsymmetricExplainer(model, network)


@pytest.fixture(scope="session")
def score_explainer(asia_score):
    network, score, X = asia_score
    return AsymmetricExplainer(score, network, feature_names=list(X.columns))
