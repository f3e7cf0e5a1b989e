"""Problems that are too large, under a limit that the system enforces: an error that says so or a sample, never a kill.

``python -m tests.reliability.beyond`` runs all cases, each in a process whose address space ends ``ROOM`` bytes above
what its imports take; ``python -m tests.reliability.beyond CASE MEMORY_LIMIT`` runs one and prints JSON (0: no
``memory_limit=``).
"""

import itertools
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from shap_asv import AsymmetricExplainer, ConditionalTable, GaussianModel, sample_rows
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import BudgetExceededError, MethodNotApplicableError
from tests.reliability.apart import read_size
from tests.reliability.jobs import network, target, wave
from tests.reliability.records import ROOT, Figure, Record, keep

#: Bytes that a process may take beside its imports, and what of them an explainer is allowed by ``memory_limit=``.
ROOM, ALLOWED = 3 * 2**29, 2**29
#: Longer than any case takes.
SECONDS = 120

Case = tuple[AsymmetricExplainer, Any]


def binary(n: int) -> DiscreteNetwork:
    """Small trees of features with two states each: 2**n states in all."""
    rng = np.random.default_rng(n)
    parents = [() if v % 5 == 0 else (int(rng.integers(v - v % 5, v)),) for v in range(n)]
    tables = [rng.dirichlet(np.ones(2), size=2 if above else None).T for above in parents]
    return DiscreteNetwork(tuple(f"x{v}" for v in range(n)), (("s0", "s1"),) * n, tuple(parents), tuple(tables))


def any_model(n: int, **options: Any) -> Case:
    """A function of n features with two states each."""
    many = binary(n)
    explainer = AsymmetricExplainer(
        target, many, feature_names=list(many.names), n_orders=10, n_draws=10, seed=0, **options
    )
    return explainer, sample_rows(many, 2, seed=3)


def independent_causes(**options: Any) -> Case:
    """Every set of 45 features is an ideal of a causal graph without edges."""
    many = binary(45)
    train = sample_rows(many, 500, seed=1)
    model = make_pipeline(OneHotEncoder(), LinearRegression()).fit(train, target(train))
    return AsymmetricExplainer(model, many, [], n_orders=10, seed=0, **options), sample_rows(many, 2, seed=3)


def numbers_of(n_rows: int, **options: Any) -> Case:
    """Rows of six numbers, a thousand of them different."""
    rows = np.empty((n_rows, 6), dtype=np.float32)
    rows[:] = (np.arange(n_rows) % 1000)[:, None]
    background = np.random.default_rng(2).integers(0, 3, size=(20, 6)).astype(float)
    return AsymmetricExplainer(wave, background, seed=0, **options), rows


