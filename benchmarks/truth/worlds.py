"""Generating distributions, made from what ``distribution.json`` says, and ``nu(S)`` under them.

``nu(S)`` is the model's mean when the features of S are as in the row, and the rest

- marginal: as in the distribution, whatever S is;
- conditional: as in the distribution given ``X_S = x_S``;
- causal: drawn by the mechanisms of the rest, with S held: ``do(X_S = x_S)``.

Three kinds of worlds: a linear Gaussian one knows all three in closed form; a network of discrete nodes lists its joint
table; equations with noise are simulated forwards, and weighted by the density of what is held where the causes of S
are not all in S (likelihood weighting).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from scipy.stats import qmc

FUNCTIONS = {name: getattr(np, name) for name in ("sin", "cos", "tanh", "exp", "log", "abs", "minimum", "maximum")}
#: A quantile function and a log density for each noise.
NOISES: dict[str, tuple[Callable, Callable]] = {
    "normal": (special.ndtri, lambda e: -0.5 * e * e),
    "logistic": (special.logit, lambda e: -e - 2 * np.log1p(np.exp(-e))),
    "gumbel": (lambda u: -np.log(-np.log(u)), lambda e: -e - np.exp(-e)),
}
Values = dict[str, Any]


def expression(text: str) -> Callable[[Values], Any]:
    """A formula of this folder as a function of the values of its variables."""
    code = compile(text, text, "eval")
    return lambda values: eval(code, {"__builtins__": {}, **FUNCTIONS}, values)


def names_in(text: str) -> list[str]:
    """The variables of a formula."""
    return [name for name in compile(text, text, "eval").co_names if name not in FUNCTIONS]


class Number:
    """``location + scale * noise``; both may depend on the causes."""

    def __init__(self, told: dict[str, str]) -> None:
        self.location, self.scale = expression(told["location"]), expression(told["scale"])
        self.quantile, self.log = NOISES[told["noise"]]

    def draw(self, u: np.ndarray, values: Values) -> np.ndarray:
        return self.location(values) + self.scale(values) * self.quantile(u)

    def log_density(self, x: Any, values: Values) -> np.ndarray:
        scale = self.scale(values)
        return self.log((x - self.location(values)) / scale) - np.log(scale)


class Category:
    """State k with a probability that is proportional to ``exp(logits[k])``."""

    def __init__(self, told: dict[str, list[str]]) -> None:
        self.logits = [expression(text) for text in told["logits"]]

    def _log(self, values: Values) -> np.ndarray:
        return special.log_softmax(np.stack(np.broadcast_arrays(*(logit(values) for logit in self.logits)), -1), -1)

    def draw(self, u: np.ndarray, values: Values) -> np.ndarray:
        bounds = np.cumsum(np.exp(self._log(values)), axis=-1)[..., :-1]
        return (np.asarray(u)[..., None] >= bounds).sum(axis=-1).astype(float)

    def log_density(self, x: Any, values: Values) -> np.ndarray:
        log = self._log(values)
        x = np.asarray(x, dtype=int)
        shape = np.broadcast_shapes(x.shape, log.shape[:-1])
        log = np.broadcast_to(log, (*shape, log.shape[-1]))
        return np.take_along_axis(log, np.broadcast_to(x, shape)[..., None], axis=-1)[..., 0]


def sobol(dimension: int, log2: int, n_groups: int, seed: int) -> list[np.ndarray]:
    """Groups of 2**log2 uniform vectors, each a scrambled Sobol set of its own."""
    rngs = [np.random.default_rng([seed, g]) for g in range(n_groups)]
    return [np.clip(qmc.Sobol(dimension, seed=rng).random_base2(log2), 1e-12, 1 - 1e-12) for rng in rngs]


@dataclass
class Equations:
    """Mechanisms in topological order; nodes that are not among ``features`` are hidden."""

    told: dict[str, Any]
    features: list[str]

    def __post_init__(self) -> None:
        nodes = self.told["nodes"].items()
        self.mechanisms = {name: Category(how) if "logits" in how else Number(how) for name, how in nodes}

    @property
    def dimension(self) -> int:
        return len(self.mechanisms)

    def run(self, u: np.ndarray, held: Values, weigh: bool = False) -> tuple[Values, Any]:
        """Values of all nodes, and the log density of what is held given its causes (up to a constant)."""
        values: Values = {}
        log_density: Any = 0.0
        for k, (name, how) in enumerate(self.mechanisms.items()):
            values[name] = held[name] if name in held else how.draw(u[..., k], values)
            if weigh and name in held:
                log_density = log_density + how.log_density(held[name], values)
        return values, log_density

    def simulate(self, u: np.ndarray) -> np.ndarray:
        """Rows of features from uniform numbers (rows, nodes)."""
        values, _ = self.run(u, {})
        return np.stack([np.broadcast_to(values[name], len(u)) for name in self.features], axis=1)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.simulate(rng.uniform(1e-12, 1 - 1e-12, (n, self.dimension)))

    def draws(self, kind: str, rows: np.ndarray, S: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, Any]:
        """X (rows, m, features) with S held, and log weights where they are not all the same."""
        held = {name: rows[:, k, None] for k, name in enumerate(self.features) if S[k]}
        values, log_density = self.run(u, {} if kind == "marginal" else held, weigh=kind == "conditional")
        values |= held
        shape = (len(rows), len(u))
        X = np.stack([np.broadcast_to(values[name], shape) for name in self.features], axis=-1)
        return X, log_density if kind == "conditional" and S.any() else None


class Gaussian(Equations):
    """Linear equations with normal noise: ``X_rest = offset + slope x_S + root z`` for each S and each kind.

    ``seen_as`` of the description has pairs of formulas in x, for features that are functions of a node: forwards and
    back.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        nodes = list(self.mechanisms)
        zero = dict.fromkeys(nodes, 0.0)
        self.intercept = np.array([self.mechanisms[name].location(zero) for name in nodes])
        self.noise = np.array([self.mechanisms[name].scale(zero) for name in nodes])
        lines = [[self.mechanisms[b].location(zero | {a: 1.0}) for a in nodes] for b in nodes]
        self.slopes = np.array(lines) - self.intercept[:, None]
        self.place = [nodes.index(name) for name in self.features]
        through = np.linalg.inv(np.eye(len(nodes)) - self.slopes)
        self.mean = (through @ self.intercept)[self.place]
        self.root = (through * self.noise)[self.place]
        self.covariance = self.root @ self.root.T
        pairs = self.told.get("seen_as", {})
        self.seen = {self.features.index(name): tuple(map(expression, pair)) for name, pair in pairs.items()}

    def only(self, features: list[str]) -> Gaussian:
        """The same distribution of some features, which share no node with the others."""
        wanted: set[str] = set()
        for name in reversed(self.told["nodes"]):
            if name in features or name in wanted:
                wanted |= {name, *names_in(self.told["nodes"][name]["location"])}
        nodes = {name: how for name, how in self.told["nodes"].items() if name in wanted}
        seen = {name: pair for name, pair in self.told.get("seen_as", {}).items() if name in features}
        return Gaussian({**self.told, "nodes": nodes, "seen_as": seen}, features)

    def _seen(self, Z: np.ndarray, way: int) -> np.ndarray:
        X = np.array(Z)
        for k, pair in self.seen.items():
            X[..., k] = pair[way]({"x": X[..., k]})
        return X

    def to_features(self, Z: np.ndarray) -> np.ndarray:
        """Features from their nodes."""
        return self._seen(Z, 0)

    def to_nodes(self, X: np.ndarray) -> np.ndarray:
        """Nodes from features."""
        return self._seen(X, 1)

    def simulate(self, u: np.ndarray) -> np.ndarray:
        return self.to_features(super().simulate(u))

    def affine(self, kind: str, S: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``offset`` (features), ``slope`` (features, features) and ``root`` (features, nodes)."""
        if kind == "causal":
            n_nodes = len(self.mechanisms)
            held = np.zeros(n_nodes, dtype=bool)
            held[np.array(self.place)[S]] = True
            through = np.linalg.inv(np.eye(n_nodes) - np.where(held[:, None], 0.0, self.slopes))
            slope = np.zeros((len(S), len(S)))
            slope[:, S] = through[np.ix_(self.place, np.array(self.place)[S])]
            root = (through * np.where(held, 0.0, self.noise))[self.place]
            return (through @ np.where(held, 0.0, self.intercept))[self.place], slope, root
        gain = np.zeros((len(S), len(S)))
        if kind == "conditional":
            gain[np.ix_(~S, S)] = np.linalg.solve(self.covariance[np.ix_(S, S)], self.covariance[np.ix_(S, ~S)]).T
        gain[S, S] = 1.0
        return self.mean - gain @ self.mean, gain, self.root - gain @ self.root

    def means(self, kind: str, rows: np.ndarray, S: np.ndarray) -> np.ndarray:
        """``E[X]`` (rows, features), of nodes that are seen as they are."""
        offset, slope, _ = self.affine(kind, S)
        return offset + rows @ slope.T

    def draws(self, kind: str, rows: np.ndarray, S: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, Any]:
        offset, slope, root = self.affine(kind, S)
        centre = offset + self.to_nodes(rows) @ slope.T
        X = self.to_features(centre[:, None] + special.ndtri(u) @ root.T)
        X[:, :, S] = rows[:, None, S]
        return X, None


@dataclass
class Network:
    """Discrete nodes with tables of probabilities, causes first, own states last."""

    told: dict[str, Any]
    features: list[str]

    def __post_init__(self) -> None:
        self.nodes = [*self.features, *(name for name in self.told["nodes"] if name not in self.features)]
        self.states = [self.told["nodes"][name]["states"] for name in self.nodes]
        self.tables = [np.array(self.told["nodes"][name]["probabilities"]) for name in self.nodes]
        at = self.nodes.index
        self.axes = [[*map(at, self.told["nodes"][name]["parents"]), at(name)] for name in self.nodes]

    def _product(self, left_out: np.ndarray) -> np.ndarray:
        """The product of the tables of all nodes but some features, hidden nodes summed out."""
        joint = np.ones(self.states)
        for k, (table, axes) in enumerate(zip(self.tables, self.axes, strict=True)):
            if k >= len(left_out) or not left_out[k]:
                shape = [self.states[a] if a in axes else 1 for a in range(len(self.states))]
                joint = joint * table.transpose(np.argsort(axes)).reshape(shape)
        return joint.sum(axis=tuple(range(len(self.features), len(self.nodes))))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        joint = self._product(np.zeros(len(self.features), dtype=bool))
        cells = rng.choice(joint.size, n, p=joint.ravel() / joint.sum())
        return np.stack(np.unravel_index(cells, joint.shape), axis=1).astype(float)

    def everything(self, predict: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The model at each state of the features."""
        shape = self.states[: len(self.features)]
        cells = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
        return predict(cells.astype(float)).reshape(shape)

    def nu(self, kind: str, rows: np.ndarray, S: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The mean of the table ``f`` for each row, by summing over all states of the rest."""
        p = self._product(S if kind == "causal" else np.zeros_like(S))
        if kind == "marginal":
            p = np.broadcast_to(p.sum(axis=tuple(np.flatnonzero(S)), keepdims=True), p.shape)
        cells = [tuple(int(x) if s else slice(None) for x, s in zip(row, S, strict=True)) for row in rows]
        return np.array([(p[cell] * f[cell]).sum() / p[cell].sum() for cell in cells])

    def nu_by_elimination(self, kind: str, rows: np.ndarray, S: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The same without a joint table: tables are cut down to what is held, and nodes summed out one by one."""
        found = []
        for row in rows:
            held = {k: int(row[k]) for k in np.flatnonzero(S)} if kind != "marginal" else {}
            kept = [k for k in range(len(self.nodes)) if kind != "causal" or k not in held]
            pieces: list[Any] = [np.ones(()), []]
            for k in kept:
                cut = tuple(held.get(a, slice(None)) for a in self.axes[k])
                pieces += [self.tables[k][cut], [a for a in self.axes[k] if a not in held]]
            values = [int(row[k]) if s else slice(None) for k, s in enumerate(S)]
            total = np.einsum(*pieces, [], optimize="greedy")
            mean = np.einsum(*pieces, f[tuple(values)], np.flatnonzero(~S).tolist(), [], optimize="greedy")
            found.append(mean / total)
        return np.array(found)


def world_of(told: dict[str, Any], features: list[str]) -> Any:
    """The world of a description."""
    return {"gaussian": Gaussian, "equations": Equations, "network": Network}[told["kind"]](told, features)


class Grid:
    """``nu(S)`` of equations with normal noise and no hidden node by the trapezoidal rule on all free features at once.

    For smooth densities the rule converges faster than any power of the spacing. Fewer free features have finer grids,
    as what is held makes their densities narrow.
    """

    FINER = (1.0, 16.0, 5.0, 2.0, 1.2, 1.0)

    def __init__(self, world: Equations, n_points: int) -> None:
        self.world, self.n_points = world, n_points
        wide = world.sample(200_000, np.random.default_rng(0))
        self.low, self.high = wide.min(axis=0) - 0.3, wide.max(axis=0) + 0.3
        self.joint = self._density({}, world.features, 1.0)

    def _points(self, k: int, finer: float) -> np.ndarray:
        return np.linspace(self.low[k], self.high[k], round(self.n_points * finer))

    def _density(self, held: Values, counted: list[str], finer: float) -> np.ndarray:
        """The product of the densities of some nodes, on the grid of those that are not held."""
        names = self.world.features
        free = [k for k, name in enumerate(names) if name not in held]
        points = [self._points(k, finer) for k in free]
        values = dict(held)
        for at, k in enumerate(free):
            values[names[k]] = points[at].reshape([-1 if a == at else 1 for a in range(len(free))])
        log = sum(self.world.mechanisms[name].log_density(values[name], values) for name in counted)
        return np.exp(np.broadcast_to(log, [len(each) for each in points]))

    def nu(self, kind: str, rows: np.ndarray, S: np.ndarray, predict: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        names, found = self.world.features, []
        free = np.flatnonzero(~S)
        finer = 1.0 if kind == "marginal" else self.FINER[len(free)]
        for row in rows if S.any() else rows[:1]:
            held = {names[k]: row[k] for k in np.flatnonzero(S)}
            if kind == "marginal":
                p = self.joint.sum(axis=tuple(np.flatnonzero(S)))
            else:
                p = self._density(held, names if kind == "conditional" else [names[k] for k in free], finer)
            X = np.empty((p.size, len(row)))
            X[:, S] = row[S]
            grid = np.meshgrid(*(self._points(k, finer) for k in free), indexing="ij", copy=False)
            for k, axis in zip(free, grid, strict=True):
                X[:, k] = axis.ravel()
            f = np.concatenate([predict(part) for part in np.array_split(X, 1 + p.size // 2**16)])
            found.append(p.ravel() @ f / p.sum())
        return np.array(found) if S.any() else np.repeat(found, len(rows))
