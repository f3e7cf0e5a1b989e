"""The kinds of random cases that ``make fuzz`` draws: one file for each, one row in this table.

A case is a function of its number alone. Which kind it is of follows from the number too: ``share`` says how many of
``sum of all shares`` successive numbers a kind gets. A new kind is a file here (or beside this room) with

- ``draw(k)``: case number ``k``, something that prints itself;
- ``check(case)``: raises unless the case comes out right, against an oracle that imports nothing of ours;

and a row below, with the sentence that the record says about it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.reliability import cases, properties


@dataclass(frozen=True)
class Kind:
    """A family of random cases."""

    name: str
    draw: Callable[[int], Any]
    check: Callable[[Any], None]
    share: int
    note: Callable[[], str]


KINDS = (Kind("networks", cases.case_of, properties.check, 14, properties.note),)


def kind_of(k: int) -> Kind:
    """The kind of case number ``k``: the rows in turn, each as often as its share."""
    place = k % sum(kind.share for kind in KINDS)
    for kind in KINDS:
        place -= kind.share
        if place < 0:
            return kind
    raise AssertionError("shares add up to more than their sum")


def check(k: int) -> None:
    """Raise unless case number ``k`` comes out right."""
    kind = kind_of(k)
    kind.check(kind.draw(k))


def describe(k: int) -> str:
    kind = kind_of(k)
    return f"{kind.name}: {kind.draw(k)}"
