"""Structural models in forms that nothing was developed on: three of each of the four kinds. Imports nothing of ours.

The kinds are those of :mod:`~tests.oracles.structural_models`, the forms are others: near collinear causes, columns in
other units, weak causes; saturation with multiplied noise, waves along a direction, regimes; a variance that switches,
three modes, a heap at zero; slopes that differ by category, trees of answers, rare labels with overdispersed counts.
The explained functions have other forms, too: sums of small trees, a maximum of planes, a curve with boxes.

Features come in the four levels of :mod:`~tests.oracles.level_models`, and causes lie in earlier levels: the same model
serves a known DAG and levels alone. Forms and seeds were written down before anything was run on them, and stay.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import special, stats

from tests.oracles.level_models import LEVELS
from tests.oracles.structural_models import KnownModel, Values, _number

NAMES = tuple(f"x{k}" for k in range(8))
LABELS = {"x1": np.array(["alder", "birch", "cedar"]), "x4": np.array(["air", "bus", "car", "dock"])}
FLAG, COUNT = "x5", "x3"


def _parents(rng: np.random.Generator) -> dict[str, tuple[str, ...]]:
    """At most three causes of each feature, all in earlier levels."""
    found: dict[str, tuple[str, ...]] = {}
    earlier: list[str] = []
    for level in LEVELS:
        for k in level:
            count = min(len(earlier), int(rng.integers(1, 4)))
            found[NAMES[k]] = tuple(sorted(rng.choice(earlier, count, replace=False).tolist())) if count else ()
        earlier += [NAMES[k] for k in level]
    return found


def _signs(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.uniform(0.5, 1.1, count) * rng.choice([-1.0, 1.0], count)


def _sum(weights: np.ndarray, xs: list[np.ndarray], u: np.ndarray) -> np.ndarray:
    return sum((w * x for w, x in zip(weights, xs, strict=True)), np.zeros(len(u)))


# --- linear Gaussian ----------------------------------------------------------------------------------------


def _linear(form: int, rng: np.random.Generator, name: str, p: int) -> Callable:
    """0: effects that nearly repeat their causes; 1: columns in units of their own; 2: weak causes, much noise."""
    noise = ((0.15, 0.3), (0.5, 1.0), (1.5, 2.5))[form]
    b, shift, size = _signs(rng, p), rng.normal(), rng.uniform(*noise) if p else 1.0
    units = 10.0 ** np.random.default_rng(41).uniform(-3, 4, 8) if form == 1 else np.ones(8)
    own = units[int(name[1])]

    def draw(causes: Values, u: np.ndarray) -> np.ndarray:
        xs = [x / units[int(cause[1])] for cause, x in causes.items()]
        return own * (shift + _sum(b, xs, u) + size * special.ndtri(u))

    return draw


# --- nonlinear ----------------------------------------------------------------------------------------------


def _nonlinear(form: int, rng: np.random.Generator, name: str, p: int) -> Callable:
    """0: saturation, noise that multiplies; 1: waves along a direction; 2: regimes with slopes of their own."""
    b, c, at = _signs(rng, p), _signs(rng, p), rng.normal(0, 0.4)

    def saturated(causes: Values, u: np.ndarray) -> np.ndarray:
        total = _sum(b, [x / (0.5 + np.abs(x)) for x in causes.values()], u)
        return np.exp(total + (0.35 if p else 0.6) * special.ndtri(u))

    def waves(causes: Values, u: np.ndarray) -> np.ndarray:
        if not p:
            return 3.0 * u - 1.5
        total = _sum(b, list(causes.values()), u)
        return np.cos(2.0 * total + at) + 0.5 * total + 0.2 * special.logit(u)

    def regimes(causes: Values, u: np.ndarray) -> np.ndarray:
        gumbel = -np.log(-np.log(u)) - 0.577
        if not p:
            return gumbel
        xs = [np.clip(x, -3, 3) for x in causes.values()]
        return np.where(xs[0] > at, _sum(b, xs, u) + 0.8, _sum(c, xs, u)) + 0.4 * gumbel

    return (saturated, waves, regimes)[form]


# --- heteroscedastic and with several modes -----------------------------------------------------------------


def _heteroscedastic(form: int, rng: np.random.Generator, name: str, p: int) -> Callable:
    """0: a variance that switches, heavy tails; 1: three modes; 2: a heap at zero, else a gamma distribution."""
    b, c, at, shape = _signs(rng, p), _signs(rng, p), rng.normal(0, 0.4), rng.uniform(1.5, 4.0)
    tilts = rng.normal(0, 1.0, 3)

    def switching(causes: Values, u: np.ndarray) -> np.ndarray:
        total = _sum(b, list(causes.values()), u)
        scale = np.where(_sum(c, list(causes.values()), u) > at, 1.2, 0.25) if p else 1.0
        return np.tanh(0.5 * total) * 2 + scale * stats.t(4).ppf(u)

    def three_modes(causes: Values, u: np.ndarray) -> np.ndarray:
        total = np.clip(_sum(b, list(causes.values()), u), -3, 3)
        bounds = np.cumsum(special.softmax(np.multiply.outer(total, tilts), axis=1), axis=1)
        mode = np.minimum((u[:, None] >= bounds).sum(axis=1), 2)
        low = np.concatenate([np.zeros((len(u), 1)), bounds], axis=1)[np.arange(len(u)), mode]
        inner = (u - low) / np.maximum(bounds[np.arange(len(u)), mode] - low, 1e-12)
        return 1.7 * (mode - 1.0) + 0.3 * total + 0.35 * special.ndtri(np.clip(inner, 1e-9, 1 - 1e-9))

    def heaped(causes: Values, u: np.ndarray) -> np.ndarray:
        total = _sum(b, list(causes.values()), u) - 0.5
        none = special.expit(_sum(c, list(causes.values()), u) - 1.0) if p else np.full(len(u), 0.25)
        inner = np.clip((u - none) / np.maximum(1 - none, 1e-12), 1e-9, 1 - 1e-9)
        return np.where(u < none, 0.0, stats.gamma(shape).ppf(inner) / shape * np.exp(np.clip(0.5 * total, -1.5, 1.5)))

    return (switching, three_modes, heaped)[form]


# --- mixed --------------------------------------------------------------------------------------------------


def _mixed(form: int, rng: np.random.Generator, name: str, p: int) -> Callable:
    """x1, x4 strings, x5 a bool, x3 a count. 0: slopes that differ by category; 1: trees of answers; 2: rare labels."""
    n_labels = len(LABELS.get(name, ()))
    tables, slopes = rng.normal(0, 1.0, (3, 4)), _signs(rng, 4)
    pulls, at = rng.normal(0, 1.2, max(n_labels, 1)), rng.normal(0, 0.4, 3)
    offsets = np.array([0.0, -0.4, -3.0, -3.5])[:n_labels] if form == 2 else np.zeros(n_labels)

    def number(cause: str, x: np.ndarray) -> np.ndarray:
        if cause in LABELS:
            return np.searchsorted(LABELS[cause], x.astype(str)).astype(float)
        return np.minimum(x.astype(float), 6.0) / 2 - 1 if cause == COUNT else np.clip(x.astype(float), -3, 3)

    def signal(causes: Values, u: np.ndarray) -> np.ndarray:
        total = np.zeros(len(u))
        coded = {cause: number(cause, x) for cause, x in causes.items()}
        if form == 1:  # answers to yes-or-no questions, one after the other
            for k, (cause, x) in enumerate(coded.items()):
                yes = x > (0.5 if cause in LABELS or cause == FLAG else at[k])
                total = np.where(yes, total + tables[k, 0], tables[k, 1] - 0.5 * total)
            return total
        slope = np.ones(len(u))
        for k, (cause, x) in enumerate(coded.items()):
            if cause in LABELS:
                total, slope = total + tables[k][x.astype(int)], slopes[x.astype(int)] if form == 0 else slope
        for k, (cause, x) in enumerate(coded.items()):
            if cause not in LABELS:
                total = total + slope * tables[k, 0] * x
        return total

    def draw(causes: Values, u: np.ndarray) -> np.ndarray:
        total = np.clip(signal(causes, u), -4, 4)
        if name in LABELS:
            bounds = np.cumsum(special.softmax(np.multiply.outer(total, pulls) + offsets, axis=1), axis=1)
            return LABELS[name].astype(object)[np.minimum((u[:, None] >= bounds).sum(axis=1), n_labels - 1)]
        if name == FLAG:
            return u < special.expit(1.5 * total + at[0])
        if name == COUNT:
            mean = np.exp(np.clip(0.4 + 0.4 * total, -2, 2))
            law = stats.nbinom(2, 2 / (2 + mean)) if form == 2 else stats.poisson(mean)
            return law.ppf(u).astype(np.int64)
        return total + (0.5 if p else 1.0) * (special.ndtri(u) if form != 1 else stats.laplace.ppf(u) / 1.4)

    return draw


# --- explained functions ------------------------------------------------------------------------------------


def _explained(form: int, rng: np.random.Generator, data: pd.DataFrame) -> Callable[[pd.DataFrame], np.ndarray]:
    """0: a sum of twelve trees of depth three; 1: the larger of two planes, and boxes; 2: a curve, and boxes."""
    numbers = np.stack([_number(data[name]) for name in NAMES], axis=1)
    centre, scale = numbers.mean(axis=0), numbers.std(axis=0)
    trees = [(rng.choice(8, 3, replace=False), rng.normal(0, 0.6, 3), rng.normal(0, 1.0, 8)) for _ in range(12)]
    planes = rng.normal(0, 0.7, (2, 8))
    boxes = [(rng.choice(8, 3, replace=False), rng.normal(0, 0.5, 3), rng.normal(0, 1.5)) for _ in range(4)]

    def explained(frame: pd.DataFrame) -> np.ndarray:
        z = (np.stack([_number(frame[name]) for name in NAMES], axis=1) - centre) / scale
        if form == 0:
            return sum(leaves[((z[:, at] > cuts) @ [4, 2, 1]).astype(int)] for at, cuts, leaves in trees)  # type: ignore[return-value]
        z = np.clip(z, -3, 3)
        total = (z @ planes.T).max(axis=1) if form == 1 else 4 * special.expit(z @ planes[0]) + np.sin(z @ planes[1])
        for at, cuts, height in boxes:
            total = total + height * ((z[:, at] > cuts).sum(axis=1) >= 2)
        return np.asarray(total)

    return explained


FORMS = {"linear Gaussian": _linear, "nonlinear": _nonlinear, "heteroscedastic": _heteroscedastic, "mixed": _mixed}
N_FORMS = 3


def fresh_model(kind: str, form: int) -> KnownModel:
    rng = np.random.default_rng([2026, list(FORMS).index(kind), form])
    parents = _parents(rng)
    mechanisms = {name: FORMS[kind](form, rng, name, len(parents[name])) for name in NAMES}
    bare = KnownModel(NAMES, parents, mechanisms, lambda frame: np.zeros(len(frame)))
    data = bare.sample(20_000, int(rng.integers(2**31)))
    return KnownModel(NAMES, parents, mechanisms, _explained(form, rng, data))
