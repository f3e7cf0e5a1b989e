"""The explainer's numbers and words: checked before any work starts, and turned into the backends' settings."""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.backends.contract import Settings
from shap_asv.errors import BudgetExceededError, ShapAsvError, UnknownFeatureError, UnknownMethodError
from shap_asv.orders.sampling import METHODS
from shap_asv.planning import check_algorithm


def check_options(
    masker: Any,
    causal_graph: Any,
    link: Any,
    orders: Any,
    weights: Any,
    algorithm: str,
    impossible: str,
    order_method: str,
    seed: Any,
    n_jobs: Any,
    tolerance: Any,
) -> None:
    """Raise on the first argument of the explainer that is out of its range or contradicts another one."""
    if not callable(link):
        raise TypeError(f"link={link!r:.80} needs to be callable, such as shap.links.logit")
    if orders is not None and causal_graph is not None:
        raise UnknownMethodError("pass causal_graph= or orders=, not both: each says which orders count")
    if weights is not None and orders is None:
        raise UnknownMethodError("weights= goes with orders=: one weight for each order")
    if impossible not in ("raise", "relax"):
        raise UnknownMethodError(f"unknown impossible={impossible!r}; use 'raise' or 'relax'")
    if not isinstance(order_method, str) or order_method not in ("auto", *METHODS):
        raise UnknownMethodError(f"unknown order_method={order_method!r}; use {', '.join(['auto', *METHODS])}")
    if tolerance is not None:
        check_positive(tolerance=tolerance)
    if n_jobs is not None and (not _is_whole(n_jobs) or n_jobs == 0):
        raise ShapAsvError(f"n_jobs={n_jobs!r} must be a number of processes, -1 for all cores, or None")
    if seed is not None and (not _is_whole(seed) or seed < 0):
        raise ShapAsvError(f"seed={seed!r} must be a whole number >= 0, or None")
    check_algorithm(algorithm)


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
