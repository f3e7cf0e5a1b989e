"""Makes the files of a problem: rows, the model (once), and its values by the method that the problem names."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.truth.games import jackknife, members, predecessors, sums, weights_of
from benchmarks.truth.problems import ALL, SPECS, Spec
from benchmarks.truth.reading import HERE, PROBLEMS, Predict, Problem, TruthError, names, read, write_values
from benchmarks.truth.worlds import Grid, expression, sobol, world_of

VERSION = 1
N_TRAIN = 2000
ROUNDING = 5e-8  # half of the last of eight digits, at most


def write_json(path: Path, told: Any) -> None:
    text = json.dumps(told, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def spec_of(name: str) -> Spec:
    if name not in SPECS:
        raise TruthError(f"there is no problem {name!r}; there are: {', '.join(SPECS)}")
    return SPECS[name]


# --- the model, fitted once -----------------------------------------------------------------------------------------

FILES = {"xgboost": "model.xgboost.json", "lightgbm": "model.lightgbm.txt"}


def fit(spec: Spec, train: np.ndarray, path: Path) -> None:
    """Fits the model to its target on the training rows, and writes it."""
    told = spec.model
    kind = told["kind"]
    if kind == "linear":
        write_json(path, told)
        return
    target = expression(told["target"])(dict(zip(spec.features, train.T, strict=True)))
    if kind == "xgboost":
        import xgboost

        options = {"max_depth": told["depth"], "eta": 0.15, "nthread": 1, "seed": 0}
        if spec.blocks:
            at = spec.features.index
            options["interaction_constraints"] = [[at(name) for name in block] for block in spec.blocks]
        xgboost.train(options, xgboost.DMatrix(train, target), told["trees"]).save_model(path)
    elif kind == "lightgbm":
        import lightgbm

        options = {"num_leaves": told["leaves"], "learning_rate": 0.15, "num_threads": 1, "seed": 0, "verbose": -1}
        data = lightgbm.Dataset(train, target, feature_name=spec.features, params={"verbose": -1})
        lightgbm.train({**options, "deterministic": True}, data, told["trees"]).save_model(path)
    elif kind == "neural network":
        from sklearn.neural_network import MLPRegressor

        units = told["units"]
        net = MLPRegressor(units, activation="tanh", solver="lbfgs", alpha=0.1, max_iter=300, random_state=0)
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
    "leaves": "mean over {draws:,} draws of every product of conditions of each leaf, {groups} groups; the error is a "
    "jackknife over the groups",
}
HOW = {
    ("gaussian", "conditional"): "conditional normal distributions in closed form",
    ("equations", "conditional"): "weighted by the density of what is held given its causes",
}


def all_coalitions(n: int) -> list[int]:
    return weights_of([0] * n)[0]


def drawn(
    spec: Spec, world: Any, predict: Predict, rows: np.ndarray, kind: str, coalitions: list[int], seed: int = 1
) -> np.ndarray:
    """Sums of a kind over groups of draws, see :func:`benchmarks.truth.games.sums`."""
    groups, log2 = spec.draws
    uniforms = sobol(world.dimension, log2, groups, seed)
    return sums(lambda S, u: world.draws(kind, rows, S, u), predict, rows, coalitions, uniforms)


def values_of(found: np.ndarray, coalitions: list[int], before: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Attributions and errors for the orders of ``before``, from sums of at least their coalitions."""
    wanted, matrix = weights_of(before)
    place = {S: k for k, S in enumerate(coalitions)}
    return jackknife(found[..., [place[S] for S in wanted]], matrix)


def exact_nu(spec: Spec, world: Any, predict: Predict, rows: np.ndarray, kind: str, coalitions: list[int]) -> list:
    """``nu`` (rows, coalitions) without draws; of a grid, that of a coarser one beside it."""
    n = rows.shape[1]
    if spec.method == "closed form":
        return [np.stack([predict(world.means(kind, rows, members(S, n))) for S in coalitions], axis=1)]
    if spec.method == "enumeration":
        f = world.everything(predict)
        return [np.stack([world.nu(kind, rows, members(S, n), f) for S in coalitions], axis=1)]
    grids = [Grid(world, n_points) for n_points in spec.draws]
    return [np.stack([grid.nu(kind, rows, members(S, n), predict) for S in coalitions], axis=1) for grid in grids]


