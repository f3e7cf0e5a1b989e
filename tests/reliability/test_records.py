"""What long runs keep: records with commit and date, and the page that is made of them."""

import re

import pytest

from tests.reliability.records import ROOT, kept
from tests.reliability.report import PAGE, page


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
