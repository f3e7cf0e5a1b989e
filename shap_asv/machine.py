"""How slow this machine is, compared with the one on which the costs of backends were measured.

A backend counts its operations and knows what one took on that machine; a plan multiplies with one number, the
*slowness* of this machine. A few loops of Python and numpy tell it, in about a third of a second and without a
compiler. They run once: the number is kept on disk where compiled code is kept, under the name of the processor.

One number, so that it never changes which backend is the cheapest, only whether it is within the budget. It is rounded
to quarter powers of two: plans should not hang on the last digit of a stopwatch.
"""

import json
import math
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from time import thread_time

import numpy as np

#: Seconds of planned work from which it is worth knowing.
WORTH_KNOWING = 1.0
# How often each loop runs: the fastest counts, the others were disturbed.
_REPEATS = 5
# Nothing is that much faster or slower: then the stopwatch was wrong.
_LEAST, _MOST = 1 / 16, 16.0

_known: float | None = None
_looked_up = False  # once a process: small calls make many plans


def slowness(worth_measuring: bool) -> float:
    """Seconds that work takes here for each second that it took where costs were measured.

    Looked up, or measured where that is worth it; 1 where neither.
    """
    global _known, _looked_up
    if _known is None and not _looked_up:
        _known, _looked_up = _read(), True
    if _known is None and worth_measuring:
        _known = measure()
        _write(_known)
    return 1.0 if _known is None else _known


def measure() -> float:
    """The geometric mean over the loops of time here by time there, rounded.

    Examples
    --------
    >>> 1 / 16 <= measure() <= 16
    True
    """
    logarithms = [math.log2(_fastest(loop) / there) for loop, there in _LOOPS]
    found = 2.0 ** (round(4 * sum(logarithms) / len(logarithms)) / 4)
    return min(_MOST, max(_LEAST, found))


def _fastest(loop: Callable[[], object]) -> float:
    taken = []
    for _ in range(_REPEATS):
        start = thread_time()
        loop()
        taken.append(thread_time() - start)
    return max(min(taken), 1e-6)


def _interpret() -> float:
    """Plain Python."""
    total = 0.0
    for number in range(100_000):
        total += number * 0.5
    return total


def _call() -> np.ndarray:
    """Many small arrays: what numpy takes for a call."""
    small = np.arange(16.0)
    for _ in range(5000):
        small = small * 0.5 + 1.0
    return small


def _calculate() -> float:
    """Arithmetic within the cache."""
    numbers = np.linspace(0.0, 1.0, 4096)
    product = np.ones(4096)
    for _ in range(800):
        product *= numbers
        product += numbers
    return float(product.sum())


def _gather() -> float:
    """Reading all over the memory."""
    table = np.arange(2.0**20)
    places = (np.arange(2**20) * 764_261) % 2**20
    return float(table[places].sum())


# ... and what each took, in seconds, on the machine where the constants of the cost models were measured.
_LOOPS: tuple[tuple[Callable[[], object], float], ...] = (
    (_interpret, 0.0040),
    (_call, 0.0050),
    (_calculate, 0.00165),
    (_gather, 0.0160),
)


# --- on disk --------------------------------------------------------------------------------------------------------


def _file() -> Path:
    """Where numba keeps compiled code of this module: its own setting, or beside the source."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(folder) if folder else Path(__file__).parent / "__pycache__") / "shap_asv_machine.json"


def _machine() -> str:
    """The processor, with the versions of what was timed."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name}, Python {sys.version_info.major}.{sys.version_info.minor}, numpy {np.__version__}"


def _read() -> float | None:
    """None where it was never measured, or cannot be read."""
    try:
        found = float(json.loads(_file().read_text())[_machine()])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if _LEAST <= found <= _MOST else None


def _write(found: float) -> None:
    """Kept with those of other machines that share the disk; a folder that cannot be written to is none."""
    file = _file()
    try:
        known = json.loads(file.read_text())
    except (OSError, ValueError):
        known = {}
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}")  # not a temporary file, which nobody else may read
        draft.write_text(json.dumps({**(known if isinstance(known, dict) else {}), _machine(): found}))
        os.replace(draft, file)
    except OSError:
        return
