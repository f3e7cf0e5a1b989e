"""Backgrounds that users make themselves, and hand in: Gaussians and structural models.

Each knows its variables by name, and can be narrowed to the features that a model looks at.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from shap_asv.backgrounds.gaussian.model import GaussianModel
from shap_asv.backgrounds.gaussian.networks import is_linear_gaussian
from shap_asv.backgrounds.matrix import numbered_features
from shap_asv.backgrounds.naming import NamedDistribution
from shap_asv.backgrounds.structural.background import StructuralBackground
from shap_asv.backgrounds.structural.model import StructuralModel
from shap_asv.errors import NetworkError


def is_gaussian(thing: Any) -> bool:
    """One of ours, pgmpy's linear Gaussian network, or shap's ``(mean, covariance)``."""
    return isinstance(thing, (GaussianModel, tuple)) or is_linear_gaussian(thing)


def read_gaussian(given: Any, masker: Any) -> NamedDistribution:
    model = GaussianModel.read_as(given)
    if model is None:
        raise NetworkError(
            f"a tuple of {len(given)} is not a background; shap's spelling is (mean, covariance), a vector and a matrix"
        )
    unnamed = model.names == tuple(numbered_features(len(model.names)))
    build = partial(_renamed, model) if unnamed else model.only
    words = ("a variable of the Gaussian", "its variables are")
    return NamedDistribution(model.features, build, words, given, model.features, renamable=unnamed)


def _renamed(model: GaussianModel, features: Sequence[str], impossible: str) -> GaussianModel:
    """Variables without names, called as the features are."""
    if set(features) <= set(model.features):
        return model.only(features, impossible)
    return GaussianModel(model.mean, model.covariance, tuple(features), impossible=impossible)


def read_structural(given: StructuralModel | StructuralBackground, masker: Any) -> NamedDistribution:
    """Nodes that are not features are latent: which ones are, the model or X says, if the user has not said it."""
    if isinstance(given, StructuralBackground):
        words = ("a feature of the structural model", "its features are")
        return NamedDistribution(given.features, given.only, words, given, features_by_default=given.features)
    words = ("a node of the structural model", "its nodes are")
    return NamedDistribution(given.nodes, partial(_structural, given), words, given)


def _structural(model: StructuralModel, features: Sequence[str], impossible: str) -> StructuralBackground:
    return model.background(features)
