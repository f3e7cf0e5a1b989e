"""The two jobs of the command line; each ends in a report.

``demo``: rows are drawn from a network, a decision tree learns to predict one node from the others, and the tree is
explained twice, by SHAP and by ASV, over the same network. The predicted node is not a feature; it is summed out.

``explain``: a table, what causes what, and a model. With edges that reach all features a structural model is fitted to
the table, with levels or fewer edges the best of several distributions; a network is the distribution itself. The model
is the user's, or one that is trained here.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import networkx as nx
import numpy as np
import pandas as pd

from shap_asv.backgrounds.discrete.ranking import low_to_high
from shap_asv.backgrounds.pgmpy_networks import load_network, read_network
from shap_asv.command import tables
from shap_asv.command.request import meant
from shap_asv.command.rows import Rows, choose_rows, strata_of
from shap_asv.command.training import Trained, load_model, train
from shap_asv.command.worth import worth_in_words
from shap_asv.datasets import sample_rows
from shap_asv.discovery import check_graph
from shap_asv.errors import CausalGraphWarning, RowsError, UnknownFeatureError
from shap_asv.explainer.asymmetric import AsymmetricExplainer
from shap_asv.explainer.comparing import compare_methods, plan_methods
from shap_asv.orders import CausalOrder
from shap_asv.planning import Plan, duration
from shap_asv.report.reading import read_block
from shap_asv.report.sentences import conclude, in_words

#: What the bundled networks are usually asked to predict.
TARGETS = {"cancer": "Cancer", "asia": "dysp", "child": "Disease", "insurance": "Accident", "alarm": "CVP"}
TRAINING_ROWS = 5000
#: What is assumed of columns that no level names.
REST = {
    "free": "--levels does not name {}: assumed to have no place in time, before or after any other (--rest free).",
    "first": "--levels does not name {}: assumed to come before all levels (--rest first).",
    "last": "--levels does not name {}: assumed to come after all levels (--rest last).",
}
#: Tells the user, in a line, what has been done.
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be explained, as the model and the background want it; ``drawn`` is the graph of the page."""

    rows: pd.DataFrame
    which: Rows
    model: Any
    background: Any
    causal_graph: Any
    drawn: Any
    notes: list[str]


def run_demo(options: Namespace, say: Say) -> Path | None:
    """Train a tree on the network's data, explain it by SHAP and ASV, write the report; returns its path.

    ``options`` are those of the command line; ``target`` and ``state`` have defaults that depend on the network.
    """
    network = load_network(options.network)
    plain = read_network(network)
    target = options.target or TARGETS.get(options.network) or plain.names[-1]
    if target not in plain.names:
        raise UnknownFeatureError(
            f"target {target!r} is not a node of the network{meant(target, plain.names, 'its nodes are')}"
        )
    say(f"read the network {options.network}: {len(plain.names)} nodes; {target} is to be predicted")
    drawn = sample_rows(network, TRAINING_ROWS + options.rows, options.seed).astype(str)
    X, y = drawn.drop(columns=target), drawn[target]
    say(f"drew {TRAINING_ROWS:,} rows to train on and {options.rows:,} to explain")
    states = dict(zip(plain.names, plain.states, strict=True))
    trained = train(X[:TRAINING_ROWS], y[:TRAINING_ROWS], options.seed, [[str(s) for s in states[name]] for name in X])
    which = Rows(np.arange(options.rows), f"{options.rows:,} rows drawn from the network {options.network}.")
    task = Task(X[TRAINING_ROWS:], which, trained.model, network, None, network, trained.notes)
    output = telling_output(trained.model, options.state)
    explained = explained_words(target, trained.model, output)
    title = f"Why does the tree say so? {explained} in the network {options.network}"
    return _report(task, options, "auto", output, explained, title, say)


def run_check(request: Namespace, say: Say) -> bool:
    """Say whether the graph fits the table: no implied independence is contradicted."""
    table = tables.read_table(request.layout)
    for note in table.notes:
        say(note)
    graph = request.edges if request.network is None else load_network(request.network)
    nodes = {str(node) for edge in graph for node in edge} if request.network is None else set(map(str, graph.nodes))
    frame = table.frame.drop(columns=request.dropped)
    useless, notes = tables.useless_columns(frame, nodes)
    for note in notes:
        say(note)
    frame = frame.drop(columns=useless)
    if alone := [name for name in frame.columns if name not in nodes]:
        away = ",".join(map(tables.quoted, alone))
        say(f"The graph does not name {', '.join(alone)}: independent of all others, or --drop {away}.")
    with catch_warnings():
        simplefilter("ignore", CausalGraphWarning)  # said just now
        found = check_graph(frame, list(graph) if request.network is None else graph, request.alpha)
    print(found)
    return found.fits


