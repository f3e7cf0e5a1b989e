"""A million rows of a network and of tables: time and memory within the plan, a bar that moves, values that add up.

``python -m tests.reliability.million [rows] [case]`` runs every case (or one) in a process of its own and keeps a
record; fewer than a million rows are shown only. Backends that sample values are given rows that repeat (equal rows are
computed once): what they hold for each row of the result is the same, and the run ends in minutes.
"""

import io
import json
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import (
    AsymmetricExplainer,
    CausalOrder,
    ConditionalTable,
    CopulaModel,
    GaussianModel,
    StructuralModel,
    load_network,
    sample_rows,
)
from tests.reliability.apart import Peak, apart
from tests.reliability.records import Figure, Record, keep

ASKED = 1_000_000
N = 20
NAMES = [f"x{k:02d}" for k in range(N)]
LEVELS = CausalOrder.from_levels([NAMES[:10], NAMES[10:]])
CHAIN = [(NAMES[k], NAMES[k + 1]) for k in range(N - 1)]
#: Distinct rows where values are sampled, or summed over donors.
REPEATED = 2000
MIB = 2**20


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
    data = table(2000)
    return RandomForestRegressor(20, max_depth=6, random_state=0).fit(data, bent(data))


@cache
def line() -> Any:
    data = table(500)
    return LinearRegression().fit(data, data.to_numpy() @ np.linspace(-1, 1, N))


def sampled(background: Any) -> AsymmetricExplainer:
    return AsymmetricExplainer(bent, background, CHAIN, seed=0, n_draws=16, algorithm="monte_carlo")


def mechanisms() -> StructuralModel:
    def follow(causes: dict[str, np.ndarray], u: np.ndarray) -> np.ndarray:
        return sum((0.6 * cause for cause in causes.values()), (0.8 if causes else 1.0) * ndtri(u))

    return StructuralModel(nx.DiGraph(CHAIN), dict.fromkeys(NAMES, follow))


def of_child() -> AsymmetricExplainer:
    train = sample_rows(load_network("child"), 5000, seed=0)
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=8, random_state=0))
    model.fit(train.drop(columns="XrayReport"), train["XrayReport"])
    return AsymmetricExplainer(model, load_network("child"))


#: name -> (explainer, whether rows repeat)
CASES: dict[str, tuple[Callable[[], AsymmetricExplainer], bool]] = {
    "a decision tree with 5 outputs over child": (of_child, False),
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
    model = explainer.model.inner_model if hasattr(explainer.model, "inner_model") else explainer.model
    if make is of_child:
        rows = sample_rows(load_network("child"), n_rows, seed=1).drop(columns="XrayReport")
    else:
        rows = table(n_rows, seed=1)
    if repeat:
        rows = rows.iloc[np.random.default_rng(2).integers(0, min(REPEATED, n_rows), n_rows)].reset_index(drop=True)
    small = explainer(rows[:1000], silent=True)  # compiled, and what is fitted once is there
    plan = explainer.plan(rows).chosen
    shown, start = io.StringIO(), time.perf_counter()
    with redirect_stderr(shown), Peak() as peak:
        found = explainer(rows)
    seconds = time.perf_counter() - start
    answer = next((getattr(model, name) for name in ("predict_proba", "predict") if hasattr(model, name)), model)
    gap = float(np.abs(found.values.sum(axis=1) + found.base_values - answer(rows)).max())
    assert gap < 1e-9, f"attributions miss the model by {gap}"
    if found.error_std is None:
        np.testing.assert_allclose(found.values[:1000], small.values, rtol=0, atol=1e-12 * np.abs(found.values).max())
    if seconds > 10.0:
        assert shown.getvalue().count("\r") > 10, "the bar does not move"
        assert "100%" in shown.getvalue().rsplit("\r", 1)[-1], "the bar does not end at its total"
    return {
        "backend": plan.name,
        "planned": plan.memory,
        "used": peak.used,
        "planned seconds": plan.seconds,
        "seconds": seconds,
        "distinct": len(rows.drop_duplicates()),
    }


def figure(name: str, n_rows: int) -> Figure:
    (found,) = apart("million", str(n_rows), name)
    text = f"{found['used'] / MIB:,.0f} MiB of {found['planned'] / MIB:,.0f} planned, "
    text += f"{found['seconds']:,.0f} s of {found['planned seconds']:,.0f}; {found['distinct']:,} distinct rows"
    holds = found["used"] <= found["planned"] and found["seconds"] <= max(5.0, 3 * found["planned seconds"])
    return Figure(f"{name} ({found['backend']})", text, "the planned memory, three times the planned time", holds)


def main(n_rows: int) -> int:
    figures = []
    for name in CASES:
        figures.append(figure(name, n_rows))
        print(figures[-1], flush=True)
    notes = [
        f"{n_rows:,} rows of child (19 features) or of a table with {N} features, each case in a process of its own; "
        "memory is the peak of the process above what it held before. In all of them attributions add up to the model "
        "to 1e-9, the first 1,000 rows explained alone are the same where nothing is sampled, and the bar moves.",
        f"Where values are sampled or summed over donors, the rows repeat {REPEATED:,} distinct ones.",
    ]
    record = Record("million", "A million rows", "python -m tests.reliability.million", figures, notes)
    return keep(record, fewer_than="" if n_rows >= ASKED else f"{ASKED:,} rows")


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ASKED
    if len(sys.argv) > 2:
        print(json.dumps(measure(sys.argv[2], rows)))
    else:
        sys.exit(main(rows))
