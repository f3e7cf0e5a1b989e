"""Problems with known attributions: their files are as they were made, their generators make them again, and the
scorer tells a right answer from a wrong one.
"""

import ast
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.truth.__main__ import main
from benchmarks.truth.check import second
from benchmarks.truth.games import predecessors, weights_by_permutations, weights_of
from benchmarks.truth.make import checksums, make
from benchmarks.truth.page import PAGE, filled
from benchmarks.truth.peers.registry import PEERS, keep, read_record, run, runs
from benchmarks.truth.reading import HERE, TruthError, names, read, read_json, read_values, write_values
from benchmarks.truth.score import score, score_file
from benchmarks.truth.worlds import names_in


def test_files_are_those_of_the_manifest():
    told = read_json(HERE / "manifest.json")
    assert told["sha256"] == checksums()
    assert names() == told["problems"]


def test_the_generators_import_nothing_of_ours():
    ours = [path for path in HERE.rglob("*.py") if path.name != "run_shap_asv.py"]
    assert len(ours) > 5
    for path in ours:
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not any(module.split(".")[0] in ("shap_asv", "tests") for module in modules), path


def test_a_problem_is_made_again(tmp_path):
    """Up to the last of eight digits: libraries of linear algebra round as they like."""
    name = "linear_gaussian"
    problem = read(name)
    (tmp_path / name).mkdir()
    for file in ("problem.json", "distribution.json", "graph.json", problem.model_file.name):
        shutil.copy(problem.folder / file, tmp_path / name)
    make(name, tmp_path)
    again = read(name, tmp_path)
    assert again.about.keys() == problem.about.keys()
    np.testing.assert_array_equal(again.train, problem.train)
    np.testing.assert_array_equal(again.explain, problem.explain)
    for kind in problem.about["kinds"]:
        np.testing.assert_allclose(again.truth(kind), problem.truth(kind), rtol=2e-7, atol=1e-12)


def edges_of(world):
    """Cause and effect by the equations or tables of a distribution."""
    for name, how in world["nodes"].items():
        if world["kind"] == "network":
            yield from ((cause, name) for cause in how["parents"])
        else:
            texts = how.get("logits", [how.get("location"), how.get("scale")])
            yield from {(cause, name) for text in texts for cause in names_in(text)}


@pytest.mark.parametrize("name", names())
def test_graphs_say_what_the_distribution_does(name):
    problem = read(name)
    hidden = problem.distribution.get("hidden", [])
    edges = {(a, b) for a, b in edges_of(problem.distribution) if a not in hidden}
    assert {b for _, b in edges} <= {*problem.features, *hidden}
    edges |= {(a, c) for a, b in edges for d, c in edges_of(problem.distribution) if b in hidden and d == b}
    edges = {(a, b) for a, b in edges if b not in hidden}
    told = {tuple(edge) for edge in problem.graph.get("edges", [])}
    if problem.graph["orders"] == "dag":
        assert told == edges
    elif problem.graph["orders"] == "partial":
        assert told < edges
    else:
        level = {name: k for k, names in enumerate(problem.graph["levels"]) for name in names}
        assert set(level) == set(problem.features)
        assert all(level[a] < level[b] for a, b in edges)


@pytest.mark.parametrize("kind", ["marginal", "conditional", "causal", "asymmetric"])
def test_a_second_method_agrees(kind):
    problem = read("linear_gaussian")
    phi, _ = second(problem, kind)
    assert (np.abs(phi - problem.truth(kind)[: len(phi)]) <= problem.truth(kind, "error")[: len(phi)]).all()


@pytest.mark.parametrize("name", names())
def test_the_truth_adds_up_and_scores_nothing(name):
    problem = read(name)
    predictions = read_values(problem.folder / "predictions.csv", ["prediction"], len(problem.explain))[:, 0]
    np.testing.assert_allclose(problem.predict()(problem.explain), predictions, rtol=1e-5)
    for kind in problem.about["kinds"]:
        truth = problem.truth(kind)
        perfect = score(truth, problem, kind)
        assert perfect.relative == perfect.largest == 0
        assert perfect.gap < 1e-5
        away = score(truth + 0.5 * np.abs(truth).mean(), problem, kind)
        assert away.relative == pytest.approx(0.5) == away.largest
        assert away.floor < 0.01


@pytest.mark.parametrize(
    "graph",
    [
        {"orders": "dag", "edges": [["a", "b"], ["b", "d"], ["c", "d"]]},
        {"orders": "levels", "levels": [["c", "b"], ["a", "d", "e"]]},
        {"orders": "partial", "edges": []},
    ],
    ids=lambda graph: graph["orders"],
)
def test_orders_counted_are_orders_listed(graph):
    before = predecessors(graph, list("abcde"))
    counted, listed = weights_of(before), weights_by_permutations(before)
    assert counted[0] == listed[0]
    np.testing.assert_allclose(counted[1], listed[1], rtol=0, atol=1e-15)


def test_a_file_is_scored(tmp_path, capsys):
    problem = read("network")
    truth = problem.truth("causal")
    write_values(tmp_path / "values.csv", problem.features[::-1], 1.1 * truth[:, ::-1])
    assert score_file(tmp_path / "values.csv", problem, "causal").relative == pytest.approx(0.1)
    assert main(["score", str(tmp_path / "values.csv"), "--problem", "network", "--kind", "causal"]) == 0
    assert "relative error  0.1 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,x0\n0,1\n", "no column x1, x2"),
        ("row,x0,x1,x2,x3,x4\n0,1,2,3,4,nan\n", "lacks the rows"),
        ("row,x0,x1,x2,x3,x4\n99,1,2,3,4,5\n", "row 99"),
        ("row,x0,x1,x2,x3,x4\n0,1,2,3,4,much\n", "not a number"),
        ("row,x0,x1,x2,x3,x4\n", "has no rows"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(text, message, tmp_path):
    (tmp_path / "values.csv").write_text(text)
    with pytest.raises(TruthError, match=message):
        score_file(tmp_path / "values.csv", read("hidden_cause"), "marginal")


def test_peers_are_run_and_kept(tmp_path):
    """shap stands here for any package: its module, its row, a record that replaces what it had."""
    peer = next(peer for peer in PEERS if peer.name == "shap")
    problem, kind, way = runs(peer, ["confounded_level"])[0]
    row = run(peer, way, sys.executable, problem, kind)
    assert float(row["relative"]) < 0.1
    other = {**row, "way": "another", "relative": "0.5"}
    keep([row, other], tmp_path / "scores.csv")
    keep([{**row, "relative": "0.25"}], tmp_path / "scores.csv")
    assert {one["way"]: one["relative"] for one in read_record(tmp_path / "scores.csv")} == {
        "another": "0.5",
        way.name: "0.25",
    }
    failed = run(replace(peer, module="benchmarks.truth.peers.run_nothing"), way, sys.executable, problem, kind)
    assert "run_nothing" in failed["remark"]


def test_what_is_absent_is_refused_with_the_reason(tmp_path, capsys):
    assert main(["score", str(tmp_path / "none.csv"), "--problem", "hidden_cause", "--kind", "causal"]) == 2
    assert "not identified" in capsys.readouterr().err


def test_the_page_is_made_of_the_files():
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text) == text
