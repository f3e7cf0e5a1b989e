"""How much memory a piece of work takes: the peak of this process during it, above what was in use before (Linux)."""

from pathlib import Path
from types import TracebackType

_STATUS = Path("/proc/self/status")


def read_size(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


class Peak:
    """``with Peak() as peak: ...`` and then ``peak.used``, in bytes."""

    used = 0

    def __enter__(self) -> "Peak":
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
        self._before = read_size("VmRSS")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.used = read_size("VmHWM") - self._before
