"""Processes that stay: one for each runner and environment, which imports its library once and then does piece after
piece of work.

Each piece is a fork of that process (:func:`benchmarks.peers.table_work.serve`), so that it starts from the imports
and nothing else, and one that is stopped or falls over takes no other with it. A process that is gone is started
again for the next piece.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from benchmarks.peers.environments import Missing, last_error
from benchmarks.peers.table_work import TableAnswer

ROOT = Path(__file__).parents[2]
#: How many seconds by the clock a second of the CPU may take, on a machine with other work.
PATIENCE = 5
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@dataclass
class Worker:
    """``python -m module`` by an interpreter, asked through its input and answering by lines."""

    interpreter: Path
    module: str
    process: subprocess.Popen[str] | None = None
    errors: IO[str] | None = None

    def ask(
        self, folder: Path, options: dict[str, Any], limit: float, patience: float = PATIENCE
    ) -> TableAnswer | Missing:
        """The answer about the work in a folder, within ``limit`` seconds of the CPU and ``patience`` times as many by
        the clock; or why there is none.
        """
        path = folder / "answer.json"
        told = self._told([str(folder), options, str(path), limit, patience * limit])
        if told == "done":
            return TableAnswer.read(path)
        return Missing(f"fails: {self._last_words()}" if told == "fails" else told)

    def _told(self, request: list[Any]) -> str:
        """How one piece of work ended; "fails" also if the whole process is gone."""
        if self.process is None or self.process.poll() is not None:
            self.close()
            self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - the process writes to it until it is closed
            self.process = subprocess.Popen(
                [str(self.interpreter), "-W", "ignore", "-m", self.module],
                cwd=ROOT,
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
            )
        assert self.errors is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.errors.seek(0)
        self.errors.truncate()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        told = self.process.stdout.readline()
        if not told:
            self.process.wait()
        return told.strip() or "fails"

    def _last_words(self) -> str:
        assert self.errors is not None
        self.errors.seek(0)
        lines = [line for line in self.errors.read().splitlines() if line.strip()] or ["no message"]
        return last_error(lines[-1])

    def close(self) -> None:
        """End the process; one that is asked again is started anew."""
        if self.process is not None:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.close()  # it has nothing more to read, and ends
            self.process.wait()
            self.process.stdout.close()
        if self.errors is not None:
            self.errors.close()
        self.process = self.errors = None


@dataclass
class Workers:
    """The processes of one run, by interpreter and module; they end with the block that they were opened in."""

    found: dict[tuple[Path, str], Worker] = field(default_factory=dict)

    def of(self, interpreter: Path, module: str) -> Worker:
        return self.found.setdefault((interpreter, module), Worker(interpreter, module))

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.found.values():
            worker.close()
