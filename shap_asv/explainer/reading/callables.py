"""Functions that users hand in, held to what the rest of the package takes for granted.

A link has to map an array of numbers to as many numbers. A model has to be a function of the row alone: one that draws
random numbers, or that looks at the other rows of its table, would give attributions of nothing in particular.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.errors import ModelError

# Answers that differ by less are rounding: the order of sums may depend on the batch.
_RELATIVE = 1e-4


def is_identity(link: Callable[..., Any]) -> bool:
    """Also after unpickling, when the function is no longer the same object."""
    from shap import links

    return link is links.identity or (
        getattr(link, "__name__", "") == "identity" and getattr(link, "__module__", "") == "shap.links"
    )


@dataclass(frozen=True)
class CheckedLink:
    """The user's link; picklable when it is."""

    function: Callable[..., Any]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """link(values), the same shape; a ModelError when it raises or answers with anything but real numbers."""
        try:
            linked = np.asarray(self.function(values))
        except Exception as error:
            raise ModelError(f"link= raised {type(error).__name__}: {error}") from error
        if linked.dtype.kind not in "biuf" or linked.shape != np.shape(values):
            raise ModelError(
                f"link= answered with {linked.dtype} of shape {linked.shape} to numbers of shape {np.shape(values)}; "
                "it must return one real number for each, such as shap.links.logit"
            )
        return linked.astype(float)


@dataclass(frozen=True)
class OwnLabels:
    """A function of a DataFrame whose columns carry the user's own labels, which need not be strings."""

    function: Callable[..., Any]
    labels: Mapping[str, Any]

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __call__(self, table: Any) -> Any:
        if hasattr(table, "columns"):
            table = table.set_axis([self.labels.get(name, name) for name in table.columns], axis=1)
        return self.function(table)


def with_own_labels(model: Any, labels: Mapping[str, Any]) -> Any:
    """The model; a plain function over nodes that are not strings sees them as they are."""
    estimator = hasattr(model, "predict") or hasattr(model, "predict_proba") or hasattr(model, "__self__")
    return OwnLabels(model, labels) if labels and callable(model) and not estimator else model


def check_repeatable(predict: Callable[[Any], np.ndarray], rows: Any, backwards: Any) -> None:
    """Ask for the same rows again, in reverse; a ModelError when an answer differs."""
    first, second = predict(rows), predict(backwards)[::-1]
    scale = max(np.abs(first).max(initial=0.0), np.abs(second).max(initial=0.0))
    with np.errstate(over="ignore"):
        differ = np.abs(first - second) > _RELATIVE * scale
    if differ.any():
        row, output = np.argwhere(differ)[0]
        raise ModelError(
            f"the model answered the same row with {first[row, output]:.6g} and with {second[row, output]:.6g}; it "
            "must be a function of the row alone: fix its random state, and do not let it look at other rows"
        )
