"""What is wrong with files and words is said at once, by name and with the way out, before any heavy import."""

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shap_asv
from shap_asv.__main__ import main
from shap_asv.command.request import RowChoice, read_edges, read_levels, read_rows_choice
from shap_asv.errors import CausalGraphError

TABLE = "age,smoker,tar,ill\n40,yes,1.5,1\n50,no,0.5,0\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "dag.csv").write_text("cause,effect\nage,smoker\nsmoker,tar\ntar,ill\n")
    (tmp_path / "bad.csv").write_text("age,smoker\nsmokr,tar\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "semicolons.csv").write_text("age;smoker\n1;2\n")
    (tmp_path / "twice.csv").write_text("age,age,ill\n1,2,3\n")
    (tmp_path / "model.joblib").write_bytes(b"not a pickle")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--data tabel.csv --target ill --edges dag.csv", "there is no file 'tabel.csv'; did you mean 'table.csv'?"),
        ("--data table.csv --target il --edges dag.csv", "--target: table.csv has no column 'il'; did you mean 'ill'?"),
        ("--data table.csv --target ill --edges nodag.csv", "there is no file 'nodag.csv'; did you mean 'dag.csv'?"),
        ("--data table.csv --target ill --edges bad.csv", "bad.csv: line 2: 'smokr' is not a column of the table; did"),
        ("--data table.csv --target ill --edges empty.csv", "empty.csv has no edges"),
        (
            "--data table.csv --target ill --levels age smokr",
            "--levels: 'smokr' is not a feature; did you mean 'smoker'?",
        ),
        ("--data table.csv --target ill --levels age,tar tar", "'tar' stands in two levels"),
        ("--data table.csv --target ill --levels age", "--levels names one level, which puts nothing before anything"),
        ("--data table.csv --target ill --levels ill", "'ill' is not a feature"),
        ("--data table.csv --target ill --network nowhere", "no network is called 'nowhere'; known: alarm"),
        ("--data table.csv --target ill --network mine.bif", "there is no file 'mine.bif'"),
        ("--data table.csv --target ill --levels age smoker --model none.joblib", "there is no file 'none.joblib'"),
        ("--data table.csv --target ill --levels age smoker --model model.joblib", "say so with --trust-model"),
        ("--data table.csv --target ill --levels age smoker --rows ten", "--rows is a number"),
        ("--data table.csv --target ill --levels age smoker --rows 5:2", "--rows is a number"),
        ("--data table.csv --target ill --levels age smoker --rows other.csv", "there is no file 'other.csv'"),
        ("--data table.csv --target ill --levels age smoker --drop smoke", "--drop: table.csv has no column 'smoke'"),
        ("--data table.csv --target ill --levels age smoker --budget 0", "--budget is a positive number"),
        (
            "--data table.csv --target ill --levels age smoker --out dag.csv",
            "--out is a folder, and 'dag.csv' is a file",
        ),
        ("--data empty.csv --target ill --levels age", "empty.csv is empty"),
        ("--data semicolons.csv --target ill --levels age", "--target: semicolons.csv has no column 'ill'"),
        ("--data table.csv --target ill --levels age --index agee", "--index: table.csv has no column 'agee'; did you"),
        ("--data table.csv --target ill --levels age smoker --rows agee>3", "no column 'agee'; did you mean 'age'?"),
        ("--data twice.csv --target ill --levels age", "has the column 'age' twice"),
        ("--data table.csv --target ill --levels age --drop age,smoker,tar", "no column beside the target 'ill'"),
    ],
)
def test_wrong_words(words, message, files, capsys):
    assert main(["explain", *words.split()]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1  # a sentence, not a traceback


def test_a_wrong_name_is_answered_within_a_second_and_without_heavy_imports(files):
    spy = (
        "import sys, time; from shap_asv.__main__ import main; code = main(sys.argv[1:]); "
        "print([m for m in ('numpy', 'pandas', 'sklearn', 'shap', 'pgmpy', 'matplotlib') if m in sys.modules]); "
        "print(time.process_time()); sys.exit(code)"
    )
    command = [sys.executable, "-c", spy, "explain", "--data", "tabel.csv", "--target", "ill", "--levels", "age"]
    home = {**os.environ, "PYTHONPATH": str(Path(shap_asv.__file__).parents[1])}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=home)
    assert run.returncode == 2
    assert "did you mean 'table.csv'?" in run.stderr
    imported, seconds = run.stdout.split("\n")[:2]
    assert imported == "[]"
    assert float(seconds) < 1  # of the processor: others may keep the machine busy


