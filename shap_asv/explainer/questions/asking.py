"""What an explainer can be asked beside explanations: plans, comparisons, effects, errors of a fit, other graphs, ...

:class:`AsymmetricExplainer` inherits these methods; it brings the arguments and the problem made of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from shap_asv.backends.contract import Problem, Settings
from shap_asv.backgrounds.naming import Distribution
from shap_asv.comparison import Comparison
from shap_asv.errors import ArgumentError
from shap_asv.explainer.questions.bootstrapping import Bootstrap, bootstrap_values
from shap_asv.explainer.questions.comparing import compare_methods
from shap_asv.explainer.questions.effects import Effects, measure_effects
from shap_asv.explainer.questions.importances import measure_importance, usual_loss
from shap_asv.explainer.questions.sensitivities import measure_sensitivity, plan_sensitivity
from shap_asv.explainer.reading.causality import edgeless_order
from shap_asv.explainer.reading.meaning import levels_of
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
    encoder: Any
    values: str
    _entropy: int
    _table: Any
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
            return plan_sensitivity(execution, n_rows, settings, graphs, self.causal_graph)
        return execution.settle(settings, n_rows)[0]

    def symmetric(self) -> Any:
        """The same explainer without causal constraints: ordinary Shapley values under the same distribution.

        Of causal values (``values="causal"``) these are the causal Shapley values of Heskes and others (2020).
        """
        # a table as it was given, with the types of its columns; shap's masker of it has none
        return self._symmetric_over(self._given if self._table is None else self.masker)

    def _symmetric_over(self, masker: Any) -> Any:
        problem = self._known_execution().problem
        arguments = {**self._constructor_arguments(), "masker": masker, "orders": None, "weights": None}
        arguments["causal_graph"] = edgeless_order(problem.names, levels_of(self.causal_graph))
        if self._distribution.named or self._distribution.of_model:
            arguments["feature_names"] = list(problem.background.features)
        return type(self)(**arguments)

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

    def bootstrap(self, X: Any, n: int = 20, data: Any = None, **call: Any) -> Bootstrap:
        """Standard errors that include the fit: n times, resample the table, fit it again, explain X again.

        ``data`` is the table where the explainer does not have it (loaded from a file). Costs n fits.
        """
        arguments = {**self._constructor_arguments(), "seed": self._entropy}
        table = self._table if data is None else data
        return bootstrap_values(type(self), arguments, self(X, **call), table, n, X, call)

    def sensitivity(self, X: Any, graphs: Any = "edges", outputs: Any = None, silent: bool = False) -> Sensitivity:
        """X under other graphs: all that differ in one edge, or any that ``causal_graph=`` takes; nu computed once."""
        table = read_table(X)
        execution, encoded = self._execution_for(table), self.encoder is not None
        settings = self._settings(execution.problem)
        return measure_sensitivity(execution, table, settings, graphs, self.causal_graph, encoded, outputs, silent)

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
