"""Makes the files of a problem: rows, the model (once), and its values by the method that the problem names."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.truth.games import jackknife, members, predecessors, sums, weights_of
from benchmarks.truth.leaves import leaf_values
from benchmarks.truth.reading import (
    HERE,
    KINDS,
    PROBLEMS,
    Predict,
    Problem,
    TruthError,
    names,
    read,
    read_json,
    write_values,
)
from benchmarks.truth.worlds import Grid, expression, sobol, world_of

VERSION = 1
LEAF_DRAWS = 13  # the logarithm
ROUNDING = 5e-8  # half of the last of eight digits, at most


def write_json(path: Path, told: Any) -> None:
    text = json.dumps(told, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


# --- the model, fitted once -----------------------------------------------------------------------------------------


def fit(problem: Problem) -> None:
    """Fits the model to its target on the training rows, and writes it."""
    told, train, path = problem.about["model"], problem.train, problem.model_file
    kind = told["kind"]
    target = expression(told["target"])(dict(zip(problem.features, train.T, strict=True)))
    if kind == "xgboost":
        import xgboost

        options = {"max_depth": told["depth"], "eta": 0.15, "nthread": 1, "seed": 0}
        if len(problem.blocks) > 1:
            options["interaction_constraints"] = problem.blocks
        data = xgboost.DMatrix(train, target, feature_names=problem.features)
        xgboost.train(options, data, told["trees"]).save_model(path)
    elif kind == "lightgbm":
        import lightgbm

        options = {"num_leaves": told["leaves"], "learning_rate": 0.15, "num_threads": 1, "seed": 0, "verbose": -1}
        data = lightgbm.Dataset(train, target, feature_name=problem.features, params={"verbose": -1})
        lightgbm.train({**options, "deterministic": True}, data, told["trees"]).save_model(path)
    elif kind == "neural network":
        from sklearn.neural_network import MLPRegressor

        options = {"activation": "tanh", "solver": "lbfgs", "alpha": 0.1, "max_iter": 5000, "random_state": 0}
        net = MLPRegressor(hidden_layer_sizes=told["units"], **options)
        net.fit(train, target)
        layers = [
            {"weights": W.round(6).tolist(), "bias": b.round(6).tolist()}
            for W, b in zip(net.coefs_, net.intercepts_, strict=True)
        ]
        write_json(path, {"kind": kind, "layers": layers})
    else:
        from sklearn.tree import DecisionTreeRegressor

        tree = DecisionTreeRegressor(max_leaf_nodes=told["leaves"], random_state=0).fit(train, target).tree_
        arrays = {
            "feature": tree.feature,
            "threshold": tree.threshold,
            "left": tree.children_left,
            "right": tree.children_right,
            "value": tree.value[:, 0, 0],
        }
        write_json(path, {"kind": kind} | {key: array.tolist() for key, array in arrays.items()})


# --- the values ----------------------------------------------------------------------------------------------------

SENTENCES = {
    "closed form": "closed form: the model is linear, and the means of a linear Gaussian model are known",
    "enumeration": "enumeration of all states of all nodes",
    "quadrature": "trapezoidal rule on a grid of all free features; the error is the change from a coarser grid",
    "draws": "scrambled Sobol draws ({groups} groups of {draws:,}), {how}; the error is a jackknife over the groups",
    "leaves": "means over {groups} groups of 8,192 scrambled Sobol draws of the products of conditions of each leaf; "
    "the error is their deviation",
}
HOW = {
    ("gaussian", "conditional"): "conditional normal distributions in closed form",
    ("equations", "conditional"): "weighted by the density of what is held given its causes",
}


@dataclass
class Game:
    """Features that the others tell nothing of, and that the model adds to the others: mostly all features."""

    told: dict[str, Any]
    world: Any
    predict: Predict
    rows: np.ndarray
    before: list[int]

    def __post_init__(self) -> None:
        self.seen: dict[str, tuple[list[int], np.ndarray]] = {}

    def values(self, kind: str) -> tuple[np.ndarray, np.ndarray, float]:
        """Attributions, their errors, and the mean prediction."""
        n = self.rows.shape[1]
        before = self.before if kind == "asymmetric" else [0] * n
        kind = "conditional" if kind == "asymmetric" else kind
        coalitions, matrix = weights_of(before)
        if kind not in self.seen:
            # conditional values come first, if there are any, and hold all coalitions
            self.seen[kind] = coalitions, self._means(kind, coalitions)
        known, found = self.seen[kind]
        place = {S: k for k, S in enumerate(known)}
        at = [place[S] for S in coalitions]
        if self.told["method"] == "draws":
            base = found[0, :, 0, 0].sum() / found[1, :, 0, 0].sum()
            return *jackknife(found[..., at], matrix), float(base)
        phi = found[-1][:, at] @ matrix
        error = np.abs(found[0][:, at] @ matrix - phi) + ROUNDING * (np.abs(phi) + np.abs(phi).mean())
        return phi, error, float(found[-1][0, 0])

    def _means(self, kind: str, coalitions: list[int]) -> np.ndarray:
        """Sums over groups of draws, see :func:`sums`; or ``nu`` (1 or 2, rows, coalitions), a coarser one first."""
        world, rows, method = self.world, self.rows, self.told["method"]
        if method == "draws":
            groups, log2 = self.told["draws"]
            uniforms = sobol(world.dimension, log2, groups, seed=1)
            return sums(lambda S, u: world.draws(kind, rows, S, u), self.predict, rows, coalitions, uniforms)
        if method == "closed form":
            ways = [lambda S: self.predict(world.means(kind, rows, S))]
        elif method == "enumeration":
            f = world.everything(self.predict)
            ways = [lambda S: world.nu(kind, rows, S, f)]
        else:
            grids = [Grid(world, n_points) for n_points in self.told["draws"]]
            ways = [partial(grid.nu, kind, rows, predict=self.predict) for grid in grids]
        held = [members(S, rows.shape[1]) for S in coalitions]
        return np.array([np.stack([way(S) for S in held], axis=1) for way in ways])


def games_of(problem: Problem) -> list[tuple[list[int], Game]]:
    """The features of each game, by position, and the game."""
    world, predict = world_of(problem.distribution, problem.features), problem.predict()
    typical = problem.train.mean(axis=0)

    def alone(at: list[int], X: np.ndarray) -> np.ndarray:
        """What a block adds to the model at a typical row."""
        if len(at) == len(typical):
            return predict(X)
        filled = np.tile(typical, (len(X), 1))
        filled[:, at] = X
        return predict(filled)

    found = []
    for block in problem.blocks:
        at = [problem.features.index(name) for name in block]
        part = world if len(problem.blocks) == 1 else world.only(block)
        before = predecessors(problem.graph, block)
        found.append((at, Game(problem.about["truth"], part, partial(alone, at), problem.explain[:, at], before)))
    return found


def truths(problem: Problem) -> dict[str, tuple[np.ndarray, np.ndarray, float, str]]:
    """Values, their errors, the mean prediction and the method of each kind."""
    rows, told, found = problem.explain, problem.about["truth"], {}
    games, world = games_of(problem), world_of(problem.distribution, problem.features)
    groups, log2 = told.get("draws", (0, 0))
    at_typical = float(problem.predict()(problem.train.mean(axis=0, keepdims=True))[0])
    for kind in (kind for kind in KINDS if kind not in problem.about["absent"]):
        method = told["method"]
        if kind == "marginal" and told.get("leaves"):
            draws = [world.simulate(u) for u in sobol(world.dimension, LEAF_DRAWS, groups, seed=2)]
            phi, error = leaf_values(problem.model_file, rows, draws)
            base, method = float(np.mean([problem.predict()(X).mean() for X in draws])), "leaves"
        else:
            phi, error, base = np.zeros(rows.shape), np.zeros(rows.shape), -(len(games) - 1) * at_typical
            for at, game in games:
                phi[:, at], error[:, at], mean = game.values(kind)
                base += mean
        values = "conditional" if kind == "asymmetric" else kind
        how = HOW.get((problem.distribution["kind"], values), "the mechanisms simulated forwards")
        found[kind] = phi, error, base, SENTENCES[method].format(groups=groups, draws=2**log2, how=how)
    return found


# --- the files ------------------------------------------------------------------------------------------------------


def make(name: str, root: Path = PROBLEMS) -> float:
    """Writes rows and values of a problem, and the model if it is not there. Returns CPU seconds.

    What stands in ``distribution.json``, ``graph.json`` and ``problem.json`` is what the problem is.
    """
    start = time.process_time()
    folder = root / name
    if not (folder / "problem.json").exists():
        raise TruthError(f"there is no problem {name!r}; there are: {', '.join(names(root))}")
    about = read_json(folder / "problem.json")
    features = [feature["name"] for feature in about["features"]]
    world = world_of(read_json(folder / "distribution.json"), features)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    for k, table in enumerate(("train", "explain")):
        X = world.sample(about[f"{table}_rows"], np.random.default_rng([seed, 1 + k])).round(4)
        write_values(folder / f"{table}.csv", features, X)
    problem = read(name, root)
    if not problem.model_file.exists():
        fit(problem)
    write_values(folder / "predictions.csv", ["prediction"], problem.predict()(problem.explain)[:, None])
    about["kinds"] = {}
    for kind, (phi, error, base, method) in truths(problem).items():
        write_values(folder / f"truth_{kind}.csv", features, phi)
        write_values(folder / f"error_{kind}.csv", features, error, 2)
        relative = float(error.mean() / np.abs(phi).mean())
        about["kinds"][kind] = {"method": method, "mean_prediction": base, "relative_error": float(f"{relative:.2g}")}
    write_json(folder / "problem.json", about)
    return time.process_time() - start


def checksums(root: Path = PROBLEMS) -> dict[str, str]:
    """sha256 of every file of every problem."""
    files = [path for name in names(root) for path in sorted((root / name).iterdir())]
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def write_manifest() -> None:
    told = {"version": VERSION, "licence": "CC0-1.0", "problems": names(), "sha256": checksums()}
    write_json(HERE / "manifest.json", told)
