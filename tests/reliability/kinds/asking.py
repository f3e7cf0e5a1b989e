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
from tests.oracles import group_games
from tests.oracles.brute_force import topological_orders
from tests.oracles.global_values import global_values
from tests.oracles.interventions import over_orders
from tests.reliability.kinds.causality import Causes, digraph, random_edges

#: Further questions; a kind whose background knows ancestral sets only leaves out those about all orders.
ALSO = (
    "nothing",
    "every backend",
    "symmetric",
    "comparison",
    "main effects",
    "groups",
    "importance",
    "saved",
    "one row",
)
ALSO_ANCESTRAL = ("nothing", "every backend", "importance", "saved", "one row")


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


def _groups(question: Question, explainer: Any, explanation: Any) -> None:
    """Features in random groups, and a random graph between these in the place of what the case knows of causes."""
    n, rng = len(question.names), _numbers_of(explainer, 1)
    owner = rng.integers(0, max(1, n - 1), size=n)
    sets = [tuple(np.flatnonzero(owner == g).tolist()) for g in np.unique(owner)]
    players = [f"group {g}" if len(m) > 1 else question.names[m[0]] for g, m in enumerate(sets)]
    groups = {name: [question.names[v] for v in m] for name, m in zip(players, sets, strict=True) if len(m) > 1}
    edges = random_edges(len(sets), rng)
    told = {"groups": groups or None, "causal_graph": digraph(players, edges), "orders": None, "weights": None}
    found = question.explainer(**told)(question.X, silent=True)
    orders = group_games.orders_of_groups(len(sets), edges)
    atol = question.exact if found.error_std is None else question.sampled
    for r, values in enumerate(replace(question, names=players).aligned(found, found.values)):
        nu = cache(lambda members, r=r: np.ravel(np.asarray(question.nu(r, members), dtype=float)))
        np.testing.assert_allclose(values, group_games.group_values(nu, sets, orders), rtol=0, atol=atol)


def _importance(question: Question, explainer: Any, explanation: Any) -> None:
    """Squared errors of all outputs, against random targets; what draws are off by counts twice the distance."""
    n, n_rows = len(question.names), len(explanation.values)
    y = _numbers_of(explainer, 2).normal(size=n_rows)

    def squares(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return ((np.asarray(predictions).reshape(len(targets), -1) - targets[:, None]) ** 2).sum(axis=1)

    seen = {}

    def nu(r: int, members: frozenset[int]) -> np.ndarray:
        if (r, members) not in seen:
            seen[r, members] = np.ravel(np.asarray(question.nu(r, members), dtype=float))
        return seen[r, members]

    def loss(value: np.ndarray, target: float) -> float:
        return float(((value - target) ** 2).sum())

    found = explainer.importance(question.X, y, loss=squares, n_bootstrap=5, silent=True)
    alone = [(i,) for i in range(n)]
    causes = question.causes
    expected = global_values(nu, list(range(n_rows)), y, loss, causes.orders, causes.weights, alone)
    off = question.exact if explanation.error_std is None else question.sampled
    farthest = max(float(np.abs(value - y[r]).sum()) for (r, _), value in seen.items())
    places = [list(found.feature_names).index(name) for name in question.names]
    slack = 8 * off * (farthest + off)
    np.testing.assert_allclose(np.asarray(found.values)[places], expected, rtol=0, atol=slack)
    nothing = -np.mean([loss(nu(r, frozenset()), target) for r, target in enumerate(y)])
    np.testing.assert_allclose(found.base_values, nothing, rtol=0, atol=slack)


def _numbers_of(explainer: Any, stream: int) -> np.random.Generator:
    """Random numbers that belong to the case."""
    return np.random.default_rng([explainer._constructor_arguments()["seed"], stream, 31])


FURTHER = {
    "nothing": _nothing,
    "every backend": _every_backend,
    "symmetric": _symmetric,
    "comparison": _comparison,
    "main effects": _main_effects,
    "groups": _groups,
    "importance": _importance,
    "saved": _saved,
    "one row": _one_row,
}
