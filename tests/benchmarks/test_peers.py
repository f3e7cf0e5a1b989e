"""The peers' side of the benchmarks: files, references, runners, environments, and that a peer's win is said."""

import json
import subprocess
import sys
import types

import numpy as np
import pytest

from benchmarks.peers import comparison, environments, run_causasv, run_naive, run_ours, run_pyagrum, run_shap
from benchmarks.peers.comparison import Outcome, claims, notes, table_row
from benchmarks.peers.environments import ENVIRONMENTS, Environment, Missing, last_error, prepare
from benchmarks.peers.exchange import Answer, Problem, TreeModel, measure
from benchmarks.peers.reference import exact_marginal, exact_network, lattice
from benchmarks.peers.tasks import OURS, Participant, Task, network_problem, posterior_tables, with_tree
from tests.oracles import brute_force


@pytest.fixture(scope="module")
def cancer():
    """A decision tree on the network cancer without its leaf Dyspnoea, and a background."""
    problem, sample = network_problem("cancer", "Dyspnoea", 3)
    problem.background = sample[:4, problem.features]
    return with_tree(problem, sample)


def oracle(problem, edges=None):
    """The definition: all orders times the full joint."""
    cards = [table.shape[0] for table in problem.tables]
    joint = brute_force.joint_table(cards, problem.parents, problem.tables)
    p = brute_force.feature_joint(joint, problem.features)
    m = brute_force.model_table(TreeModel(problem.tree), p.shape)
    orders = brute_force.topological_orders(len(problem.features), problem.edges if edges is None else edges)
    return np.array([brute_force.asv_from_orders(p, m, row, orders)[:, 0] for row in problem.rows])


def test_the_reference_is_the_definition(cancer):
    assert np.allclose(exact_network(cancer), oracle(cancer), atol=1e-12)
    assert lattice(4, cancer.edges).n_orders == len(brute_force.topological_orders(4, cancer.edges))


def test_the_marginal_reference_is_the_definition(cancer):
    model, phi = TreeModel(cancer.tree), np.zeros(cancer.rows.shape)
    orders = brute_force.topological_orders(4, cancer.edges)
    for r, row in enumerate(cancer.rows):
        for order in orders:
            inputs = cancer.background.copy()
            for feature in order:
                before = model(inputs).mean()
                inputs[:, feature] = row[feature]
                phi[r, feature] += (model(inputs).mean() - before) / len(orders)
    assert np.allclose(exact_marginal(cancer), phi, atol=1e-12)


def test_the_tree_predicts_and_counts(cancer):
    model = TreeModel(cancer.tree)
    assert np.array_equal(model(cancer.rows), cancer.fitted.predict(cancer.rows))
    assert (model.calls, model.evaluated) == (1, len(cancer.rows))


def test_a_problem_survives_its_files(cancer, tmp_path):
    cancer.write(tmp_path)
    back = Problem.read(tmp_path)
    assert (back.names, back.parents, back.features) == (cancer.names, cancer.parents, cancer.features)
    assert back.edges == cancer.edges
    assert np.array_equal(back.rows, cancer.rows)
    assert np.array_equal(back.background, cancer.background)
    assert all(np.array_equal(a, b) for a, b in zip(back.tables, cancer.tables, strict=True))
    assert np.array_equal(back.model()(cancer.rows), cancer.model()(cancer.rows))


@pytest.mark.parametrize("memory", ["none", "values", "sets"])
def test_the_baseline_is_exact(memory, cancer, tmp_path):
    answer = run_naive.run(tmp_path, cancer, {"memory": memory, "rounds": 1})
    assert np.allclose(answer.values, oracle(cancer), atol=1e-9)
    assert answer.calls > 0


def test_the_baseline_remembers(cancer, tmp_path):
    calls = {
        memory: run_naive.run(tmp_path, cancer, {"memory": memory, "rounds": 1}).calls for memory in ("none", "values")
    }
    assert calls["values"] < calls["none"]


def test_the_baseline_extrapolates(cancer, tmp_path):
    answer = run_naive.run(tmp_path, cancer, {"memory": "none", "rounds": 1, "first": 2})
    assert answer.values is None
    assert answer.extrapolated.startswith("extrapolated from 2 of")
    assert answer.wall[0] > 0
    assert answer.calls is None
    assert answer.uncounted == "the work was only begun"


def test_given_values_are_weighed(cancer, tmp_path):
    sets = run_naive.run(tmp_path, cancer, {"memory": "sets", "rounds": 1})
    given = Problem(
        **{**vars(cancer), "extra": {"nu": np.array(sets.nu), "members": lattice(4, cancer.edges).members()}}
    )
    answer = run_ours.run(tmp_path, given, {"work": "weights", "rounds": 1})
    assert np.allclose(answer.values, oracle(cancer), atol=1e-9)


class Graph:
    """Stands in for causasv's graph; like it, it takes compact text only."""

    def __init__(self, text):
        assert ", " not in text
        self.content = json.loads(text)

    from_json = classmethod(lambda cls, text: cls(text))

    def nodes(self):
        return self.content["nodes"]

    def edges(self):
        return self.content["edges"]


