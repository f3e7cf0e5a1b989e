"""Predicted memory and time against what is measured, each case in a process of its own.

``python -m tests.reliability.memory`` runs all cases; ``python -m tests.reliability.memory CASE ROWS`` runs one and
prints JSON.
"""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from shap_asv.backgrounds.pgmpy_networks import read_network
from tests.reliability.peaks import Peak
from tests.reliability.records import Figure, Record, keep

ROOT = Path(__file__).parents[2]
#: Predictions below half of what is measured are wrong; memory below this is not worth predicting.
SLACK = 64 * 2**20
#: So are plans of less than a third of the seconds taken, above these few.
SHORT = 3.0


def _named(name: str, target: str, model, encoder=None, **options) -> tuple[AsymmetricExplainer, pd.DataFrame]:
    network = load_network(name)
    train = sample_rows(network, 2000, seed=0)
    if encoder is None:
        states = dict(zip(*attrgetter("names", "states")(read_network(network)), strict=True))
        encoder = OrdinalEncoder(categories=[list(states[column]) for column in train.columns if column != target])
    fitted = make_pipeline(encoder, model).fit(train.drop(columns=target), train[target])
    return AsymmetricExplainer(fitted, network, seed=0, **options), train.drop(columns=target)


def _large_forest() -> tuple[AsymmetricExplainer, pd.DataFrame]:
    from tests.reliability.jobs import network

    thousand = network("forest", 1000)
    train = sample_rows(thousand, 1000, seed=0)
    encoder = OrdinalEncoder(categories=[list(states) for states in thousand.states])
    model = make_pipeline(encoder, RandomForestRegressor(20, max_depth=6, random_state=0))
    return AsymmetricExplainer(model.fit(train, (train == "s1").sum(axis=1)), thousand), train


def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=8, random_state=0)


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(20, max_depth=6, random_state=0)


def network_of_neurons() -> MLPClassifier:
    return MLPClassifier((20,), max_iter=30, random_state=0)


CASES: dict[str, tuple[Callable[[], tuple[AsymmetricExplainer, pd.DataFrame]], tuple[int, ...]]] = {
    "child, decision tree": (lambda: _named("child", "XrayReport", tree()), (100, 50_000)),
    "child, random forest": (lambda: _named("child", "XrayReport", forest()), (2000,)),
    "child, latent disease": (lambda: _named("child", "Disease", tree()), (100, 1000)),
    "insurance, decision tree": (lambda: _named("insurance", "PropCost", tree(), n_orders=100), (20,)),
    "alarm, decision tree": (lambda: _named("alarm", "BP", tree(), n_orders=100), (20,)),
    "forest of 1,000 nodes": (_large_forest, (50, 2000)),
    "child, Monte Carlo": (
        lambda: _named(
            "child",
            "XrayReport",
            network_of_neurons(),
            OneHotEncoder(handle_unknown="ignore"),
            algorithm="orders x monte_carlo",
            n_orders=20,
            n_draws=50,
        ),
        (10, 100),
    ),
    "asia, any model": (
        lambda: _named("asia", "dysp", network_of_neurons(), OneHotEncoder(handle_unknown="ignore")),
        (200,),
    ),
}


def measure(name: str, n_rows: int) -> dict:
    """One case in this process: the plan's bytes and the measured ones, and seconds likewise."""
    import time

    warnings.simplefilter("ignore")
    explainer, train = CASES[name][0]()
    rows = sample_rows(explainer._network, n_rows, seed=1)[list(train.columns)]
    plan = explainer.plan(rows)
    start = time.perf_counter()
    with Peak() as peak:
        explainer(rows, silent=True)
    seconds = time.perf_counter() - start
    return {
        "case": name,
        "rows": n_rows,
        "backend": plan.chosen.name,
        "predicted": plan.memory,
        "measured": peak.used,
        "predicted_seconds": plan.seconds,
        "seconds": seconds,
    }


def main() -> None:
    figures = []
    for name, (_, counts) in CASES.items():
        for n_rows in counts:
            command = [sys.executable, "-m", "tests.reliability.memory", name, str(n_rows)]
            run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            found = json.loads(run.stdout.splitlines()[-1])
            holds = found["predicted"] > found["measured"] / 2 or found["measured"] <= SLACK
            holds &= found["predicted_seconds"] > found["seconds"] / 3 or found["seconds"] <= SHORT
            figures.append(
                Figure(
                    f"{name}, {n_rows:,} rows ({found['backend']})",
                    f"planned {found['predicted'] / 2**20:,.0f} MiB, {found['predicted_seconds']:,.1f} s; "
                    f"taken {found['measured'] / 2**20:,.0f} MiB, {found['seconds']:,.1f} s",
                    "planned: at least half of the memory and a third of the time taken",
                    bool(holds),
                )
            )
            print(figures[-1], flush=True)
    keep(
        Record(
            "memory",
            "Planned and measured memory and time",
            "make limits",
            figures,
            [
                f"Taken: peak of the process during the call, above what it held before. Below {SLACK // 2**20} MiB "
                f"and {SHORT:g} s nothing is asked of a plan. Seconds contain loading the compiled kernels.",
            ],
        )
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
