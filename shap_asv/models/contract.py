"""A model as the rest of the package sees it, and what value methods read of its inside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from shap_asv.models.predictor import CodedPredictor, PlainPredictor

#: A model over rows of states, or over rows of a table. Where its inside is known, and was verified against the model,
#: it is a sum of products of one-feature functions (``products``), affine (``affine``) or made of trees (``trees``).
Predictor: TypeAlias = CodedPredictor | PlainPredictor


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
