"""What a kind of random cases is, and what every kind is asked: values, base values and efficiency against the
definition, and one thing more."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import shap

from shap_asv import AsymmetricExplainer
from shap_asv.errors import CausalGraphError, CausalGraphWarning, MethodNotApplicableError
from tests.oracles import group_games
from tests.oracles.brute_force import over_orders, topological_orders
from tests.oracles.global_values import global_values
from tests.reliability.kinds.causality import FORMS, Causes, digraph, known_causes, of_graphs, random_edges

#: Further questions; a kind whose background knows ancestral sets only leaves out those about all orders.
ALSO = (
    "nothing",
    "every backend",
    "symmetric",
    "comparison",
    "main effects",
    "groups",
    "importance",
    "sensitivity",
    "saved",
    "one row",
)
ALSO_ANCESTRAL = ("nothing", "every backend", "importance", "saved", "one row")
OF_GROUPS = ("nothing", "every backend", "importance", "sensitivity", "saved")


@dataclass(frozen=True)
class Kind:
    """One kind of cases.

    Parameters
    ----------
    name : str
        Printed beside its share of the cases.
    share : int
        How often the kind is drawn, beside the shares of the others.
    choices : dict of str to tuple
        The words that each field of a case may hold. A word that stands twice is drawn twice as often.
    check : callable
        Takes a case; raises unless what the package says is what an oracle of ``tests/oracles`` says.
    note : str
        What a case is and what it is compared with, a sentence or two for the record.
    make : callable
        ``make(seed=..., **words)`` is the case; ``seed`` fixes every number that the words leave open.
    """

    name: str
    share: int
    choices: dict[str, tuple]
    check: Callable[[Any], None]
    note: str
    make: Callable[..., Any] = SimpleNamespace

    def case(self, seed: int) -> Any:
        """The case that a number stands for: a function of the number alone."""
        rng = np.random.default_rng(seed)
        return self.make(
            seed=seed, **{name: words[int(rng.integers(len(words)))] for name, words in self.choices.items()}
        )


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
        How far values may be off where they are computed, and where they are means of draws (None: never drawn).
    shown : callable, optional
        ``shown(r, members, i)`` is the value where feature i has the row's value in the eyes of the model alone.
    by_levels : bool
        Levels of the causal order say what a coalition sets in motion, so that no other order can be asked about.
    has_games : bool
        False for cover counts of trees: sums over paths are not values of coalitions, and have no loss.
    """

    explainer: Callable[..., AsymmetricExplainer]
    X: Any
    names: list[str]
    causes: Causes
    nu: Callable[[int, frozenset[int]], Any]
    exact: float
    sampled: float | None = None
    shown: Callable[[int, frozenset[int], int], Any] | None = None
    by_levels: bool = False
    has_games: bool = True

    def aligned(self, explanation: Any, array: Any) -> np.ndarray:
        """An array over the explanation's features, in the order of ``names`` -> (r, n, k)."""
        places = [list(explanation.feature_names).index(name) for name in self.names]
        array = np.asarray(array, dtype=float)
        return array.reshape(len(array), len(places), -1)[:, places]

    def slack(self, error_std: Any) -> float:
        """How far values with these standard errors may be off: six of them, unless the draws are balanced."""
        if error_std is None or not np.any(error_std):
            return self.exact
        assert self.sampled is not None
        worst = float(np.max(error_std))
        if self.sampled <= self.exact:
            return self.sampled
        assert worst <= 2 * self.sampled, f"a standard error of {worst:g} says nothing"
        return max(self.sampled, 6 * worst)

    def game(self, r: int) -> Callable[[frozenset[int]], np.ndarray]:
        """Values of coalitions for one row, each computed once."""
        return cache(lambda members: np.ravel(np.asarray(self.nu(r, members), dtype=float)))

    def expected(self, r: int) -> np.ndarray:
        """phi (n, k) of one row by the definition."""
        return over_orders(self.game(r), self.causes.orders, self.causes.weights)

    def compare(self, explanation: Any, rows: Any = None) -> None:
        """Values, base values and efficiency."""
        values = self.aligned(explanation, explanation.values)
        base = np.asarray(explanation.base_values, dtype=float).reshape(len(values), -1)
        atol = self.slack(explanation.error_std)
        whole = frozenset(range(len(self.names)))
        for k, r in enumerate(range(len(values)) if rows is None else rows):
            nu = self.game(r)
            expected = over_orders(nu, self.causes.orders, self.causes.weights)
            np.testing.assert_allclose(values[k], expected, rtol=0, atol=atol)
            np.testing.assert_allclose(base[k], nu(frozenset()), rtol=0, atol=atol)
            np.testing.assert_allclose(base[k] + values[k].sum(axis=0), nu(whole), rtol=0, atol=self.exact)


