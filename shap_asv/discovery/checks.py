"""Does a causal graph fit a table? What it implies is tested, and what fails is told in words.

A DAG says which columns are independent given which others (d-separation). For every pair that no edge joins, one such
independence is tested, given a smallest set that separates the two among the columns of the table; pairs that only
hidden nodes could separate are left out. With m tests some p-values are small by chance, so Holm's correction is used:
if the graph is right, the probability that *any* violation is reported is at most ``alpha``.

An edge, on the other hand, should be seen: its ends are tested given the other parents of the effect, and edges whose
ends look independent (p > alpha) are named. A weak edge in a small table looks like that, too.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import Any

import networkx as nx
import numpy as np

from shap_asv.discovery.independence import IndependenceTests
from shap_asv.errors import ArgumentError, RowsError
from shap_asv.frames import as_pandas
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain.formats import fit_to_features, read_partial_graph


@dataclass(frozen=True)
class TestedPair:
    """One test: p-value of "``x`` is independent of ``y`` given ``given``", corrected for the number of tests."""

    x: Hashable
    y: Hashable
    given: tuple[Hashable, ...]
    p: float
    adjusted: float

    __test__ = False  # not a test of pytest's

    @property
    def condition(self) -> str:
        return f" given {', '.join(map(str, self.given))}" if self.given else ""


@dataclass(frozen=True, eq=False, repr=False)
class GraphCheck:
    """What :func:`check_graph` found.

    Attributes
    ----------
    independences : tuple of TestedPair
        Those that the graph implies, smallest p-value first.
    edges : tuple of TestedPair
        The ends of every edge between columns, largest p-value first; not corrected.
    untested : tuple of pairs
        Pairs without an edge that only hidden nodes separate.
    alpha : float
    n_rows : int
    order_only : bool
        The graph was an order or levels, which say what comes first and imply no independence: nothing is tested.
    """

    independences: tuple[TestedPair, ...]
    edges: tuple[TestedPair, ...]
    untested: tuple[tuple[Hashable, Hashable], ...]
    alpha: float
    n_rows: int
    order_only: bool = False

    @property
    def violations(self) -> tuple[TestedPair, ...]:
        """Implied independences that the table contradicts, worst first."""
        return tuple(test for test in self.independences if test.adjusted <= self.alpha)

    @property
    def doubtful_edges(self) -> tuple[TestedPair, ...]:
        """Edges whose ends look independent in the table."""
        return tuple(test for test in self.edges if test.p > self.alpha)

    @property
    def fits(self) -> bool:
        """Whether no implied independence is contradicted."""
        return not self.violations

    def messages(self) -> list[str]:
        """Violations and doubtful edges in words, worst first."""
        told = [
            f"{t.x} is not independent of {t.y}{t.condition}: p = {t.p:.1g}; add an edge or a common cause"
            for t in self.violations
        ]
        told += [
            f"{t.x} -> {t.y}: {t.x} looks independent of {t.y}{t.condition}: p = {t.p:.1g}; drop the edge, "
            "or it is too weak for these rows"
            for t in self.doubtful_edges
        ]
        return told

    def __repr__(self) -> str:
        if self.order_only:
            return (
                "nothing to test: an order or levels say what comes first and imply no independence, whatever the rows "
                "are; pass a DAG, such as a list of edges (cause, effect)"
            )
        m, wrong = len(self.independences), len(self.violations)
        verdict = (
            f"the graph fits: none of {m} implied independences is contradicted by {self.n_rows:,} rows"
            if self.fits
            else f"the graph does not fit: {self.n_rows:,} rows contradict {wrong} of {m} implied independences"
        )
        lines = [f"{verdict} (alpha = {self.alpha:g}, Holm's correction)"]
        if self.doubtful_edges:
            lines.append(f"{len(self.doubtful_edges)} of {len(self.edges)} edges are not seen in the rows")
        if self.untested:
            lines.append(f"{len(self.untested)} pairs could not be tested: only hidden nodes separate them")
        told = self.messages()
        lines += [f"- {message}" for message in told[:10]]
        if len(told) > 10:
            lines.append(f"... and {len(told) - 10} more: messages()")
        return "\n".join(lines)


def check_graph(data: Any, graph: Any, alpha: float = 0.05) -> GraphCheck:
    """Test what a causal graph (or a network) implies about the rows of a table.

    Parameters
    ----------
    data : DataFrame
        Each test takes the rows that have all of its columns.
        Labels and whole numbers of at most 20 different values are compared as categories, other columns as numbers, by
        linear tests.
    graph : any causal graph of :mod:`shap_asv.orders.uncertain.formats`
        Nodes that are not columns are hidden. A graph with undirected edges implies what each of its DAGs implies. A
        ``CausalOrder``, such as levels, implies nothing, and says so.
    alpha : float
        If the graph is right, the probability of reporting any violation is at most this.

    Returns
    -------
    GraphCheck

    Raises
    ------
    RowsError
        Not a DataFrame, too few rows.
    CausalGraphError
        A node is nearly the name of a column, or none is a column.

    Examples
    --------
    >>> from shap_asv import load_network, sample_rows
    >>> rows = sample_rows(load_network("cancer"), 5000, seed=0)
    >>> check_graph(rows, load_network("cancer")).fits
    True
    >>> wrong = [("Pollution", "Cancer"), ("Smoker", "Cancer"), ("Cancer", "Xray"), ("Smoker", "Dyspnoea")]
    >>> check_graph(rows, wrong)
    the graph does not fit: 5,000 rows contradict 1 of 6 implied independences (alpha = 0.05, Holm's correction)
    ...
    """
    data = as_pandas(data)
    columns = _check_table(data)
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise ArgumentError(f"alpha={alpha!r} is not a probability of a false alarm; pass a number between 0 and 1")
    (read,) = fit_to_features([read_partial_graph(graph, columns)], columns)
    dag = next(iter(read))
    if isinstance(graph, CausalOrder):
        return GraphCheck((), (), (), float(alpha), len(data), order_only=True)
    tests = IndependenceTests(data)
    independences, untested = _implied(dag, columns)
    found = [(x, y, given, tests.p_value(x, y, given)) for x, y, given in independences]
    adjusted = holm([p for *_, p in found])
    pairs = [TestedPair(x, y, given, p, own) for (x, y, given, p), own in zip(found, adjusted, strict=True)]
    edges = []
    for x, y in sorted(dag.edges, key=str):
        if x in set(columns) and y in set(columns):
            given = tuple(name for name in columns if name in set(dag.predecessors(y)) - {x})
            p = tests.p_value(x, y, given)
            edges.append(TestedPair(x, y, given, p, p))
    return GraphCheck(
        tuple(sorted(pairs, key=lambda test: test.p)),
        tuple(sorted(edges, key=lambda test: -test.p)),
        tuple(untested),
        float(alpha),
        len(data),
    )


def _check_table(data: Any) -> tuple[Hashable, ...]:
    if not hasattr(data, "columns") or not hasattr(data, "isna"):
        raise RowsError(f"data is a DataFrame with named columns, not a {type(data).__name__}")
    if len(data) < 10:
        raise RowsError(f"data has {len(data)} rows; a graph cannot be checked with fewer than 10")
    for name in data.columns:
        try:
            data[name].nunique()
        except TypeError:
            raise RowsError(f"column {name!r} holds things that cannot be told apart, such as lists; drop it") from None
    return tuple(data.columns)


def _implied(
    dag: nx.DiGraph, columns: Sequence[Hashable]
) -> tuple[list[tuple[Hashable, Hashable, tuple[Hashable, ...]]], list[tuple[Hashable, Hashable]]]:
    """One implied independence for each pair of columns without an edge, and the pairs that have none."""
    found, left = [], []
    for x, y in combinations(columns, 2):
        if dag.has_edge(x, y) or dag.has_edge(y, x):
            continue
        given = nx.find_minimal_d_separator(dag, x, y, restricted=set(columns) - {x, y})
        if given is None:
            left.append((x, y))
        else:
            found.append((x, y, tuple(name for name in columns if name in given)))
    return found, left


def holm(p_values: Iterable[float]) -> list[float]:
    """Holm's adjusted p-values: reporting those up to alpha, any false alarm has a probability of at most alpha.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.array(list(p_values))
    adjusted = np.empty(len(p))
    order = np.argsort(p, kind="stable")
    adjusted[order] = np.minimum(1, np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]))
    return adjusted.tolist()
