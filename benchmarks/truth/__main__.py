"""``python -m benchmarks.truth list | score | peers | page | make | check``: see README.md in this folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.truth.page import write_page
from benchmarks.truth.reading import KINDS, TruthError, names, read
from benchmarks.truth.score import score_file


def say(text: str) -> None:
    print(text, flush=True)


def show_list() -> None:
    for name in names():
        about = read(name).about
        kinds = ", ".join(f"{kind} {told['relative_error']:.1g}" for kind, told in about["kinds"].items())
        say(f"{name:<18} {len(about['features']):>2} features, {about['model']['kind']}: {about['title']}")
        say(f"{'':<18} relative error of the truth: {kinds}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="problems, kinds of values, and the error of the truth")
    scoring = commands.add_parser("score", help="how far a file of values is from the truth")
    scoring.add_argument("values", type=Path, help="a CSV file with the columns row and all features")
    scoring.add_argument("--problem", required=True)
    scoring.add_argument("--kind", required=True, choices=KINDS)
    making = commands.add_parser("make", help="make problems again (all by default)")
    making.add_argument("names", nargs="*")
    checking = commands.add_parser("check", help="checksums, and the truth by a second method")
    checking.add_argument("names", nargs="*")
    checking.add_argument("--again", action="store_true", help="also make each problem again and compare the files")
    running = commands.add_parser("peers", help="run packages (all by default), each in an environment of its own")
    running.add_argument("packages", nargs="*")
    running.add_argument("--problem", action="append", default=[], help="once or more; all by default")
    commands.add_parser("page", help="make the tables of README.md from files and record")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "list":
            show_list()
        elif chosen.command == "score":
            say(str(score_file(chosen.values, read(chosen.problem), chosen.kind)))
        elif chosen.command == "make":
            from benchmarks.truth.make import make, write_manifest

            for name in chosen.names or names():
                say(f"{name}: {make(name):.0f} s of the CPU")
            write_manifest()
            write_page()
        elif chosen.command == "peers":
            from benchmarks.truth.peers.registry import run_peers

            run_peers(chosen.packages, chosen.problem, say)
            write_page()
        elif chosen.command == "page":
            write_page()
        else:
            from benchmarks.truth.check import check

            return 0 if check(chosen.names or names(), chosen.again, say) else 1
    except (TruthError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