def asked(model: Any, background: Any, causes: Causes, names: list[str], case: Any, **options: Any) -> Callable:
    """Explainers of a case: model and background, what is known of causes, and options that may be told otherwise."""
    usual = {"feature_names": names, "n_draws": 4096, "seed": case.seed % 1000, **options, **causes.arguments}
    return lambda **more: AsymmetricExplainer(model, background, **{**usual, **more})


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
    """Each backend over all ideals that says it can run, by name; draws as well, where the kind says how far off."""
    may = [c for c in explainer.plan(question.X).candidates if c.runnable and not c.backend.samples_orders]
    names = [c.name for c in may if c.backend.exact or question.sampled is not None]
    assert names
    for name in names:
        by_name = question.explainer(algorithm=name)
        assert by_name.plan(question.X).backend.name == name
        question.compare(by_name(question.X, silent=True))


def _over_all_orders(question: Question) -> Question:
    orders = topological_orders(len(question.names), [])
    return replace(question, causes=Causes({}, orders, np.full(len(orders), 1 / len(orders))))


def _symmetric(question: Question, explainer: Any, explanation: Any) -> None:
    _over_all_orders(question).compare(explainer.symmetric()(question.X, silent=True))


def _comparison(question: Question, explainer: Any, explanation: Any) -> None:
    found = explainer.compare(question.X, silent=True)
    question.compare(found.asv)
    _over_all_orders(question).compare(found.shap)
    np.testing.assert_array_equal(found.difference, np.asarray(found.asv.values) - np.asarray(found.shap.values))


def _main_effects(question: Question, explainer: Any, explanation: Any) -> None:
    found = explainer(question.X, main_effects=True, error_bounds=True, silent=True)
    atol = question.slack(found.error_std) * (2 if np.any(found.error_std) else 1)
    for r, effects in enumerate(question.aligned(found, found.main_effects)):
        nu = question.game(r)
        expected = [nu(frozenset([i])) - nu(frozenset()) for i in range(len(effects))]
        np.testing.assert_allclose(effects, expected, rtol=0, atol=atol)


def _saved(question: Question, explainer: Any, explanation: Any) -> None:
    """The same bits by the same backend: the model is timed anew, and may now look too slow to be asked."""
    stream = io.BytesIO()
    explainer.save(stream)
    for load in (AsymmetricExplainer.load, shap.Explainer.load):
        stream.seek(0)
        loaded = load(stream)
        assert type(loaded) is AsymmetricExplainer
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
    """Features in random groups, and a question about these.

    Groups follow the causes of their members, where these are one graph, or have causes of their own.
    """
    n, rng = len(question.names), _numbers_of(explainer, 1)
    owner = rng.integers(0, max(1, n - 1), size=n)
    sets = [tuple(np.flatnonzero(owner == g).tolist()) for g in np.unique(owner)]
    players = [f"group {g}" if len(m) > 1 else question.names[m[0]] for g, m in enumerate(sets)]
    groups = {name: [question.names[v] for v in m] for name, m in zip(players, sets, strict=True) if len(m) > 1}
    told: dict[str, Any] = {"groups": groups or None}
    if question.by_levels or (question.causes.one_graph and rng.random() < 0.5):
        edges = group_games.quotient_edges(sets, question.causes.always_before())
        orders = group_games.orders_of_groups(len(sets), edges)
        if not orders:
            with pytest.raises(CausalGraphError, match="come before each other"):
                question.explainer(**told)
            return
        causes = Causes({}, orders, np.full(len(orders), 1 / len(orders)))
    else:
        causes = known_causes(str(rng.choice(FORMS)), players, rng)
        told |= {"causal_graph": None, **causes.arguments}

    def nu(r: int, members: frozenset[int]) -> Any:
        return question.nu(r, frozenset(v for g in members for v in sets[g]))

    def of_groups(**more: Any) -> AsymmetricExplainer:
        return question.explainer(**{**told, **more})

    also = [word for word in OF_GROUPS if word != "sensitivity" or not question.by_levels]
    ask(replace(question, explainer=of_groups, names=players, causes=causes, nu=nu), str(rng.choice(also)))


