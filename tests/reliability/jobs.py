"""A job for each backend under each kind of background: an explainer, and as many rows as one likes.

Networks are random and models are quickly fitted, so that a job starts at once; how long it takes is a matter of rows.
A pair of a backend and a kind that nobody has made a job for gets one from what the tables declare.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel, sample_rows
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.registry import BackgroundKind, kind_of
from tests.declared import BACKEND_PAIRS, NETWORKS, as_table, explainer_for, pair_name, possible_rows
from tests.oracles.random_problems import random_edges, random_network

Job = Callable[..., AsymmetricExplainer]
ROWS = kind_of(np.zeros((1, 1)))


@cache
def network(kind: str, n: int) -> DiscreteNetwork:
    rng = np.random.default_rng(n)
    cards, parents, tables = random_network(rng, n, random_edges(rng, n, kind), max_parents=2, max_states=3)
    states = tuple(tuple(f"s{i}" for i in range(c)) for c in cards)
    return DiscreteNetwork(tuple(f"x{v}" for v in range(n)), states, tuple(parents), tuple(tables))


def target(frame: pd.DataFrame) -> np.ndarray:
    """Something that depends on every column."""
    codes = frame.to_numpy(dtype=object)
    weights = np.cos(np.arange(codes.shape[1]))
    return ((codes == "s1") * weights).sum(axis=1) + (codes[:, 0] == codes[:, -1])


@cache
def ensemble(kind: str, n: int, trees: int):
    X = sample_rows(network(kind, n), 500, seed=1)
    model = RandomForestRegressor(trees, max_depth=7 if trees > 2 else 4, random_state=0)
    return make_pipeline(OrdinalEncoder(), model).fit(X, target(X))


@cache
def linear(kind: str, n: int):
    X = sample_rows(network(kind, n), 500, seed=1)
    return make_pipeline(OneHotEncoder(), LinearRegression()).fit(X, target(X))


def wave(matrix: np.ndarray) -> np.ndarray:
    """A model of numbers."""
    return np.cos(matrix).sum(axis=1) * matrix[:, 0]


def _on(kind: str, n: int, algorithm: str, model: Callable[[str, int], object], **told) -> Job:
    """A model on a random network; black boxes do not say what their features are called."""
    return lambda **options: AsymmetricExplainer(
        model(kind, n),
        network(kind, n),
        algorithm=algorithm,
        **{"seed": 0, "feature_names": list(network(kind, n).names), **told, **options},
    )


def _trees(algorithm: str, kind: str, n: int, trees: int = 2) -> Job:
    return _on(kind, n, algorithm, partial(ensemble, trees=trees))


def _marginal(algorithm: str) -> Job:
    matrix = np.random.default_rng(2).integers(0, 3, size=(20, 6)).astype(float)
    return lambda **options: AsymmetricExplainer(wave, matrix, algorithm=algorithm, seed=0, **options)


@cache
def forest_of_numbers():
    X = pd.DataFrame(np.random.default_rng(4).normal(size=(1500, 8)), columns=[f"x{k}" for k in range(8)])
    return RandomForestRegressor(150, max_depth=9, random_state=0).fit(X, wave(X.to_numpy())), X


def _paths(algorithm: str, n_background: int) -> Job:
    """Trees without a network, so many and so deep that thousands of rows take a while."""

    def make(**options) -> AsymmetricExplainer:
        model, X = forest_of_numbers()
        ground = {"masker": X[:n_background], "values": "marginal"} if n_background else {}
        return AsymmetricExplainer(model, **{"algorithm": algorithm, "seed": 0, "n_orders": 20, **ground, **options})

    return make


def _moments(n: int = 240, **options) -> AsymmetricExplainer:
    """A linear model of a Gaussian walk, two steps to a level: hundreds of coalitions, a matrix each."""
    names, place = [f"x{k}" for k in range(n)], np.arange(1.0, n + 1)
    background = GaussianModel(np.zeros(n), np.minimum.outer(place, place), names)
    model = LinearRegression().fit(pd.DataFrame(np.eye(n), columns=names), place)
    levels = CausalOrder.from_levels([names[k : k + 2] for k in range(0, n, 2)])
    return AsymmetricExplainer(model, background, levels, **{"algorithm": "ideals x moments", "seed": 0, **options})


#: Tuned by hand: large enough to be interrupted and cut into blocks.
WALKS = ("ideals", "orders")
HAND_MADE: dict[BackgroundKind, dict[str, Job]] = {
    NETWORKS: {
        "forest": _trees("forest", "forest", 24, trees=30),
        "polytree": _trees("polytree", "polytree", 9),
        **{f"{walk} x {way}": _trees(f"{walk} x {way}", "dag", 10) for walk in WALKS for way in ("terms", "trees")},
        "ideals x closures": _trees("ideals x closures", "dag", 16, trees=10),
        "orders x closures": _trees("orders x closures", "dag", 10),
        **{f"{walk} x linear": _on("forest", 12, f"{walk} x linear", linear) for walk in WALKS},
        **{
            name: _on("forest", 12, name, lambda kind, n: target, n_draws=4)
            for name in (*(f"{walk} x table" for walk in WALKS), "monte_carlo")
        },
    },
    ROWS: {f"{walk} x marginal": _marginal(f"{walk} x marginal") for walk in WALKS},
}
BY_HAND: dict[str, Job] = {name: job for jobs in HAND_MADE.values() for name, job in jobs.items()}
#: All other pairs, made from what the tables declare.
DECLARED: dict[str, Job] = {
    pair_name((kind, backend)): partial(explainer_for, kind, backend)
    for kind, backend in BACKEND_PAIRS
    if backend.name not in HAND_MADE.get(kind, {})
}
JOBS: dict[str, Job] = {**BY_HAND, **DECLARED}


def _few() -> tuple[str, ...]:
    few: dict[object, str] = {}
    for kind, backend in BACKEND_PAIRS:
        name = backend.name if backend.name in HAND_MADE.get(kind, {}) else pair_name((kind, backend))
        if backend.name not in few:
            few[backend.name] = few[kind.name] = name
        few.setdefault(kind.name, name)
    return tuple(dict.fromkeys(few.values()))


#: Names of jobs, each backend and each kind of background among them: for every test run. All are for campaigns.
FEW = _few()
#: Every backend once, under the background that keeps it busy; the forests have so many trees that a compiled call on
#: all of them would take seconds.
LONG_JOBS: dict[str, Job] = {
    **BY_HAND,
    "forest": _trees("forest", "forest", 24, trees=800),
    **{
        pair_name((kind, backend)): partial(explainer_for, kind, backend)
        for kind, backend in BACKEND_PAIRS
        if backend.name not in BY_HAND
    },
    "ideals x moments, Gaussian": _moments,
    "ideals x moments, Gaussian, marginal": partial(_moments, values="marginal"),
    **{f"{name}, no background": _paths(name, 0) for name in ("paths", "orders x paths")},
    **{f"{name}, background rows": _paths(name, 50) for name in ("paths", "orders x paths")},
}


def depends_on_seed(explainer: AsymmetricExplainer) -> bool:
    """Whether something is sampled; the orders of a chain are not, because there is only one.

    A sum over features that are cut loose from one another gives each the same in every order.
    """
    backend, order = explainer.plan().backend, explainer.causal_order
    problem = explainer._known_execution().problem
    if getattr(problem.background, "loose", False) and problem.predictor.affine is not None:
        return False
    comparable = np.triu(order.ancestor_matrix | order.ancestor_matrix.T, 1).sum()
    several = comparable < order.n_features * (order.n_features - 1) // 2
    return backend.samples_values or (backend.samples_orders and bool(several))


def rows_for(explainer: AsymmetricExplainer, n_rows: int) -> pd.DataFrame | np.ndarray:
    """So many rows that the explainer can explain, all possible."""
    given = explainer.masker
    if isinstance(given, DiscreteNetwork):
        return sample_rows(given, n_rows, seed=3)
    background = explainer._known_execution().problem.background
    if kind_of(given) is ROWS and background.features[0] == "Feature 0":  # a matrix without names takes any numbers
        rng = np.random.default_rng(3)
        return rng.integers(0, 3, size=(n_rows, 6)).astype(float) + rng.random((n_rows, 1))
    return as_table(background, possible_rows(background, n_rows, seed=3))
