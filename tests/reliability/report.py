"""Write ``docs/reliability.md`` from the records: ``python -m tests.reliability.report``, and after every run."""

from pathlib import Path

from tests.reliability.records import ROOT, Record, kept

PAGE = Path("docs") / "reliability.md"  # below the root
OPENING = """# Reliability

What was tried to break this package, and what came out. This page is written by `python -m tests.reliability.report`
from the records of the runs below; each record is the output of the command beside it.
"""
VERDICTS = {None: "", True: "yes", False: "**no**"}


def section(record: Record) -> str:
    """One record as a heading, its command, when and of what it was taken, a table and its notes."""
    taken = [f"at {record.commit}"] if record.commit else []
    taken += [f"on {record.date}"] if record.date else []
    lines = [
        f"## {record.title}",
        "",
        f"`{record.command}`" + (f", taken {' '.join(taken)}" if taken else ""),
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


def write_page(root: Path = ROOT) -> None:
    """The page of all records below ``root``."""
    (root / PAGE).parent.mkdir(exist_ok=True)
    (root / PAGE).write_text(page(kept(root)))


if __name__ == "__main__":
    write_page()
    print(f"wrote {PAGE} from {len(kept())} records")