class ASVExplainer:
    """Stands in for causasv's explainer: the definition, with the value function that it is given."""

    def __init__(self, graph):
        self.names = graph.nodes()
        self.order_edges = [(self.names.index(e["from"]), self.names.index(e["to"])) for e in graph.edges()]

    def explain_with_diagnostics(self, value_fn, method, n_samples, seed):
        orders = brute_force.topological_orders(len(self.names), self.order_edges)
        values = dict.fromkeys(self.names, 0.0)
        for order in orders:
            for k, feature in enumerate(order):
                before, after = ([self.names[i] for i in order[:j]] for j in (k, k + 1))
                values[self.names[feature]] += (value_fn(sorted(after)) - value_fn(sorted(before))) / len(orders)
        return {"values": values, "selected_method": "stand-in", "is_exact": True}


@pytest.fixture
def stand_in(monkeypatch):
    module = types.SimpleNamespace(CausalDAG=Graph, ASVExplainer=ASVExplainer)
    monkeypatch.setitem(sys.modules, "causasv", module)
    monkeypatch.setattr(run_causasv, "version", lambda name: "0")


@pytest.mark.parametrize("values", ["joint", "given"])
def test_causasv_gets_our_values(values, cancer, tmp_path, stand_in):
    sets = lattice(4, cancer.edges)
    nu = run_naive.run(tmp_path, cancer, {"memory": "sets", "rounds": 1}).nu
    problem = Problem(**{**vars(cancer), "extra": {"nu": np.array(nu), "members": sets.members()}})
    answer = run_causasv.run(tmp_path, problem, {"values": values, "rounds": 1})
    assert np.allclose(answer.values, oracle(cancer), atol=1e-9)
    assert answer.note == "chose stand-in, exact"


class Potential:
    """Stands in for pyAgrum's tables: the node first among the names, filled with the first name fastest."""

    def __init__(self, names, cards):
        self.names, self.cards = names, cards

    def fillWith(self, values):
        self.array = np.array(values).reshape(self.cards[::-1]).T


class BayesNet:
    """Stands in for pyAgrum's network; arcs come last first among the names of a table."""

    def __init__(self, name):
        self.cards, self.causes, self.tables = {}, {}, {}

    def add(self, variable):
        self.cards[variable.name], self.causes[variable.name] = variable.card, []

    def addArc(self, cause, effect):
        self.causes[effect].insert(0, cause)

    def cpt(self, name):
        names = (name, *self.causes[name])
        return self.tables.setdefault(name, Potential(names, [self.cards[node] for node in names]))

    def joint(self):
        """One axis per node, in the order in which they were added."""
        place = {name: axis for axis, name in enumerate(self.cards)}
        operands = [part for t in self.tables.values() for part in (t.array, [place[name] for name in t.names])]
        return np.einsum(*operands, list(range(len(place))))


class ShapValues:
    """Stands in for pyAgrum's explainers: Shapley values of P(target = 1 | x_S), rows sorted, none twice."""

    def __init__(self, network, target, background=None, logit=True):
        assert not logit
        names = list(network.cards)
        if background is not None:
            assert list(background[0].columns) == names
        both = np.moveaxis(network.joint(), names.index(target), 0)
        self.p, self.names = both.sum(axis=0), [name for name in names if name != target]
        self.posterior = both[1] / self.p

    def compute(self, data):
        self.data = np.unique(data[0][self.names[::-1]].to_numpy(), axis=0)
        self.feature_names = self.names[::-1]
        orders = brute_force.topological_orders(len(self.names), [])
        phi = [
            brute_force.asv_from_orders(self.p, self.posterior[..., None], row[::-1], orders)[:, 0] for row in self.data
        ]
        self.values = dict(zip(self.names, np.array(phi).T, strict=True))
        return self

    def __getitem__(self, state):
        assert state == 1
        return self.values


@pytest.mark.parametrize("kind", ["conditional", "causal"])
def test_pyagrum_gets_our_network(kind, tmp_path, monkeypatch):
    explain = types.ModuleType("pyagrum.explain")
    explain.ConditionalShapValues = explain.CausalShapValues = ShapValues
    variable = lambda name, text, card: types.SimpleNamespace(name=name, card=card)  # noqa: E731
    module = types.SimpleNamespace(
        setNumberOfThreads=lambda n: None,
        BayesNet=BayesNet,
        LabelizedVariable=variable,
        explain=explain,
        __version__="0",
        __path__=[],
    )
    monkeypatch.setitem(sys.modules, "pyagrum", module)
    monkeypatch.setitem(sys.modules, "pyagrum.explain", explain)
    problem, sample = network_problem("cancer", "Dyspnoea", 4)
    problem.edges = []
    problem.rows = problem.rows[[3, 0, 1, 0, 2]]  # neither sorted nor all different
    problem.extra.update(posterior_tables(problem), sample=sample[:5])
    answer = run_pyagrum.run(tmp_path, problem, {"kind": kind, "rounds": 1})
    assert np.allclose(answer.values, exact_network(problem), atol=1e-12)
    assert np.abs(answer.values).max() > 0.01
    assert answer.calls is None
    assert answer.uncounted == "the network is the model"


