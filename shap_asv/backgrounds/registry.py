"""The table of backgrounds. A new kind of distribution is one new file and one row here.

``print`` the table's words in an error, read what the user hands in through it, and test every row: the contract
tests take a small example of each kind from here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.backgrounds import matrix
from shap_asv.backgrounds.choice.mixture import MixtureModel
from shap_asv.backgrounds.covers import CoverDistribution
from shap_asv.backgrounds.discrete import background as discrete
from shap_asv.backgrounds.discrete import fitted
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.donors.conditional_table import ConditionalTable
from shap_asv.backgrounds.gaussian.copula import CopulaModel
from shap_asv.backgrounds.gaussian.model import GaussianModel, is_gaussian, read_gaussian
from shap_asv.backgrounds.independent import IndependentColumns
from shap_asv.backgrounds.naming import Distribution
from shap_asv.backgrounds.one_hot import OneHotBackground
from shap_asv.backgrounds.structural.background import StructuralBackground
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.structural.model import StructuralModel, read_structural
from shap_asv.backgrounds.tables.border import read_table_background
from shap_asv.backgrounds.tables.codec import TableCodec


@dataclass(frozen=True)
class BackgroundKind:
    """A row of the table of backgrounds.

    Attributes
    ----------
    name : str
    recognises : callable (thing) -> bool
        Cheap, and without importing a library. Rows are asked in the order of the table.
    read : callable (given, masker) -> Distribution
        ``given`` is what the user handed in, ``masker`` what shap made of it.
    example : callable () -> thing
        A small one over the features x0, x1, x2, to be handed in; for the contract tests.
    """

    name: str
    recognises: Callable[[Any], bool]
    read: Callable[[Any, Any], Distribution]
    example: Callable[[], Any]


def _small_network() -> DiscreteNetwork:
    states = (("a", "b"), ("a", "b", "c"), ("a", "b"))
    tables = (
        np.array([0.3, 0.7]),
        np.array([[0.5, 0.1], [0.2, 0.3], [0.3, 0.6]]),
        np.array([[0.9, 0.4, 0.2], [0.1, 0.6, 0.8]]),
    )
    return DiscreteNetwork(("x0", "x1", "x2"), states, ((), (0,), (1,)), tables)


def _small_table() -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    first = rng.normal(size=40)
    return pd.DataFrame({"x0": first, "x1": first + rng.normal(size=40), "x2": rng.integers(0, 4, 40)})


def _small_structural() -> StructuralModel:
    graph = nx.DiGraph([("x0", "x1"), ("x1", "x2")])
    return StructuralModel.fit(_small_table(), graph, "linear", seed=0, silent=True)


def _small_fitted_network() -> fitted.FittedNetwork:
    table = _small_table().assign(x0=lambda t: t.x0.round(), x1=lambda t: np.where(t.x1 > 0.2, "high", "low"))
    codec = TableCodec.learn(table)
    return fitted.fit_tables(Dag.read([("x0", "x1"), ("x1", "x2")], codec.names), codec, codec.read(table), 1.0)


def _small_mixture(table: Any) -> MixtureModel:
    return MixtureModel([CopulaModel(table), ConditionalTable(table)], [0.25, 0.75])


def _of_table(name: str, kind: Any, make: Callable[[Any], Any] | None = None) -> BackgroundKind:
    """A class with the border of a table, whose objects are made from a table and handed in as they are."""
    example = kind if make is None else make
    return BackgroundKind(name, _is_a(kind), read_table_background, lambda: example(_small_table()))


def _is_a(kind: Any) -> Callable[[Any], bool]:
    return lambda thing: isinstance(thing, kind)


BACKGROUNDS: tuple[BackgroundKind, ...] = (
    BackgroundKind(
        "Gaussian",
        is_gaussian,
        read_gaussian,
        lambda: GaussianModel.fit(_small_table()[["x0", "x1"]].assign(x2=lambda t: t.x0 - t.x1**2)),
    ),
    BackgroundKind(
        "structural model",
        _is_a(StructuralModel | StructuralBackground),
        read_structural,
        _small_structural,
    ),
    _of_table("donors", ConditionalTable),
    _of_table("Gaussian copula", CopulaModel),
    BackgroundKind(  # members of a one-hot group are known together, unlike the features of an example
        "mixture",
        _is_a(MixtureModel | OneHotBackground),
        read_table_background,
        lambda: _small_mixture(_small_table()),
    ),
    BackgroundKind("fitted network", _is_a(fitted.FittedNetwork), fitted.read_fitted_network, _small_fitted_network),
    BackgroundKind("discrete network", discrete.is_discrete_network, discrete.read_discrete, _small_network),
    _of_table("independent columns", IndependentColumns),
    BackgroundKind("no background", lambda thing: thing is None, lambda *_: CoverDistribution(), lambda: None),
    BackgroundKind("background rows", lambda thing: True, matrix.read_matrix, _small_table),
)


def kind_of(masker: Any) -> BackgroundKind:
    """The first kind that recognises what was handed in; the last row takes what nobody else knows."""
    return next(kind for kind in BACKGROUNDS if kind.recognises(masker))
