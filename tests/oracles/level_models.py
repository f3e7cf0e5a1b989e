"""Four kinds of structural models in levels, as plain simulators, with ASV by brute force. Imports nothing of ours.

Eight features in four levels, ``LEVELS``. A feature is a function of the earlier levels and of noise of its own, so
that the members of a level are independent given the earlier levels. The coalitions of "level after level" are earlier
levels and a part of one level; for those, ``X | x_S`` is forward simulation with S clamped, and ``nu(S)`` is a mean
over as many draws as one likes.

``variant`` draws other coefficients: nothing should be tuned to one of them.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

LEVELS = ((0, 1), (2, 3, 4), (5, 6), (7,))
N = 8
NAMES = tuple(f"x{j}" for j in range(N))
KINDS = ("linear", "nonlinear", "bimodal", "mixed")
CATEGORIES = {1: ("north", "south", "west"), 4: ("a", "b", "c", "d"), 5: ("no", "yes")}  # of the mixed kind


def _normal(u):
    from scipy.special import ndtri

    return ndtri(np.clip(u, 1e-12, 1 - 1e-12))


@dataclass(frozen=True)
class LevelModel:
    """A simulator and a model to explain, both with jumps and coefficients of their own."""

    kind: str
    variant: int = 0

    def _rng(self, what: int) -> np.random.Generator:
        return np.random.default_rng([KINDS.index(self.kind), self.variant, what])

    # --- the world ------------------------------------------------------------------------------------------

    def simulate(self, uniforms: np.ndarray, clamped: dict[int, float] | None = None) -> np.ndarray:
        """Rows (q, 8) from uniforms (q, 8); features in ``clamped`` keep that value. Categories are codes."""
        rng = self._rng(0)
        clamped = clamped or {}
        x = np.empty_like(uniforms)
        earlier: list[int] = []
        for level in LEVELS:
            for j in level:
                draw = getattr(self, f"_{self.kind}")(j, x[:, earlier], uniforms[:, j], rng)
                x[:, j] = clamped.get(j, draw)
            earlier += level
        return x

    @staticmethod
    def _linear(j: int, past: np.ndarray, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        slopes = rng.normal(size=past.shape[1]) / max(1, past.shape[1]) ** 0.5
        return past @ slopes + rng.uniform(0.5, 1.0) * _normal(u) + rng.normal()

    @staticmethod
    def _nonlinear(j: int, past: np.ndarray, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        a, b, c, d = rng.uniform(0.5, 1.5, 4) * rng.choice([-1, 1], 4)
        if past.shape[1] == 0:
            return np.asarray(-np.log1p(-u) - 1 if j % 2 else 4 * u - 2)  # exponential, uniform
        first, second = (past[:, k] for k in rng.choice(past.shape[1], 2, replace=False))
        shapes = (
            a * np.sin(2 * first) + 0.5 * b * np.abs(second),
            a * np.tanh(2 * first) * second,
            a * np.minimum(first**2, 6) / 2 + b * np.cos(1.5 * second),
            a * np.where(first > 0.2, second, -0.5 * second) + c * np.sin(first),
        )
        skewed = -np.log1p(-u) - 1  # exponential with mean 0
        scale = 0.2 + 0.2 * abs(d)
        return np.asarray(shapes[j % 4] + scale * skewed * (1 if j % 3 else -1))

    @staticmethod
    def _bimodal(j: int, past: np.ndarray, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        slopes = rng.normal(size=past.shape[1]) / max(1, past.shape[1]) ** 0.5
        location = past @ slopes
        gap, tilt, at = rng.uniform(1.0, 2.0), rng.uniform(0.5, 1.5), rng.uniform(-0.5, 0.5)
        if j % 2:  # two modes; which one depends on the past
            share = 1 / (1 + np.exp(-tilt * location))
            low = u < share
            inner = np.where(low, u / share, (u - share) / (1 - share))
            return 0.5 * location + np.where(low, -gap, gap) + 0.4 * _normal(inner)
        scale = 0.2 + 0.6 * np.abs(location - at)  # the spread depends on the past
        return 0.6 * location + (scale if past.shape[1] else 1.0) * _normal(u)

    @staticmethod
    def _mixed(j: int, past: np.ndarray, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        effect = np.zeros(len(u))
        for k in range(past.shape[1]):
            if k in CATEGORIES:
                effect = effect + rng.normal(size=len(CATEGORIES[k]))[past[:, k].astype(int)]
            else:
                effect = effect + rng.normal() * np.tanh(past[:, k])
        effect = effect / max(1, past.shape[1]) ** 0.5
        if j in CATEGORIES:
            scores = rng.normal(size=len(CATEGORIES[j])) + np.outer(effect, 2 * rng.normal(size=len(CATEGORIES[j])))
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            edges = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
            return np.minimum((u[:, None] >= edges).sum(axis=1), len(CATEGORIES[j]) - 1).astype(float)
        if j == 3:  # a count
            return np.floor(-np.log1p(-u) * np.exp(0.5 * effect) * 2)
        return 1.5 * effect + rng.uniform(0.4, 0.8) * _normal(u)

    def rows(self, n: int, seed: int) -> np.ndarray:
        return self.simulate(np.random.default_rng([seed, 77]).random((n, N)))

    def frame(self, rows: np.ndarray) -> Any:
        """Rows as a DataFrame: categories with their labels and dtype, the count as an integer."""
        import pandas as pd

        frame = pd.DataFrame(rows, columns=list(NAMES))
        if self.kind == "mixed":
            for j, labels in CATEGORIES.items():
                frame[NAMES[j]] = pd.Categorical.from_codes(rows[:, j].astype(int), list(labels))
            frame[NAMES[3]] = rows[:, 3].astype(int)
        return frame

    def coded(self, frame: Any) -> np.ndarray:
        """The rows of such a DataFrame."""
        columns = []
        for j, name in enumerate(NAMES):
            column = frame[name]
            columns.append(column.cat.codes if self.kind == "mixed" and j in CATEGORIES else column)
        return np.column_stack([np.asarray(column, dtype=float) for column in columns])

    # --- the model ------------------------------------------------------------------------------------------

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Jumps, interactions and slopes in all features, (q,)."""
        rng = self._rng(1)
        reference = self._reference()
        z = (rows - reference.mean(axis=0)) / reference.std(axis=0)
        if self.kind == "mixed":
            for j, labels in CATEGORIES.items():
                z[:, j] = rng.normal(size=len(labels))[rows[:, j].astype(int)]
        out = z @ (rng.normal(size=N) * 0.7)
        for _ in range(6):
            i, j = rng.choice(N, 2, replace=False)
            at, other = rng.normal(scale=0.6, size=2)
            out = out + rng.normal() * (z[:, i] > at) * (z[:, j] > other) * 2
            out = out + 0.4 * rng.normal() * np.clip(z[:, i], -3, 3) * np.clip(z[:, j], -3, 3)
        return np.asarray(out)

    def predict_frame(self, frame: Any) -> np.ndarray:
        return self.predict(self.coded(frame))

    def _reference(self) -> np.ndarray:
        key = (self.kind, self.variant)
        if key not in _REFERENCES:
            _REFERENCES[key] = self.rows(4000, seed=12345)
        return _REFERENCES[key]

    # --- the truth ------------------------------------------------------------------------------------------

    def values(self, rows: np.ndarray, n_draws: int = 1 << 13, seed: int = 0) -> np.ndarray:
        """nu(S) of every row for every coalition of :func:`level_coalitions`, (r, m), by scrambled Sobol draws."""
        from scipy.stats import qmc

        uniforms = qmc.Sobol(N, seed=seed).random(n_draws)
        coalitions, _ = level_coalitions()
        nu = np.empty((len(rows), len(coalitions)))
        for s, members in enumerate(coalitions):
            held = np.flatnonzero(members)
            for r, row in enumerate(rows):
                nu[r, s] = self.predict(self.simulate(uniforms, {int(j): row[j] for j in held})).mean()
        return nu


