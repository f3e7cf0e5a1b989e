"""Known structural models in plain numpy: simulators, functions to explain, and ASV by brute force. Imports nothing
of ours.

Four kinds, each with any number of variants (a seed draws the graph, the coefficients and the function that is
explained): linear Gaussian; nonlinear with skewed and heavy-tailed noise; heteroscedastic and bimodal; numbers mixed
with categories, bools and counts. Eight features, at most three causes each. A mechanism is a function of the causes
(a dict of arrays) and of one uniform number per draw.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import special, stats

N_FEATURES = 8
Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class KnownModel:
    """A DAG with its mechanisms; ``names`` are in topological order."""

    names: tuple[str, ...]
    parents: dict[str, tuple[str, ...]]
    mechanisms: dict[str, Callable[[Values, np.ndarray], np.ndarray]]
    explained: Callable[[pd.DataFrame], np.ndarray]

    @property
    def edges(self) -> list[tuple[str, str]]:
        return [(p, name) for name in self.names for p in self.parents[name]]

    def simulate(self, uniforms: np.ndarray, clamped: dict | None = None) -> pd.DataFrame:
        """One row per row of ``uniforms`` (m, 8), with some features held at a value."""
        values: Values = {}
        for k, name in enumerate(self.names):
            if clamped is not None and name in clamped:
                values[name] = np.full(len(uniforms), clamped[name])
            else:
                values[name] = self.mechanisms[name]({p: values[p] for p in self.parents[name]}, uniforms[:, k])
        return pd.DataFrame(values)

    def sample(self, n: int, seed: int) -> pd.DataFrame:
        return self.simulate(np.random.default_rng(seed).uniform(1e-12, 1 - 1e-12, (n, len(self.names))))

    def ideals(self) -> list[frozenset[str]]:
        """All ancestral sets, small ones first."""
        return [
            frozenset(chosen)
            for size in range(len(self.names) + 1)
            for chosen in combinations(self.names, size)
            if all(set(self.parents[name]) <= set(chosen) for name in chosen)
        ]

    def values(self, rows: pd.DataFrame, n_draws: int, seed: int) -> np.ndarray:
        """``nu(S) = E[f(X) | x_S]`` (rows, ideals), by scrambled Sobol draws with S clamped."""
        uniforms = stats.qmc.Sobol(len(self.names), seed=np.random.default_rng(seed)).random(n_draws)
        uniforms = np.clip(uniforms, 1e-12, 1 - 1e-12)
        ideals = self.ideals()
        result = np.empty((len(rows), len(ideals)))
        for r in range(len(rows)):
            row = rows.iloc[r]
            for k, ideal in enumerate(ideals):
                if len(ideal) == len(self.names):
                    result[r, k] = self.explained(rows.iloc[[r]])[0]
                elif not ideal and r > 0:
                    result[r, k] = result[0, k]
                else:
                    draws = self.simulate(uniforms, {name: row[name] for name in ideal})
                    result[r, k] = self.explained(draws).mean()
        return result

    def asv(self, values: np.ndarray) -> np.ndarray:
        """Attributions (rows, 8) from ``values`` of all ideals: the mean over all topological orders, by counting."""
        ideals = self.ideals()
        place = {ideal: k for k, ideal in enumerate(ideals)}
        below = {ideals[0]: 1}  # topological orders of the ideal
        for ideal in ideals[1:]:
            below[ideal] = sum(below.get(ideal - {name}, 0) for name in ideal)
        above = {ideals[-1]: 1}  # and of what is left
        for ideal in reversed(ideals[:-1]):
            above[ideal] = sum(above.get(ideal | {name}, 0) for name in self.names if name not in ideal)
        result = np.zeros((len(values), len(self.names)))
        for ideal in ideals:
            for i, name in enumerate(self.names):
                larger = ideal | {name}
                if name not in ideal and larger in place:
                    weight = below[ideal] * above[larger] / below[ideals[-1]]
                    result[:, i] += weight * (values[:, place[larger]] - values[:, place[ideal]])
        return result


# --- graphs and functions -----------------------------------------------------------------------------------


def _graph(rng: np.random.Generator) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    names = tuple(f"x{k}" for k in range(N_FEATURES))
    parents = {}
    for k, name in enumerate(names):
        count = 0 if k < 2 else int(rng.integers(1, min(k, 3) + 1))
        parents[name] = tuple(names[p] for p in sorted(rng.choice(k, count, replace=False))) if count else ()
    return names, parents


def _number(column: pd.Series) -> np.ndarray:
    """A category counts by its first letter, so that one explained function serves all kinds."""
    if column.dtype == bool or pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=float)
    return np.array([float(ord(label[0]) - ord("a")) for label in column.array.unique()])[pd.factorize(column)[0]]


def _jumps(rng: np.random.Generator, model: KnownModel, data: pd.DataFrame) -> Callable[[pd.DataFrame], np.ndarray]:
    """A function with jumps and interactions, its thresholds at quantiles of the features."""
    numbers = {name: _number(data[name]) for name in model.names}
    centre = {name: x.mean() for name, x in numbers.items()}
    scale = {name: x.std() for name, x in numbers.items()}
    slopes = rng.normal(0, 0.5, N_FEATURES)
    cuts = {name: np.quantile(numbers[name], rng.uniform(0.25, 0.75)) for name in model.names}
    heights = rng.normal(0, 1.0, N_FEATURES)
    pairs = [rng.choice(N_FEATURES, 2, replace=False) for _ in range(4)]
    weights = rng.normal(0, 1.0, 4)

    def explained(frame: pd.DataFrame) -> np.ndarray:
        z = [(_number(frame[name]) - centre[name]) / scale[name] for name in model.names]
        high = [_number(frame[name]) > cuts[name] for name in model.names]
        total = sum(slopes[k] * np.clip(z[k], -3, 3) + heights[k] * high[k] for k in range(N_FEATURES))
        for weight, (a, b) in zip(weights[:2], pairs[:2], strict=True):
            total = total + weight * (high[a] & high[b])
        for weight, (a, b) in zip(weights[2:], pairs[2:], strict=True):
            total = total + 0.5 * weight * np.clip(z[a], -3, 3) * np.clip(z[b], -3, 3)
        return np.asarray(total)

    return explained


def _finished(rng: np.random.Generator, names: tuple, parents: dict, mechanisms: dict) -> KnownModel:
    bare = KnownModel(names, parents, mechanisms, lambda frame: np.zeros(len(frame)))
    data = bare.sample(20_000, int(rng.integers(2**31)))
    return KnownModel(names, parents, mechanisms, _jumps(rng, bare, data))


def _coefficients(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.uniform(0.4, 1.0, count) * rng.choice([-1, 1], count)


# --- the four kinds -----------------------------------------------------------------------------------------


def linear_gaussian(seed: int = 0) -> KnownModel:
    rng = np.random.default_rng([1, seed])
    names, parents = _graph(rng)

    def mechanism(b: np.ndarray, shift: float, noise: float) -> Callable:
        def draw(causes: Values, u: np.ndarray) -> np.ndarray:
            return shift + sum((w * x for w, x in zip(b, causes.values(), strict=True)), 0.0) + noise * special.ndtri(u)

        return draw

    mechanisms = {
        name: mechanism(_coefficients(rng, len(parents[name])), rng.normal(), rng.uniform(0.5, 1.0)) for name in names
    }
    return _finished(rng, names, parents, mechanisms)


CURVES: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda x: np.sin(1.8 * x),
    lambda x: 1.5 * np.tanh(2 * x),
    lambda x: np.abs(x) - 0.8,
    lambda x: 0.5 * np.minimum(x**2, 6) - 0.5,
    lambda x: 2 * np.exp(-(x**2)) - 0.8,
    lambda x: np.where(x > 0.3, 1.0, -0.6),
)
NOISES: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda u: -np.log1p(-u) - 1,
    lambda u: stats.laplace.ppf(u) / 1.4,
    lambda u: stats.t(5).ppf(u) / 1.3,
    lambda u: 1 + np.log(u),
    lambda u: 3.4 * (u - 0.5),
)


def nonlinear(seed: int = 0) -> KnownModel:
    rng = np.random.default_rng([2, seed])
    names, parents = _graph(rng)

    def mechanism(curves: list, weights: np.ndarray, product: float, noise: Callable, size: float) -> Callable:
        def draw(causes: Values, u: np.ndarray) -> np.ndarray:
            xs = list(causes.values())
            total = sum((w * g(x) for w, g, x in zip(weights, curves, xs, strict=True)), np.zeros(len(u)))
            if len(xs) > 1:
                total = total + product * np.clip(xs[0], -2, 2) * np.clip(xs[1], -2, 2)
            return total + size * noise(u)

        return draw

    mechanisms = {}
    for name in names:
        p = len(parents[name])
        curves = [CURVES[k] for k in rng.integers(0, len(CURVES), p)]
        noise = NOISES[rng.integers(0, len(NOISES))]
        size = 1.0 if p == 0 else rng.uniform(0.3, 0.6)
        mechanisms[name] = mechanism(curves, _coefficients(rng, p) * 1.3, rng.choice([0.0, 0.4]), noise, size)
    return _finished(rng, names, parents, mechanisms)


def heteroscedastic(seed: int = 0) -> KnownModel:
    rng = np.random.default_rng([3, seed])
    names, parents = _graph(rng)

    def spread(b: np.ndarray, c: np.ndarray) -> Callable:
        def draw(causes: Values, u: np.ndarray) -> np.ndarray:
            xs = list(causes.values())
            location = sum((w * x for w, x in zip(b, xs, strict=True)), np.zeros(len(u)))
            scale = np.exp(np.clip(sum((w * x for w, x in zip(c, xs, strict=True)), np.zeros(len(u))) - 0.6, -2, 1))
            return location / (1 + 0.1 * np.abs(location)) + scale * special.ndtri(u)

        return draw

    def two_modes(b: np.ndarray, c: np.ndarray, gap: float) -> Callable:
        def draw(causes: Values, u: np.ndarray) -> np.ndarray:
            xs = list(causes.values())
            location = sum((w * x for w, x in zip(b, xs, strict=True)), np.zeros(len(u)))
            upper = special.expit(2 * sum((w * x for w, x in zip(c, xs, strict=True)), np.zeros(len(u))))
            low = u >= upper
            inner = np.clip(
                np.where(low, (u - upper) / np.maximum(1 - upper, 1e-12), u / np.maximum(upper, 1e-12)), 1e-9, 1 - 1e-9
            )
            return 0.4 * location + np.where(low, -gap, gap) + 0.5 * special.ndtri(inner)

        return draw

    mechanisms = {}
    for k, name in enumerate(names):
        b, c = _coefficients(rng, len(parents[name])), _coefficients(rng, len(parents[name]))
        gap = rng.uniform(1.0, 1.6)
        mechanisms[name] = two_modes(b, c, gap) if k % 3 == 2 else spread(b, 0.8 * c)
    return _finished(rng, names, parents, mechanisms)


def mixed(seed: int = 0) -> KnownModel:
    """x0 and x4 are strings, x3 is a bool, x6 a count; the others are numbers."""
    rng = np.random.default_rng([4, seed])
    names, parents = _graph(rng)
    levels = {"x0": np.array(["alpha", "beta", "city"]), "x4": np.array(["aa", "bb", "cc", "dd"])}

    def score(tables: list, causes: Values) -> np.ndarray | float:
        total: np.ndarray | float = 0.0
        for table, (name, x) in zip(tables, causes.items(), strict=True):
            if name in levels:
                total = total + table[np.searchsorted(levels[name], x.astype(str))]
            elif name == "x6":
                total = total + table[0] * (np.minimum(x, 8) - 2) / 2
            else:
                total = total + table[0] * (x.astype(float) if name != "x3" else 2.0 * x - 1)
        return total

    def labels(tables: list[list], names_of: np.ndarray) -> Callable:
        def draw(causes: Values, u: np.ndarray) -> np.ndarray:
            logits = np.stack([np.broadcast_to(score(t, causes), u.shape) for t in tables], 1)
            bounds = np.cumsum(special.softmax(1.2 * logits, axis=1), axis=1)
            return names_of.astype(object)[np.minimum((u[:, None] >= bounds).sum(1), len(names_of) - 1)]

        return draw

    def flag(tables: list) -> Callable:
        return lambda causes, u: u < special.expit(1.5 * np.broadcast_to(score(tables, causes), u.shape))

    def count(tables: list) -> Callable:
        def draw(causes: Values, u: np.ndarray) -> np.ndarray:
            rate = np.exp(np.clip(0.5 + 0.5 * np.broadcast_to(score(tables, causes), u.shape), -2, 2.2))
            return stats.poisson.ppf(u, rate).astype(np.int64)

        return draw

    def number(tables: list, curved: bool, noise: Callable, size: float) -> Callable:
        def draw(causes: Values, u: np.ndarray) -> np.ndarray:
            total = np.broadcast_to(score(tables, causes), u.shape)
            return (np.sin(total) + 0.5 * total if curved else total) + size * noise(u)

        return draw

    def new_tables(name: str) -> list:
        return [rng.normal(0, 0.9, 4) if p in levels else _coefficients(rng, 1) for p in parents[name]]

    mechanisms: dict[str, Callable] = {}
    for name in names:
        noise = NOISES[rng.integers(0, len(NOISES))]
        if name in levels:
            tables = [new_tables(name) for _ in levels[name]]
            mechanisms[name] = labels(tables, levels[name])
        elif name == "x3":
            mechanisms[name] = flag(new_tables(name))
        elif name == "x6":
            mechanisms[name] = count(new_tables(name))
        else:
            mechanisms[name] = number(new_tables(name), bool(rng.integers(2)), noise, rng.uniform(0.4, 0.9))
    return _finished(rng, names, parents, mechanisms)


KINDS: dict[str, Callable[[int], KnownModel]] = {
    "linear Gaussian": linear_gaussian,
    "nonlinear": nonlinear,
    "heteroscedastic": heteroscedastic,
    "mixed": mixed,
}
