"""A million rows of a table with 20 features through each of the newer backends: memory within the plan?

``python -m tests.reliability.million_tables [rows] [case]`` runs every case (or one) in a process of its own and keeps
a record; fewer than a million rows are shown only. Backends that sample values are given rows that repeat (equal rows
are computed once): what they hold for each row of the result is the same, and the run ends in minutes.
"""

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from shap_asv import AsymmetricExplainer, CausalOrder, ConditionalTable, CopulaModel, GaussianModel, StructuralModel
from tests.reliability.peaks import Peak
from tests.reliability.records import ROOT, Figure, Record, keep, show

ASKED = 1_000_000
N = 20
NAMES = [f"x{k:02d}" for k in range(N)]
LEVELS = CausalOrder.from_levels([NAMES[:10], NAMES[10:]])
CHAIN = [(NAMES[k], NAMES[k + 1]) for k in range(N - 1)]
#: Distinct rows where values are sampled, or summed over donors.
REPEATED = 2000


def table(n_rows: int, seed: int = 0) -> pd.DataFrame:
    """A chain of Gaussian features, all numbers of single precision, as a file would give them."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n_rows)]
    for _ in range(N - 1):
        columns.append(0.6 * columns[-1] + 0.8 * rng.normal(size=n_rows))
    return pd.DataFrame(np.stack(columns, axis=1).astype(np.float32).astype(float), columns=NAMES)


def bent(X: Any) -> np.ndarray:
    x = np.asarray(X, dtype=float)
    return np.abs(x[:, 0]) + x[:, 5] * (x[:, 19] > 0)


@cache
def trees() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    data = table(2000)
    return RandomForestRegressor(20, max_depth=6, random_state=0).fit(data, bent(data))


@cache
def line() -> Any:
    from sklearn.linear_model import LinearRegression

    data = table(500)
    return LinearRegression().fit(data, data.to_numpy() @ np.linspace(-1, 1, N))


def sampled(background: Any) -> AsymmetricExplainer:
    return AsymmetricExplainer(bent, background, CHAIN, seed=0, n_draws=16, algorithm="ideals x monte_carlo")


def mechanisms() -> StructuralModel:
    import networkx as nx
    from scipy.special import ndtri

    def follow(causes: dict[str, np.ndarray], u: np.ndarray) -> np.ndarray:
        (cause,) = causes.values()
        return 0.6 * cause + 0.8 * ndtri(u)

    return StructuralModel(
        nx.DiGraph(CHAIN), {name: follow if k else (lambda causes, u: ndtri(u)) for k, name in enumerate(NAMES)}
    )


#: name -> (explainer, whether rows repeat)
CASES: dict[str, tuple[Callable[[], AsymmetricExplainer], bool]] = {
    "trees with cover counts, levels": (
        lambda: AsymmetricExplainer(trees(), causal_graph=LEVELS, feature_perturbation="tree_path_dependent"),
        False,
    ),
    "trees with 100 background rows, levels": (
        lambda: AsymmetricExplainer(trees(), table(100), LEVELS, values="marginal"),
        False,
    ),
    "linear model over a Gaussian, a chain": (
        lambda: AsymmetricExplainer(line(), GaussianModel.fit(table(500)), CHAIN),
        False,
    ),
    "any model over a Gaussian, a chain": (lambda: sampled(GaussianModel.fit(table(500))), True),
    "any model over a copula, a chain": (lambda: sampled(CopulaModel(table(300))), True),
    "any model over a structural model, a chain": (lambda: sampled(mechanisms()), True),
    "any model over donors, a chain": (
        lambda: AsymmetricExplainer(
            bent, ConditionalTable(table(100), n_trees=4), CHAIN, seed=0, algorithm="ideals x weighted"
        ),
        True,
    ),
    "any model over background rows, a chain": (
        lambda: AsymmetricExplainer(bent, table(20), CHAIN, values="marginal", algorithm="ideals x marginal"),
        True,
    ),
}


def measure(name: str, n_rows: int) -> dict[str, Any]:
    """One case in this process."""
    warnings.simplefilter("ignore")
    make, repeat = CASES[name]
    explainer = make()
    rows = table(n_rows, seed=1)
    if repeat:
        rows = rows.iloc[np.random.default_rng(2).integers(0, min(REPEATED, n_rows), n_rows)].reset_index(drop=True)
    explainer(rows[:100], silent=True)  # compiled, and what is fitted once is there
    plan = explainer.plan(rows).chosen
    start = time.perf_counter()
    with Peak() as peak:
        found = explainer(rows, silent=True)
    seconds = time.perf_counter() - start
    model = trees().predict if name.startswith("trees") else line().predict if name.startswith("linear") else bent
    gap = np.abs(found.values.sum(axis=1) + found.base_values - model(rows)).max()
    assert gap < 1e-9, f"attributions miss the model by {gap}"
    return {
        "backend": plan.name,
        "planned": plan.memory,
        "used": peak.used,
        "seconds": seconds,
        "distinct": REPEATED if repeat else n_rows,
    }


def figure(name: str, n_rows: int) -> Figure:
    command = [sys.executable, "-m", "tests.reliability.million_tables", str(n_rows), name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    mib = 2**20
    text = f"{found['used'] / mib:,.0f} MiB of {found['planned'] / mib:,.0f} planned, {found['seconds']:,.0f} s"
    text += f"; {found['distinct']:,} distinct rows"
    return Figure(f"{name} ({found['backend']})", text, "at most the planned memory", found["used"] <= found["planned"])


def main(n_rows: int) -> int:
    figures = []
    for name in CASES:
        figures.append(figure(name, n_rows))
        print(figures[-1], flush=True)
    notes = [
        f"{n_rows:,} rows, {N} features, each case in a process of its own; memory is the peak of the process above "
        "what it held before. Attributions add up to the model to 1e-9 in all of them.",
        f"Where values are sampled or summed over donors, the rows repeat {REPEATED:,} distinct ones.",
    ]
    record = Record(
        "million_tables", "A million rows of a table", "python -m tests.reliability.million_tables", figures, notes
    )
    if n_rows < ASKED:
        show(record)
        print(f"no record is kept of fewer than {ASKED:,} rows")
    else:
        keep(record)
    return 0 if record.holds else 1


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ASKED
    if len(sys.argv) > 2:
        print(json.dumps(measure(sys.argv[2], rows)))
    else:
        sys.exit(main(rows))
