"""Numbers, seeds and names that users hand over, checked where they come in: an error names the argument, the value
and the way out."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from shap_asv.errors import ArgumentError

Seed: TypeAlias = int | np.random.Generator | np.random.SeedSequence | None


def check_count(value: Any, name: str, meaning: str, least: int = 1) -> int:
    """An integer (numpy's count too) of at least ``least``, or an :class:`ArgumentError`.

    >>> check_count(3, "n", "a number of rows")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        kind = "a positive integer" if least == 1 else f"an integer of at least {least}"
        raise ArgumentError(f"{name}={value!r:.80} is not {kind}; pass {meaning} of at least {least}")
    return int(value)


def is_number(value: Any) -> bool:
    """Whether it is a real number, not a truth value, and not NaN."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and bool(value == value)


def generator_of(seed: Seed) -> np.random.Generator:
    """numpy's generator for a seed, or an :class:`ArgumentError`."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"seed={seed!r:.80} is not a seed; pass a whole number >= 0, a numpy Generator, or None"
        ) from None


def check_seed(seed: int) -> int:
    """A whole number that is not negative, or an :class:`ArgumentError`."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ArgumentError(f"seed={seed!r:.80} is not a seed; pass a whole number >= 0")
    return int(seed)


def check_list(given: Any, name: str, meaning: str) -> list[Any]:
    """The entries of a list (or any iterable that is not a text), or an :class:`ArgumentError`.

    >>> check_list(("a", "b"), "names", "the names of the variables")
    ['a', 'b']
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ArgumentError(f"{name}={given!r:.80} is not a list; pass {meaning} in one")
    return list(given)
