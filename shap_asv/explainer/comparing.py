"""Several methods on the same model, background and rows: SHAP, ASV, and both with other values, by their names.

A method is a set of orders (all of them: SHAP; those that follow the causal graph: ASV) and a meaning of nu(S)
(:mod:`~shap_asv.explainer.problem`). Without an adjective nu(S) is what the background is for: conditional on
what is known, or shap's marginal over background rows. An explainer of causal values is compared as "causal SHAP" and
"causal ASV", of marginal ones of a fitted distribution as "marginal SHAP" and "marginal ASV".

Methods may also come as a dict, by names of the user's: ``{"past first": "ASV", "recent first": order}``, where what is
not a method is a causal graph.

A table comes with marginal SHAP beside ASV: what people have, and what the order of causes makes of it.

All methods explain the same output of the model. Those that condition or intervene start from one mean prediction: that
of the table, where the explainer's distribution was fitted to one, which is known exactly; else that of the explainer's
distribution. Marginal values start from the mean over their background rows, as in shap; where these are some rows of a
table, their standard errors say how far the others would move the values (:mod:`~shap_asv.explainer.row_errors`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shap_asv.backends.contract import Problem
from shap_asv.backgrounds.contract import MaskedInputs
from shap_asv.backgrounds.structural.model import StructuralModel
from shap_asv.comparison import Comparison
from shap_asv.errors import MethodNotApplicableError, UnknownMethodError, nearest
from shap_asv.explainer.causes import edgeless_order, levels_of
from shap_asv.explainer.row_errors import measure_row_errors, takes_some_rows
from shap_asv.explainer.rows import fit_rows, read_table
from shap_asv.explanation import from_base, select_outputs, with_error
from shap_asv.models.calls import RowLoss
from shap_asv.models.readers import MODEL_OUTPUTS, choose_call, explained_call
from shap_asv.models.trees.form import made_of_trees
from shap_asv.planning import Plan

if TYPE_CHECKING:
    from shap_asv.explainer.asymmetric import AsymmetricExplainer

#: Orders whose first features say how often each comes first.
N_ORDERS = 4096
#: Name -> (whether all orders count, what nu(S) means; None for what the explainer is for).
METHODS: dict[str, tuple[bool, str | None]] = {
    "SHAP": (True, None),
    "ASV": (False, None),
    **{
        f"{values} {name}": (symmetric, values)
        for values in ("conditional", "causal", "marginal")
        for name, symmetric in (("SHAP", True), ("ASV", False))
    },
}
#: What ``values=`` says of an explainer that conditions, where its background can.
GIVEN_WHAT_IS_KNOWN = ("auto", "conditional")


def compare_methods(
    explainer: "AsymmetricExplainer",
    X: Any,
    methods: Sequence[str] | None,
    call: dict[str, Any],
    announce: Callable[[str, Plan, float], None] | None = None,
) -> Comparison:
    """X by each of the methods; the explainer itself is used for those that it is.

    ``announce`` is told the name and the plan of each before its work begins, and the seconds that it takes together
    with its standard errors.
    """

    def begin(name: str, explaining: "AsymmetricExplainer") -> None:
        if announce is not None:
            plan = explaining.plan(X)
            announce(name, plan, plan.seconds * (2 if takes_some_rows(explaining) else 1))

    if announce is not None:
        explainer.plan(X)  # the features are known afterwards
        begin("ASV" if _is_natural(explainer) else f"{explainer.values} ASV", explainer)
    own = explainer(X, **call)  # what is wrong with X is said once
    mean = _mean_of_table(explainer, call.get("outputs"))
    exact = mean is not None or own.error_std is None
    explanations, words, plans, conditional, credit_error = {}, {}, {}, set(), {}
    for side in _sides(explainer, methods, call):
        explanation = own
        if side.explainer is not explainer:
            begin(side.name, side.explainer)
            explanation = side.explainer(X, **call)
        execution = side.explainer._known_execution()
        if side.same_mean:
            base = own.base_values if mean is None else mean
            explanation = from_base(explanation, base, _first_features(execution.problem), exact)
        explanations[side.name] = explanation
        background = execution.problem.background
        words[side.name] = background.describe()
        if side.stands_in:
            words[side.name] += f", fitted to {side.stands_in}; that of ASV cannot condition on every set"
            if side.same_mean:
                words[side.name] += f"; the mean prediction is that of {'ASV' if mean is None else 'the table'}"
        plan = execution.last_plan
        plans[side.name] = str(plan)
        if plan is not None and plan.exact and explanation.error_std is not None:
            words[side.name] += ", which is sampled"
        of_rows = measure_row_errors(side.explainer, X, explanation.values, call.get("outputs"))
        if of_rows is not None:
            words[side.name] += f", of the {of_rows.n_table:,} of the table; errors are those of having taken some"
            credit_error[side.name] = of_rows.credit
            if explanation.error_std is not None:  # orders are sampled, too
                credit_error[side.name] = np.hypot(of_rows.credit, explanation.error_std.mean(axis=0))
            explanations[side.name] = with_error(explanation, of_rows.values)
        if side.explainer.values in GIVEN_WHAT_IS_KNOWN and background.dependent:
            conditional.add(side.name)
    return Comparison(explanations, explainer.causal_order, words, plans, conditional, credit_error)


def plan_methods(
    explainer: "AsymmetricExplainer", X: Any, methods: Sequence[str] | None = None, silent: bool = False
) -> dict[str, Plan]:
    """The plan of each method, as ``compare`` would carry it out; what a method needs fitted is fitted for it."""
    explainer.plan(X)  # the features are known afterwards
    return {side.name: side.explainer.plan(X) for side in _sides(explainer, methods, {"silent": silent})}


def _mean_of_table(explainer: "AsymmetricExplainer", outputs: Any) -> np.ndarray | None:
    """The mean prediction over the table behind the distribution, (k,) or a number; None without a table.

    A link and losses of targets have no mean of the kind.
    """
    problem = explainer._known_execution().problem
    link = problem.link is not None or isinstance(problem.predictor.call.then, RowLoss)
    if explainer._table is None or link:
        return None
    rows = fit_rows(problem, read_table(explainer._table), encoded=False)
    mean = problem.predictor.predict(rows).mean(axis=0, keepdims=True)
    (chosen,), _, single = select_outputs([mean], problem.predictor.output_names, outputs)
    return np.asarray(chosen[0, 0] if single else chosen[0])


def _first_features(problem: Problem) -> np.ndarray:
    """The probability of each player to be the first of an order, (p,)."""
    if not problem.order.edges:
        return np.full(problem.n_players, 1 / problem.n_players)
    drawn = problem.order.sample_topological_orders(N_ORDERS, seed=0)
    return np.bincount(drawn[:, 0], minlength=problem.n_players) / N_ORDERS


class Side(NamedTuple):
    """One method of a comparison: its name and explainer, whether it takes its mean prediction from the explainer that
    compares, and what its background is fitted to where it stands in for one that cannot condition on every set.
    """

    name: str
    explainer: "AsymmetricExplainer"
    same_mean: bool
    stands_in: str | None


def _sides(explainer: "AsymmetricExplainer", methods: Sequence[str] | None, call: dict[str, Any]) -> Iterator[Side]:
    """Each of the methods; the explainer itself is used for those that it is."""
    by_values = {explainer.values: explainer}
    over_rows = isinstance(explainer._known_execution().problem.background, MaskedInputs)
    for name, method in _read_methods(methods, explainer).items():
        if not isinstance(method, str):
            yield _under_graph(explainer, name, method, bool(call.get("silent")))
            continue
        symmetric, values = METHODS[method]
        if values is None:
            values = explainer.values if _is_natural(explainer) else "conditional"
        if values not in by_values:
            by_values[values] = _with_values(explainer, values)
        base = by_values[values]
        other = None
        if symmetric and base.values != "causal":
            other = base._any_set_background(base._known_execution().problem, bool(call.get("silent")))
        found = base
        if other is not None:
            order = edgeless_order(base._known_execution().problem.names, levels_of(base.causal_graph))
            found = base._derived(masker=other.background, causal_graph=order)
        elif symmetric:
            found = base.symmetric()
        same_mean = base is explainer or not (over_rows or "marginal" in (values, explainer.values))
        yield Side(name, found, same_mean, None if other is None else other.fitted_to)


def _under_graph(explainer: "AsymmetricExplainer", name: str, graph: Any, silent: bool) -> Side:
    """The values of another causal graph, over a background that can condition on what it asks for."""
    try:
        return Side(name, explainer._derived(causal_graph=graph), True, None)
    except MethodNotApplicableError:
        other = explainer._any_set_background(explainer._known_execution().problem, silent)
        if other is None:
            raise
    return Side(name, explainer._derived(masker=other.background, causal_graph=graph), True, other.fitted_to)


def _read_methods(methods: Any, explainer: "AsymmetricExplainer") -> dict[str, Any]:
    """Name -> one of the methods, or a causal graph."""
    if isinstance(methods, Mapping) and methods:
        for method in methods.values():
            if isinstance(method, str):
                _listed_methods(method, explainer)
        return {str(name): method for name, method in methods.items()}
    return {name: name for name in _listed_methods(methods, explainer)}


def _listed_methods(methods: Any, explainer: "AsymmetricExplainer") -> list[str]:
    if methods is None:
        if explainer._table is not None and explainer.values in GIVEN_WHAT_IS_KNOWN:
            return ["marginal SHAP", "ASV"]
        word = "" if _is_natural(explainer) else f"{explainer.values} "
        return [f"{word}SHAP", f"{word}ASV"]
    if isinstance(methods, str):
        methods = [methods]
    try:
        asked = list(methods)
    except TypeError:
        raise UnknownMethodError(f"methods={methods!r:.80} must be a list of names: {_listed()}") from None
    if not asked:
        raise UnknownMethodError(f"methods=[] names no method; choose among {_listed()}")
    for name in asked:
        if not isinstance(name, str) or name not in METHODS:
            near = nearest(name, METHODS)
            hint = "the methods are" if near is None else f"did you mean {near!r}? The methods are"
            raise UnknownMethodError(f"unknown method {name!r:.80}; {hint} {_listed()}")
        if asked.count(name) > 1:
            raise UnknownMethodError(f"method {name!r} is named twice")
    return asked


def _listed() -> str:
    return ", ".join(map(repr, METHODS))


def _is_natural(explainer: "AsymmetricExplainer") -> bool:
    """Whether nu(S) means what the background is for: conditional, or marginal over background rows."""
    background = explainer._known_execution().problem.background
    return explainer.values in GIVEN_WHAT_IS_KNOWN or isinstance(background, MaskedInputs)


def _with_values(explainer: "AsymmetricExplainer", values: str) -> "AsymmetricExplainer":
    """The same model, graph and background where nu(S) means something else."""
    changes = {"values": values, **_explained_output(explainer)}
    # a table stands behind what was fitted to it, or has still to be fitted; as it is, it gives shap's marginal values.
    # Along a DAG one fit is for both meanings; else which one is good depends on what is asked of it.
    along_dag = isinstance(explainer.masker, StructuralModel)
    if values == "marginal" or not along_dag:
        changes["masker"] = explainer._given
    return explainer._derived(**changes)


def _explained_output(explainer: "AsymmetricExplainer") -> dict[str, Any]:
    """The arguments that ask for the output that ``model_output="auto"`` is to this explainer, over any background."""
    model, word = explainer.model, explainer._words["model_output"]
    if word != "auto" or not hasattr(model, "predict"):
        return {}
    over_rows = isinstance(explainer._known_execution().problem.background, MaskedInputs)
    call = explained_call(model, word) if over_rows and made_of_trees(model) else choose_call(model, word)
    if call.method == "predict_proba":  # all classes: over rows "probability" of two boosted classes is one output
        return {"model_output": call.method}
    if call.quantity in MODEL_OUTPUTS:
        return {"model_output": call.quantity}
    return {"model": model.predict} if call.method == "predict" else {}  # a bound method is taken at its word
