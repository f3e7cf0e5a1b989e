"""The matrix: every question of an explainer x background x meaning of nu(S) x kind of order x groups or not x link.

A cell is made from the declarations: the table of backgrounds, the words of ``values=``, and the public methods of the
explainer, so that a new row, word or method is asked here without being named. It equals the definition, all orders x
the background's own nu(S), or it is refused in one sentence.
"""

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np
import shap

from shap_asv import AsymmetricExplainer, CausalOrder, PartialGraph, StructuralModel, score_background
from shap_asv.backgrounds.contract import (
    CutLoose,
    FiniteStates,
    IntervenedJoint,
    JointTable,
    KnowsInterventions,
    WeightedRows,
)
from shap_asv.backgrounds.interventions import LevelByLevel, by_levels
from shap_asv.errors import ShapAsvError, ShapAsvWarning
from shap_asv.explainer.options import VALUES
from tests.declared import BACKGROUNDS, FEATURES, any_form, as_table, example_table, model_for
from tests.oracles.tree_games import cover_value
from tests.oracles.tree_readers import from_scikit_learn
from tests.reliability.kinds.asking import Kind

N_ROWS, N_DRAWS, FAR = 2, 512, 7.0
PAIR = {"pair": ["x0", "x1"]}
BY_NAME = {kind.name: kind for kind in BACKGROUNDS}


def digraph(*edges):
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(FEATURES)
    return graph


#: What a user may know of causes: the explainer's arguments, and the DAGs (edges, weight) that it stands for. "own" is
#: the background's graph; explicit orders are of players, and speak for themselves.
CHAIN, FORK, BACK = [("x0", "x1"), ("x1", "x2")], [("x0", "x1"), ("x0", "x2")], [("x2", "x0"), ("x2", "x1")]
LEVELED = [("x0", "x2"), ("x1", "x2")]
ORDERS = {
    "own": (dict, None),
    "no edges": (lambda: {"causal_graph": digraph()}, [([], 1.0)]),
    "edges": (lambda: {"causal_graph": digraph(*FORK)}, [(FORK, 1.0)]),
    "levels": (lambda: {"causal_graph": leveled()}, [(LEVELED, 1.0)]),
    "a confounded level": (lambda: {"causal_graph": leveled(confounded=[0])}, [(LEVELED, 1.0)]),
    "levels in a list": (lambda: {"causal_graph": [leveled(confounded=[0])]}, [(LEVELED, 1.0)]),
    "explicit orders": (dict, None),
    "two graphs": (lambda: {"causal_graph": [(digraph(*CHAIN), 1), (digraph(*BACK), 3)]}, [(CHAIN, 1.0), (BACK, 3.0)]),
    "partly directed": (
        lambda: {"causal_graph": PartialGraph(FEATURES, [], [("x1", "x2")])},
        [([("x1", "x2")], 1.0), ([("x2", "x1")], 1.0)],
    ),
}
#: Levels and confounded ones, as positions, where an order says them.
LEVELS = {
    "levels": ([[0, 1], [2]], []),
    "a confounded level": ([[0, 1], [2]], [0]),
    "levels in a list": ([[0, 1], [2]], [0]),
}


def leveled(levels=(("x0", "x1"), ("x2",)), **more):
    return CausalOrder.from_levels([list(level) for level in levels], **more)


# --- the oracle: nu(S) of a background, and orders ------------------------------------------------------------------


def orders_of(players, graphs):
    """Every order of the players (tuples of features) with its weight; a graph's weight is shared by its orders."""
    found = []
    total = sum(weight for _, weight in graphs)
    for edges, weight in graphs:
        owner = {name: k for k, members in enumerate(players) for name in members}
        before = {(owner[a], owner[b]) for a, b in edges if owner[a] != owner[b]}
        own = [
            o for o in itertools.permutations(range(len(players))) if all(o.index(a) < o.index(b) for a, b in before)
        ]
        found += [([players[k] for k in order], weight / total / len(own)) for order in own]
    return found


def meant(natural, values, levels):
    """The background that ``values`` makes of another one; None where nothing says what it would be."""
    if values == "marginal" and not hasattr(natural, "masked_inputs"):
        return natural.cut_loose() if isinstance(natural, CutLoose) else None
    if values != "causal":
        return natural
    own = natural.intervened() if isinstance(natural, KnowsInterventions) else None
    return own if own is not None or levels is None else by_levels(natural, *levels)


