"""What goes to a participant and what comes back: files, so that every participant may have its own environment.

Imports numpy and the standard library alone, and runs on Python 3.9, because one of the peers comes for that version
only. A folder holds ``problem.json`` and ``problem.npz`` (network, causal graph, tree, rows), and ``model.pkl`` (that
tree as scikit-learn's object, for participants that run in the environment of this package). A participant answers
with attributions, times and the number of model calls.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ENOUGH = 1.0


class TreeModel:
    """A decision tree as a black box over codes (q, n) -> (q,), which counts its calls and the rows it was given."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.left, self.right, self.feature, self.threshold, self.value = (
            arrays[name] for name in ("left", "right", "feature", "threshold", "value")
        )
        self.calls = self.evaluated = 0

    def __call__(self, inputs: Any) -> np.ndarray:
        codes = np.asarray(inputs, dtype=float)
        self.calls += 1
        self.evaluated += len(codes)
        place = np.zeros(len(codes), dtype=np.int64)
        active = np.flatnonzero(self.left[place] >= 0)
        while active.size:
            node = place[active]
            below = codes[active, self.feature[node]] <= self.threshold[node]
            place[active] = np.where(below, self.left[node], self.right[node])
            active = active[self.left[place[active]] >= 0]
        return self.value[place]

    def used(self) -> list[int]:
        """The features that the tree looks at."""
        return sorted(set(self.feature[self.left >= 0].tolist()))


class TableModel:
    """A model written down: its value at each joint state of the features. It counts as :class:`TreeModel` does."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = table
        self.calls = self.evaluated = 0

    def __call__(self, inputs: Any) -> np.ndarray:
        codes = np.asarray(inputs).astype(np.int64)
        self.calls += 1
        self.evaluated += len(codes)
        return self.table[tuple(codes.T)]


@dataclass
class Problem:
    """A network over named nodes, the features among them, a causal graph over the features, a model and rows.

    ``tables[v]`` has shape (states of v, states of each parent); ``edges`` and ``rows`` count features from 0, and
    ``rows`` (r, n), ``background`` (b, n) hold codes of states. The model is a ``tree``, or the posterior of ``target``
    being in state 1 given the features, tabulated in ``extra["posterior"]``. ``fitted`` is the tree as scikit-learn's
    object; it is written but not read back, for not every participant could load it.
    """

    names: list[str]
    parents: list[list[int]]
    tables: list[np.ndarray]
    features: list[int]
    edges: list[list[int]]
    rows: np.ndarray
    tree: dict[str, np.ndarray] | None = None
    background: np.ndarray | None = None
    target: int | None = None
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    fitted: Any = None

    @property
    def feature_names(self) -> list[str]:
        return [self.names[v] for v in self.features]

    def model(self) -> TreeModel | TableModel:
        return TableModel(self.extra["posterior"]) if self.tree is None else TreeModel(self.tree)

    def write(self, folder: Path) -> None:
        """Into files of a folder."""
        arrays = {f"table_{v}": table for v, table in enumerate(self.tables)}
        arrays.update({f"tree_{name}": array for name, array in (self.tree or {}).items()})
        arrays.update({f"extra_{name}": array for name, array in self.extra.items()})
        arrays["rows"] = self.rows
        if self.background is not None:
            arrays["background"] = self.background
        np.savez(folder / "problem.npz", **arrays)
        plain = {name: getattr(self, name) for name in ("names", "parents", "features", "edges", "target")}
        (folder / "problem.json").write_text(json.dumps(plain), encoding="utf-8")
        if self.fitted is not None:
            (folder / "model.pkl").write_bytes(pickle.dumps(self.fitted))

    @classmethod
    def read(cls, folder: Path) -> Problem:
        """Back from :meth:`write`."""
        plain = json.loads((folder / "problem.json").read_text(encoding="utf-8"))
        with np.load(folder / "problem.npz") as file:
            arrays = dict(file)
        tables = [arrays[f"table_{v}"] for v in range(len(plain["names"]))]
        tree = {name[5:]: array for name, array in arrays.items() if name.startswith("tree_")}
        extra = {name[6:]: array for name, array in arrays.items() if name.startswith("extra_")}
        return cls(
            **plain,
            tables=tables,
            rows=arrays["rows"],
            tree=tree or None,
            background=arrays.get("background"),
            extra=extra,
        )


@dataclass
class Answer:
    """Attributions (r, n); seconds to set up and explain one row; seconds for all rows, once per round; model calls.

    Seconds are those of the CPU in one thread, so that other work on the machine does not count; ``wall`` holds what a
    clock on the wall showed meanwhile. ``values`` is None when the work was only begun and ``extrapolated`` says what
    the times stand for; ``uncounted`` says why there is no number of model calls.
    """

    version: str
    first: float
    warm: list[float]
    wall: list[float]
    values: list[list[float]] | None = None
    calls: int | None = None
    evaluated: int | None = None
    extrapolated: str = ""
    note: str = ""
    nu: list[list[float]] | None = None
    uncounted: str = ""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Answer:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def measure(
    build: Callable[[], Callable[[np.ndarray], Any]], problem: Problem, rounds: int, model: Any, version: str
) -> Answer:
    """Time ``build()`` with one row, then all rows ``rounds`` times; ``model`` counts the calls of the last round.

    A round that takes longer than :data:`ENOUGH` seconds is the last one.
    """
    start = time.process_time()
    explain = build()
    explain(problem.rows[:1])
    first = time.process_time() - start
    warm, wall = [], []
    for _ in range(rounds):
        if model is not None:
            model.calls = model.evaluated = 0
        start, clock = time.process_time(), time.perf_counter()
        values = explain(problem.rows)
        warm.append(time.process_time() - start)
        wall.append(time.perf_counter() - clock)
        if warm[-1] > ENOUGH:
            break
    answer = Answer(version, first, warm, wall, np.asarray(values, dtype=float).tolist())
    if model is not None:
        answer.calls, answer.evaluated = model.calls, model.evaluated
    return answer


def serve(run: Callable[[Path, Problem, dict[str, Any]], Answer], arguments: list[str]) -> None:
    """The main function of a participant: ``python -m benchmarks.peers.run_... FOLDER OPTIONS ANSWER``."""
    folder, options, path = arguments
    run(Path(folder), Problem.read(Path(folder)), json.loads(options)).write(Path(path))