def _importance(question: Question, explainer: Any, explanation: Any) -> None:
    """Squared errors of all outputs, against random targets; what draws are off by counts twice the distance."""
    n_rows = len(explanation.values)
    y = _numbers_of(explainer, 2).normal(size=n_rows)
    games = [question.game(r) for r in range(n_rows)]
    seen = [np.abs(games[r](frozenset()) - y[r]).sum() for r in range(n_rows)]

    def squares(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return ((np.asarray(predictions).reshape(len(targets), -1) - targets[:, None]) ** 2).sum(axis=1)

    def loss(value: np.ndarray, target: float) -> float:
        seen.append(np.abs(value - target).sum())
        return float(((value - target) ** 2).sum())

    causes, alone = question.causes, [(i,) for i in range(len(question.names))]
    told = {"loss": "squared" if games[0](frozenset()).size == 1 else squares, "n_bootstrap": 5, "silent": True}
    if not question.has_games:
        with pytest.raises(MethodNotApplicableError, match="a loss needs nu"):
            explainer.importance(question.X, y, **told)
        return
    found = explainer.importance(question.X, y, **told)
    expected = global_values(
        lambda r, members: games[r](members), list(range(n_rows)), y, loss, causes.orders, causes.weights, alone
    )
    off = question.slack(explanation.error_std)
    slack = 8 * off * (max(seen) + off)
    places = [list(found.feature_names).index(name) for name in question.names]
    np.testing.assert_allclose(np.asarray(found.values)[places], expected, rtol=0, atol=slack)
    nothing = -np.mean([loss(games[r](frozenset()), target) for r, target in enumerate(y)])
    np.testing.assert_allclose(found.base_values, nothing, rtol=0, atol=slack)


def _sensitivity(question: Question, explainer: Any, explanation: Any) -> None:
    """Every graph by itself (two with the same orders are one), the mean and the bounds over them."""
    n, n_rows, rng = len(question.names), len(explanation.values), _numbers_of(explainer, 3)
    drawn = [random_edges(n, rng) for _ in range(int(rng.integers(2, 6)))]
    graphs = list({frozenset(of_graphs(n, [edges])[0]): edges for edges in drawn}.values())
    weights = rng.uniform(0.1, 2.0, len(graphs))
    given = [(digraph(question.names, edges), float(w)) for edges, w in zip(graphs, weights, strict=True)]
    found = explainer.sensitivity(question.X, graphs=given, silent=True)
    each = np.array(
        [
            [replace(question, causes=Causes({}, *of_graphs(n, [edges]))).expected(r) for r in range(n_rows)]
            for edges in graphs
        ]
    )
    own = np.array([question.expected(r) for r in range(n_rows)])
    wanted = {
        "values": each,
        "mean": np.tensordot(weights / weights.sum(), each, axes=1),
        "low": each.min(axis=0),
        "high": each.max(axis=0),
        "reference": own,
    }
    places = [list(found.feature_names).index(name) for name in question.names]
    for name, expected in wanted.items():
        array = np.asarray(getattr(found, name), dtype=float).reshape(expected.shape)[..., places, :]
        np.testing.assert_allclose(array, expected, rtol=0, atol=question.slack(found.error_std), err_msg=name)


def _effects(question: Question, explainer: Any, explanation: Any) -> None:
    """Direct: i is shown to the model and moves no other feature; the rest of its causal value is indirect."""
    direct, indirect = explainer.effects(question.X, silent=True)
    parts = [question.aligned(part, part.values) for part in (direct, indirect)]
    whole = question.aligned(explanation, explanation.values)
    np.testing.assert_allclose(sum(parts), whole, rtol=0, atol=question.exact)
    for r, found in enumerate(parts[0]):
        expected, nu = np.zeros_like(found), question.game(r)
        for order, weight in zip(question.causes.orders, question.causes.weights, strict=True):
            for place, i in enumerate(order):
                before = frozenset(order[:place])
                expected[i] += weight * (question.shown(r, before, i) - nu(before))
        np.testing.assert_allclose(found, expected, rtol=0, atol=question.slack(direct.error_std))


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
    "sensitivity": _sensitivity,
    "effects": _effects,
    "saved": _saved,
    "one row": _one_row,
}
