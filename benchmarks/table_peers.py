"""Peers on tables: ``python -m benchmarks table_peers``.

The same table, the same model, the same coalitions: every participant says what the model's mean is given each
coalition, the same weights make ASV of it, and the error is against known mechanisms. Peers run in processes and
environments of their own (:mod:`benchmarks.peers.environments`); one that cannot be installed is left out, with a word.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.peers.environments import ENVIRONMENTS, Missing, installing_allowed, last_error, prepare
from benchmarks.peers.table_tasks import bike_work, level_work, linear_work, structural_work
from benchmarks.peers.table_work import TableAnswer, TableWork

ROOT = Path(__file__).parents[1]
TIME_LIMIT = 120
OURS = "shap_asv"
BIKES = "bike rentals"
PEEKING = "takes neighbours of the whole row for every coalition, and so sees what is to be left out: does not count"
#: shapr needs R, so that it cannot take part: relative errors of ASV computed from its v(S), measured elsewhere.
SHAPR = (
    ("linear Gaussian", 0.08, "Gaussian"),
    ("nonlinear", 0.38, "empirical"),
    ("heteroscedastic", 0.19, "Gaussian"),
    ("mixed", 0.16, "random forest density"),
)


@dataclass(frozen=True)
class Peer:
    """A participant: a runner with options, in an environment of its own or in ours. ``same=False``: another value.

    ``peeks``: its nu(S) sees the row beyond S, so that a score without a truth says nothing of it.
    """

    name: str
    runner: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    environment: str | None = None
    same: bool = True
    limit: float = TIME_LIMIT
    peeks: bool = False

    @property
    def ours(self) -> bool:
        return self.name.startswith(OURS)


CONDITIONAL = Peer(f"{OURS}, values='conditional'", "tables", {"who": "conditional"})
GAUSSIAN = Peer(f"{OURS}, GaussianModel", "tables", {"who": "gaussian"})
DOWHY = tuple(
    Peer(f"dowhy.gcm, mechanisms '{quality}'", "dowhy", {"what": "samples", "quality": quality}, "dowhy")
    for quality in ("GOOD", "BETTER")
)
INFLUENCE = Peer("dowhy.gcm, intrinsic influence", "dowhy", {"what": "influence"}, "dowhy", same=False, limit=60)
SHAPIQ = {
    name: Peer(f"shapiq, {name} imputer", "shapiq", {"imputer": name}, "shapiq", peeks=name == "generative")
    for name in ("gaussian", "copula", "generative", "marginal")
}
#: Peers that take longest: they are asked about the first variant of a structural model only.
SLOW = (DOWHY[1], SHAPIQ["generative"], SHAPIQ["marginal"], INFLUENCE)
LINEAR = (
    Peer(OURS, "tables", {"who": "linear"}),
    Peer("shap.LinearExplainer with covariance", "tables", {"who": "shap linear"}),
)
TREES = (
    Peer(OURS, "tables", {"who": "trees"}),
    Peer(f"{OURS}, levels", "tables", {"who": "trees in levels"}, same=False),
    Peer("shap.TreeExplainer", "tables", {"who": "shap trees"}),
    Peer("shapiq.TreeExplainer", "shapiq", {"imputer": "trees"}, "shapiq"),
)


def ask(peer: Peer, folder: Path, small: bool) -> TableAnswer | Missing:
    """What a participant answers; in this process when small, else in a fresh one."""
    module = f"benchmarks.peers.run_{peer.runner}"
    interpreter: Path | Missing = Path(sys.executable)
    if peer.environment is not None:
        interpreter = (
            Missing("a small run installs nothing")
            if small
            else prepare(ENVIRONMENTS[peer.environment], installing_allowed())
        )
    if isinstance(interpreter, Missing):
        return interpreter
    if small:
        return importlib.import_module(module).run(TableWork.read(folder), peer.options)
    path = folder / "answer.json"
    path.unlink(missing_ok=True)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = [str(interpreter), "-W", "ignore", "-m", module, str(folder), json.dumps(peer.options), str(path)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **threads}, capture_output=True, text=True, timeout=peer.limit
        )
    except subprocess.TimeoutExpired:
        return Missing(f"stopped after {peer.limit:g} s")
    if done.returncode:
        if peer.ours:
            raise RuntimeError(done.stderr)
        lines = [line for line in done.stderr.strip().splitlines() if line] or ["no message"]
        return Missing(f"fails: {last_error(lines[-1])}")
    return TableAnswer.read(path)


def answers(work: TableWork, peers: tuple[Peer, ...], small: bool) -> dict[Peer, TableAnswer | Missing]:
    with tempfile.TemporaryDirectory() as name:
        work.write(Path(name))
        return {peer: ask(peer, Path(name), small) for peer in peers}


# --- what comes out -----------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """One participant on one piece of work; ``error`` is None where there is none to be had."""

    work: str
    variant: int
    peer: Peer
    answer: TableAnswer
    error: float | None

    @property
    def seconds(self) -> float:
        return self.answer.fit + self.answer.seconds

    def row(self) -> tuple:
        answer = self.answer
        variant = self.variant
        return (self.work, variant, self.peer.name, answer.version, self.error, answer.fit, answer.seconds, answer.note)


def relative_error(phi: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(phi - truth).mean() / np.abs(truth).mean())


def of_structural_models(full: bool, progress: Progress, left_out: set) -> list[Outcome]:
    from tests.oracles.structural_models import KINDS

    found = []
    for kind, variant in progress.over([(kind, k) for kind in KINDS for k in range(3 if full else 1)], "structural"):
        work, model, truth = structural_work(kind, variant, full)
        peers = (CONDITIONAL, *DOWHY, *SHAPIQ.values(), INFLUENCE)
        peers = tuple(peer for peer in peers if variant == 0 or peer not in SLOW)
        for peer, answer in answers(work, peers, not full).items():
            if isinstance(answer, Missing):
                left_out.add((peer.name, kind, answer.reason))
                continue
            phi = model.asv(np.array(answer.nu)) if answer.values is None else np.array(answer.values)
            found.append(Outcome(kind, variant, peer, answer, relative_error(phi, truth)))
    return found


def of_levels(full: bool, progress: Progress, left_out: set) -> list[Outcome]:
    found = []
    for width in progress.over((12, 16) if full else (4,), "levels"):
        work, weights, truth = level_work(width, full)
        name = f"{width} Gaussian features in four levels, XGBoost"
        peers = (GAUSSIAN, SHAPIQ["gaussian"], SHAPIQ["copula"])
        for peer, answer in answers(work, peers, not full).items():
            if isinstance(answer, Missing):
                left_out.add((peer.name, name, answer.reason))
                continue
            found.append(Outcome(name, 0, peer, answer, relative_error(np.array(answer.nu) @ weights.matrix, truth)))
    return found


def of_bikes(full: bool, left_out: set) -> list[Outcome]:
    """The root mean square of ``f(x) - nu(S)`` over held-out days and coalitions, by their weight: no truth is needed,
    and nothing can beat the true conditional mean.
    """
    work, weights, predicted = bike_work(full)
    inner = work.coalitions.any(axis=1) & ~work.coalitions.all(axis=1)
    share = np.abs(np.asarray(weights.matrix.todense() if hasattr(weights.matrix, "todense") else weights.matrix))
    share = share.sum(axis=1)[inner] / share.sum(axis=1)[inner].sum()
    found = []
    peers = (CONDITIONAL, GAUSSIAN, DOWHY[0], *SHAPIQ.values())
    for peer, answer in answers(work, peers, not full).items():
        if isinstance(answer, Missing):
            left_out.add((peer.name, BIKES, answer.reason))
            continue
        answer.note = PEEKING if peer.peeks else answer.note
        misses = (predicted[:, None] - np.array(answer.nu)[:, inner]) ** 2
        found.append(Outcome(BIKES, 0, peer, answer, float(np.sqrt((misses @ share).mean()))))
    return found


def of_shapley_values(full: bool, progress: Progress, left_out: set) -> list[Outcome]:
    """Shapley values without causes, where shap has them: a linear model over Gaussian features, and XGBoost."""
    found = []
    for width in progress.over((12, 16) if full else (4,), "linear"):
        work, exact = linear_work(width, full)
        name = f"linear model, {width} Gaussian features"
        for peer, answer in answers(work, LINEAR, not full).items():
            if isinstance(answer, Missing):
                left_out.add((peer.name, name, answer.reason))
            else:
                error = relative_error(np.array(answer.values), exact)
                found.append(Outcome(name, 0, peer, answer, error))
    work = bike_work(full)[0]
    work = replace(work, rows=work.table[:100])
    name = "XGBoost on 100 days of bike rentals, cover counts"
    several = answers(work, TREES, not full)
    exact = np.array(several[TREES[2]].values)
    for peer, answer in several.items():
        if isinstance(answer, Missing):
            left_out.add((peer.name, name, answer.reason))
        else:
            error = relative_error(np.array(answer.values), exact) if peer.same else None
            found.append(Outcome(name, 0, peer, answer, error))
    return found


def claims(outcomes: list[Outcome], full: bool) -> list[Claim]:
    made = []
    for kind, *_ in SHAPR:
        own = [one for one in outcomes if one.work == kind and one.peer.same]
        errors: dict[str, dict[int, float]] = {}
        for one in own:
            errors.setdefault(one.peer.name, {})[one.variant] = float(one.error or 0.0)
        mine = errors.pop(CONDITIONAL.name, None)
        if mine is None:
            continue
        # on the variants that the peer was asked about
        pairs = {name: [(mine[v], error) for v, error in found.items()] for name, found in errors.items()}
        ratios = {name: float(np.divide(*np.mean(both, axis=0))) for name, both in pairs.items()}
        closest = max(ratios, key=ratios.__getitem__) if ratios else ""
        told = f"{np.mean(list(mine.values())):.3f}; " + (
            f"closest peer {np.mean(pairs[closest], axis=0)[1]:.3f} ({closest})" if ratios else "no peer took part"
        )
        worst = [own / error for both in pairs.values() for own, error in both]
        told += f"; at most {max(worst):.2f} times a peer's on a single variant" if worst else ""
        made.append(
            Claim(
                f"{kind}, DAG known: mean relative error of ASV lower than every peer's",
                "below every peer, on the same variants",
                told,
                ratios[closest] < 1 if full and ratios else None,
            )
        )
    trees = [one for one in outcomes if one.peer in TREES]
    mine_seconds = next(one.answer.seconds for one in trees if one.peer == TREES[0])
    others = {one.peer.name: one.answer.seconds / mine_seconds for one in trees if not one.peer.ours}
    made.append(
        Claim(
            "trees without a network: faster than every peer (woodelf, more rows: see the experiment trees_alone)",
            "more than 1 times our time",
            ", ".join(f"{name} {ratio:.2g} times" for name, ratio in others.items()),
            min(others.values()) > 1 if full else None,
        )
    )
    return made


def winners(outcomes: list[Outcome]) -> list[str]:
    """A sentence a piece of work: who has the lowest error, and who is quickest."""
    told = []
    for work in dict.fromkeys(one.work for one in outcomes):
        own = [one for one in outcomes if one.work == work and one.peer.same and one.error is not None]
        own = [one for one in own if work != BIKES or not one.peer.peeks]
        if len({one.peer for one in own}) < 2:
            continue
        mean = {p: float(np.mean([one.error or 0.0 for one in own if one.peer == p])) for p in {o.peer for o in own}}
        took = {p: float(np.mean([one.seconds for one in own if one.peer == p])) for p in mean}
        best, quickest = min(mean, key=mean.__getitem__), min(took, key=took.__getitem__)
        told.append(
            f"**{work}.** Lowest error: {best.name} ({mean[best]:.3g}). Quickest, fit included: {quickest.name} "
            f"({took[quickest]:.2g} s, error {mean[quickest]:.3g})."
        )
    return told


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    left_out: set[tuple[str, str, str]] = set()
    errors = of_structural_models(full, progress, left_out) + of_levels(full, progress, left_out)
    bikes = of_bikes(full, left_out)
    shapley = of_shapley_values(full, progress, left_out)
    columns = ("work", "variant", "participant", "version", "relative error", "fit, s", "values, s", "remark")
    scored = (*columns[:4], "miss on held-out days", *columns[5:])
    tables = [
        Table(
            "errors",
            columns,
            tuple(one.row() for one in errors),
            "Relative error is mean |error| / mean |ASV|, of ASV that the same weights make of what each participant "
            "says about the same coalitions; 1,024 draws each. "
            f"Asked about variant 0 only, because they take long: {', '.join(peer.name for peer in SLOW)}.",
        ),
        Table(
            "bikes",
            scored,
            tuple(one.row() for one in bikes),
            "Bike rentals have no known mechanisms. The root mean square of prediction minus nu(S), over held-out days "
            "and the coalitions of three levels, by their weight in ASV: smaller is better.",
        ),
        Table(
            "shapley",
            columns,
            tuple(one.row() for one in shapley),
            "Shapley values without causes. Errors of the linear models are against all coalitions in closed form, "
            "those of the trees against shap.TreeExplainer. Two rows go first and count as *fit*: what is compiled, "
            "loaded or sampled once is in it.",
        ),
        Table(
            "shapr",
            ("model", "relative error of its best variant", "variant"),
            SHAPR,
            "**Measured elsewhere**, not in this run: shapr (R) on four structural models of these kinds (2,000 rows, "
            "8 features, levels), the best of some fifteen variants, with true ASV computed from its v(S). Its own "
            '"asymmetric" values are weighted least squares, and give a null player 1.2 where ASV is 0.',
        ),
    ]
    if left_out:
        tables.append(Table("left_out", ("participant", "work", "why"), tuple(sorted(left_out))))
    outcomes = errors + bikes + shapley
    return Result(
        "table_peers", TABLE_PEERS.title, tuple(tables), tuple(claims(outcomes, full)), tuple(winners(outcomes))
    )


TABLE_PEERS = Experiment(
    "table_peers",
    "Peers on tables",
    run,
    about="Others on the same table, the same model and the same coalitions: dowhy.gcm with the DAG (means over its "
    "interventional samples, and its own attribution), shapiq's imputers, shap's LinearExplainer with covariance and "
    "TreeExplainer. The four structural models are those of *Your own table with a DAG*: 2,000 rows, 12 of them "
    "explained. CPU seconds of one thread, imports apart; compiling included.",
)
