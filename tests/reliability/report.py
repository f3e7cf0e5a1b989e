"""Write ``docs/reliability.md`` from the records: ``python -m tests.reliability.report``."""

from pathlib import Path

from tests.reliability.records import Record, kept

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
OPENING = """# Reliability

What was tried to break this package, and what came out. This page is written by `python -m tests.reliability.report`
from the records of the runs below; each record is the output of the command beside it.
"""
VERDICTS = {None: "", True: "yes", False: "**no**"}


def section(record: Record) -> str:
    """One record as a heading, its command, a table and its notes."""
    lines = [
        f"## {record.title}",
        "",
        f"`{record.command}`",
        "",
        "| what | measured | asked | holds |",
        "|---|---|---|---|",
    ]
    lines += [f"| {f.what} | {f.value} | {f.asked} | {VERDICTS[f.holds]} |" for f in record.figures]
    lines += ["", *(f"- {note}" for note in record.notes)] if record.notes else []
    return "\n".join(lines) + "\n"


def page(records: list[Record]) -> str:
    """The whole page."""
    return "\n".join([OPENING, *map(section, records)])


if __name__ == "__main__":
    PAGE.write_text(page(kept()))
    print(f"wrote {PAGE.name} from {len(kept())} records")
