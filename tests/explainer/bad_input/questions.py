"""Several graphs, comparisons, sensitivities and other questions that have no answer."""

import numpy as np
import pandas as pd

from shap_asv import (
    AsymmetricExplainer,
    CausalOrder,
    Comparison,
    GaussianModel,
    GraphMixture,
    PartialGraph,
    Sensitivity,
    bootstrap_graphs,
    check_graph,
    load_network,
    plots,
    sample_rows,
)
from shap_asv.errors import (
    ArgumentError,
    CausalGraphError,
    ExplanationError,
    MethodNotApplicableError,
    NetworkError,
    OrdersError,
    RowsError,
    TableError,
    UnknownMethodError,
)
from shap_asv.orders.uncertain import read_causal_graphs
from tests.explainer.bad_input.setting import Bad

TABLE = pd.DataFrame({"a": np.arange(10.0), "b": [1.0, 0, 2, 4, 3, 5, 7, 6, 9, 8]})
PAIR = GaussianModel([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], ["a", "b"])
EDGE = [("a", "b")]


def model(X):
    return np.asarray(X["a"], dtype=float)


def gaussian():
    return AsymmetricExplainer(model, PAIR, n_draws=16, seed=0)


def one_graph():
    return GraphMixture([CausalOrder.from_edges(EDGE)])


QUESTIONS = {
    "partial graph: nodes int": Bad(
        lambda c: PartialGraph(5), CausalGraphError, "nodes must be a list of names, not int"
    ),
    "partial graph: undirected str": Bad(
        lambda c: PartialGraph("ab", [], "ab"), CausalGraphError, r"an edge is a pair \(cause, effect\), not \('a',\)"
    ),
    "partial graph: sample 0": Bad(
        lambda c: PartialGraph("ab", undirected=["ab"]).sample(0, 0),
        ArgumentError,
        "n=0 is not a positive integer; pass a number",
    ),
    "partial graph: mixture limit": Bad(
        lambda c: read_causal_graphs(PartialGraph("ab", undirected=["ab"]), limit=0),
        ArgumentError,
        "limit=0 is not a positive integer; pass a",
    ),
    "mixture: none": Bad(
        lambda c: GraphMixture(None), CausalGraphError, "a mixture is made of a list of graphs, not of"
    ),
    "mixture: weights str": Bad(
        lambda c: GraphMixture([CausalOrder.from_edges(EDGE)], "x"),
        OrdersError,
        "weights of graphs must be numbers, not 'x'",
    ),
    "mixture: sample": Bad(
        lambda c: one_graph().sample_topological_orders(0),
        ArgumentError,
        "n=0 is not a positive integer; pass a number",
    ),
    "sensitivity: row": Bad(
        lambda c: Sensitivity(np.ones((1, 1, 1)), ["a"]).to_frame(row=1),
        ExplanationError,
        "there is no row 1; 1 were explained",
    ),
    "sensitivity: output": Bad(
        lambda c: Sensitivity(np.ones((1, 1, 1, 2)), ["a"]).output("x"),
        UnknownMethodError,
        "there is no output 'x'; the 2 outputs are",
    ),
    "sensitivity: graphs str": Bad(
        lambda c: gaussian().sensitivity(TABLE[:1], graphs="x"),
        CausalGraphError,
        "graphs='x' is not known; pass 'edges' for",
    ),
    "sensitivity: graphs None": Bad(
        lambda c: gaussian().sensitivity(TABLE[:1], graphs=None), CausalGraphError, "graphs=None is not a graph; pass"
    ),
    "sensitivity: rows": Bad(
        lambda c: gaussian().sensitivity(None, graphs=[EDGE]), RowsError, "X is a NoneType, not a table; pass a"
    ),
    "check of a graph: none": Bad(
        lambda c: check_graph(None, EDGE), RowsError, "data is a DataFrame with named columns, not a"
    ),
    "check of a graph: graph": Bad(
        lambda c: check_graph(TABLE, None), CausalGraphError, "a causal graph cannot be read from a"
    ),
    "check of a graph: alpha str": Bad(
        lambda c: check_graph(TABLE, EDGE, alpha="x"), ArgumentError, "alpha='x' is not a probability of a false"
    ),
    "check of a graph: objects": Bad(
        lambda c: check_graph(TABLE.assign(d=[[1]] * 10), [("a", "d")]),
        RowsError,
        "column 'd' holds things that cannot be told",
    ),
    "learned graphs: n str": Bad(
        lambda c: bootstrap_graphs(TABLE, lambda t: EDGE, n="x"),
        ArgumentError,
        "n='x' is not a positive integer; pass a",
    ),
    "learned graphs: learner returns junk": Bad(
        lambda c: bootstrap_graphs(TABLE, lambda t: 5, n=2, silent=True),
        CausalGraphError,
        "the learner failed on all 2 resamples; on the",
    ),
    "learned graphs: data none": Bad(
        lambda c: bootstrap_graphs(None, lambda t: EDGE, n=2), RowsError, r"data is a DataFrame or an array \(rows,"
    ),
    "Comparison: none": Bad(
        lambda c: Comparison(None), ExplanationError, "a comparison needs at least one explanation,"
    ),
    "Comparison: junk": Bad(
        lambda c: Comparison({"SHAP": 5}), ExplanationError, "'SHAP' must be a shap.Explanation, not a int"
    ),
    "Comparison: list": Bad(
        lambda c: Comparison([gaussian()(TABLE[:2])]), ExplanationError, "explanations come as a dict by the names of"
    ),
    "Comparison: shapes": Bad(
        lambda c: Comparison({"SHAP": gaussian()(TABLE[:2]), "ASV": gaussian()(TABLE[:1])}),
        ExplanationError,
        r"explanation 'ASV' has values of shape \(1, 2\),",
    ),
    "load_network": Bad(
        lambda c: load_network("nowhere"), NetworkError, "no network is called 'nowhere'; known: alarm,"
    ),
    "sample_rows: c.network": Bad(lambda c: sample_rows(5, 3), NetworkError, "a discrete Bayesian network of pgmpy is"),
    "sample_rows: seed": Bad(
        lambda c: sample_rows(c.network, 3, seed="x"), ArgumentError, "seed='x' is not a seed; pass a whole number"
    ),
    "plots: comparison": Bad(lambda c: plots.comparison(5), ExplanationError, "explanations must be a dict of name ->"),
    "plots: sensitivity": Bad(
        lambda c: plots.sensitivity(5), ExplanationError, "plots.sensitivity draws a Sensitivity, not a"
    ),
    "plots: causal_graph": Bad(
        lambda c: plots.causal_graph(5), ExplanationError, "explanations must be a dict of name ->"
    ),
    "bootstrap: n": Bad(
        lambda c: gaussian().bootstrap(TABLE[:1], n=1),
        MethodNotApplicableError,
        "there is no table to resample: this explainer",
    ),
    "bootstrap: data": Bad(
        lambda c: gaussian().bootstrap(TABLE[:1], n=2, data=5), TableError, "data= is the table that was fitted, a"
    ),
}
