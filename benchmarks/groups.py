"""Groups of three features against the features one by one: the same trees and rows under the network insurance.

Members of a group follow one another in a topological order of the network, so that the graph between groups has no
cycle. Both sides are timed from the explainer's constructor on, with the plan that each chooses for itself; a first
call of each compiles.
"""

from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.timing import timed

FOREST = "forest of 10 such trees"
#: What is asked for, as a multiple of the time without groups.
GOAL = 1.0
MEMBERS = 3


def groups_of(network: Any, count: int = MEMBERS) -> dict[str, list[str]]:
    """Nodes in threes along a topological order."""
    import networkx as nx

    nodes = list(nx.lexicographical_topological_sort(nx.DiGraph(network.edges()), key=str))
    return {f"group {k // count}": nodes[k : k + count] for k in range(0, len(nodes), count)}


def models(data: Any, target: np.ndarray, full: bool) -> dict[str, Any]:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeRegressor

    found = {
        "tree of 64 leaves": DecisionTreeRegressor(max_leaf_nodes=64, random_state=0),
        FOREST: RandomForestRegressor(10 if full else 2, max_leaf_nodes=64, random_state=0),
        "linear model": LinearRegression(),
    }
    return {name: make_pipeline(OrdinalEncoder(), model).fit(data, target) for name, model in found.items()}


def run(size: Size, progress: Progress) -> Result:
    from shap_asv import AsymmetricExplainer, load_network, sample_rows

    full = size == "full"
    network = load_network("insurance")
    data = sample_rows(network, 4000, seed=0)
    rng = np.random.default_rng(0)
    codes = np.stack([np.unique(data[name], return_inverse=True)[1] for name in data], axis=1)
    target = codes @ rng.normal(size=codes.shape[1]) + rng.normal(size=len(codes))
    groups = groups_of(network)
    table, ratios, gaps = [], {}, []
    for name, model in progress.over(list(models(data, target, full).items()), "groups"):
        # the forest takes minutes without groups: fewer rows
        for n_rows in ((100,) if name == FOREST else (100, 1000)) if full else (10,):
            rows = data.iloc[:n_rows]
            seconds, plans = {}, {}
            for kind, chosen in (("features", None), ("groups", groups)):

                def work(rows, model=model, chosen=chosen):
                    explainer = AsymmetricExplainer(model, network, groups=chosen, seed=0)
                    return explainer, explainer(rows, silent=True)

                work(rows)  # the first call compiles; fewer rows might be explained by another backend
                seconds[kind], (explainer, explanation) = timed(lambda work=work, rows=rows: work(rows))
                plans[kind] = explainer.plan(rows).backend.name
                total = np.asarray(explanation.base_values) + np.asarray(explanation.values).sum(axis=1)
                gaps.append(float(np.abs(total - model.predict(rows)).max()))
            case = f"{name}, {n_rows:,} rows"
            ratios[case] = seconds["groups"] / seconds["features"]
            table.append(
                (case, seconds["features"], plans["features"], seconds["groups"], plans["groups"], ratios[case])
            )
    worst = max(ratios, key=lambda case: ratios[case])
    claims = (
        Claim(
            f"groups of {MEMBERS} on insurance",
            "never slower than without groups",
            f"{ratios[worst]:.2g} of the time at most ({worst})",
            ratios[worst] <= GOAL if full else None,
        ),
        Claim("attributions add up to the model", "to 1e-9", f"{max(gaps):.1e}", max(gaps) <= 1e-9),
    )
    columns = ("case", "features (s)", "backend", "groups (s)", "its backend", "ratio")
    caption = f"{len(groups)} groups of the {codes.shape[1]} nodes of insurance."
    return Result("groups", GROUPS.title, (Table("times", columns, tuple(table), caption),), claims)


GROUPS = Experiment(
    "groups",
    "Groups of features against features",
    run,
    about=(
        f"Exact attributions over insurance to groups of {MEMBERS} nodes that follow one another in a topological "
        "order, timed against attributions to the nodes themselves in the same run."
    ),
)
