"""Forms that nothing was developed on: ``python -m benchmarks fresh``.

Three structural models of each of the four kinds, in other forms than those of ``tables`` and ``levels``
(``tests/oracles/fresh_models.py``; forms and seeds were fixed before the first run). Each is fitted twice from the same
2,000 rows: with its DAG, and with its four levels alone. What was asked of the kinds is asked here.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.levels import ASKED as ASKED_OF_LEVELS
from benchmarks.tables import ASKED as ASKED_OF_DAGS
from benchmarks.tables import attributions, graph_of, relative_error


def level_truth(model: Any, rows: Any, n_draws: int) -> np.ndarray:
    """ASV (r, 8) level after level, by simulation with the known features clamped."""
    from scipy.stats import qmc

    from tests.oracles.level_models import level_coalitions

    uniforms = np.clip(qmc.Sobol(8, seed=np.random.default_rng(4)).random(n_draws), 1e-12, 1 - 1e-12)
    coalitions, W = level_coalitions()
    names = np.array(model.names)
    nu = np.empty((len(rows), len(coalitions)))
    for r in range(len(rows)):
        for s, members in enumerate(coalitions):
            held = {name: rows[name].iloc[r] for name in names[members]}
            nu[r, s] = model.explained(model.simulate(uniforms, held)).mean()
    return nu @ W


def measure(kind: str, form: int, full: bool) -> tuple:
    """(kind, form, error with the DAG, seconds, error with levels, seconds, what was chosen for the levels)."""
    from shap_asv import AsymmetricExplainer, CausalOrder
    from shap_asv.backgrounds.choice.scoring import coalition_values
    from shap_asv.backgrounds.structural import StructuralModel
    from shap_asv.strata import sobol_uniforms
    from tests.oracles.fresh_models import fresh_model
    from tests.oracles.level_models import LEVELS, level_coalitions

    n_train, n_rows, n_draws, n_truth = (2000, 12, 1024, 2**12) if full else (100, 1, 32, 64)
    model = fresh_model(kind, form)
    table, rows = model.sample(n_train, 100 + form), model.sample(n_rows, 777)
    start = time.perf_counter()
    fitted = StructuralModel.fit(table, graph_of(model), seed=0, silent=True).background(list(model.names))
    dag_seconds = time.perf_counter() - start
    uniforms = sobol_uniforms(np.random.default_rng(0), fitted.n_uniforms, n_draws, 8).T
    truth = model.asv(model.values(rows, n_truth, 3))
    dag_error = relative_error(attributions(model, fitted, rows, uniforms)[0], truth)
    order = CausalOrder.from_levels([[model.names[k] for k in level] for level in LEVELS])
    start = time.perf_counter()
    chosen = AsymmetricExplainer(
        model.explained, table, order, values="conditional", feature_names=list(model.names), seed=0, silent=True
    ).masker
    level_seconds = time.perf_counter() - start
    coalitions, W = level_coalitions()
    nu = coalition_values(chosen, model.explained, chosen.read(rows), coalitions, n_draws, 0)[:, :, 0]
    level_error = relative_error(nu @ W, level_truth(model, rows, n_truth))
    return kind, form, dag_error, dag_seconds, level_error, level_seconds, chosen.describe()


def run(size: Size, progress: Progress) -> Result:
    from tests.oracles.fresh_models import FORMS, N_FORMS

    full = size == "full"
    problems = [(kind, form) for kind in FORMS for form in range(N_FORMS)] if full else [("mixed", 0)]
    rows = [measure(kind, form, full) for kind, form in progress.over(problems, "fresh")]
    claims = []
    for (kind, dag), (level, _) in zip(ASKED_OF_DAGS.items(), ASKED_OF_LEVELS.values(), strict=True):
        for at, most, what in ((2, dag, "with the DAG"), (4, level, "with levels alone")):
            errors = [float(row[at]) for row in rows if row[0] == kind]
            if errors:
                claims.append(
                    Claim(
                        f"{kind}, fresh forms: relative error of ASV {what}, largest of {len(errors)}",
                        f"at most {most:.2f}",
                        f"{max(errors):.3f} (all: {', '.join(f'{error:.3f}' for error in errors)})",
                        max(errors) <= most if full else None,
                    )
                )
    columns = ("kind", "form", "error, DAG", "fit (s)", "error, levels", "fit of levels (s)", "chosen for levels")
    caption = "Relative error is mean |error| / mean |ASV| over 12 rows and 8 features. Form 0, 1, 2: see the oracle."
    return Result("fresh", FRESH.title, (Table("errors", columns, tuple(rows), caption),), tuple(claims))


FRESH = Experiment(
    "fresh",
    "Your own table in fresh forms",
    run,
    about="Structural models in forms that nothing was developed on, three of each kind, fixed before the first run: "
    "near collinear causes, other units, weak causes; saturation, waves, regimes; a variance that switches, three "
    "modes, a heap at zero; slopes by category, trees of answers, rare labels. 2,000 rows, with the DAG and with "
    "levels alone.",
)
