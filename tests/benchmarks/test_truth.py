"""Problems with known attributions: their files are as they were made, their generators make them again, and the
scorer tells a right answer from a wrong one.
"""

import ast
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.truth.__main__ import main
from benchmarks.truth.check import second
from benchmarks.truth.games import predecessors, weights_by_permutations, weights_of
from benchmarks.truth.make import checksums, make
from benchmarks.truth.page import PAGE, filled
from benchmarks.truth.problems import SPECS
from benchmarks.truth.reading import HERE, TruthError, names, read, read_json, read_values, write_values
from benchmarks.truth.score import score, score_file


def test_files_are_those_of_the_manifest():
    told = read_json(HERE / "manifest.json")
    assert told["sha256"] == checksums()
    assert sorted(SPECS) == names() == told["problems"]


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
    shutil.copy(problem.model_file, tmp_path / name)
    make(name, tmp_path)
    again = read(name, tmp_path)
    assert again.about.keys() == problem.about.keys()
    np.testing.assert_array_equal(again.train, problem.train)
    np.testing.assert_array_equal(again.explain, problem.explain)
    for kind in problem.about["kinds"]:
        np.testing.assert_allclose(again.truth(kind), problem.truth(kind), rtol=2e-7, atol=1e-12)


@pytest.mark.parametrize("kind", ["marginal", "conditional", "causal", "asymmetric"])
def test_a_second_method_agrees(kind):
    problem = read("linear_gaussian")
    phi, _ = second(SPECS["linear_gaussian"], problem, kind)
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
        assert perfect.gap < 3e-6
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


def test_what_is_absent_is_refused_with_the_reason(tmp_path, capsys):
    assert main(["score", str(tmp_path / "none.csv"), "--problem", "hidden_cause", "--kind", "causal"]) == 2
    assert "not identified" in capsys.readouterr().err


def test_the_page_is_made_of_the_files():
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text) == text
    assert all(Path(HERE / "problems" / name).is_dir() and f"`{name}`" in text for name in SPECS)
