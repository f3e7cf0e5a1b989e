"""The words of the command line, and what can be known to be wrong before the work starts: files, columns, edges, rows.

The standard library only, and everything here is quick: of a table only the beginning is read. A wrong file name is
answered before anything heavy is imported.
"""

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from re import fullmatch
from typing import Any, NamedTuple

from shap_asv.command.files import TABLES, nearby, read_layout, read_lines
from shap_asv.errors import ArgumentError, CausalGraphError, ModelError, NetworkError, TableError, did_you_mean

JOBS = ("demo", "explain", "check")

_DEMO = """\
Draw rows from a Bayesian network, train a decision tree on them, explain it by SHAP and by asymmetric Shapley values
(ASV), and write an interactive report."""

_EXPLAIN = """\
Explain a model of your own table by SHAP and by asymmetric Shapley values (ASV), and write an interactive report.
Say what causes what: a file of edges, levels, or a Bayesian network."""

_CHECK = """\
Does a causal graph fit a table? What it implies is tested, and what fails is told in words."""

_EXAMPLES = """\
examples:
  shap-asv explain --data patients.csv --target ill --levels age,sex smoker,bmi --out page
  shap-asv explain --data patients.csv --target ill --edges dag.csv --model model.joblib --trust-model
  shap-asv explain --data patients.csv --target ill --network expert.bif --rows 0:50"""


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shap-asv", description="SHAP and asymmetric Shapley values (ASV) side by side."
    )
    jobs = parser.add_subparsers(dest="job", required=True, metavar="{demo,explain,check}")
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
    _add_check(jobs.add_parser("check", help="does a causal graph fit a table?", description=_CHECK))
    return parser


def _add_check(parser: argparse.ArgumentParser) -> None:
    _add_table(parser)
    add = parser.add_mutually_exclusive_group(required=True).add_argument
    add("--edges", type=Path, metavar="CSV", help="what causes what: two columns, cause and effect")
    add("--network", metavar="BIF", help="a Bayesian network, of which the edges are taken")
    parser.add_argument("--alpha", type=float, default=0.05, help="probability of a false alarm; %(default)s")


def _add_table(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="the table: CSV with a header, Excel or parquet")
    add("--sep", help="what separates columns; by default it is recognised")
    add("--index", metavar="COLUMN", help="a column that names the rows; an unnamed first one is recognised; or none")
    add("--drop", default="", metavar="COLUMNS", help="columns to leave out, such as id,name")


