"""Peers on tables with a DAG: ``python -m benchmarks table_peers`` and ``table_peers_mixed``.

The same table, the same model, the same coalitions: every participant says what the model's mean is given each
coalition, the same weights make ASV of it, and the error is against known mechanisms. Peers run in processes and
environments of their own (:mod:`benchmarks.peers.workers`); one that cannot be installed is left out, with a word.
:mod:`benchmarks.table_peers_levels` has what knows no DAG.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.peers.environments import Missing
from benchmarks.peers.table_participants import CONDITIONAL, DOWHY, INFLUENCE, SHAPIQ, SLOW, Peer, answers
from benchmarks.peers.table_tasks import structural_work
from benchmarks.peers.table_work import TableAnswer, TableWork
from benchmarks.peers.workers import Workers

COLUMNS = ("work", "variant", "participant", "version", "relative error", "fit, s", "values, s", "remark")
PEEKING = "takes neighbours of the whole row for every coalition, and so sees what is to be left out"
#: shapr needs R, so that it cannot take part: relative errors of ASV computed from its v(S), measured elsewhere.
SHAPR = {
    "linear Gaussian": (0.08, "Gaussian"),
    "nonlinear": (0.38, "empirical"),
    "heteroscedastic": (0.19, "Gaussian"),
    "mixed": (0.16, "random forest density"),
}


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


def outcomes_of(
    name: str,
    work: TableWork,
    peers: tuple[Peer, ...],
    workers: Workers | None,
    left_out: set[tuple[str, str, str]],
    variant: int = 0,
) -> list[Outcome]:
    """What the participants answer, errors to be filled in; those without an answer go to ``left_out``."""
    found = []
    for peer, answer in answers(work, peers, workers).items():
        if isinstance(answer, Missing):
            left_out.add((peer.name, name, answer.reason))
            continue
        answer.note = PEEKING if peer.peeks else answer.note
        found.append(Outcome(name, variant, peer, answer, None))
    return found


def relative_error(phi: np.ndarray, truth: np.ndarray) -> float:
    """Mean |error| / mean |truth|, of the first rows where not all were explained."""
    truth = truth[: len(phi)]
    return float(np.abs(phi - truth).mean() / np.abs(truth).mean())


def of_structural_models(
    kinds: tuple[str, ...], full: bool, progress: Progress, workers: Workers | None, left_out: set
) -> list[Outcome]:
    outcomes = []
    for kind, variant in progress.over([(kind, k) for kind in kinds for k in range(3 if full else 1)], "structural"):
        work, model, truth = structural_work(kind, variant, full)
        peers = (CONDITIONAL, *DOWHY, *SHAPIQ.values(), INFLUENCE)
        peers = tuple(peer for peer in peers if variant == 0 or peer not in SLOW)
        for one in outcomes_of(kind, work, peers, workers, left_out, variant):
            answer = one.answer
            phi = model.asv(np.array(answer.nu)) if answer.values is None else np.array(answer.values)
            one.error = relative_error(phi, truth)
            outcomes.append(one)
    return outcomes


def claims(outcomes: list[Outcome], full: bool) -> list[Claim]:
    """A claim a kind of model: our mean error is lower than that of each peer."""
    made = []
    for kind in dict.fromkeys(one.work for one in outcomes):
        errors: dict[str, dict[int, float]] = {}
        for one in outcomes:
            if one.work == kind and one.peer.same:
                errors.setdefault(one.peer.name, {})[one.variant] = float(one.error or 0.0)
        mine = errors.pop(CONDITIONAL.name)
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
    return made


def winners(outcomes: list[Outcome], truth: bool = True) -> list[str]:
    """For each piece of work, a sentence: the lowest error, the quickest, and where we stand if it is not us.

    ``truth=False`` for scores without one: participants that see what is to be left out do not count.
    """
    told = []
    for work in dict.fromkeys(one.work for one in outcomes):
        own = [one for one in outcomes if one.work == work and one.peer.same and one.error is not None]
        own = [one for one in own if truth or not one.peer.peeks]
        if len({one.peer for one in own}) < 2:
            continue
        several = dict.fromkeys(one.peer for one in own)
        mean = {p: float(np.mean([one.error or 0.0 for one in own if one.peer == p])) for p in several}
        took = {p: float(np.mean([one.seconds for one in own if one.peer == p])) for p in several}
        rows = {p: float(np.mean([one.answer.seconds for one in own if one.peer == p])) for p in several}
        sentence = f"**{work}.**"
        for what, amounts, unit in (
            ("Lowest error", mean, ""),
            ("Quickest, fit included", took, " s"),
            ("Quickest once fitted", rows, " s"),
        ):
            first = min(amounts, key=amounts.__getitem__)
            ours = min((p for p in several if p.ours), key=amounts.__getitem__)
            error = f", error {mean[first]:.3g}" if unit else ""
            behind = "" if first.ours else f"; ours {amounts[ours]:.3g}{unit}"
            sentence += f" {what}: {first.name} ({amounts[first]:.3g}{unit}{error}{behind})."
        told.append(sentence)
    return told


def left_out_table(left_out: set[tuple[str, str, str]]) -> tuple[Table, ...]:
    return (Table("left_out", ("participant", "work", "why"), tuple(sorted(left_out))),) if left_out else ()


def workers_of(size: Size) -> Workers | nullcontext[None]:
    """Processes for a full run; a small one needs none."""
    return Workers() if size == "full" else nullcontext()


def run(name: str, title: str, kinds: tuple[str, ...], size: Size, progress: Progress) -> Result:
    left_out: set[tuple[str, str, str]] = set()
    with workers_of(size) as workers:
        outcomes = of_structural_models(kinds, size == "full", progress, workers, left_out)
    tables = (
        Table(
            "errors",
            COLUMNS,
            tuple(one.row() for one in outcomes),
            "Relative error is mean |error| / mean |ASV|, of ASV that the same weights make of what each participant "
            "says about the same coalitions; 1,024 draws each. "
            f"Asked about variant 0 only, because they take long: {', '.join(peer.name for peer in SLOW)}.",
        ),
        Table(
            "shapr",
            ("model", "relative error of its best variant", "variant"),
            tuple((kind, *SHAPR[kind]) for kind in kinds),
            "**Measured elsewhere**, not in this run: shapr (R) on structural models of these kinds (2,000 rows, "
            "8 features, levels), the best of some fifteen variants, with true ASV computed from its v(S). Its own "
            '"asymmetric" values are weighted least squares, and give a null player 1.2 where ASV is 0.',
        ),
    )
    made = tuple(claims(outcomes, size == "full"))
    return Result(name, title, tables + left_out_table(left_out), made, tuple(winners(outcomes)))


def experiment(name: str, kinds: tuple[str, ...]) -> Experiment:
    title = f"Peers on tables with a DAG: {' and '.join(kinds)} models"
    return Experiment(
        name,
        title,
        partial(run, name, title, kinds),
        about="Others on the same table, the same model and the same coalitions: dowhy.gcm with the DAG (means over "
        "its interventional samples, and its own attribution) and shapiq's imputers. The models are those of *Your own "
        "table with a DAG*: 2,000 rows, 8 of them explained. CPU seconds of one thread, imports apart; compiling "
        "included.",
    )


TABLE_PEERS = experiment("table_peers", ("linear Gaussian", "nonlinear"))
TABLE_PEERS_MIXED = experiment("table_peers_mixed", ("heteroscedastic", "mixed"))
