"""Causal values against conditional ones: the same trees, rows and orders under the network child.

``nu(S) = E[M | do(X_S = e_S)]`` leaves factors out where ``E[M | X_S = e_S]`` conditions. Both sides are timed from the
explainer's constructor on, with the plan that each chooses for itself; a first call of each compiles.
"""

from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.timing import timed

#: What is asked for, as a multiple of the time of conditional values.
GOAL = 2.0
#: A node in the middle of child, with causes and effects: as a latent node it confounds what it stands above.
HIDDEN = "LungParench"


def cases(size: Size) -> dict[str, tuple[Any, list[str], Any, Any]]:
    """Model, features, rows and causal graph: all nodes as features, and with one hidden; child's order, and none."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeRegressor

    from shap_asv import CausalOrder, load_network, sample_rows

    full = size == "full"
    data = sample_rows(load_network("child"), 4000 if full else 300, seed=0)
    rng = np.random.default_rng(0)
    codes = np.stack([np.unique(data[name], return_inverse=True)[1] for name in data], axis=1)
    target = codes @ rng.normal(size=codes.shape[1]) + rng.normal(size=len(codes))
    found = {}
    for hidden in (None, HIDDEN):
        features = [name for name in data if name != hidden]
        rows = data[features].iloc[: 1000 if full else 20]
        for kind, tree in (
            ("tree of 64 leaves", DecisionTreeRegressor(max_leaf_nodes=64, random_state=0)),
            ("forest of 20 such trees", RandomForestRegressor(20 if full else 3, max_leaf_nodes=64, random_state=0)),
        ):
            model = make_pipeline(OrdinalEncoder(), tree).fit(data[features], target)
            for name, graph in (
                ("child's order", None),
                ("no edges", CausalOrder.from_edges([], features=features)),
            ):
                players = "all nodes" if hidden is None else f"{hidden} hidden"
                found[f"{kind}, {players}, {name}"] = (model, features, rows, graph)
    return found


def run(size: Size, progress: Progress) -> Result:
    from shap_asv import AsymmetricExplainer, load_network

    full = size == "full"
    network = load_network("child")
    table, ratios, gaps = [], {}, []
    everything = cases(size)
    for name in progress.over(list(everything), "causal values"):
        model, features, rows, graph = everything[name]
        seconds, plans = {}, {}
        for values in ("conditional", "causal"):

            def work(rows, values=values, model=model, features=features, graph=graph):
                algorithm = "auto" if graph is None else "sampling"
                options = {"feature_names": features, "seed": 0, "n_orders": 100 if full else 5, "values": values}
                explainer = AsymmetricExplainer(model, network, graph, algorithm=algorithm, **options)
                return explainer, explainer(rows, silent=True)

            work(rows)  # the first call compiles; fewer rows might be explained by another backend
            seconds[values], (explainer, explanation) = timed(lambda work=work, rows=rows: work(rows))
            plans[values] = explainer.plan(rows).backend.name
            total = np.asarray(explanation.base_values) + np.asarray(explanation.values).sum(axis=1)
            gaps.append(float(np.abs(total - model.predict(rows)).max()))
        ratios[name] = seconds["causal"] / seconds["conditional"]
        table.append(
            (name, seconds["conditional"], plans["conditional"], seconds["causal"], plans["causal"], ratios[name])
        )
    claims = []
    for model in dict.fromkeys(name.split(",")[0] for name in ratios):
        worst = max((name for name in ratios if name.startswith(model)), key=lambda name: ratios[name])
        claims.append(
            Claim(
                f"causal values of a {model} on child",
                f"at most {GOAL:g} times the time of conditional ones",
                f"{ratios[worst]:.2g} ({worst})",
                ratios[worst] <= GOAL if full else None,
            )
        )
    claims.append(Claim("attributions add up to the model", "to 1e-9", f"{max(gaps):.1e}", max(gaps) <= 1e-9))
    columns = ("case", "conditional (s)", "backend", "causal (s)", "its backend", "ratio")
    caption = (
        f"{len(rows):,} rows. Without a hidden node, and in child's own order, both are the same and computed once."
    )
    return Result("causal", CAUSAL.title, (Table("times", columns, tuple(table), caption),), tuple(claims))


CAUSAL = Experiment(
    "causal",
    "Causal values against conditional ones",
    run,
    about=(
        'Attributions of trees over the nodes of child with `values="causal"`, timed against those with '
        '`values="conditional"` in the same run: in the order of the network, and over sampled orders without '
        f"constraints, with all nodes as features and with {HIDDEN} hidden, where it confounds its effects."
    ),
)
