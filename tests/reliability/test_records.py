"""What long runs keep: records with commit and date, and the page that is made of them."""

import json
import shutil
import subprocess
from datetime import date

import pytest

from tests.reliability.records import FOLDER, ROOT, Figure, Record, keep, kept, present_commit
from tests.reliability.report import PAGE, page

RECORD = Record(
    "speed", "Speed of light", "make light", [Figure("speed", "299,792,458 m/s", "some", True)], ["A note."]
)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path):
    """A repository with a file of code, a test, a record and a page, all committed."""
    for name in ("shap_asv/code.py", "tests/test_code.py", FOLDER / "old.json", PAGE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before\n")
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)
    return tmp_path


def test_the_page_is_made_of_the_records():
    """After a change by hand, run python -m tests.reliability.report."""
    assert (ROOT / PAGE).read_text() == page(kept())


def test_a_run_is_kept_and_reaches_the_page(tmp_path, capsys):
    keep(RECORD, tmp_path)
    (record,) = kept(tmp_path)
    assert (record.figures, record.notes) == (RECORD.figures, RECORD.notes)
    assert abs((date.today() - date.fromisoformat(record.date)).days) <= 1
    text = (tmp_path / PAGE).read_text()
    assert "| speed | 299,792,458 m/s | some | yes |" in text
    assert f"`make light`, taken on {record.date}" in text
    assert "speed: 299,792,458 m/s (asked: some) - holds" in capsys.readouterr().out


@needs_git
def test_a_record_names_its_commit(repository):
    (repository / FOLDER / "old.json").unlink()
    keep(RECORD, repository)
    (record,) = kept(repository)
    assert len(record.commit) >= 7
    assert f"taken at {record.commit} on {record.date}" in (repository / PAGE).read_text()


@needs_git
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
    assert clean
    assert not clean.endswith("-dirty")
    (repository / changed).write_text("after\n")
    assert present_commit(repository) == clean + "-dirty" * dirty


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
