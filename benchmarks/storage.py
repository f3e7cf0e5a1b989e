"""Results on disk: ``<name>.json`` with everything, ``<name>_<table>.csv`` with each table, and the plots."""

import csv
import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.experiment import Claim, Plot, Result, Size, Table

ROOT = Path(__file__).parents[1]
STATED_VERSIONS = ("numpy", "scipy", "scikit-learn", "networkx", "numba", "pgmpy", "shap")


@dataclass(frozen=True)
class Places:
    """Where results, plots and the page go."""

    results: Path
    figures: Path
    page: Path

    @classmethod
    def in_repository(cls) -> "Places":
        docs = ROOT / "docs"
        return cls(ROOT / "benchmarks" / "results", docs / "figures" / "benchmarks", docs / "benchmarks.md")

    @classmethod
    def under(cls, folder: Path) -> "Places":
        return cls(folder / "results", folder / "figures", folder / "benchmarks.md")


@dataclass(frozen=True)
class Stored:
    """A result with what is needed to read it later: size and CPU seconds of the run, versions, captions of its plots.

    ``commit`` is that of the code, see :func:`commit_of_code`; "" where it is not known.
    """

    result: Result
    size: Size
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)
    captions: dict[str, str] = field(default_factory=dict)
    commit: str = ""


def installed_versions() -> dict[str, str]:
    """Python and the packages that times depend on."""
    found = {"python": platform.python_version()}
    for package in STATED_VERSIONS:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def commit_of_code(root: Path = ROOT) -> str:
    """The commit that is checked out, with "-dirty" if package or benchmarks differ from it; "" without git.

    Stored results are not code: a run that follows another one is not dirty because of it.
    """
    code = ("shap_asv", "benchmarks", ":(exclude)benchmarks/results")
    try:
        commit = _git(root, "rev-parse", "--short", "HEAD")
        changed = _git(root, "status", "--porcelain", "--", *code)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{commit}-dirty" if changed else commit


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def keep(result: Result, plots: Sequence[Plot], size: Size, seconds: float, places: Places, commit: str = "") -> Stored:
    """Write a result, its tables and its plots; files of an earlier run of the same experiment go first."""
    places.results.mkdir(parents=True, exist_ok=True)
    places.figures.mkdir(parents=True, exist_ok=True)
    for earlier in read_all(places.results):
        if earlier.result.name == result.name:
            for table in earlier.result.tables:
                (places.results / f"{result.name}_{table.name}.csv").unlink(missing_ok=True)
            for name in earlier.captions:
                (places.figures / name).unlink(missing_ok=True)
    captions = {}
    for plot in plots:
        name = f"{result.name}_{plot.name}.png"
        plot.figure.savefig(places.figures / name, dpi=110, bbox_inches="tight", metadata={"Software": None})
        captions[name] = plot.caption
    stored = Stored(result, size, round(seconds, 1), installed_versions(), captions, commit)
    text = json.dumps(asdict(stored), indent=1, ensure_ascii=False)
    (places.results / f"{result.name}.json").write_text(text + "\n", encoding="utf-8")
    for table in result.tables:
        with (places.results / f"{result.name}_{table.name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows(table.rows)
    return stored


def read(path: Path) -> Stored:
    """One stored result."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    plain = stored.pop("result")
    result = Result(
        plain["name"],
        plain["title"],
        tuple(Table(**table) for table in plain["tables"]),
        tuple(Claim(**claim) for claim in plain["claims"]),
        tuple(plain["notes"]),
    )
    return Stored(result, **stored)


def read_all(folder: Path) -> list[Stored]:
    """All stored results of a folder, by name."""
    return [read(path) for path in sorted(folder.glob("*.json"))]


def say(text: str) -> None:
    """One line to standard output, at once."""
    print(text, file=sys.stdout, flush=True)
