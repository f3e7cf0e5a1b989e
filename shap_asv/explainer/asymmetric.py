"""AsymmetricExplainer: shap's interface in front of causal attributions.

This is the only place that knows ``shap.Explainer`` and joblib. It reads what the user hands in, asks for a plan,
runs the chosen backend over blocks of distinct rows, and hands back a ``shap.Explanation``.
"""

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import shap

from shap_asv.arguments import check_count
from shap_asv.backends.conditioning import conditioning_obstacle
from shap_asv.backends.contract import Problem, Settings
from shap_asv.backgrounds.covers import CoverDistribution
from shap_asv.backgrounds.matrix import with_gaps
from shap_asv.backgrounds.naming import Distribution
from shap_asv.backgrounds.registry import kind_of
from shap_asv.comparison import Comparison
from shap_asv.errors import CausalGraphWarning, MethodNotApplicableError, RowsError
from shap_asv.explainer import fitting
from shap_asv.explainer.causes import edgeless_order, levels_of
from shap_asv.explainer.comparing import compare_methods
from shap_asv.explainer.effects import Effects, measure_effects
from shap_asv.explainer.execution import Execution, describe
from shap_asv.explainer.importances import measure_importance, usual_loss
from shap_asv.explainer.options import (
    ExpectedLoss,
    SingleValue,
    check_call_words,
    check_graph_word,
    check_options,
    check_positive,
    counted_rows,
    loss_of_targets,
    read_background,
    read_names,
    settings_of_call,
    shown_words,
    warn_of_cover_counts,
)
from shap_asv.explainer.persistence import load_explainer, save_explainer
from shap_asv.explainer.problem import Arguments, assemble, assemble_for_rows, is_identity, known_features
from shap_asv.explainer.rows import Table, any_row, fit_rows, read_table, shown_players
from shap_asv.explainer.sensitivities import measure_sensitivity
from shap_asv.explainer.worth import Bootstrap, bootstrap_values
from shap_asv.explanation import build_explanation, select_outputs
from shap_asv.models.calls import RowLoss
from shap_asv.notebook import facts_html
from shap_asv.planning import Budget, Plan, check_room
from shap_asv.sensitivity import Sensitivity

#: What ``compare`` passes on to calls; the rest makes the explainer.
CALL_ARGUMENTS = ("y", "max_evals", "main_effects", "error_bounds", "batch_size", "outputs", "silent")


