"""``explain``: a table, what causes what, and a model -> a report.

With edges that reach all features a structural model is fitted to the table, with levels or fewer edges the best of
several distributions; a network is the distribution itself. The model is the user's, or one that is trained here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shap_asv.command import tables
from shap_asv.command.checks import Request, meant
from shap_asv.command.steps import Steps
from shap_asv.command.training import Trained, load_model, train
from shap_asv.command.wording import explained_words, summary_of, telling_output
from shap_asv.errors import RowsError, UnknownFeatureError

if TYPE_CHECKING:
    import pandas as pd

ORDERS = 256  # where orders have to be sampled; the standard errors say what it is worth
CALLS = 8_000_000  # of the model, for one side: seconds for boosted trees


@dataclass(frozen=True, eq=False)
class Prepared:
    """The table as the model and the background want it."""

    X: "pd.DataFrame"
    rows: "pd.DataFrame"
    model: Any
    background: Any
    causal_graph: Any
    drawn: Any
    notes: list[str]


def run(request: Request, steps: Steps) -> Path | None:
    """Explain, write the report, and say where it is; None when only a plan was asked for."""
    steps.say("loading shap and scikit-learn")
    from shap_asv.explainer.asymmetric import AsymmetricExplainer

    prepared = prepare(request, steps)
    for note in prepared.notes:
        steps.say(note)
    if request.network is None:
        steps.say("fitting distributions to the table; this can take a minute or two")
    explainer = AsymmetricExplainer(
        prepared.model,
        prepared.background,
        prepared.causal_graph,
        feature_names=list(prepared.X.columns),
        values="auto" if request.network is not None else request.values,
        algorithm=request.algorithm,
        seed=request.seed,
        budget=request.budget,
        n_orders=ORDERS,
        n_draws=draws_for(len(prepared.rows), prepared.X.shape[1]),
        silent=True,
    )
    steps.say("fitted the distribution" if request.network is None else "read the network as the distribution")
    if request.plan:
        from shap_asv.explainer.questions.comparing import plan_methods

        for name, plan in plan_methods(explainer, prepared.rows, silent=True).items():
            print(f"\n{name}. {plan}")
        return None
    outputs = telling_output(prepared.model, request.output)
    comparison = explainer.compare(prepared.rows, silent=True, **({} if outputs is None else {"outputs": outputs}))
    steps.say(f"explained {len(prepared.rows):,} rows by SHAP and by ASV")
    explained = explained_words(request.target, prepared.model, outputs)
    page = comparison.to_html(
        request.out / "index.html",
        title=f"{request.target}, explained by SHAP and ASV",
        explained=explained,
        graph=prepared.drawn,
        notes=prepared.notes,
    )
    print(f"\n{summary_of(comparison, explained)}\n")
    steps.say(f"wrote {page}")
    return page


def draws_for(n_rows: int, n_features: int) -> int:
    """How many draws a Monte Carlo mean gets: a power of two from 128 to 2,048, as SHAP's coalitions allow.

    >>> draws_for(100, 4), draws_for(100, 20)
    (2048, 128)
    """
    coalitions = min(2**n_features, ORDERS * n_features)
    affordable = CALLS // (n_rows * coalitions)
    return min(2048, max(128, 1 << affordable.bit_length() >> 1))


def prepare(request: Request, steps: Steps) -> Prepared:
    """Read the table and the graph, and load or train the model."""
    table = tables.read_table(request.data, [*request.features, request.target])
    steps.say(f"read {request.data}: {tables.describe(table)}")
    X, y = table[list(request.features)], table[request.target]
    if request.network is not None:
        return _with_network(request, X, y, steps)
    tables.check_labels(X)
    X, notes = _for_the_model(request, X)
    X = X if request.model is not None else tables.with_categories(X)
    X, trained, dropped = _model_of(request, X, y)
    graph, drawn, told = _causes(request, X)
    rows = tables.choose_rows(request.rows, X)
    return Prepared(X, rows, trained.model, X, graph, drawn, [trained.words, *notes, *dropped, *told])


def _model_of(
    request: Request, X: "pd.DataFrame", y: "pd.Series", states: Any = None
) -> tuple["pd.DataFrame", Trained, list[str]]:
    """The columns that the model takes, the model that was given or is trained, and a note about other columns."""
    if request.model is None:
        return X, train(X, y, request.seed, states), []
    model = load_model(request.model)
    X, dropped = _known_to(model, X)
    return X, Trained(model, f"The model is {request.model}."), dropped


def _for_the_model(request: Request, X: "pd.DataFrame") -> tuple["pd.DataFrame", list[str]]:
    """No distribution can be fitted to a column without values; columns that name the rows are told of."""
    empty = [str(name) for name in X.columns if X[name].isna().all()]
    if len(empty) == X.shape[1]:
        raise RowsError(f"all columns of {request.data} beside the target are empty")
    notes = [f"Left out, because they are empty: {', '.join(empty)}."] if empty else []
    ids = [] if request.model is not None else tables.likely_ids(X)  # a model that is given knows what it takes
    notes += [
        f"{name} is another whole number in every row: if it only names the rows, --drop {tables.quoted(name)}."
        for name in ids
    ]
    return X.drop(columns=empty), notes


def _known_to(model: Any, X: "pd.DataFrame") -> tuple["pd.DataFrame", list[str]]:
    """The columns that the model was fitted on, in its order; a note about the others."""
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None:
        return X, []
    names = [str(name) for name in wanted]
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise UnknownFeatureError(
            f"the model was fitted on {missing[0]!r}, which is not a feature: the table does not have it, or it is the "
            f"target, or it was dropped{meant(missing[0], list(X.columns))}"
        )
    surplus = [str(name) for name in X.columns if name not in names]
    return X[names], [f"Left out, because the model does not know them: {', '.join(surplus)}."] if surplus else []


def _causes(request: Request, X: "pd.DataFrame") -> tuple[Any, Any, list[str]]:
    """(causal graph for the explainer, graph for the page, notes)."""
    import networkx as nx

    from shap_asv.orders import CausalOrder

    features = [str(name) for name in X.columns]
    if request.levels is not None:
        levels = [[name for name in level if name in features] for level in request.levels]
        return CausalOrder.from_levels([level for level in levels if level]), None, []
    assert request.edges is not None
    drawn = nx.DiGraph(request.edges)
    drawn.add_nodes_from(features)
    if not nx.is_directed_acyclic_graph(drawn):
        CausalOrder.from_edges(request.edges, features=list(drawn.nodes))  # its error names the cycle
    outside = [str(node) for node in drawn.nodes if node not in features]
    inner = _without(drawn, outside)
    told = []
    if any(drawn.out_degree(node) for node in outside):
        told.append(f"Not features, so their causes were linked to their effects: {', '.join(outside)}.")
    return list(inner.edges), drawn, told


def _without(graph: Any, nodes: Sequence[str]) -> Any:
    """The graph with nodes removed and their causes linked to their effects."""
    rest = graph.copy()
    for node in nodes:
        rest.add_edges_from((cause, effect) for cause in list(rest.pred[node]) for effect in list(rest.succ[node]))
        rest.remove_node(node)
    return rest


def _with_network(request: Request, X: "pd.DataFrame", y: "pd.Series", steps: Steps) -> Prepared:
    from shap_asv.backgrounds.pgmpy_networks import load_network, read_network

    assert request.network is not None
    network = load_network(request.network)
    plain = read_network(network)
    states = dict(zip(plain.names, plain.states, strict=True))
    steps.say(f"read {request.network}: {len(plain.names)} nodes")
    unknown = [str(name) for name in X.columns if name not in states]
    X = X.drop(columns=unknown)
    if X.shape[1] == 0:
        raise UnknownFeatureError(
            f"no column of {request.data} beside the target is a node of {request.network}; its nodes are "
            f"{', '.join(plain.names)}"
        )
    notes = [f"Left out, because they are not nodes of the network: {', '.join(unknown)}."] if unknown else []
    X = tables.to_states(X, states)
    if request.target in states:
        y = tables.to_states(y.to_frame(), states)[request.target]
    X, trained, dropped = _model_of(request, X, y, [[str(state) for state in states[name]] for name in X.columns])
    if request.rows.file is None:
        rows = tables.choose_rows(request.rows, X)
    else:
        rows = tables.to_states(tables.read_rows(request.rows.file, list(X.columns)), states)
    return Prepared(X, rows, trained.model, network, None, network, [trained.words, *notes, *dropped])
