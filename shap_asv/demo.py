"""The main job on one network, from data to plots: what ``python -m shap_asv`` does.

Rows are drawn from the network (or read from a CSV file), a decision tree learns to predict one node from the others,
and the tree is explained twice: by SHAP and by ASV, over the same network. The predicted node itself is not a feature;
the explainer sums it out.
"""

import html
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from shap_asv.backgrounds.pgmpy_networks import load_network, read_network
from shap_asv.comparison import Comparison
from shap_asv.datasets import sample_rows
from shap_asv.errors import RowsError, UnknownFeatureError
from shap_asv.explainer.asymmetric import AsymmetricExplainer

if TYPE_CHECKING:
    from shap_asv.planning import Plan

#: What the bundled networks are usually asked to predict.
TARGETS = {"cancer": "Cancer", "asia": "dysp", "child": "Disease", "insurance": "Accident", "alarm": "CVP"}
_TRAINING_ROWS = 5000


@dataclass(frozen=True)
class Request:
    """What the command line asks for; ``target`` and ``state`` have defaults that depend on the network."""

    network: str = "cancer"
    target: str | None = None
    state: str | None = None
    data: str | None = None
    rows: int = 300
    depth: int = 5
    algorithm: str = "auto"
    seed: int = 0
    budget: float = 20.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out: the comparison for one state of the target, and the two plans."""

    request: Request
    target: str
    state: str
    accuracy: float
    comparison: Comparison
    graph: Any
    asv_plan: "Plan"
    shap_plan: "Plan"


def run(request: Request) -> Outcome:
    """Train a tree on the network's data and explain it by SHAP and ASV."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier

    network = load_network(request.network)
    plain = read_network(network)
    target = request.target or TARGETS.get(request.network) or plain.names[-1]
    if target not in plain.names:
        raise UnknownFeatureError(
            f"target {target!r} is not a node of the network; its nodes are {', '.join(plain.names)}"
        )
    table = (
        _read_rows(request.data, plain.names) if request.data else sample_rows(network, _TRAINING_ROWS, request.seed)
    )
    X, y = table.drop(columns=target), table[target].astype(str)
    states = dict(zip(plain.names, plain.states, strict=True))
    encoder = OrdinalEncoder(categories=[[str(s) for s in states[name]] for name in X.columns])
    tree = DecisionTreeClassifier(max_depth=request.depth, min_samples_leaf=5, random_state=request.seed)
    model = make_pipeline(encoder, tree).fit(X.astype(str), y)
    state = _choose_state(request.state, [str(s) for s in model.classes_], [str(s) for s in states[target]], target)
    explainer = AsymmetricExplainer(
        model, network, algorithm=request.algorithm, seed=request.seed, budget=request.budget
    )
    rows = X.astype(str)[: request.rows]
    asv = explainer(rows, outputs=state)
    symmetric = explainer.symmetric()
    comparison = Comparison({"SHAP": symmetric(rows, outputs=state), "ASV": asv}, explainer.causal_order)
    accuracy = float(np.mean(model.predict(X.astype(str)) == y))
    return Outcome(request, target, state, accuracy, comparison, network, explainer.plan(rows), symmetric.plan(rows))


def _read_rows(path: str, names: tuple[str, ...]) -> pd.DataFrame:
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise RowsError(f"{path} has no column {missing[0]!r}; the network's nodes are {', '.join(names)}")
    return table[list(names)]


def _choose_state(wanted: str | None, classes: list[str], states: list[str], target: str) -> str:
    if wanted is not None:
        if wanted not in classes:
            raise UnknownFeatureError(
                f"state {wanted!r} of {target} is not predicted by the model; choose from {classes}"
            )
        return wanted
    telling = [
        state for state in states if state.lower() in ("true", "yes", "positive", "abnormal") and state in classes
    ]
    return telling[0] if telling else next(state for state in states if state in classes)


def report(outcome: Outcome) -> str:
    """The result as text: the plans, then SHAP and ASV side by side."""
    r = outcome
    return "\n\n".join(
        [
            f"A decision tree (depth {r.request.depth}, accuracy {r.accuracy:.3f}) predicts P({r.target} = {r.state}); "
            f"{r.target} itself is summed out of the network.",
            f"ASV. {r.asv_plan}",
            f"SHAP. {r.shap_plan}",
            repr(r.comparison),
        ]
    )


def write_page(outcome: Outcome, folder: Path) -> list[Path]:
    """Draw every plot into ``folder`` and an ``index.html`` that shows them; returns what was written."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import shap

    from shap_asv import plots

    folder.mkdir(parents=True, exist_ok=True)
    result = outcome.comparison
    row = int(np.argmax(np.abs(result.difference).sum(axis=1)))  # the row where the two differ most
    drawings = {
        "causal_graph": (
            "Credit on the causal graph, mean |value|",
            lambda: plots.causal_graph(result, outcome.graph, show=False),
        ),
        "comparison": (f"Row {row}, where the two differ most", lambda: plots.comparison(result, row=row, show=False)),
        "waterfalls": (f"Row {row}, step by step", lambda: plots.comparison_waterfall(result, row=row, show=False)),
        "beeswarms": ("All rows, on one scale", lambda: plots.comparison_beeswarm(result, show=False)),
    }
    written = []

    def save(name: str, dpi: int) -> None:
        written.append(folder / f"{name}.png")
        plt.gcf().savefig(written[-1], dpi=dpi, bbox_inches="tight")
        plt.close("all")

    for name, (_, draw) in drawings.items():
        draw()
        save(name, dpi=150)
    for name, explanation in result.explanations.items():
        shap.plots.beeswarm(explanation, show=False)  # shap's own plot takes our explanation as it is
        save(f"{name.lower()}_beeswarm", dpi=120)
    titles = {f"{name}.png": title for name, (title, _) in drawings.items()}
    page = folder / "index.html"
    page.write_text(_page(outcome, titles), encoding="utf-8")
    return [*written, page]


def _page(outcome: Outcome, titles: dict[str, str]) -> str:
    figures = "\n".join(
        f'<figure><figcaption>{html.escape(title)}</figcaption><img src="{name}" alt="{html.escape(title)}"></figure>'
        for name, title in titles.items()
    )
    swarms = "\n".join(
        f'<figure><figcaption>shap.plots.beeswarm of {name}</figcaption><img src="{name.lower()}_beeswarm.png" '
        f'alt="beeswarm of {name}"></figure>'
        for name in outcome.comparison.explanations
    )
    title = f"SHAP and ASV: {outcome.target} = {outcome.state}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{html.escape(title)}</title>
<style>
body {{ font-family: sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; color: #222; }}
figure {{ margin: 2rem 0; }}
figcaption {{ font-weight: bold; margin-bottom: 0.5rem; }}
img {{ max-width: 100%; }}
pre {{ background: #f6f6f6; padding: 1rem; overflow-x: auto; font-size: 0.8rem; }}
</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
{figures}
{swarms}
<h2>The numbers, and how they were computed</h2>
<pre>{html.escape(report(outcome))}</pre>
</body>
</html>
"""
