"""The explainer's numbers and words: checked before any work starts, and turned into the backends' settings."""

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.backends.contract import Settings
from shap_asv.errors import BudgetExceededError, ShapAsvError, UnknownFeatureError, UnknownMethodError
from shap_asv.orders.sampling import METHODS
from shap_asv.planning import check_algorithm

VALUES = ("auto", "conditional", "causal", "marginal")


def check_arguments(causal_graph: Any, orders: Any, weights: Any) -> None:
    """Raise where arguments of the explainer contradict one another."""
    if orders is not None and causal_graph is not None:
        raise UnknownMethodError("pass causal_graph= or orders=, not both: each says which orders count")
    if weights is not None and orders is None:
        raise UnknownMethodError("weights= goes with orders=: one weight for each order")


def check_options(**given: Any) -> None:
    """Raise on the first option that is not what the table of checks allows."""
    for name, value in given.items():
        CHECKS[name](name, value)


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


def check_positive(**arguments: Any) -> None:
    """Raise on the first argument that is not a number above zero."""
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not value > 0:
            raise ShapAsvError(f"{name}={value!r:.80} must be a number > 0")


def check_whole(**arguments: Any) -> None:
    """Raise on the first argument that is not a whole number above zero."""
    for name, value in arguments.items():
        if not _is_whole(value) or value < 1:
            raise ShapAsvError(f"{name}={value!r:.80} must be a whole number > 0")


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def check_values(name: str, values: Any) -> None:
    """Raise where ``values`` is not one of the words."""
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


def _check_link(name: str, link: Any) -> None:
    if not callable(link):
        raise TypeError(f"link={link!r:.80} needs to be callable, such as shap.links.logit")


def _check_impossible(name: str, impossible: Any) -> None:
    if impossible not in ("raise", "relax"):
        raise UnknownMethodError(f"unknown impossible={impossible!r}; use 'raise' or 'relax'")


def _check_order_method(name: str, method: Any) -> None:
    if not isinstance(method, str) or method not in ("auto", *METHODS):
        raise UnknownMethodError(f"unknown order_method={method!r}; use {', '.join(['auto', *METHODS])}")


def _check_jobs(name: str, n_jobs: Any) -> None:
    if n_jobs is not None and (not _is_whole(n_jobs) or n_jobs == 0):
        raise ShapAsvError(f"n_jobs={n_jobs!r} must be a number of processes, -1 for all cores, or None")


def _check_seed(name: str, seed: Any) -> None:
    if seed is not None and (not _is_whole(seed) or seed < 0):
        raise ShapAsvError(f"seed={seed!r} must be a whole number >= 0, or None")


def _check_tolerance(name: str, tolerance: Any) -> None:
    if tolerance is not None:
        check_positive(tolerance=tolerance)


def _check_positive(name: str, value: Any) -> None:
    check_positive(**{name: value})


def _check_whole(name: str, value: Any) -> None:
    check_whole(**{name: value})


#: The options of an explainer and what each may be; their defaults stand in its signature.
CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "link": _check_link,
    "impossible": _check_impossible,
    "order_method": _check_order_method,
    "tolerance": _check_tolerance,
    "n_jobs": _check_jobs,
    "seed": _check_seed,
    "algorithm": lambda name, value: check_algorithm(value),
    "budget": _check_positive,
    "memory_limit": _check_positive,
    "n_orders": _check_whole,
    "n_draws": _check_whole,
    "ideal_limit": _check_whole,
    "values": check_values,
}


def settings_of_call(settings: Settings, n_features: int, max_evals: int | str, batch_size: int | str) -> Settings:
    """The explainer's settings with what one call overrides."""
    if not _is_auto(batch_size):
        check_whole(batch_size=batch_size)
        settings = replace(settings, batch_size=int(batch_size))
    if not _is_auto(max_evals):
        check_whole(max_evals=max_evals)
        fewest = 2 * (n_features - 1) + 2
        if int(max_evals) < fewest:
            raise BudgetExceededError(
                f"max_evals={max_evals} is too low for {n_features} features: two orders need {fewest}"
            )
        n_orders = (int(max_evals) - 2) // max(1, n_features - 1)
        settings = replace(settings, n_orders=n_orders, ideal_limit=min(settings.ideal_limit, int(max_evals)))
    return settings
