"""Encoders that do not turn the states into what the model takes."""

from types import SimpleNamespace

import numpy as np
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from shap_asv import AsymmetricExplainer
from shap_asv.errors import EncodingError, ModelError, UnknownMethodError, UnknownStateError
from tests.explainer.bad_input.setting import Bad, constant

BINARY = {"yes": 1, "no": 0}


def encoded(encoder, call=False):
    """The model of numbers behind an encoder that is made of the setting."""

    def action(c):
        return c.over_network(c.numbers, encoder=encoder(c))

    return action


def transforming(function):
    return encoded(lambda c: SimpleNamespace(transform=function))


ENCODERS = {
    "a word": Bad(encoded(lambda c: "ordinal"), EncodingError, "must be a fitted transformer or a mapping"),
    "a class": Bad(encoded(lambda c: OrdinalEncoder), EncodingError, "raised TypeError"),
    "fitted on other states": Bad(
        encoded(lambda c: OrdinalEncoder().fit(c.X.replace({"yes": "Y", "no": "N"}))),
        EncodingError,
        "none of the states",
    ),
    "never saw a state": Bad(
        encoded(lambda c: OrdinalEncoder().fit(c.X.assign(smoke="yes"))), EncodingError, "never saw the state 'no'"
    ),
    "fitted on numbers": Bad(
        encoded(lambda c: StandardScaler().fit(c.matrix)), EncodingError, r"fitted on 3 columns.*feature_names="
    ),
    "makes too many columns": Bad(
        encoded(lambda c: OneHotEncoder().fit(c.X)), EncodingError, "puts out 14 columns, but .* on 7"
    ),
    "returns None": Bad(transforming(lambda table: None), EncodingError, "a NoneType of shape"),
    "empty mapping": Bad(encoded(lambda c: {}), EncodingError, "says nothing about feature 'asia'"),
    "mapping lacks a state": Bad(encoded(lambda c: {"yes": 1}), EncodingError, "no value for the state 'no'"),
    "mapping to words": Bad(encoded(lambda c: {"yes": "a", "no": "b"}), ModelError, "could not convert string"),
    "over a matrix": Bad(
        lambda c: AsymmetricExplainer(constant, np.zeros((3, 2)), encoder={"a": 1}),
        UnknownMethodError,
        "goes with a Bayesian network",
    ),
    "X is encoded already": Bad(
        lambda c: c.over_network(c.numbers, encoder=BINARY)((c.X[:2] == "yes").astype(int)),
        UnknownStateError,
        "X holds states, encoder= is applied behind",
    ),
}
