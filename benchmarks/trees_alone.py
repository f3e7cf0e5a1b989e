"""Tree ensembles without a network, against ``shap.TreeExplainer`` on the same rows in the same run.

Two models over 20 features: a random forest of 100 trees of depth 8, and XGBoost with 200 trees of depth 6. *Cover
counts* is ``TreeExplainer(model)``, *background rows* is ``TreeExplainer(model, rows)`` with 100 of them. Ours is timed
from the parsed trees on: paths, weights, tables and rows; nothing is kept from one measurement to the next. All sides
have read the model before, and run in one thread. woodelf, which knows no causal order, runs in an environment of its
own, between TreeExplainer and ours.
"""

import contextlib
import io
import os
import pickle
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.peers.environments import ENVIRONMENTS, Missing, installing_allowed, prepare
from benchmarks.timing import timed

N = 20
ROOT = Path(__file__).parents[1]
#: Rows that TreeExplainer is timed on with background rows: it takes half a minute for 6,000.
TIMED = 100
#: What is asked for at 1,000 rows, as a share of TreeExplainer's time; half of it at 6,000.
GOALS = {"levels": 0.4, "causal forest": 0.6, "no edges": 0.8}
ROWS_GOAL = 0.1
#: Largest difference from TreeExplainer without edges: it adds up XGBoost, and background rows, in float32.
SAME = {"random forest": 1e-9, "XGBoost": 1e-4}


def data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, N))
    noise = rng.normal(size=n_rows)
    target = rows[:, 0] * rows[:, 1] + rows[:, 2] ** 2 + np.sin(rows[:, 4] * rows[:, 5]) + 0.2 * rows[:, 6:].sum(axis=1)
    return rows, target + rows[:, 3] + 0.1 * noise


def models(size: Size, rows: np.ndarray, target: np.ndarray) -> dict[str, Any]:
    import xgboost
    from sklearn.ensemble import RandomForestRegressor

    full = size == "full"
    forest = RandomForestRegressor(100 if full else 4, max_depth=8 if full else 4, max_features=0.4, random_state=0)
    boosted = xgboost.XGBRegressor(n_estimators=200 if full else 5, max_depth=6 if full else 3, n_jobs=1)
    return {"random forest": forest.fit(rows, target), "XGBoost": boosted.fit(rows, target)}


def causal_orders() -> dict[str, Any]:
    """Three levels, a random forest of 16 edges, no edges, and the full graph of child (all over 20 features)."""
    from benchmarks.graphs import network_graph
    from shap_asv.orders import CausalOrder

    rng = np.random.default_rng(1)
    levels = CausalOrder.from_levels([range(7), range(7, 14), range(14, 20)])
    forest = CausalOrder.from_edges([(int(rng.integers(v)), v) for v in range(4, N)], features=range(N))
    child = CausalOrder.from_graph(network_graph("child"))
    return {"levels": levels, "causal forest": forest, "no edges": None, "child, all edges": child}


def ask_woodelf(model: Any, rows: np.ndarray, ground: np.ndarray, counts: tuple[int, ...]) -> dict[str, Any] | Missing:
    """Its seconds and values by numbers of rows and of background rows; or why there are none."""
    interpreter = prepare(ENVIRONMENTS["woodelf"], installing_allowed())
    if isinstance(interpreter, Missing):
        return interpreter
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.pkl").write_bytes(pickle.dumps(model))
        np.savez(folder / "rows.npz", rows=rows, ground=ground)
        command = [str(interpreter), "-W", "ignore", "-m", "benchmarks.peers.run_woodelf", name, *map(str, counts)]
        done = subprocess.run(command, cwd=ROOT, env=one_thread(), capture_output=True, text=True)
        if done.returncode:
            return Missing(f"woodelf failed: {done.stderr.strip().splitlines()[-1]}")
        with np.load(folder / "woodelf.npz") as file:
            return dict(file)


def one_thread() -> dict[str, str]:
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(threads, "1")}


