"""Arguments out of their range, contradictions, questions that come too early, and files."""

import io

import joblib
import numpy as np
import pandas as pd
import shap

from shap_asv import AsymmetricExplainer, compare, load_network, sample_rows
from shap_asv.errors import (
    ArgumentError,
    BudgetExceededError,
    ExplanationError,
    MethodNotApplicableError,
    ModelError,
    PersistenceError,
    RowsError,
    UnknownFeatureError,
    UnknownMethodError,
)
from tests.explainer.bad_input.setting import Bad, constant


def one(**call):
    """One row explained with an argument of the call."""
    return lambda c: c.good(c.X[:1], **call)


def making(**options):
    return lambda c: c.make(**options)


def linked(link):
    """A model whose output is 0.5, seen through a link."""
    return lambda c: c.over_network(lambda table: np.full(len(table), 0.5), link=link)(c.X[:1])


def compared(question):
    return lambda c: question(compare(c.model, c.network, c.X[:1]))


def black_box_over_child(c):
    """1e9 joint states are too many for a table of a black box."""
    network = load_network("child")
    rows = sample_rows(network, 1, seed=0)
    return AsymmetricExplainer(constant, network, feature_names=list(rows.columns), algorithm="ideals x table")(rows)


def saved(explainer, **savers):
    stream = io.BytesIO()
    explainer.save(stream, **savers)
    stream.seek(0)
    return stream


OPTIONS = {
    "n_orders=0": Bad(making(n_orders=0), ArgumentError, "n_orders=0 is not a positive integer"),
    "n_orders=1": Bad(
        lambda c: c.make(n_orders=1, algorithm="orders x table")(c.X[:1]),
        MethodNotApplicableError,
        "at least two orders",
    ),
    "tolerance=-1": Bad(making(tolerance=-1), ArgumentError, "tolerance=-1 must be a number > 0"),
    "tolerance of a call": Bad(one(tolerance=-1), ArgumentError, "tolerance=-1 must be a number > 0"),
    "memory_limit=-1": Bad(making(memory_limit=-1), ArgumentError, "memory_limit=-1 must be a number > 0"),
    "memory_limit of a byte": Bad(
        lambda c: c.make(memory_limit=1)(c.X[:1]), MethodNotApplicableError, "no backend can treat this problem"
    ),
    "ideal_limit=0.5": Bad(making(ideal_limit=0.5), ArgumentError, "ideal_limit=0.5 is not a positive integer"),
    "ideal_limit too low": Bad(
        lambda c: c.make(ideal_limit=3, algorithm="ideals x trees")(c.X[:1]),
        MethodNotApplicableError,
        "more than 3 ideals .ideal_limit=",
    ),
    "n_jobs=0": Bad(making(n_jobs=0), ArgumentError, "n_jobs=0 must be a number of processes"),
    "n_jobs='all'": Bad(making(n_jobs="all"), ArgumentError, "n_jobs='all'"),
    "seed=-1": Bad(making(seed=-1), ArgumentError, "seed=-1 is not a seed; pass a whole number"),
    "seed is a list": Bad(making(seed=[1, 2]), ArgumentError, r"seed=\[1, 2\]"),
    "unknown algorithm": Bad(making(algorithm="magic"), UnknownMethodError, "unknown algorithm 'magic'"),
    "algorithm is a list": Bad(making(algorithm=["exact"]), UnknownMethodError, "unknown algorithm"),
    "a table of 1e9 states": Bad(black_box_over_child, MethodNotApplicableError, "joint states, more than"),
    "unknown model_output": Bad(making(model_output="log"), UnknownMethodError, "auto, raw, probability"),
    "model_output of a function": Bad(
        lambda c: c.over_network(constant, model_output="raw"), ModelError, "needs an estimator"
    ),
    "link is a word": Bad(making(link="logit"), TypeError, "link='logit' needs to be callable"),
    "link is None": Bad(making(link=None), TypeError, "link=None needs to be callable"),
    "link raises": Bad(linked(lambda v: 1 / 0), ModelError, "link= raised ZeroDivisionError"),
    "link answers None": Bad(linked(lambda v: None), ModelError, "link= answered with object"),
    "link outside of its domain": Bad(
        lambda c: c.over_network(constant, link=shap.links.logit)(c.X[:1]), ModelError, "link function is not finite"
    ),
    "feature twice": Bad(making(feature_names=["asia", "asia"]), UnknownFeatureError, "'asia' is named twice"),
    "features is a word": Bad(making(feature_names="asia"), UnknownFeatureError, "a list of names, not a str"),
    "features is a number": Bad(making(feature_names=5), UnknownFeatureError, "a list of names, not a int"),
    "features is a set": Bad(lambda c: c.make(feature_names=set(c.names)), UnknownFeatureError, "not a set"),
    "no features": Bad(making(feature_names=[]), UnknownFeatureError, "no features are left"),
    "unknown argument": Bad(lambda c: compare(c.model, c.network, c.X[:1], sed=1), TypeError, "unexpected .* 'sed'"),
}

