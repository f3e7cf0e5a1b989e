"""Where the nodes of a tree ensemble cut its columns.

Between two neighbouring thresholds no node tells numbers apart: all of them reach the same leaves, and the model has
one answer for them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shap_asv.errors import ModelError
from shap_asv.models.calls.outputs import describe
from shap_asv.models.products import NotSumOfProducts
from shap_asv.models.trees.ensembles import FloatEnsemble, Rounding
from shap_asv.models.trees.form import read_trees


def column_thresholds(model: Any, columns: Sequence[str]) -> dict[str, tuple[np.ndarray, Rounding]]:
    """For every column that the model takes: sorted thresholds, and how its nodes see numbers.

    ``x`` and ``y`` reach the same leaves if no threshold lies between ``rounding(x)`` and ``rounding(y)`` (it belongs
    to the numbers below). ModelError where the trees cannot be read.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit(pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}), [0, 0, 3, 3])
    >>> {name: cuts.tolist() for name, (cuts, _) in column_thresholds(tree, ["b", "a"]).items()}
    {'a': [0.5], 'b': []}
    """
    try:
        trees = read_trees(model, "auto", columns)
    except NotSumOfProducts as why:
        raise ModelError(
            f"bins=model needs the thresholds of trees, and {why}; give bins=5 or cut points for each column, or the "
            f"last step of {describe(model)} over the columns that it takes"
        ) from None
    own = trees.own
    return {columns[place]: (_cuts(own, j), own.rounding(j)) for j, place in enumerate(trees.place.tolist())}


def _cuts(ensemble: FloatEnsemble, column: int) -> np.ndarray:
    """Thresholds on one column, and both ends of every whole number that a node asks for by name."""
    here = (ensemble.left >= 0) & (ensemble.column == column)
    named = here & (ensemble.category_set >= 0)
    cuts = [ensemble.threshold[here & ~named]]
    for s in np.unique(ensemble.category_set[named]):
        whole = np.unique(np.concatenate([ensemble.sets[s], ensemble.sets[s] + 1])).astype(ensemble.dtype)
        cuts.append(np.nextafter(whole, whole.dtype.type(-np.inf)).astype(np.float64))
    found = np.unique(np.concatenate(cuts))
    return found[np.isfinite(found)]
