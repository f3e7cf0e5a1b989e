"""How far values are from the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.truth.reading import Problem, read_values

#: The mean absolute value of a normal error, in standard errors.
MEAN_ABSOLUTE = float(np.sqrt(2 / np.pi))


@dataclass(frozen=True)
class Score:
    """Errors in units of the mean absolute true value of the problem.

    Attributes
    ----------
    relative : float
        Mean ``|value - truth|``.
    largest : float
        The largest ``|value - truth|``.
    floor : float
        What the error of the truth itself leaves: the ``relative`` of a perfect answer.
    gap : float
        Mean ``|sum of a row's values - (prediction - mean prediction)|``.
    """

    relative: float
    largest: float
    floor: float
    gap: float

    def __str__(self) -> str:
        lines = [
            f"relative error  {self.relative:.4g}   mean |value - truth| / mean |truth|",
            f"largest error   {self.largest:.4g}   max |value - truth| / mean |truth|",
            f"floor           {self.floor:.2g}   what the error of the truth leaves to a perfect answer",
            f"gap of sums     {self.gap:.2g}   mean |sum of values - (prediction - mean prediction)| / mean |truth|",
        ]
        if self.relative <= 2 * self.floor:
            lines.append("At the floor: the values cannot be told from the truth.")
        return "\n".join(lines)


def score(values: np.ndarray, problem: Problem, kind: str) -> Score:
    """The score of values (rows, features)."""
    truth, error = problem.truth(kind), problem.truth(kind, "error")
    unit = np.abs(truth).mean()
    away = np.abs(values - truth)
    prediction = read_values(problem.folder / "predictions.csv", ["prediction"], len(truth))[:, 0]
    gap = values.sum(axis=1) - (prediction - problem.about["kinds"][kind]["mean_prediction"])
    floor = MEAN_ABSOLUTE * error.mean()
    return Score(*(float(x / unit) for x in (away.mean(), away.max(), floor, np.abs(gap).mean())))


def score_file(path: Path, problem: Problem, kind: str) -> Score:
    """The score of a file of values."""
    problem.truth(kind)  # a kind that is not there is refused before the file is read
    return score(read_values(path, problem.features, len(problem.explain)), problem, kind)