def run(size: Size, progress: Progress) -> Result:
    import shap

    from shap_asv.backends.trees.attributor import prepare_trees
    from shap_asv.models.trees.form import read_ensemble

    full = size == "full"
    counts = (1000, 6000) if full else (20, 50)
    few, many = (100, 10_000) if full else (10, 100)
    rows, target = data(16_000 if full else 400)
    grounds = {few: rows[-few:], many: rows[-many:]}
    orders = causal_orders()
    table, ratios, apart, worst = [], {}, {}, 0.0
    beaten, peer_apart, missing = {}, 0.0, ""
    for name, model in models(size, rows[:6000], target[:6000]).items():
        parsed = read_ensemble(model)
        for order in orders.values():  # the first call compiles
            for ground in (None, rows[-few:]):
                prepare_trees(parsed, order, ground).attribute(rows[:2])
        peer = (
            ask_woodelf(model, rows[:6000], grounds[few], counts) if full else Missing("a small run installs nothing")
        )
        missing = peer.reason if isinstance(peer, Missing) else missing
        for n_rows in progress.over(counts, f"trees alone: {name}"):
            explained = rows[:n_rows]
            predicted = parsed.predict(explained)
            for ground in (0, few):
                explainer = shap.TreeExplainer(model, grounds[ground] if ground else None)
                asked = explained[: min(n_rows, TIMED)] if ground else explained
                with contextlib.redirect_stderr(io.StringIO()):  # its progress bar
                    theirs, values = timed(lambda e=explainer, x=asked: e.shap_values(x, check_additivity=False))
                theirs *= n_rows / len(asked)
                wood = None
                if not isinstance(peer, Missing):
                    wood = float(peer[f"seconds_{n_rows}_{ground}"])
                    gap = np.abs(peer[f"values_{n_rows}_{ground}"][: len(values)] - values).max()
                    peer_apart = max(peer_apart, float(gap))
                for order_name, order in orders.items():
                    for own_ground in (ground, many) if ground else (0,):

                        def work(order=order, own=own_ground, parsed=parsed, explained=explained):
                            ready = prepare_trees(parsed, order, grounds[own] if own else None)
                            return ready.attribute(explained)

                        ours, found = timed(work)
                        ratios[name, n_rows, own_ground, order_name] = ours / theirs
                        times = (ours, theirs, ours / theirs, wood, None if wood is None else ours / wood)
                        table.append((name, n_rows, own_ground, order_name, *times))
                        if wood is not None and own_ground == ground and order_name in GOALS:
                            beaten[name, n_rows, ground, order_name] = ours / wood
                        gap = np.abs(found.base + found.phi.sum(axis=1) - predicted).max()
                        worst = max(worst, float(gap))
                        if order is None and own_ground == ground:
                            gap = float(np.abs(found.phi[: len(values), :, 0] - values).max())
                            apart[name, ground] = max(apart.get((name, ground), 0.0), gap)
    claims = []
    for place, n_rows in enumerate(counts):
        for order_name, goal in GOALS.items():
            reached = max(ratios[name, n_rows, 0, order_name] for name in SAME)
            asked = goal / (1 + place)
            claims.append(
                Claim(
                    f"cover counts, {order_name}, {n_rows:,} rows",
                    f"at most {asked:.2g} times TreeExplainer's time",
                    f"{reached:.2g}",
                    reached <= asked if full else None,
                )
            )
        reached = max(ratios[name, n_rows, few, order] for name in SAME for order in GOALS)
        asked = ROWS_GOAL / (1 + place)
        claims.append(
            Claim(
                f"{few} background rows, {n_rows:,} rows",
                f"at most {asked:.2g} times TreeExplainer's time",
                f"{reached:.2g}",
                reached <= asked if full else None,
            )
        )
        growth = max(
            ratios[name, n_rows, many, order] / ratios[name, n_rows, few, order] for name in SAME for order in GOALS
        )
        claims.append(
            Claim(
                f"{many:,} background rows instead of {few}, {n_rows:,} rows",
                "at most 2 times the time",
                f"{growth:.2g}",
                growth <= 2 if full else None,
            )
        )
    if beaten:
        slowest = max(beaten.values())
        where = ", ".join(map(str, max(beaten, key=beaten.__getitem__)))
        claims.append(
            Claim(
                "faster than woodelf 0.4.8 everywhere (it knows no causal order)",
                "below 1 times its time",
                f"{min(beaten.values()):.2g} to {slowest:.2g} ({where})",
                slowest < 1,
            )
        )
        claims.append(Claim("woodelf and TreeExplainer agree", "to 1e-3", f"{peer_apart:.1e}", peer_apart <= 1e-3))
    else:
        claims.append(Claim("faster than woodelf 0.4.8 everywhere", "below 1 times its time", missing, None))
    child = max(ratios[name, n_rows, 0, "child, all edges"] for name in SAME for n_rows in counts)
    claims += [
        Claim(
            "child's full graph as causal order",
            "at most 5 times TreeExplainer's time",
            f"{child:.2g}",
            child <= 5 if full else None,
        ),
        Claim("attributions add up to the model", "to 1e-9", f"{worst:.1e}", worst <= 1e-9),
        Claim(
            "without edges equal to TreeExplainer (float32 in XGBoost and with background rows)",
            "to 1e-9 where shap adds up doubles, else 1e-4",
            ", ".join(f"{name}, {ground or 'no'} background rows: {gap:.1e}" for (name, ground), gap in apart.items()),
            all(gap <= (SAME[name] if not ground else 1e-4) for (name, ground), gap in apart.items()),
        ),
    ]
    columns = ("model", "rows", "background rows", "causal order", "ours (s)", "TreeExplainer (s)", "ratio")
    columns += ("woodelf (s)", "ours / woodelf")
    caption = (
        f"TreeExplainer and woodelf have {few} background rows also where ours has {many:,}; 0 stands for cover "
        "counts. Neither of them knows a causal order."
    )
    times = Table("times", columns, tuple(table), caption)
    return Result("trees_alone", TREES_ALONE.title, (times,), tuple(claims))


TREES_ALONE = Experiment(
    "trees_alone",
    "Tree ensembles without a network, against TreeExplainer",
    run,
    about=(
        "ASV of a random forest (100 trees of depth 8) and of XGBoost (200 trees of depth 6) over 20 features, with "
        "the trees' own cover counts and with background rows, timed against `shap.TreeExplainer` on the same rows in "
        "the same run, one thread. TreeExplainer knows no causal order: its time is the same in each row. It is linear "
        f"in the rows; with background rows it is timed on the first {TIMED} of them, and multiplied. woodelf "
        "(`woodelf_explainer` 0.4.8), which computes ordinary Shapley values, is asked about the same rows."
    ),
)
