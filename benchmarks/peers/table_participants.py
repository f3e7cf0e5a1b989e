"""Who takes part on tables: this package, dowhy.gcm, shapiq, shap and woodelf; and how they are asked."""

from __future__ import annotations

import importlib
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import ENVIRONMENTS, Missing, installing_allowed, prepare
from benchmarks.peers.table_work import TableAnswer, TableWork
from benchmarks.peers.workers import Workers

#: Seconds of the CPU that a participant has for one piece of work.
TIME_LIMIT = 90
OURS = "shap_asv"
#: Background rows of trees, where they are not asked by their cover counts.
GROUND = 100


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
INFLUENCE = Peer("dowhy.gcm, intrinsic influence", "dowhy", {"what": "influence", "rows": 3}, "dowhy", same=False)
SHAPIQ = {
    name: Peer(f"shapiq, {name} imputer", "shapiq", {"imputer": name}, "shapiq", peeks=name == "generative")
    for name in ("gaussian", "copula", "generative", "marginal")
}
WHOLE_TABLE = Peer(OURS, "tables", {"who": "whole table"})
#: On a thousand rows, of which they are asked about a part.
SOME_ROWS = {
    "DAG": (Peer("dowhy.gcm", "dowhy", {"what": "samples", "quality": "GOOD", "rows": 50}, "dowhy"),),
    "levels": tuple(
        Peer(f"shapiq, {name} imputer", "shapiq", {"imputer": name, "rows": 50}, "shapiq")
        for name in ("gaussian", "copula")
    ),
}
#: Peers that take longest: they are asked about the first variant of a structural model only.
SLOW = (DOWHY[1], SHAPIQ["generative"], SHAPIQ["marginal"], INFLUENCE)
LINEAR = (
    Peer(OURS, "tables", {"who": "linear"}),
    Peer("shap.LinearExplainer with covariance", "tables", {"who": "shap linear"}),
)


def tree_peers(ground: int) -> tuple[Peer, ...]:
    """Participants on trees with ``ground`` background rows; ours first, then the one that errors are against."""
    peers = (
        Peer(OURS, "tables", {"who": "trees", "ground": ground}),
        Peer("shap.TreeExplainer", "tables", {"who": "shap trees", "ground": ground}),
        Peer(f"{OURS}, levels", "tables", {"who": "trees in levels", "ground": ground}, same=False),
        Peer("woodelf", "woodelf_table", {"ground": ground}, "woodelf"),
    )
    return peers if ground else (*peers, Peer("shapiq.TreeExplainer", "shapiq", {"imputer": "trees"}, "shapiq"))


def ask(peer: Peer, folder: Path, workers: Workers | None) -> TableAnswer | Missing:
    """What a participant answers, in its process; a small run has no ``workers``, and stays in this one."""
    module = f"benchmarks.peers.run_{peer.runner}"
    if workers is None:
        if peer.environment is not None:
            return Missing("a small run installs nothing")
        return importlib.import_module(module).run(TableWork.read(folder), peer.options)
    interpreter: Path | Missing = Path(sys.executable)
    if peer.environment is not None:
        interpreter = prepare(ENVIRONMENTS[peer.environment], installing_allowed())
        if isinstance(interpreter, Missing):
            return interpreter
    answer = workers.of(interpreter, module).ask(folder, peer.options, TIME_LIMIT)
    if peer.ours and isinstance(answer, Missing):
        raise RuntimeError(f"{peer.name} {answer.reason}")
    return answer


def answers(work: TableWork, peers: tuple[Peer, ...], workers: Workers | None) -> dict[Peer, TableAnswer | Missing]:
    with tempfile.TemporaryDirectory() as name:
        work.write(Path(name))
        return {peer: ask(peer, Path(name), workers) for peer in peers}
