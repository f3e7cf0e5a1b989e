"""The explainer's numbers and words: checked before any work starts, and turned into the backends' settings."""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.arguments import check_count, check_seed, is_number
from shap_asv.backends.contract import Settings
from shap_asv.errors import ArgumentError, BudgetExceededError, UnknownFeatureError, UnknownMethodError
from shap_asv.orders.sampling import METHODS
from shap_asv.planning import check_algorithm

VALUES = ("auto", "conditional", "causal", "marginal")
IMPOSSIBLE = ("raise", "relax")
ORDER_METHODS = ("auto", *METHODS)
#: Numbers above zero, and whole ones with what they count.
AMOUNTS = ("budget", "memory_limit")
COUNTED = {"n_orders": "a number of orders", "n_draws": "a number of draws", "ideal_limit": "a number of coalitions"}


def check_arguments(causal_graph: Any, orders: Any, weights: Any) -> None:
    """Raise where arguments of the explainer contradict one another."""
    if orders is not None and causal_graph is not None:
        raise UnknownMethodError("pass causal_graph= or orders=, not both: each says which orders count")
    if weights is not None and orders is None:
        raise UnknownMethodError("weights= goes with orders=: one weight for each order")


def check_options(
    *,
    link: Any,
    values: Any,
    impossible: Any,
    order_method: Any,
    algorithm: Any,
    seed: Any,
    n_jobs: Any,
    tolerance: Any,
    **numbers: Any,
) -> None:
    """Raise on the first option of an explainer that is not what it may be."""
    if not callable(link):
        raise TypeError(f"link={link!r:.80} needs to be callable, such as shap.links.logit")
    _check_values(values)
    for name, word, known in (("impossible", impossible, IMPOSSIBLE), ("order_method", order_method, ORDER_METHODS)):
        if not isinstance(word, str) or word not in known:
            raise UnknownMethodError(f"unknown {name}={word!r:.80}; use {' or '.join(map(repr, known))}")
    check_algorithm(algorithm)
    if seed is not None:
        check_seed(seed)
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ArgumentError(f"n_jobs={n_jobs!r:.80} must be a number of processes, -1 for all cores, or None")
    check_positive(1.0 if tolerance is None else tolerance, "tolerance")
    for name, number in numbers.items():
        if name in AMOUNTS:
            check_positive(number, name)
        elif name != "n_draws" or number is not None:
            check_count(number, name, COUNTED[name])


def read_names(names: Any, argument: str) -> list[str] | None:
    """A list of names as strings; a single string and a set (which has no order) are errors."""
    if names is None:
        return None
    wanted = f"{argument}= takes a list of names"
    if isinstance(names, (str, bytes, Mapping, Set)):
        raise UnknownFeatureError(f"{wanted}, not a {type(names).__name__}; got {names!r:.80}")
    try:
        listed = [str(name) for name in names]
    except Exception:
        raise UnknownFeatureError(f"{wanted}, not a {type(names).__name__}") from None
    twice = [name for name in listed if listed.count(name) > 1] if len(set(listed)) < len(listed) else []
    if twice:
        raise UnknownFeatureError(f"{twice[0]!r} is named twice in {argument}")
    return listed


def check_positive(value: Any, name: str) -> None:
    """Raise unless it is a number above zero."""
    if not is_number(value) or value <= 0:
        raise ArgumentError(f"{name}={value!r:.80} must be a number > 0")


def _check_values(values: Any) -> None:
    if isinstance(values, str) and values in VALUES:
        return
    known = (
        "values='conditional' (what the coalition holds is known, and tells of the rest), values='causal' (it is set: "
        "do(X_S)) or values='marginal' (shap's: what is hidden does not depend on it)"
    )
    if isinstance(values, str) and values == "interventional":
        raise UnknownMethodError(
            "values='interventional' means two things: in shap it is the marginal expectation, spelled "
            "values='marginal' here, and in causal inference do(X_S), spelled values='causal'"
        )
    raise UnknownMethodError(f"unknown values={values!r:.80}; use {known}, or leave it out")


def settings_of_call(settings: Settings, n_features: int, max_evals: Any, batch_size: Any) -> Settings:
    """The explainer's settings with what one call overrides."""
    if not (isinstance(batch_size, str) and batch_size == "auto"):
        settings = replace(settings, batch_size=check_count(batch_size, "batch_size", "a number of rows"))
    if not (isinstance(max_evals, str) and max_evals == "auto"):
        max_evals = check_count(max_evals, "max_evals", "a number of coalitions")
        fewest = 2 * (n_features - 1) + 2
        if max_evals < fewest:
            raise BudgetExceededError(
                f"max_evals={max_evals} is too low for {n_features} features: two orders need {fewest}"
            )
        n_orders = (max_evals - 2) // max(1, n_features - 1)
        settings = replace(settings, n_orders=n_orders, ideal_limit=min(settings.ideal_limit, max_evals))
    return settings
