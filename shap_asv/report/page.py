"""A comparison as one HTML file: the arrays as JSON for the scripts of ``static/``, the style sheet, and the page.

Arrays travel as base64 of little-endian float32 (six characters a value, seven significant digits); states as numbers
of labels that are written once. Rows beyond ``max_rows`` are thinned out evenly, with the most telling ones kept; means
are those over all rows, and the page says how many there were.

The page forbids itself to ask for anything (a content security policy), so that a report of private data cannot leak
them. Data reach it as JSON, never as markup: names may hold whatever they like.
"""

import base64
import html
import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import shap_asv
from shap_asv.errors import ArgumentError, ExplanationError
from shap_asv.orders import CausalOrder
from shap_asv.report.layout import place_graph
from shap_asv.report.reading import Method, PageData, read_block
from shap_asv.report.sentences import conclude, describe_method, in_words

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
    sample: str = "",
    row_numbers: Sequence[int] | None = None,
) -> Path:
    """Write the page of a comparison; see :meth:`shap_asv.Comparison.to_html` for the parameters."""
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise ArgumentError(f"max_rows is the number of rows on the page, at least 1, not {max_rows!r}")
    if isinstance(notes, str):
        raise ArgumentError(f"notes is a list of sentences, not one: [{notes!r:.60}]")
    block = read_block(comparison, explained, sample, row_numbers)
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


def _title(block: PageData, explained: str | None) -> str:
    names = [method.title for method in block.methods]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    title = f"{listed} of {explained}" if explained else listed
    return title[0].upper() + title[1:]


def _plain_conclusion(payload: dict[str, Any], block: PageData) -> str:
    """What a reader without scripts gets: the words."""
    lines = [in_words(sentence, block.features) for sentence in payload["conclusions"][0]]
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def _as_json(payload: dict[str, Any]) -> str:
    """JSON that may stand inside a script element: no character in it can end the element."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


MOST_EFFECTS = 6


def make_payload(block: PageData, graph: Any, sensitivity: Any, title: str, notes: Sequence[str], max_rows: int) -> Any:
    """Everything that the page shows, as a tree of dicts, lists, numbers and strings.

    ``graph`` is what is drawn (None for no drawing), ``sensitivity`` a :class:`~shap_asv.Sensitivity` of the same rows.
    """
    rows = choose_rows(block, max_rows)
    outputs = range(len(block.outputs))
    levels = isinstance(graph, CausalOrder) and graph.levels is not None
    return {
        "title": title,
        "features": list(block.features),
        "outputs": list(block.outputs),
        "decimals": [block.decimals(k) for k in outputs],
        "rows": block.numbers[rows].tolist(),
        "sample": block.sample,
        "n_rows": block.n_rows,
        "methods": [_pack_method(method, rows, levels) for method in block.methods],
        "pair": None if block.pair is None else [block.methods.index(method) for method in block.pair],
        "states": _pack_states(block, rows),
        "conclusions": [conclude(block, k) for k in outputs],
        "graph": None
        if graph is None
        else place_graph(graph, block.features, [method.title for method in block.methods]),
        "n_graphs": block.n_graphs,
        "levels": levels,
        "sensitivity": None if sensitivity is None else _pack_sensitivity(sensitivity, block, rows),
        "notes": list(notes),
        "versions": _versions(),
    }


def choose_rows(block: PageData, max_rows: int) -> np.ndarray:
    """Positions of the rows that the page holds, ascending, int array (at most ``max_rows``,).

    All, or evenly spaced ones together with the row of each output in which the methods differ most.
    """
    if block.n_rows <= max_rows:
        return np.arange(block.n_rows)
    telling = list(dict.fromkeys(int(block.spread(k).argmax()) for k in range(len(block.outputs))))[:max_rows]
    even = np.linspace(0, block.n_rows - 1, max_rows).round().astype(int).tolist()
    others = [row for row in even if row not in set(telling)]
    return np.array(sorted([*telling, *others[: max_rows - len(telling)]]))


def pack(array: np.ndarray) -> str:
    """base64 of an array as little-endian float32, in C order.

    >>> pack(np.array([1.0]))
    'AACAPw=='
    """
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode("ascii")


def _by_output(array: np.ndarray) -> np.ndarray:
    """(rows, features, outputs) -> (outputs, rows, features)."""
    return np.moveaxis(array, -1, 0)


def _pack_method(method: Method, rows: np.ndarray, levels: bool) -> dict[str, Any]:
    return {
        "name": method.title,
        "meaning": describe_method(method, levels),
        "values": pack(_by_output(method.values[rows])),
        "base": pack(method.base[rows].T),
        "error": None if method.error is None else pack(_by_output(method.error[rows])),
        "importance": pack(method.importance.T),
        "noise": None if method.error is None else pack(method.noise.T),
        "largest_error": None if method.error is None else float(method.error.max()),
        "background": method.background,
        "plan": method.plan,
    }


def _pack_states(block: PageData, rows: np.ndarray) -> list[dict[str, Any]] | None:
    """Of each feature its labels, and where its rows find them; tones go with the rows."""
    if block.labels is None:
        return None
    packed = []
    for j in range(len(block.features)):
        labels, codes = np.unique(block.labels[rows, j], return_inverse=True)
        tones = np.full(len(rows), np.nan) if block.tones is None else block.tones[rows, j]
        packed.append(
            {
                "labels": labels.tolist(),
                "codes": codes.ravel().tolist(),
                "named": bool(block.named[j]),
                "tones": [None if np.isnan(tone) else round(float(tone), 3) for tone in tones],
            }
        )
    return packed


def _pack_sensitivity(sensitivity: Any, block: PageData, rows: np.ndarray) -> dict[str, Any]:
    values = np.asarray(sensitivity.values)
    values = values[..., None] if values.ndim == 3 else values
    wanted = (block.n_rows, len(block.features), len(block.outputs))
    if values.shape[1:] != wanted:
        raise ExplanationError(
            f"the sensitivity is one of (rows, features, outputs) = {values.shape[1:]}, the comparison of {wanted}; "
            "ask for the sensitivity of the same rows and outputs"
        )
    names = list(sensitivity.feature_names)
    missing = [feature for feature in block.features if feature not in names]
    if missing:
        raise ExplanationError(f"the sensitivity has no feature {missing[0]!r}; it has {names}")
    values = values[:, :, [names.index(feature) for feature in block.features]]
    importance = np.abs(values).mean(axis=1)
    effects = []
    for k in range(len(block.outputs)):
        one = sensitivity.output(k) if np.ndim(sensitivity.values) == 4 else sensitivity
        frame = one.edge_effects().head(MOST_EFFECTS)
        effects.append([[str(edge), float(e.effect), str(e.feature), float(e.by)] for edge, e in frame.iterrows()])
    method = next((m for m, each in enumerate(block.methods) if each.name == "ASV"), 0)
    return {
        "method": method,
        "n_graphs": int(values.shape[0]),
        "low": pack(_by_output(values.min(axis=0)[rows])),
        "high": pack(_by_output(values.max(axis=0)[rows])),
        "importance_low": pack(importance.min(axis=0).T),
        "importance_high": pack(importance.max(axis=0).T),
        "effects": effects,
    }


def _versions() -> str:
    return f"shap_asv {shap_asv.__version__}, shap {version('shap')}, numpy {version('numpy')}"
