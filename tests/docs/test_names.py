"""The plan of the house names files and rooms; all of them are there."""

import re

import pytest

from tests.docs.pages import ROOT

PACKAGE = ROOT / "shap_asv"
EVERYTHING = [path for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts]


def named(page):
    """(file or room, room that the line speaks of or None) of a page: words in backticks that end in .py or /."""
    for line in (ROOT / page).read_text().splitlines():
        names = re.findall(r"`([\w./]+?(?:\.py|/))`", line)
        row = line.startswith("|") and names and names[0].endswith("/")
        yield from ((name, names[0] if row else None) for name in names)


def is_there(name, room):
    """Below the root, below the package, in the room that is spoken of, or the only one of its name."""
    places = [ROOT / name, PACKAGE / name, *([ROOT / room / name] if room else [])]
    alike = [path for path in EVERYTHING if path.as_posix().endswith("/" + name.rstrip("/"))]
    return any(place.exists() for place in places) or len(alike) == 1


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md", "README.md"])
def test_files_and_rooms_that_a_page_names_are_there(page):
    assert [name for name, room in named(page) if not is_there(name, room)] == []


def test_every_room_of_the_package_is_on_the_plan():
    known = {name.rstrip("/").split("/")[-1] for name, _ in named("docs/architecture.md") if name.endswith("/")}
    rooms = {path.parent.name for path in PACKAGE.rglob("__init__.py")} - {"shap_asv"}
    assert rooms <= known
