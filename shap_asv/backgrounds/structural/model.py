"""A structural model: a DAG and one mechanism per node, fitted to a table or given."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from shap_asv.arguments import check_count, check_list, check_seed, generator_of
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.structural.background import StructuralBackground
from shap_asv.backgrounds.structural.fitting import NodeTask, fit_node
from shap_asv.backgrounds.structural.graph import Dag, check_nodes
from shap_asv.backgrounds.structural.mechanisms import Given, Mechanism, call_mechanism
from shap_asv.backgrounds.structural.scores import FittedNode
from shap_asv.backgrounds.structural.shared import SharedNodes, shared_codec
from shap_asv.backgrounds.tables.codec import Column, TableCodec
from shap_asv.backgrounds.tables.copies import originals
from shap_asv.errors import MechanismError, TableError, UnknownFeatureError, did_you_mean, listed
from shap_asv.frames import as_pandas
from shap_asv.times import Times

if TYPE_CHECKING:
    import pandas as pd

#: Rows simulated to see what the values of given mechanisms are, when no table says so.
N_LOOKED_AT = 4096


class StructuralModel:
    """``X_v = g_v(X_parents(v), U_v)`` for every node v of a DAG: any distribution that can be simulated forwards.

    Parameters
    ----------
    graph : networkx.DiGraph or list of (cause, effect)
        All nodes; isolated ones need a ``DiGraph``.
    mechanisms : dict of str to callable
        One function per node, ``function(parents, noise) -> values``: ``parents`` is a dict of arrays (m,) by name
        (empty for a root), ``noise`` an array (m,) of independent uniform numbers strictly between 0 and 1 (turn them
        into any other noise with a quantile function, such as ``scipy.special.ndtri`` for a normal one). It must be a
        function of the two alone: the same numbers have to give the same values. One finite value per row is returned:
        numbers, bools or labels.
    like : DataFrame, optional
        A table with one column per node that says what the values are: dtypes, and all categories. By default this is
        found out from 4,096 simulated rows, which may miss a rare category.

    See Also
    --------
    StructuralModel.fit : mechanisms learned from a table.

    Examples
    --------
    >>> from scipy.special import ndtri
    >>> model = StructuralModel(
    ...     [("dose", "effect")],
    ...     {"dose": lambda causes, u: 1 + u, "effect": lambda causes, u: 2 * causes["dose"] + ndtri(u)},
    ... )
    >>> background = model.background()
    >>> held = np.array([[1.5, np.nan]])  # dose = 1.5, effect free
    >>> background.draws(held, np.array([[0.1, 0.5], [0.9, 0.5]])).tolist()
    [[[1.5, 3.0], [1.5, 3.0]]]
    >>> print(model)
    structural model, 2 nodes
      dose: given
      effect <- dose: given
    """

    #: Variable and time of each node, where mechanisms are shared.
    shared: Times | None = None

    def __init__(
        self,
        graph: Any,
        mechanisms: Mapping[str, Callable],
        like: "pd.DataFrame | None" = None,
    ) -> None:
        like = as_pandas(like)
        if like is not None and not hasattr(like, "columns"):
            raise TableError(f"like= is a DataFrame with one column per node, not a {type(like).__name__}")
        dag = Dag.read(graph, () if like is None else [str(key) for key in like.columns])
        if not isinstance(mechanisms, Mapping):
            raise MechanismError(f"mechanisms= is a dict from nodes to functions, not a {type(mechanisms).__name__}")
        given = {str(name): function for name, function in mechanisms.items()}
        _check_names(dag.names, given)
        table = _simulated_raw(dag, given) if like is None else like
        codec = TableCodec.learn(table)
        columns = _columns_of(dag, codec)
        nodes = [
            Given(given[name], columns[v], tuple(columns[p] for p in dag.parents[v]))
            for v, name in enumerate(dag.names)
        ]
        self.dag = dag
        self.mechanisms: tuple[Mechanism, ...] = tuple(nodes)
        self.codec = codec
        self._fitted: tuple[FittedNode, ...] | None = None

    @classmethod
    def fit(
        cls,
        data: Any,
        graph: Any,
        mechanisms: Any = "auto",
        seed: int | None = None,
        n_jobs: int | None = None,
        silent: bool = False,
        shared: Any = None,
    ) -> "StructuralModel":
        """One mechanism per node, learned from a table whose columns are the nodes.

        Parameters
        ----------
        data : DataFrame, or array with columns named "Feature 0", ...
            Numbers, bools, categories, strings, integers; see ``backgrounds/tables``. A column that is not
            a node is kept as one that has neither causes nor effects, with a warning.
        graph : networkx.DiGraph or list of (cause, effect)
            Every node needs a column.
        mechanisms : "auto", a name, or dict of str to (name or callable)
            "auto" tries linear, smooth and boosted locations on numbers, about the best of them even, scaled and shaped
            residuals; logistic and smooth logistic on categories; forests, whose leaves hold training values, on both.
            It takes the best by CRPS or log score on rows that were not fitted; a richer one has to be clearly better.
            Where noise is uneven, a location is fitted with weights ("weighted smooth"). Names for numbers: "linear",
            "smooth", "smooth with steps", "boosting"; for categories: "frequencies", "logistic",
            "smooth logistic"; for both "forest" and "own distribution". A callable is a function as in
            :class:`StructuralModel`.
        seed : int, optional
            Of folds and forests. The result depends on it, and not on ``n_jobs``.
        n_jobs : int, optional
            Nodes fitted at a time, as joblib has it.
        silent : bool
            No progress bar.
        shared : True or times, optional
            The columns are variables at several times, and mechanisms do not depend on the date: those of a variable
            whose causes are the same variables at the same distances in time are one, learned from all times.
            ``True`` reads variables and times from names such as ``temp(t-3)``; else as in
            :meth:`CausalOrder.from_time`. ``mechanisms`` may then name variables, and functions see
            causes under names such as ``temp(t-1)``, as if the variable were at time t.

        Notes
        -----
        Missing values: a cause that is missing counts as its median, and a second variable says that it was missing; a
        node that is missing in some rows is drawn missing with a probability that depends on its causes, as one more
        code for categories. Integers are drawn as integers; numbers with at most 20 distinct values (each three times
        in the table on average) are drawn as one of these; other numbers stay within the range of the table and a
        quarter of it to either side. Causes that never change are ignored, a constant column is drawn as that constant.
        A node whose causes do not help on held-out rows (a table of ten rows, say) is drawn from its own distribution.
        Rows of a DataFrame with the same label and the same values are copies, and held out together.
        Candidates are compared on at most 2,000 rows, and the chosen one is fitted to at most 20,000, taken at random.

        Examples
        --------
        >>> import pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> dose = rng.normal(size=200)
        >>> table = pd.DataFrame({"dose": dose, "effect": 2 * dose + rng.normal(size=200)})
        >>> print(StructuralModel.fit(table, [("dose", "effect")], seed=0, silent=True))
        structural model, 2 nodes
          dose: empirical (200 values)
          effect <- dose: linear + residuals
        """
        codec = TableCodec.learn(data)
        dag = Dag.read(graph, codec.names)
        check_nodes(dag, codec.names, graph)
        together = None
        if shared is not None and shared is not False:
            times = Times.read(codec.names if shared is True else shared)
            codec = shared_codec(data, codec, Times.read(times, codec.names))
            together = SharedNodes.read(dag, Times.read(times, dag.names))
            dag = together.dag
        ways = _ways(mechanisms, dag, together)
        rows = codec.read(data)
        columns, copies = _columns_of(dag, codec), originals(data, rows)
        at = [codec.names.index(name) for name in dag.names]
        entropy = None if seed is None else check_seed(seed)
        seeds = [int(one % 2**31) for one in np.random.SeedSequence(entropy).generate_state(dag.n_nodes)]
        if together is not None:
            shared_tasks = together.tasks(rows[:, at], columns, ways, seeds, copies, getattr(data, "index", None))
            fitted = together.spread(_fit_all(list(shared_tasks), n_jobs, silent))
        else:
            tasks = [
                NodeTask(
                    rows[:, at[v]],
                    rows[:, [at[p] for p in dag.parents[v]]],
                    columns[v],
                    tuple(columns[p] for p in dag.parents[v]),
                    ways[v],
                    seeds[v],
                    copies,
                )
                for v in range(dag.n_nodes)
            ]
            fitted = _fit_all(tasks, n_jobs, silent)
        model = cls.__new__(cls)
        model.dag, model.codec, model._fitted = dag, codec, tuple(fitted)
        model.shared = None if together is None else together.times
        model.mechanisms = tuple(node.mechanism for node in fitted)
        return model

    # --- what it is ---

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names in a topological order."""
        return self.dag.names

    @property
    def graph(self) -> nx.DiGraph:
        return self.dag.to_networkx()

    def __str__(self) -> str:
        """One line for each node: its causes and its mechanism."""
        return str(self.background())

    def __repr__(self) -> str:
        names = ", ".join(self.dag.names[:4]) + ", ..." * (self.dag.n_nodes > 4)
        return f"<StructuralModel of {self.dag.n_nodes} nodes: {names}>"

    def report(self) -> "pd.DataFrame":
        """A row for each node, causes first: its mechanism, and how well that does on rows that it was not fitted to.

        A ``score`` is a mean CRPS for numbers (in the units of the column) and a mean log score for categories: smaller
        is better. ``marginal`` is that of the node's own distribution without its causes, and ``saved`` the share of
        it that knowing the causes saves. For models fitted to a table.
        """
        import pandas as pd

        if self._fitted is None:
            raise MechanismError(
                "these mechanisms were given, not fitted: there are no scores; StructuralModel.fit(data, graph, "
                "mechanisms={...}) scores given functions on a table"
            )
        columns = ("causes", "mechanism", "measure", "score", "marginal", "saved")
        rows = [
            (", ".join(one.causes), one.mechanism.describe(), one.measure, one.score, one.marginal, one.saved)
            for one in self._fitted
        ]
        return pd.DataFrame(rows, columns=columns, index=pd.Index(self.nodes, name="node"))

    # --- what it does ---

    def background(self, features: Sequence[str] | None = None) -> StructuralBackground:
        """The model as a background distribution over ``features`` (all nodes by default; the others are latent)."""
        if features is None:
            return StructuralBackground(self.dag, self.mechanisms, self.codec)
        names = [str(name) for name in check_list(features, "features", "the names of some nodes")]
        if not names or len(set(names)) < len(names):
            raise UnknownFeatureError(f"features={names}: {'one stands there twice' if names else 'none is named'}")
        codec = self.codec.only(names)
        return StructuralBackground(self.dag, self.mechanisms, codec)

    def sample(self, n: int, seed: int | None = None) -> "pd.DataFrame":
        """``n`` independent rows, all nodes, with the dtypes of the table. O(n nodes)."""
        background = self.background()
        uniforms = generator_of(seed).random((check_count(n, "n", "a number of rows"), background.n_uniforms))
        free = np.full((1, len(background.features)), np.nan)
        return self.codec.inputs(background.draws(free, uniforms)[0])


