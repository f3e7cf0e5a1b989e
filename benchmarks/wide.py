"""Wide networks: exact ASV of tree ensembles on child, insurance and alarm, beside path-dependent TreeSHAP.

All edges stay, and the target is left out of the features: a leaf of the network, or a node in its middle, which is
then summed out. Times are CPU seconds of one thread, in one run, after a first call of each. *Before* is the time
coalition by coalition (`ideals x trees`), which knows nothing of what a leaf can see; it is measured on fewer rows, and
the ratio is that of the time per row.

The table of operations says what an exact value has to look at: pairs of a leaf and a row, each with the ideals of what
the leaf can see (its path features and all above them) at which the row has not failed the path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.timing import shortest, timed

#: network, target, model, rows, rows for the time before, what is asked for: times TreeSHAP, or seconds.
CASES = (
    ("child", "Disease", "forest", 100, 10, ("times", 10.0)),
    ("insurance", "PropCost", "forest", 20, 2, ("times", 150.0)),
    ("insurance", "Accident", "forest", 20, 2, ("times", 150.0)),
    ("insurance", "PropCost", "tree", 50, 20, ("times", 100.0)),
    ("alarm", "CVP", "forest", 20, 0, ("seconds", 60.0)),
)
SMALL = (("asia", "either", "tree", 5, 5, ("times", 100.0)),)
#: Planned seconds past which a case is not run, and said so.
PATIENCE = 200.0
_SAMPLED_LEAVES = 150


def problem(name: str, target: str, kind: str, n_rows: int) -> tuple[Any, Any, Any]:
    """(network, fitted pipeline, distinct rows): 4,000 rows drawn from the network to fit."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier

    from shap_asv import load_network, sample_rows

    network = load_network(name)
    table = sample_rows(network, 4000, seed=0)
    X, y = table.drop(columns=target), table[target]
    single = DecisionTreeClassifier(max_depth=8, random_state=0)
    model = single if kind == "tree" else RandomForestClassifier(100, max_depth=8, random_state=0, n_jobs=1)
    return network, make_pipeline(OrdinalEncoder(), model).fit(X, y), X.drop_duplicates()[:n_rows]


def measure(case: tuple) -> tuple:
    """One row of the table of times."""
    import shap

    from shap_asv import AsymmetricExplainer

    name, target, kind, n_rows, before_rows, _ = case
    network, model, rows = problem(name, target, kind, n_rows)
    codes = model[0].transform(rows).astype(float)
    tree_shap = shap.TreeExplainer(model[1])
    tree_shap.shap_values(codes)
    theirs = shortest(lambda: tree_shap.shap_values(codes), 3, enough=5.0)
    before = None
    if before_rows:
        slow = AsymmetricExplainer(model, network, algorithm="ideals x trees")
        slow(rows[:before_rows], silent=True)
        before = shortest(lambda: slow(rows[:before_rows], silent=True), 1) * len(rows) / before_rows
    explainer = AsymmetricExplainer(model, network, algorithm="exact")
    plan = explainer.plan(rows)
    planned = plan.seconds
    ours = gap = None
    if planned <= PATIENCE:
        first, explanation = timed(lambda: explainer(rows, silent=True))
        ours = first if first > 30.0 else shortest(lambda: explainer(rows, silent=True), 2, enough=5.0)
        predicted = model.predict_proba(rows)
        gap = float(np.abs(explanation.values.sum(axis=1) + explanation.base_values - predicted).max())
    trees = [model[1]] if kind == "tree" else model[1].estimators_
    return (
        f"{name} without {target}, {kind}", len(rows), sum(tree.get_n_leaves() for tree in trees),
        plan.backend.name, planned, ours, theirs, None if before is None else before / theirs,
        None if ours is None else ours / theirs, gap,
    )  # fmt: skip