def truths(spec: Spec, problem: Problem) -> dict[str, tuple[np.ndarray, np.ndarray, float, str]]:
    """Values, their errors, the mean prediction and the method of each kind."""
    rows, features = problem.explain, problem.features
    world, predict = world_of(spec.world, features), problem.predict()
    before = predecessors(spec.graph, features)
    kinds = [kind for kind in ALL if kind not in spec.absent]
    groups, log2 = spec.draws
    found = {}
    seen: dict[str, Any] = {}
    for kind in kinds:
        orders = before if kind == "asymmetric" else [0] * len(features)
        values = "conditional" if kind == "asymmetric" else kind
        coalitions, matrix = weights_of(orders)
        if spec.method == "draws":
            if values not in seen or len(seen[values][1]) < len(coalitions):
                seen[values] = drawn(spec, world, predict, rows, values, coalitions), coalitions
            sums_found, known = seen[values]
            phi, error = values_of(sums_found, known, orders)
            base = float((sums_found[0, :, :, 0].sum(0) / sums_found[1, :, :, 0].sum(0)).mean())
            how = HOW.get((spec.world["kind"], values), "the mechanisms simulated forwards")
            method = SENTENCES["draws"].format(groups=groups, draws=2**log2, how=how)
        else:
            if values not in seen:
                full = coalitions if kind != "asymmetric" else all_coalitions(len(features))
                seen[values] = exact_nu(spec, world, predict, rows, values, full), full
            nus, known = seen[values]
            at = [known.index(S) for S in coalitions]
            phi = nus[-1][:, at] @ matrix
            error = np.abs(nus[0][:, at] @ matrix - phi) + ROUNDING * (np.abs(phi) + np.abs(phi).mean())
            base, method = float(nus[-1][0, 0]), SENTENCES[spec.method]
        found[kind] = phi, error, base, method
    return found


# --- the files ------------------------------------------------------------------------------------------------------


def make(name: str, root: Path = PROBLEMS) -> float:
    """Writes the files of a problem; a model that is there already stays. Returns CPU seconds."""
    start = time.process_time()
    spec, folder = spec_of(name), root / name
    folder.mkdir(parents=True, exist_ok=True)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    world = world_of(spec.world, spec.features)
    tables = {
        "train": world.sample(N_TRAIN, np.random.default_rng([seed, 1])).round(4),
        "explain": world.sample(spec.n_rows, np.random.default_rng([seed, 2])).round(4),
    }
    for table, X in tables.items():
        write_values(folder / f"{table}.csv", spec.features, X)
    write_json(folder / "distribution.json", spec.world)
    write_json(folder / "graph.json", spec.graph)
    file = FILES.get(spec.model["kind"], "model.json")
    if not (folder / file).exists():
        fit(spec, tables["train"], folder / file)
    about = {
        "name": name,
        "version": VERSION,
        "title": spec.title,
        "features": [{"name": one, "kind": kind_of(spec, one)} for one in spec.features],
        "train_rows": N_TRAIN,
        "explain_rows": spec.n_rows,
        "model": {"kind": spec.model["kind"], "file": file},
        "kinds": {},
        "absent": spec.absent,
    }
    write_json(folder / "problem.json", about)
    problem = read(name, root)
    write_values(folder / "predictions.csv", ["prediction"], problem.predict()(problem.explain)[:, None])
    for kind, (phi, error, base, method) in truths(spec, problem).items():
        write_values(folder / f"truth_{kind}.csv", spec.features, phi)
        write_values(folder / f"error_{kind}.csv", spec.features, error, 2)
        relative = float(error.mean() / np.abs(phi).mean())
        about["kinds"][kind] = {"method": method, "mean_prediction": base, "relative_error": float(f"{relative:.2g}")}
    write_json(folder / "problem.json", about)
    return time.process_time() - start


def kind_of(spec: Spec, name: str) -> str:
    """Whether a feature is a number or a category, coded as 0, 1, ..."""
    node = spec.world["nodes"][name]
    states = node.get("states", len(node.get("logits", [])))
    return f"{states} states" if states else "number"


def checksums(root: Path = PROBLEMS) -> dict[str, str]:
    """sha256 of every file of every problem."""
    files = [path for name in names(root) for path in sorted((root / name).iterdir())]
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def write_manifest() -> None:
    told = {"version": VERSION, "licence": "CC0-1.0", "problems": names(), "sha256": checksums()}
    write_json(HERE / "manifest.json", told)
