"""AsymmetricExplainer: shap's interface in front of causal attributions.

This is the only place that knows ``shap.Explainer`` and joblib. It reads what the user hands in, asks for a plan,
runs the chosen backend over blocks of distinct rows, and hands back a ``shap.Explanation``.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import shap

from shap_asv.backends.contract import Problem, Settings
from shap_asv.backgrounds.discrete import DiscreteBackground
from shap_asv.backgrounds.network import DiscreteNetwork
from shap_asv.backgrounds.pgmpy_networks import is_network, read_network
from shap_asv.comparison import Comparison
from shap_asv.errors import (
    BudgetExceededError,
    CausalGraphError,
    RowsError,
    ShapAsvError,
    UnknownFeatureError,
    UnknownMethodError,
    UnknownStateError,
)
from shap_asv.explainer.assembly import (
    Arguments,
    assemble_matrix_problem,
    assemble_network_problem,
    check_background,
    edgeless_order,
    features_from_rows,
    features_of,
    names_known_to_model,
)
from shap_asv.explainer.execution import Execution, describe
from shap_asv.explainer.persistence import read_arguments, read_class, write_arguments
from shap_asv.explainer.rows import Table, read_table
from shap_asv.explainer.selection import select_outputs
from shap_asv.explanation import build_explanation
from shap_asv.planning import Budget, Plan, check_algorithm
from shap_asv.values.marginal import MatrixBackground

# Constructor arguments that save() writes and symmetric() copies, besides model, masker and causal_graph.
_OPTIONS = (
    "algorithm",
    "output_names",
    "feature_names",
    "linearize_link",
    "seed",
    "encoder",
    "model_output",
    "orders",
    "weights",
    "n_orders",
    "n_draws",
    "tolerance",
    "impossible",
    "order_method",
    "budget",
    "memory_limit",
    "ideal_limit",
    "n_jobs",
)


class AsymmetricExplainer(shap.Explainer):
    """Asymmetric Shapley values (ASV): causes come before their effects.

    ``phi_i`` is the mean, over the topological orders of a causal graph, of ``nu(before + i) - nu(before)`` with
    ``nu(S) = E[M(X) | X_S = e_S]`` under a Bayesian network.

    Parameters
    ----------
    model : estimator or callable
        A fitted estimator (``predict_proba`` for classifiers, else ``predict``), a bound method or any function of a
        table.
    masker : pgmpy DiscreteBayesianNetwork, ndarray, DataFrame or shap masker
        The background distribution. A network gives conditional expectations, and its nodes that are no features are
        latent: summed out. A matrix gives shap's marginal expectation.
    causal_graph : networkx.DiGraph, pgmpy DAG, list of (cause, effect), or CausalOrder, optional
        By default the network's own graph; with a matrix, no constraint at all (ordinary Shapley values).
    link : callable
        Applied to the expected output, from ``shap.links``. With a network, ``nu(S) = link(E[M | e_S])``.
    algorithm : str
        ``"auto"`` (the cheapest exact backend within ``budget``, else sampling), ``"exact"``, ``"sampling"``, or the
        name of a backend as ``print(explainer.plan(X))`` shows it.
    output_names, feature_names : list of str, optional
        ``feature_names`` names the players among the network's nodes. By default what the model was fitted on, else the
        columns of X.
    linearize_link : bool
        As in shap; it matters for matrix backgrounds only.
    seed : int, optional
        Fixes every sampled result.
    encoder : fitted transformer or mapping, optional
        Turns states into what the model eats, when it does not take the states themselves.
    model_output : "auto", "raw" or "probability"
        ``auto`` explains ``predict_proba`` of a classifier, else ``predict``. ``raw`` explains what the ensemble adds
        up (the margin of a boosted classifier, as ``shap.TreeExplainer`` does), which is exact for every
        ensemble.
    orders, weights : optional
        An explicit set of orders (names or positions), each with a weight, instead of a causal graph.
    n_orders : int
        Topological orders that sampling draws (``max_evals`` of a call overrides it).
    n_draws : int
        Draws per coalition where values are Monte Carlo means.
    tolerance : float, optional
        Sampled results go on until every standard error is below it.
    impossible : "raise" or "relax"
        What to do with rows of probability zero: an error, or condition only on the part of the evidence that is
        possible.
    order_method : str
        Sampler of topological orders, see :meth:`CausalOrder.sample_topological_orders`.
    budget : float
        Estimated seconds that ``auto`` may spend on an exact result.
    memory_limit : int
        Bytes that no plan may exceed.
    ideal_limit : int
        Coalitions that an exact enumeration may hold.
    n_jobs : int
        Processes over blocks of rows; the result does not depend on it.

    Examples
    --------
    >>> from shap_asv import AsymmetricExplainer, load_network
    >>> network = load_network("cancer")
    >>> def model(X):
    ...     return (X["Smoker"] == "True") + 2.0 * (X["Xray"] == "positive")
    >>> explainer = AsymmetricExplainer(model, network, feature_names=["Pollution", "Smoker", "Xray", "Dyspnoea"])
    >>> explanation = explainer([["low", "True", "positive", "True"]])
    >>> dict(zip(explanation.feature_names, explanation.values[0].round(3).tolist()))
    {'Pollution': -0.003, 'Smoker': 0.728, 'Xray': 1.535, 'Dyspnoea': 0.023}
    """

    def __init__(
        self,
        model: Any,
        masker: Any = None,
        causal_graph: Any = None,
        link: Callable[..., Any] = shap.links.identity,
        algorithm: str = "auto",
        output_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        linearize_link: bool = True,
        seed: int | None = None,
        encoder: Any = None,
        model_output: str = "auto",
        orders: Any = None,
        weights: Any = None,
        n_orders: int = 1000,
        n_draws: int = 500,
        tolerance: float | None = None,
        impossible: str = "raise",
        order_method: str = "auto",
        budget: float = 600.0,
        memory_limit: int = 4 * 2**30,
        ideal_limit: int = 1_000_000,
        n_jobs: int = 1,
    ) -> None:
        if masker is None:
            raise ValueError("masker cannot be None.")
        if orders is not None and causal_graph is not None:
            raise UnknownMethodError("pass causal_graph= or orders=, not both: each says which orders count")
        if weights is not None and orders is None:
            raise UnknownMethodError("weights= goes with orders=: one weight for each order")
        if impossible not in ("raise", "relax"):
            raise UnknownMethodError(f"unknown impossible={impossible!r}; use 'raise' or 'relax'")
        _check_positive(
            n_orders=n_orders, n_draws=n_draws, budget=budget, memory_limit=memory_limit, ideal_limit=ideal_limit
        )
        if tolerance is not None:
            _check_positive(tolerance=tolerance)
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
            raise ShapAsvError(f"n_jobs={n_jobs!r} must be a number of processes, or -1 for all cores")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ShapAsvError(f"seed={seed!r} must be a whole number >= 0, or None")
        check_algorithm(algorithm)
        network = (
            masker if isinstance(masker, DiscreteNetwork) else read_network(masker) if is_network(masker) else None
        )
        super().__init__(
            model,
            masker,
            link=link,
            output_names=output_names,
            feature_names=None if feature_names is None else [str(name) for name in feature_names],
            linearize_link=linearize_link,
        )
        if network is None:
            check_background(self.masker)
        self.causal_graph = causal_graph
        self.algorithm = algorithm
        self.seed = seed
        self.encoder = encoder
        self.model_output = model_output
        self.orders, self.weights = orders, weights
        self.n_orders, self.n_draws, self.tolerance = n_orders, n_draws, tolerance
        self.impossible = impossible
        self.order_method = order_method
        self.budget, self.memory_limit, self.ideal_limit = budget, memory_limit, ideal_limit
        self.n_jobs = n_jobs
        self._entropy = seed if seed is not None else int(np.random.SeedSequence().generate_state(1)[0])
        self._network = network
        self._expected_value: Any = None
        self._execution: Execution | None = None
        features = self._features_at_construction()
        if features is not None:
            self._execution = self._assemble(features)

    def __repr__(self) -> str:
        if self._execution is None:
            return f"{type(self).__name__}(features not known yet, algorithm={self.algorithm!r})"
        problem = self._execution.problem
        facts = ", ".join(f"{key}: {value}" for key, value in describe(problem, self.causal_graph is None))
        return f"{type(self).__name__}({problem.n_features} features, {facts}, algorithm={self.algorithm!r})"

    # --- shap's interface -------------------------------------------------------------------------------------

    def __call__(
        self,
        X: Any,
        max_evals: int | str = "auto",
        main_effects: bool = False,
        error_bounds: bool = False,
        batch_size: int | str = "auto",
        outputs: Any = None,
        silent: bool = False,
        tolerance: float | None = None,
    ) -> shap.Explanation:
        """Explain each row of X.

        Parameters
        ----------
        X : DataFrame, ndarray, Series, dict or list
            Rows with the states of the features (for a matrix background: the model's own inputs). Columns with names
            may come in any order.
        max_evals : int or "auto"
            Coalitions that may be evaluated per row, as in shap. Sampling draws ``(max_evals - 2) // (n - 1)``
            orders; an exact enumeration of more ideals does not run.
        main_effects : bool
            Also ``nu({i}) - nu({})``, as ``Explanation.main_effects``.
        error_bounds : bool
            Standard errors as ``Explanation.error_std``. Sampled results carry them anyway; exact ones then carry
            zeros.
        batch_size : int or "auto"
            Rows per call of the model; bounds the memory.
        outputs : int, str, slice, list or shap.Explanation operation
            Which model outputs to explain: an int is a position, a str a name (so ``"1"`` is the class 1).
        silent : bool
            No progress bar.
        tolerance : float, optional
            Overrides the explainer's ``tolerance``.

        Returns
        -------
        shap.Explanation
            Under a network ``data`` holds codes in the network's order of states and ``display_data`` the labels.
        """
        start = time.time()
        table = read_table(X)
        execution = self._execution_for(table)
        problem = execution.problem
        rows, data, labels = self._encode(problem, table)
        settings = self._settings(problem, max_evals, batch_size)
        if tolerance is not None:
            _check_positive(tolerance=tolerance)
        attribution = execution.explain(rows, settings, self.tolerance if tolerance is None else tolerance, silent)
        effects = execution.main_effects(rows, settings) if main_effects else None
        error = attribution.error
        if error is None and error_bounds:
            error = np.zeros_like(attribution.phi)
        names = problem.predictor.output_names
        arrays, names, single = select_outputs(
            [attribution.phi, np.broadcast_to(attribution.base, (len(rows), len(attribution.base))), error, effects],
            names,
            outputs,
            lambda: problem.predictor.predict(rows),
        )
        return build_explanation(
            arrays[0],
            arrays[1],
            data,
            labels,
            self._display_names(table),
            names,
            arrays[2],
            arrays[3],
            single,
            time.time() - start,
        )

    def shap_values(self, X: Any, **kwargs: Any) -> np.ndarray:
        """Only the values: (n, p) or (n, p, k); a single bare row gives (p,) or (p, k)."""
        values = np.asarray(self(X, **kwargs).values)
        return values[0] if read_table(X).single else values

    def explain_row(self, *row_args: Any, **kwargs: Any) -> dict[str, Any]:
        """shap's hook for one row: a dict with ``values``, ``expected_values`` and ``mask_shapes``."""
        kwargs = {
            name: value for name, value in kwargs.items() if name in ("max_evals", "batch_size", "outputs", "silent")
        }
        explanation = self([np.asarray(row_args[0], dtype=object).tolist()], **kwargs)
        return {
            "values": explanation.values[0],
            "expected_values": explanation.base_values[0],
            "mask_shapes": [np.shape(row_args[0])],
            "error_std": None if explanation.error_std is None else explanation.error_std[0],
        }

    @property
    def expected_value(self) -> Any:
        """The value of the empty coalition: a float, or an array with one entry per output."""
        if self._expected_value is None:
            execution = self._known_execution()
            problem = execution.problem
            base = execution.base(self._settings(problem), self._any_row(problem))
            self._expected_value = float(base[0]) if problem.predictor.output_names is None and len(base) == 1 else base
        return self._expected_value

    # --- what is ours -----------------------------------------------------------------------------------------

    def plan(self, X: Any = None, max_evals: int | str = "auto") -> Plan:
        """Which backend would explain X, why, and at what cost; ``print`` it. X may also be a number of rows."""
        if X is None or isinstance(X, (int, np.integer)):
            execution, n_rows = self._known_execution(), 1 if X is None else int(X)
        else:
            table = read_table(X)
            execution, n_rows = self._execution_for(table), len(table)
        return execution.plan(self._settings(execution.problem, max_evals), n_rows)

    def symmetric(self) -> "AsymmetricExplainer":
        """The same explainer without causal constraints: ordinary Shapley values under the same distribution."""
        arguments = self._constructor_arguments()
        features = self._feature_names_of(self._known_execution().problem)
        arguments.update(orders=None, weights=None, causal_graph=edgeless_order(features))
        if self._network is not None:
            arguments["feature_names"] = features
        return type(self)(**arguments)

    def compare(self, X: Any, **call: Any) -> Comparison:
        """SHAP and ASV of X side by side: this explainer's values beside those of :meth:`symmetric`."""
        asv = self(X, **call)
        return Comparison({"SHAP": self.symmetric()(X, **call), "ASV": asv}, self.causal_order)

    @property
    def causal_order(self) -> Any:
        """The :class:`CausalOrder` of the features (None when explicit orders are given)."""
        return self._known_execution().problem.order

    # --- saving -----------------------------------------------------------------------------------------------

    def save(self, out_file: Any, model_saver: Any = None, masker_saver: Any = None) -> None:
        """Write the explainer to a binary stream or a path. Loading it again runs code, as with every pickle."""
        if isinstance(out_file, (str, Path)):
            with open(out_file, "wb") as stream:
                self.save(stream, model_saver, masker_saver)
            return
        arguments = self._constructor_arguments()
        if callable(model_saver) or callable(masker_saver):
            raise UnknownMethodError("model_saver= and masker_saver= are not used here: the whole explainer is pickled")
        if self._network is not None:
            arguments["masker"] = self._network
        if arguments["seed"] is None:
            arguments["seed"] = self._entropy
        write_arguments(out_file, type(self), arguments)

    @classmethod
    def load(cls, in_file: Any, model_loader: Any = None, masker_loader: Any = None, instantiate: bool = True) -> Any:
        """Read an explainer that ``save`` wrote, from a binary stream or a path. Only load files you trust."""
        if isinstance(in_file, (str, Path)):
            with open(in_file, "rb") as stream:
                return cls.load(stream, model_loader, masker_loader, instantiate)
        if not instantiate:  # shap.Explainer.load has read the class already and calls the constructor itself
            return read_arguments(in_file)
        found = read_class(in_file, cls)
        return found(**read_arguments(in_file))

    def _constructor_arguments(self) -> dict[str, Any]:
        chosen = {name: getattr(self, name) for name in _OPTIONS}
        return {
            "model": self.model,
            "masker": self.masker,
            "causal_graph": self.causal_graph,
            "link": self.link,
            **chosen,
        }

    # --- from arguments to a problem --------------------------------------------------------------------------

    def _features_at_construction(self) -> list[str] | None:
        if self._network is not None:
            return features_of(self._network, self.model, self.encoder, self.feature_names)
        background = MatrixBackground(self.masker)
        if background.data is None:
            return None  # a masker without rows: the model is tried on the first X
        if background.dataframe_columns is not None:
            if self.feature_names is not None and set(self.feature_names) != set(background.dataframe_columns):
                columns = background.dataframe_columns
                raise UnknownFeatureError(
                    f"feature_names={self.feature_names} are not the background's columns {columns}"
                )
            return background.dataframe_columns
        if self.feature_names is not None:
            if len(self.feature_names) != background.n_features:
                raise UnknownFeatureError(
                    f"{len(self.feature_names)} feature_names for a background of {background.n_features} columns"
                )
            return [str(name) for name in self.feature_names]
        known = names_known_to_model(self.model)
        n = background.n_features
        if known is not None and len(known) == n:
            return known
        if n is not None and (self.causal_graph is None or self._means_positions()):
            return [f"Feature {i}" for i in range(n)]
        return None

    def _means_positions(self) -> bool:
        """Integers in a causal graph are columns only where the columns have no names."""
        unnamed = self._network is None and self.feature_names is None
        return (
            unnamed and MatrixBackground(self.masker).dataframe_columns is None and _uses_positions(self.causal_graph)
        )

    def _assemble(self, features: Sequence[str], probe: np.ndarray | None = None) -> Execution:
        graph = self.causal_graph
        if self._means_positions():
            graph = [(_feature_at(features, a), _feature_at(features, b)) for a, b in _edges_of(graph)]
        arguments = Arguments(
            self.model,
            graph,
            self.orders,
            self.weights,
            self.encoder,
            self.model_output,
            self.output_names,
            self.impossible,
            None if _is_identity(self.link) else self.link,
            self.linearize_link,
        )
        budget = Budget(self.budget, self.memory_limit)
        if self._network is not None:
            problem = assemble_network_problem(self._network, features, arguments)
            return Execution(problem, self.algorithm, budget, self.n_jobs, self.causal_graph is None)
        if self.encoder is not None:
            raise UnknownMethodError(
                "encoder= goes with a Bayesian network; a matrix background holds the model's own inputs"
            )
        background = MatrixBackground(self.masker)
        rows = background.data[:5] if background.data is not None else probe
        assert rows is not None
        problem = assemble_matrix_problem(background, features, arguments, rows)
        return Execution(problem, self.algorithm, budget, self.n_jobs, False)

    def _execution_for(self, table: Table) -> Execution:
        if self._execution is None:
            n_columns = len(table.columns) if table.columns is not None else np.asarray(table.array).shape[1]
            if self._network is not None:
                features = features_from_rows(self._network, table.columns, n_columns)
            else:
                features = list(self.feature_names or table.columns or [f"Feature {i}" for i in range(n_columns)])
            probe = table.frame.to_numpy()[:5] if table.frame is not None else np.asarray(table.array)[:5]
            self._execution = self._assemble(features, probe)
        return self._execution

    def _known_execution(self) -> Execution:
        if self._execution is None:
            raise RowsError(
                "which nodes of the network are features is not known yet; pass feature_names=[...] to the explainer, "
                "or explain a DataFrame first"
            )
        return self._execution

    def _feature_names_of(self, problem: Problem) -> list[str]:
        if isinstance(problem.background, DiscreteBackground):
            return list(problem.background.features)
        if problem.order is not None:
            return [str(name) for name in problem.order.features]
        return (
            [f"Feature {i}" for i in range(problem.n_features)]
            if self.feature_names is None
            else list(self.feature_names)
        )

    def _display_names(self, table: Table) -> list[str]:
        names = self._feature_names_of(self._known_execution().problem)
        if self._network is None and table.columns is not None and not set(table.columns) & set(names):
            return table.columns  # a matrix without names: X names the features
        return names

    # --- rows -------------------------------------------------------------------------------------------------

    def _encode(self, problem: Problem, table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Rows for the backends, and data and display data for the plots."""
        if isinstance(problem.background, DiscreteBackground):
            try:
                codes = problem.background.encode(table.frame if table.frame is not None else table.array)
            except UnknownStateError as error:
                if self.encoder is None:
                    raise
                raise UnknownStateError(f"{error}; X holds states, encoder= is applied behind the explainer") from None
            problem.background.check_rows(codes)
            return codes, codes.astype(float), problem.background.decode(codes)
        names = self._feature_names_of(problem)
        if table.frame is not None:
            frame = table.frame
            columns = [str(column) for column in frame.columns]
            if set(columns) & set(names):
                missing = [name for name in names if name not in columns]
                surplus = [column for column in columns if column not in names]
                if missing or surplus:
                    what = (
                        f"has no column {missing[0]!r}"
                        if missing
                        else f"has the column {surplus[0]!r}, which is no feature"
                    )
                    raise RowsError(f"X {what}; the features are {names}")
                frame = frame.iloc[:, [columns.index(name) for name in names]]
            array = frame.to_numpy()
        else:
            array = np.asarray(table.array)
        if array.shape[1] != len(names):
            raise RowsError(f"X has {array.shape[1]} columns, the background has {len(names)}: {names}")
        if array.dtype == bool:
            array = array.astype(float)
        return array, array, None

    def _any_row(self, problem: Problem) -> np.ndarray:
        if isinstance(problem.background, DiscreteBackground):
            return np.zeros((1, problem.n_features), dtype=np.intp)
        data = problem.background.data
        if data is None:
            raise RowsError("this masker has no data to take a row from; explain a row and read base_values instead")
        return np.asarray(data[:1])

    def _settings(self, problem: Problem, max_evals: int | str = "auto", batch_size: int | str = "auto") -> Settings:
        settings = Settings(self.n_orders, self.n_draws, self._entropy, 65_536, self.ideal_limit, self.order_method)
        if batch_size != "auto":
            _check_positive(batch_size=batch_size)
            settings = replace(settings, batch_size=int(batch_size))
        if max_evals != "auto":
            _check_positive(max_evals=max_evals)
            n = problem.n_features
            fewest = 2 * (n - 1) + 2
            if int(max_evals) < fewest:
                raise BudgetExceededError(
                    f"max_evals={max_evals} is too low for {n} features: two orders need {fewest}"
                )
            n_orders = (int(max_evals) - 2) // max(1, n - 1)
            settings = replace(settings, n_orders=n_orders, ideal_limit=min(settings.ideal_limit, int(max_evals)))
        return settings


def _is_identity(link: Callable[..., Any]) -> bool:
    """Also after unpickling, when the function is no longer the same object."""
    return link is shap.links.identity or (
        getattr(link, "__name__", "") == "identity" and getattr(link, "__module__", "") == "shap.links"
    )


def _uses_positions(graph: Any) -> bool:
    edges = _edges_of(graph)
    return bool(edges) and all(isinstance(node, (int, np.integer)) for edge in edges for node in edge)


def _feature_at(features: Sequence[str], position: Any) -> str:
    if not 0 <= position < len(features):
        raise CausalGraphError(f"the causal graph names column {position}; the columns are 0 to {len(features) - 1}")
    return features[int(position)]


def _edges_of(graph: Any) -> list[tuple[Any, Any]]:
    if isinstance(graph, (list, tuple)):
        return [
            tuple(edge) for edge in graph if not isinstance(edge, str) and hasattr(edge, "__len__") and len(edge) == 2
        ]
    edges = getattr(graph, "edges", None)
    return [(a, b) for a, b in edges] if edges is not None else []


def _check_positive(**arguments: Any) -> None:
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not value > 0:
            raise ShapAsvError(f"{name}={value!r} must be a number > 0")
