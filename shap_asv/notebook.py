"""Results as notebooks show them: a heading, a table of pandas, remarks. Colours are those of the page around them."""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd


def frame_html(
    lead: str, frame: Any, formats: Mapping[str, Callable[[Any], str]], notes: Sequence[str] = (), **shown: bool
) -> str:
    """A DataFrame, its columns written by their ``formats``; ``shown``: with header, with index.

    Examples
    --------
    >>> found = frame_html("a < b", pd.DataFrame({"size": [1.0]}, index=["x"]), {"size": "{:.2f}".format})
    >>> "a &lt; b" in found, "<td>1.00</td>" in found
    (True, True)
    """
    with pd.option_context("display.max_colwidth", None):
        table = frame.to_html(formatters=dict(formats), border=0, **shown) if len(frame) else ""
    below = "".join(f"<div style='opacity:0.75'>{html.escape(note)}</div>" for note in notes)
    return f"<div><div>{html.escape(lead)}</div>{table}{below}</div>"


def facts_html(lead: str, facts: Sequence[tuple[str, str]], notes: Sequence[str] = ()) -> str:
    """Names and what is said of them."""
    return frame_html(lead, pd.DataFrame(list(facts)), {}, notes, header=False, index=False)