CALLS = {
    "max_evals=3": Bad(one(max_evals=3), BudgetExceededError, "two orders need 14"),
    "max_evals='lots'": Bad(one(max_evals="lots"), ArgumentError, "max_evals='lots' is not a positive integer"),
    "max_evals past the memory": Bad(
        lambda c: c.make(algorithm="orders x table")(c.X[:1], max_evals=10**9), MethodNotApplicableError, "the limit is"
    ),
    "batch_size=inf": Bad(one(batch_size=float("inf")), ArgumentError, "batch_size=inf is not a positive integer"),
    "output past the end": Bad(one(outputs=7), UnknownMethodError, "there is no output 7"),
    "output of no name": Bad(one(outputs="maybe"), UnknownMethodError, "there is no output 'maybe'"),
    "output 1.0": Bad(one(outputs=1.0), UnknownMethodError, "outputs=1.0 is not an output"),
    "no outputs": Bad(one(outputs=[]), UnknownMethodError, "picks no output"),
    "outputs by shap's max": Bad(
        one(outputs=shap.Explanation.max), UnknownMethodError, "is not an output of the model"
    ),
    "plan of -1 rows": Bad(lambda c: c.good.plan(-1), ArgumentError, "X=-1 is not a positive integer"),
    "plan of no rows": Bad(lambda c: c.good.plan(0), ArgumentError, "X=0 is not a positive integer"),
    "plan before the features are known": Bad(
        lambda c: AsymmetricExplainer(constant, c.network).plan(), RowsError, "pass feature_names="
    ),
    "comparison: output past the end": Bad(
        compared(lambda comparison: comparison.output(9)), UnknownMethodError, "no output 9"
    ),
    "comparison: row past the end": Bad(
        compared(lambda comparison: comparison.output(0).to_frame(row=9)), ExplanationError, "no row 9"
    ),
    "comparison: something else added": Bad(
        compared(lambda comparison: comparison.add("x", 5)), ExplanationError, "must be a shap.Explanation"
    ),
}

FILES = {
    "save into no folder": Bad(lambda c: c.good.save("/no such folder/explainer"), FileNotFoundError, "no such folder"),
    "save into a number": Bad(lambda c: c.good.save(5), PersistenceError, "a path or a binary stream, not a int"),
    "save into text": Bad(lambda c: c.good.save(io.StringIO()), PersistenceError, "not a StringIO"),
    "save with a model_saver that raises": Bad(
        lambda c: c.good.save(io.BytesIO(), model_saver=lambda model, stream: model.save(stream)),
        PersistenceError,
        "model_saver= raised AttributeError.*'save'",
    ),
    "save with a masker_saver of another kind": Bad(
        lambda c: c.good.save(io.BytesIO(), masker_saver="json"),
        ArgumentError,
        "masker_saver='json' is not known; pass a function of .masker, stream.",
    ),
    "load of a model without its loader": Bad(
        lambda c: AsymmetricExplainer.load(saved(c.good, model_saver=joblib.dump)),
        PersistenceError,
        "the model was written by a model_saver= of its own; pass model_loader=",
    ),
    "load with a loader that raises": Bad(
        lambda c: AsymmetricExplainer.load(saved(c.good, model_saver=joblib.dump), model_loader=np.load),
        PersistenceError,
        "model_loader= raised ",
    ),
    "load with a loader of what nobody saved": Bad(
        lambda c: AsymmetricExplainer.load(saved(c.good), masker_loader=joblib.load),
        PersistenceError,
        "masker_loader= has nothing to read",
    ),
    "save of a masker that has lost the types of columns": Bad(
        lambda c: AsymmetricExplainer(constant, pd.DataFrame({"a": [0.5], "b": [1]})).save(
            io.BytesIO(), masker_saver=joblib.dump
        ),
        PersistenceError,
        "column 'b' of the background is of type int64",
    ),
    "load of no file": Bad(
        lambda c: AsymmetricExplainer.load("/no such folder/explainer"), FileNotFoundError, "no such folder"
    ),
    "load of a foreign file": Bad(
        lambda c: AsymmetricExplainer.load(io.BytesIO(b"nothing")), PersistenceError, "not a saved explainer"
    ),
}

ARGUMENTS = {**OPTIONS, **CALLS, **FILES}
