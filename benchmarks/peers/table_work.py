"""Work on tables: rows, coalitions and a model that goes to participants as files, and what comes back.

Imports numpy, pandas and scipy alone (XGBoost where the model is one), because every participant reads it in an
environment of its own. A participant answers with ``nu`` (rows, coalitions), of which the same weights make
attributions for all; or with attributions where it has a definition of its own.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from benchmarks.timing import shortest


@dataclass
class TableWork:
    """A table (t, n), rows (r, n) to explain and coalitions (m, n), all numbers; ``labels`` name codes of categories.

    ``kinds`` has a letter a column: "f" numbers, "i" counts, "b" bools, "c" categories. ``edges`` is the DAG, or None
    where only ``levels`` are known. ``model`` says what is explained: ``{"structural": kind, "variant": number}`` (a
    function of ``tests/oracles``), ``{"linear": slopes}``, or ``{"xgboost": text}`` with the model's own JSON.
    """

    names: list[str]
    kinds: str
    table: np.ndarray
    rows: np.ndarray
    coalitions: np.ndarray
    model: dict[str, Any]
    edges: list[list[str]] | None = None
    levels: list[list[str]] | None = None
    labels: dict[str, list[str]] = field(default_factory=dict)
    n_draws: int = 1024

    def write(self, folder: Path) -> None:
        np.savez(folder / "work.npz", table=self.table, rows=self.rows, coalitions=self.coalitions)
        plain = {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}
        plain = {name: value for name, value in plain.items() if not isinstance(value, np.ndarray)}
        (folder / "work.json").write_text(json.dumps(plain), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> TableWork:
        """Back from :meth:`write`."""
        with np.load(folder / "work.npz") as file:
            return cls(**json.loads((folder / "work.json").read_text(encoding="utf-8")), **file)

    def frame(self, matrix: np.ndarray) -> Any:
        """Rows as a DataFrame with labels, bools and counts."""
        import pandas as pd

        read = {"f": np.asarray, "i": lambda x: x.astype(np.int64), "b": lambda x: x > 0.5}
        columns: dict[str, Any] = {}
        for name, kind, column in zip(self.names, self.kinds, np.asarray(matrix, dtype=float).T, strict=True):
            if kind == "c":
                columns[name] = np.array(self.labels[name], dtype=object)[column.astype(np.int64)]
            else:
                columns[name] = read[kind](column)
        return pd.DataFrame(columns)

    @cached_property
    def _explained(self) -> Callable[[Any], np.ndarray]:
        if "structural" in self.model:
            from tests.oracles.structural_models import KINDS

            return KINDS[self.model["structural"]](self.model["variant"]).explained
        if "linear" in self.model:
            slopes = np.array(self.model["linear"])
            return lambda frame: np.asarray(frame, dtype=float) @ slopes
        booster = self.booster()
        return lambda frame: booster.inplace_predict(np.asarray(frame, dtype=float)).astype(float)

    @property
    def plain(self) -> bool:
        """Whether the model takes numbers as they are, without names and labels."""
        return "structural" not in self.model and set(self.kinds) == {"f"}

    def booster(self) -> Any:
        import xgboost

        booster = xgboost.Booster({"nthread": 1})
        booster.load_model(bytearray(self.model["xgboost"], encoding="utf-8"))
        return booster

    def regressor(self) -> Any:
        """The same as scikit-learn's kind of object, which some participants ask for."""
        import xgboost

        model = xgboost.XGBRegressor(n_jobs=1)
        model.load_model(bytearray(self.model["xgboost"], encoding="utf-8"))
        return model

    def background(self, count: int) -> np.ndarray | None:
        """The last rows of the table, as background rows; None for the cover counts of trees (0)."""
        return self.table[-count:] if count else None

    def predict_frame(self, frame: Any) -> np.ndarray:
        """The model at rows of a DataFrame that has the columns of :meth:`frame`, in any order."""
        return np.asarray(self._explained(frame[self.names]), dtype=float)

    def predict(self, matrix: Any) -> np.ndarray:
        """The model at rows (q, n) of numbers. Codes between two categories, as some imputers give, are rounded."""
        if self.plain:  # no DataFrame is needed, which would cost more than a model that is asked about few rows
            return np.asarray(self._explained(matrix), dtype=float)
        matrix = np.array(matrix, dtype=float)
        for place, kind in enumerate(self.kinds):
            if kind != "f":
                most = len(self.labels[self.names[place]]) - 1 if kind == "c" else 1 if kind == "b" else np.inf
                matrix[:, place] = np.clip(np.rint(matrix[:, place]), 0, most)
        return self.predict_frame(self.frame(matrix))


