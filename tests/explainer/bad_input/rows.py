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
    "a word": Bad(explain(lambda X: "yes"), RowsError, "X is a str, not a table"),
    "bytes": Bad(explain(lambda X: b"yes"), RowsError, "X is a bytes, not a table"),
    "a number": Bad(explain(lambda X: 5), RowsError, "X is a int, not a table"),
    "a set": Bad(explain(lambda X: {"yes", "no"}), RowsError, "X is a set, not a table"),
    "a generator": Bad(explain(lambda X: (row for row in X.to_numpy())), RowsError, "X is a generator, not a table"),
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
    "too many columns": Bad(explain(lambda X: [["yes"] * 8]), RowsError, r"shape \(1, 8\) do not fit 7 features"),
    "rows of different lengths": Bad(explain(lambda X: [["yes", "no"], ["yes"]]), RowsError, "different lengths"),
    "columns of different lengths": Bad(
        explain(lambda X: {name: ["yes"] * (i + 1) for i, name in enumerate(X)}),
        RowsError,
        "not a table: .* same length",
    ),
    "dicts of different keys": Bad(explain(lambda X: [{"asia": "yes"}, {"smoke": "no"}]), RowsError, "no column 'tub'"),
    "column missing": Bad(explain(lambda X: X.drop(columns="smoke")), RowsError, "no column 'smoke'"),
    "column misspelt": Bad(
        explain(lambda X: X.rename(columns={"smoke": "smok"})),
        RowsError,
        "no column 'smoke'; is its .* 'smok' meant",
    ),
    "column too many": Bad(explain(lambda X: X.assign(foo=1)), RowsError, "the column 'foo', which is not a feature"),
    "target left in": Bad(explain(lambda X: X.assign(dysp="yes")), RowsError, "'dysp', which is latent"),
    "column twice": Bad(explain(lambda X: pd.concat([X, X[["smoke"]]], axis=1)), RowsError, "'smoke' twice"),
    "index twice": Bad(
        explain(lambda X: pd.Series(["yes"] * 8, index=[*X.columns, "asia"])), RowsError, "'asia' twice"
    ),
    "Series without names": Bad(explain(lambda X: pd.Series(["yes"] * 7)), RowsError, "no column 'asia'"),
    "columns of two levels": Bad(
        explain(lambda X: X.set_axis(pd.MultiIndex.from_product([["a"], X.columns]), axis=1)),
        RowsError,
        "no column 'asia'",
    ),
    "unknown state": Bad(
        explain(lambda X: X.assign(smoke="maybe")),
        UnknownStateError,
        "row 0: 'maybe' is not a state of feature 'smoke'; known states: 'yes', 'no'",
    ),
    "state with a space": Bad(explain(lambda X: X.assign(smoke="yes ")), UnknownStateError, "'yes ' is not a state"),
    "state in capitals": Bad(explain(lambda X: X.assign(smoke="YES")), UnknownStateError, "'YES' is not a state"),
    "infinity": Bad(cell(np.inf), UnknownStateError, "inf is not a state"),
    "complex number": Bad(cell(1j), UnknownStateError, "1j is not a state"),
    "date": Bad(cell(pd.Timestamp("2020-01-01")), UnknownStateError, "is not a state of feature 'asia'"),
    "NaN": Bad(cell(np.nan), RowsError, "no value .NaN. for feature 'asia'"),
    "None in a cell": Bad(cell(None), RowsError, "no value .NaN. for feature 'asia'"),
    "pandas' NA": Bad(cell(pd.NA), RowsError, "no value .NaN. for feature 'asia'"),
    "no time": Bad(cell(pd.NaT), RowsError, "no value .NaN. for feature 'asia'"),
    "list in a cell": Bad(cell(["yes"]), RowsError, "cannot be a state"),
    "dict in a cell": Bad(cell({"yes": 1}), RowsError, "cannot be a state"),
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
    "matrix: infinity": Bad(lambda c: c.over_matrix(first)([[np.inf, 1.0, 1.0]]), ModelError, "returned inf"),
    "matrix: None": Bad(lambda c: c.over_matrix(first)([[None, 1, 2]]), ModelError, "returned nan"),
    "matrix: words": Bad(lambda c: c.over_matrix(first)([["a", "b", "c"]]), ModelError, "returned labels"),
    "matrix: objects": Bad(
        lambda c: c.over_matrix(first)(np.array([[object(), 1, 2]])), ModelError, "no array of numbers"
    ),
    "matrix: column misspelt": Bad(
        over_named_matrix(["age", "incom", "height"]), RowsError, "no column 'income'; is its column 'incom' meant"
    ),
    "matrix: other columns": Bad(over_named_matrix(["x", "y", "z"]), RowsError, "no column 'age'"),
    "matrix: column too many": Bad(
        lambda c: AsymmetricExplainer(constant, pd.DataFrame({"a": [0, 1]}))(pd.DataFrame({"a": [0], "b": [0]})),
        RowsError,
        "have the column 'b', which is not a feature",
    ),
}
