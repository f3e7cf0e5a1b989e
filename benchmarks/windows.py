"""Windows of series: ``python -m benchmarks windows``.

A process whose mechanisms are known (three variables, nonlinear, each acting on the next one at once), and its windows
of ten lags. How far are ASV with the past first from the truth when mechanisms are learned from 1,000 windows: one for
each variable at all times, or one for each variable and lag? ``relative error = mean |ASV - truth| / mean |truth|``.
And what do 500 windows of 30 lags of five variables take, with XGBoost as the model?
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.timing import timed

N_VARIABLES, N_LAGS = 3, 10
NAMES = [f"x{v}(t-{N_LAGS - s})" for s in range(N_LAGS) for v in range(N_VARIABLES)]
SUMMARY = [("x0", "x1"), ("x1", "x2"), ("x0", "x2")]
NOISE = np.array([0.6, 0.8, 0.5])
MOST_ERROR, MOST_SHARE, MOST_SECONDS = 0.10, 0.5, 60.0


def next_states(before: np.ndarray, noise: np.ndarray, held: np.ndarray | None = None, n_held: int = 0) -> np.ndarray:
    """One step of the process, (m, 3); the first ``n_held`` variables are set to ``held``."""
    now = np.empty_like(before)
    for v in range(N_VARIABLES):
        if v < n_held:
            now[:, v] = held[v]  # type: ignore[index]
        elif v == 0:
            now[:, 0] = 0.9 * np.tanh(1.2 * before[:, 0]) + noise[:, 0]
        elif v == 1:
            now[:, 1] = 0.5 * before[:, 1] + np.abs(now[:, 0]) - 0.5 + noise[:, 1]
        else:
            now[:, 2] = 0.4 * before[:, 2] + np.sin(now[:, 1]) * np.tanh(now[:, 0]) + noise[:, 2]
    return now


def simulate(n_series: int, n_steps: int, seed: int) -> np.ndarray:
    """Series (n_series, n_steps, 3) in their stationary state."""
    rng, state, found = np.random.default_rng(seed), np.zeros((n_series, N_VARIABLES)), []
    for _ in range(n_steps + 60):
        state = next_states(state, rng.normal(size=state.shape) * NOISE)
        found.append(state)
    return np.stack(found[60:], axis=1)


def forecast(X: Any) -> np.ndarray:
    """A forecast that remembers, bends and jumps."""
    x = np.asarray(X, dtype=float).reshape(len(X), N_LAGS, N_VARIABLES)
    faded = (x * np.exp(-np.arange(N_LAGS)[::-1] / 3)[:, None]).sum(axis=1)
    jump = (x[:, -1, 2] > 0.3) * (x[:, -2, 0] + 1)
    return 2 * np.tanh(faded[:, 0]) + faded[:, 1] + jump + 0.5 * np.abs(faded[:, 2])


def true_values(rows: np.ndarray, n_draws: int) -> np.ndarray:
    """ASV (r, 30) along the order of time, x0 before x1 before x2, by simulation with the true mechanisms.

    The first date of a window has no past in it: what is not known there comes from those of many stationary states
    that are nearest to what is.
    """
    noise = np.random.default_rng(1).normal(size=(n_draws, N_LAGS, N_VARIABLES)) * NOISE
    states = simulate(50 * n_draws, 1, 2)[:, 0]
    phi = np.empty((len(rows), N_LAGS * N_VARIABLES))
    for r, row in enumerate(rows.reshape(-1, N_LAGS, N_VARIABLES)):
        nu = []
        for known in range(N_LAGS * N_VARIABLES + 1):
            first, n_held = divmod(known, N_VARIABLES)
            drawn = np.empty((n_draws, N_LAGS, N_VARIABLES))
            drawn[:, :first] = row[:first]
            for s in range(first, N_LAGS):
                held = n_held if s == first else 0
                if s == 0:
                    far = (((states - row[0]) / states.std(axis=0))[:, :held] ** 2).sum(axis=1)
                    near = np.argpartition(far, n_draws)[:n_draws] if held else np.arange(n_draws)
                    drawn[:, 0] = states[near]
                    drawn[:, 0, :held] = row[0, :held]
                else:
                    drawn[:, s] = next_states(drawn[:, s - 1], noise[:, s], row[s], held)
            nu.append(forecast(drawn).mean())
        phi[r] = np.diff(nu)
    return phi


def errors(size: Size, progress: Progress) -> list[tuple]:
    """(windows, mechanisms, relative error, error of drawing, seconds to fit) for each way to learn."""
    import pandas as pd

    from shap_asv import AsymmetricExplainer, CausalOrder, StructuralModel
    from shap_asv.orders.time import window_graph
    from shap_asv.times import Times

    full = size == "full"
    n_windows, n_rows, n_draws = (1000, 10, 2048) if full else (60, 1, 16)
    rows = simulate(n_rows, N_LAGS, 77).reshape(n_rows, -1)
    truth = true_values(rows, 8192 if full else 64)
    series = simulate(1, n_windows + N_LAGS - 1, 0)[0]
    tables = {
        "of different series": simulate(n_windows, N_LAGS, 0).reshape(n_windows, -1),
        "of one series, one after the other": np.stack([series[k : k + N_LAGS].ravel() for k in range(n_windows)]),
    }
    times = Times.read(NAMES)
    order = CausalOrder.from_time(times, graph=SUMMARY)
    known, whole = window_graph(times, SUMMARY), window_graph(times, SUMMARY, N_LAGS)
    whole.add_edges_from((a, b) for k, b in enumerate(NAMES) for a in NAMES[:k])
    ways = {
        "one for each variable": (known, True),
        "one for each variable and lag": (known, None),
        "one for each variable and lag, of all before it": (whole, None),
    }
    found = []
    for windows, table in progress.over(list(tables.items()), "windows"):
        X = pd.DataFrame(table, columns=NAMES)
        for way, (graph, shared) in ways.items():
            seconds, model = timed(partial(StructuralModel.fit, X, graph, seed=0, silent=True, shared=shared))
            explainer = AsymmetricExplainer(forecast, model, order, feature_names=NAMES, seed=0, n_draws=n_draws)
            explained = explainer(pd.DataFrame(rows, columns=NAMES), silent=True)
            scale = np.abs(truth).mean()
            off, drawing = np.abs(explained.values - truth).mean() / scale, explained.error_std.mean() / scale
            found.append((windows, way, float(off), float(drawing), seconds))
    return found


def times_of_much(size: Size) -> list[tuple]:
    """(draws, seconds to fit, seconds to explain, standard error in deviations of the model) for 500 wide windows."""
    import pandas as pd
    import xgboost

    from shap_asv import AsymmetricExplainer, StructuralModel, lagged

    n_steps, n_lags, n_rows = (1000, 30, 500) if size == "full" else (80, 3, 4)
    rng, state, found = np.random.default_rng(0), np.zeros(5), []
    pull = 0.6 * np.eye(5) + 0.15 * rng.normal(size=(5, 5))
    for _ in range(n_steps):
        state = np.tanh(state @ pull) + rng.normal(size=5)
        found.append(state)
    windows = lagged(pd.DataFrame(np.array(found), columns=[f"x{v}" for v in range(5)]), "x0", n_lags)
    model = xgboost.XGBRegressor(n_estimators=100, max_depth=4, n_jobs=1).fit(windows.X, windows.y)
    X = windows.X[-n_rows:]
    fit, background = timed(
        lambda: StructuralModel.fit(windows.X, windows.graph(), seed=0, silent=True, shared=windows.times)
    )
    rows = []
    for n_draws in (32,) if size == "full" else (16,):
        explainer = AsymmetricExplainer(model, background, windows.order(), seed=0, n_draws=n_draws)
        explain, explained = timed(partial(explainer, X, silent=True, error_bounds=True))
        rows.append((n_draws, fit, explain, float(explained.error_std.mean() / model.predict(X).std())))
    return rows


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    compared, much = errors(size, progress), times_of_much(size)
    by_way = {(windows, way): error for windows, way, error, *_ in compared}
    series = "of different series"
    shared = by_way[series, "one for each variable"]
    apart = by_way[series, "one for each variable and lag"]
    seconds = much[-1][1] + much[-1][2]
    claims = (
        Claim(
            "relative error of shared mechanisms, 1,000 windows of different series",
            f"at most {MOST_ERROR:g}",
            f"{shared:.3f}",
            shared <= MOST_ERROR if full else None,
        ),
        Claim(
            "the same, as a share of the error of mechanisms for each variable and lag",
            f"at most {MOST_SHARE:g}",
            f"{shared / apart:.2f}",
            shared <= MOST_SHARE * apart if full else None,
        ),
        Claim(
            f"500 windows of 30 lags of 5 variables, XGBoost, {much[-1][0]} draws: seconds, fit included",
            f"at most {MOST_SECONDS:g}",
            f"{seconds:.0f}",
            seconds <= MOST_SECONDS if full else None,
        ),
    )
    of_errors = Table(
        "errors",
        ("windows", "mechanisms", "relative error", "of which drawing", "fit (s)"),
        tuple(compared),
        "Three variables, ten lags, 1,000 windows; ten rows are explained. The first two ways know that a variable "
        "depends on its own last value, and on which others; the third takes all earlier values.",
    )
    of_times = Table(
        "times",
        ("draws", "fit (s)", "explain (s)", "standard error / deviation of the model"),
        tuple(much),
        "500 windows of 30 lags of five variables, XGBoost (100 trees of depth 4), CPU seconds of one thread.",
    )
    notes = (
        "Windows that follow one another in one series hold the same values again and again: there the mechanisms of "
        "all lags are learned from the same thousand dates, and sharing them saves time, not error.",
    )
    return Result("windows", WINDOWS.title, (of_errors, of_times), claims, notes)


WINDOWS = Experiment(
    "windows",
    "Windows of series: mechanisms that all times share",
    run,
    about="ASV of a forecast with the past first, over structural models fitted to windows of a known process.",
)
