"""The work on tables that participants share: known structural models, Gaussian features in levels, bike rentals, a
linear model; with its true attributions where they are known.
"""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.table_work import TableWork

ROOT = Path(__file__).parents[2]


def structural_work(kind: str, variant: int, full: bool) -> tuple[TableWork, Any, np.ndarray]:
    """(work, the known model, its ASV (rows, features))."""
    from tests.oracles.structural_models import KINDS, _number

    model = KINDS[kind](variant)
    table, rows = model.sample(2000 if full else 150, 100 + variant), model.sample(8 if full else 2, 777)
    names = list(model.names)
    letters = {"f": "f", "i": "i", "b": "b"}
    kinds = "".join(letters.get(table[name].dtype.kind, "c") for name in names)
    labels = {name: sorted(set(table[name])) for name, letter in zip(names, kinds, strict=True) if letter == "c"}

    def numbers(frame: Any) -> np.ndarray:
        codes = [np.searchsorted(labels[n], frame[n].astype(str)) if n in labels else _number(frame[n]) for n in names]
        return np.array(codes, dtype=float).T

    coalitions = np.array([[name in ideal for name in names] for ideal in model.ideals()])
    work = TableWork(
        names,
        kinds,
        numbers(table),
        numbers(rows),
        coalitions,
        {"structural": kind, "variant": variant},
        edges=[list(edge) for edge in model.edges],
        labels=labels,
        n_draws=1024 if full else 64,
    )
    return work, model, model.asv(model.values(rows, 2**12 if full else 256, 3))


def gaussian_features(width: int, full: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """(table, rows, true covariance, generator) of correlated Gaussian features with mean 0."""
    rng = np.random.default_rng(width)
    root = np.tril(rng.normal(size=(width, width))) / np.sqrt(width) + 0.6 * np.eye(width)
    table, rows = (rng.normal(size=(n, width)) @ root.T for n in ((2000, 20) if full else (200, 2)))
    return table, rows, root @ root.T, rng


def fitted_trees(table: np.ndarray, target: np.ndarray, full: bool) -> dict[str, str]:
    import xgboost

    model = xgboost.XGBRegressor(n_estimators=100 if full else 5, max_depth=6 if full else 3, n_jobs=1)
    return {"xgboost": bytes(model.fit(table, target).get_booster().save_raw("json")).decode()}


def in_four(names: list[str]) -> list[list[str]]:
    size = -(-len(names) // 4)
    return [names[first : first + size] for first in range(0, len(names), size)]


def level_weights(levels: list[list[str]]) -> Any:
    """Coalitions (m, n) of level after level and their weights, features in the order of the levels."""
    from shap_asv import CausalOrder
    from shap_asv.orders.weights import weigh_ideals

    return weigh_ideals(CausalOrder.from_levels(levels))


def level_work(width: int, full: bool) -> tuple[TableWork, Any, np.ndarray]:
    """(work, weights, ASV (rows, features)) of XGBoost over Gaussian features in four levels."""
    table, rows, covariance, rng = gaussian_features(width, full)
    jump = 2 * (table[:, 3] * table[:, -1] > 0.2)
    target = (table[:, 0] > 0) * table[:, 1] + table @ rng.normal(size=width) + jump
    names = [f"x{k:02d}" for k in range(width)]
    levels = in_four(names)
    weights = level_weights(levels)
    work = TableWork(
        names,
        "f" * width,
        table,
        rows,
        np.asarray(weights.coalitions),
        fitted_trees(table, target, full),
        levels=levels,
        n_draws=1024 if full else 64,
    )
    nu = conditional_means(work, covariance, 2**12 if full else 256)
    return work, weights, nu @ weights.matrix


def conditional_means(work: TableWork, covariance: np.ndarray, n_draws: int) -> np.ndarray:
    """nu (r, m) of a model over Gaussian features with mean 0, by Sobol draws given each coalition."""
    from scipy import special, stats

    rows = work.rows
    uniforms = stats.qmc.Sobol(rows.shape[1], seed=np.random.default_rng(5)).random(n_draws)
    normal = special.ndtri(np.clip(uniforms, 1e-12, 1 - 1e-12))
    nu = np.empty((len(rows), len(work.coalitions)))
    for s, held in enumerate(work.coalitions):
        free = ~held
        inputs = np.repeat(rows[:, None, :], n_draws if free.any() else 1, axis=1)
        if free.any():
            slopes = np.linalg.solve(covariance[np.ix_(held, held)], covariance[np.ix_(held, free)])
            spread = np.linalg.cholesky(covariance[np.ix_(free, free)] - covariance[np.ix_(free, held)] @ slopes)
            inputs[:, :, free] = (rows[:, held] @ slopes)[:, None] + normal[:, free] @ spread.T
        nu[:, s] = work.predict(inputs.reshape(-1, rows.shape[1])).reshape(len(rows), -1).mean(axis=1)
    return nu


def bike_work(full: bool) -> tuple[TableWork, Any, np.ndarray]:
    """(work, weights, predictions) of XGBoost on bike rentals; the rows are days that no background has seen."""
    import pandas as pd

    bike = pd.read_csv(ROOT / "examples" / "data" / "bike_daily.csv")
    levels = [["day"], ["cosyear", "sinyear"], ["temp", "humidity", "windspeed"]]
    names = [name for level in levels for name in level]
    X, y = bike[names].to_numpy(dtype=float), bike["count"].to_numpy(dtype=float)
    kept_out = np.arange(len(X)) % 7 == 3
    weights = level_weights(levels)
    work = TableWork(
        names,
        "f" * len(names),
        X[~kept_out],
        X[kept_out][: None if full else 2],
        np.asarray(weights.coalitions),
        fitted_trees(X[~kept_out], y[~kept_out], full),
        levels=levels,
        n_draws=512 if full else 32,
    )
    return work, weights, work.predict(work.rows)


def linear_work(width: int, full: bool) -> tuple[TableWork, np.ndarray]:
    """(work, Shapley values (rows, features)) of a linear model, with the covariance of the table."""
    table, rows, _, rng = gaussian_features(width, full)
    slopes = rng.normal(size=width)
    names = [f"x{k:02d}" for k in range(width)]
    work = TableWork(names, "f" * width, table, rows, np.ones((1, width), dtype=bool), {"linear": slopes.tolist()})
    mean, covariance = table.mean(axis=0), np.cov(table.T)
    nu = np.empty((2**width, len(rows)))
    members = (np.arange(2**width)[:, None] >> np.arange(width) & 1).astype(bool)
    for s, held in enumerate(members):
        told = np.linalg.solve(covariance[np.ix_(held, held)], covariance[np.ix_(held, ~held)] @ slopes[~held])
        nu[s] = (rows - mean)[:, held] @ (slopes[held] + told)
    size = members.sum(axis=1)
    share = np.array([1 / (width * comb(width - 1, k)) if k < width else 0.0 for k in range(width + 1)])
    phi = np.empty_like(rows)
    for i in range(width):
        without = np.flatnonzero(~members[:, i])
        phi[:, i] = share[size[without]] @ (nu[without | 1 << i] - nu[without])
    return work, phi
