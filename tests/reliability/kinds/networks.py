"""Discrete networks: the words are in ``cases.py``, what is built of them in ``building.py``, and what has to hold in
``properties.py``."""

from tests.reliability.cases import CHOICES, Case
from tests.reliability.kinds.contract import Kind
from tests.reliability.properties import check


def _note() -> str:
    nodes, states = CHOICES["n_nodes"], CHOICES["max_states"]
    models, forms = (len(set(CHOICES[name])) for name in ("model", "rows"))
    return (
        f"a random network ({min(nodes)} to {max(nodes)} nodes, {min(states)} to {max(states)} states, up to "
        "3 parents, latent nodes, zeros), a causal graph (the network's, sparser, denser, contradicting, unrelated, "
        "with nodes too many or too few, levels, explicit orders), an encoder, "
        f"one of {models} kinds of model and rows in one of {forms} forms; beside the values it asks "
        "for one thing more: every exact backend by name, `symmetric()`, `compare`, main effects, a choice of outputs, "
        "the logit link, sampled orders, Monte Carlo, `save` and `load`, impossible rows, causal and marginal values, "
        "direct effects, or a matrix background beside `shap.ExactExplainer`. A third of the cases forces the compiled "
        "kernels that otherwise wait for large problems. The oracle enumerates all orders and the full (or mutilated) "
        "joint distribution. Agreement is asked to 1e-9 of the largest output, 3e-6 for XGBoost, which adds up in "
        "float32."
    )


NETWORKS = Kind("discrete networks", 10, CHOICES, check, _note(), make=Case)