def _add_demo(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--network", default="child", help="a bundled network (child, asia, cancer, ...) or a .bif file; %(default)s")
    add("--target", help="the node to predict (by default a telling one, else the last)")
    add("--state", help="explain the probability of this state of the target alone")
    add("--rows", type=_positive, default=300, help="rows to explain; %(default)s")
    _add_common(parser, Path("demo"), budget=20.0)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    _add_table(parser)
    add = parser.add_argument
    add("--target", required=True, metavar="COLUMN", help="the column that the model predicts")
    causes = parser.add_mutually_exclusive_group(required=True)
    causes.add_argument("--edges", type=Path, metavar="CSV", help="what causes what: two columns, cause and effect")
    causes.add_argument(
        "--levels", nargs="+", metavar="LEVEL", help="columns in order of time: age,sex smoker,bmi xray"
    )
    causes.add_argument("--network", metavar="BIF", help="a Bayesian network, which is the distribution as well")
    add(
        "--rest",
        choices=("free", "first", "last"),
        default="free",
        help="where columns stand that --levels does not name: anywhere, before or after all others; %(default)s",
    )
    add(
        "--model",
        type=Path,
        metavar="FILE",
        help="a fitted model, written by joblib or pickle; by default one is trained",
    )
    add("--trust-model", action="store_true", help="you trust --model: loading it runs whatever code is in it")
    add(
        "--rows",
        default="100",
        help="which rows: a number (so many at random), first:100, all, held-out, 10:20, 3,17,40, 'age>60', or a file; "
        "%(default)s",
    )
    add("--output", help="explain this output (class) alone; by default all, or the telling one of two")
    add(
        "--values",
        choices=("conditional", "marginal"),
        default="conditional",
        help="given what is known, or shap's expectation over background rows; %(default)s",
    )
    add("--sensitivity", action="store_true", help="also explain under every graph that differs in one edge")
    _add_common(parser, Path("page"), budget=120.0)


def _add_common(parser: argparse.ArgumentParser, out: Path, budget: float) -> None:
    add = parser.add_argument
    add("--methods", help="what stands side by side, such as 'marginal SHAP,conditional SHAP,ASV'")
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


#: Rows that are explained where no number is named.
MOST_ROWS = 100


class RowChoice(NamedTuple):
    """Which rows to explain: ``random``, ``first``, ``held-out``, ``all``, ``places`` (a slice or positions), ``where``
    (column, sign, value) or ``file``; ``most`` is how many at most.
    """

    kind: str
    most: int | None
    what: Any = None


def check_request(options: argparse.Namespace) -> argparse.Namespace:
    """The options of ``explain`` with the layout of the table, ``features``, ``edges``, ``levels`` and ``rows`` read as
    far as names go.

    Errors name the file or the column.
    """
    layout = read_layout(options.data, options.sep, options.index)
    columns = layout.columns
    dropped = _split(options.drop)
    _check_columns(dropped, columns, options.data, "--drop")
    if options.job == "check":
        kept = tuple(name for name in columns if name not in dropped)
        edges = None if options.edges is None else read_edges(options.edges, kept, "")
        if options.network is not None:
            find_network(options.network)
        return argparse.Namespace(**{**vars(options), "layout": layout, "edges": edges, "dropped": dropped})
    _check_columns([options.target], columns, options.data, "--target")
    features = tuple(name for name in columns if name != options.target and name not in dropped)
    if not features:
        raise TableError(
            f"{options.data} has no column beside the target {options.target!r}: there is nothing to explain"
        )
    edges = None if options.edges is None else read_edges(options.edges, features, options.target)
    levels = None if options.levels is None else read_levels(options.levels, features, options.rest)
    if options.network is not None:
        find_network(options.network)
    if options.model is not None:
        check_model(options.model, options.trust_model)
    if not options.budget > 0:
        raise ArgumentError(f"--budget is a positive number of seconds, not {options.budget}")
    check_out(options.out)
    rows = read_rows_choice(options.rows, columns)
    named = tuple(tuple(_split(level)) for level in options.levels or ())
    read = {"layout": layout, "features": features, "edges": edges, "levels": levels, "named": named, "rows": rows}
    return argparse.Namespace(**{**vars(options), **read})


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
    lines = read_lines(path)
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


def read_levels(levels: Sequence[str], features: Sequence[str], rest: str) -> tuple[tuple[str, ...], ...]:
    """Columns level by level; with ``rest`` "first" or "last" those that are not named are a level, too."""
    read = [tuple(_split(level)) for level in levels]
    named = [name for level in read for name in level]
    for name in named:
        if name not in features:
            raise CausalGraphError(f"--levels: {name!r} is not a feature{meant(name, features)}")
        if named.count(name) > 1:
            raise CausalGraphError(f"--levels: {name!r} stands in two levels; a feature has one place in time")
    unnamed = tuple(name for name in features if name not in named)
    if rest == "free" and unnamed and len([level for level in read if level]) < 2:
        raise CausalGraphError(
            f"--levels names one level, which puts nothing before anything: name a second one, or say where "
            f"{', '.join(unnamed[:4])}{', ...' if len(unnamed) > 4 else ''} stand: --rest last (or first)"
        )
    placed = {"first": (unnamed, *read), "last": (*read, unnamed), "free": tuple(read)}[rest]
    return tuple(level for level in placed if level)


def find_network(name: str) -> Path:
    """The file of a network: a path, or a name that pgmpy ships; without importing pgmpy."""
    path = Path(name)
    if path.suffix in (".bif", ".gz"):
        if not path.is_file():
            raise NetworkError(f"there is no file {name!r}{nearby(path)}")
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
        raise ModelError(f"there is no file {str(path)!r}{nearby(path)}")
    if not trusted:
        raise ModelError(
            f"{path} is a pickle: loading it runs whatever code is in it. If you made it, or trust who did, say so "
            "with --trust-model"
        )


def read_rows_choice(text: str, columns: Sequence[str]) -> RowChoice:
    """``100``, ``first:100``, ``all``, ``held-out``, ``10:20``, ``3,17,40``, ``age>60``, or the name of a file.

    >>> read_rows_choice("50", []), read_rows_choice("age >= 60", ["age"])
    (RowChoice(kind='random', most=50, what=None), RowChoice(kind='where', most=100, what=('age', '>=', '60')))
    """
    if text.lower().endswith(TABLES):
        read_layout(Path(text))
        return RowChoice("file", None, Path(text))
    if slice_ := fullmatch(r"\s*(\d*)\s*:\s*(\d*)\s*", text):
        start, stop = (int(part) if part else None for part in slice_.groups())
        if stop is None or (start or 0) < stop:
            return RowChoice("places", None, slice(start or 0, stop))
    elif fullmatch(r"\s*\d+\s*(,\s*\d+\s*)+", text):
        return RowChoice("places", None, [int(part) for part in text.split(",")])
    elif named := fullmatch(r"\s*(?:(random|first|held-out)\s*:?)?\s*(\d*)\s*", text):
        kind, count = named.groups()
        if (kind or count) and count != "0":
            return RowChoice(kind or "random", int(count or MOST_ROWS))
    elif text.strip() == "all":
        return RowChoice("all", None)
    elif condition := fullmatch(r"(.+?)\s*(<=|>=|!=|==|=|<|>)\s*(.+?)\s*(?::\s*(\d+))?", text.strip()):
        column, sign, value, count = condition.groups()
        if column not in columns:
            raise ArgumentError(f"--rows: the table has no column {column!r}{meant(column, columns)}")
        return RowChoice("where", int(count or MOST_ROWS), (column, "=" if sign == "==" else sign, value))
    raise ArgumentError(
        f"--rows is a number (so many at random), first:100, all, held-out, a slice such as 10:20, positions such as "
        f"3,17,40, a condition such as 'age>60', or a file; not {text!r}"
    )


def check_out(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ArgumentError(f"--out is a folder, and {str(out)!r} is a file; choose another name")
