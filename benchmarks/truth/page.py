"""The tables of README.md, from the files of the problems and from the record of scores."""

from __future__ import annotations

from pathlib import Path

from benchmarks.markdown import as_markdown
from benchmarks.truth.reading import HERE, KINDS, names, read

PAGE = HERE / "README.md"
GRAPHS = {"dag": "DAG", "partial": "half a graph", "levels": "levels"}


def problems_table() -> str:
    """A row for each problem: what it is, and the relative error of its truth by kind ("-": absent)."""
    rows, absent = [], []
    for name in names():
        problem = read(name)
        about, kinds = problem.about, problem.about["kinds"]
        errors = [f"{kinds[kind]['relative_error']:.1g}" if kind in kinds else "-" for kind in KINDS]
        graph = GRAPHS[problem.graph["orders"]]
        absent += [f"- `{name}` has no {kind} values: {why}." for kind, why in about["absent"].items()]
        rows.append((f"`{name}`", about["title"], len(problem.features), about["model"]["kind"], graph, *errors))
    header = ("problem", "what it is", "features", "model", "graph", *KINDS)
    note = "The last columns have the relative error of the truth; - where there is none:"
    return "\n".join([as_markdown(header, rows), "", note, "", *absent])


def filled(text: str) -> str:
    """The page with its tables made anew."""
    for marker, table in (("problems", problems_table()),):
        start, end = f"<!-- {marker} -->\n", "<!-- end -->"
        before, rest = text.split(start, 1)
        text = before + start + table + "\n" + end + rest.split(end, 1)[1]
    return text


def write_page(path: Path = PAGE) -> None:
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
