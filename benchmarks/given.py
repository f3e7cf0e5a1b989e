"""ASV from given mechanisms against brute force: ``python -m benchmarks given``.

Known structural models, two of each kind; intervals were developed on the first ones, the second ones are fresh. The
truth is ``nu(S)`` of every ancestral set S by 2^20 = 1,048,576 draws (2^18 for the second ones) with S clamped, by
plain numpy code that knows nothing of the package, summed up over the lattice; its own standard error comes from four
scrambled sets. Against it stand the intervals that users see, ``values +- 1.96 error_std``, over many seeds: do they
hold the truth in 95% of all cases?
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.tables import graph_of

ASKED_COVERAGE = (0.93, 0.97)
N_SETS = 4
Z = 1.96


def brute_force(model: Any, rows: Any, n_draws: int) -> tuple[np.ndarray, np.ndarray]:
    """ASV (r, n) and its standard error (r, n), from ``N_SETS`` independent sets that have ``n_draws`` together."""
    sets = np.stack([model.asv(model.values(rows, n_draws // N_SETS, 1000 + seed)) for seed in range(N_SETS)])
    return sets.mean(axis=0), sets.std(axis=0, ddof=1) / np.sqrt(N_SETS)


def distances(model: Any, rows: Any, truth: np.ndarray, n_draws: int, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """``values - truth`` and ``error_std`` of the public explainer, each (seeds, r, n)."""
    from shap_asv import AsymmetricExplainer, StructuralModel

    given = StructuralModel(graph_of(model), model.mechanisms, like=model.sample(500, 1))
    errors, standard_errors = [], []
    for seed in seeds:
        explainer = AsymmetricExplainer(
            model.explained, given, graph_of(model), n_draws=n_draws, seed=seed, feature_names=list(model.names)
        )
        explanation = explainer(rows, silent=True)
        errors.append(explanation.values - truth)
        standard_errors.append(explanation.error_std)
    return np.array(errors), np.array(standard_errors)


def measure(kind: str, variant: int, full: bool) -> tuple:
    """One row of the table: what intervals of one model cover, with a standard error over seeds."""
    from tests.oracles.structural_models import KINDS

    model = KINDS[kind](variant)
    rows = model.sample(3 if full else 1, 777)
    n_truth, n_draws, n_seeds = (2**18 if variant else 2**20, 512, 400) if full else (2**10, 32, 3)
    truth, truth_error = brute_force(model, rows, n_truth)
    errors, standard_errors = distances(model, rows, truth, n_draws, range(n_seeds))
    inside = np.abs(errors) <= Z * standard_errors + 1e-12
    by_seed, by_value = inside.mean(axis=(1, 2)), inside.mean(axis=0)
    bias = errors.mean(axis=0) / np.hypot(errors.std(axis=0, ddof=1) / np.sqrt(n_seeds), truth_error)
    return (
        kind,
        variant,
        len(model.ideals()),
        n_truth,
        float(truth_error.max()),
        n_draws,
        n_seeds,
        float(np.sqrt((errors**2).mean())),
        float(by_seed.mean()),
        float(by_seed.std(ddof=1) / np.sqrt(n_seeds)),
        float(by_value.min()),
        float(np.abs(bias).max()),
    )


COLUMNS = (
    "model",
    "variant",
    "ancestral sets",
    "draws of the truth",
    "its standard error, largest",
    "draws",
    "seeds",
    "root mean squared error",
    "coverage",
    "standard error of it",
    "least of 24 values",
    "bias in standard errors, largest",
)


def run(size: Size, progress: Progress) -> Result:
    from tests.oracles.structural_models import KINDS

    full = size == "full"
    models = [(kind, variant) for variant in range(2 if full else 1) for kind in KINDS]
    rows = [measure(kind, variant, full) for kind, variant in progress.over(models, "models")]
    low, high = ASKED_COVERAGE
    claims = []
    for row in rows:
        found = dict(zip(COLUMNS, row, strict=True))
        coverage, error = found["coverage"], found["standard error of it"]
        claims.append(
            Claim(
                f"{found['model']}, variant {found['variant']}: 95% intervals of ASV that hold the brute-force value",
                f"{low:.0%} to {high:.0%}",
                f"{coverage:.1%} (standard error {error:.2%})",
                low <= coverage - 2 * error and coverage + 2 * error <= high if full else None,
            )
        )
    worst = max(rows, key=lambda row: row[-1])
    claims.append(
        Claim(
            f"mean of all seeds against {rows[0][3]:,} draws, in standard errors of both, largest of all values",
            "at most 4",
            f"{worst[-1]:.1f} ({worst[0]})",
            worst[-1] <= 4 if full else None,
        )
    )
    caption = (
        "Three rows and eight features of each model. Coverage is the mean over all of them; a value that hangs on an "
        "event which 512 draws rarely meet is covered less: no interval made of draws knows what they did not show."
    )
    return Result("given", GIVEN.title, (Table("coverage", COLUMNS, tuple(rows), caption),), tuple(claims))


GIVEN = Experiment(
    "given",
    "Given mechanisms against brute force",
    run,
    about="Known structural models with their mechanisms handed over: ASV with 512 draws and their intervals, over "
    "400 seeds, against up to a million draws for every ancestral set by a simulator of its own.",
)
