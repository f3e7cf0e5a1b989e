"""Several methods on the same model, background and rows: SHAP, ASV, and both with other values, by their names.

A method is a set of orders (all of them: SHAP; those that follow the causal graph: ASV) and a meaning of nu(S)
(:mod:`~shap_asv.explainer.problem`). Without an adjective nu(S) is what the background is for: conditional on
what is known, or shap's marginal over background rows. An explainer of causal values is compared as "causal SHAP" and
"causal ASV", of marginal ones of a fitted distribution as "marginal SHAP" and "marginal ASV".

All methods explain the same output of the model, and those that condition or intervene on the explainer's distribution
start from its mean prediction. SHAP's own may differ: its draws are others, or it stands on a distribution that was
fitted to draws from the explainer's. Every distribution can say what is to be expected given nothing, so the fit is not
needed for that.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shap_asv.backgrounds.contract import MaskedInputs
from shap_asv.backgrounds.ready_models import StructuralModel
from shap_asv.comparison import Comparison
from shap_asv.errors import UnknownMethodError, nearest
from shap_asv.explainer.causes import edgeless_order, levels_of
from shap_asv.explanation import from_base
from shap_asv.models.readers import MODEL_OUTPUTS, choose_call, explained_call
from shap_asv.models.trees.form import made_of_trees
from shap_asv.planning import Plan

if TYPE_CHECKING:
    from shap_asv.explainer.asymmetric import AsymmetricExplainer

SAME_MEAN = "; the mean prediction is that of ASV"
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
    explainer: "AsymmetricExplainer", X: Any, methods: Sequence[str] | None, call: dict[str, Any]
) -> Comparison:
    """X by each of the methods; the explainer itself is used for those that it is."""
    own = explainer(X, **call)  # the features are known afterwards, and what is wrong with X is said once
    explanations, words, plans, conditional = {}, {}, {}, set()
    for side in _sides(explainer, methods, call):
        explanation = own if side.explainer is explainer else side.explainer(X, **call)
        explanations[side.name] = from_base(explanation, own) if side.same_mean else explanation
        execution = side.explainer._known_execution()
        background = execution.problem.background
        words[side.name] = background.describe()
        if side.stands_in:
            words[side.name] += f", fitted to {side.stands_in}; that of ASV cannot condition on every set"
            words[side.name] += SAME_MEAN if side.same_mean else ""
        plans[side.name] = str(execution.last_plan)
        if side.explainer.values in GIVEN_WHAT_IS_KNOWN and background.dependent:
            conditional.add(side.name)
    return Comparison(explanations, explainer.causal_order, words, plans, conditional)


def plan_methods(
    explainer: "AsymmetricExplainer", X: Any, methods: Sequence[str] | None = None, silent: bool = False
) -> dict[str, Plan]:
    """The plan of each method, as ``compare`` would carry it out; what a method needs fitted is fitted for it."""
    explainer.plan(X)  # the features are known afterwards
    return {side.name: side.explainer.plan(X) for side in _sides(explainer, methods, {"silent": silent})}


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
    for name in _read_methods(methods, explainer):
        symmetric, values = METHODS[name]
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
            found = base._derived(masker=other.background, causal_graph=order, orders=None, weights=None)
        elif symmetric:
            found = base.symmetric()
        same_mean = base is explainer or not (over_rows or "marginal" in (values, explainer.values))
        yield Side(name, found, symmetric and same_mean, None if other is None else other.fitted_to)


def _read_methods(methods: Any, explainer: "AsymmetricExplainer") -> list[str]:
    if methods is None:
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
    if call.quantity in MODEL_OUTPUTS:
        return {"model_output": call.quantity}
    return {"model": model.predict} if call.method == "predict" else {}  # a bound method is taken at its word
