"""The table of backgrounds: what users may hand over, and who reads it.

A background with the border of a table (:class:`~shap_asv.backgrounds.tables.border.TableBorder`) needs no row of its
own. Another kind of distribution is one new file and one row here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shap_asv.backgrounds import matrix
from shap_asv.backgrounds.covers import CoverDistribution
from shap_asv.backgrounds.discrete import background as discrete
from shap_asv.backgrounds.discrete import fitted
from shap_asv.backgrounds.gaussian.model import is_gaussian, read_gaussian
from shap_asv.backgrounds.naming import Distribution
from shap_asv.backgrounds.structural.model import StructuralModel, read_structural
from shap_asv.backgrounds.tables.border import TableBorder, read_table_background


@dataclass(frozen=True)
class BackgroundKind:
    """A row of the table of backgrounds.

    Attributes
    ----------
    name : str
    recognises : callable (thing) -> bool
        Cheap, and without importing a library. Rows are asked in the order of the table.
    read : callable (given, masker) -> Distribution
        ``given`` is what the user handed in, ``masker`` what shap made of it.
    """

    name: str
    recognises: Callable[[Any], bool]
    read: Callable[[Any, Any], Distribution]


def _is_a(kind: Any) -> Callable[[Any], bool]:
    return lambda thing: isinstance(thing, kind)


BACKGROUNDS: tuple[BackgroundKind, ...] = (
    BackgroundKind("Gaussian", is_gaussian, read_gaussian),
    BackgroundKind("structural model", _is_a(StructuralModel), read_structural),
    BackgroundKind("background of a table", _is_a(TableBorder), read_table_background),
    BackgroundKind("fitted network", _is_a(fitted.FittedNetwork), fitted.read_fitted_network),
    BackgroundKind("discrete network", discrete.is_discrete_network, discrete.read_discrete),
    BackgroundKind("no background", lambda thing: thing is None, lambda *_: CoverDistribution()),
    BackgroundKind("background rows", lambda thing: True, matrix.read_matrix),
)


def kind_of(masker: Any) -> BackgroundKind:
    """The first kind that recognises what was handed in; the last row takes what nobody else knows."""
    return next(kind for kind in BACKGROUNDS if kind.recognises(masker))