def _fit_all(tasks: Sequence[NodeTask], n_jobs: int | None, silent: bool) -> list[FittedNode]:
    """All nodes, in parallel; seeds are in the tasks, so the result is the same for any number of jobs."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend
    from tqdm.auto import tqdm

    # not every engine hands results over one by one
    return_as = "generator" if get_active_backend()[0].supports_return_generator else "list"
    # what costs most comes first, so that nobody waits for one last large node
    order = sorted(range(len(tasks)), key=lambda v: -tasks[v].parents.shape[1])
    done = Parallel(n_jobs=n_jobs, return_as=return_as)(delayed(_fit_on_one_thread)(tasks[v]) for v in order)
    fitted: list[FittedNode | None] = [None] * len(tasks)
    bar = tqdm(done, total=len(tasks), desc="StructuralModel", unit="node", delay=2.0, disable=silent)
    for v, node in zip(order, bar, strict=True):
        fitted[v] = node
    return [node for node in fitted if node is not None]


def _fit_on_one_thread(task: NodeTask) -> FittedNode:
    """The matrices of a node are small: threads of their own gain nothing, and on a busy machine wait for each other
    longer than the work takes.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return fit_node(task)


def _columns_of(dag: Dag, codec: TableCodec) -> list[Column]:
    missing = [name for name in dag.names if name not in codec.names]
    if missing:
        raise TableError(f"the table has no column for the node {missing[0]!r}; it has {listed(codec.names)}")
    return [codec.columns[codec.names.index(name)] for name in dag.names]