def count_operations(case: tuple) -> tuple:
    """One row of the table of operations, over a sample of the leaves."""
    from shap_asv import AsymmetricExplainer
    from shap_asv.backends.contract import Settings
    from shap_asv.backends.termwise import masks_of, with_causes
    from shap_asv.backends.workload import IDEALS, network_and_terms
    from shap_asv.explainer.rows import fit_rows, read_table

    name, target, kind, n_rows, *_ = case
    pgm, model, rows = problem(name, target, kind, n_rows)
    asked = AsymmetricExplainer(model, pgm)._execution.problem
    background, products = network_and_terms(asked)
    network, nodes = background.network, background.nodes
    codes = fit_rows(asked, read_table(rows), False)
    coalitions = IDEALS.columns(asked, Settings()).coalitions
    known = np.zeros((len(coalitions), network.n_nodes), dtype=bool)
    known[:, nodes] = coalitions
    known = with_causes(network, known)
    ideals = masks_of(known)
    chosen = np.random.default_rng(0).permutation(products.n_terms)[:_SAMPLED_LEAVES]
    alive, seen = 0, 0
    for t in chosen:
        looks = np.zeros((1, network.n_nodes), dtype=bool)
        looks[0, nodes] = products.terms[t] != 0
        inside = np.unique(ideals & masks_of(with_causes(network, looks))[0])
        dead = np.zeros(len(codes), dtype=np.int64)
        for v, node in enumerate(nodes.tolist()):
            dead |= (products.vectors[v][products.terms[t, v], codes[:, v]] == 0).astype(np.int64) << node
        alive += sum(int((inside & failed == 0).sum()) for failed in dead)
        seen += len(inside)
    pairs = products.n_terms * len(codes)
    per_pair = alive / len(chosen) / len(codes)
    return (
        f"{name} without {target}, {kind}", len(coalitions), seen / len(chosen), per_pair,
        float(pairs * len(coalitions)), float(pairs * per_pair),
    )  # fmt: skip


def run(size: Size, progress: Progress) -> Result:
    cases = CASES if size == "full" else SMALL
    times = [measure(case) for case in progress.over(cases, "wide networks")]
    operations = [count_operations(case) for case in progress.over(cases, "operations")]
    claims = []
    for (*_, (unit, goal)), row in zip(cases, times, strict=True):
        ours = row[5] if unit == "seconds" else row[8]
        asked = f"at most {goal:g} s" if unit == "seconds" else f"at most {goal:g} times path-dependent TreeSHAP"
        found = (
            f"not run: planned {row[4]:,.0f} s" if ours is None else f"{ours:,.1f}{' s' if unit == 'seconds' else ''}"
        )
        claims.append(Claim(f"{row[0]}, {row[1]} rows", asked, found, ours is not None and ours <= goal))
    gaps = [row[9] for row in times if row[9] is not None]
    claims.append(Claim("Values add up to the prediction", "1e-9", f"{max(gaps):.0e}", max(gaps) <= 1e-9))
    tables = (
        Table(
            "times",
            (
                "problem", "rows", "leaves", "backend", "planned, s", "s", "TreeSHAP, s",
                "before: times TreeSHAP", "now: times TreeSHAP", "efficiency gap",
            ),
            tuple(times),
            caption="Before is coalition by coalition (`ideals x trees`), now is what `algorithm=\"exact\"` takes.",
        ),
        Table(
            "operations",
            (
                "problem", "ideals", "ideals that a leaf sees", "of these alive, per leaf and row",
                "leaves x rows x ideals", "alive values to look at",
            ),
            tuple(operations),
            caption=f"What exact values have to look at, from {_SAMPLED_LEAVES} leaves.",
        ),
    )  # fmt: skip
    return Result("wide", WIDE.title, tables, tuple(claims), notes(cases, times, operations))


def notes(cases: tuple, times: list, operations: list) -> tuple[str, ...]:
    """What one value takes, and what the goal leaves for it."""
    said = []
    for (*_, (unit, goal)), row, (what, *_, alive) in zip(cases, times, operations, strict=True):
        allowed = goal if unit == "seconds" else goal * row[6]
        taken = "not run" if row[5] is None else f"{1e9 * row[5] / alive:,.0f} ns"
        said.append(f"{what}: {taken}, the goal leaves {1e9 * allowed / alive:,.0f} ns")
    return (f"Time per alive value (a leaf, a row, an ideal that the leaf sees): {'; '.join(said)}.",)


WIDE = Experiment("wide", "Wide networks", run, about=(__doc__ or "").split("\n\n", 1)[1])
