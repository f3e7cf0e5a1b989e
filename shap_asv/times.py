"""Which variable a feature is, and at what time: said by the user, or read from the names of the columns.

The features of a forecast are variables at several times, such as the temperature three days ago. A *time* is a number
(the past is negative, ``t`` itself is 0), and a feature without one is *static*.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shap_asv.arguments import is_number
from shap_asv.errors import TimeError, did_you_mean, listed

#: (variable, time); the time of a static feature is None.
Moment: TypeAlias = tuple[str, float | None]

_NUMBER = r"(\d+(?:\.\d+)?)"
#: ``temp(t-3)``, ``temp_lag3``, ``('temp', -3)`` as the columns of a MultiIndex are written; and who knows the sign.
_PATTERNS = (
    (re.compile(rf"(t)([+-]){_NUMBER}"), None),  # a time as a player
    (re.compile(rf"(.+?)\s*\(t(?:\s*([+-])\s*{_NUMBER})?\)"), None),
    (re.compile(rf"(.+?)_lag_?()?{_NUMBER}"), "-"),
    (re.compile(rf"\(['\"](.+)['\"], (?:np\.\w+\()?(-)?{_NUMBER}\)?\)"), None),
)


@dataclass(frozen=True)
class Times:
    """Variable and time of each feature, in the sequence of the features.

    Examples
    --------
    >>> times = Times.read(["age", "temp(t-2)", "temp(t-1)", "rain_lag1", "rain"])
    >>> times.moments
    (('age', None), ('temp', -2.0), ('temp', -1.0), ('rain', -1.0), ('rain', 0.0))
    >>> times.variables, times.steps
    (('age', 'temp', 'rain'), (-2.0, -1.0, 0.0))
    """

    features: tuple[str, ...]
    moments: tuple[Moment, ...]

    @classmethod
    def read(cls, given: Any, features: Sequence[str] | None = None) -> "Times":
        """From a dict of features and times, or (variable, time) pairs; or from names such as ``temp(t-3)``,
        ``temp_lag3`` and the columns ``("temp", -3)`` of a MultiIndex.

        Of names, one without a time is at time 0 if it is a variable of others (``temp`` beside ``temp_lag1``), else it
        is static. ``features`` are those that are asked about, all of which need a time (None says static).

        Raises
        ------
        TimeError
            A feature of unknown time, a time that is not a number, two features that are the same variable at the same
            time, or no feature that has a time.
        """
        if isinstance(given, Times):
            found = dict(zip(given.features, given.moments, strict=True))
        elif isinstance(given, Mapping):
            found = {str(name): _given_moment(str(name), said) for name, said in given.items()}
        elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
            found = _named_moments([str(name) for name in given])
        else:
            raise TimeError(
                f"times={given!r:.80} are not times; pass a dict of features and their times, such as "
                "{'temp(t-3)': -3}, or names that say it"
            )
        for name in found if features is None else features:
            if name not in found:
                hint = did_you_mean(name, found, f"there are times for {listed(found)}")
                raise TimeError(f"the time of {name!r} is not known; {hint}; say None for a feature that has no time")
        if features is not None:
            found = {name: found[name] for name in features}
        _check(found)
        return cls(tuple(found), tuple(found.values()))

    @property
    def variables(self) -> tuple[str, ...]:
        """In the sequence of their first features."""
        return tuple(dict.fromkeys(variable for variable, _ in self.moments))

    @property
    def steps(self) -> tuple[float, ...]:
        """The times that there are, the past first."""
        return tuple(sorted({time for _, time in self.moments if time is not None}))

    @property
    def at(self) -> np.ndarray:
        """The time of each feature, float (n,); before everything for static ones."""
        return np.array([-np.inf if time is None else time for _, time in self.moments])

    def groups(self, by: str = "variable") -> dict[str, list[str]]:
        """Features by ``"variable"`` or by ``"time"``, for ``groups=``; static features stay players of their own.

        >>> Times.read(["temp(t-2)", "temp(t-1)", "rain(t-1)"]).groups("time")
        {'t-2': ['temp(t-2)'], 't-1': ['temp(t-1)', 'rain(t-1)']}
        """
        if by not in ("variable", "time"):
            raise TimeError(f"by={by!r:.80} is unknown; features are grouped by 'variable' or by 'time'")
        found: dict[str, list[str]] = {}
        for k in np.argsort(self.at, kind="stable") if by == "time" else range(len(self.features)):
            variable, time = self.moments[k]
            if time is not None:
                found.setdefault(variable if by == "variable" else time_name(time), []).append(self.features[k])
        return found

    def summed(self, explanation: Any, by: str = "time") -> Any:
        """An explanation of features with the values of each variable, or of each time, added up.

        What has no time is called "static" among the times. Standard errors are added up, too: an upper bound, as
        errors of one sample depend on one another. (Players that are times, ``groups=times.groups("time")``, have their
        own.) Where the past comes first, the value of a time is what it adds to the conditional mean.

        Parameters
        ----------
        explanation : shap.Explanation
            Of these features, in any sequence; rows, a row, or importances.
        by : {"time", "variable"}

        Returns
        -------
        shap.Explanation
        """
        import shap

        if by not in ("variable", "time"):
            raise TimeError(f"by={by!r:.80} is unknown; values are added up by 'variable' or by 'time'")
        if explanation.feature_names is None:
            raise TimeError("the explanation has no feature_names, so that nothing is known of their times; set them")
        own = Times.read(self, [str(name) for name in explanation.feature_names])
        names = [variable if by == "variable" else time_name(time) for variable, time in own.moments]
        in_time = [names[k] for k in np.argsort(own.at, kind="stable")] if by == "time" else names
        players = list(dict.fromkeys(in_time))
        member = np.equal.outer(names, players).astype(float)
        shape = np.shape(explanation.values)
        axis = 1 if len(shape) == 3 or (len(shape) == 2 and shape[1] == len(names)) else 0

        def added(array: Any) -> Any:
            return None if array is None else np.moveaxis(np.moveaxis(np.asarray(array), axis, -1) @ member, -1, axis)

        return shap.Explanation(
            values=added(explanation.values),
            base_values=explanation.base_values,
            feature_names=players,
            output_names=explanation.output_names if isinstance(explanation.output_names, list) else None,
            error_std=added(explanation.error_std),
        )


def time_name(time: float | None) -> str:
    """
    >>> time_name(-3), time_name(0), time_name(1.5), time_name(None)
    ('t-3', 't', 't+1.5', 'static')
    """
    if time is None:
        return "static"
    return f"t{time:+g}" if time else "t"


def moment_name(variable: str, time: float | None) -> str:
    """
    >>> moment_name("temp", -3), moment_name("age", None)
    ('temp(t-3)', 'age')
    """
    return variable if time is None else f"{variable}({time_name(time)})"


def _named(name: str) -> Moment:
    """What a name says; a name that says nothing is a variable without a time."""
    for pattern, sign in _PATTERNS:
        match = pattern.fullmatch(name)
        if match:
            size = float(match[3] or 0)
            return match[1], -size if "-" in (match[2], sign) and size else size
    return name, None


def _named_moments(names: list[str]) -> dict[str, Moment]:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TimeError(f"the feature {twice!r} is there {names.count(twice)} times; give each a name of its own")
    read = {name: _named(name) for name in names}
    timed = {variable for variable, time in read.values() if time is not None}
    return {
        name: (name, 0.0) if time is None and name in timed else (variable, time)
        for name, (variable, time) in read.items()
    }


def _given_moment(name: str, said: Any) -> Moment:
    pair = isinstance(said, tuple | list) and len(said) == 2
    variable, time = said if pair else (_named(name)[0], said)
    if time is not None and (not is_number(time) or not np.isfinite(time)):
        raise TimeError(
            f"the time of {name!r} is {time!r:.80}; a time is a number, such as -3 for three days ago, or None for a "
            "feature that has none"
        )
    return str(variable), None if time is None else float(time)


def _check(found: Mapping[str, Moment]) -> None:
    if all(time is None for _, time in found.values()):
        raise TimeError(
            f"none of the features {listed(found)} has a time; name them like 'temp(t-3)' or 'temp_lag3', or pass a "
            "dict of features and their times"
        )
    met: dict[Moment, str] = {}
    for name, moment in found.items():
        if moment in met:
            raise TimeError(
                f"{met[moment]!r} and {name!r} are both {moment_name(*moment)}; leave one out, or give one another time"
            )
        met[moment] = name