class AsymmetricExplainer(shap.Explainer):
    """Asymmetric Shapley values (ASV): causes come before their effects.

    ``phi_i`` is the mean, over the topological orders of a causal graph, of ``nu(before + i) - nu(before)`` with
    ``nu(S) = E[M(X) | X_S = e_S]`` under a background distribution.

    What is explained
    -----------------
    model : estimator or callable
        A fitted estimator, a bound method or any function of a table.
    model_output : "auto", "raw" or "probability"
        ``auto`` explains ``predict_proba`` of a classifier, else ``predict``; for trees over a matrix or without a
        background it is ``raw``: what the ensemble adds up, such as the margin of a boosted classifier, as in shap.
    link, linearize_link : callable, bool
        From ``shap.links``, applied to the expected output; ``linearize_link`` matters for matrix backgrounds only.
    feature_names : list of str, optional
        The players among the background's variables. By default what the model was fitted on, else the columns of X.
    output_names : list of str, optional
        What the model's outputs are called; by default the classes of a classifier.
    encoder : fitted transformer or mapping, optional
        Turns states of a network into what the model eats, when it does not take the states themselves.

    Distribution
    ------------
    masker : pgmpy network, StructuralModel, GaussianModel, ConditionalTable, ndarray, DataFrame, shap masker, or None
        The background. A network gives conditional expectations, and its nodes that are not features are latent:
        summed out. A table is what ``values`` says; what was fitted to it is kept as ``explainer.masker``. Tree
        ensembles do without: None takes the cover counts of the trees, as ``shap.TreeExplainer(model)`` does.
    values : "auto", "conditional", "causal" or "marginal"
        What nu(S) is: given ``X_S = e_S``, given ``do(X_S = e_S)``, or with the rest untouched by S. To a table the
        first two fit a distribution (a structural model for a DAG over all features, else the best of Gaussian, copula
        and donors); "auto" is ``"marginal"``, shap's expectation, for a table without a causal graph and for maskers of
        shap, else ``"conditional"``.
    data, feature_perturbation : optional
        ``shap.TreeExplainer``'s words for ``masker`` and for whether there is one; values are then those of shap.

    Order
    -----
    causal_graph : networkx.DiGraph, pgmpy DAG, list of (cause, effect), CausalOrder, ..., optional
        By default the network's own; with a matrix, no constraint (ordinary Shapley values). A PDAG is the mean over
        its DAGs, a list of graphs or of (graph, weight) the mean over those.
    groups : dict of str to list of str, optional
        Features that move together, ``{"weather": ["temp", "hum"]}``: each group is one player, and features that no
        group names are players of their own. The causal graph is between groups, or between features: its quotient.
        What is fitted to a table draws a group of dummies (at most one is 1 in every row) as one category.

    Budget
    ------
    algorithm : str
        ``"auto"`` (the cheapest exact backend within ``budget``, else sampling), ``"exact"``, ``"sampling"``, or the
        name of a backend as ``print(explainer.plan(X))`` shows it.
    budget : float
        Estimated seconds within which ``auto`` looks for an exact result, else for the best approximation. A black box
        is timed for the estimate; name an ``algorithm`` where the choice must not depend on the machine.
    memory_limit, ideal_limit : int
        Bytes that no plan may exceed, and coalitions that an exact enumeration may hold.
    seed : int, optional
        Fixes every sampled result.
    n_orders : int
        Topological orders that sampling draws where values are exact (``max_evals`` of a call overrides it).
    n_draws : int, optional
        Draws for each row where a background is drawn from, each with its own orders. By default as many as a row needs
        for standard errors of about 1% of the deviation of the model's output, at least 64, within the budget.
    tolerance : float, optional
        Sampled results go on until every standard error is below it, past ``n_orders``, ``n_draws`` and ``max_evals``,
        as far as ``budget`` reaches.
    n_jobs : int, optional
        Processes over blocks of rows, or threads where compiled code or a model of a library does the work; -1 for all
        cores. By default one, or what ``joblib.parallel_config`` says, which may be a cluster. The result does not
        depend on it.
    silent : bool
        No progress bar while a distribution is fitted.

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
        n_orders: int = 1000,
        n_draws: int | None = None,
        tolerance: float | None = None,
        budget: float = 600.0,
        memory_limit: int = 4 * 2**30,
        ideal_limit: int = 1_000_000,
        n_jobs: int | None = None,
        values: str = "auto",
        silent: bool = False,
        data: Any = None,
        feature_perturbation: str = "auto",
        groups: Any = None,
    ) -> None:
        check_graph_word(causal_graph)
        masker, data = (read_background(given, model) for given in (masker, data))
        masker, values = fitting.read_masker(masker, values, data, feature_perturbation)
        counted = masker if feature_perturbation == "tree_path_dependent" else None
        masker = None if counted is not None else masker
        check_options(
            link=link,
            tolerance=tolerance,
            n_jobs=n_jobs,
            seed=seed,
            algorithm=algorithm,
            budget=budget,
            memory_limit=memory_limit,
            n_orders=n_orders,
            n_draws=n_draws,
            ideal_limit=ideal_limit,
            values=values,
        )
        self._entropy = seed if seed is not None else int(np.random.SeedSequence().generate_state(1)[0])
        output_names, names = read_names(output_names, "output_names"), read_names(feature_names, "feature_names")
        asked = Arguments(
            model,
            names,
            causal_graph,
            encoder,
            model_output,
            link=None if is_identity(link) else link,
            linearize_link=linearize_link,
            seed=self._entropy,
            groups=groups,
            values=values,
            n_jobs=n_jobs,
            silent=silent,
        )
        fitted, asked = fitting.settle_table(masker, asked)
        names_of = {"output_names": output_names, "feature_names": asked.feature_names}
        known = with_gaps(fitted) if fitting.is_frame(fitted) else fitted
        super().__init__(
            model, known if counted is None else counted, link=link, linearize_link=linearize_link, **names_of
        )
        # the background is called masker, and words of TreeExplainer are settled below
        counts = "tree_path_dependent" if feature_perturbation == "tree_path_dependent" else "auto"
        self._words: dict[str, Any] = {"data": None, "feature_perturbation": counts, "model_output": model_output}
        self._distribution: Distribution
        if counted is None:
            self._distribution = kind_of(fitted).read(fitted, self.masker)
        else:
            self._distribution = CoverDistribution(counted_rows(self.masker))
        self.values, self.silent = fitting.settled_values(values, self._distribution), silent
        self._given = masker if counted is None else counted
        self._table = masker if fitted is not masker else None  # what was fitted; files do not keep it
        self.causal_graph, self.groups = asked.causal_graph, groups
        self.algorithm, self.seed = algorithm, seed
        self.encoder = encoder
        self.data, self.feature_perturbation, self.model_output = shown_words(
            self.masker, self._table, self._distribution, model, model_output
        )
        self.n_orders, self.n_draws, self.tolerance = n_orders, n_draws, tolerance
        self.budget, self.memory_limit, self.ideal_limit, self.n_jobs = budget, memory_limit, ideal_limit, n_jobs
        self._expected_value: Any = None
        self._execution: Execution | None = None
        self._asked = replace(
            asked, feature_names=self.feature_names, output_names=self.output_names, values=self.values
        )
        features = known_features(self._asked, self._distribution)
        if self._distribution.of_model and counts == "auto":
            warn_of_cover_counts(causal_graph)
        if features is not None:
            self._execution = self._executing(assemble(self._asked, self._distribution, features))
        self.data_feature_names = features

    def __repr__(self) -> str:
        if self._execution is None:
            return f"{type(self).__name__}(features not known yet, algorithm={self.algorithm!r})"
        problem = self._execution.problem
        facts = ", ".join(f"{key}: {value}" for key, value in describe(problem, self.causal_graph is None))
        return f"{type(self).__name__}({problem.n_features} features, {facts}, algorithm={self.algorithm!r})"

    def _repr_html_(self) -> str:
        if self._execution is None:
            return facts_html(repr(self), [])
        problem = self._execution.problem
        facts = [("features", ", ".join(problem.names)), *describe(problem, self.causal_graph is None)]
        return facts_html(type(self).__name__, [*facts, ("algorithm", self.algorithm)])

    # --- shap's interface -------------------------------------------------------------------------------------

    def __call__(
        self,
        X: Any,
        y: Any = None,
        interactions: bool = False,
        check_additivity: bool = True,
        approximate: bool = False,
        *,
        max_evals: int | str = "auto",
        main_effects: bool = False,
        error_bounds: bool = False,
        batch_size: int | str = "auto",
        outputs: Any = None,
        silent: bool = False,
        tolerance: float | None = None,
        tree_limit: int | None = None,
        from_call: bool = False,
    ) -> shap.Explanation:
        """Explain each row of X.

        Parameters
        ----------
        X : DataFrame, ndarray, Series, dict or list
            Rows with the states of the features (for a matrix background: the model's own inputs). Columns with names
            may come in any order.
        y : targets, optional
            One for each row, for ``model_output="log_loss"``; other outputs do not look at them.
        interactions, check_additivity, approximate, tree_limit, from_call : optional
            Words of ``shap.TreeExplainer``. Values add up by construction; what is not there says why.
        max_evals : int or "auto"
            Coalitions that may be evaluated per row, as in shap. Sampling draws ``(max_evals - 2) // (n - 1)``
            orders, or at most as many draws of the background; an exact enumeration of more ideals does not run.
        main_effects : bool
            Also ``nu({i}) - nu({})``, as ``Explanation.main_effects``.
        error_bounds : bool
            Standard errors as ``Explanation.error_std``. Sampled results carry them anyway; exact ones then carry
            zeros.
        batch_size : int or "auto"
            Rows per call of the model; bounds the memory.
        outputs : int, str, slice or list
            Which model outputs to explain: an int is a position, a str a name (so ``"1"`` is the class 1).
        silent : bool
            No progress bar.
        tolerance : float, optional
            Overrides the explainer's ``tolerance``.

        Returns
        -------
        shap.Explanation
            Under a network ``data`` holds positions of states, low to high, and ``display_data`` their labels.
        """
        start = time.time()
        check_call_words(y, interactions, approximate, tree_limit)
        table = read_table(X)
        execution = self._execution_for(table)
        problem = execution.problem
        check_room(len(table), problem.n_features, problem.n_outputs, execution.budget.memory)
        rows = fit_rows(problem, table, self.encoder is not None)
        settings = self._settings(problem, max_evals, batch_size)
        if tolerance is not None:
            check_positive(tolerance, "tolerance")
        attribution = execution.explain(rows, settings, self.tolerance if tolerance is None else tolerance, silent)
        effects = execution.main_effects(rows, settings) if main_effects else None
        error = attribution.error
        if error is None and error_bounds:
            error = np.zeros_like(attribution.phi)
        names = problem.predictor.output_names
        parts = [attribution.phi, np.broadcast_to(attribution.base, (len(rows), len(attribution.base))), error, effects]
        loss = problem.predictor.call.then
        if isinstance(loss, RowLoss):
            parts, names = loss_of_targets(parts, *loss.of(y, len(rows))), None
        arrays, names, single = select_outputs(parts, names, outputs)
        return build_explanation(
            arrays[0],
            arrays[1],
            *shown_players(problem, rows, table),
            names,
            arrays[2],
            arrays[3],
            single,
            time.time() - start,
        )

    def shap_values(
        self,
        X: Any,
        y: Any = None,
        tree_limit: int | None = None,
        approximate: bool = False,
        check_additivity: bool = True,
        from_call: bool = False,
        **kwargs: Any,
    ) -> np.ndarray:
        """Only the values: (n, p) or (n, p, k); a single bare row gives (p,) or (p, k). Words as in a call."""
        words = {"check_additivity": check_additivity, "approximate": approximate, "tree_limit": tree_limit, **kwargs}
        values = np.asarray(self(X, y, **words).values)
        return values[0] if read_table(X).single else values

    def shap_interaction_values(self, X: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """A method of ``shap.TreeExplainer``: there are no interaction values here, and the error says why."""
        return np.asarray(self(X, interactions=True).values)

    @property
    def expected_value(self) -> Any:
        """The value of the empty coalition: a float (``[0]`` is itself), or an array with one entry per output.

        With ``model_output="log_loss"`` it is a function of the target, as in shap.
        """
        if self._expected_value is None:
            execution = self._known_execution()
            problem = execution.problem
            base = execution.base(self._settings(problem), any_row(problem), self.silent)
            single = problem.predictor.output_names is None and len(base) == 1
            self._expected_value = SingleValue(base[0]) if single else base
            if isinstance(loss := problem.predictor.call.then, RowLoss):
                self._expected_value = ExpectedLoss(base, loss)
        return self._expected_value

    # --- questions that shap's explainers do not ask: beside explanations ------------------------------------------

    def plan(self, X: Any = None, max_evals: int | str = "auto") -> Plan:
        """Which backend would explain X, why, and at what cost; ``print`` it. X may also be a number of rows.

        Without X, once rows were explained: the plan of that call, with what was drawn and what error was reached.
        """
        if X is None or isinstance(X, (int, np.integer)):
            n_rows = 1 if X is None else check_count(X, "X", "a number of rows")
            execution = self._known_execution()
            if X is None and max_evals == "auto" and execution.last_plan is not None:
                return execution.last_plan
        else:
            table = read_table(X)
            execution, n_rows = self._execution_for(table), len(table)
        return execution.settle(self._settings(execution.problem, max_evals), n_rows)[0]

    def symmetric(self) -> Any:
        """The same explainer without causal constraints: ordinary Shapley values under the same distribution.

        Of causal values (``values="causal"``) these are the causal Shapley values of Heskes and others (2020).
        """
        problem = self._known_execution().problem
        order = edgeless_order(problem.names, levels_of(self.causal_graph))
        obstacle = conditioning_obstacle(replace(problem, order=order))
        if self.values != "causal" and obstacle is not None:
            raise MethodNotApplicableError(
                f"symmetric values ask for all coalitions: {obstacle}. compare(X) fits such a background for SHAP"
            )
        return self._derived(causal_graph=order)

    def _derived(self, **changes: Any) -> Any:
        """The explainer that differs from this one in ``changes`` alone: in all else a question inherits it.

        The features are those of this explainer; what was fitted to a table stays, unless ``masker`` is changed.
        """
        problem = self._known_execution().problem
        # a table as it was given, with the types of its columns; shap's masker of it has none
        masker = self._given if self._table is None else self.masker
        arguments = {**self._constructor_arguments(), "masker": masker, "seed": self._entropy}
        if self._distribution.named or self._distribution.of_model:
            arguments["feature_names"] = list(problem.background.features)
        with catch_warnings():  # said of this explainer already
            simplefilter("ignore", CausalGraphWarning)
            return type(self)(**{**arguments, **changes})

    def _any_set_background(self, problem: Problem, silent: bool) -> fitting.StandIn | None:
        """A background for all coalitions, in place of the problem's; None where that one conditions on any set."""
        asked = replace(self._asked, feature_names=None, causal_graph=None, silent=silent)
        return fitting.any_set_background(problem, self._table, asked)

    def compare(self, X: Any, methods: Sequence[str] | None = None, **call: Any) -> Comparison:
        """SHAP and ASV of X side by side, or other ``methods`` by name: see :func:`shap_asv.compare`.

        A dict gives them names of the user's, and its values may be causal graphs, too:
        ``{"past first": "ASV", "recent first": CausalOrder.from_time(times, "recent first")}``.

        Where the background cannot condition on the sets that SHAP asks for, one that can is fitted to draws from it.
        """
        return compare_methods(self, X, methods, call)

    def effects(self, X: Any, outputs: Any = None, silent: bool = False) -> Effects:
        """Direct and indirect parts of the causal values of X: what a feature does by itself, and through its effects.

        Parameters
        ----------
        X : table
        outputs : optional
            As in a call of the explainer.

        Returns
        -------
        Effects
            ``direct`` and ``indirect``, two ``shap.Explanation`` whose values add up to the causal ones. For
            ``shap_asv.plots.comparison``.

        Examples
        --------
        >>> from shap_asv import AsymmetricExplainer, load_network
        >>> names = ["Smoker", "Cancer", "Xray"]
        >>> explainer = AsymmetricExplainer(
        ...     lambda X: 1.0 * (X["Xray"] == "positive"), load_network("cancer"), feature_names=names, values="causal"
        ... )
        >>> direct, indirect = explainer.effects([["True", "True", "positive"]])
        >>> direct.values.round(3).tolist(), indirect.values.round(3).tolist()
        ([[0.0, 0.0, 0.1]], [[0.014, 0.678, 0.0]])
        """
        execution = self._without_targets(self._execution_for(read_table(X)), "effects(X)")
        return measure_effects(execution, self._settings, X, self.encoder, outputs, silent)

    def bootstrap(self, X: Any, n: int = 20, data: Any = None, choose: bool = False, **call: Any) -> Bootstrap:
        """Standard errors that include the fit: n times, resample the table, fit it again, explain X again.

        All else is as in this explainer: ``values=``, the graph, groups, link, ... Background rows are resampled, too.
        ``data`` is the table where the explainer does not have it (loaded from a file). Each fit takes over which
        background and which kinds of mechanisms were chosen for the whole table; with ``choose=True`` every resample
        chooses by itself, which adds the error of the choice and takes several times as long. Costs n fits.
        """
        return bootstrap_values(self, X, n, data, choose, call)

    def sensitivity(self, X: Any, graphs: Any = "edges", outputs: Any = None, silent: bool = False) -> Sensitivity:
        """X under other graphs: all that differ in one edge, or any that ``causal_graph=`` takes.

        nu is computed once for all graphs, but for causal values of which the graph says what ``do()`` does: each
        graph then has values of its own. Where graphs ask for coalitions that the background cannot condition on, all
        are explained over one that can, fitted to the same table; the result says so.
        """
        table = read_table(X)
        self._without_targets(self._execution_for(table), "sensitivity(X)")
        return measure_sensitivity(self, table, X, graphs, outputs, silent)

    def importance(self, X: Any, y: Any, loss: Any = "auto", n_bootstrap: int = 200, silent: bool = False) -> Any:
        """How much each feature lowers the loss, over all rows: asymmetric SAGE.

        ``importance_i = mean over rows of sum over S of W[S, i] v(S)`` with ``v(S) = -loss(nu(S), y)``; they add up to
        the loss of knowing nothing minus the loss of the model. Exact where coalitions and nu are; a loss has to see nu
        of every coalition, so that it costs what a link costs.

        Parameters
        ----------
        X, y : table and targets
            A target for each row: a number, or the class.
        loss : "log", "squared", "probability" or callable
            ``"auto"`` is ``"log"`` (of the true class) where outputs have names, else ``"squared"``. ``"probability"``
            is Frye's global ASV: what each feature adds to the mean probability of the true class. A callable gets
            expected outputs (q, k), or (q,), and targets (q,), and returns losses (q,).
        n_bootstrap : int
            Resamples of the rows for the standard error, which also has the error of sampled orders and draws.

        Returns
        -------
        shap.Explanation
            One value per player, ``error_std``, and ``base_values``: minus the loss of knowing nothing. For
            ``shap.plots.bar``.

        Examples
        --------
        >>> import numpy as np
        >>> from shap_asv import AsymmetricExplainer
        >>> rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> explainer = AsymmetricExplainer(lambda X: 2 * X[:, 0] + X[:, 1], rows)
        >>> explainer.importance(rows, rows @ [2, 1]).values.tolist()
        [1.0, 0.25]
        """
        n_bootstrap = check_count(n_bootstrap, "n_bootstrap", "a number of resamples", least=2)
        table = read_table(X)
        execution = self._without_targets(self._execution_for(table), "importance(X, y)")
        settings, encoded = self._settings(execution.problem), self.encoder is not None
        if isinstance(loss, str) and loss == "auto":
            loss = usual_loss(execution.problem, self.model)
        return measure_importance(execution, table, y, settings, loss, n_bootstrap, encoded, silent)

    @staticmethod
    def _without_targets(execution: Execution, question: str) -> Execution:
        """The execution; an error where what is explained is the loss of targets, which ``question`` does not take."""
        if isinstance(execution.problem.predictor.call.then, RowLoss):
            raise MethodNotApplicableError(
                f"model_output='log_loss' is the loss of the target of each row, and {question} does not look at "
                "one; make the explainer with another model_output=, or ask explainer(X, y)"
            )
        return execution

    @property
    def causal_order(self) -> Any:
        """The :class:`CausalOrder` or :class:`GraphMixture` of the features."""
        return self._known_execution().problem.order

    # --- saving -----------------------------------------------------------------------------------------------

    def save(self, out_file: Any, model_saver: Any = None, masker_saver: Any = None) -> None:
        """Write the explainer to a binary stream or a path. Loading it again runs code, as with every pickle.

        ``model_saver(model, stream)`` and ``masker_saver(masker, stream)`` write these themselves, as in shap, and
        the loaders of :meth:`load` read them back.
        """
        arguments = self._constructor_arguments()
        if arguments["seed"] is None:
            arguments["seed"] = self._entropy
        stored = self._distribution.stored()
        save_explainer(out_file, type(self), arguments, stored, model=model_saver, masker=masker_saver)

    @classmethod
    def load(cls, in_file: Any, model_loader: Any = None, masker_loader: Any = None, instantiate: bool = True) -> Any:
        """Read an explainer that ``save`` wrote, from a binary stream or a path. Only load files you trust.

        ``model_loader(stream)`` and ``masker_loader(stream)`` read what the savers of :meth:`save` wrote.
        """
        return load_explainer(in_file, cls, instantiate, model=model_loader, masker=masker_loader)

    def _constructor_arguments(self) -> dict[str, Any]:
        names = list(inspect.signature(AsymmetricExplainer.__init__).parameters)[1:]
        return {name: self._words.get(name, getattr(self, name)) for name in names}  # each is kept under its own name

    # --- from arguments to a problem --------------------------------------------------------------------------

    def _executing(self, problem: Problem) -> Execution:
        own_graph = problem.background.graph is not None and self.causal_graph is None
        return Execution(problem, self.algorithm, Budget(self.budget, self.memory_limit), self.n_jobs, own_graph)

    def _execution_for(self, table: Table) -> Execution:
        if self._execution is None:
            self._execution = self._executing(assemble_for_rows(self._asked, self._distribution, table))
        return self._execution

    def _known_execution(self) -> Execution:
        if self._execution is None:
            raise RowsError(
                "which nodes of the network are features is not known yet; pass feature_names=[...] to the explainer, "
                "or explain a DataFrame first"
            )
        return self._execution

    def _settings(self, problem: Problem, max_evals: int | str = "auto", batch_size: int | str = "auto") -> Settings:
        settings = Settings(self.n_orders, self.n_draws, self._entropy, 65_536, self.ideal_limit)
        return settings_of_call(settings, problem.n_players, max_evals, batch_size)


def compare(
    model: Any, masker: Any, X: Any, causal_graph: Any = None, methods: Sequence[str] | None = None, **options: Any
) -> Comparison:
    """Explain the rows of X with several methods: by default once with and once without the causal graph.

    Parameters
    ----------
    model, masker, causal_graph
        As in :class:`~shap_asv.AsymmetricExplainer`.
    X : table
        The rows to explain.
    methods : list of str, optional
        ``"SHAP"`` (all orders) and ``"ASV"`` (the causal graph's), each alone or with one of ``"conditional"``,
        ``"causal"`` and ``"marginal"`` before it. By default marginal SHAP and ASV where ``masker`` is a table with a
        causal graph, else SHAP and ASV, with the adjective of ``values=``.
    **options
        Further arguments of :class:`~shap_asv.AsymmetricExplainer`, and of its call (``outputs``, ``max_evals``, ...).

    Returns
    -------
    Comparison
        With one ``shap.Explanation`` for each method; ``print`` it, or hand it to ``shap_asv.plots``. Where a
        background cannot condition on the sets that SHAP asks for, one that can is fitted to the same table, or to
        draws from it. Conditional and causal values of a table start from its own mean prediction.

    Examples
    --------
    >>> from shap_asv import compare, load_network
    >>> def model(X):
    ...     return 1.0 * (X["Dyspnoea"] == "True")
    >>> row, names = [["low", "True", "positive", "True"]], ["Pollution", "Smoker", "Xray", "Dyspnoea"]
    >>> result = compare(model, load_network("cancer"), row, feature_names=names)
    >>> result.to_frame(row=0)[["SHAP", "ASV"]].round(3).loc["Dyspnoea"].tolist()
    [0.68, 0.673]
    >>> several = ["SHAP", "marginal SHAP", "causal SHAP", "ASV"]
    >>> compare(model, load_network("cancer"), row, feature_names=names, methods=several)  # doctest: +ELLIPSIS
    SHAP, marginal SHAP, causal SHAP and ASV of 1 row: mean |value| per feature, causes first
                SHAP marginal SHAP causal SHAP    ASV ASV - SHAP
    Pollution 0.0007        0.0000      0.0003 0.0007    +0.0000
    Smoker    0.0070        0.0000      0.0036 0.0071    +0.0001
    Xray      0.0099        0.0000      0.0000 0.0161    +0.0063
    Dyspnoea  0.6797        0.6959      0.6927 0.6734    -0.0064
    SHAP over: conditional on a Bayesian network of 5 nodes, latent: Cancer
    ...
    """
    call = {name: options.pop(name) for name in CALL_ARGUMENTS if name in options}
    return AsymmetricExplainer(model, masker, causal_graph, **options).compare(X, methods=methods, **call)
