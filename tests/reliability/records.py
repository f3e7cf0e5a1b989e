"""Records: what a long run measured, kept beside the code so that the documentation can show it.

A run ends with ``keep(Record(...))``, which prints the figures and writes ``records/<name>.json``;
``python -m tests.reliability.report`` turns all records into ``docs/reliability.md``.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "records"


@dataclass(frozen=True)
class Figure:
    """One measured thing: what it is, what came out, what was asked for, and whether that holds (None: no demand)."""

    what: str
    value: str
    asked: str = ""
    holds: bool | None = None


@dataclass(frozen=True)
class Record:
    """One run: its title, the command that repeats it, its figures, and what a reader has to know beside them."""

    name: str
    title: str
    command: str
    figures: list[Figure]
    notes: list[str] = field(default_factory=list)


def keep(record: Record, folder: Path = FOLDER) -> None:
    """Print the figures and write ``<folder>/<name>.json``."""
    print(f"{record.title} ({record.command})")
    for figure in record.figures:
        verdict = {None: "", True: " - holds", False: " - DOES NOT HOLD"}[figure.holds]
        asked = f" (asked: {figure.asked})" if figure.asked else ""
        print(f"  {figure.what}: {figure.value}{asked}{verdict}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{record.name}.json").write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")


def kept(folder: Path = FOLDER) -> list[Record]:
    """All records, by name."""
    texts = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return [Record(**{**text, "figures": [Figure(**figure) for figure in text["figures"]]}) for text in texts]
