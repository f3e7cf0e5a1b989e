"""The explainer's numbers and words: checked before any work starts, and turned into the backends' settings."""

from dataclasses import replace
from typing import Any

import numpy as np

from shap_asv.backends.contract import Settings
from shap_asv.errors import BudgetExceededError, ShapAsvError, UnknownMethodError
from shap_asv.planning import check_algorithm


def check_options(
    masker: Any,
    causal_graph: Any,
    orders: Any,
    weights: Any,
    algorithm: str,
    impossible: str,
    seed: Any,
    n_jobs: Any,
    tolerance: Any,
    **positive: Any,
) -> None:
    """Raise on the first argument of the explainer that is out of its range or contradicts another one."""
    if masker is None:
        raise ValueError("masker cannot be None.")
    if orders is not None and causal_graph is not None:
        raise UnknownMethodError("pass causal_graph= or orders=, not both: each says which orders count")
    if weights is not None and orders is None:
        raise UnknownMethodError("weights= goes with orders=: one weight for each order")
    if impossible not in ("raise", "relax"):
        raise UnknownMethodError(f"unknown impossible={impossible!r}; use 'raise' or 'relax'")
    check_positive(**positive)
    if tolerance is not None:
        check_positive(tolerance=tolerance)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ShapAsvError(f"n_jobs={n_jobs!r} must be a number of processes, or -1 for all cores")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
        raise ShapAsvError(f"seed={seed!r} must be a whole number >= 0, or None")
    check_algorithm(algorithm)


def check_positive(**arguments: Any) -> None:
    """Raise on the first argument that is no number above zero."""
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not value > 0:
            raise ShapAsvError(f"{name}={value!r} must be a number > 0")


def settings_of_call(settings: Settings, n_features: int, max_evals: int | str, batch_size: int | str) -> Settings:
    """The explainer's settings with what one call overrides."""
    if batch_size != "auto":
        check_positive(batch_size=batch_size)
        settings = replace(settings, batch_size=int(batch_size))
    if max_evals != "auto":
        check_positive(max_evals=max_evals)
        fewest = 2 * (n_features - 1) + 2
        if int(max_evals) < fewest:
            raise BudgetExceededError(
                f"max_evals={max_evals} is too low for {n_features} features: two orders need {fewest}"
            )
        n_orders = (int(max_evals) - 2) // max(1, n_features - 1)
        settings = replace(settings, n_orders=n_orders, ideal_limit=min(settings.ideal_limit, int(max_evals)))
    return settings
