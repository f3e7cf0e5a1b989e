"""Which states are low and which are high, so that "True", "yes" and "high" are what a plot paints red.

States have an order that a reader expects: numbers by value, ``False`` before ``True``, intervals by their ends
(``<5``, ``5-12``, ``12+``, ``(0, 30]``), and a few scales of words (``no``/``yes``, ``low``/``medium``/``high``).
Where none of these fits all states of a feature, there is nothing to know, and whoever asks keeps the order that was
given.
"""

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Words from low to high; a feature's states have to be among the words of one line.
SCALES = (
    (("false", "f"), ("true", "t")),
    (("no", "n"), ("yes", "y")),
    (("absent",), ("present",)),
    (("negative", "neg"), ("positive", "pos")),
    (("normal",), ("abnormal",)),
    (("off",), ("on",)),
    (("never",), ("rarely",), ("sometimes",), ("often",), ("always",)),
    (("none", "zero"), ("mild", "light"), ("moderate", "medium"), ("severe", "heavy", "extreme")),
    (
        ("none", "zero"),
        ("very low", "verylow", "tiny"),
        ("low", "small", "few", "short"),
        ("medium", "moderate", "average", "normal", "middle", "some", "mid", "avg"),
        ("high", "large", "many", "tall", "long", "big"),
        ("very high", "veryhigh", "huge"),
    ),
)

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf(?:inity)?|\N{INFINITY})"
_BRACKETS = re.compile(rf"([\[\](])\s*({_NUMBER})\s*[,;]\s*({_NUMBER})\s*([\])\[])")
_BELOW = re.compile(rf"(<=|<|\N{{LESS-THAN OR EQUAL TO}})\s*({_NUMBER})")
_ABOVE = re.compile(rf"(>=|>|\N{{GREATER-THAN OR EQUAL TO}})\s*({_NUMBER})")
_FROM_ON = re.compile(rf"({_NUMBER})\s*\+")
_SPAN = re.compile(r"(\d+\.?\d*)\s*(?:-|\.\.|\N{EN DASH}|to|_to_)\s*(\d+\.?\d*)")
_UNIT = re.compile(r"[\s_]*[A-Za-z%]+[.]?$")


@dataclass(frozen=True, order=True)
class Interval:
    """Numbers from ``low`` to ``high``; whether an end belongs to it."""

    low: float
    high: float
    has_low: bool = True
    has_high: bool = True

    def __contains__(self, number: float) -> bool:
        above = number >= self.low if self.has_low else number > self.low
        below = number <= self.high if self.has_high else number < self.high
        return above and below


def read_interval(state: Any) -> Interval | None:
    """The interval that a state stands for, or None; a unit behind it (``4-10_days``) is passed over.

    >>> read_interval("(0, 30]")
    Interval(low=0.0, high=30.0, has_low=False, has_high=True)
    >>> read_interval("12+").low, read_interval("<7.5").has_high, read_interval("often")
    (12.0, False, None)
    """
    if hasattr(state, "left") and hasattr(state, "right") and hasattr(state, "closed_left"):  # pandas
        return Interval(float(state.left), float(state.right), bool(state.closed_left), bool(state.closed_right))
    if not isinstance(state, str):
        return None
    text = state.strip().strip("\"'")
    for candidate in (text, _UNIT.sub("", text)):
        found = _read_text(candidate)
        if found is not None:
            return found
    return None


def _read_text(text: str) -> Interval | None:
    if match := _BRACKETS.fullmatch(text):
        first, low, high, last = match.groups()
        return Interval(_float(low), _float(high), first == "[", last == "]")
    if match := _BELOW.fullmatch(text):
        return Interval(-math.inf, _float(match[2]), False, match[1] != "<")
    if match := _ABOVE.fullmatch(text):
        return Interval(_float(match[2]), math.inf, match[1] != ">", False)
    if match := _FROM_ON.fullmatch(text):
        return Interval(_float(match[1]), math.inf, True, False)
    if match := _SPAN.fullmatch(text):
        return Interval(float(match[1]), float(match[2]))
    return None


def _float(text: str) -> float:
    return float(text.replace("\N{INFINITY}", "inf"))


def low_to_high(states: Sequence[Hashable]) -> list[int] | None:
    """Positions of the states from low to high, or None where no order is known for all of them.

    >>> low_to_high(["yes", "no"]), low_to_high(["12+", "<5", "5-12"]), low_to_high(["red", "green"])
    ([1, 0], [1, 2, 0], None)
    """
    for read in (_numbers, _intervals, _words):
        keys = read(states)
        if keys is not None:
            return sorted(range(len(states)), key=lambda k: keys[k])
    return None


def ranks(states: Sequence[Hashable]) -> np.ndarray:
    """Of each state how many stand below it, float array; in the order given where none is known.

    >>> ranks(["yes", "no"]).tolist(), ranks(["red", "green"]).tolist()
    ([1.0, 0.0], [0.0, 1.0])
    """
    sequence = low_to_high(states)
    places = np.arange(len(states), dtype=float)
    if sequence is not None:
        places[sequence] = np.arange(len(states), dtype=float)
    return places


def _numbers(states: Sequence[Hashable]) -> list[Any] | None:
    keys = []
    for state in states:
        if isinstance(state, str) and state.strip().lower() in ("nan", ""):
            return None
        try:
            keys.append(float(state))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
    return None if any(math.isnan(key) for key in keys) else keys


def _intervals(states: Sequence[Hashable]) -> list[Any] | None:
    """Intervals, and numbers among them; at least one has to be an interval."""
    keys: list[Interval] = []
    for state in states:
        found = read_interval(state)
        if found is None:
            number = _numbers([state])
            if number is None:
                return None
            found = Interval(number[0], number[0])
        keys.append(found)
    return [(key.low, key.high) for key in keys]


def _words(states: Sequence[Hashable]) -> list[Any] | None:
    words = [str(state).strip().lower().replace("_", " ") for state in states]
    for scale in SCALES:
        place = {word: k for k, step in enumerate(scale) for word in step}
        keys = [place[word] for word in words if word in place]
        if len(keys) == len(words) and len(set(keys)) == len(keys):
            return keys
    return None
