"""Tables with levels alone: ``python -m benchmarks levels``.

Four kinds of structural models, eight features in four levels, 2,000 rows: how far is ASV from the truth when the
background is a Gaussian, a copula, donors, or what ``values="conditional"`` makes of the table and the levels?
``relative error = mean |ASV - truth| / mean |truth|``. And does the score on fresh rows, which knows no truth, rank a
right background above a wrong one?
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.draws import ASKED_FIT_SECONDS, wide_table
from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table

#: kind -> (at most, aimed at)
ASKED = {"linear": (0.10, 0.08), "nonlinear": (0.45, 0.37), "bimodal": (0.25, 0.18), "mixed": (0.17, 0.15)}
VARIANTS = 1
CONDITIONAL, TRUE, INDEPENDENT = "values='conditional'", "the true mechanisms", "independent columns"


def coalition_weights(W: np.ndarray) -> np.ndarray:
    """How much ASV asks of each coalition: the sum of its weights over the features, without the signs."""
    return np.abs(W).sum(axis=1)


def fitted_backgrounds(world: Any, data: Any, seed: int) -> dict[str, tuple[Any, float]]:
    """name -> (background, seconds of its fit), the one of ``values="conditional"`` last."""
    from shap_asv import AsymmetricExplainer, CausalOrder
    from shap_asv.backgrounds.choice.choosing import CANDIDATES
    from tests.oracles.level_models import LEVELS as PLACES
    from tests.oracles.level_models import NAMES

    found: dict[str, tuple[Any, float]] = {}
    for name, (fit, numbers_only) in CANDIDATES.items():
        if not (numbers_only and world.kind == "mixed"):
            start = time.perf_counter()
            found[name] = fit(data, seed), time.perf_counter() - start
    order = CausalOrder.from_levels([[NAMES[k] for k in level] for level in PLACES])
    start = time.perf_counter()
    chosen = AsymmetricExplainer(
        world.predict_frame, data, order, values="conditional", feature_names=list(NAMES), seed=seed, silent=True
    ).masker
    found[CONDITIONAL] = chosen, time.perf_counter() - start
    return found


def score_backgrounds(
    backgrounds: Mapping[str, Any],
    predict: Callable[[Any], np.ndarray],
    data: Any,
    coalitions: np.ndarray,
    weights: Any,
    n_draws: int = 256,
) -> dict[str, np.ndarray]:
    """Losses (r,) on rows that none of the backgrounds was fitted to; ``weights`` (m,) of the coalitions."""
    from shap_asv.backgrounds.choice.scoring import held_out_misses

    losses = {}
    for name, background in backgrounds.items():
        misses = held_out_misses(background, predict, background.read(data), coalitions, n_draws, seed=0)
        losses[name] = (misses**2).sum(axis=2) @ (np.array(weights) / np.sum(weights))
    return losses


def measure(kind: str, variant: int, n_train: int, n_rows: int, n_draws: int, seed: int = 0) -> list[tuple]:
    """(kind, variant, background, relative error of ASV, score on fresh rows, seconds to fit, what it is), each."""
    from shap_asv.backgrounds.choice.scoring import coalition_values
    from tests.independent import IndependentColumns
    from tests.oracles.level_models import LevelModel, Simulated, level_coalitions

    world = LevelModel(kind, variant)
    coalitions, W = level_coalitions()
    data = world.frame(world.rows(n_train, seed=seed + 1))
    rows = world.rows(n_rows, seed=seed + 2)
    fresh = world.frame(world.rows(n_rows * 10, seed=seed + 3))
    truth = world.values(rows, n_draws=4 * n_draws) @ W
    fits = fitted_backgrounds(world, data, seed)
    fits[INDEPENDENT] = IndependentColumns(data), 0.0
    scored = {name: background for name, (background, _) in fits.items()} | {TRUE: Simulated(world)}
    losses = score_backgrounds(scored, world.predict_frame, fresh, coalitions, coalition_weights(W), n_draws=64)
    scores = {name: each.mean() for name, each in losses.items()}
    results = []
    for name, (background, seconds) in fits.items():
        coded = background.read(world.frame(rows))
        nu = coalition_values(background, world.predict_frame, coded, coalitions, n_draws, seed)[:, :, 0]
        error = float(np.abs(nu @ W - truth).mean() / np.abs(truth).mean())
        results.append((kind, variant, name, error, float(scores[name]), seconds, background.describe()))
    results.append((kind, variant, TRUE, 0.0, float(scores[TRUE]), 0.0, "the mechanisms that the rows come from"))
    return results


def fit_seconds(full: bool) -> float:
    """Processor seconds that ``values="conditional"`` takes for 10,000 rows x 20 features in four levels, XGBoost's
    predictions included.
    """
    import xgboost

    from shap_asv import AsymmetricExplainer, CausalOrder

    table = wide_table(full)[0]
    table = table.astype({name: "category" for name in table if table[name].dtype.kind != "f"})
    numbers = table.select_dtypes("number")
    target = numbers.to_numpy() @ np.random.default_rng(0).normal(size=numbers.shape[1]) + table["x1"] * (
        table["x2"] > 0
    )
    trees = xgboost.XGBRegressor(n_estimators=100, max_depth=6, enable_categorical=True, n_jobs=1).fit(table, target)
    names = list(table.columns)
    size = -(-len(names) // 4)
    order = CausalOrder.from_levels([names[first : first + size] for first in range(0, len(names), size)])
    start = time.process_time()
    AsymmetricExplainer(trees, table, order, values="conditional", seed=0, silent=True)
    return time.process_time() - start


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    problems = [(kind, variant) for kind in ASKED for variant in range(VARIANTS)] if full else [("linear", 0)]
    rows: list[tuple] = []
    for kind, variant in progress.over(problems, "levels"):
        rows += measure(kind, variant, *((2000, 20, 512) if full else (60, 2, 16)))
    claims = []
    for kind, (most, aim) in ASKED.items():
        errors = [row[3] for row in rows if row[0] == kind and row[2] == CONDITIONAL]
        if errors:
            told, mean = ", ".join(f"{error:.3f}" for error in errors), float(np.mean(errors))
            text = f"relative error of ASV with levels alone, {kind}"
            asked = f"at most {most:.2f}, aiming at {aim:.2f}"
            claims.append(Claim(text, asked, told, mean <= most if full else None))
    right = {row[:2]: row[4] for row in rows if row[2] == TRUE}
    wrong = {row[:2]: row[4] for row in rows if row[2] == INDEPENDENT}
    chosen = {row[:2]: row[4] for row in rows if row[2] == CONDITIONAL}
    for name, scores in ((TRUE, right), (CONDITIONAL, chosen)):
        above = sum(scores[model] < wrong[model] for model in wrong)
        claims.append(
            Claim(
                f"the score of {name} is better than that of {INDEPENDENT}",
                f"on all {len(wrong)} of the models",
                f"on {above} of {len(wrong)}",
                above == len(wrong) if full else None,
            )
        )
    seconds = fit_seconds(full)
    claims.append(
        Claim(
            "values='conditional' for 10,000 rows x 20 features in four levels, XGBoost, on one core",
            f"at most {ASKED_FIT_SECONDS:g} s",
            f"{seconds:.1f} s",
            seconds <= ASKED_FIT_SECONDS if full else None,
        )
    )
    columns = ("kind", "variant", "background", "relative error", "score", "fit (s)", "what")
    caption = "Relative error of ASV, and the score on 200 fresh rows (smaller is better; it knows no truth)."
    return Result("levels", LEVELS.title, (Table("errors", columns, tuple(rows), caption),), tuple(claims))


LEVELS = Experiment(
    "levels",
    "Your own table with levels alone",
    run,
    about="ASV of a table whose features are known only to come in four levels: 2,000 rows, eight features, functions "
    "with jumps and interactions, against brute force with the true mechanisms. One variant of each kind, with "
    "coefficients of its own.",
)
