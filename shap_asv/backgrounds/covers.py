"""No background at all: the cover counts of a model's own trees, as in ``shap.TreeExplainer(model)``.

    nu(S) = walk down each tree; at a split on a feature of S follow the row, else go both ways, weighted by the shares
            of the training rows that went there

Such a walk is a matter of the trees alone, so there is nothing here that could be drawn, conditioned on or averaged.
What a row is, the model knows: rows are the numbers that its nodes compare, categories and truth values included.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shap_asv.backgrounds.contract import Coding, Conditions
from shap_asv.backgrounds.matrix import columns_in_order, numbered_features
from shap_asv.errors import ShapAsvWarning, UnknownFeatureError, did_you_mean, warn_user
from shap_asv.frames import as_features


@dataclass(frozen=True, eq=False)
class CoverDistribution:
    """The distribution that a tree ensemble remembers of its training; its features are the model's columns.

    ``counted`` are rows whose counts are taken instead.
    """

    counted: Any = None

    named: ClassVar[bool] = False
    of_model: ClassVar[bool] = True

    def known_features(self, given: Sequence[str] | None, known: Sequence[str] | None) -> list[str] | None:
        names = given if given is not None else known
        if given is not None and known is not None and set(given) & set(known):
            # other names altogether are for display
            unknown = [name for name in given if name not in known]
            if unknown:
                hint = did_you_mean(unknown[0], known, f"its columns are {', '.join(map(repr, known))}")
                raise UnknownFeatureError(
                    f"feature {unknown[0]!r} is not a column that the model was fitted on; {hint}"
                )
        return None if names is None else [str(name) for name in names]

    def features_in(self, columns: Sequence[str] | None, n_columns: int) -> list[str]:
        return list(columns) if columns is not None else numbered_features(n_columns)

    def unnamed_features(self, n_columns: int | None) -> list[str] | None:
        return None if n_columns is None else numbered_features(n_columns)

    def background(self, features: Sequence[str]) -> "CoverBackground":
        return CoverBackground(tuple(features), counted=self.counted)

    def stored(self) -> None:
        """Nothing was handed in."""


@dataclass(frozen=True, eq=False)
class CoverBackground:
    """Rows of numbers as the nodes of trees compare them; NaN stands for a missing value."""

    features: tuple[str, ...]
    coding: Coding | None = None
    counted: Any = None

    latent: ClassVar[tuple[str, ...]] = ()
    graph: ClassVar[None] = None
    conditions_on: ClassVar[Conditions] = "any"
    dependent: ClassVar[bool] = False
    free: ClassVar[np.float64] = np.float64("nan")

    def coded(self, coding: Coding) -> "CoverBackground":
        return replace(self, coding=coding)

    def ground(self) -> None:
        """The trees bring their own."""

    def describe(self) -> str:
        of = "the trees" if self.counted is None else f"{len(self.counted)} background rows"
        return f"path-dependent: cover counts of {of}"

    def check(self, rows: np.ndarray) -> None:
        """Every row of numbers goes down the trees."""

    def probe(self) -> np.ndarray:
        """Small whole numbers, which every tree takes, also for categories."""
        return (np.arange(5)[:, None] + np.arange(len(self.features))) % 3.0

    def read(self, table: Any) -> np.ndarray:
        """Numbers, truth values and, where the model learnt from them, categories -> float64 (r, n)."""
        if hasattr(table, "columns"):
            table = self._by_position(table)
        table = columns_in_order(table, self.features, "the model")
        return np.asarray(table, dtype=np.float64) if self.coding is None else self.coding.code(table)

    def _by_position(self, table: Any) -> Any:
        """Columns under other names altogether are those of the model, in its order; spaces may be underscores."""
        names = as_features(map(str, table.columns), self.features)
        table = table.set_axis(names, axis=1)
        others = not set(names) & set(self.features) and len(names) == len(self.features)
        if not others or self.features == tuple(numbered_features(len(names))):
            return table
        warn_user(
            f"the model was fitted on columns of other names ({', '.join(self.features[:4])}, ...) than those of the "
            f"rows ({', '.join(names[:4])}, ...); columns are taken by position, as in shap",
            ShapAsvWarning,
        )
        return table.set_axis(list(self.features), axis=1)

    def shown_numbers(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def inputs(self, rows: np.ndarray) -> Any:
        return rows if self.coding is None else self.coding.decode(rows)

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        """The model's own labels where it has some."""
        return None if self.coding is None else self.coding.shown(rows)
