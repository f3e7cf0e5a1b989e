"""Distributions of tables that cannot be made, drawn from or scored."""

import numpy as np
import pandas as pd

from shap_asv import (
    ConditionalMasker,
    ConditionalTable,
    CopulaModel,
    GaussianModel,
    StructuralModel,
    fit_network,
    score_background,
)
from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    MechanismError,
    MethodNotApplicableError,
    ModelError,
    NetworkError,
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
    "Gaussian: mean 2d": Bad(
        lambda c: GaussianModel([[0, 0]], np.eye(2)), TableError, r"2 variables need a mean of shape \(2,\) and a"
    ),
    "Gaussian: names int": Bad(
        lambda c: GaussianModel([0, 0], np.eye(2), 5), ArgumentError, "names=5 is not a list; pass the names of the"
    ),
    "Gaussian: features empty": Bad(
        lambda c: GaussianModel([0, 0], np.eye(2), ["a", "b"], features=[]),
        UnknownFeatureError,
        r"features \[\]: none is named; the variables are",
    ),
    "Gaussian: complex": Bad(
        lambda c: GaussianModel([0, 1j], np.eye(2)), TableError, "a mean and a covariance are arrays of"
    ),
    "Gaussian: empty": Bad(
        lambda c: GaussianModel([], np.zeros((0, 0))),
        UnknownFeatureError,
        r"features \[\]: none is named; the variables are ",
    ),
    "Gaussian: fit empty": Bad(
        lambda c: GaussianModel.fit(TABLE[:0]), TableError, "the table has 0 rows and 2 columns; at least"
    ),
    "Gaussian: fit no columns": Bad(
        lambda c: GaussianModel.fit(TABLE[[]]), TableError, "the table has 10 rows and 0 columns; at least"
    ),
    "Gaussian: fit inf": Bad(
        lambda c: GaussianModel.fit(TABLE.assign(a=np.inf)), RowsError, "column 'a', row 0: inf is an infinity, which"
    ),
    "Gaussian: fit shrink str": Bad(
        lambda c: GaussianModel.fit(TABLE, shrinkage="x"), TableError, r"shrinkage='x' is not a number from 0 \(none\)"
    ),
    "Gaussian: draws u nan": Bad(
        lambda c: PAIR.draws(np.full((1, 2), np.nan), np.full((2, 2), np.nan)),
        ArgumentError,
        r"uniform numbers lie in \[0, 1\)",
    ),
    "Gaussian: means str": Bad(lambda c: PAIR.means("x"), RowsError, "evidence is an array of numbers, not 'x'"),
    "Gaussian: cov shape": Bad(
        lambda c: PAIR.covariances(np.ones((1, 3), bool)), ArgumentError, r"coalitions of shape \(1, 3\) do not fit 2"
    ),
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
    "copula: shrink": Bad(
        lambda c: CopulaModel(TABLE, shrinkage=-1), TableError, r"shrinkage=-1 is not a number from 0 \(none\) to"
    ),
    "copula: draws": Bad(
        lambda c: CopulaModel(TABLE).draws(np.zeros((1, 5)), np.zeros((1, 2))),
        RowsError,
        r"evidence of shape \(1, 5\) does not fit 2",
    ),
    "donors: none": Bad(lambda c: ConditionalTable(None), TableError, "a table is a DataFrame or a 2-D array of"),
    "donors: seed": Bad(
        lambda c: ConditionalTable(TABLE, seed="x"), ArgumentError, "seed='x' is not a seed; pass a whole number"
    ),
    "donors: seed neg": Bad(
        lambda c: ConditionalTable(TABLE, seed=-1), ArgumentError, "seed=-1 is not a seed; pass a whole number >="
    ),
    "donors: adjust": Bad(
        lambda c: ConditionalTable(TABLE, adjust="no"), ArgumentError, "adjust='no' is neither True nor False"
    ),
    "donors: no columns": Bad(
        lambda c: ConditionalTable(TABLE[[]]), TableError, "the table has 10 rows and 0 columns; at least"
    ),
    "donors: weighted": Bad(
        lambda c: ConditionalTable(TABLE).weighted(np.zeros((1, 3))),
        RowsError,
        r"evidence of shape \(1, 3\) does not fit 2",
    ),
    "structural: mech none": Bad(
        lambda c: StructuralModel(EDGE, None), MechanismError, "mechanisms= is a dict from nodes to"
    ),
    "structural: like": Bad(lambda c: chain(like=3), TableError, "like= is a DataFrame with one column per"),
    "structural: like lacks": Bad(
        lambda c: chain(like=TABLE[["a"]]), TableError, "the table has no column for the node 'b'; it"
    ),
    "structural: n_noises int": Bad(
        lambda c: chain(n_noises=2), MechanismError, "n_noises= is a dict from nodes to numbers of"
    ),
    "structural: fit none": Bad(
        lambda c: StructuralModel.fit(None, EDGE), TableError, "a table is a DataFrame or a 2-D array of"
    ),
    "structural: fit mech": Bad(
        lambda c: StructuralModel.fit(TABLE, EDGE, mechanisms=7, silent=True),
        MechanismError,
        "the mechanism 7 for 'b', a number, is",
    ),
    "structural: fit mech for number a category one": Bad(
        lambda c: StructuralModel.fit(TABLE, EDGE, mechanisms={"b": "logistic"}, silent=True),
        MechanismError,
        "the mechanism 'logistic' for 'b', a number,",
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
    "structural: background twice": Bad(
        lambda c: chain().background(["a", "a"]), UnknownFeatureError, r"features=\['a', 'a'\]: one stands there twice"
    ),
    "structural: from_network": Bad(
        lambda c: StructuralModel.from_network(3), NetworkError, "a discrete Bayesian network of pgmpy is"
    ),
    "fitted network: none": Bad(
        lambda c: fit_network(None, EDGE), TableError, "a table is a DataFrame or a 2-D array of"
    ),
    "fitted network: graph none": Bad(
        lambda c: fit_network(TABLE, None), CausalGraphError, "a causal graph cannot be read from a"
    ),
    "fitted network: empty": Bad(
        lambda c: fit_network(TABLE[:0], EDGE), TableError, "the table has 0 rows and 2 columns; at least"
    ),
    "fitted network: smoothing str": Bad(
        lambda c: fit_network(TABLE, EDGE, smoothing="x"), ArgumentError, "smoothing='x' must be a finite number of"
    ),
    "fitted network: groups str": Bad(
        lambda c: fit_network(TABLE, EDGE, groups="x"), ArgumentError, "groups='x' must be a whole number from 2 to"
    ),
    "fitted network: bins list": Bad(
        lambda c: fit_network(TABLE, EDGE, bins=[1, 2]),
        ArgumentError,
        r"bins=\[1, 2\] is not understood; give a number",
    ),
    "fitted network: bins empty": Bad(
        lambda c: fit_network(TABLE, EDGE, bins={"a": []}),
        ArgumentError,
        r"bins= says \[\] for column 'a'; give a number",
    ),
    "fitted network: representatives": Bad(
        lambda c: fit_network(TABLE, EDGE).representatives(5),
        RowsError,
        r"rows of shape \(\) do not fit 2 features: 'a',",
    ),
    "fitted network: background": Bad(
        lambda c: fit_network(TABLE, EDGE).background(["z"]),
        UnknownFeatureError,
        "the network has no node called z; its nodes",
    ),
    "score: none": Bad(
        lambda c: score_background(None, model, TABLE), NetworkError, "masker cannot be None. Only trees that can be"
    ),
    "score: model": Bad(
        lambda c: score_background(PAIR, 5, TABLE), ModelError, "a model must be callable or have predict /"
    ),
    "score: data": Bad(
        lambda c: score_background(PAIR, model, None), RowsError, "X is a NoneType, not a table; pass a"
    ),
    "score: empty": Bad(
        lambda c: score_background(PAIR, model, TABLE[:0]), RowsError, "X has no rows; there is nothing to explain"
    ),
    "score: draws": Bad(
        lambda c: score_background(PAIR, model, TABLE, n_draws=0), ArgumentError, "n_draws=0 is not a positive integer"
    ),
    "score: graph": Bad(
        lambda c: score_background(PAIR, model, TABLE, graph=5),
        CausalGraphError,
        "a causal graph cannot be read from a int;",
    ),
    "score: seed": Bad(
        lambda c: score_background(PAIR, model, TABLE, seed="x"),
        ArgumentError,
        "seed='x' is not a seed; pass a whole number",
    ),
    "score: dict of junk": Bad(
        lambda c: score_background({"x": 5}, model, TABLE),
        NetworkError,
        "a background distribution cannot be read from",
    ),
    "score: cols": Bad(
        lambda c: score_background(PAIR, model, TABLE[["a"]]),
        RowsError,
        "the rows have no column 'b'; the features are",
    ),
    "masker: none": Bad(
        lambda c: ConditionalMasker(None), MethodNotApplicableError, "NoneType has no draws; give a background that"
    ),
    "masker: seed": Bad(
        lambda c: ConditionalMasker(PAIR, seed="x"), ArgumentError, "seed='x' is not a seed; pass a whole number"
    ),
    "masker: clustering": Bad(
        lambda c: ConditionalMasker(PAIR, clustering="nonsense"),
        ArgumentError,
        "clustering='nonsense' is not a metric of",
    ),
    "masker: clustering shape": Bad(
        lambda c: ConditionalMasker(PAIR, clustering=np.zeros((1, 2))),
        ArgumentError,
        r"a linkage matrix of 2 features has shape \(1,",
    ),
    "masker: call": Bad(
        lambda c: ConditionalMasker(PAIR, n_draws=4)(np.array([True]), np.zeros(2)),
        RowsError,
        r"a row of shape \(2,\) and a mask of shape \(1,\)",
    ),
    "masker: call row": Bad(
        lambda c: ConditionalMasker(PAIR, n_draws=4)(np.array([True, False]), np.zeros(5)),
        RowsError,
        r"a row of shape \(5,\) and a mask of shape \(2,\)",
    ),
    "masker: nan row": Bad(
        lambda c: ConditionalMasker(PAIR, n_draws=4)(np.array([True, False]), np.array([np.nan, 0])),
        RowsError,
        "column 'a', row 0: nan is missing, and the table",
    ),
}
