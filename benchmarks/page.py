"""The page of the documentation, made from the stored results: ``python -m benchmarks.page``.

Nothing is measured here, so an experiment can be repeated alone and the rest of the page stays as it was.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.experiment import AGAINST_PAPER, THE_SAME, UP_TO, Cell, Claim, Experiment, Table
from benchmarks.markdown import as_markdown
from benchmarks.registry import EXPERIMENTS
from benchmarks.storage import Places, Stored, read_all

OPENING = """# Benchmarks

The experiments of the paper behind this package, repeated, and some past it. `make benchmark` runs them all,
`python -m benchmarks <name>` one of them, `python -m benchmarks --list` names them. Each one states what is claimed,
what came out here, and whether the claim holds; this page is generated from the results, which are kept as CSV and JSON
in `benchmarks/results/`.

Times depend on the machine, and the paper's come from another one; ratios of two times of one run carry the
conclusions. Unless an experiment says otherwise, times are CPU seconds of one thread.

A further measurement prints what it finds and stores nothing: `python -m benchmarks.ensembles` (tree ensembles against
TreeSHAP, large forests).
"""
VERDICTS = {None: "-", True: "yes", False: "**no**"}


def claims_table(claims: Sequence[Claim]) -> str:
    rows = [(claim.text, claim.asked, claim.measured, VERDICTS[claim.holds]) for claim in claims]
    return as_markdown(("claim", "asked", "measured", "holds"), rows)


def standing(better: Cell) -> str:
    """How a row stands to the paper's figure, from its last cell; "within" is below a bound that the paper gives."""
    if better == THE_SAME:
        return "the same"
    if isinstance(better, str):
        told = better.removeprefix(UP_TO)
        bounded = told != better and float(told.replace(",", "")) > 1
        return "within" if bounded else "worse"
    return "better" if better > 1 else "the same" if better == 1 else "worse"


def paper_claim(rows: Sequence[Sequence[Cell]]) -> Claim:
    """The paper's table as a whole."""
    found = [standing(row[-1]) for row in rows]
    count = {how: found.count(how) for how in ("better", "the same", "within", "worse")}
    worse = [str(row[0]) for row, how in zip(rows, found, strict=True) if how == "worse"]
    return Claim(
        "no row is worse than the paper's (its times are from another machine)",
        f"0 of {len(rows)} rows worse",
        f"{count['better']} better, {count['the same']} the same, {count['within']} within a bound where the paper "
        f"gives no figure, {count['worse']} worse" + (f": {'; '.join(worse)}" if worse else ""),
        not worse,
    )


def summary(stored: Sequence[Stored]) -> str:
    """All rows that stand beside a figure of the paper, in one table; and all claims that do not hold."""
    tables = [table for one in stored for table in one.result.tables if table.name == "against_paper"]
    rows = [row for table in tables for row in table.rows]
    parts = []
    if rows:
        parts += ["## The paper's figures and ours", "", as_markdown(AGAINST_PAPER, rows), ""]
        parts += [*(table.caption for table in tables if table.caption), ""]
        parts += [claims_table([paper_claim(rows)]), ""]
    claims = [(one.result.title, claim) for one in stored for claim in one.result.claims]
    claims += [("The paper's figures and ours", paper_claim(rows))] if rows else []
    failing = [(title, claim) for title, claim in claims if claim.holds is False]
    total = sum(claim.holds is not None for _, claim in claims)
    parts += [f"Of {total} claims with a verdict, {total - len(failing)} hold." if total else "", ""]
    parts += [f"- does not hold: {claim.text} ({title}): {claim.measured}" for title, claim in failing]
    return "\n".join(parts).rstrip() + "\n"


def table_section(table: Table) -> str:
    caption = f"{table.caption}\n\n" if table.caption else ""
    return caption + as_markdown(table.columns, table.rows) + "\n"


def section(stored: Stored, about: str, figures: str) -> str:
    """One experiment: what it is, claims, plots, tables, notes."""
    result = stored.result
    versions = ", ".join(f"{package} {number}" for package, number in stored.versions.items())
    parts = [f"## {result.title}\n", about + "\n" if about else "", claims_table(result.claims) + "\n"]
    for name, caption in stored.captions.items():
        parts.append(f"```{{figure}} {figures}/{name}\n:alt: {caption}\n\n{caption}\n```\n")
    parts += [table_section(t) for t in result.tables if t.on_page and t.name != "against_paper"]
    parts += ["\n".join(f"- {note}" for note in result.notes) + "\n"] if result.notes else []
    commit = f"commit {stored.commit}; " if stored.commit else ""
    run = f"`python -m benchmarks {result.name}`, {stored.size} size, {stored.seconds:.0f} s"
    parts.append(f"{run}; {commit}{versions}.\n")
    return "\n".join(part for part in parts if part)


def page(stored: Sequence[Stored], figures: str, experiments: Sequence[Experiment] = EXPERIMENTS) -> str:
    """The whole page; ``figures`` is the folder of the plots as seen from it."""
    places = {experiment.name: place for place, experiment in enumerate(experiments)}
    about = {experiment.name: experiment.about for experiment in experiments}
    ordered = sorted(stored, key=lambda one: (places.get(one.result.name, len(places)), one.result.name))
    sections = [section(one, about.get(one.result.name, ""), figures) for one in ordered]
    return "\n".join([OPENING, summary(ordered), *sections])


def write_page(places: Places) -> Path:
    """Regenerate the page from all results that are stored."""
    figures = Path(os.path.relpath(places.figures, places.page.parent)).as_posix()
    places.page.parent.mkdir(parents=True, exist_ok=True)
    places.page.write_text(page(read_all(places.results), figures), encoding="utf-8")
    return places.page


if __name__ == "__main__":
    print(f"wrote {write_page(Places.in_repository()).name}")
