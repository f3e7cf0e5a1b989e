"""Whoever learns a graph from a table: a function, an estimator with ``fit``, or a class that takes the table.

| what | how it is called | examples |
|---|---|---|
| estimator with ``fit`` | a copy is fitted; its ``causal_graph_`` is the graph | pgmpy.causal_discovery |
| object with ``learn`` | a copy learns; its ``causal_matrix`` is the graph | gCastle |
| class with ``estimate`` | ``learner(table).estimate()`` | pgmpy.estimators |
| function | ``learner(table)`` is the graph | ``lambda table: pc(table.to_numpy())`` of causal-learn |

Progress bars and processes of a learner are switched off where it has a switch: resamples are what runs in parallel.
"""

import copy
import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from shap_asv.errors import ArgumentError

Edge = tuple[Hashable, Hashable]
QUIET = {"show_progress": False, "n_jobs": 1}


def check_learner(learner: Any) -> None:
    """An :class:`~shap_asv.errors.ArgumentError` for what is none of the above."""
    if not any(callable(getattr(learner, name, None)) for name in ("fit", "learn")) and not callable(learner):
        raise ArgumentError(
            f"learner={learner!r:.60} cannot learn a graph; pass a function of the table that returns one, or an "
            "estimator such as pgmpy.causal_discovery.PC()"
        )


def learn(learner: Any, data: Any, required: Sequence[Edge] = (), forbidden: Sequence[Edge] = ()) -> Any:
    """The graph that ``learner`` finds in ``data``, as it returns it.

    Learners of pgmpy that take expert knowledge are told of ``required`` and ``forbidden`` edges.
    """
    if isinstance(learner, type):
        maker = learner(data)
        return maker.estimate(**_extras(maker.estimate, required, forbidden)) if hasattr(maker, "estimate") else maker
    if callable(getattr(learner, "fit", None)):
        own = _quiet_copy(learner, required, forbidden)
        fitted = own.fit(data)
        return getattr(own, "causal_graph_", fitted)
    if callable(getattr(learner, "learn", None)):
        own = copy.deepcopy(learner)
        own.learn(data.to_numpy() if hasattr(data, "to_numpy") else data)
        return own.causal_matrix
    return learner(data)


def _quiet_copy(learner: Any, required: Sequence[Edge], forbidden: Sequence[Edge]) -> Any:
    if not hasattr(learner, "get_params"):
        return copy.deepcopy(learner)
    from sklearn.base import clone

    own = clone(learner)
    known = own.get_params(deep=False)
    changes = {name: value for name, value in QUIET.items() if name in known}
    if (required or forbidden) and known.get("expert_knowledge", ...) is None:
        changes["expert_knowledge"] = _knowledge(required, forbidden)
    return own.set_params(**changes)


def _extras(method: Callable[..., Any], required: Sequence[Edge], forbidden: Sequence[Edge]) -> dict[str, Any]:
    known = inspect.signature(method).parameters
    extras = {name: value for name, value in QUIET.items() if name in known}
    if (required or forbidden) and "expert_knowledge" in known:
        extras["expert_knowledge"] = _knowledge(required, forbidden)
    return extras


def _knowledge(required: Sequence[Edge], forbidden: Sequence[Edge]) -> Any:
    from shap_asv.backgrounds.pgmpy_networks import expert_knowledge

    return expert_knowledge(required, forbidden)