def _ways(mechanisms: Any, dag: Dag, together: SharedNodes | None) -> list[Any]:
    """How each node is fitted; of nodes that share a mechanism the first one counts."""
    if not isinstance(mechanisms, Mapping):
        return [mechanisms] * dag.n_nodes
    given = {str(name): how for name, how in mechanisms.items()}
    variables = dag.names if together is None else [variable for variable, _ in together.times.moments]
    _check_known([*dag.names, *variables], given)
    return [given.get(name, given.get(own, "auto")) for name, own in zip(dag.names, variables, strict=True)]


def _check_known(names: Sequence[str], given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names, f"the nodes are {listed(names)}")
            raise MechanismError(f"mechanisms names {name!r}, which is not a node of the graph; {hint}")


def _check_names(names: Sequence[str], given: Mapping[str, Any]) -> None:
    _check_known(names, given)
    for name in names:
        if name not in given:
            raise MechanismError(f"the node {name!r} has no mechanism; give a function of (parents, noise)")
        if not callable(given[name]):
            raise MechanismError(f"the mechanism of {name!r} is a {type(given[name]).__name__}, not a function")


def _simulated_raw(dag: Dag, given: Mapping[str, Callable]) -> "pd.DataFrame":
    """Rows as the functions return them, to see dtypes and categories."""
    import pandas as pd

    rng = np.random.default_rng(0)
    values: dict[str, Any] = {}
    for v, name in enumerate(dag.names):
        causes = {dag.names[p]: values[dag.names[p]] for p in dag.parents[v]}
        values[name] = call_mechanism(given[name], name, causes, rng.random(N_LOOKED_AT))
    return pd.DataFrame(values)


# --- as a background --------------------------------------------------------------------------------------------


def read_structural(given: StructuralModel, masker: Any) -> NamedDistribution:
    """Nodes that are not features are latent: which ones are, the model or X says, if the user has not said it."""
    words = ("a node of the structural model", "its nodes are")
    return NamedDistribution(given.nodes, given.background, words, given)
