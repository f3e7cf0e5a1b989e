"""The truth by a second method, for some rows of each problem, and the checksums of all files.

| first method | second method |
|---|---|
| closed form | conditional means by the precision matrix, the others by solving the equations without noise |
| enumeration | elimination |
| quadrature | draws by the equations, weighted |
| draws of a linear Gaussian model | independent draws by the precision matrix and a Cholesky factor |
| draws of other equations | importance sampling from t distributions with the moments of the rest |

Up to 8 features, orders are listed one by one in place of counting them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from benchmarks.truth.games import jackknife, members, sums, weights_by_permutations, weights_of
from benchmarks.truth.make import Game, checksums, games_of, make
from benchmarks.truth.reading import HERE, Problem, read, read_json
from benchmarks.truth.worlds import Equations, Gaussian, Number, sobol, world_of

#: How many standard errors two methods may differ by, in the worst of all values.
MOST = 5.0
ROWS, GROUPS, LOG2 = 3, 32, 9


def precision_parts(world: Gaussian, rows: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and the covariance of the free features given the held ones, by the inverse of a part of the precision."""
    precision = np.linalg.inv(world.covariance)
    inner = np.linalg.inv(precision[np.ix_(~S, ~S)])
    shift = (rows[:, S] - world.mean[S]) @ precision[np.ix_(S, ~S)] @ inner
    return world.mean[~S] - shift, inner


def second_mean(world: Gaussian, kind: str, rows: np.ndarray, S: np.ndarray) -> np.ndarray:
    """``E[X]`` (rows, features) of a linear Gaussian model, by other formulas than :meth:`Gaussian.means`."""
    if kind == "conditional":
        X = rows.copy()
        if not S.all():
            X[:, ~S] = precision_parts(world, rows, S)[0]
        return X
    without_noise = np.full((1, world.dimension), 0.5)
    return Equations.draws(world, kind, rows, S, without_noise)[0][:, 0]


def second_gaussian_draws(world: Gaussian, kind: str, rows: np.ndarray, S: np.ndarray, u: np.ndarray) -> tuple:
    """Draws of a linear Gaussian model, by other formulas than :meth:`Gaussian.draws`."""
    Z = world.to_nodes(rows)
    if kind == "conditional":
        X = np.repeat(Z[:, None], len(u), axis=1)
        mean, covariance = precision_parts(world, Z, S)
        X[:, :, ~S] = mean[:, None] + special.ndtri(u[:, : len(mean[0])]) @ np.linalg.cholesky(covariance).T
    else:
        X = Equations.draws(world, kind, Z, S, u)[0]
    return world.to_features(X), None


class Approximation:
    """Importance sampling from t distributions (and independent categories) that have the moments of a short run of the
    first method; the weight is the joint density over theirs. A bad approximation costs draws and is not wrong.
    """

    def __init__(self, world: Equations) -> None:
        self.world = world
        self.pilot = sobol(world.dimension, 11, 1, seed=5)[0]
        self.spread = {name: np.var(x) for name, x in world.run(self.pilot, {})[0].items()}

    def draws(self, kind: str, rows: np.ndarray, S: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, Any]:
        world, n_rows = self.world, len(rows)
        if kind == "marginal":
            return world.draws(kind, rows, S, u)
        held = {name: rows[:, k, None] for k, name in enumerate(world.features) if S[k]}
        values, log = world.run(self.pilot, held, weigh=kind == "conditional")
        w = special.softmax(np.broadcast_to(log, (n_rows, len(self.pilot))), axis=1)
        shape, place = (n_rows, len(u)), list(world.mechanisms).index
        log, drawn, numbers = np.zeros(shape), dict(held), []
        for name, how in world.mechanisms.items():
            if name in held:
                continue
            if isinstance(how, Number):
                numbers.append(name)
                continue
            states = np.arange(len(how.logits))
            known = np.broadcast_to(values[name], w.shape)
            p = 0.1 / len(states) + 0.9 * np.stack([(w * (known == state)).sum(axis=1) for state in states], axis=1)
            state = (u[:, place(name), None] >= np.cumsum(p, axis=1)[:, None, :-1]).sum(axis=-1)
            log -= np.log(np.take_along_axis(p, state, axis=1))
            drawn[name] = state.astype(float)
        if numbers:
            x = np.stack([np.broadcast_to(values[name], w.shape) for name in numbers], axis=-1)
            mean = np.einsum("rm,rmk->rk", w, x)
            covariance = 1.2 * np.einsum("rm,rmk,rml->rkl", w, x - mean[:, None], x - mean[:, None])
            covariance += 0.03 * np.diag([self.spread[name] for name in numbers])
            g = np.random.default_rng(int(u[0, 0] * 2**40)).chisquare(6, len(u)) / 6
            z = special.ndtri(u[:, [place(name) for name in numbers]]) / np.sqrt(g)[:, None]
            away = np.einsum("mk,rlk->rml", z, np.linalg.cholesky(covariance))
            log += (6 + len(numbers)) / 2 * np.log1p((z**2).sum(axis=-1) / 6)
            drawn |= {name: mean[:, k, None] + away[..., k] for k, name in enumerate(numbers)}
        for name, how in world.mechanisms.items():
            if kind == "conditional" or name not in held:
                log = log + how.log_density(drawn[name], drawn)
        return np.stack([np.broadcast_to(drawn[name], shape) for name in world.features], axis=-1), log