def labels_of(n_rows: int, **options: Any) -> Case:
    """Rows of labels, two of them different."""
    small = network("forest", 12)
    rows = pd.DataFrame({name: pd.Categorical(["s0", "s1"] * (n_rows // 2)) for name in small.names})
    train = sample_rows(small, 500, seed=1)
    model = make_pipeline(OneHotEncoder(), LinearRegression()).fit(train, target(train))
    return AsymmetricExplainer(model, small, seed=0, **options), rows


def big_forest(n_trees: int, **options: Any) -> Case:
    """Trees that are grown to the end, on a network that is not a polytree."""
    wide = network("dag", 24)
    train = sample_rows(wide, 4000, seed=1)
    encoder = OrdinalEncoder(categories=[list(states) for states in wide.states])
    noise = np.random.default_rng(0).normal(size=len(train))
    model = make_pipeline(encoder, ExtraTreesRegressor(n_trees, random_state=0)).fit(train, noise)
    return AsymmetricExplainer(model, wide, n_orders=10, n_draws=10, seed=0, **options), sample_rows(wide, 2, seed=3)


def slow(frame: pd.DataFrame) -> np.ndarray:
    """A thousandth of a second for each row."""
    time.sleep(1e-3 * len(frame))
    return target(frame)


def slow_model(**options: Any) -> Case:
    twelve = network("forest", 12)
    explainer = AsymmetricExplainer(
        slow, twelve, feature_names=list(twelve.names), n_orders=4, n_draws=4, seed=0, **options
    )
    return explainer, sample_rows(twelve, 2, seed=3)


def wide_gaussian(model: str, **options: Any) -> Case:
    """45 jointly Gaussian features without any order; a linear model, or one that has to be drawn."""
    names = [f"x{k}" for k in range(45)]
    rng = np.random.default_rng(0)
    root = rng.normal(size=(45, 50))
    background = GaussianModel(np.zeros(45), root @ root.T, names)
    rows = pd.DataFrame(rng.normal(size=(2, 45)), columns=names)
    told = {"n_orders": 10, "n_draws": 10, "seed": 0, **options}
    function = LinearRegression().fit(rows, [0.0, 1.0]) if model == "linear" else lambda X: np.cos(X["x3"] * X["x9"])
    return AsymmetricExplainer(function, background, [], **told), rows


def cover_counts(n_rows: int, **options: Any) -> Case:
    """Trees without a background, and rows of which a thousand differ."""
    rng = np.random.default_rng(0)
    train = rng.normal(size=(1000, 6)).astype(np.float32)
    model = ExtraTreesRegressor(10, max_depth=8, random_state=0).fit(train, train[:, 0] * train[:, 5])
    rows = np.empty((n_rows, 6), dtype=np.float32)
    rows[:] = train[np.arange(n_rows) % 1000]
    return AsymmetricExplainer(model, seed=0, **options), rows


def trees_on_a_table(**options: Any) -> Case:
    """Trees grown to the end, over as many background rows as they were grown from."""
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(12)]
    train = pd.DataFrame(rng.normal(size=(20_000, 12)), columns=names)
    model = ExtraTreesRegressor(20, random_state=0).fit(train, rng.normal(size=len(train)))
    return AsymmetricExplainer(model, train, values="marginal", seed=0, **options), train[:2]


def many_donors(**options: Any) -> Case:
    """A table of 300,000 rows whose columns are donors of one another, and any model."""
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(8)]
    table = pd.DataFrame(rng.normal(size=(300_000, 8)), columns=names)
    told = {"n_orders": 4, "n_draws": 10, "seed": 0, **options}
    chain = list(itertools.pairwise(names))
    return AsymmetricExplainer(lambda X: np.cos(X["x0"] * X["x7"]), ConditionalTable(table), chain, **told), table[:2]


CASES: dict[str, Callable[..., Case]] = {
    "any model, 2^26 states": partial(any_model, 26),
    "any model, 2^28 states, algorithm='exact'": partial(any_model, 28, algorithm="exact"),
    "any model, 2^28 states, algorithm='orders x table'": partial(any_model, 28, algorithm="orders x table"),
    "2^45 ideals": independent_causes,
    "2^45 ideals, algorithm='exact'": partial(independent_causes, algorithm="exact"),
    "2^45 ideals, algorithm='exact', ideal_limit=10^12": partial(
        independent_causes, algorithm="exact", ideal_limit=10**12
    ),
    "5 million rows of numbers": partial(numbers_of, 5_000_000),
    "20 million rows of numbers": partial(numbers_of, 20_000_000),
    "5 million rows of labels": partial(labels_of, 5_000_000),
    "10 million rows of labels": partial(labels_of, 10_000_000),
    "20 trees grown to the end": partial(big_forest, 20),
    "a slow model, budget=0.1": partial(slow_model, budget=0.1),
    "a slow model, budget=0.1, tolerance=1e-9": partial(slow_model, budget=0.1, tolerance=1e-9),
    "Gaussian, linear model, 2^45 ideals": partial(wide_gaussian, "linear"),
    "Gaussian, any model, 2^45 ideals": partial(wide_gaussian, "any"),
    "Gaussian, any model, 2^45 ideals, algorithm='exact'": partial(wide_gaussian, "any", algorithm="exact"),
    "20 million rows, trees with cover counts": partial(cover_counts, 20_000_000),
    "20 trees grown to the end, 20,000 background rows": trees_on_a_table,
    "300,000 rows as donors, any model": many_donors,
}


def run_here(case: str, memory_limit: int) -> dict:
    """One case in this process."""
    room = read_size("VmSize") + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    warnings.simplefilter("ignore")
    explainer, rows = CASES[case](**({"memory_limit": memory_limit} if memory_limit else {}))
    try:
        explanation = explainer(rows, silent=True)
    except (BudgetExceededError, MethodNotApplicableError) as error:
        return {"outcome": type(error).__name__, "says": str(error), "well": True}
    finite = bool(np.isfinite(explanation.values).all() and np.isfinite(explanation.base_values).all())
    plan = explainer.plan(min(len(rows), 2))
    kind = "exact" if plan.exact else "sampled"
    return {"outcome": f"{kind} ({plan.chosen.name})", "says": plan.why, "well": finite}


def run_beside(case: str, memory_limit: int) -> dict:
    """One case in a process of its own: what it says, or how it ended."""
    command = [sys.executable, "-m", "tests.reliability.beyond", case, str(memory_limit)]
    try:
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"outcome": f"no end within {SECONDS} s", "says": "", "well": False, "killed": False}
    if run.returncode == 0:
        return {**json.loads(run.stdout.splitlines()[-1]), "killed": False}
    last = (run.stderr.strip().splitlines() or ["nothing was said"])[-1]
    killed = run.returncode < 0
    outcome = f"killed by signal {-run.returncode}" if killed else last
    return {"outcome": outcome, "says": run.stderr, "well": False, "killed": killed}


def main() -> int:
    figures, killed = [], 0
    for case in CASES:
        found = {limit: run_beside(case, limit) for limit in (ALLOWED, 0)}
        killed += sum(result["killed"] for result in found.values())
        allowed, free = found[ALLOWED]["outcome"], found[0]["outcome"]
        value = allowed if allowed == free else f"{allowed}; without memory_limit= {free}"
        well = all(result["well"] for result in found.values())
        figures.append(Figure(case, value, "a result, or an error that says why there is none", well))
        print(figures[-1], flush=True)
    figures.append(Figure("killed processes", str(killed), "0", killed == 0))
    notes = [
        f"Each case ran twice in a process of its own, in which the system refuses memory past {ROOM / 2**30:g} GiB "
        f"above the imports: with memory_limit= of {ALLOWED / 2**20:.0f} MiB, and without.",
    ]
    return keep(Record("beyond", "Beyond the limits", "make limits", figures, notes))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(run_here(sys.argv[1], int(sys.argv[2]))))
    else:
        sys.exit(main())
