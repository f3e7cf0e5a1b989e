"""Groups and global values that cannot be: overlapping or unknown members, targets and losses that do not fit."""

import numpy as np

from shap_asv import AsymmetricExplainer
from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    MethodNotApplicableError,
    ModelError,
    UnknownFeatureError,
    UnknownMethodError,
)
from tests.explainer.bad_input.setting import Bad, Setting


def grouped(c: Setting, groups, **options):
    return c.make(groups=groups, **options)


def graded(c: Setting, y=None, loss="log", rows=5, **options):
    """Importance of a few rows; the true classes unless told otherwise."""
    y = ["yes", "no"] * rows if y is None else y
    return c.good.importance(c.X[:rows], y[:rows] if hasattr(y, "__len__") else y, loss=loss, **options)


def no_number(nu, y):
    return np.full(len(y), np.nan)


def too_short(nu, y):
    return np.zeros(len(y) - 1)


def words(nu, y):
    return ["bad"] * len(y)


def raises(nu, y):
    raise ZeroDivisionError("by the loss itself")


PLAYERS = {
    "groups are a list": Bad(
        lambda c: grouped(c, [["smoke", "lung"]]), CausalGraphError, "groups= takes a dict.*got a list"
    ),
    "groups overlap": Bad(
        lambda c: grouped(c, {"a": ["smoke", "lung"], "b": ["lung", "bronc"]}),
        CausalGraphError,
        "'lung' is in groups 'a' and 'b'; a feature moves with one group",
    ),
    "a member that is no feature": Bad(
        lambda c: grouped(c, {"a": ["smoke", "moon"]}), UnknownFeatureError, "group 'a' names 'moon', which is not"
    ),
    "a group without members": Bad(lambda c: grouped(c, {"a": []}), CausalGraphError, "group 'a' has no members"),
    "a group that is a word": Bad(lambda c: grouped(c, {"a": "smoke"}), CausalGraphError, "not a list"),
    "a group with the name of another feature": Bad(
        lambda c: grouped(c, {"xray": ["smoke", "lung"]}), CausalGraphError, "rename the group"
    ),
    "groups that come before each other": Bad(
        lambda c: grouped(c, {"ends": ["smoke", "xray"]}, causal_graph=[("smoke", "lung"), ("lung", "xray")]),
        CausalGraphError,
        "'ends' -> 'lung' -> 'ends'.*'smoke' -> 'lung', 'lung' -> 'xray'",
    ),
    "a graph of groups and of their members": Bad(
        lambda c: grouped(c, {"a": ["smoke", "lung"]}, causal_graph=[("a", "lung")]),
        CausalGraphError,
        "the group 'a' and the feature 'lung'",
    ),
    "a typo in the name of a group in a graph": Bad(
        lambda c: grouped(c, {"lungs": ["lung", "bronc"]}, causal_graph=[("Lungs", "smoke")]),
        CausalGraphError,
        "has a node 'Lungs', which is not a feature; did you mean 'lungs'",
    ),
    "y too short": Bad(lambda c: graded(c, ["yes"] * 4), ArgumentError, r"y has shape \(4,\) and X has 5 rows"),
    "y with a gap": Bad(lambda c: graded(c, ["yes", None, "no", "no", "no"]), ArgumentError, "y is missing in row 1"),
    "y of another class": Bad(lambda c: graded(c, ["maybe"] * 5), ArgumentError, "'maybe', which is not a class"),
    "a loss over cover counts": Bad(
        lambda c: AsymmetricExplainer(c.numbers).importance((c.X == "yes").astype(int).to_numpy()[:5], ["yes"] * 5),
        MethodNotApplicableError,
        "cover counts.*background rows",
    ),
    "squares of classes": Bad(lambda c: graded(c, loss="squared"), ArgumentError, "loss='squared' compares one number"),
    "a loss that returns NaN": Bad(lambda c: graded(c, loss=no_number), ArgumentError, "the loss returned nan"),
    "a loss that returns too few": Bad(lambda c: graded(c, loss=too_short), ArgumentError, "one number for each"),
    "a loss that returns words": Bad(lambda c: graded(c, loss=words), ArgumentError, "not an array of numbers"),
    "a loss that fails": Bad(
        lambda c: graded(c, loss=raises), ArgumentError, "loss= raised ZeroDivisionError: by the loss itself"
    ),
    "a loss that nobody knows": Bad(lambda c: graded(c, loss="hinge"), UnknownMethodError, "unknown loss='hinge'"),
    "log loss of no probabilities": Bad(
        lambda c: AsymmetricExplainer(lambda X: 3.0 * np.ones((len(X), 2)), c.matrix).importance(
            c.matrix, np.zeros(len(c.matrix), dtype=int), loss="log"
        ),
        ModelError,
        "losses of classes need probabilities",
    ),
    "importance through a link": Bad(
        lambda c: AsymmetricExplainer(
            lambda X: 0.5 + 0 * np.asarray(X)[:, 0], c.matrix, link=lambda p: np.log(p / (1 - p))
        ).importance(c.matrix, np.zeros(len(c.matrix))),
        MethodNotApplicableError,
        "without link=",
    ),
    "one resample": Bad(lambda c: graded(c, n_bootstrap=1), ArgumentError, "n_bootstrap=1 is not an integer of at"),
    "half a resample": Bad(lambda c: graded(c, n_bootstrap=2.5), ArgumentError, "n_bootstrap=2.5 is not an integer"),
}
