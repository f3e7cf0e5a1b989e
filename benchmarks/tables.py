"""ASV on a table with a DAG: ``python -m benchmarks tables``.

Known structural models of four kinds, several variants each, are sampled, a structural model is fitted to the sample,
and its ASV are compared with those of the true mechanisms. Beside accuracy: what draws cost, what fitting costs, and
how many draws quasi-Monte Carlo saves.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table

ASKED = {"linear Gaussian": 0.06, "nonlinear": 0.18, "heteroscedastic": 0.17, "mixed": 0.13}
ASKED_DRAW_RATIO = 1.3
ASKED_FIT_SECONDS = 30.0
ASKED_SAVING = 6.0


def graph_of(model: Any) -> Any:
    import networkx as nx

    graph = nx.DiGraph(model.edges)
    graph.add_nodes_from(model.names)
    return graph


def attributions(model: Any, background: Any, rows: Any, uniforms: np.ndarray) -> tuple[np.ndarray, float]:
    """ASV (rows, n) of the explained function under a background, and the seconds spent drawing."""
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.weights import weigh_ideals

    weights = weigh_ideals(CausalOrder.from_edges(model.edges, features=list(background.features)))
    values, seconds = [], 0.0
    for row in background.read(rows):
        start = time.perf_counter()
        draws = background.draws(np.where(weights.coalitions, row, np.nan), uniforms)
        seconds += time.perf_counter() - start
        outputs = model.explained(background.inputs(draws.reshape(-1, draws.shape[2])))
        values.append(outputs.reshape(len(draws), -1).mean(axis=1))
    return np.array(values) @ weights.matrix, seconds


def accuracy(full: bool, progress: Progress) -> list[tuple]:
    """One row per kind and variant: relative error of ASV fitted from 2,000 rows, and of given mechanisms."""
    from shap_asv.backgrounds.structural import StructuralModel
    from shap_asv.strata import sobol_uniforms
    from tests.oracles.structural_models import KINDS

    n_rows, n_draws, n_truth = (12, 1024, 2**12) if full else (2, 64, 256)
    variants = [(kind, seed) for kind in KINDS for seed in (range(3) if full else range(1))]
    found = []
    for kind, seed in progress.over(variants, "accuracy"):
        model = KINDS[kind](seed)
        table, rows = model.sample(2000 if full else 150, 100 + seed), model.sample(n_rows, 777)
        truth = model.values(rows, n_truth, 3)
        order = [model.names.index(name) for name in table.columns]
        truth = model.asv(truth)[:, order]
        start = time.perf_counter()
        fitted = StructuralModel.fit(table, graph_of(model), seed=0, silent=True)
        seconds = time.perf_counter() - start
        errors = []
        for structural in (fitted, StructuralModel(graph_of(model), model.mechanisms, like=table)):
            background = structural.background(list(table.columns))
            uniforms = sobol_uniforms(np.random.default_rng(0), background.n_uniforms, n_draws, 8).T
            phi = attributions(model, background, rows, uniforms)[0]
            errors.append(float(np.abs(phi - truth).mean() / np.abs(truth).mean()))
        found.append((kind, seed, errors[0], errors[1], seconds))
    return found


def draw_costs(full: bool) -> tuple[float, float]:
    """Seconds to draw and seconds to predict the same rows: XGBoost on a mixed table of eight features."""
    import xgboost

    from shap_asv.backgrounds.structural import StructuralModel
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.weights import weigh_ideals
    from tests.oracles.structural_models import mixed

    model = mixed(0)
    table = model.sample(2000 if full else 150, 1).astype({"x0": "category", "x4": "category"})
    target = model.explained(table.astype({"x0": str, "x4": str}))
    trees = xgboost.XGBRegressor(n_estimators=100, max_depth=6, enable_categorical=True, n_jobs=1).fit(table, target)
    background = StructuralModel.fit(table, graph_of(model), seed=0, silent=True).background()
    coalitions = weigh_ideals(CausalOrder.from_edges(model.edges, features=list(background.features))).coalitions
    rows = background.read(table.iloc[: 20 if full else 2])
    evidence = np.where(coalitions[None], rows[:, None, :], np.nan).reshape(-1, rows.shape[1])
    uniforms = np.random.default_rng(0).random((500 if full else 20, background.n_uniforms))
    drawing, predicting = [], []
    for _ in range(3):
        start = time.perf_counter()
        inputs = background.inputs(background.draws(evidence, uniforms).reshape(-1, rows.shape[1]))
        drawing.append(time.perf_counter() - start)
        start = time.perf_counter()
        trees.predict(inputs)
        predicting.append(time.perf_counter() - start)
    return min(drawing), min(predicting)


def fit_seconds(full: bool) -> float:
    """Processor seconds to fit 10,000 rows of 20 features, on one core."""
    import networkx as nx
    import pandas as pd

    from shap_asv.backgrounds.structural import StructuralModel

    rng = np.random.default_rng(0)
    n, width = (10_000, 20) if full else (200, 5)
    columns: dict[str, Any] = {}
    edges = []
    for k in range(width):
        causes = [f"x{p}" for p in rng.choice(k, min(k, int(rng.integers(1, 4))), replace=False)]
        edges += [(cause, f"x{k}") for cause in causes]
        signal = sum((np.sin(1.5 * columns[c]) + rng.normal() * columns[c] for c in causes), np.zeros(n))
        columns[f"x{k}"] = signal / (1 + len(causes)) + rng.normal(size=n) * (0.6 + 0.3 * (signal > 0))
    table = pd.DataFrame(columns)
    for k in range(3, width, 5):
        table[f"x{k}"] = pd.qcut(table[f"x{k}"], 4, labels=list("abcd")).astype(str)
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(table.columns)
    start = time.process_time()
    StructuralModel.fit(table, graph, seed=0, n_jobs=1, silent=True)
    return time.process_time() - start


def savings(full: bool, progress: Progress) -> list[tuple]:
    """Variance of ASV from independent draws over that from Sobol groups, as many draws: (kind, ratio)."""
    from shap_asv.backgrounds.structural import StructuralModel
    from shap_asv.strata import sobol_uniforms
    from tests.oracles.structural_models import KINDS

    repeats, n_draws, n_groups = (30, 512, 8) if full else (3, 32, 2)
    found = []
    for kind in progress.over(list(KINDS), "savings"):
        model = KINDS[kind](0)
        table, rows = model.sample(500, 1), model.sample(2 if full else 1, 777)
        background = StructuralModel(graph_of(model), model.mechanisms, like=table).background()
        k = background.n_uniforms
        runs: dict[str, list[np.ndarray]] = {"independent": [], "Sobol": []}
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            for name, uniforms in (
                ("independent", rng.random((n_draws, k))),
                ("Sobol", sobol_uniforms(rng, k, n_draws, n_groups).T),
            ):
                runs[name].append(attributions(model, background, rows, uniforms)[0])
        variance = {name: float(np.var(np.array(phis), axis=0).mean()) for name, phis in runs.items()}
        found.append((kind, n_draws, n_groups, variance["independent"] / variance["Sobol"]))
    return found


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    accurate = accuracy(full, progress)
    saved = savings(full, progress)
    drawing, predicting = draw_costs(full)
    seconds = fit_seconds(full)
    claims = [
        Claim(
            f"{kind}: relative error of ASV fitted from 2,000 rows, largest of the variants",
            f"at most {most:g}",
            f"{max(row[2] for row in accurate if row[0] == kind):.3f}",
            max(row[2] for row in accurate if row[0] == kind) <= most if full else None,
        )
        for kind, most in ASKED.items()
    ]
    claims += [
        Claim(
            "draws against XGBoost's own prediction of the same rows (100 trees, eight features)",
            f"at most {ASKED_DRAW_RATIO:g} times",
            f"{drawing / predicting:.2f} times",
            drawing / predicting <= ASKED_DRAW_RATIO if full else None,
        ),
        Claim(
            "fit of 10,000 rows x 20 features on one core",
            f"at most {ASKED_FIT_SECONDS:g} s",
            f"{seconds:.1f} s of processor time",
            seconds <= ASKED_FIT_SECONDS if full else None,
        ),
        Claim(
            "independent draws that one draw of a Sobol group is worth (8 groups of 64), third best of four models",
            f"at least {ASKED_SAVING:g}",
            f"{sorted(row[3] for row in saved)[1]:.1f}",
            sorted(row[3] for row in saved)[1] >= ASKED_SAVING if full else None,
        ),
    ]
    tables = (
        Table(
            "accuracy",
            ("model", "variant", "error, fitted", "error, mechanisms given", "fit (s)"),
            tuple(accurate),
            "Relative error is mean |error| / mean |ASV| over 12 rows and 8 features; what is left with the mechanisms "
            "given is the error of 1,024 draws.",
        ),
        Table("savings", ("model", "draws", "groups", "variance ratio"), tuple(saved)),
    )
    return Result("tables", TABLES.title, tables, tuple(claims))


TABLES = Experiment(
    "tables",
    "Your own table with a DAG",
    run,
    about="Known structural models of four kinds, three random variants each (graph, coefficients, explained "
    "function): 2,000 rows are drawn, a structural model is fitted to them with the DAG known, and ASV are compared "
    "with those of the true mechanisms.",
)