@dataclass
class TableAnswer:
    """nu (r, m) or attributions (r, n), the version, and CPU seconds to fit and to explain."""

    version: str
    fit: float
    seconds: float
    nu: list[list[float]] | None = None
    values: list[list[float]] | None = None
    note: str = ""

    def for_rows(self, n_rows: int, explained: int) -> TableAnswer:
        """The same if ``n_rows`` had been explained and not ``explained``, at the pace of these."""
        if n_rows == explained:
            return self
        note = f"timed on {explained} rows, and multiplied"
        return replace(self, seconds=self.seconds * n_rows / explained, note=note)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> TableAnswer:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def timed_values(
    version: str,
    work: TableWork,
    make: Callable[[], Any],
    explain: Callable[[Any, np.ndarray], Any],
    only: int | None = None,
) -> TableAnswer:
    """Attributions of all rows by ``explain(explainer, rows)``, the shortest of up to five times. Two rows go first,
    and count as making the explainer: whatever is compiled or loaded once is not timed with the rows. ``only``: as
    many rows are explained, and the time is multiplied.
    """
    start = time.process_time()
    explainer = make()
    explain(explainer, work.rows[:2])
    fit = time.process_time() - start
    rows = work.rows[:only]
    found: list[Any] = []
    seconds = shortest(lambda: found.append(explain(explainer, rows)), 5, enough=0.5)
    answer = TableAnswer(version, fit, seconds, values=np.asarray(found[0], dtype=float).tolist())
    return answer.for_rows(len(work.rows), len(rows))


def timed_answer(
    version: str, fit: Callable[[], Any], explain: Callable[[Any], Any], what: str = "nu", note: str = ""
) -> TableAnswer:
    """CPU seconds of ``fitted = fit()`` and of ``explain(fitted)``, whose result is ``nu`` or ``values``."""
    start = time.process_time()
    fitted = fit()
    between = time.process_time()
    found = np.asarray(explain(fitted), dtype=float)
    end = time.process_time()
    return TableAnswer(version, between - start, end - between, **{what: found.tolist()}, note=note)


def serve(run: Callable[[TableWork, dict[str, Any]], TableAnswer], libraries: tuple[str, ...]) -> None:
    """The main function of a participant's process: imports ``libraries``, then does what it is told line by line.

    A line is ``[FOLDER, OPTIONS, ANSWER, LIMIT, CLOCK]`` in JSON. A fork does the work and writes the answer; it is
    stopped after LIMIT seconds of the CPU, or CLOCK seconds by the clock. What is printed is how it ended: "done",
    "stopped after ...", or "fails", with the error on standard error.
    """
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not a reply
    for name in libraries:
        importlib.import_module(name)
    for line in iter(sys.stdin.readline, ""):
        folder, options, path, limit, clock = json.loads(line)
        child = os.fork()
        if not child:
            replies.close()
            signal.setitimer(signal.ITIMER_REAL, clock)
            _work(run, Path(folder), options, Path(path))
        print(_ending(child, limit, clock), file=replies, flush=True)


def _work(
    run: Callable[[TableWork, dict[str, Any]], TableAnswer], folder: Path, options: dict[str, Any], path: Path
) -> NoReturn:
    """One piece of work in a process of its own, which ends here."""
    failed = 1
    try:
        run(TableWork.read(folder), options).write(path)
        failed = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(failed)


def _ending(child: int, limit: float, clock: float) -> str:
    """Wait for a process, but for ``limit`` seconds of the CPU at most, and say how it ended.

    We look from outside: a timer of the system for the CPU's seconds (ITIMER_PROF, RLIMIT_CPU) would make
    ``time.process_time`` in that process as coarse as the scheduler's ticks.
    """
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if cpu_seconds(child) > limit:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"stopped after {limit:g} s of the CPU"
        time.sleep(0.02)
    code = os.waitstatus_to_exitcode(ended[1])
    return f"stopped after {clock:g} s by the clock" if code == -signal.SIGALRM else "fails" if code else "done"


def cpu_seconds(process: int) -> float:
    """What a process has taken so far; 0 on a system that has no ``/proc``, where only the clock counts."""
    try:
        told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0.0
    user, system = told.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