def tree_explainer(problem: Problem, world: Gaussian) -> tuple[np.ndarray, np.ndarray]:
    """Marginal values by shap over groups of draws, and their standard errors."""
    import shap
    import xgboost

    model = xgboost.Booster({"nthread": 1}, model_file=str(problem.model_file))
    groups = [shap.maskers.Independent(world.simulate(u), 2**LOG2) for u in sobol(world.dimension, LOG2, GROUPS, 99)]
    each = np.stack([shap.TreeExplainer(model, X).shap_values(problem.explain[:ROWS]) for X in groups])
    return each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(GROUPS)


def second(problem: Problem, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of the first rows by the second method, and their errors."""
    if problem.about["truth"].get("leaves") and kind == "marginal":
        return tree_explainer(problem, world_of(problem.distribution, problem.features))
    phi, error = np.zeros((2, ROWS, len(problem.features)))
    for at, game in games_of(problem):
        phi[:, at], error[:, at] = second_of_game(game, kind)
    return phi, error


def second_of_game(game: Game, kind: str) -> tuple[np.ndarray, np.ndarray]:
    world, predict, rows, method = game.world, game.predict, game.rows[:ROWS], game.told["method"]
    n = rows.shape[1]
    before = game.before if kind == "asymmetric" else [0] * n
    coalitions, matrix = weights_by_permutations(before) if n <= 8 else weights_of(before)
    kind = "conditional" if kind == "asymmetric" else kind
    if method == "closed form":
        nu = [predict(second_mean(world, kind, rows, members(S, n))) for S in coalitions]
        return np.stack(nu, axis=1) @ matrix, np.zeros((ROWS, n))
    if method == "enumeration":
        f = world.everything(predict)
        nu = [world.nu_by_elimination(kind, rows, members(S, n), f) for S in coalitions]
        return np.stack(nu, axis=1) @ matrix, np.zeros((ROWS, n))
    how: Callable = partial(world.draws, kind)
    log2 = LOG2 if n <= 8 else LOG2 - 2
    if isinstance(world, Gaussian):
        how = partial(second_gaussian_draws, world, kind)
    elif method == "draws":
        how, log2 = partial(Approximation(world).draws, kind), LOG2 + 2
    groups = sobol(world.dimension, log2, GROUPS, seed=99)
    return jackknife(sums(lambda S, u: how(rows, S, u), predict, rows, coalitions, groups), matrix)


def check_values(name: str, say: Callable[[str], None]) -> bool:
    """Each kind of a problem by the second method."""
    problem, fine = read(name), True
    for kind in problem.about["kinds"]:
        phi, error = second(problem, kind)
        truth, stated = problem.truth(kind)[:ROWS], problem.truth(kind, "error")[:ROWS]
        away, allowed = np.abs(phi - truth), np.sqrt(stated**2 + error**2)
        unit = np.abs(truth).mean()
        worst = float((away / np.maximum(allowed, 1e-12 * unit)).max())
        fine &= worst <= MOST
        verdict = "agree" if worst <= MOST else "DIFFER"
        say(
            f"{name}, {kind}: {verdict}; difference {away.mean() / unit:.1e} of the mean value, stated "
            f"{stated.mean() / unit:.1e}, of the second method {error.mean() / unit:.1e}; worst {worst:.1f} errors"
        )
    return fine


def check_again(name: str, say: Callable[[str], None]) -> bool:
    """A problem made once more, from its model on: the same files?"""
    with tempfile.TemporaryDirectory() as place:
        root, problem = Path(place), read(name)
        (root / name).mkdir()
        for file in ("problem.json", "distribution.json", "graph.json", problem.model_file.name):
            shutil.copy(problem.folder / file, root / name / file)
        make(name, root)
        again, kept = checksums(root), read_json(HERE / "manifest.json")["sha256"]
    other = [path for path, checksum in again.items() if kept.get(path) != checksum]
    verdict = "all the same" if not other else "CHANGED: " + ", ".join(other)
    say(f"{name}: made again, {len(again)} files, {verdict}")
    return not other


def check(chosen: Sequence[str], again: bool, say: Callable[[str], None]) -> bool:
    """Checksums of all files, then the second method."""
    kept, found = read_json(HERE / "manifest.json")["sha256"], checksums()
    changed = sorted(path for path in kept.keys() | found.keys() if kept.get(path) != found.get(path))
    say(f"checksums: {len(found)} files, {'CHANGED: ' + ', '.join(changed) if changed else 'all as in the manifest'}")
    fine = not changed
    for name in chosen:
        fine &= check_values(name, say)
        if again:
            fine &= check_again(name, say)
    return fine
