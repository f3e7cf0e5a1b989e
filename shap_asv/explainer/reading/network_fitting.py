"""A table and a DAG -> a discrete network: where the columns are cut may be read off a model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shap_asv.backgrounds.discrete.states.binning import DEFAULT_BINS, DEFAULT_GROUPS, MOST_STATES, Cuts, learn_states
from shap_asv.backgrounds.discrete.states.fitted import FittedNetwork, fit_tables
from shap_asv.backgrounds.structural.graph import Dag, check_nodes
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import ArgumentError, CausalGraphError, did_you_mean, listed
from shap_asv.explainer.reading.causality import as_dag, name_positions, uses_positions
from shap_asv.models.trees.form import column_thresholds
from shap_asv.orders import CausalOrder


def fit_network(
    data: Any, graph: Any, bins: Any = DEFAULT_BINS, smoothing: float = 1.0, groups: int = DEFAULT_GROUPS
) -> FittedNetwork:
    """A discrete Bayesian network of a table: exact values, no sampling, for any coalition.

    ``P(x) = prod over v of P(x_v | causes of v)``, counted in the table. Rows are handed over as they are in the table,
    and the model is called with values of the table: there is no encoder to write.

    Parameters
    ----------
    data : DataFrame, or array with columns named "Feature 0", ...
        Numbers, bools, categories, strings. Categories, bools, strings, and numbers with at most 12 distinct values
        stay as they are; other numbers are binned. A missing value is a state of its own. A column that is not a node
        is kept as one that has neither causes nor effects, with a warning.
    graph : networkx.DiGraph, list of (cause, effect), ...
        A DAG, as ``causal_graph`` everywhere; every node needs a column.
    bins : int, dict of str to int or cut points, or a tree model
        An int is how many quantile bins numbers get (fewer where values repeat). A dict says it for some columns, also
        for those with few values: a number of bins, increasing cut points ``c`` (bins are ``c_i < x <= c_(i+1)``, the
        outer ones open), or a model; the others get 5. A tree model (scikit-learn, XGBoost, LightGBM, CatBoost; not a
        Pipeline with transformers) cuts the columns at its thresholds: no leaf is cut, and f(x) is exactly the model's.
    smoothing : float
        Pseudo-rows that are added to each combination of causes. They look like the column on its own; see Notes.
    groups : int
        At the thresholds of a model a column has many states. Then it is related to other columns by this many
        quantile groups of neighbouring states, and drawn within its group as in the table.

    Returns
    -------
    FittedNetwork
        ``print`` it to see the states; a background like any other.

    Notes
    -----
    A bin is shown to the model as one value, the median of the table's values in it. Unless ``bins=model``, the values
    of an explanation therefore add up to the model's answer to these; how far that is from its answer to the row itself
    is said in a warning with every explanation. Numbers past the range of the table fall into the outer bins. A label
    or one of few values that the table does not have is an error, as is a gap in a column that has none in the table.

    Smoothing: ``P(v | causes) = (n(v, causes) + a P(v)) / (n(causes) + a)`` with ``a = smoothing`` and ``P(v) = (n(v) +
    a / k) / (N + a)`` for k states. With 0, rows of combinations that the table does not have are impossible.

    The cost is that of counting: O(rows x columns) and the sizes of the tables.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from shap_asv import AsymmetricExplainer, fit_network
    >>> rng = np.random.default_rng(0)
    >>> dose = rng.normal(size=500)
    >>> table = pd.DataFrame({"dose": dose, "effect": 2 * dose + rng.normal(size=500)})
    >>> print(fit_network(table, [("dose", "effect")], bins={"dose": 3, "effect": [-1, 1]}))
    network of 2 columns fitted to 500 rows, smoothing 1
      dose: 3 bins: <= -0.476, (-0.476, 0.383], > 0.383
      effect <- dose: 3 bins: <= -1, (-1, 1], > 1
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=3).fit(table, table["effect"] > 1)
    >>> explainer = AsymmetricExplainer(model, fit_network(table, [("dose", "effect")], bins=model))
    >>> explanation = explainer(table.iloc[:3])
    >>> total = explanation.base_values + explanation.values.sum(axis=1)
    >>> bool(np.allclose(total, model.predict(table.iloc[:3]), rtol=0, atol=1e-12))
    True
    """
    codec = TableCodec.learn(data)
    default, ways = _read_bins(bins, codec.names)
    _check_numbers(smoothing, groups)
    dag = _read_dag(graph, codec)
    rows = codec.read(data)
    columns = [
        learn_states(column, rows[:, v], ways.get(column.name), default, groups)
        for v, column in enumerate(codec.columns)
    ]
    return fit_tables(dag, codec, columns, rows, float(smoothing))


def _read_dag(graph: Any, codec: TableCodec) -> Dag:
    if isinstance(graph, CausalOrder):
        raise CausalGraphError(
            "a network needs a DAG, which says what causes each column; a CausalOrder only says what comes first. Pass "
            "the edges, or take values='conditional' with the table, which does with levels"
        )
    if codec.keys is None and uses_positions(graph):
        graph = name_positions(graph, codec.names)
    plain = as_dag(graph, codec.names)
    if plain is None:
        raise CausalGraphError(
            "a network needs one DAG: the graph has edges without a direction, or there are several; choose one"
        )
    dag = Dag.read(plain, codec.names)
    check_nodes(dag, codec.names, plain)
    return dag


def _read_bins(bins: Any, names: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Quantile bins by default, and what is said of single columns: a number, cut points, or the cuts of a model."""
    if isinstance(bins, Mapping):
        given = {str(name): how for name, how in bins.items()}
        for name in given:
            if name not in names:
                hint = did_you_mean(name, names, f"the columns are {listed(names)}")
                raise ArgumentError(f"bins= names {name!r}, which is not a column of the table; {hint}")
        cuts = {id(how): _cuts_of(how, names) for how in given.values() if _is_model(how)}
        return DEFAULT_BINS, {name: cuts[id(how)].get(name) if _is_model(how) else how for name, how in given.items()}
    if _is_model(bins):
        return DEFAULT_BINS, dict(_cuts_of(bins, names))
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 2 <= bins <= MOST_STATES:
        raise ArgumentError(
            f"bins={bins!r:.80} is not understood; give a number of bins from 2 to {MOST_STATES:,}, a dict such as "
            f"{{{names[0]!r}: 4}} or {{{names[0]!r}: [10, 20]}} (cut points), or a tree model whose thresholds are the "
            "cuts"
        )
    return int(bins), {}


def _is_model(thing: Any) -> bool:
    return hasattr(thing, "predict") or hasattr(getattr(thing, "__self__", None), "predict")


def _cuts_of(model: Any, names: Sequence[str]) -> dict[str, Cuts]:
    """Thresholds of the model by column; a column that it does not take is cut into groups alone."""
    found = column_thresholds(model, names)
    nowhere = Cuts(np.empty(0), None, refine=True)
    return {name: Cuts(*found[name], refine=True) if name in found else nowhere for name in names}


def _check_numbers(smoothing: Any, groups: Any) -> None:
    try:
        good = not isinstance(smoothing, bool) and 0 <= float(smoothing) < np.inf
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ArgumentError(f"smoothing={smoothing!r:.80} must be a finite number of pseudo-rows, at least 0")
    if isinstance(groups, bool) or not isinstance(groups, int | np.integer) or not 2 <= groups <= MOST_STATES:
        raise ArgumentError(f"groups={groups!r:.80} must be a whole number from 2 to {MOST_STATES:,}")
