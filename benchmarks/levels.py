"""Tables with levels alone: ``python -m benchmarks.levels``.

Four kinds of structural models, eight features in four levels, 2,000 rows: how far is ASV from the truth when the
background is a Gaussian, a copula, plain or adjusted donors, a structural model of the levels, or what the score on
held-out rows makes of them? ``relative error = mean |ASV - truth| / mean |truth|``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table

ASKED = {"linear": 0.10, "nonlinear": 0.45, "bimodal": 0.25, "mixed": 0.17}
VARIANT = 0


def coalition_weights(W: np.ndarray) -> np.ndarray:
    """How much ASV asks of each coalition: the sum of its weights over the features, without the signs."""
    return np.abs(W).sum(axis=1)


def backgrounds(world: Any, data: Any, seed: int, structural: bool) -> dict[str, Any]:
    """The backgrounds of one table, by name."""
    from shap_asv.backgrounds.choice.choosing import CANDIDATES, choose_background, level_candidates
    from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
    from shap_asv.backgrounds.gaussian.copula import CopulaModel
    from shap_asv.backgrounds.gaussian.model import GaussianModel
    from tests.oracles.level_models import LEVELS as PLACES
    from tests.oracles.level_models import NAMES, level_coalitions

    coalitions, W = level_coalitions()
    candidates = level_candidates([[NAMES[k] for k in level] for level in PLACES]) if structural else CANDIDATES
    found: dict[str, Any] = {}
    if world.kind != "mixed":
        found["gaussian"] = GaussianModel.fit(data)
        found["copula"] = CopulaModel(data)
    found["plain donors"] = ConditionalTable(data, adjust=False, seed=seed)
    found["donors"] = ConditionalTable(data, seed=seed)
    if structural:
        found["levels"] = candidates["levels"][0](data, seed)
    weights = coalition_weights(W)
    found["chosen"] = choose_background(data, world.predict_frame, coalitions, weights, seed, candidates).background
    return found


def measure(
    kind: str, variant: int, n_train: int, n_rows: int, n_draws: int, structural: bool = True, seed: int = 0
) -> list[tuple]:
    """(background, relative error of ASV, seconds, score on 500 fresh rows, what it is) of one model."""
    from shap_asv.backgrounds.choice.scoring import coalition_values, score_background
    from tests.oracles.level_models import LevelModel, level_coalitions

    world = LevelModel(kind, variant)
    coalitions, W = level_coalitions()
    data = world.frame(world.rows(n_train, seed=seed + 1))
    rows = world.rows(n_rows, seed=seed + 2)
    fresh = world.frame(world.rows(n_rows * 10, seed=seed + 3))
    truth = world.values(rows, n_draws=1 << 13) @ W
    results = []
    for name, background in backgrounds(world, data, seed, structural).items():
        start = time.perf_counter()
        coded = background.read(world.frame(rows))
        nu = coalition_values(background, world.predict_frame, coded, coalitions, n_draws, seed)[:, :, 0]
        seconds = time.perf_counter() - start
        error = float(np.abs(nu @ W - truth).mean() / np.abs(truth).mean())
        score = score_background(
            background, world.predict_frame, fresh, coalitions, coalition_weights(W), n_draws=64
        ).scores[0]
        results.append((kind, variant, name, error, float(score), seconds, background.describe()))
    return results


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    problems = [(kind, VARIANT) for kind in ASKED] if full else [("linear", VARIANT)]
    rows: list[tuple] = []
    for kind, variant in progress.over(problems, "levels"):
        rows += measure(kind, variant, *((2000, 30, 1024) if full else (40, 2, 16)), structural=full)
    claims = []
    for kind, asked in ASKED.items():
        errors = [row[3] for row in rows if row[0] == kind and row[2] == "chosen"]
        if not errors:
            continue
        plain = [row[3] for row in rows if row[0] == kind and row[2] == "plain donors"]
        mean = float(np.mean(errors))
        claims.append(
            Claim(
                f"relative error of ASV with levels alone, {kind}",
                f"at most {asked:.2f} (of models of this kind with other coefficients)",
                f"{mean:.2f} on average ({', '.join(f'{error:.2f}' for error in errors)}); plain donors "
                f"{np.mean(plain):.2f}",
                mean <= asked if full else None,
            )
        )
    columns = ("kind", "variant", "background", "relative error", "score", "seconds", "what")
    table = Table(
        "errors", columns, tuple(rows), "Relative error of ASV, and the score on fresh rows (smaller is better)."
    )
    return Result("levels", LEVELS.title, (table,), tuple(claims))


LEVELS = Experiment(
    "levels",
    "Tables with levels alone",
    run,
    about="ASV of a table whose features are known only to come in levels: 2,000 rows, eight features, functions with "
    "jumps and interactions, against brute force with the true mechanisms. Coefficients of the variants are random.",
)


def main() -> None:
    result = run("full", Progress(False))
    for row in result.table("errors").rows:
        print(f"{row[0]:<10} {row[1]} {row[2]:<13} {row[3]:.3f}  score {row[4]:8.3f}  {row[5]:5.1f} s  {row[6]}")
    for claim in result.claims:
        print(f"{claim.text}: {claim.measured} (asked: {claim.asked})")


if __name__ == "__main__":
    main()