@pytest.fixture
def uncompiled(monkeypatch):
    """shap's own functions as plain Python: compiling them takes longer than a small problem.

    Its link functions stay what they are, for they are told apart by identity.
    """
    import shap  # noqa: F401

    modules = [module for name, module in sys.modules.items() if name.startswith("shap.")]
    for module in modules:
        for name, function in list(vars(module).items()):
            if hasattr(function, "py_func") and function.py_func.__module__ != "shap.links":
                monkeypatch.setattr(module, name, function.py_func)


@pytest.mark.parametrize("explainer", ["exact", "permutation"])
def test_shap_explains_a_black_box(explainer, tmp_path, uncompiled):
    problem, sample = network_problem("cancer", "Dyspnoea", 2, 3)
    problem.edges, problem.background = [], sample[:4, problem.features]
    with_tree(problem, sample)
    answer = run_shap.run(tmp_path, problem, {"explainer": explainer, "rounds": 1})
    exact = exact_marginal(problem)
    assert np.abs(exact).max() > 1e-3
    if explainer == "exact":
        assert np.allclose(answer.values, exact, atol=1e-9)
    else:  # sampled orders, forwards and backwards: the sums are exact
        assert np.allclose(np.sum(answer.values, axis=1), exact.sum(axis=1), atol=1e-9)
        assert np.abs(np.array(answer.values) - exact).max() < 0.1 * np.abs(exact).max()
    assert answer.calls > 0


def test_calls_are_those_of_the_last_round(cancer):
    model = TreeModel(cancer.tree)
    answer = measure(lambda: lambda rows: [model(rows)], cancer, 3, model, "0")
    assert (answer.calls, answer.evaluated, len(answer.warm)) == (1, len(cancer.rows), 3)


def test_nothing_is_installed_unasked(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("something was started"))
    missing = prepare(ENVIRONMENTS["causasv"], install=False, cache=tmp_path)
    assert missing == Missing("not installed, and this run installs nothing")
    assert not list(tmp_path.iterdir())


def test_a_missing_python_is_a_reason(tmp_path):
    missing = prepare(Environment("x", ("y",), python="1.4", why="wheels for it alone"), cache=tmp_path)
    assert missing == Missing("there is no Python 1.4 here (wheels for it alone)")


def test_a_failed_installation_is_a_reason(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "looking at https://host/x\nERROR: no wheel at https://host/x\n\n")
    monkeypatch.setattr(environments.subprocess, "run", lambda *a, **k: failed)
    missing = prepare(Environment("x", ("y",)), cache=tmp_path)
    assert missing == Missing("installing it failed: ERROR: no wheel at ...")
    assert last_error("") == "no message"


def test_what_is_installed_is_used(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "installed.txt").write_text("y")
    assert prepare(Environment("x", ("y",)), install=False, cache=tmp_path) == tmp_path / "x" / "bin" / "python"
    assert isinstance(prepare(Environment("x", ("z",)), install=False, cache=tmp_path), Missing)


def made_up(seconds, error=0.0):
    """Our outcome at one second, and a peer's."""
    task = Task("work", "Some work", lambda: None, (), None)
    mine = Outcome(Participant(OURS, "ours"), Answer("1", 1.0, [1.0], [1.0], [[0.0]]), error=1e-12)
    peer = Outcome(Participant("Peer", "causasv"), Answer("2", 2.0, [seconds], [1.0], [[0.0]]), error=error)
    return task, [mine, peer]


def test_a_peer_that_wins_is_named():
    task, outcomes = made_up(0.25)
    claim = next(claim for claim in claims({"work": outcomes}) if claim.text == "Faster than causasv")
    assert claim.holds is False
    assert any(
        "Where a peer wins" in note and "Peer is 4.0 times as fast: Some work" in note
        for note in notes({"work": outcomes}, [task])
    )
    assert table_row(task, outcomes[1], outcomes)[comparison.COLUMNS.index("times ours")] == 0.25


def test_a_row_has_wall_seconds_and_says_why_calls_are_not_counted():
    task, outcomes = made_up(3.0)
    outcomes[1].answer.wall = [4.0, 5.0, 9.0]
    outcomes[1].answer.uncounted = "the network is the model"
    outcomes[0].answer.calls = 0
    mine, peer = (dict(zip(comparison.COLUMNS, table_row(task, one, outcomes), strict=True)) for one in outcomes)
    assert peer["all rows, wall s"] == 5.0
    assert peer["remark"] == "model calls not counted: the network is the model"
    assert "counted" not in mine["remark"]


def test_a_peer_that_loses_is_not():
    task, outcomes = made_up(3.0)
    claim = next(claim for claim in claims({"work": outcomes}) if claim.text == "Faster than causasv")
    assert claim.holds is True
    assert not any("Where a peer wins" in note for note in notes({"work": outcomes}, [task]))


def test_our_own_error_is_not_hidden():
    _, outcomes = made_up(3.0)
    outcomes[0].error = 1e-3
    assert claims({"work": outcomes})[0].holds is False