@dataclass
class Game:
    """nu(S) of one row of rows under a background, each with a standard error."""

    background: Any
    model: Any
    table: Any
    link: Any = None

    def __post_init__(self):
        self.rows = self.background.read(self.table)
        self.known, self.spread = {}, 0.0

    def predict(self, rows):
        inputs = as_table(self.background, rows) if isinstance(self.background, FiniteStates) else None
        inputs = self.background.inputs(rows) if inputs is None else inputs
        answers = getattr(self.model, "predict", self.model)(inputs)
        return np.asarray(answers, dtype=float).reshape(len(rows), -1)

    def nu(self, row, members, shown=()):
        key = row, frozenset(members), frozenset(shown)
        if key not in self.known:
            value, error = self.compute(*key)
            self.known[key] = (value if self.link is None else self.link(value)), error
        return self.known[key]

    def compute(self, row, members, shown):
        background, places = self.background, [FEATURES.index(name) for name in [*members, *shown]]
        evidence = np.array(self.rows[row : row + 1])
        free = np.setdiff1d(np.arange(len(FEATURES)), places)
        if hasattr(background, "ground") and background.ground() is None:
            trees = [from_scikit_learn(one) for one in self.model[-1].estimators_]
            return np.mean([cover_value(tree, self.rows[row], set(places)) for tree in trees], axis=0), 0.0
        if hasattr(background, "masked_inputs"):
            coalition = np.isin(np.arange(len(FEATURES)), places)
            inputs, _ = background.masked_inputs(coalition[None], self.rows[row])
            return self.predict(inputs).mean(axis=0), 0.0
        for name in shown:
            background = background.showing(FEATURES.index(name))
        evidence[:, free] = background.free
        if isinstance(background, JointTable | IntervenedJoint) and not shown:
            held = np.isin(np.arange(len(FEATURES)), places)
            whole = isinstance(background, JointTable)
            joint = background.feature_joint() if whole else background.intervened_joint(held)
            joint = np.broadcast_to(joint, background.cardinalities)  # of what is set nothing may depend
            states = np.array(list(itertools.product(*map(range, joint.shape))))
            agree = np.all((states == evidence) | (evidence == background.free), axis=1)
            weights = joint.reshape(-1)[agree]
            return weights @ self.predict(states[agree].astype(evidence.dtype)) / weights.sum(), 0.0
        if isinstance(background, WeightedRows):
            rows, weights = background.weighted(evidence)
            return weights[0] @ self.predict(rows[0]), 0.0
        n_draws = 2_000 if isinstance(background, LevelByLevel) else 20_000  # there each draw is a question
        numbers = np.random.default_rng(7).random((n_draws, background.n_uniforms))
        answers = self.predict(background.draws(evidence, numbers)[0])
        self.spread = max(self.spread, answers.std(axis=0).max())
        return answers.mean(axis=0), answers.std(axis=0).max() / np.sqrt(n_draws)

    def starts_from(self, mean):
        """What nu of nothing is said to be."""
        self.known.update({(row, frozenset(), frozenset()): (mean, 0.0) for row in range(len(self.rows))})

    def error(self):
        """The largest standard error of all that was looked at."""
        return max((error for _, error in self.known.values()), default=0.0)

    def phi(self, row, players, orders):
        """(p, k) by the definition."""
        total = dict.fromkeys(players, 0.0)
        for order, weight in orders:
            before = ()
            for members in order:
                step = self.nu(row, (*before, *members))[0] - self.nu(row, before)[0]
                total[members] = total[members] + weight * step
                before = (*before, *members)
        return np.stack([total[members] for members in players])


# --- a cell ---------------------------------------------------------------------------------------------------------


