"""What an explainer can be asked beside explanations: plans, comparisons, effects, errors of a fit, other graphs, ...

:class:`AsymmetricExplainer` inherits these methods; it brings the arguments and the problem made of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from shap_asv.backends.conditioning import conditioning_obstacle
from shap_asv.backends.contract import Problem, Settings
from shap_asv.backgrounds.naming import Distribution
from shap_asv.comparison import Comparison
from shap_asv.errors import ArgumentError, CausalGraphWarning, MethodNotApplicableError
from shap_asv.explainer.questions.bootstrapping import Bootstrap, bootstrap_values
from shap_asv.explainer.questions.comparing import compare_methods
from shap_asv.explainer.questions.effects import Effects, measure_effects
from shap_asv.explainer.questions.importances import measure_importance, usual_loss
from shap_asv.explainer.questions.sensitivities import measure_sensitivity, plan_sensitivity
from shap_asv.explainer.reading.causality import edgeless_order, levels_of
from shap_asv.explainer.reading.fitting import Purpose
from shap_asv.explainer.reading.options import check_whole
from shap_asv.explainer.reading.rows import Table, read_table
from shap_asv.explainer.running.execution import Execution
from shap_asv.planning import Plan
from shap_asv.sensitivity import Sensitivity


class Questions(ABC):
    """The methods that shap's explainers do not have, over what an explainer brings: its arguments and its problem."""

    model: Any
    masker: Any
    model_output: str
    causal_graph: Any
    orders: Any
    impossible: str
    encoder: Any
    values: str
    _entropy: int
    _table: Any
    _words: dict[str, Any]
    _given: Any
    _distribution: Distribution

    @abstractmethod
    def __call__(self, X: Any, *args: Any, **call: Any) -> Any: ...
    @abstractmethod
    def _constructor_arguments(self) -> dict[str, Any]: ...
    @abstractmethod
    def _execution_for(self, table: Table) -> Execution: ...
    @abstractmethod
    def _known_execution(self) -> Execution: ...
    @abstractmethod
    def _settings(
        self, problem: Problem, max_evals: int | str = "auto", batch_size: int | str = "auto"
    ) -> Settings: ...

    def plan(self, X: Any = None, max_evals: int | str = "auto", graphs: Any = None) -> Plan:
        """Which backend would explain X, why, and at what cost; ``print`` it. X may also be a number of rows.

        With ``graphs``, ``"edges"`` or any others, the plan of ``sensitivity(X, graphs)``: it says how many coalitions
        are evaluated for all graphs together, and how many it would be one by one.
        """
        if X is None or isinstance(X, (int, np.integer)):
            check_whole(X=1 if X is None else X)
            execution, n_rows = self._known_execution(), 1 if X is None else int(X)
        else:
            table = read_table(X)
            execution, n_rows = self._execution_for(table), len(table)
        settings = self._settings(execution.problem, max_evals)
        if graphs is not None:
            return plan_sensitivity(self, execution, n_rows, settings, graphs)
        return execution.settle(settings, n_rows)[0]

    def symmetric(self) -> Any:
        """The same explainer without causal constraints: ordinary Shapley values under the same distribution.

        Of causal values (``values="causal"``) these are the causal Shapley values of Heskes and others (2020).
        """
        problem = self._known_execution().problem
        order = edgeless_order(problem.names, levels_of(self.causal_graph))
        obstacle = conditioning_obstacle(replace(problem, order=order, given_orders=None, given_weights=None))
        if self.values != "causal" and obstacle is not None:
            raise MethodNotApplicableError(
                f"symmetric values ask for all coalitions: {obstacle}. compare(X) fits such a background for SHAP"
            )
        return self._derived(causal_graph=order, orders=None, weights=None)

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

    def _purpose(self, silent: bool) -> Purpose:
        """What a background for all coalitions has to be good for."""
        return Purpose(self.model, model_output=self._words["model_output"], seed=self._entropy, silent=silent)

    def compare(self, X: Any, methods: Sequence[str] | None = None, **call: Any) -> Comparison:
        """SHAP and ASV of X side by side, or other ``methods`` by name: see :func:`shap_asv.compare`.

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
            ``shap_asv.plots.effects``.

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
        execution = self._execution_for(read_table(X))
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
        return measure_sensitivity(self, read_table(X), X, graphs, outputs, silent)

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
        check_whole(n_bootstrap=n_bootstrap)
        if n_bootstrap < 2:
            raise ArgumentError(f"n_bootstrap={n_bootstrap} resamples have no spread; at least 2 are needed")
        table = read_table(X)
        execution, encoded = self._execution_for(table), self.encoder is not None
        settings = self._settings(execution.problem)
        if isinstance(loss, str) and loss == "auto":
            loss = usual_loss(execution.problem, self.model)
        return measure_importance(execution, table, y, settings, loss, int(n_bootstrap), encoded, silent)

    @property
    def causal_order(self) -> Any:
        """The :class:`CausalOrder` or :class:`GraphMixture` of the features (None when explicit orders are given)."""
        return self._known_execution().problem.order
