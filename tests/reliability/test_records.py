"""What long runs keep: records with commit and date, and the page that is made of them."""

import json
import re
import shutil
import subprocess
from contextlib import nullcontext
from dataclasses import replace
from datetime import date

import pytest

from tests.reliability import engines
from tests.reliability.compatibility import IMPORTS, judge_import
from tests.reliability.records import FOLDER, ROOT, Figure, Record, before, keep, kept, present_commit
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
    calls = [path for path, text in files.items() if re.search(r"^ .*\bkeep\(", text, re.MULTILINE)]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in calls}


def test_whatever_keeps_a_record_is_reached_by_make():
    """A run that no target has is forgotten, and its part of the page grows old."""
    started = {module for recipe in RECIPES.values() for module in re.findall(r"python -m ([\w.]+)", recipe)}
    found = keepers()
    assert len(found) >= 15
    assert found - started == set()


@pytest.mark.parametrize("record", kept(), ids=lambda record: record.name)
def test_the_command_of_a_record_can_be_given(record):
    target = re.fullmatch(r"make (\w+)", record.command)
    module = re.match(r"python -m ([\w.]+)", record.command)
    assert target or module
    assert target[1] in RECIPES if target else module[1] in keepers()


def test_a_run_is_kept_and_reaches_the_page(repository, capsys):
    (repository / FOLDER / "old.json").unlink()
    keep(RECORD, repository)
    (record,) = kept(repository)
    assert (record.figures, record.notes) == (RECORD.figures, RECORD.notes)
    assert abs((date.today() - date.fromisoformat(record.date)).days) <= 1
    text = (repository / PAGE).read_text()
    assert "| speed | 299,792,458 m/s | some | yes |" in text
    assert (len(record.commit) >= 7) if HAS_GIT else (record.commit == "")
    at = f"at {record.commit} " if HAS_GIT else ""
    assert f"`make light`, taken {at}on {record.date}" in text
    assert "speed: 299,792,458 m/s (asked: some) - holds" in capsys.readouterr().out
    assert keep(replace(RECORD, name="slow"), repository, fewer_than="two speeds") == 0
    assert "no record is kept of fewer than two speeds" in capsys.readouterr().out
    assert kept(repository) == [record]


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
    assert before("old", tmp_path) == [Figure("a", "b; at an earlier commit")]


def test_engines(tmp_path, monkeypatch):
    """One that is right, one that is not, one that is not installed; a run of some keeps the figures of the others."""

    def off_by_a_little(explainer, X):
        return engines.explained(explainer, X) + 1e-9

    found = {
        "here": ("joblib", lambda: nullcontext(engines.explained)),
        "wrong": ("joblib", lambda: nullcontext(off_by_a_little)),
        "missing": ("no_such_module", lambda: pytest.fail("is not installed")),
    }
    declared = {name: engines.DECLARED[name] for name in ("ideals x moments, Gaussian", "paths, no background")}
    monkeypatch.setattr(engines, "ENGINES", found)
    monkeypatch.setattr(engines, "DECLARED", declared)
    monkeypatch.setattr(engines, "LARGE", {"child, auto": (engines.LARGE["child, auto"][0], 50)})
    assert engines.main([], tmp_path) == 1
    here, wrong, missing = kept(tmp_path)[0].figures
    assert (here.value.startswith("3 of 3 same bits ("), here.holds) == (True, True)
    assert (wrong.value.startswith("0 of 3 same bits ("), wrong.holds) == (True, False)
    assert "; ideals x moments, Gaussian differs by 1e-09" in wrong.value
    assert missing == Figure("missing (no_such_module)", "not installed")
    assert engines.main(["missing"], tmp_path) == 1
    again = kept(tmp_path)[0].figures
    assert [figure.what for figure in again] == [here.what, wrong.what, missing.what]
    assert again[0].value.startswith(here.value + "; at ")
    with pytest.raises(SystemExit, match="no engine is called 'nowhere'"):
        engines.main(["nowhere"], tmp_path)


def test_imports_are_measured_by_those_of_shap():
    verdicts = [[judge_import(what, seconds, 4.0).holds for seconds in (4.9, 5.1)] for what in IMPORTS]
    assert verdicts == [[None, None], [None, None], [True, False], [True, False]]