class Cell:
    """An explainer and its definition."""

    def __init__(self, case):
        self.case, self.kind = case, BY_NAME[case.background]
        self.players = [("x0", "x1"), ("x2",)] if case.groups else [(name,) for name in FEATURES]
        self.table = example_table(self.kind, 12, seed=case.seed % 5)[:N_ROWS]
        self.form = any_form(self.kind)
        self.model = model_for(self.form, self.kind)

    def explainer(self, **changes):
        told = {"seed": self.case.seed % 1000, "n_draws": N_DRAWS, "feature_names": list(FEATURES), "silent": True}
        told |= {"values": self.case.values, "groups": PAIR if self.case.groups else None}
        told |= ORDERS[self.case.order][0]()
        if self.case.link is not None:
            told |= {"link": self.case.link, "linearize_link": False}
        if self.case.order == "explicit orders":
            names = ["pair", "x2"] if self.case.groups else list(FEATURES)
            told |= {"causal_graph": [(list(pairwise(names)), 1), (list(pairwise(names[::-1])), 3)]}
        return AsymmetricExplainer(self.model, self.kind.example(), **{**told, **changes})

    def natural(self, explainer):
        return explainer._distribution.background(FEATURES)

    def game(self, explainer, values=None, levels=None):
        values = explainer.values if values is None else values
        background = meant(self.natural(explainer), values, levels or LEVELS.get(self.case.order))
        assert background is not None, "no definition: this had to be refused"
        return Game(background, self.model, self.table, self.case.link)

    def orders(self, explainer):
        if self.case.order == "explicit orders":
            return [(self.players, 0.25), (self.players[::-1], 0.75)]
        graphs = ORDERS[self.case.order][1]
        if graphs is None:
            graph = self.natural(explainer).graph
            pairs = itertools.permutations(FEATURES, 2) if graph is not None else ()
            graphs = [([(a, b) for a, b in pairs if nx.has_path(graph, a, b)], 1.0)]
        return orders_of(self.players, graphs)

    def every_order(self):
        return orders_of(self.players, [([], 1.0)])

    def agree(self, values, game, orders, error_std=None):
        """Values (r, p) or (r, p, k) with their errors, against the definition with its own."""
        expected = np.stack([game.phi(row, self.players, orders) for row in range(N_ROWS)])
        close(values, expected, error_std, 2 * game.error())


def close(found, expected, error_std, own_error):
    expected = np.asarray(expected)
    found = np.asarray(found).reshape(expected.shape)
    error = np.zeros(expected.shape) if np.ndim(error_std) == 0 else np.asarray(error_std).reshape(expected.shape)
    scale = 1e-7 * max(1.0, float(np.abs(expected).max()))
    far = np.abs(found - expected) - FAR * np.hypot(error, own_error) - scale
    assert (far <= 0).all(), f"off by {np.abs(found - expected).max():.4g}, {far.max():.3g} past what errors allow"


# --- questions ------------------------------------------------------------------------------------------------------


def call(cell, explainer):
    found = explainer(cell.table, silent=True)
    game = cell.game(explainer)
    cell.agree(found.values, game, cell.orders(explainer), found.error_std)
    base = np.stack([game.nu(row, ())[0] for row in range(N_ROWS)])
    close(found.base_values, base, None, spread_of(game))


def symmetric(cell, explainer):
    found = explainer.symmetric()(cell.table, silent=True)
    cell.agree(found.values, cell.game(explainer), cell.every_order(), found.error_std)


def main_effects(cell, explainer):
    found = explainer(cell.table, main_effects=True, silent=True)
    game = cell.game(explainer)
    expected = [[game.nu(r, m)[0] - game.nu(r, ())[0] for m in cell.players] for r in range(N_ROWS)]
    close(found.main_effects, expected, None, spread_of(game))


def spread_of(game):
    """The error of a mean of the explainer's own draws, where there are any, and of the oracle's."""
    return np.hypot(game.error(), game.spread / np.sqrt(N_DRAWS))


def compare(cell, explainer):
    methods = ["SHAP", "ASV", "causal SHAP", "causal ASV", "marginal SHAP", "marginal ASV", "conditional ASV"]
    result = None
    for name in [None, methods[cell.case.seed % len(methods)]]:
        result = explainer.compare(cell.table, methods=None if name is None else [name], silent=True)
        for label, found in result.explanations.items():
            if "cannot condition on every set" in result.backgrounds[label]:
                continue  # a fit of its own, see there
            word = label.split()[0] if " " in label else None
            natural_word = "marginal" if hasattr(cell.natural(explainer), "masked_inputs") else "conditional"
            values = natural_word if word is None else word
            if (values == "conditional" and natural_word == "marginal") or values == "causal" != explainer.values:
                continue  # fitted to the table for another meaning
            one_fit = isinstance(explainer.masker, StructuralModel) and values != "marginal"
            if explainer._table is not None and values != explainer.values and not one_fit:
                continue  # shap's own, of the rows of the table, or a fit of its own
            game = cell.game(explainer, values)
            if explainer._table is not None and cell.case.link is None:  # all start from the mean over the table
                game.starts_from(game.predict(game.background.read(explainer._table)).mean(axis=0))
            orders = cell.orders(explainer) if label.endswith("ASV") else cell.every_order()
            cell.agree(found.values, game, orders, found.error_std)


