"""The truth by a second method, for some rows of each problem, and the checksums of all files.

| first method | second method |
|---|---|
| closed form | conditional means by the precision matrix, the others by solving the equations without noise |
| enumeration | elimination |
| quadrature | draws by the equations, weighted |
| draws of a linear Gaussian model | independent draws by the precision matrix and a Cholesky factor |
| draws of other equations | importance sampling from a normal approximation of the joint distribution |

Up to 8 features, orders are listed one by one in place of counting them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.truth.games import jackknife, members, predecessors, sums, weights_by_permutations, weights_of
from benchmarks.truth.make import checksums, make, spec_of
from benchmarks.truth.problems import Spec
from benchmarks.truth.reading import HERE, Problem, read, read_json
from benchmarks.truth.worlds import Category, Equations, Gaussian, sobol, world_of

#: How many standard errors two methods may differ by, in the worst of all values.
MOST = 5.0
ROWS, GROUPS, LOG2 = 4, 8, 11


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
        X[:, :, ~S] = mean[:, None] + stats.norm.ppf(u[:, : len(mean[0])]) @ np.linalg.cholesky(covariance).T
    else:
        X = Equations.draws(world, kind, Z, S, u)[0]
    return world.to_features(X), None


class Approximation:
    """Importance sampling: free categories uniformly, free numbers from a t distribution around the normal one that has
    the moments of the joint distribution; the weight is the joint density over that.
    """

    def __init__(self, world: Equations) -> None:
        self.world = world
        values, _ = world.run(np.random.default_rng(5).uniform(1e-12, 1 - 1e-12, (100_000, world.dimension)), {})
        nodes = np.stack([np.broadcast_to(x, 100_000) for x in values.values()])
        self.names = list(values)
        self.mean, self.covariance = nodes.mean(axis=1), np.cov(nodes)

    def draws(self, kind: str, rows: np.ndarray, S: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, Any]:
        world, at = self.world, self.names.index
        held = {name: rows[:, k, None] for k, name in enumerate(world.features) if S[k]}
        if kind == "marginal":
            return world.draws(kind, rows, S, u)
        rng = np.random.default_rng(int(u[0, 0] * 2**40))
        shape = (len(rows), len(u))
        values = {name: np.broadcast_to(x, shape) for name, x in held.items()}
        for name, how in world.mechanisms.items():
            if name not in held and isinstance(how, Category):
                values[name] = rng.integers(0, len(how.logits), shape).astype(float)
        known = [at(name) for name in values]
        free = [k for k, name in enumerate(self.names) if name not in values]
        log = np.zeros(shape)
        if free:
            gain = np.linalg.solve(self.covariance[np.ix_(known, known)], self.covariance[np.ix_(known, free)]).T
            spread = 1.3 * (self.covariance[np.ix_(free, free)] - gain @ self.covariance[np.ix_(known, free)])
            away = np.zeros((*shape, len(known)))
            for j, k in enumerate(known):
                away[..., j] = values[self.names[k]] - self.mean[k]
            t = stats.multivariate_t(np.zeros(len(free)), spread, df=6, seed=rng)
            noise = t.rvs(shape).reshape(*shape, len(free))
            log -= t.logpdf(noise)
            drawn = self.mean[free] + away @ gain.T + noise
            values |= {self.names[k]: drawn[..., j] for j, k in enumerate(free)}
        for name, how in world.mechanisms.items():
            if kind == "conditional" or name not in held:
                log = log + how.log_density(values[name], values)
        return np.stack([np.broadcast_to(values[name], shape) for name in world.features], axis=-1), log


def second(spec: Spec, problem: Problem, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of the first rows by the second method, and their errors."""
    rows, n = problem.explain[:ROWS], len(problem.features)
    world, predict = world_of(spec.world, problem.features), problem.predict()
    before = predecessors(spec.graph, problem.features) if kind == "asymmetric" else [0] * n
    coalitions, matrix = weights_by_permutations(before) if n <= 8 else weights_of(before)
    values = "conditional" if kind == "asymmetric" else kind
    if spec.method == "closed form":
        nu = [predict(second_mean(world, values, rows, members(S, n))) for S in coalitions]
        return np.stack(nu, axis=1) @ matrix, np.zeros((ROWS, n))
    if spec.method == "enumeration":
        f = world.everything(predict)
        nu = [world.nu_by_elimination(values, rows, members(S, n), f) for S in coalitions]
        return np.stack(nu, axis=1) @ matrix, np.zeros((ROWS, n))
    how: Callable = world.draws
    if isinstance(world, Gaussian):
        how = lambda kind, rows, S, u: second_gaussian_draws(world, kind, rows, S, u)  # noqa: E731
    elif spec.method == "draws":
        how = Approximation(world).draws
    groups = sobol(world.dimension, LOG2, GROUPS, seed=99)
    return jackknife(sums(lambda S, u: how(values, rows, S, u), predict, rows, coalitions, groups), matrix)


def check_values(name: str, say: Callable[[str], None]) -> bool:
    """Each kind of a problem by the second method."""
    problem, spec, fine = read(name), spec_of(name), True
    for kind in problem.about["kinds"]:
        phi, error = second(spec, problem, kind)
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
        root = Path(place)
        (root / name).mkdir()
        model = read(name).model_file
        shutil.copy(model, root / name / model.name)
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
