"""The words of the command line. Nothing is imported here that takes time."""

import argparse
from pathlib import Path

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
    add("--depth", type=_positive, default=5, help="depth of the decision tree; %(default)s")
    _add_common(parser, Path("demo"))


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
    add("--plan", action="store_true", help="only say what would be computed, and at what cost")
    add("--budget", type=float, default=120.0, help="seconds that each side may take, about; %(default)s")
    _add_common(parser, Path("page"))


def _add_common(parser: argparse.ArgumentParser, out: Path) -> None:
    add = parser.add_argument
    add("--algorithm", default="auto", help="auto, exact, sampling, or a backend by name; %(default)s")
    add("--seed", type=int, default=0, help="of data, model and sampling; %(default)s")
    add("--out", type=Path, default=out, help="folder of the report, index.html; %(default)s")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number
