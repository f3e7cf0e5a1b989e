"""Rows that do not fit the features."""

import numpy as np
import pandas as pd
import scipy.sparse

from shap_asv import AsymmetricExplainer
from shap_asv.errors import ImpossibleEvidenceError, ModelError, RowsError, UnknownStateError
from tests.explainer.bad_input.setting import Bad, Bomb, constant, first


def explain(rows):
    """The explainer that works, on ``rows(X)``."""
    return lambda c: c.good(rows(c.X))


def cell(value):
    """One row whose values are all ``value``."""
    return lambda c: c.good(pd.DataFrame([[value] * 7], columns=c.names))


def endless():
    rows = []
    rows.append(rows)
    return rows


def over_named_matrix(columns):
    def action(c):
        background = pd.DataFrame(c.matrix, columns=["age", "income", "height"])
        return AsymmetricExplainer(lambda table: table["age"], background)(pd.DataFrame(c.matrix, columns=columns))

    return action


ROWS = {
    "none": Bad(explain(lambda X: None), RowsError, "X is a NoneType, not a table"),
    "an object": Bad(explain(lambda X: object()), RowsError, "X is a object, not a table"),
    "it raises": Bad(explain(lambda X: Bomb()), RowsError, "not a table: RuntimeError: boom"),
    "a list that holds itself": Bad(explain(lambda X: endless()), RowsError, "X is not a table: ValueError"),
    "no rows": Bad(explain(lambda X: X[:0]), RowsError, "no rows"),
    "empty list": Bad(explain(lambda X: []), RowsError, "no rows"),
    "empty dict": Bad(explain(lambda X: {}), RowsError, "no columns"),
    "no columns": Bad(explain(lambda X: X[[]]), RowsError, "no columns"),
    "array without columns": Bad(explain(lambda X: np.zeros((2, 0))), RowsError, "no columns"),
    "three dimensions": Bad(explain(lambda X: np.zeros((2, 2, 2))), RowsError, "3 dimensions"),
    "too few columns": Bad(explain(lambda X: [["yes", "no"]]), RowsError, r"shape \(1, 2\) do not fit 7 features"),
    "rows of different lengths": Bad(explain(lambda X: [["yes", "no"], ["yes"]]), RowsError, "different lengths"),
    "columns of different lengths": Bad(
        explain(lambda X: {name: ["yes"] * (i + 1) for i, name in enumerate(X)}),
        RowsError,
        "not a table: .* same length",
    ),
    "dicts of different keys": Bad(explain(lambda X: [{"asia": "yes"}, {"smoke": "no"}]), RowsError, "no column 'tub'"),
    "column too many": Bad(explain(lambda X: X.assign(foo=1)), RowsError, "the column 'foo', which is not a feature"),
    "column twice": Bad(explain(lambda X: pd.concat([X, X[["smoke"]]], axis=1)), RowsError, "'smoke' twice"),
    "index twice": Bad(
        explain(lambda X: pd.Series(["yes"] * 8, index=[*X.columns, "asia"])), RowsError, "'asia' twice"
    ),
    "unknown state": Bad(
        explain(lambda X: X.assign(smoke="maybe")),
        UnknownStateError,
        "row 0: 'maybe' is not a state of feature 'smoke'; known states: 'yes', 'no'",
    ),
    "NaN": Bad(cell(np.nan), RowsError, "no value .NaN. for feature 'asia'"),
    "no time": Bad(cell(pd.NaT), RowsError, "no value .NaN. for feature 'asia'"),
    "list in a cell": Bad(cell(["yes"]), RowsError, "cannot be a state"),
    "array in a cell": Bad(cell(np.array([1, 2])), RowsError, "cannot be a state"),
    "sparse matrix of numbers": Bad(
        explain(lambda X: scipy.sparse.csr_array(np.ones((1, 7)))), UnknownStateError, "1.0 is not a state"
    ),
    "masked values": Bad(
        explain(lambda X: np.ma.masked_array(X[:1].to_numpy(), mask=True)), RowsError, "masked values"
    ),
    "structured array": Bad(explain(lambda X: np.zeros(2, dtype=[("asia", int)])), RowsError, "do not fit 7 features"),
    "impossible row": Bad(
        explain(lambda X: X[:1].assign(lung="yes", either="no")),
        ImpossibleEvidenceError,
        "row 0 is impossible.*lung='yes', either='no'",
    ),
    "nobody names the features": Bad(
        lambda c: AsymmetricExplainer(constant, c.network)(c.X[:2].to_numpy()), RowsError, "pass feature_names="
    ),
    "column outside of the network": Bad(
        lambda c: AsymmetricExplainer(constant, c.network)(c.X.assign(foo=1)), RowsError, "'foo' of X is not a node"
    ),
    "explain_row without a row": Bad(lambda c: c.good.explain_row(), RowsError, "takes the row to explain"),
    "explain_row of one value": Bad(lambda c: c.good.explain_row(["yes"]), RowsError, "do not fit 7 features"),
    "matrix: too wide": Bad(
        lambda c: c.over_matrix(first)(np.zeros((2, 4))), RowsError, "X has 4 columns, the background has 3"
    ),
    "matrix: NaN": Bad(lambda c: c.over_matrix(first)([[np.nan, 1.0, 1.0]]), ModelError, "returned nan"),
    "matrix: None": Bad(lambda c: c.over_matrix(first)([[None, 1, 2]]), ModelError, "returned nan"),
    "matrix: words": Bad(lambda c: c.over_matrix(first)([["a", "b", "c"]]), ModelError, "returned labels"),
    "matrix: objects": Bad(
        lambda c: c.over_matrix(first)(np.array([[object(), 1, 2]])), ModelError, "no array of numbers"
    ),
    "matrix: other columns": Bad(over_named_matrix(["x", "y", "z"]), RowsError, "no column 'age'"),
    "matrix: column too many": Bad(
        lambda c: AsymmetricExplainer(constant, pd.DataFrame({"a": [0, 1]}))(pd.DataFrame({"a": [0], "b": [0]})),
        RowsError,
        "have the column 'b', which is not a feature",
    ),
}
