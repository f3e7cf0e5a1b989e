"""Results as notebooks show them: a heading, a table, remarks; light and dark, no scripts.

Colours are those of the page around them: type inherits its colour, and lines are a share of it.
"""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_LINE = "border-bottom:1px solid color-mix(in srgb, currentColor 25%, transparent)"
_CELL = f"padding:2px 10px 2px 0;{_LINE};background:none"


def table_html(lead: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """A table whose first column is text, and the others as they are written, to the right.

    Examples
    --------
    >>> "<td" in table_html("a < b", ["name", "size"], [["x", "1.0"]]), "a &lt; b" in table_html("a < b", [], [])
    (True, True)
    """
    head = "".join(_cell("th", name, k) for k, name in enumerate(header))
    lines = "".join(f"<tr>{''.join(_cell('td', cell, k) for k, cell in enumerate(row))}</tr>" for row in rows)
    below = "".join(f"<div style='opacity:0.75'>{html.escape(note)}</div>" for note in notes)
    return (
        f"<div style='color:inherit;max-width:100%;overflow-x:auto'><div>{html.escape(lead)}</div>"
        f"<table style='border-collapse:collapse;margin:4px 0'>"
        f"{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{lines}</tbody></table>{below}</div>"
    )


def frame_html(lead: str, frame: Any, formats: Mapping[str, Callable[[Any], str]], notes: Sequence[str] = ()) -> str:
    """A DataFrame with its index as the first column, columns written by their ``formats``."""
    rows = [
        [str(name), *(formats.get(str(column), str)(value) for column, value in zip(frame.columns, line, strict=True))]
        for name, line in zip(frame.index, frame.itertuples(index=False), strict=True)
    ]
    return table_html(lead, ["", *map(str, frame.columns)], rows, notes)


def _cell(tag: str, text: str, place: int) -> str:
    side = "left" if place == 0 else "right;font-variant-numeric:tabular-nums"
    return f"<{tag} style='{_CELL};text-align:{side}'>{html.escape(text)}</{tag}>"
