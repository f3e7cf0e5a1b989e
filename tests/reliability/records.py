"""Records: what a long run measured, kept beside the code so that the documentation can show it.

A run ends with ``keep(Record(...))``, which prints the figures, writes ``records/<name>.json`` and makes
``docs/reliability.md`` anew of all records.
"""

import json
import subprocess
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path("tests") / "reliability" / "records"  # below the root


@dataclass(frozen=True)
class Figure:
    """One measured thing: what it is, what came out, what was asked for, and whether that holds (None: no demand)."""

    what: str
    value: str
    asked: str = ""
    holds: bool | None = None


@dataclass(frozen=True)
class Record:
    """One run: its title, the command that repeats it, its figures, and what a reader has to know beside them.

    ``commit`` and ``date`` are filled in by :func:`keep`; old records have none.
    """

    name: str
    title: str
    command: str
    figures: list[Figure]
    notes: list[str] = field(default_factory=list)
    commit: str = ""
    date: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing that was asked for is missed."""
        return all(figure.holds is not False for figure in self.figures)


def present_commit(root: Path = ROOT) -> str:
    """The commit that is checked out, ``-dirty`` if code or tests differ from it; empty where git does not know."""
    watched = ["shap_asv", "tests", f":(exclude){FOLDER.as_posix()}"]
    try:
        commit = _git(root, "rev-parse", "--short", "HEAD")
        return commit + ("-dirty" if _git(root, "status", "--porcelain", "--", *watched) else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def show(record: Record) -> None:
    """Print the figures."""
    print(f"{record.title} ({record.command})")
    for figure in record.figures:
        verdict = {None: "", True: " - holds", False: " - DOES NOT HOLD"}[figure.holds]
        asked = f" (asked: {figure.asked})" if figure.asked else ""
        print(f"  {figure.what}: {figure.value}{asked}{verdict}")


def keep(record: Record, root: Path = ROOT, fewer_than: str = "") -> int:
    """Print the figures, write ``<name>.json`` with commit and date, and the page of all records.

    ``fewer_than`` says what a run was short of: it is shown only. Returns 0 where everything holds, else 1.
    """
    from tests.reliability.report import write_page

    show(record)
    if fewer_than:
        print(*record.notes, f"no record is kept of fewer than {fewer_than}", sep="\n")
        return 0 if record.holds else 1
    record = replace(record, commit=present_commit(root), date=datetime.now(UTC).date().isoformat())
    path = root / FOLDER / f"{record.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")  # another run may read all records meanwhile
    partial.write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")
    partial.replace(path)
    write_page(root)
    return 0 if record.holds else 1


def kept(root: Path = ROOT) -> list[Record]:
    """All records, by name."""
    texts = [json.loads(path.read_text()) for path in sorted((root / FOLDER).glob("*.json"))]
    return [Record(**{**text, "figures": [Figure(**figure) for figure in text["figures"]]}) for text in texts]


def before(name: str, root: Path = ROOT) -> list[Figure]:
    """The figures of the last record of that name, each with the commit at which it was taken."""
    return [
        figure
        if "; at " in figure.value
        else replace(figure, value=f"{figure.value}; at {record.commit or 'an earlier commit'}")
        for record in kept(root)
        if record.name == name
        for figure in record.figures
    ]
