"""What the tables declare, for tests: every kind of background with an example, and what can be computed under it.

An example, or a row in the table of value methods or of backends, is enough to be tested: nothing in the tests that
take their cases from here knows a kind or a method by its name.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import shap
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from shap_asv import (
    AsymmetricExplainer,
    CausalOrder,
    ConditionalTable,
    CopulaModel,
    GaussianModel,
    StructuralModel,
    fit_network,
)
from shap_asv.backends.contract import Settings
from shap_asv.backends.registry import BACKENDS
from shap_asv.backgrounds.choice.mixture import MixtureModel
from shap_asv.backgrounds.contract import DRAWS, CutLoose, DrawsGivenEvidence, FiniteStates, KnowsInterventions
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.registry import kind_of
from shap_asv.explainer.problem import Arguments, assemble
from shap_asv.models.predictor import BLACK_BOX, ENSEMBLE
from shap_asv.orders.reading import Levels
from shap_asv.values.registry import VALUE_METHODS
from tests.independent import IndependentColumns

FEATURES = ("x0", "x1", "x2")
CHAIN = nx.DiGraph([("x0", "x1"), ("x1", "x2")])

# --- an example of each kind -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """``example()`` is a small background over x0, x1, x2, as a user hands it in."""

    name: str
    example: Callable[[], Any]


def small_network():
    states = (("a", "b"), ("a", "b", "c"), ("a", "b"))
    tables = (
        np.array([0.3, 0.7]),
        np.array([[0.5, 0.1], [0.2, 0.3], [0.3, 0.6]]),
        np.array([[0.9, 0.4, 0.2], [0.1, 0.6, 0.8]]),
    )
    return DiscreteNetwork(FEATURES, states, ((), (0,), (1,)), tables)


def small_table():
    rng = np.random.default_rng(0)
    first = rng.normal(size=40)
    return pd.DataFrame({"x0": first, "x1": first + rng.normal(size=40), "x2": rng.integers(0, 4, 40)})


def few_values():
    return small_table().assign(x0=lambda t: t.x0.round(), x1=lambda t: np.where(t.x1 > 0.2, "high", "low"))


BACKGROUNDS = (
    Kind("Gaussian", lambda: GaussianModel.fit(small_table()[["x0", "x1"]].assign(x2=lambda t: t.x0 - t.x1**2))),
    Kind("structural model", lambda: StructuralModel.fit(small_table(), CHAIN, "linear", seed=0, silent=True)),
    Kind("donors", lambda: ConditionalTable(small_table())),
    Kind("Gaussian copula", lambda: CopulaModel(small_table())),
    Kind("mixture", lambda: MixtureModel([CopulaModel(small_table()), ConditionalTable(small_table())], [0.25, 0.75])),
    Kind("fitted network", lambda: fit_network(few_values(), CHAIN)),
    Kind("discrete network", small_network),
    Kind("independent columns", lambda: IndependentColumns(small_table())),
    Kind("no background", lambda: None),
    Kind("background rows", small_table),
)

# --- backgrounds and their rows ---------------------------------------------------------------------------------


def read_distribution(given):
    """What the explainer reads, before it is known which variables are features."""
    masker = shap.maskers.Independent(given) if hasattr(given, "iloc") else given
    return kind_of(given).read(given, masker)


@cache
def example_background(kind):
    """A small background over x0, x1, x2 of the kind (a row of the table), as what is explained sees it."""
    if kind.name in MEANT:
        return example_problem(kind, any_form(kind)).background
    return read_distribution(kind.example()).background(FEATURES)


#: For kinds that are not conditional: ``values`` and ``causal_graph`` of an explainer, by the name of the kind.
MEANT = {}
WITHOUT_EDGES = CausalOrder(FEATURES, ((), (), ()))
LEVELS = CausalOrder(FEATURES, ((), (), ()), Levels((("x0", "x1"), ("x2",)), (0,)))


def other_meanings(kind):
    """The kind once more for each of the other things that ``values`` can ask of it, in an order of its own.

    All orders of the features count: their coalitions lack causes, so that nothing is computed as conditional.
    """
    background = example_background(kind)
    if isinstance(background, KnowsInterventions) and background.intervened() is not None:
        yield _meant(kind, "causal", WITHOUT_EDGES)
    elif isinstance(background, DrawsGivenEvidence) and isinstance(background, CutLoose):
        # in closed form; level by level each draw is a question, which takes too long here
        yield _meant(kind, "causal", LEVELS)
    # spread draws of states that are loose all miss by the same share of a stratum, and see no error: not comparable
    if isinstance(background, CutLoose) and not isinstance(background, FiniteStates):
        yield _meant(kind, "marginal", WITHOUT_EDGES)


def _meant(kind, values, graph):
    other = replace(kind, name=f"{kind.name}, {values}")
    MEANT[other.name] = {"values": values, "causal_graph": graph}
    return other


def coalitions_of(background):
    """All sets of features (m, n) that the background can condition on, the empty one first and the full one last."""
    n = len(background.features)
    sets = np.array(sorted(itertools.product([False, True], repeat=n), key=sum))
    if background.conditions_on == "any":
        return sets
    position = {name: i for i, name in enumerate(background.features)}
    needed = [
        (position[cause], position[name])
        for name in background.features
        for cause in background.graph.predecessors(name)
    ]
    return np.array([members for members in sets if all(members[cause] for cause, name in needed if members[name])])


def uniforms(background, n, seed=0):
    """Numbers (n, n_uniforms) for so many draws."""
    return np.random.default_rng(seed).random((n, background.n_uniforms))


def possible_rows(background, n, seed=0):
    """So many rows (n, features) of the background: drawn where it can be drawn from, else its own, mixed."""
    if DRAWS.obstacle(background) is None:
        nothing = np.full((1, len(background.features)), background.free)
        rows = background.draws(nothing, uniforms(background, n, seed))[0]
    else:
        own, rng = background.probe(), np.random.default_rng(seed)
        rows = np.stack([column[rng.integers(len(own), size=n)] for column in own.T], axis=1)
    background.check(rows)
    return rows


def as_table(background, rows):
    """The rows as a user would hand them in: a DataFrame of labels where there are states, else of model inputs."""
    if isinstance(background, FiniteStates):
        return pd.DataFrame(background.labels(rows), columns=list(background.features)).infer_objects()
    table = background.inputs(rows)
    return table if hasattr(table, "columns") else pd.DataFrame(table, columns=list(background.features))


@cache
def example_table(kind, n=200, seed=0):
    """So many rows of the kind's example, as a user would hand them in."""
    background = read_distribution(kind.example()).background(FEATURES)
    return as_table(background, possible_rows(background, n, seed))


