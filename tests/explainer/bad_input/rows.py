"""Rows that do not fit the features."""

import numpy as np
import pandas as pd
import scipy.sparse

from shap_asv import AsymmetricExplainer
from shap_asv.errors import ImpossibleEvidenceError, RowsError, UnknownStateError
from tests.explainer.bad_input.setting import Bad, Bomb, constant


def explain(rows):
    """The explainer that works, on ``rows(X)``."""
    return lambda c: c.good(rows(c.X))


def cell(value):
    """One row whose values are all ``value``."""
    return lambda c: c.good(pd.DataFrame([[value] * 7], columns=c.names))


ROWS = {
    "it raises": Bad(explain(lambda X: Bomb()), RowsError, "not a table: RuntimeError: boom"),
    "empty list": Bad(explain(lambda X: []), RowsError, "no rows"),
    "rows of different lengths": Bad(explain(lambda X: [["yes", "no"], ["yes"]]), RowsError, "different lengths"),
    "columns of different lengths": Bad(
        explain(lambda X: {name: ["yes"] * (i + 1) for i, name in enumerate(X)}),
        RowsError,
        "not a table: .* same length",
    ),
    "column twice": Bad(explain(lambda X: pd.concat([X, X[["smoke"]]], axis=1)), RowsError, "'smoke' twice"),
    "unknown state": Bad(
        explain(lambda X: X.assign(smoke="maybe")),
        UnknownStateError,
        "row 0: 'maybe' is not a state of feature 'smoke'; known states: 'yes', 'no'",
    ),
    "list in a cell": Bad(cell(["yes"]), RowsError, "cannot be a state"),
    "sparse matrix of numbers": Bad(
        explain(lambda X: scipy.sparse.csr_array(np.ones((1, 7)))), UnknownStateError, "1.0 is not a state"
    ),
    "masked values": Bad(
        explain(lambda X: np.ma.masked_array(X[:1].to_numpy(), mask=True)), RowsError, "masked values"
    ),
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
}
