"""The words of the command line, and what can be known to be wrong before the work starts: files, columns, edges, rows.

The standard library only, and everything here is quick: of a table only the header is read. A wrong file name is
answered before anything heavy is imported.
"""

import argparse
import csv
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    ModelError,
    NetworkError,
    RowsError,
    TableError,
    did_you_mean,
    nearest,
)

JOBS = ("demo", "explain")

_DEMO = """\
Draw rows from a Bayesian network, train a decision tree on them, explain it by SHAP and by asymmetric Shapley values
(ASV), and write an interactive report."""

_EXPLAIN = """\
Explain a model of your own table by SHAP and by asymmetric Shapley values (ASV), and write an interactive report.
Say what causes what: a file of edges, levels, or a Bayesian network."""

_EXAMPLES = """\
examples:
  python -m shap_asv explain --data patients.csv --target ill --levels age,sex smoker,bmi --out page
  python -m shap_asv explain --data patients.csv --target ill --edges dag.csv --model model.joblib --trust-model
  python -m shap_asv explain --data patients.csv --target ill --network expert.bif --rows 0:50"""


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shap_asv", description="SHAP and asymmetric Shapley values (ASV) side by side."
    )
    jobs = parser.add_subparsers(dest="job", required=True, metavar="{demo,explain}")
    _add_demo(jobs.add_parser("demo", help="the story on a bundled network", description=_DEMO))
    _add_explain(
        jobs.add_parser(
            "explain",
            help="your own table, and your own model",
            description=_EXPLAIN,
            epilog=_EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    return parser


def _add_demo(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--network", default="child", help="a bundled network (child, asia, cancer, ...) or a .bif file; %(default)s")
    add("--target", help="the node to predict (by default a telling one, else the last)")
    add("--state", help="explain the probability of this state of the target alone")
    add("--rows", type=_positive, default=300, help="rows to explain; %(default)s")
    _add_common(parser, Path("demo"), budget=20.0)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="CSV", help="the table: a header, then a line for each row")
    add("--target", required=True, metavar="COLUMN", help="the column that the model predicts")
    causes = parser.add_mutually_exclusive_group(required=True)
    causes.add_argument("--edges", type=Path, metavar="CSV", help="what causes what: two columns, cause and effect")
    causes.add_argument(
        "--levels", nargs="+", metavar="LEVEL", help="columns in order of time: age,sex smoker,bmi xray"
    )
    causes.add_argument("--network", metavar="BIF", help="a Bayesian network, which is the distribution as well")
    add(
        "--model",
        type=Path,
        metavar="FILE",
        help="a fitted model, written by joblib or pickle; by default one is trained",
    )
    add("--trust-model", action="store_true", help="you trust --model: loading it runs whatever code is in it")
    add(
        "--rows", default="100", help="which rows: a number (the first ...), 10:20, 3,17,40, or a CSV file; %(default)s"
    )
    add("--drop", default="", metavar="COLUMNS", help="columns to leave out, such as id,name")
    add("--output", help="explain this output (class) alone; by default all, or the telling one of two")
    add(
        "--values",
        choices=("conditional", "marginal"),
        default="conditional",
        help="given what is known, or shap's expectation over background rows; %(default)s",
    )
    _add_common(parser, Path("page"), budget=120.0)


def _add_common(parser: argparse.ArgumentParser, out: Path, budget: float) -> None:
    add = parser.add_argument
    add("--plan", action="store_true", help="only say what would be computed, and at what cost")
    add("--budget", type=float, default=budget, help="seconds that each side may take, about; %(default)s")
    add("--algorithm", default="auto", help="auto, exact, sampling, or a backend by name; %(default)s")
    add("--seed", type=int, default=0, help="of data, model and sampling; %(default)s")
    add("--out", type=Path, default=out, help="folder of the report, index.html; %(default)s")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


Edge = tuple[str, str]


#: Which rows to explain: a slice of the table, positions, or all rows of a file.
RowChoice = slice | list[int] | Path


def check_request(options: argparse.Namespace) -> argparse.Namespace:
    """The options of ``explain`` with ``features``, ``edges``, ``levels`` and ``rows`` read as far as names go.

    Errors name the file or the column.
    """
    columns = read_header(options.data)
    _check_columns([options.target], columns, options.data, "--target")
    dropped = _split(options.drop)
    _check_columns(dropped, columns, options.data, "--drop")
    features = tuple(name for name in columns if name != options.target and name not in dropped)
    if not features:
        raise TableError(
            f"{options.data} has no column beside the target {options.target!r}: there is nothing to explain"
        )
    edges = None if options.edges is None else read_edges(options.edges, features, options.target)
    levels = None if options.levels is None else read_levels(options.levels, features)
    if options.network is not None:
        find_network(options.network)
    if options.model is not None:
        check_model(options.model, options.trust_model)
    if not options.budget > 0:
        raise ArgumentError(f"--budget is a positive number of seconds, not {options.budget}")
    check_out(options.out)
    read = {"features": features, "edges": edges, "levels": levels, "rows": read_rows_choice(options.rows)}
    return argparse.Namespace(**{**vars(options), **read})


def read_header(path: Path) -> list[str]:
    """The names of the columns of a CSV file."""
    lines = _read_lines(path, 1)
    if not lines:
        raise TableError(f"{path} is empty; its first line should name the columns")
    names = [name.strip() for name in lines[0]]
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise TableError(f"{path} does not separate its columns by commas; write it with commas: {names[0]!r:.60}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TableError(f"{path} has the column {twice[0]!r} twice; rename one of them")
    return names


def _read_lines(path: Path, most: int | None = None) -> list[list[str]]:
    if not path.is_file():
        raise RowsError(f"there is no file {str(path)!r}{_nearby(path)}")
    try:
        with open(path, newline="", encoding="utf-8-sig") as stream:
            lines: list[list[str]] = []
            for line in csv.reader(stream):
                if any(cell.strip() for cell in line):
                    lines.append(line)
                if len(lines) == most:
                    break
            return lines
    except UnicodeDecodeError:
        raise TableError(f"{path} is not text in UTF-8; save it as CSV in UTF-8") from None


def _nearby(path: Path) -> str:
    folder = path.parent
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    near = nearest(path.name, names)
    return "" if near is None else f"; did you mean {str(folder / near)!r}?"


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _check_columns(wanted: Sequence[str], columns: Sequence[str], path: Path, option: str) -> None:
    for name in wanted:
        if name not in columns:
            raise TableError(f"{option}: {path} has no column {name!r}{meant(name, columns)}")


def meant(name: str, known: Sequence[str], what: str = "its columns are") -> str:
    """The end of an error about a name: the one that looks like it, or all there are."""
    return "; " + did_you_mean(name, known, f"{what} {', '.join(known)}")


def read_edges(path: Path, features: Sequence[str], target: str) -> tuple[Edge, ...]:
    """(cause, effect) of each line; a first line that names no columns of the table is a header."""
    lines = _read_lines(path)
    known = {*features, target}
    edges: list[Edge] = []
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in line]
        if len(cells) < 2:
            raise CausalGraphError(f"{path}: line {number + 1} is {line!r}; a line is a cause, a comma and its effect")
        if number == 0 and not set(cells[:2]) & known:
            continue
        for name in cells[:2]:
            if name not in known:
                raise CausalGraphError(
                    f"{path}: line {number + 1}: {name!r} is not a column of the table{meant(name, sorted(known))}"
                )
        edges.append((cells[0], cells[1]))
    if not edges:
        raise CausalGraphError(f"{path} has no edges; write a line for each: cause,effect")
    return tuple(edges)


def read_levels(levels: Sequence[str], features: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Columns level by level; those that are not named stand, as the last level, after all others."""
    read = [tuple(_split(level)) for level in levels]
    named = [name for level in read for name in level]
    for name in named:
        if name not in features:
            raise CausalGraphError(f"--levels: {name!r} is not a feature{meant(name, features)}")
        if named.count(name) > 1:
            raise CausalGraphError(f"--levels: {name!r} stands in two levels; a feature has one place in time")
    rest = tuple(name for name in features if name not in named)
    return tuple(level for level in (*read, rest) if level)


def find_network(name: str) -> Path:
    """The file of a network: a path, or a name that pgmpy ships; without importing pgmpy."""
    path = Path(name)
    if path.suffix in (".bif", ".gz"):
        if not path.is_file():
            raise NetworkError(f"there is no file {name!r}{_nearby(path)}")
        return path
    spec = find_spec("pgmpy")
    folders = (
        [Path(place) / "utils" / "example_models" for place in (spec.submodule_search_locations or [])] if spec else []
    )
    known = {file.name.removesuffix(".bif.gz"): file for folder in folders for file in folder.glob("*.bif.gz")}
    if name not in known:
        raise NetworkError(f"no network is called {name!r}{meant(name, sorted(known), 'known:')}; or give a .bif path")
    return known[name]


def check_model(path: Path, trusted: bool) -> None:
    if not path.is_file():
        raise ModelError(f"there is no file {str(path)!r}{_nearby(path)}")
    if not trusted:
        raise ModelError(
            f"{path} is a pickle: loading it runs whatever code is in it. If you made it, or trust who did, say so "
            "with --trust-model"
        )


def read_rows_choice(text: str) -> RowChoice:
    """``100``: the first hundred; ``10:20``; ``3,17,40``; or the name of a CSV file.

    >>> read_rows_choice("10:20")
    slice(10, 20, None)
    """
    if text.lower().endswith(".csv"):
        read_header(Path(text))
        return Path(text)
    try:
        if ":" in text:
            start, stop = (int(part) if part.strip() else None for part in text.split(":"))
            choice: RowChoice = slice(start or 0, stop)
            wrong = (start or 0) < 0 or (stop is not None and stop <= (start or 0))
        elif "," in text:
            positions = [int(part) for part in _split(text)]
            choice, wrong = positions, min(positions) < 0
        else:
            choice, wrong = slice(0, int(text)), int(text) < 1
    except ValueError:
        wrong = True
    if wrong:
        raise ArgumentError(
            f"--rows is a number (the first ...), a slice such as 10:20, positions such as 3,17,40, or a .csv file; "
            f"not {text!r}"
        )
    return choice


def check_out(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ArgumentError(f"--out is a folder, and {str(out)!r} is a file; choose another name")
