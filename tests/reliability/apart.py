"""Work in a process of its own, and how much memory a piece of work takes (Linux)."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.reliability.records import ROOT

_STATUS = Path("/proc/self/status")


def apart(module: str, *arguments: str, python: str = sys.executable) -> list[Any]:
    """The lines of JSON that ``python -m tests.reliability.<module> ...`` prints; an error with what it said."""
    command = [python, "-W", "ignore", "-m", f"tests.reliability.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def read_size(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


class Peak:
    """``with Peak() as peak: ...`` and then ``peak.used``, in bytes: above what was in use before."""

    used = 0

    def __enter__(self) -> "Peak":
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
        self._before = read_size("VmRSS")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.used = read_size("VmHWM") - self._before
