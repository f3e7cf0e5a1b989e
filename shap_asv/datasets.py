"""Rows to try things on: draws from a network, as a table of labels."""

from typing import Any

import numpy as np
import pandas as pd

from shap_asv.arguments import check_count, generator_of
from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.pgmpy_networks import read_network
from shap_asv.errors import BudgetExceededError

#: values that one table may hold
MOST_VALUES = 1 << 30


def sample_rows(network: Any, n: int, seed: int | None = None) -> pd.DataFrame:
    """Draw rows from a Bayesian network.

    Parameters
    ----------
    network : pgmpy DiscreteBayesianNetwork
    n : int
        Number of rows.
    seed : int, optional

    Returns
    -------
    DataFrame (n, nodes)
        Labels; columns in a topological order of the network.

    Examples
    --------
    >>> from shap_asv import load_network, sample_rows
    >>> sample_rows(load_network("cancer"), 2, seed=0)
      Pollution Smoker Cancer      Xray Dyspnoea
    0       low   True  False  positive    False
    1      high  False  False  negative    False
    """
    check_count(n, "n", "a number of rows")
    background = DiscreteBackground(network if isinstance(network, DiscreteNetwork) else read_network(network))
    if n * background.n_nodes > MOST_VALUES:
        raise BudgetExceededError(
            f"n={n:,} rows of {background.n_nodes} nodes are more than {MOST_VALUES:,} values; draw them in parts"
        )
    uniforms = generator_of(seed).random((n, background.n_nodes))
    nothing_known = np.full((1, background.n_features), -1)
    labels = background.labels(background.draws(nothing_known, uniforms)[0])
    return pd.DataFrame(labels, columns=list(background.features))
