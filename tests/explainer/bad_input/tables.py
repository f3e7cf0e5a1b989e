"""Distributions of tables that cannot be made, drawn from or scored."""

import numpy as np
import pandas as pd

from shap_asv import (
    ConditionalTable,
    CopulaModel,
    GaussianModel,
    StructuralModel,
    fit_network,
    score_background,
)
from shap_asv.errors import (
    ArgumentError,
    MechanismError,
    ModelError,
    RowsError,
    TableError,
    UnknownFeatureError,
)
from tests.explainer.bad_input.setting import Bad

TABLE = pd.DataFrame({"a": np.arange(10.0), "b": [1.0, 0, 2, 4, 3, 5, 7, 6, 9, 8]})
PAIR = GaussianModel([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], ["a", "b"])
EDGE = [("a", "b")]


def model(X):
    return np.asarray(X["a"], dtype=float)


def chain(**more):
    return StructuralModel(EDGE, {"a": lambda causes, u: u, "b": lambda causes, u: u}, **more)


TABLES = {
    "Gaussian: mean str": Bad(
        lambda c: GaussianModel("ab", [[1]]), TableError, "a mean and a covariance are arrays of"
    ),
    "Gaussian: mean none": Bad(
        lambda c: GaussianModel(None, None), TableError, r"1 variables need a mean of shape \(1,\) and a"
    ),
    "Gaussian: names int": Bad(
        lambda c: GaussianModel([0, 0], np.eye(2), 5), ArgumentError, "names=5 is not a list; pass the names of the"
    ),
    "Gaussian: fit empty": Bad(
        lambda c: GaussianModel.fit(TABLE[:0]), TableError, "the table has 0 rows and 2 columns; at least"
    ),
    "Gaussian: fit inf": Bad(
        lambda c: GaussianModel.fit(TABLE.assign(a=np.inf)), RowsError, "column 'a', row 0: inf is an infinity, which"
    ),
    "Gaussian: draws u nan": Bad(
        lambda c: PAIR.draws(np.full((1, 2), np.nan), np.full((2, 2), np.nan)),
        ArgumentError,
        r"uniform numbers lie in \[0, 1\)",
    ),
    "Gaussian: means str": Bad(lambda c: PAIR.means("x"), RowsError, "evidence is an array of numbers, not 'x'"),
    "copula: none": Bad(lambda c: CopulaModel(None), TableError, "a table is a DataFrame or a 2-D array of"),
    "copula: cat": Bad(
        lambda c: CopulaModel(TABLE.assign(c=list("xyxyxyxyxy"))),
        TableError,
        "column 'c' holds categories; a Gaussian is",
    ),
    "copula: one row": Bad(lambda c: CopulaModel(TABLE[:1]), TableError, "a covariance needs at least two rows, not 1"),
    "copula: nan": Bad(
        lambda c: CopulaModel(TABLE.assign(a=np.nan)), TableError, "column 'a' has missing values; a Gaussian"
    ),
    "copula: draws": Bad(
        lambda c: CopulaModel(TABLE).draws(np.zeros((1, 5)), np.zeros((1, 2))),
        RowsError,
        r"evidence of shape \(1, 5\) does not fit 2",
    ),
    "donors: seed": Bad(
        lambda c: ConditionalTable(TABLE, seed="x"), ArgumentError, "seed='x' is not a seed; pass a whole number"
    ),
    "donors: seed neg": Bad(
        lambda c: ConditionalTable(TABLE, seed=-1), ArgumentError, "seed=-1 is not a seed; pass a whole number >="
    ),
    "structural: mech none": Bad(
        lambda c: StructuralModel(EDGE, None), MechanismError, "mechanisms= is a dict from nodes to"
    ),
    "structural: like": Bad(lambda c: chain(like=3), TableError, "like= is a DataFrame with one column per"),
    "structural: like lacks": Bad(
        lambda c: chain(like=TABLE[["a"]]), TableError, "the table has no column for the node 'b'; it"
    ),
    "structural: fit mech": Bad(
        lambda c: StructuralModel.fit(TABLE, EDGE, mechanisms=7, silent=True),
        MechanismError,
        "the mechanism 7 for 'b', a number, is",
    ),
    "structural: fit seed neg": Bad(
        lambda c: StructuralModel.fit(TABLE, EDGE, seed=-2, silent=True),
        ArgumentError,
        "seed=-2 is not a seed; pass a whole number >=",
    ),
    "structural: sample neg": Bad(
        lambda c: chain().sample(-1), ArgumentError, "n=-1 is not a positive integer; pass a number"
    ),
    "structural: background": Bad(
        lambda c: chain().background(["z"]), UnknownFeatureError, "the table has no column 'z'; there are 'a',"
    ),
    "structural: background empty": Bad(
        lambda c: chain().background([]), UnknownFeatureError, r"features=\[\]: none is named"
    ),
    "fitted network: smoothing str": Bad(
        lambda c: fit_network(TABLE, EDGE, smoothing="x"), ArgumentError, "smoothing='x' must be a finite number of"
    ),
    "fitted network: background": Bad(
        lambda c: fit_network(TABLE, EDGE).background(["z"]),
        UnknownFeatureError,
        "the network has no node called z; its nodes",
    ),
    "score: model": Bad(
        lambda c: score_background(PAIR, 5, TABLE), ModelError, "a model must be callable or have predict /"
    ),
    "score: data": Bad(
        lambda c: score_background(PAIR, model, None), RowsError, "X is a NoneType, not a table; pass a"
    ),
    "score: draws": Bad(
        lambda c: score_background(PAIR, model, TABLE, n_draws=0), ArgumentError, "n_draws=0 is not a positive integer"
    ),
    "score: seed": Bad(
        lambda c: score_background(PAIR, model, TABLE, seed="x"),
        ArgumentError,
        "seed='x' is not a seed; pass a whole number",
    ),
    "score: cols": Bad(
        lambda c: score_background(PAIR, model, TABLE[["a"]]),
        RowsError,
        "the rows have no column 'b'; the features are",
    ),
}
