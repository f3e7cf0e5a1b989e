"""How certain is a learned graph? Learn it again from resamples of the table, and count.

Rows are drawn with replacement, as many as there are, and the learner is run on each such table (Friedman, Goldszmidt
and Wyner, 1999). The share of resamples in which an edge comes back says how much the table supports it, and the graphs
with their shares are a distribution over graphs, which ``causal_graph=`` takes.

A learner is one of these:

| what | how it is called | examples |
|---|---|---|
| estimator with ``fit`` | a copy is fitted; its ``causal_graph_`` is the graph | pgmpy.causal_discovery |
| function | ``learner(table)`` is the graph | ``lambda table: pc(table.to_numpy())`` of causal-learn |

Progress bars and processes of a learner are switched off where it has a switch: resamples are what runs in parallel.
"""

import warnings
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.base import clone
from tqdm.auto import tqdm

from shap_asv.arguments import check_count
from shap_asv.errors import ArgumentError, CausalGraphError, RowsError, ShapAsvWarning, warn_user
from shap_asv.frames import as_pandas
from shap_asv.orders import reading
from shap_asv.orders.uncertain.formats import read_partial_graph
from shap_asv.orders.uncertain.partial_graph import PartialGraph

Edge = tuple[Hashable, Hashable]
#: What a learner is told where it has such a switch.
QUIET = {"show_progress": False, "n_jobs": 1}
#: Seconds before the progress bar appears.
DELAY = 3.0


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapGraphs:
    """Graphs that were learned from resamples, the most frequent first.

    Attributes
    ----------
    graphs : tuple of PartialGraph
        Distinct ones, with every edge directed that has one direction in all their DAGs.
    counts : tuple of int
        In how many resamples each was found.
    n_resamples : int
    failures : tuple of (int, str)
        Resamples on which nothing usable was learned, and why. They are in no count.
    """

    graphs: tuple[PartialGraph, ...]
    counts: tuple[int, ...]
    n_resamples: int
    failures: tuple[tuple[int, str], ...] = ()

    @property
    def features(self) -> tuple[Hashable, ...]:
        """The columns of the table."""
        return self.graphs[0].nodes

    @property
    def frequencies(self) -> np.ndarray:
        """The share of each graph among the resamples that did not fail, (graphs,)."""
        return np.array(self.counts) / sum(self.counts)

    def weighted_graphs(self) -> list[tuple[PartialGraph, float]]:
        """(graph, weight) pairs: what ``causal_graph=`` takes."""
        return list(zip(self.graphs, self.frequencies.tolist(), strict=True))

    def edge_frequencies(self) -> pd.DataFrame:
        """One line per pair of columns that was joined, the most frequent first.

        Columns: ``cause`` and ``effect`` (the more frequent direction), ``directed``, ``reversed`` and ``undirected``
        shares, and ``joined``, their sum.
        """
        shares: dict[frozenset[Hashable], Counter[Any]] = {}
        for graph, share in self.weighted_graphs():
            for kind, pairs in (
                ("undirected", graph.undirected),
                ("joined", {*graph.undirected, *map(frozenset, graph.directed)}),
                *((edge, {frozenset(edge)}) for edge in graph.directed),
            ):
                for pair in pairs:
                    shares.setdefault(pair, Counter())[kind] += share  # type: ignore[assignment]
        place = {name: v for v, name in enumerate(self.features)}
        lines: list[tuple[Any, ...]] = []
        for pair, line in shares.items():
            a, b = sorted(pair, key=place.__getitem__)
            if line[b, a] > line[a, b]:
                a, b = b, a
            lines.append((a, b, *(float(line[key]) for key in ((a, b), (b, a), "undirected", "joined"))))
        lines.sort(key=lambda line: (-line[-1], place[line[0]], place[line[1]]))
        names = ["cause", "effect", "directed", "reversed", "undirected", "joined"]
        return pd.DataFrame(lines, columns=names)

    def __repr__(self) -> str:
        k, n = len(self.graphs), len(self.features)
        head = (
            f"{sum(self.counts)} graphs on {n} columns from {self.n_resamples} resamples, {k} of them different; "
            f"the most frequent one in {self.frequencies[0]:.0%}"
        )
        lines = [head]
        if self.failures:
            lines.append(_told(self.failures, self.n_resamples))
        frame = self.edge_frequencies()
        shown = frame.head(15)
        if len(frame):
            formats = dict.fromkeys(frame.columns[2:], "{:.0%}".format)
            lines.append(shown.to_string(index=False, formatters=formats))
        if len(frame) > len(shown):
            lines.append(f"... and {len(frame) - len(shown)} pairs more: edge_frequencies()")
        return "\n".join(lines)