def run_explain(request: Namespace, say: Say) -> Path | None:
    """Explain, write the report, and say where it is; None when only a plan was asked for."""
    task = prepare(request, say)
    output = telling_output(task.model, request.output)
    values = "auto" if request.network is not None else request.values
    explained = explained_words(request.target, task.model, output)
    return _report(task, request, values, output, explained, f"{request.target}, explained by SHAP and ASV", say)


def _report(
    task: Task, options: Namespace, values: str, output: str | None, explained: str, title: str, say: Say
) -> Path | None:
    """Explain the rows and write the page; or print the plans, where only they are asked for."""
    for note in [*task.notes, task.which.words]:
        say(note)
    fitted = isinstance(task.background, pd.DataFrame)
    if fitted:
        say(f"fitting distributions to the table of {len(task.background):,} rows; this can take a minute")
    explainer = make_explainer(task, options, values)
    say("fitted the distribution" if fitted else "read the network as the distribution")
    methods = options.methods.split(",") if options.methods else None
    if options.plan:
        for name, plan in plan_methods(explainer, task.rows, methods, silent=True).items():
            print(f"\n{name}. {plan}")
        return None

    notes = list(task.notes)
    if fitted and values == "conditional":
        place = None if output is None else [str(name) for name in task.model.classes_].index(output)
        for note in worth_in_words(explainer, task.background, task.causal_graph, place, options.seed):
            say(note)
            notes.append(note)

    def announce(name: str, plan: Plan, seconds: float) -> None:
        why = plan.why if plan.seconds > options.budget else "half of it tells the errors of its background rows"
        over = f", more than --budget {options.budget:g}: {why}" if seconds > options.budget else ""
        say(f"{name} of {len(task.rows):,} rows: about {duration(max(1.0, seconds))}{over}")

    call = {"silent": True} if output is None else {"silent": True, "outputs": output}
    comparison = compare_methods(explainer, task.rows, methods, call, announce)
    sensitivity = None
    if options.job == "explain" and options.sensitivity:
        say("explaining under every graph that differs in one edge")
        sensitivity = explainer.sensitivity(task.rows, outputs=output, silent=True)
        notes.append(f"If the graph is not certain: {sensitivity.matters_most() or 'no edge changes a value'}.")
        say(notes[-1])
    numbers = task.which.places.tolist()
    page = comparison.to_html(
        options.out / "index.html",
        title=title,
        explained=explained,
        graph=task.drawn,
        sensitivity=sensitivity,
        notes=notes,
        sample=task.which.words,
        row_numbers=numbers,
    )
    print(f"\n{summary_of(comparison, explained, numbers)}\n")
    say(f"wrote {page}; open it in a browser")
    return page


def make_explainer(task: Task, options: Namespace, values: str, **more: Any) -> AsymmetricExplainer:
    """The explainer of a task; fits a distribution where there is a table."""
    with catch_warnings():
        simplefilter("ignore", CausalGraphWarning)  # what the graph does not name is said in a note
        return AsymmetricExplainer(
            task.model,
            task.background,
            task.causal_graph,
            feature_names=list(task.rows.columns),
            values=values,
            algorithm=options.algorithm,
            seed=options.seed,
            budget=options.budget,
            silent=True,
            **more,
        )


def prepare(request: Namespace, say: Say) -> Task:
    """Read the table and the graph, and load or train the model."""
    table = tables.read_table(request.layout)
    X, y = table.frame[list(request.features)], table.frame[request.target]
    say(f"read {request.data}: {tables.describe(X.join(y))}")
    if request.network is not None:
        return _with_network(request, table, X, y, say)
    wanted = {name for group in (request.levels or request.edges or ()) for name in group}
    if request.model is None:
        useless, notes = tables.useless_columns(X, wanted)
        X = X.drop(columns=useless)
        if X.shape[1] == 0:
            raise RowsError(f"no column of {request.data} beside the target says anything: {' '.join(notes)}")
        tables.check_labels(X)
        X = tables.with_categories(X)
    else:
        notes = []
    trained, X = _model_of(request, X, y)
    graph, drawn, told = _causes(request, X)
    rows, which = _rows_of(request, table, X, y, trained)
    return Task(rows, which, trained.model, X, graph, drawn, [*table.notes, *notes, *trained.notes, *told])


def _model_of(request: Namespace, X: pd.DataFrame, y: pd.Series, states: Any = None) -> tuple[Trained, pd.DataFrame]:
    """The model that was given or is trained, and the columns that it takes."""
    if request.model is None:
        return train(X, y, request.seed, states), X
    model = load_model(request.model)
    X, dropped = _known_to(model, X)
    return Trained(model, [f"The model is {request.model}.", *dropped]), X


