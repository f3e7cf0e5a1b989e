"""What long runs keep: records with commit and date, and the page that is made of them."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from contextlib import nullcontext
from datetime import date

import pytest

from tests.reliability import engines
from tests.reliability.compatibility import IMPORTS, judge_import
from tests.reliability.records import FOLDER, ROOT, Figure, Record, keep, kept, present_commit
from tests.reliability.report import PAGE, page

RECORD = Record(
    "speed", "Speed of light", "make light", [Figure("speed", "299,792,458 m/s", "some", True)], ["A note."]
)
HAS_GIT = shutil.which("git") is not None  # where it is missing, no commit is named, and nothing else changes


@pytest.fixture
def repository(tmp_path):
    """A folder with a file of code, a test, a record and a page; where there is git, all committed."""
    for name in ("shap_asv/code.py", "tests/test_code.py", FOLDER / "old.json", PAGE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before\n")
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]) if HAS_GIT else ():
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)
    return tmp_path


def test_the_page_is_made_of_the_records():
    """After a change by hand, run python -m tests.reliability.report."""
    assert (ROOT / PAGE).read_text() == page(kept())


RECIPES = dict(
    part.split(":", 1) for part in re.findall(r"^\w+: .*\n(?:\t.*\n)+", (ROOT / "Makefile").read_text(), re.MULTILINE)
)


def keepers() -> set[str]:
    """Modules that keep a record."""
    files = {path: path.read_text() for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")}
    calls = [path for path, text in files.items() if re.search(r"^ +keep\(", text, re.MULTILINE)]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in calls}


def test_whatever_keeps_a_record_is_reached_by_make():
    """A run that no target has is forgotten, and its part of the page grows old."""
    started = {module for recipe in RECIPES.values() for module in re.findall(r"python -m ([\w.]+)", recipe)}
    found = keepers()
    assert len(found) >= 18
    assert found - started == set()


@pytest.mark.parametrize("record", kept(), ids=lambda record: record.name)
def test_the_command_of_a_record_can_be_given(record):
    target = re.fullmatch(r"make (\w+)", record.command)
    module = re.match(r"python -m ([\w.]+)", record.command)
    assert target or module
    assert target[1] in RECIPES if target else module[1] in keepers()


def test_a_run_is_kept_and_reaches_the_page(tmp_path, capsys):
    keep(RECORD, tmp_path)
    (record,) = kept(tmp_path)
    assert (record.figures, record.notes) == (RECORD.figures, RECORD.notes)
    assert abs((date.today() - date.fromisoformat(record.date)).days) <= 1
    text = (tmp_path / PAGE).read_text()
    assert "| speed | 299,792,458 m/s | some | yes |" in text
    assert f"`make light`, taken on {record.date}" in text
    assert "speed: 299,792,458 m/s (asked: some) - holds" in capsys.readouterr().out


def test_a_record_names_its_commit(repository):
    (repository / FOLDER / "old.json").unlink()
    keep(RECORD, repository)
    (record,) = kept(repository)
    assert (len(record.commit) >= 7) if HAS_GIT else (record.commit == "")
    at = f"at {record.commit} " if HAS_GIT else ""
    assert f"taken {at}on {record.date}" in (repository / PAGE).read_text()


@pytest.mark.parametrize(
    ("changed", "dirty"),
    [
        ("shap_asv/code.py", True),
        ("tests/test_code.py", True),
        ("tests/test_new.py", True),
        (FOLDER / "old.json", False),
        (FOLDER / "new.json", False),
        (PAGE, False),
    ],
)
def test_uncommitted_code_is_dirty(changed, dirty, repository):
    clean = present_commit(repository)
    assert bool(clean) == HAS_GIT
    assert not clean.endswith("-dirty")
    (repository / changed).write_text("after\n")
    assert present_commit(repository) == clean + "-dirty" * (dirty and HAS_GIT)


def test_without_git_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert present_commit() == ""


def test_old_records_have_neither_commit_nor_date(tmp_path):
    (tmp_path / FOLDER).mkdir(parents=True)
    old = {"name": "old", "title": "Old", "command": "make old", "figures": [{"what": "a", "value": "b"}]}
    (tmp_path / FOLDER / "old.json").write_text(json.dumps(old))
    (record,) = kept(tmp_path)
    assert (record.commit, record.date) == ("", "")
    assert "\n`make old`\n" in page([record])


@pytest.fixture
def three_engines(monkeypatch):
    """One that is right, one that is not, one that nobody has installed."""

    def wrong_by_a_little(explainer, X):
        return engines.Found(explainer(X, silent=True).values + 1e-9, "a remark")

    found = {
        "here": ("joblib", lambda: nullcontext(engines.explained)),
        "wrong": ("joblib", lambda: nullcontext(wrong_by_a_little)),
        "missing": ("no_such_module", lambda: pytest.fail("is not installed")),
    }
    monkeypatch.setattr(engines, "NEWER", ("ideals x moments, Gaussian", "paths, no background"))
    monkeypatch.setattr(engines, "ENGINES", found)
    monkeypatch.setattr(engines, "ALGORITHMS", ("auto",))
    monkeypatch.setattr(engines, "N_ROWS", 50)


def test_engines_a_whole_run_keeps_what_it_found(tmp_path, three_engines):
    old = Figure("gone (joblib 1.0), auto", "same bits (1 s)", "same bits", True)
    keep(Record("engines", "", "", [old]), tmp_path)
    assert engines.main([], tmp_path) == 1
    (record,) = kept(tmp_path)
    here, here_newer, wrong, wrong_newer, missing = record.figures
    assert (here_newer.value, here_newer.holds) == ("2 of 2 same bits", True)
    assert wrong_newer.value.startswith("0 of 2 same bits; ideals x moments, Gaussian differs by 1e-09")
    assert wrong_newer.holds is False
    assert (here.value.startswith("same bits ("), here.holds) == (True, True)
    assert (wrong.value.startswith("differ by 1e-09 ("), wrong.holds) == (True, False)
    assert wrong.value.endswith("; a remark")
    assert missing == Figure("missing (no_such_module)", "not installed")


def test_engines_a_run_of_some_keeps_the_rows_of_the_others(tmp_path, three_engines):
    here = Figure("here (joblib 1.0), auto", "same bits (1 s)", "same bits", True)
    old = Figure("missing (no_such_module 1.0), auto", "same bits (2 s)", "same bits", True)
    keep(Record("engines", "", "", [here, old]), tmp_path)
    for _ in range(2):
        assert engines.main(["missing"], tmp_path) == 0
        (record,) = kept(tmp_path)
        assert [figure.what for figure in record.figures] == [here.what, "missing (no_such_module)"]
        assert record.figures[0].value == "same bits (1 s); at an earlier commit"
    with pytest.raises(SystemExit, match="no engine is called 'nowhere'"):
        engines.main(["nowhere"], tmp_path)


def test_versions_without_another_python_says_what_it_needs(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["versions"])
    monkeypatch.delitem(sys.modules, "tests.reliability.versions", raising=False)  # another test may have imported it
    with pytest.raises(SystemExit, match="make versions OTHER_PYTHON=PYTHON"):
        runpy.run_module("tests.reliability.versions", run_name="__main__")


def test_imports_are_measured_by_those_of_shap():
    verdicts = {what: [judge_import(what, seconds, 4.0).holds for seconds in (4.9, 5.1)] for what in IMPORTS}
    assert verdicts == {
        "import shap": [None, None],
        "import shap_asv": [None, None],
        "import shap, shap_asv": [True, False],
        "the explainer class, which needs shap": [True, False],
    }