def importance(cell, explainer):
    y = np.random.default_rng(cell.case.seed).normal(size=N_ROWS)

    def squares(predictions, targets):
        return ((np.asarray(predictions).reshape(len(targets), -1) - targets[:, None]) ** 2).sum(axis=1)

    found = explainer.importance(cell.table, y, loss=squares, n_bootstrap=5, silent=True)
    game, orders = cell.game(explainer), cell.orders(explainer)
    expected = dict.fromkeys(cell.players, 0.0)
    for row, (order, weight) in itertools.product(range(N_ROWS), orders):
        before = ()
        for members in order:
            losses = [((game.nu(row, s)[0] - y[row]) ** 2).sum() for s in (before, (*before, *members))]
            expected[members] += weight * (losses[0] - losses[1]) / N_ROWS
            before = (*before, *members)
    far = max(np.abs(value - y[row]).sum() for (row, _, _), (value, _) in game.known.items())
    off = FAR * spread_of(game)
    close(found.values, list(expected.values()), None, 2 * off * (far + off) / FAR)


def effects(cell, explainer):
    direct, indirect = explainer.effects(cell.table, silent=True)
    game, orders = cell.game(explainer), cell.orders(explainer)
    assert explainer.values == "causal", "effects are parts of causal values"
    expected = []
    for row in range(N_ROWS):
        total = dict.fromkeys(cell.players, 0.0)
        for order, weight in orders:
            before = ()
            for members in order:
                step = game.nu(row, before, members)[0] - game.nu(row, before)[0]
                total[members] = total[members] + weight * step
                before = (*before, *members)
        expected.append(list(total.values()))
    close(direct.values, expected, direct.error_std, 2 * game.error())
    cell.agree(direct.values + indirect.values, game, orders, indirect.error_std)


def sensitivity(cell, explainer):
    graphs = [(digraph(*CHAIN), CHAIN, None), (digraph(*BACK), BACK, None)]
    natural = cell.natural(explainer)
    if explainer.values == "causal" and meant(natural, "causal", None) is None:
        split, joint = [["x2"], ["x0", "x1"]], [["x0", "x1"], ["x2"]]
        graphs = [
            (leveled(split), BACK, ([[2], [0, 1]], [])),
            (leveled(joint, confounded=[0]), LEVELED, ([[0, 1], [2]], [0])),
        ]
    result = explainer.sensitivity(cell.table, [graph for graph, _, _ in graphs], silent=True)
    if any(note.startswith("over:") for note in result.notes):
        return  # a fit of its own, said in the result
    for k, (graph, edges, levels) in enumerate(graphs):
        own = explainer
        if explainer.values == "causal" and explainer._table is not None:
            own = cell.explainer(causal_graph=graph)
        game = cell.game(own, levels=levels)
        error = None if result.error_std is None else result.error_std[k]
        cell.agree(result.values[k], game, orders_of(cell.players, [(edges, 1.0)]), error)
    if result.reference is not None and explainer._table is None:
        # of the same draws as the others
        error = None if result.error_std is None else np.max(result.error_std, axis=0)
        cell.agree(result.reference, cell.game(explainer), cell.orders(explainer), error)


def bootstrap(cell, explainer):
    """Each replica is what its own fit says; their deviation is the standard error."""
    replicas, derived = [], AsymmetricExplainer._derived

    def kept(self, **changes):
        replicas.append(derived(self, **changes))
        return replicas[-1]

    with mock.patch.object(AsymmetricExplainer, "_derived", kept):
        result = explainer.bootstrap(cell.table, n=3, silent=True)
    assert hasattr(cell.kind.example(), "iloc"), "there was no table to resample"
    assert len(replicas) == len(result.replicas) == 3
    for replica, values in zip(replicas, result.replicas, strict=True):
        found = replica(cell.table, silent=True)
        np.testing.assert_array_equal(found.values, values)
        cell.agree(values, cell.game(replica, explainer.values), cell.orders(explainer), found.error_std)
    close(result.standard_error, np.std(result.replicas, axis=0, ddof=1), None, 0.0)


