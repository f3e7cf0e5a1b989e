"""The first call on a machine: what is compiled, how long that takes, and whether it was said beforehand.

Each case runs in a process of its own with an empty cache of compiled code, then in another one with the cache that the
first one left. ``python -m benchmarks.first_call CASE`` runs one case in this process and prints what it found.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table

ROOT = Path(__file__).parents[1]
#: CPU seconds with nothing compiled: of a first call of trees without a network, and of compiling in any first call.
TREES_GOAL, GOAL = 10.0, 8.0


def _trees(depth: int, graph: Any, background: int = 0, **options: Any) -> Callable[[], tuple[Any, Any]]:
    """A small random forest over 12 features, without a network."""

    def build() -> tuple[Any, Any]:
        from sklearn.ensemble import RandomForestRegressor

        from shap_asv import AsymmetricExplainer

        rows = np.random.default_rng(0).normal(size=(1000, 16))
        model = RandomForestRegressor(10, max_depth=depth, max_features=3, random_state=0)
        model.fit(rows, rows[:, 0] * rows[:, 1] + rows.sum(axis=1))
        ground = rows[-background:] if background else None
        explainer = AsymmetricExplainer(model, ground, graph, values="marginal" if background else "auto", **options)
        return explainer, rows[:10]

    return build


def _tree_network() -> tuple[Any, Any]:
    """100 trees of depth 8 on a causal tree of 30 nodes."""
    import pandas as pd
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from sklearn.ensemble import RandomForestRegressor

    from shap_asv import AsymmetricExplainer

    rng = np.random.default_rng(0)
    parent = {f"x{v}": f"x{(v - 1) // 2}" for v in range(1, 30)}
    network = DiscreteBayesianNetwork([(cause, effect) for effect, cause in parent.items()])
    network.add_cpds(TabularCPD("x0", 2, [[0.5], [0.5]]))
    for effect, cause in parent.items():
        share = rng.uniform(0.1, 0.9, size=2)
        network.add_cpds(TabularCPD(effect, 2, [1 - share, share], [cause], [2]))
    rows = pd.DataFrame(rng.integers(0, 2, size=(500, 30)), columns=[f"x{v}" for v in range(30)])
    model = RandomForestRegressor(100, max_depth=8, random_state=0).fit(rows, rng.random(500))
    return AsymmetricExplainer(model, network), rows[:10]


def _network(name: str, algorithm: str) -> Callable[[], tuple[Any, Any]]:
    """A forest of 20 trees on an example network."""

    def build() -> tuple[Any, Any]:
        import pandas as pd
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OrdinalEncoder

        from shap_asv import AsymmetricExplainer, load_network, sample_rows

        network, rng = load_network(name), np.random.default_rng(0)
        states = {cpd.variable: cpd.state_names[cpd.variable] for cpd in network.cpds}
        rows = pd.DataFrame({node: rng.choice(labels, size=300) for node, labels in states.items()})
        model = make_pipeline(OrdinalEncoder(), RandomForestRegressor(20, max_depth=5, random_state=0))
        explainer = AsymmetricExplainer(model.fit(rows, rng.random(300)), network, algorithm=algorithm, seed=0)
        return explainer, sample_rows(network, 5, seed=0)[list(rows)]

    return build


def _polytree() -> tuple[Any, Any]:
    """A forest of 10 trees on a polytree of 10 nodes."""
    from sklearn.ensemble import RandomForestRegressor

    from shap_asv import AsymmetricExplainer
    from shap_asv.backgrounds.discrete.network import DiscreteNetwork

    rng = np.random.default_rng(0)
    parents = tuple(() if v < 5 else (v - 5, v - 4) if v < 9 else (8,) for v in range(10))
    share = [rng.uniform(0.1, 0.9, size=(2,) * len(causes)) for causes in parents]
    names = tuple(f"x{v}" for v in range(10))
    network = DiscreteNetwork(names, (("0", "1"),) * 10, parents, tuple(np.stack([1 - s, s]) for s in share))
    rows = rng.integers(0, 2, size=(300, 10))
    model = RandomForestRegressor(10, max_depth=5, random_state=0).fit(rows, rng.random(300))
    return AsymmetricExplainer(model, network, algorithm="polytree"), rows[:5].astype(str)


def _latent(name: str, target: str, algorithm: str = "auto", trees: int = 20) -> Callable[[], tuple[Any, Any]]:
    """A forest on an example network that predicts a node in its middle."""

    def build() -> tuple[Any, Any]:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OrdinalEncoder

        from shap_asv import AsymmetricExplainer, load_network, sample_rows

        network = load_network(name)
        rows = sample_rows(network, 1000, seed=0)
        states = {cpd.variable: cpd.state_names[cpd.variable] for cpd in network.cpds}
        inputs = rows.drop(columns=target)
        encoder = OrdinalEncoder(categories=[states[column] for column in inputs])
        model = make_pipeline(encoder, RandomForestClassifier(trees, max_depth=6, random_state=0))
        explainer = AsymmetricExplainer(model.fit(inputs, rows[target]), network, algorithm=algorithm, seed=0)
        return explainer, inputs[:10]

    return build


def _drawn(structural: bool) -> Callable[[], tuple[Any, Any]]:
    """A black box under draws of a Gaussian or of a structural model, fitted to 500 rows."""

    def build() -> tuple[Any, Any]:
        import pandas as pd

        from shap_asv import AsymmetricExplainer, GaussianModel, StructuralModel

        names = [f"x{v}" for v in range(8)]
        edges = [(names[v // 2], names[v]) for v in range(1, 8)]
        table = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 8)), columns=names)
        fit = StructuralModel.fit(table, edges, seed=0, silent=True) if structural else GaussianModel.fit(table)
        return AsymmetricExplainer(lambda X: np.sin(np.asarray(X)).sum(axis=1), fit, edges, seed=0), table[:5]

    return build


LEVELS = [(a, b) for a in range(8) for b in range(8, 16)]
DAG = [(0, 2), (1, 2), (2, 3), (1, 4), (0, 4)] + [(v, v + 1) for v in range(4, 15)]
# name: how to build it, whether it is a tree ensemble without a network, and whether a small run has it
CASES: dict[str, tuple[Callable[[], tuple[Any, Any]], bool, bool]] = {
    "trees, no edges": (_trees(8, None), True, True),
    "trees, levels, depth 20": (_trees(20, LEVELS), True, False),
    "trees, causal forest, background rows": (_trees(8, [(0, 1), (0, 2), (3, 4)], 50), True, False),
    "trees, any graph, background rows, depth 20": (_trees(20, DAG, 50, algorithm="paths"), True, False),
    "trees, sampled orders": (_trees(8, DAG, algorithm="sampling", n_orders=50, seed=0), True, False),
    "trees, half a graph": (_trees(8, [(0, 5), (1, 5), (5, 9)]), True, False),
    "trees, perfect sampler": (_trees(8, DAG, algorithm="sampling", n_orders=50, ideal_limit=1), True, False),
    "network, causal tree of 30 nodes": (_tree_network, False, False),
    "network, polytree of 10 nodes": (_polytree, False, False),
    "network, child, ancestral sets": (_latent("child", "XrayReport", "ideals x closures"), False, False),
    "network, child, target in the middle": (_latent("child", "Disease"), False, False),
    "network, child, target in the middle, closures": (_latent("child", "Disease", "ideals x closures"), False, False),
    "network, insurance, sampled orders, closures": (
        _latent("insurance", "Accident", "orders x closures", 1),
        False,
        False,
    ),
    "network, alarm, trees": (_latent("alarm", "BP", "orders x trees", 1), False, False),
    "table, Gaussian draws": (_drawn(structural=False), False, True),
    "table, structural draws": (_drawn(structural=True), False, True),
    "network, asia, ancestral sets": (_network("asia", "ideals x closures"), False, False),
    "network, cancer, small": (_network("cancer", "auto"), False, True),
}


def measure(case: str) -> dict[str, Any]:
    """CPU and wall seconds of explaining the first rows; CPU seconds of compiling among them."""
    from shap_asv.kernels import listening

    compiling, begun = 0.0, []

    def clock_compiler(begins: bool) -> None:
        nonlocal compiling
        if begins:
            begun.append(time.process_time())
        else:
            start = begun.pop()
            compiling += 0.0 if begun else time.process_time() - start  # inner ones are a part of it

    build = CASES[case][0]
    explainer, rows = build()  # imports and fits are not ours
    plan = explainer.plan(rows)
    start, clock = time.process_time(), time.perf_counter()
    with listening(clock_compiler):
        explainer(rows)
    taken, waited = time.process_time() - start, time.perf_counter() - clock
    return {"backend": plan.backend.name, "compiling": compiling, "cpu": taken, "wall": waited}


def run_case(case: str, cache: str) -> dict[str, Any]:
    """One case in a fresh process; also whether it said on the screen that it compiles."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.first_call", case],
        cwd=ROOT,
        env={**os.environ, **threads, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return {**json.loads(done.stdout.splitlines()[-1]), "said": "shap_asv: compiling, once" in done.stderr}


def run(size: Size, progress: Progress) -> Result:
    table, cold, compiling, surprises = [], {}, {}, []
    chosen = [name for name, (_, _, small) in CASES.items() if size == "full" or small]
    for name in progress.over(chosen, "first call"):
        with tempfile.TemporaryDirectory() as cache:
            first = run_case(name, cache)
            second = run_case(name, cache)
        cold[name], compiling[name] = first["cpu"], first["compiling"]
        compiled = first["compiling"] > 0
        if first["said"] != compiled or second["said"]:
            surprises.append(name)
        table.append(
            (
                name,
                first["backend"],
                first["compiling"],
                first["cpu"],
                first["wall"],
                second["cpu"],
                {True: "yes", False: "no"}[first["said"]] if compiled else "nothing to say",
            )
        )
    trees = max(seconds for name, seconds in cold.items() if CASES[name][1])
    worst = max(compiling, key=compiling.__getitem__)
    claims = (
        Claim(
            "trees without a network, first call with nothing compiled",
            f"at most {TREES_GOAL:g} s",
            f"{trees:.1f} s of the CPU",
            trees <= TREES_GOAL if size == "full" else None,
        ),
        Claim(
            "any first call with nothing compiled: compiling",
            f"at most {GOAL:g} s",
            f"{compiling[worst]:.1f} s of the CPU ({worst})",
            compiling[worst] <= GOAL if size == "full" else None,
        ),
        Claim(
            "what is compiled is said on the screen, and only then",
            "always",
            "always" if not surprises else f"not: {', '.join(surprises)}",
            not surprises,
        ),
    )
    columns = (
        "case",
        "backend",
        "compiling (CPU s)",
        "first call (CPU s)",
        "first call (wall s)",
        "in the next process (CPU s)",
        "said that it compiles",
    )
    return Result("first_call", FIRST_CALL.title, (Table("cases", columns, tuple(table)),), claims)


FIRST_CALL = Experiment(
    "first_call",
    "The first call on a machine",
    run,
    about=(
        "Kernels are compiled where they are used first, and kept on disk. Each case explains its first rows in a "
        "fresh process with an empty cache, and again in another process with what that left. Importing, fitting the "
        "model and planning are not counted. CPU seconds are those of one thread; the wall shows what else the machine "
        "was doing."
    ),
)

if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1])) + "\n")
