"""One HTML file from the payload, the style sheet and the scripts of ``static/``.

The page forbids itself to ask for anything (a content security policy), so that a report of private data cannot leak
them. Data reach it as JSON, never as markup: names may hold whatever they like.
"""

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from shap_asv.errors import ArgumentError
from shap_asv.report.payload import make_payload
from shap_asv.report.reading import Block, read_block
from shap_asv.report.sentences import in_words

#: In the order in which they are put together; each may use what stands before it.
SCRIPTS = ("data.js", "tips.js", "graph.js", "table.js", "waterfall.js", "swarm.js", "rows.js", "words.js", "main.js")


def write_report(
    comparison: Any,
    path: str | Path,
    title: str | None = None,
    explained: str | None = None,
    graph: Any = None,
    sensitivity: Any = None,
    notes: Sequence[str] = (),
    max_rows: int = 500,
) -> Path:
    """Write the page of a comparison; see :meth:`shap_asv.Comparison.to_html` for the parameters."""
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise ArgumentError(f"max_rows is the number of rows on the page, at least 1, not {max_rows!r}")
    if isinstance(notes, str):
        raise ArgumentError(f"notes is a list of sentences, not one: [{notes!r:.60}]")
    block = read_block(comparison, explained)
    heading = title or _title(block, explained)
    drawn = graph if graph is not None else comparison.order
    payload = make_payload(block, drawn, sensitivity, heading, notes, max_rows)
    static = files("shap_asv.report") / "static"
    parts = {
        "title": html.escape(heading),
        "style": (static / "page.css").read_text("utf-8"),
        "without_script": _plain_conclusion(payload, block),
        "payload": _as_json(payload),
        "script": "\n".join((static / name).read_text("utf-8") for name in SCRIPTS),
    }
    page = (static / "page.html").read_text("utf-8")
    for name, text in parts.items():
        before, mark, after = page.partition(f"<!--{name}-->")
        assert mark, f"page.html has no place for {name}"
        page = before + text + after
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"the report is an HTML file, {str(target)!r} does not end in .html; name it so")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")
    return target


def _title(block: Block, explained: str | None) -> str:
    names = [method.name for method in block.methods]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{listed} of {explained}" if explained else listed


def _plain_conclusion(payload: dict[str, Any], block: Block) -> str:
    """What a reader without scripts gets: the words."""
    lines = [in_words(sentence, block.features) for sentence in payload["conclusions"][0]]
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def _as_json(payload: dict[str, Any]) -> str:
    """JSON that may stand inside a script element: no character in it can end the element."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
