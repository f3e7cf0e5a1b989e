"""ASV on a table with a DAG: ``python -m benchmarks tables``.

Known structural models of four kinds, several variants each, are sampled, a structural model is fitted to the sample,
and its ASV are compared with those of the true mechanisms, and with those of backgrounds that know no DAG. What draws
and fits cost is in ``benchmarks/draws.py``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table

ASKED = {"linear Gaussian": 0.06, "nonlinear": 0.18, "heteroscedastic": 0.17, "mixed": 0.13}
ASKED_SHARE, ASKED_SHARE_GAUSSIAN = 0.8, 1.1
#: Columns of errors: fitted with the DAG, its mechanisms given, and without the DAG.
ERRORS = ("DAG", "given", "Gaussian", "copula", "donors", "marginal")


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


def marginal_attributions(model: Any, table: Any, rows: Any) -> np.ndarray:
    """ASV (rows, n) with shap's expectation: what a coalition lacks comes from rows of the table."""
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.weights import weigh_ideals

    weights = weigh_ideals(CausalOrder.from_edges(model.edges, features=list(table.columns)))
    values = np.empty((len(rows), len(weights.coalitions)))
    for r in range(len(rows)):
        for s, members in enumerate(weights.coalitions):
            held = {name: rows[name].iloc[r] for name, member in zip(table.columns, members, strict=True) if member}
            values[r, s] = model.explained(table.assign(**held)).mean()
    return values @ weights.matrix


def rivals(model: Any, table: Any) -> dict[str, Any]:
    """Backgrounds without the DAG, fitted to the same rows; the first two take numbers only."""
    from shap_asv import ConditionalTable, CopulaModel, GaussianModel

    found: dict[str, Any] = {}
    if all(dtype.kind in "fi" for dtype in table.dtypes):
        found = {"Gaussian": GaussianModel.fit(table), "copula": CopulaModel(table)}
    return found | {"donors": ConditionalTable(table, seed=0)}


def accuracy(full: bool, progress: Progress) -> list[tuple]:
    """One row per kind and variant: relative errors of ASV fitted to 2,000 rows with the DAG, and of the others."""
    from shap_asv.backgrounds.structural import StructuralModel
    from shap_asv.strata import sobol_uniforms
    from tests.oracles.structural_models import KINDS

    n_rows, n_draws, n_truth = (12, 1024, 2**12) if full else (2, 64, 256)
    variants = [(kind, seed) for kind in KINDS for seed in (range(3) if full else range(1))]
    found = []
    for kind, seed in progress.over(variants, "accuracy"):
        model = KINDS[kind](seed)
        table, rows = model.sample(2000 if full else 150, 100 + seed), model.sample(n_rows, 777)
        order = [model.names.index(name) for name in table.columns]
        truth = model.asv(model.values(rows, n_truth, 3))[:, order]
        start = time.perf_counter()
        fitted = StructuralModel.fit(table, graph_of(model), seed=0, silent=True)
        seconds = time.perf_counter() - start
        given = StructuralModel(graph_of(model), model.mechanisms, like=table)
        backgrounds = {name: one.background(list(table.columns)) for name, one in (("DAG", fitted), ("given", given))}
        errors = {}
        for name, background in (backgrounds | rivals(model, table)).items():
            uniforms = sobol_uniforms(np.random.default_rng(0), background.n_uniforms, n_draws, 8).T
            errors[name] = relative_error(attributions(model, background, rows, uniforms)[0], truth)
        errors["marginal"] = relative_error(marginal_attributions(model, table, rows), truth)
        found.append((kind, seed, *(errors.get(name) for name in ERRORS), seconds))
    return found


def relative_error(phi: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(phi - truth).mean() / np.abs(truth).mean())


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    rows = accuracy(full, progress)
    columns = ("model", "variant", *(f"error, {name}" for name in ERRORS), "fit (s)")
    claims = []
    for kind, most in ASKED.items():
        own = [dict(zip(ERRORS, row[2:], strict=False)) for row in rows if row[0] == kind]
        largest, mean = max(one["DAG"] for one in own), float(np.mean([one["DAG"] for one in own]))
        claims.append(
            Claim(
                f"{kind}: relative error of ASV fitted from 2,000 rows with the DAG, largest of the variants",
                f"at most {most:g}",
                f"{largest:.3f} ({mean:.3f} on average)",
                largest <= most if full else None,
            )
        )
        for rival in ["Gaussian"] if kind == "linear Gaussian" else ["Gaussian", "copula", "donors", "marginal"]:
            shares = [one["DAG"] / one[rival] for one in own if one[rival] is not None]
            if not shares:
                continue  # categories
            share = ASKED_SHARE_GAUSSIAN if kind == "linear Gaussian" else ASKED_SHARE
            claims.append(
                Claim(
                    f"{kind}: error with the DAG / error of the {rival} background, largest of the variants",
                    f"at most {share:g}",
                    f"{max(shares):.2f}",
                    max(shares) <= share if full else None,
                )
            )
    caption = (
        "Relative error is mean |error| / mean |ASV| over 12 rows and 8 features; what is left with the mechanisms "
        "given is the error of 1,024 draws. Gaussian and copula take numbers only."
    )
    return Result("tables", TABLES.title, (Table("accuracy", columns, tuple(rows), caption),), tuple(claims))


TABLES = Experiment(
    "tables",
    "Your own table with a DAG",
    run,
    about="Known structural models of four kinds, three random variants each (graph, coefficients, explained "
    "function): 2,000 rows are drawn, a structural model is fitted to them with the DAG known, and ASV are compared "
    "with those of the true mechanisms; beside it backgrounds that are fitted to the same rows without the DAG.",
)
