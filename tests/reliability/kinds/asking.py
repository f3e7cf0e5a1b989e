"""What every kind with values of its own is asked: values, base values and efficiency against the definition, and one
thing more."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import shap

from shap_asv import AsymmetricExplainer
from shap_asv.errors import CausalGraphWarning
from tests.oracles.brute_force import topological_orders
from tests.oracles.interventions import over_orders
from tests.reliability.kinds.causality import Causes

#: Further questions; a kind whose background knows ancestral sets only leaves out those about all orders.
ALSO = ("nothing", "every backend", "symmetric", "comparison", "main effects", "saved", "one row")
ALSO_ANCESTRAL = ("nothing", "every backend", "saved", "one row")


@dataclass(frozen=True)
class Question:
    """A case that was built.

    Parameters
    ----------
    explainer : callable
        ``explainer(**more)`` is a new explainer of the case.
    X : table
        Rows as the user hands them over.
    names : list of str
        The features, in the order in which ``nu`` and the orders count them.
    nu : callable
        ``nu(r, members)`` is the value (k,) of a coalition (a frozenset of positions) for row r, by an oracle.
    exact, sampled : float
        How far values may be off where they are computed, and where they are means of draws.
    """

    explainer: Callable[..., AsymmetricExplainer]
    X: Any
    names: list[str]
    causes: Causes
    nu: Callable[[int, frozenset[int]], Any]
    exact: float
    sampled: float

    def aligned(self, explanation: Any, array: Any) -> np.ndarray:
        """An array over the explanation's features, in the order of ``names`` -> (r, n, k)."""
        places = [list(explanation.feature_names).index(name) for name in self.names]
        array = np.asarray(array, dtype=float)
        return array.reshape(len(array), len(places), -1)[:, places]

    def compare(self, explanation: Any, rows: Any = None) -> None:
        """Values, base values and efficiency."""
        values = self.aligned(explanation, explanation.values)
        base = np.asarray(explanation.base_values, dtype=float).reshape(len(values), -1)
        atol = self.exact if explanation.error_std is None else self.sampled
        whole = frozenset(range(len(self.names)))
        for k, r in enumerate(range(len(values)) if rows is None else rows):
            nu = cache(lambda members, r=r: np.ravel(np.asarray(self.nu(r, members), dtype=float)))
            expected = over_orders(nu, self.causes.orders, self.causes.weights)
            np.testing.assert_allclose(values[k], expected, rtol=0, atol=atol)
            np.testing.assert_allclose(base[k], nu(frozenset()), rtol=0, atol=atol)
            np.testing.assert_allclose(base[k] + values[k].sum(axis=0), nu(whole), rtol=0, atol=self.exact)


def ask(question: Question, also: str) -> None:
    """Raise unless the case comes out right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalGraphWarning)
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        explainer = question.explainer()
        explanation = explainer(question.X, silent=True)
        question.compare(explanation)
        FURTHER[also](question, explainer, explanation)


def _nothing(question: Question, explainer: Any, explanation: Any) -> None:
    pass


def _every_backend(question: Question, explainer: Any, explanation: Any) -> None:
    """Each backend over all ideals that says it can run, by name; draws as well as sums."""
    names = [c.name for c in explainer.plan(question.X).candidates if c.runnable and not c.backend.samples_orders]
    assert names
    for name in names:
        question.compare(question.explainer(algorithm=name)(question.X, silent=True))


def _everyone(question: Question) -> Question:
    orders = topological_orders(len(question.names), [])
    return replace(question, causes=Causes({}, orders, np.full(len(orders), 1 / len(orders))))


def _symmetric(question: Question, explainer: Any, explanation: Any) -> None:
    _everyone(question).compare(explainer.symmetric()(question.X, silent=True))


def _comparison(question: Question, explainer: Any, explanation: Any) -> None:
    found = explainer.compare(question.X, silent=True)
    question.compare(found.asv)
    _everyone(question).compare(found.shap)


def _main_effects(question: Question, explainer: Any, explanation: Any) -> None:
    found = explainer(question.X, main_effects=True, silent=True)
    atol = question.exact if found.error_std is None else 2 * question.sampled
    for r, effects in enumerate(question.aligned(found, found.main_effects)):
        base = np.ravel(question.nu(r, frozenset()))
        expected = [np.ravel(question.nu(r, frozenset([i]))) - base for i in range(len(effects))]
        np.testing.assert_allclose(effects, expected, rtol=0, atol=atol)


def _saved(question: Question, explainer: Any, explanation: Any) -> None:
    """The same bits by the same backend: the model is timed anew, and may now look too slow to be asked."""
    stream = io.BytesIO()
    explainer.save(stream)
    for load in (AsymmetricExplainer.load, shap.Explainer.load):
        stream.seek(0)
        loaded = load(stream)
        found = loaded(question.X, silent=True)
        backends = [each._known_execution().last_plan.backend.name for each in (explainer, loaded)]
        if backends[0] == backends[1]:
            np.testing.assert_array_equal(found.values, explanation.values)
            np.testing.assert_array_equal(found.base_values, explanation.base_values)
        else:
            question.compare(found)


def _one_row(question: Question, explainer: Any, explanation: Any) -> None:
    """The last row alone: the same as among others, for random numbers belong to the call and not to the row."""
    X = question.X.iloc[-1:] if hasattr(question.X, "iloc") else question.X[-1:]
    found = explainer(X, silent=True)
    question.compare(found, rows=[len(explanation.values) - 1])
    np.testing.assert_allclose(found.values[0], explanation.values[-1], rtol=0, atol=question.exact)


FURTHER = {
    "nothing": _nothing,
    "every backend": _every_backend,
    "symmetric": _symmetric,
    "comparison": _comparison,
    "main effects": _main_effects,
    "saved": _saved,
    "one row": _one_row,
}
