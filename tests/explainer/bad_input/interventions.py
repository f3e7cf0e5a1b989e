"""Causal values of what knows nothing of causes, levels that do not exist, parts of values that have none."""

import shap

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel, compare
from shap_asv.errors import CausalGraphError, MethodNotApplicableError, UnknownMethodError
from tests.explainer.bad_input.setting import Bad, constant, first

PAIR = GaussianModel([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], ["a", "b"])
LEVELS = [["a"], ["b"]]


def by_levels(levels, confounded=(), background=PAIR):
    return AsymmetricExplainer(constant, background, CausalOrder.from_levels(levels, confounded), values="causal")


INTERVENTIONS = {
    "values is shap's word": Bad(
        lambda c: c.make(values="interventional"), UnknownMethodError, "values='marginal' here.*values='causal'"
    ),
    "values is misspelt": Bad(lambda c: c.make(values="Causal"), UnknownMethodError, "use values='conditional'"),
    "values is a list": Bad(lambda c: c.make(values=["causal"]), UnknownMethodError, "unknown values"),
    "confounded level past the end": Bad(
        lambda c: CausalOrder.from_levels(LEVELS, confounded=[0, 2]),
        CausalGraphError,
        "confounded=2 is not a level; there are 2, the positions are 0 to 1",
    ),
    "confounded is a number": Bad(
        lambda c: CausalOrder.from_levels(LEVELS, confounded=1), CausalGraphError, "must be a list of positions"
    ),
    "a network knows its own confounding": Bad(
        lambda c: c.make(causal_graph=CausalOrder.from_levels([c.names], confounded=[0]), values="causal"),
        CausalGraphError,
        "says itself what shares hidden causes",
    ),
    "a Gaussian knows nothing of causes": Bad(
        lambda c: AsymmetricExplainer(constant, PAIR, [("a", "b")], values="causal"),
        MethodNotApplicableError,
        r"does not say; pass causal_graph=CausalOrder.from_levels",
    ),
    "background rows are marginal": Bad(
        lambda c: AsymmetricExplainer(first, shap.maskers.Independent(c.matrix), values="causal"),
        UnknownMethodError,
        "values='causal' needs the table itself",
    ),
    "causal values without a background": Bad(
        lambda c: AsymmetricExplainer(c.numbers, values="causal"), UnknownMethodError, "needs a background"
    ),
    "effects of conditional values": Bad(
        lambda c: c.good.effects(c.X[:1]), MethodNotApplicableError, "these are conditional; make the explainer with"
    ),
    "a method that is not there": Bad(
        lambda c: compare(c.model, c.network, c.X[:1], methods=["SHAP", "causal"]),
        UnknownMethodError,
        r"unknown method 'causal'; did you mean 'causal ASV'\? The methods are 'SHAP', 'ASV'",
    ),
    "a method twice": Bad(
        lambda c: c.good.compare(c.X[:1], methods=["ASV", "ASV"]), UnknownMethodError, "'ASV' is named twice"
    ),
    "no methods": Bad(lambda c: c.good.compare(c.X[:1], methods=[]), UnknownMethodError, "names no method"),
}
