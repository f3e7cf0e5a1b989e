"""Every error and warning that shap_asv raises by itself, named after the condition.

All errors are subclasses of :class:`ValueError`, so code written for shap keeps catching them. A message names
the thing, the value that was met and the way out.
"""

import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeVar

Name = TypeVar("Name")


class ShapAsvError(ValueError):
    """Root of all errors of this package."""


# --- the causal graph ---------------------------------------------------------------------------------------


class CausalGraphError(ShapAsvError):
    """The causal graph is not a usable DAG: a cycle, a self-loop, undirected, empty, a repeated feature."""


class UnknownFeatureError(ShapAsvError):
    """A feature was named that does not exist where it was looked up."""


class UnknownMethodError(ShapAsvError):
    """An option that takes one of a few words got another word."""


class MethodNotApplicableError(ShapAsvError):
    """A method asked for by name cannot treat this problem (it never silently becomes another one)."""


class BudgetExceededError(ShapAsvError):
    """The work would pass a stated limit; it was stopped before it ate the machine."""


class ArgumentError(ShapAsvError):
    """A number is out of its range: a sample of no orders, a limit below one, a distance that is not a distance."""


class OrdersError(ShapAsvError):
    """Orders are not permutations of the features, or weights are not weights."""


class TimeError(ShapAsvError):
    """Times that do not fit: of a feature they are not known, of a series not sorted, twice there, or in the future."""


# --- the background distribution ----------------------------------------------------------------------------


class NetworkError(ShapAsvError):
    """The Bayesian network cannot be read: missing or wrong CPTs, continuous nodes, no nodes."""


class UnknownStateError(ShapAsvError):
    """A row holds a value that is not a state of its feature in the network."""


class ImpossibleEvidenceError(ShapAsvError):
    """A row has probability 0 under the network, so conditioning on it is undefined."""


class TableError(ShapAsvError):
    """A table cannot be learned from: datetimes, infinities, no rows, no columns, a name twice."""


class MechanismError(ShapAsvError):
    """A mechanism of a structural model is missing, unknown, or returned NaN or an array of the wrong shape."""


class NotAncestralError(ShapAsvError):
    """A structural model was asked to condition on a feature whose causes are free."""


# --- the model and the rows ---------------------------------------------------------------------------------


class ModelError(ShapAsvError):
    """The model raised, or returned NaN, infinities or an array of the wrong shape."""


class EncodingError(ShapAsvError):
    """States of the network cannot be turned into what the model eats."""


class RowsError(ShapAsvError):
    """The rows to explain do not fit the features: columns missing or surplus, NaN, no rows."""


# --- explanations -------------------------------------------------------------------------------------------


class ExplanationError(ShapAsvError):
    """Explanations cannot be drawn or compared: several outputs at once, other features, other rows, no rows."""


class PersistenceError(ShapAsvError):
    """A saved explainer cannot be read: truncated, foreign, or from a newer version."""


# --- warnings -----------------------------------------------------------------------------------------------


class ShapAsvWarning(UserWarning):
    """Root of all warnings of this package."""


def warn_user(message: str, category: type[ShapAsvWarning]) -> None:
    """Warn at the line of the user's code that led here, however deep inside the package we are."""
    frame, level = sys._getframe(1), 2
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == __name__.split(".")[0]:
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)


class CausalGraphWarning(ShapAsvWarning):
    """The causal graph and the features differ; the message says what was done about it."""


class ApproximationWarning(ShapAsvWarning):
    """A result is an approximation where an exact one was to be expected; the message says which and why."""


class LongCallWarning(ShapAsvWarning):
    """A call is going to take more than a minute; the message says how long, by what, and what to change."""


# --- names that were not found --------------------------------------------------------------------------------


def nearest(name: object, known: Iterable[Name], cutoff: float = 0.6) -> Name | None:
    """The known name that looks most like ``name``, whatever their capitals; None where none does.

    >>> nearest("Age", ["income", "age"]), nearest("incom", ["income", "age"]), nearest("x", ["age"])
    ('age', 'income', None)
    """
    by_word = {str(one).casefold(): one for one in known}
    word = str(name).casefold()
    close = [word] if word in by_word else get_close_matches(word, by_word, n=1, cutoff=cutoff)
    return by_word[close[0]] if close else None


def did_you_mean(name: object, known: Iterable[object], otherwise: str) -> str:
    """How an error about a name ends: with the known one that looks like it, or with ``otherwise``, all there are."""
    near = nearest(name, known)
    return otherwise if near is None else f"did you mean {near!r}?"


def listed(names: Iterable[object], most: int = 8) -> str:
    """The first names as they would be written in code, and how many more there are.

    >>> listed(["a", "b", 3], most=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(name.item() if hasattr(name, "item") else name) for name in names]  # numpy's without their type
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
