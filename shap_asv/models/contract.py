"""A model as the rest of the package sees it, and what value methods read of its inside."""

from collections.abc import Callable
from dataclasses import dataclass

from shap_asv.models.predictor import Predictor

__all__ = ["AFFINE", "BLACK_BOX", "ENSEMBLE", "LINEAR", "PRODUCTS", "TREES", "Form", "Predictor"]


@dataclass(frozen=True)
class Form:
    """What a value method reads of a model; ``what`` completes the sentence "the model is not ..."."""

    read: Callable[[Predictor], object]
    kinds: tuple[str, ...]
    what: str

    def obstacle(self, predictor: Predictor) -> str | None:
        if self.read(predictor) is None:
            return predictor.reason or f"the model is not {self.what}"
        return None if not self.kinds or predictor.kind in self.kinds else f"the model is not {self.what}"


BLACK_BOX = Form(lambda model: model, (), "a model")
TREES = Form(lambda model: model.products, ("tree",), "a tree ensemble")
LINEAR = Form(lambda model: model.products, ("linear",), "linear")
PRODUCTS = Form(lambda model: model.products, ("tree", "linear"), "a tree ensemble or linear")
ENSEMBLE = Form(lambda model: model.trees, ("tree",), "a tree ensemble that is read")
AFFINE = Form(lambda model: model.affine, ("linear",), "linear in its numbers")
