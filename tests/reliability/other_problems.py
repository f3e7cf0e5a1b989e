"""More ways to make problems for plans: other libraries, black boxes, a few features only, tables to be fitted."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.base import is_regressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.svm import SVR
from xgboost import XGBRegressor

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from shap_asv.backgrounds.pgmpy_networks import read_network
from tests.reliability.problems import Case, Numbers, fitted_to, table_of

# --- models ---------------------------------------------------------------------------------------------------------


def xgboost() -> XGBRegressor:
    return XGBRegressor(n_estimators=60, max_depth=4, n_jobs=1, random_state=0)


def lightgbm() -> LGBMRegressor:
    return LGBMRegressor(n_estimators=50, num_leaves=15, n_jobs=1, random_state=0, verbose=-1)


def catboost() -> CatBoostRegressor:
    return CatBoostRegressor(
        iterations=40, depth=4, thread_count=1, random_seed=0, verbose=False, allow_writing_files=False
    )


def extra_trees() -> ExtraTreesClassifier:
    return ExtraTreesClassifier(30, max_depth=7, random_state=0)


def extra_trees_of_numbers() -> ExtraTreesRegressor:
    return ExtraTreesRegressor(60, max_depth=9, random_state=0)


def neighbours() -> KNeighborsRegressor:
    return KNeighborsRegressor(10)


def support_vectors() -> SVR:
    return SVR()


def wide_neurons() -> MLPRegressor:
    """A layer of which a batch of rows takes far more memory than the rows do."""
    return MLPRegressor(hidden_layer_sizes=(300,), max_iter=5, random_state=0)


def labels_alike(table: Any) -> np.ndarray:
    """A black box of labels: how many of them are the most frequent one of their row."""
    labels = np.asarray(table, dtype=object)
    return np.array([max((row == label).sum() for label in row) for row in labels], dtype=float)


def polynomial(table: Any) -> np.ndarray:
    """A black box of numbers, with some arrays of its own."""
    matrix = np.asarray(table, dtype=float)
    products = matrix[:, :, None] * matrix[:, None, :]
    return np.tanh(products.sum(axis=2)).sum(axis=1)


# --- networks -------------------------------------------------------------------------------------------------------


@cache
def _trained(name: str, target: str, model: Callable[[], Any], only: tuple[str, ...]) -> tuple[Any, Any]:
    network = load_network(name)
    train = sample_rows(network, 1500, seed=3)
    known = read_network(network)
    states = dict(zip(known.names, known.states, strict=True))
    names = list(only) or [column for column in train.columns if column != target]
    asked = train[target]
    if is_regressor(model()):
        asked = asked.map({label: code for code, label in enumerate(states[target])}).astype(float)
    coder = OneHotEncoder if model in (neighbours, support_vectors, wide_neurons) else OrdinalEncoder
    encoder = coder(categories=[list(states[column]) for column in names])
    return network, make_pipeline(encoder, model()).fit(train[names], asked)


def among(
    name: str,
    target: str,
    model: Callable[..., Any],
    n_rows: int,
    only: Sequence[str] = (),
    turned: tuple[str, str] | None = None,
    **options: Any,
) -> Case:
    """A model on an example network, of all nodes but the target, or of some ``only``: the others are latent.

    With ``turned``, an edge, the causal graph is uncertain: the network's, or the same with that edge turned round.
    """

    def make(**more: Any) -> AsymmetricExplainer:
        if turned is not None:
            edges = [edge for edge in load_network(name).edges() if target not in edge]
            more["causal_graph"] = [edges, [edge[::-1] if edge == turned else edge for edge in edges]]
        if model is labels_alike:
            network = load_network(name)
            names = list(only) or [node for node in network.nodes() if node != target]
            return AsymmetricExplainer(model, network, feature_names=names, **more)
        network, fitted = _trained(name, target, model, tuple(only))
        return AsymmetricExplainer(fitted, network, **more)

    def rows(n: int) -> pd.DataFrame:
        drawn = sample_rows(load_network(name), n, seed=4).drop(columns=target)
        return drawn[list(only)] if only else drawn

    return Case(make, rows, n_rows, options)


# --- tables ---------------------------------------------------------------------------------------------------------

FOURTH = Numbers((("x0", "x1"), ("x0", "x2"), ("x1", "x3"), ("x2", "x4"), ("x3", "x5")), 0.6, 400)
FIFTH = Numbers(tuple((f"x{max(0, v - 2)}", f"x{v}") for v in range(1, 11)), 0.5, 900)
SMALL = Numbers((("x0", "x1"), ("x1", "x2"), ("x1", "x3"), ("x3", "x4")), 0.8, 250)


def to_table(model: Callable[..., Any], n_rows: int, numbers: Numbers, graph: Any, **options: Any) -> Case:
    """A model of numbers under whatever ``values="conditional"`` fits to the table."""

    def make(**more: Any) -> AsymmetricExplainer:
        chosen = model if model is polynomial else fitted_to(numbers, model)
        return AsymmetricExplainer(
            chosen, table_of(numbers), graph, values="conditional", feature_names=numbers.names, silent=True, **more
        )

    return Case(make, lambda n: table_of(numbers, n + 2000)[-n:], n_rows, options)
