"""The peers, one row each, and how they are run: every problem, kind and way in a process of its own."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.environments import Environment, Missing, last_error, prepare
from benchmarks.truth.reading import HERE, KINDS, Problem, TruthError, names, read
from benchmarks.truth.score import score_file

RECORD = HERE / "scores.csv"
COLUMNS = ("problem", "kind", "package", "way", "knows", "version", "relative", "largest", "floor", "gap", "fit",
           "seconds", "megabytes", "remark")  # fmt: skip
LIMIT = 900  # seconds by the clock
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Way:
    """A way of a package: for which kinds and problems, and whether it is told more than table and graph."""

    name: str
    kinds: tuple[str, ...]
    suits: Callable[[Problem], bool] = lambda problem: True
    knows: str = "table"


@dataclass(frozen=True)
class Peer:
    """A package: the module that runs it, what to install (nothing: it is installed here), and its ways."""

    name: str
    module: str
    ways: tuple[Way, ...]
    requirements: tuple[str, ...] = ()
    python: str = ""


def model_in(*kinds: str) -> Callable[[Problem], bool]:
    return lambda problem: problem.about["model"]["kind"] in kinds


def at_most(n: int) -> Callable[[Problem], bool]:
    return lambda problem: len(problem.features) <= n


def numbers(problem: Problem) -> bool:
    return all(one["kind"] == "number" for one in problem.about["features"])


def states(problem: Problem) -> bool:
    return not any(one["kind"] == "number" for one in problem.about["features"])


def a_whole_dag(problem: Problem) -> bool:
    return problem.graph["orders"] == "dag" and "confounded_pairs" not in problem.graph


def linear_gaussian(problem: Problem) -> bool:
    return problem.distribution["kind"] == "gaussian" and "seen_as" not in problem.distribution


TREES = model_in("xgboost", "lightgbm")
GIVEN = ("conditional", "asymmetric")

PEERS = (
    Peer(
        "shap_asv",
        "benchmarks.truth.peers.run_shap_asv",
        (
            Way("table", ("marginal", *GIVEN)),
            Way("table", ("causal",), lambda problem: problem.graph["orders"] == "levels" or a_whole_dag(problem)),
            Way("gaussian", GIVEN, numbers),
            Way("copula", GIVEN, numbers),
            Way("donors", GIVEN),
            Way("counted network", KINDS, lambda problem: states(problem) and a_whole_dag(problem)),
            Way("cover counts", ("asymmetric",), lambda problem: numbers(problem) and TREES(problem), "trees alone"),
            Way("true network", KINDS, states, "the distribution"),
            Way("true Gaussian", GIVEN, linear_gaussian, "the distribution"),
        ),
    ),
    Peer(
        "shap",
        "benchmarks.truth.peers.run_shap",
        (
            Way("linear", ("marginal", "conditional"), model_in("linear")),
            Way("exact", ("marginal",), at_most(12)),
            Way("permutation", ("marginal",)),
            Way("tree", ("marginal",), TREES),
            Way("tree", ("conditional",), TREES, "trees alone"),
        ),
        ("shap", "xgboost-cpu", "lightgbm"),
        python="3.12",
    ),
)


def run(peer: Peer, way: Way, interpreter: str, problem: Problem, kind: str) -> dict[str, str]:
    """A row of the record; with a remark in place of figures where the package fails."""
    row = {"problem": problem.about["name"], "kind": kind, "package": peer.name, "way": way.name, "knows": way.knows}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "values.csv"
        command = [interpreter, "-W", "ignore", "-m", peer.module, row["problem"], kind, way.name, str(file)]
        root, environment = HERE.parents[1], {**os.environ, **ONE_THREAD}
        try:
            done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=LIMIT)
            if done.returncode:
                return row | {"remark": last_error(done.stderr)}
            told = json.loads(done.stdout.splitlines()[-1])
            found = score_file(file, problem, kind)
        except subprocess.TimeoutExpired:
            return row | {"remark": f"no answer within {LIMIT} s"}
        except ValueError as refused:
            return row | {"remark": str(refused)}
    figures = {name: f"{getattr(found, name):.4g}" for name in ("relative", "largest", "floor", "gap")}
    times = {name: f"{told[name]:.3g}" for name in ("fit", "seconds", "megabytes")}
    return row | {"version": told["version"]} | figures | times


def runs(peer: Peer, chosen: Iterable[str]) -> list[tuple[Problem, str, Way]]:
    """What the ways of a peer suit."""
    problems = [read(name) for name in chosen]
    return [
        (problem, kind, way)
        for problem in problems
        for kind in problem.about["kinds"]
        for way in peer.ways
        if kind in way.kinds and way.suits(problem)
    ]


def read_record(path: Path = RECORD) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def keep(rows: list[dict[str, str]], path: Path = RECORD) -> None:
    """Puts rows into the record, in the place of those of the same problem, kind, package and way."""

    def key(row: dict[str, str]) -> tuple[str, ...]:
        return tuple(row[name] for name in COLUMNS[:4])

    merged = {key(row): row for row in (*read_record(path), *rows)}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(merged[place] for place in sorted(merged))


def run_peers(chosen: Iterable[str], problems: Iterable[str], say: Callable[[str], None]) -> None:
    """Runs peers on problems (all by default) and keeps the record after each problem and kind."""
    wanted, problems = list(chosen), list(problems) or names()
    unknown = set(wanted) - {peer.name for peer in PEERS}
    if unknown:
        raise TruthError(f"there is no peer {', '.join(unknown)}; there are: {', '.join(p.name for p in PEERS)}")
    for peer in PEERS:
        if wanted and peer.name not in wanted:
            continue
        made = prepare(Environment(f"truth_{peer.name}", peer.requirements, peer.python)) if peer.requirements else None
        if isinstance(made, Missing):
            say(f"{peer.name}: {made.reason}")
            continue
        for problem, kind, way in runs(peer, problems):
            row = run(peer, way, str(made or sys.executable), problem, kind)
            keep([row])
            told = row.get("remark") or f"relative error {row['relative']}, {row['fit']} s and {row['seconds']} s"
            say(f"{peer.name}, {way.name}: {row['problem']}, {kind}: {told}")