# --- models -----------------------------------------------------------------------------------------------------


def numbers_of(table):
    """A table of anything as numbers (r, n); every value has its own, whatever stands beside it."""
    columns = []
    for column in table.T if isinstance(table, np.ndarray) else (table.iloc[:, j] for j in range(table.shape[1])):
        values = np.asarray(column)
        if values.dtype.kind not in "biuf":
            distinct, places = np.unique(values.astype(str), return_inverse=True)
            values = np.array([sum(map(ord, text)) % 7 for text in distinct], dtype=float)[places]
        columns.append(np.nan_to_num(values.astype(float), nan=-1.0))
    return np.stack(columns, axis=1)


def black_box(table):
    """A model with two outputs that mixes all columns."""
    x = numbers_of(table)
    return np.stack([np.cos(x @ np.arange(1, x.shape[1] + 1)) + x[:, 0], x.sum(axis=1) * np.tanh(x[:, -1])], axis=1)


@cache
def fitted(kinds, kind):
    """A fitted model that is one of ``kinds`` ("tree", "linear"), over the kind's example."""
    table = example_table(kind)
    trees = "tree" in kinds
    regressor = RandomForestRegressor(3, max_depth=3, random_state=0) if trees else LinearRegression()
    numeric = all(dtype.kind in "biuf" for dtype in table.dtypes)
    stages = [] if numeric else [OrdinalEncoder() if trees else OneHotEncoder()]
    return make_pipeline(*stages, regressor).fit(table, black_box(table)[:, 0])


def model_for(form, kind):
    """A model of the form that a value method reads: a function of the table, or a fitted estimator."""
    return fitted(form.kinds, kind) if form.kinds else black_box


@cache
def example_problem(kind, form):
    """Model, background and causal order as one problem; the order is the background's own."""
    arguments = Arguments(model_for(form, kind), **MEANT.get(kind.name, {}))
    return assemble(arguments, read_distribution(kind.example()), FEATURES)


# --- what goes together -----------------------------------------------------------------------------------------


def form_of(backend):
    """What a backend reads of a model: trees where it never writes values down."""
    return ENSEMBLE if backend.method is None else backend.method.reads


def any_form(kind):
    """A form that every background of the kind goes with: any model, or trees where they are the background."""
    return ENSEMBLE if read_distribution(kind.example()).of_model else BLACK_BOX


def methods_under(kind):
    """The value methods that the kind has what it takes for, whatever the model."""
    return [method for method in VALUE_METHODS if method.needs.obstacle(example_background(kind)) is None]


def backends_under(kind):
    """The backends that run on the kind's example, with its own order."""
    settings = Settings(n_orders=20, n_draws=20)
    some = [b for b in BACKENDS if any_form(kind) in (BLACK_BOX, form_of(b))]
    return [b for b in some if b.obstacle(example_problem(kind, form_of(b)), settings) is None]


def explainer_for(kind, backend, **options):
    """An explainer of the kind's example through the backend, with small samples and a seed."""
    options = {"n_orders": 20, "n_draws": 20, "seed": 0, **MEANT.get(kind.name, {}), **options}
    model = model_for(form_of(backend), kind)
    return AsymmetricExplainer(model, kind.example(), algorithm=backend.name, feature_names=list(FEATURES), **options)


NETWORKS = next(kind for kind in BACKGROUNDS if kind.name == "discrete network")
#: Every kind, and every kind once more for each other meaning of ``values`` that it has what it takes for.
KINDS = [*BACKGROUNDS, *(other for kind in BACKGROUNDS for other in other_meanings(kind))]
PAIRS = [(kind, method) for kind in KINDS for method in methods_under(kind)]
BACKEND_PAIRS = [(kind, backend) for kind in KINDS for backend in backends_under(kind)]


def pair_name(pair):
    """``method, kind`` for the ids of tests."""
    return f"{pair[1].name}, {pair[0].name}"
