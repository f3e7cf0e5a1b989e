"""The tables of README.md, from the files of the problems and from the record of scores."""

from __future__ import annotations

from pathlib import Path

from benchmarks.markdown import as_markdown
from benchmarks.truth.peers.registry import read_record
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


def cell(row: dict[str, str]) -> str:
    """Relative error and CPU seconds, the fit included; what failed is said in words."""
    if row["remark"]:
        return "fails"
    error = float(row["relative"])
    known = "exact" if error <= 2 * float(row["floor"]) else f"{error:.2g}"
    return f"{known} ({float(row['fit']) + float(row['seconds']):.2g} s)"


def scores_table(record: list[dict[str, str]]) -> str:
    """For each kind of values the problems by the ways of all packages, from the record."""
    parts = []
    for kind in KINDS:
        rows = [row for row in record if row["kind"] == kind]
        ways = sorted({(row["package"], row["way"], row["knows"]) for row in rows})
        if not rows:
            continue
        header = [f"{package}, {way}" + f" (knows {knows})" * (knows != "table") for package, way, knows in ways]
        lines = []
        for name in names():
            found = {(row["package"], row["way"], row["knows"]): cell(row) for row in rows if row["problem"] == name}
            if found:
                lines.append((f"`{name}`", *(found.get(way, "") for way in ways)))
        parts += [f"### {kind.capitalize()}", "", as_markdown(("problem", *header), lines), ""]
    versions = sorted({(row["package"], row["version"]) for row in record if row["version"]})
    told = ", ".join(f"{package} {version}" for package, version in versions)
    parts += [f"Versions: {told}." if told else "No package was run yet.", ""]
    for row in record:
        if row["remark"]:
            parts.append(f"- {row['package']}, {row['way']}, `{row['problem']}`, {row['kind']}: {row['remark']}")
    return "\n".join(parts).rstrip()


def filled(text: str) -> str:
    """The page with its tables made anew."""
    for marker, table in (("problems", problems_table()), ("scores", scores_table(read_record()))):
        start, end = f"<!-- {marker} -->\n", "<!-- end -->"
        before, rest = text.split(start, 1)
        text = before + start + table + "\n" + end + rest.split(end, 1)[1]
    return text


def write_page(path: Path = PAGE) -> None:
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
