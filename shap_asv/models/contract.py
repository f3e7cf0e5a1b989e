"""A model as the rest of the package sees it, whatever its rows are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Protocol

import numpy as np

from shap_asv.models.calls import ModelCall
from shap_asv.models.products import SumOfProducts

if TYPE_CHECKING:
    from shap_asv.models.trees.form import TreeForm


@dataclass(frozen=True, eq=False)
class Affine:
    """``M(x) = offset + x @ weights`` over rows of numbers: weights (n, k), offset (k,)."""

    weights: np.ndarray
    offset: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Rows (r, n) -> (r, k)."""
        return np.asarray(rows, dtype=np.float64) @ self.weights + self.offset


class Predictor(Protocol):
    """A model over rows, and what is known of its inside.

    Attributes
    ----------
    n_outputs : int
    output_names : list of str or None
        The caller's names, or the classes of a classifier; None where they have no names.
    kind : str
        ``"tree"``, ``"linear"`` or ``"black box"``.
    products : SumOfProducts or None
        The model as a sum of products of one-feature functions over states, verified against the model.
    affine : Affine or None
        The model as an affine function of rows of numbers, verified against the model.
    trees : TreeForm or None
        The model as an ensemble of trees over rows of numbers, verified against the model.
    call : ModelCall
        The function of the model that is explained.
    reason : str
        Why none of these is known, a sentence for the plan; empty otherwise.
    evaluated : str
        How its answers come about where the model itself is not called, for the plan; empty otherwise.
    """

    @property
    def n_outputs(self) -> int: ...
    @property
    def output_names(self) -> list[str] | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def products(self) -> SumOfProducts | None: ...
    @property
    def affine(self) -> Affine | None: ...
    @property
    def trees(self) -> Optional["TreeForm"]: ...
    @property
    def call(self) -> ModelCall: ...
    @property
    def reason(self) -> str: ...
    @property
    def evaluated(self) -> str: ...
    @property
    def batch_size(self) -> int | None: ...

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """M at rows (q, n) -> float64 (q, k), finite."""
        ...

    def seconds(self, n_rows: int, n_calls: int) -> float:
        """What asking the model about so many rows in so many calls will take."""
        ...


@dataclass(frozen=True)
class Form:
    """What a value method reads of a model; ``what`` completes the sentence "the model is not ..."."""

    attribute: str | None
    kinds: tuple[str, ...]
    what: str

    def obstacle(self, predictor: Predictor) -> str | None:
        if self.attribute is None:
            return None
        if getattr(predictor, self.attribute) is None:
            return predictor.reason or f"the model is not {self.what}"
        return None if predictor.kind in self.kinds else f"the model is not {self.what}"


BLACK_BOX = Form(None, (), "a model")
TREES = Form("products", ("tree",), "a tree ensemble")
LINEAR = Form("products", ("linear",), "linear")
PRODUCTS = Form("products", ("tree", "linear"), "a tree ensemble or linear")
ENSEMBLE = Form("trees", ("tree",), "a tree ensemble that is read")
AFFINE = Form("affine", ("linear",), "linear in its numbers")