_REFERENCES: dict[tuple[str, int], np.ndarray] = {}


class Simulated:
    """The true mechanisms of a level model as a background, for the coalitions of its levels."""

    conditions_on, free, n_uniforms = "any", np.nan, N

    def __init__(self, world: LevelModel) -> None:
        self.world = world

    def describe(self) -> str:
        return "the truth"

    def read(self, frame: Any) -> np.ndarray:
        return self.world.coded(frame)

    def inputs(self, rows: np.ndarray) -> Any:
        return self.world.frame(rows)

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        return np.stack(
            [self.world.simulate(uniforms, {int(j): e[j] for j in np.flatnonzero(~np.isnan(e))}) for e in evidence]
        )


class Marginal(Simulated):
    """Wrong: what is known says nothing about the rest."""

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        rows = np.repeat(self.world.simulate(uniforms)[None], len(evidence), axis=0)
        return np.where(np.isnan(evidence)[:, None], rows, evidence[:, None])


def level_coalitions(levels: tuple[tuple[int, ...], ...] = LEVELS) -> tuple[np.ndarray, np.ndarray]:
    """(coalitions bool (m, n), W (m, n)) with phi = nu @ W for the orders that take level after level.

    Inside its level a feature has Shapley's weights |B|! (k - |B| - 1)! / k!.
    """
    n = sum(map(len, levels))
    index: dict[tuple[int, ...], int] = {}

    def place(members: tuple[int, ...]) -> int:
        return index.setdefault(tuple(sorted(members)), len(index))

    entries = []
    before: tuple[int, ...] = ()
    place(())
    for level in levels:
        k = len(level)
        for i in level:
            others = [j for j in level if j != i]
            for size in range(k):
                weight = math.factorial(size) * math.factorial(k - size - 1) / math.factorial(k)
                for part in itertools.combinations(others, size):
                    entries.append((place((*before, *part, i)), i, weight))
                    entries.append((place((*before, *part)), i, -weight))
        before += level
    coalitions = np.zeros((len(index), n), dtype=bool)
    for members, s in index.items():
        coalitions[s, list(members)] = True
    weights = np.zeros((len(index), n))
    for s, i, weight in entries:
        weights[s, i] += weight
    return coalitions, weights