def test_neither_causes_nor_two_kinds_of_them(files, capsys):
    for words in ("", "--levels age --edges dag.csv"):
        with pytest.raises(SystemExit, match="2"):
            main(["explain", "--data", "table.csv", "--target", "ill", *words.split()])
    assert "--edges --levels --network is required" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "kind", "count", "what"),
    [
        ("7", "random", 7, None),
        ("random:7", "random", 7, None),
        ("random", "random", 100, None),
        ("first:7", "first", 7, None),
        ("held-out", "held-out", 100, None),
        ("all", "all", None, None),
        ("10:20", "places", None, slice(10, 20)),
        ("10:", "places", None, slice(10, None)),
        ("3, 17", "places", None, [3, 17]),
        ("age>=60", "where", 100, ("age", ">=", "60")),
        ("smoker==yes:20", "where", 20, ("smoker", "=", "yes")),
    ],
)
def test_which_rows_are_meant(text, kind, count, what):
    assert read_rows_choice(text, ["age", "smoker"]) == RowChoice(kind, count, what)


def test_edges_with_and_without_a_header(files):
    features = ["age", "smoker", "tar"]
    expected = (("age", "smoker"), ("smoker", "tar"), ("tar", "ill"))
    assert read_edges(files / "dag.csv", features, "ill") == expected
    (files / "plain.csv").write_text("age , smoker\n\nsmoker,tar\ntar,ill\n")
    assert read_edges(files / "plain.csv", features, "ill") == expected
    (files / "one.csv").write_text("age\n")
    with pytest.raises(CausalGraphError, match="line 1"):
        read_edges(files / "one.csv", features, "ill")


@pytest.mark.parametrize(
    ("rest", "levels"),
    [
        ("free", (("tar",), ("age",))),
        ("first", (("smoker",), ("tar",), ("age",))),
        ("last", (("tar",), ("age",), ("smoker",))),
    ],
)
def test_where_columns_stand_that_no_level_names(rest, levels):
    assert read_levels(["tar", "age"], ["age", "smoker", "tar"], rest) == levels


def test_the_command_is_this_function():
    scripts = tomllib.loads((Path(shap_asv.__file__).parents[1] / "pyproject.toml").read_text())["project"]["scripts"]
    module, name = scripts["shap-asv"].split(":")
    assert getattr(import_module(module), name) is main


def test_check_says_whether_a_graph_fits(files, capsys):
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    b = a + rng.normal(size=500)
    table = pd.DataFrame({"a": a, "b": b, "c": b + rng.normal(size=500)})
    table.to_csv(files / "chain.csv", index=False)
    for edges, code, words in (
        ("a,b\nb,c\n", 0, "the graph fits: none of 1 implied independences is contradicted by 500 rows"),
        ("a,b\na,c\n", 1, "the graph does not fit: 500 rows contradict 1 of 1"),
    ):
        (files / "graph.csv").write_text(edges)
        assert main(["check", "--data", "chain.csv", "--edges", "graph.csv"]) == code
        assert words in capsys.readouterr().out
    (files / "graph.csv").write_text("a,b\n")
    assert main(["check", "--data", "chain.csv", "--edges", "graph.csv"]) == 1
    said = "The graph does not name c: independent of all others, or --drop c."
    assert said in capsys.readouterr().out
    assert main(["check", "--data", "chain.csv", "--edges", "graph.csv", "--drop", "c"]) == 0
    assert "does not name" not in capsys.readouterr().out
    table.assign(name=[f"row {k}" for k in range(500)]).drop(columns="c").to_csv(files / "named.csv")
    assert main(["check", "--data", "named.csv", "--edges", "graph.csv"]) == 0
    assert "nearly every row has a text of its own there: name" in capsys.readouterr().out
    assert main(["check", "--data", "chain.csv", "--edges", "graph.csv", "--drop", "d"]) == 2
    assert "--drop: chain.csv has no column 'd'" in capsys.readouterr().err
    assert main(["check", "--data", "chain.csv", "--edges", "dag.csv"]) == 2
    assert "is not a column of the table" in capsys.readouterr().err


def test_help_and_bad_numbers(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["explain", "--help"])
    assert "--trust-model" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["demo", "--rows", "0"])
    assert "must be at least 1" in capsys.readouterr().err
