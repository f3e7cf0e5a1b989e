"""BIF files whose states are intervals: ``{ (0,30], (30,60], (60,inf) }``.

Readers of BIF split a list of states at every comma, and so would cut an interval in two. Here, before a reader sees
the text, such states get names without commas (``interval_0_1``: variable, state), in the declarations and in the rows
of the tables, where the states of the causes are known one by one. The caller gives the states their names back.
"""

import re
from collections.abc import Sequence

from shap_asv.errors import NetworkError

_VARIABLE = re.compile(r"variable\s+(\S+)\s*\{[^}]*?type\s+discrete\s*\[\s*(\d+)\s*\]\s*\{(.*?)\}\s*;", re.DOTALL)
_TABLE = re.compile(r"probability\s*\(\s*([^|)]+?)\s*(?:\|\s*([^)]*?))?\s*\)\s*\{(.*?)\}", re.DOTALL)
_ROW = re.compile(r"^(\s*)\((.*)\)(\s*[-+.\deE,\s]+;)", re.MULTILINE)
_STATE = re.compile(
    r"""\s*("[^"]*"|'[^']*'|[\[\](]\s*[^,;\[\]()]+[,;]\s*[^,;\[\]()]+[\])\[]|[^,\s][^,]*?)\s*(?:,|$)""", re.DOTALL
)


def hide_intervals(text: str) -> tuple[str, dict[str, dict[str, str]]]:
    """BIF text in which no state has a comma, and for each variable that was changed its states: hidden -> own.

    >>> text = "variable age { type discrete [ 2 ] { (0,30], (30,inf) }; } probability ( age ) { table 0.4, 0.6; }"
    >>> hidden, names = hide_intervals(text)
    >>> names
    {'age': {'interval_0_0': '(0,30]', 'interval_0_1': '(30,inf)'}}
    >>> "{ interval_0_0, interval_0_1 }" in hidden
    True
    """
    states: dict[str, list[str]] = {}
    hidden: dict[str, dict[str, str]] = {}
    for number, match in enumerate(_VARIABLE.finditer(text)):
        name, count, listed = match.group(1), int(match.group(2)), match.group(3)
        states[name] = split_states(listed)
        if len(states[name]) == count and any("," in state for state in states[name]):
            hidden[name] = {f"interval_{number}_{k}": state for k, state in enumerate(states[name])}
    if not hidden:
        return text, {}

    def declare(match: re.Match[str]) -> str:
        if match.group(1) not in hidden:
            return match.group(0)
        start, end = (place - match.start() for place in match.span(3))
        return f"{match.group(0)[:start]} {', '.join(hidden[match.group(1)])} {match.group(0)[end:]}"

    def tabulate(match: re.Match[str]) -> str:
        causes = [cause.strip() for cause in (match.group(2) or "").split(",") if cause.strip()]
        if not set(causes) & set(hidden):
            return match.group(0)
        start, end = (place - match.start() for place in match.span(3))
        rows = _ROW.sub(lambda row: f"{row[1]}({_hide_row(row[2], causes, states, hidden)}){row[3]}", match.group(3))
        return match.group(0)[:start] + rows + match.group(0)[end:]

    return _TABLE.sub(tabulate, _VARIABLE.sub(declare, text)), hidden


def split_states(listed: str) -> list[str]:
    """The states of a list, with intervals and quoted states in one piece.

    >>> split_states(' low, "a, b", (0, 30] , [30,inf) ')
    ['low', 'a, b', '(0, 30]', '[30,inf)']
    """
    return [match.group(1).strip().strip("\"'") for match in _STATE.finditer(listed.strip()) if match.group(1)]


def _hide_row(row: str, causes: Sequence[str], states: dict[str, list[str]], hidden: dict[str, dict[str, str]]) -> str:
    """``(0,30], yes`` -> ``interval_0_0, yes``: one state of each cause, in turn."""
    rest, names = row.strip(), []
    for cause in causes:
        own = {state: name for name, state in hidden.get(cause, {}).items()}
        found = next((match for state in states[cause] if (match := _starts_with(state, rest))), None)
        if found is None:
            raise NetworkError(f"({row}): {rest!r} does not begin with a state of {cause!r}; they are {states[cause]}")
        state, rest = found
        names.append(own.get(state, state))
    return ", ".join(names)


def _starts_with(state: str, text: str) -> tuple[str, str] | None:
    """(state, what follows it) where the text begins with the state; blanks and quotes do not count."""
    pattern = r"\s*".join(re.escape(sign) for sign in state if not sign.isspace())
    match = re.match(rf"\s*[\"']?{pattern}[\"']?\s*(?:,|$)", text)
    return (state, text[match.end() :]) if match else None
