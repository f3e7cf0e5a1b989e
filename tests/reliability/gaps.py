"""What a numerical extreme is, and how far an explanation is from what it must be."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Gaps:
    """Relative to the largest output: efficiency, and the distance from an oracle (None where there is none)."""

    efficiency: float
    values: float | None = None

    def worst_with(self, other: "Gaps") -> "Gaps":
        values = [gap for gap in (self.values, other.values) if gap is not None]
        return Gaps(max(self.efficiency, other.efficiency), max(values, default=None))


@dataclass(frozen=True)
class Extreme:
    """What is measured, how large the gaps may be, and whether it is quick enough for every test run."""

    name: str
    tolerance: float
    measure: Callable[[], Gaps]
    quick: bool = True


def gaps_of(explanation: Any, outputs: np.ndarray, expected: np.ndarray | None = None) -> Gaps:
    """Gaps of an explanation whose model gives ``outputs`` (r,) or (r, k); ``expected`` are its values."""
    values, base = np.asarray(explanation.values), np.asarray(explanation.base_values)
    assert np.isfinite(values).all()
    assert np.isfinite(base).all()
    scale = np.abs(outputs).max()
    efficiency = np.abs(base + values.sum(axis=1) - outputs).max() / scale
    return Gaps(float(efficiency), None if expected is None else float(np.abs(values - expected).max() / scale))
