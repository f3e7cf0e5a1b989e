"""One case of the property tests: which network, graph, encoder, model and rows, and what is asked beside values.

A case is a small record of words and numbers, drawn from its number (``kinds/asking.py``), which repeats it anywhere.
``tests/reliability/building.py`` makes the network, the model and the rows of it.
"""

from dataclasses import dataclass, fields

#: The words that each field may hold. A word that stands twice is drawn twice as often.
CHOICES: dict[str, tuple] = {
    "n_nodes": (1, 2, 3, 4, 4, 5, 5, 6),
    "n_latent": (0, 0, 0, 1, 1, 2),
    "max_states": (1, 2, 3, 3, 4),
    "zeros": (0.0, 0.0, 0.3),
    "shape": ("dag", "dag", "dag", "forest", "forest", "polytree", "chain", "complete", "edgeless"),
    "states": ("names", "digits", "integers", "floats", "booleans", "mixed"),
    "container": ("pgmpy", "pgmpy", "arrays"),
    "graph": (
        "own",
        "own",
        "own",
        "sparser",
        "denser",
        "contradicting",
        "unrelated",
        "edgeless",
        "levels",
        "extra nodes",
        "missing nodes",
        "orders",
        "weighted orders",
    ),
    "graph_form": ("digraph", "edges", "order", "pgmpy"),
    "encoder": ("ordinal", "one-hot", "columns", "mapping", "none"),
    "model": (
        "callable",
        "callable of many outputs",
        "constant callable",
        "tree",
        "tree classifier",
        "tree of many outputs",
        "forest",
        "forest classifier",
        "extra trees",
        "boosting",
        "boosting classifier",
        "histogram boosting",
        "histogram boosting classifier",
        "xgboost",
        "xgboost classifier",
        "lightgbm",
        "lightgbm classifier",
        "linear",
        "logistic",
        "neighbours",
    ),
    "model_output": ("auto", "auto", "raw"),
    "rows": ("frame", "frame", "array", "permuted", "duplicated", "single", "list", "dictionaries"),
    "names": ("given", "given", "found"),
    "also": (
        "nothing",
        "every backend",
        "every backend",
        "symmetric",
        "comparison",
        "main effects",
        "outputs",
        "logit",
        "sampled orders",
        "monte carlo",
        "saved",
        "causal",
        "marginal",
        "effects",
        "matrix",
        "matrix",
        "groups",
        "groups",
        "groups",
        "sensitivity",
        "importance",
    ),
}


@dataclass(frozen=True)
class Case:
    """What is tried; ``seed`` fixes every number (tables, fitted models, rows) that the words leave open."""

    seed: int
    n_nodes: int
    n_latent: int
    max_states: int
    zeros: float
    shape: str
    states: str
    container: str
    graph: str
    graph_form: str
    encoder: str
    model: str
    model_output: str
    rows: str
    names: str
    also: str


assert [field.name for field in fields(Case)] == ["seed", *CHOICES]