def score(cell, explainer):
    """``score_background`` asks the same background outside of an explainer: what is expected given what is known."""
    graph = explainer.causal_order
    if cell.case.groups or cell.case.link or graph is None or explainer.values not in ("auto", "conditional"):
        raise ShapAsvError("scores are of features, orders of a graph, conditional values of the model itself")
    natural = cell.natural(explainer)
    table = example_table(cell.kind, 40, seed=1)
    found = score_background(explainer.masker, cell.model, table, graph, n_draws=N_DRAWS, feature_names=FEATURES)
    game = Game(natural, cell.model, table)
    outputs = game.predict(game.rows)
    weights = {}
    for order, weight in cell.orders(explainer):
        for size in range(1, len(FEATURES)):
            members = frozenset(name for player in order[:size] for name in player)
            weights[members] = weights.get(members, 0.0) + weight / (len(FEATURES) - 1)
    units = np.var(cell_outputs(cell, table), axis=0) if outputs.shape[1] > 1 else np.ones(1)
    losses = [
        sum(w * (((outputs[r] - game.nu(r, m)[0]) ** 2) / units).sum() for m, w in weights.items())
        for r in range(len(outputs))
    ]
    ratio = float(found["score"].iloc[0] / max(np.mean(losses), 1e-12))
    assert np.mean(losses) < 1e-9 or 0.5 < ratio < 2.0, ratio


def cell_outputs(cell, table):
    return np.asarray(getattr(cell.model, "predict", cell.model)(table)).reshape(len(table), -1)


#: Public methods of the explainer, and what else is asked of one, to their definitions.
QUESTIONS = {
    "__call__": call,
    "symmetric": symmetric,
    "main_effects": main_effects,
    "compare": compare,
    "importance": importance,
    "effects": effects,
    "sensitivity": sensitivity,
    "bootstrap": bootstrap,
    "score_background": score,
}
#: They answer with what ``__call__`` says, or with no values at all.
OTHERS = {"plan", "causal_order", "shap_values", "expected_value", "save", "load"}
OTHERS |= {"shap_interaction_values"}  # which refuses
ASKED = {name for name in dir(AsymmetricExplainer) if not name.startswith("_")} - set(dir(shap.Explainer))

CHOICES = {
    "background": (*BY_NAME, *["background rows"] * 2),  # tables, to which something is fitted, more often
    "values": VALUES,
    "order": tuple(ORDERS),
    "groups": (False, False, True),
    "link": (None, None, np.arcsinh),  # its slope is at most 1: errors of nu are no larger behind it
    "ask": (*QUESTIONS, *sorted(ASKED - set(QUESTIONS) - OTHERS)),
}


def outcome(case: SimpleNamespace) -> str:
    """ "holds", or the sentence of the refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShapAsvWarning)
        try:
            cell = Cell(case)
            QUESTIONS[case.ask](cell, cell.explainer())
        except ShapAsvError as refusal:
            text = str(refusal)
            assert text, "a refusal without a reason"
            assert "\n" not in text, f"a refusal in several lines: {text[:300]}"
            return text
    return "holds"


def cells() -> Iterator[SimpleNamespace]:
    """Every cell once."""
    words = {name: tuple(dict.fromkeys(choice)) for name, choice in CHOICES.items()}
    for seed, chosen in enumerate(itertools.product(*words.values())):
        yield SimpleNamespace(seed=seed, **dict(zip(words, chosen, strict=True)))


def check(case: SimpleNamespace) -> None:
    outcome(case)


MATRIX = Kind(
    "questions",
    2,
    CHOICES,
    check,
    "Each question of an explainer (values, symmetric values, main effects, comparisons, importance, direct effects, "
    "sensitivity, bootstrap, scores) of each kind of background under each meaning of nu(S), for graphs, levels, "
    "orders and lists of them, with groups and without, behind a link and without: what is answered is the mean over "
    "all orders of nu(S) as the background itself gives it, and what is refused has its reason in one sentence.",
)