def bootstrap_graphs(
    data: Any,
    learner: Any,
    n: int = 100,
    seed: int | np.random.SeedSequence | None = None,
    n_jobs: int | None = None,
    silent: bool = False,
) -> BootstrapGraphs:
    """Learn a causal graph from each of ``n`` resamples of a table.

    Parameters
    ----------
    data : DataFrame or array (rows, columns)
    learner : callable, estimator or class
        See the table of this module. Whatever it returns is read as a causal graph is.
    n : int
        Number of resamples.
    seed : int or SeedSequence, optional
        The resamples are the same whatever ``n_jobs`` is.
    n_jobs : int, optional
        Processes, as in joblib.
    silent : bool
        No progress bar.

    Returns
    -------
    BootstrapGraphs

    Raises
    ------
    CausalGraphError
        The learner failed on every resample. If it failed on some, a warning says on how many and why.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [0, 1, 2, 3], "b": [0, 1, 2, 4], "c": [1, 0, 1, 0]})
    >>> def learner(table):  # joins columns that agree well
    ...     r = table.corr().abs()
    ...     return [(x, y) for x in r for y in r if x < y and r.loc[x, y] > 0.9]
    >>> bootstrap_graphs(table, learner, n=20, seed=0).edge_frequencies().head(1)
      cause effect  directed  reversed  undirected  joined
    0     a      b       1.0       0.0         0.0     1.0
    """
    data = as_pandas(data)
    names = _columns(data)
    n = check_count(n, "n", "a number of resamples")
    check_learner(learner)
    try:
        seeds = (seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)).spawn(n)
    except (TypeError, ValueError):
        raise ArgumentError(f"seed={seed!r} is not a seed; pass a whole number >= 0, a SeedSequence, or None") from None

    job = delayed(_learn_from_resample)
    # not every engine hands results over one by one
    return_as = "generator" if get_active_backend()[0].supports_return_generator else "list"
    runs = Parallel(n_jobs=n_jobs, return_as=return_as)(job(data, learner, names, own) for own in seeds)
    bar = tqdm(runs, total=n, desc="bootstrap_graphs", unit="graph", delay=DELAY, disable=silent)
    return _gathered(list(bar), n)


def _gathered(found: Sequence[PartialGraph | str], n: int) -> BootstrapGraphs:
    failures = tuple((k, result) for k, result in enumerate(found) if isinstance(result, str))
    ranked = Counter(graph for graph in found if isinstance(graph, PartialGraph)).most_common()
    if not ranked:
        raise CausalGraphError(f"the learner failed on all {n} resamples; on the first: {failures[0][1]}")
    if failures:
        warn_user(f"{_told(failures, n)}; the graphs are those of the others", ShapAsvWarning)
    return BootstrapGraphs(tuple(g for g, _ in ranked), tuple(c for _, c in ranked), n, failures)


def _told(failures: Sequence[tuple[int, str]], n: int) -> str:
    reasons = Counter(reason.split(":")[0] for _, reason in failures).most_common(3)
    shown = ", ".join(f"{kind} ({count}x)" for kind, count in reasons)
    return f"nothing usable was learned on {len(failures)} of {n} resamples: {shown}; the first: {failures[0][1]}"


def _learn_from_resample(
    data: Any, learner: Any, names: tuple[Hashable, ...], seed: np.random.SeedSequence
) -> PartialGraph | str:
    """The learned graph, or why there is none. A learner may raise anything: that is counted, and told at the end."""
    rows = np.random.default_rng(seed).integers(len(data), size=len(data))
    table = data.iloc[rows].reset_index(drop=True) if hasattr(data, "iloc") else data[rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a learner has to say about a resample, it would say n times
            learned = learn(learner, table)
        read = read_partial_graph(learned, names)
        graph = PartialGraph(names, read.directed, read.undirected)  # the nodes are the columns
        graph.count()
        return graph.oriented()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _columns(data: Any) -> tuple[Hashable, ...]:
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        names = reading.check_names(list(data.columns), what="the table's columns")
    elif isinstance(data, np.ndarray) and data.ndim == 2:
        names = tuple(range(data.shape[1]))
    else:
        raise RowsError(f"data is a DataFrame or an array (rows, columns), not a {type(data).__name__}")
    if len(data) < 2:
        raise RowsError(f"data has {len(data)} rows; a graph cannot be learned from fewer than two")
    return names


def check_learner(learner: Any) -> None:
    """An :class:`~shap_asv.errors.ArgumentError` for what is none of the above."""
    if not hasattr(learner, "fit") and (isinstance(learner, type) or not callable(learner)):
        raise ArgumentError(
            f"learner={learner!r:.60} cannot learn a graph; pass a function of the table that returns one, or an "
            "estimator such as pgmpy.causal_discovery.PC()"
        )


def learn(learner: Any, data: Any) -> Any:
    """The graph that ``learner`` finds in ``data``, as it returns it."""
    if not hasattr(learner, "fit"):
        return learner(data)
    own = clone(learner)
    known = own.get_params(deep=False)
    told = {name: value for name, value in QUIET.items() if name in known}
    return own.set_params(**told).fit(data).causal_graph_
