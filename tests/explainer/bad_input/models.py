"""Models that cannot be explained, or that do not answer with numbers."""

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer
from shap_asv.errors import EncodingError, ModelError, UnknownFeatureError
from tests.explainer.bad_input.setting import Bad, first


def answering(answer):
    """A function of a table that answers with ``answer(number of rows)``."""
    return lambda c: c.over_network(lambda table: answer(len(table)))


def outputs_come_and_go(c):
    """A model that has one output while the explainer is built and two when a row is explained."""
    outputs = [1]
    explainer = c.over_network(lambda table: np.zeros((len(table), outputs[-1])))
    outputs.append(2)
    return explainer(c.X[:5])


MODELS = {
    "not fitted": Bad(lambda c: c.over_network(DecisionTreeClassifier()), ModelError, "not fitted"),
    "classifier without probabilities": Bad(
        lambda c: c.over_network(RidgeClassifier().fit([[0] * 7, [1] * 7], [0, 1])), ModelError, "decision_function"
    ),
    "takes no argument": Bad(lambda c: c.over_network(lambda: 1), EncodingError, "TypeError: .* takes 0 positional"),
    "raises over a matrix": Bad(lambda c: c.over_matrix(lambda table: 1 / 0), ModelError, "raised ZeroDivisionError"),
    "fitted on other names": Bad(
        lambda c: c.make(feature_names=c.names[:3]), EncodingError, r"feature_names=\[...\] \(every other node"
    ),
    "returns None": Bad(answering(lambda n: None), ModelError, "returned None"),
    "returns words": Bad(answering(lambda n: ["yes"] * n), ModelError, "labels such as 'yes'"),
    "returns complex numbers": Bad(answering(lambda n: np.ones(n) * 1j), ModelError, "complex128 values"),
    "returns dates": Bad(answering(lambda n: np.full(n, np.datetime64("2020-01-01"))), ModelError, "datetime64"),
    "returns objects": Bad(answering(lambda n: [object()] * n), ModelError, "no array of numbers"),
    "returns one number": Bad(answering(lambda n: 1.0), ModelError, r"shape \(\) for"),
    "returns ragged lists": Bad(answering(lambda n: [[1]] * (n - 1) + [[1, 2]]), ModelError, "no array of numbers"),
    "returns matrices": Bad(answering(lambda n: [np.zeros((n, 2))] * 3), ModelError, "list of 3 matrices"),
    "returns masked values": Bad(
        answering(lambda n: np.ma.masked_array(np.ones(n), mask=True)), ModelError, "masked values"
    ),
    "outputs come and go": Bad(outputs_come_and_go, ModelError, r"returned \[1, 2\] outputs"),
    "draws random numbers": Bad(
        lambda c: c.over_network(lambda table: np.random.default_rng().normal(size=len(table))),
        ModelError,
        "answered the same row with",
    ),
    "centres its table": Bad(
        lambda c: c.over_matrix(lambda table: table[:, 0] - table[0, 0]), ModelError, "answered the same row with"
    ),
    "outputs past the floats": Bad(
        lambda c: AsymmetricExplainer(first, np.full((3, 2), 1e308))([[1e308, 1.0]]), ModelError, "too large"
    ),
    "names for one output of two": Bad(lambda c: c.make(output_names=["a"]), ModelError, "with 2 outputs"),
    "names of outputs is a number": Bad(lambda c: c.make(output_names=5), UnknownFeatureError, "output_names="),
    "two outputs of one name": Bad(
        lambda c: c.make(output_names=["a", "a"]), UnknownFeatureError, "'a' is named twice"
    ),
}