def _rows_of(
    request: Namespace, table: tables.TypedTable, X: pd.DataFrame, y: pd.Series, trained: Trained
) -> tuple[pd.DataFrame, Rows]:
    """The rows to explain, their numbers in the table, and a sentence that says which they are."""
    if request.rows.kind == "file":
        rows = tables.read_rows(request.rows.what, table._replace(frame=X), list(X.columns))
        return rows, Rows(np.arange(len(rows)), f"The {len(rows):,} rows of {request.rows.what}.")
    predict = getattr(trained.model, "predict_proba", None) or getattr(trained.model, "predict", trained.model)
    sampled = request.rows.most is not None and request.rows.most < len(X)
    predicted = np.asarray(predict(X)) if sampled else np.zeros(len(X))
    rows = choose_rows(request.rows, table, strata_of(y, predicted), trained.held_out, request.seed)
    return X.iloc[rows.places], rows


def _known_to(model: Any, X: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
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


def _causes(request: Namespace, X: pd.DataFrame) -> tuple[Any, Any, list[str]]:
    """(causal graph for the explainer, graph for the page, notes)."""
    features = [str(name) for name in X.columns]
    if request.levels is not None:
        levels = [[name for name in level if name in features] for level in request.levels]
        graph = CausalOrder.from_levels([level for level in levels if level])
        named = {name for level in request.named for name in level}
        unnamed = [name for name in features if name not in named]
        return graph, None, [REST[request.rest].format(", ".join(unnamed))] if unnamed else []
    drawn = nx.DiGraph(request.edges)
    drawn.add_nodes_from(features)
    if not nx.is_directed_acyclic_graph(drawn):
        CausalOrder.from_edges(request.edges, features=list(drawn.nodes))  # its error names the cycle
    outside = [str(node) for node in drawn.nodes if node not in features]
    inner = _without(drawn, outside)
    told = []
    if any(drawn.out_degree(node) for node in outside):
        told.append(f"Not features, so their causes were linked to their effects: {', '.join(outside)}.")
    alone = [name for name in features if not inner.degree(name)]
    if alone:
        told.append(f"No edge names {', '.join(alone)}: taken to have neither causes nor effects among the features.")
    return list(inner.edges), drawn, told


def _without(graph: Any, nodes: Sequence[str]) -> Any:
    """The graph with nodes removed and their causes linked to their effects."""
    rest = graph.copy()
    for node in nodes:
        rest.add_edges_from((cause, effect) for cause in list(rest.pred[node]) for effect in list(rest.succ[node]))
        rest.remove_node(node)
    return rest


def _with_network(request: Namespace, table: tables.TypedTable, X: pd.DataFrame, y: pd.Series, say: Say) -> Task:
    network = load_network(request.network)
    plain = read_network(network)
    states = dict(zip(plain.names, plain.states, strict=True))
    say(f"read {request.network}: {len(plain.names)} nodes")
    unknown = [str(name) for name in X.columns if name not in states]
    X = X.drop(columns=unknown)
    if X.shape[1] == 0:
        raise UnknownFeatureError(
            f"no column of {request.data} beside the target is a node of {request.network}; its nodes are "
            f"{', '.join(plain.names)}"
        )
    notes = [f"Left out, because they are not nodes of the network: {', '.join(unknown)}."] if unknown else []
    numbers, X = X, tables.to_states(X, states)
    if request.target in states:
        y = tables.to_states(y.to_frame(), states)[request.target]
    trained, X = _model_of(request, X, y, [[str(state) for state in states[name]] for name in X.columns])
    rows, which = _rows_of(request, table, numbers[X.columns] if request.rows.kind == "file" else X, y, trained)
    if request.rows.kind == "file":
        rows = tables.to_states(rows, states)
    return Task(rows, which, trained.model, network, None, network, [*table.notes, *notes, *trained.notes])


def telling_output(model: Any, wanted: str | None) -> str | None:
    """The output to explain: the one that was asked for, the high one of two classes, or None for all."""
    classes = getattr(model, "classes_", None)
    if classes is None or np.ndim(classes) != 1:
        if wanted is not None:
            raise UnknownFeatureError(f"--output {wanted!r}: the model has no classes to choose from; leave it out")
        return None
    names = [str(name) for name in classes]
    if wanted is not None:
        if wanted not in names:
            raise UnknownFeatureError(f"{wanted!r} is not predicted by the model{meant(wanted, names, 'choose from')}")
        return wanted
    if len(names) != 2:
        return None
    return names[(low_to_high(list(classes)) or [0, 1])[-1]]


def explained_words(target: str, model: Any, output: str | None) -> str:
    """What the numbers on the page are: the target, or the probability of one of its states."""
    if output is None:
        return target
    return f"P({target} = {output})" if hasattr(model, "predict_proba") else f"{target} = {output}"


def summary_of(comparison: Any, explained: str, row_numbers: Sequence[int]) -> str:
    """The sentences that open the report, and the table of the output that it opens with."""
    block = read_block(comparison, explained, row_numbers=row_numbers)
    lines = [in_words(sentence, block.features) for sentence in conclude(block, 0)]
    several = len(block.outputs) > 1
    heading = [block.outputs[0] + (f" ({len(block.outputs) - 1} more outputs are in the report)" if several else "")]
    return "\n".join([*heading, *lines, "", repr(comparison.output(0) if several else comparison)])
