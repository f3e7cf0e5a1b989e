"""One mechanism per node from a table: what kind of node it is decides what is tried; scores decide what is taken.

- no causes, or causes that never change: the empirical distribution;
- a category: :mod:`~shap_asv.backgrounds.structural.categories`, by log score;
- a number: :mod:`~shap_asv.backgrounds.structural.numbers`, by CRPS; one with at most 12 distinct values is also
  tried as a category over these values;
- a number with gaps: first whether it is missing, as a category, then its value from the rows that have one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.categories import CANDIDATES, CategoryTask, OneOf, fit_category
from shap_asv.backgrounds.structural.mechanisms import (
    Empirical,
    Given,
    Mechanism,
    Support,
    WithGaps,
)
from shap_asv.backgrounds.structural.numbers import (
    NAMED,
    NumberTask,
    ScoredNumber,
    draws_at,
    fit_number,
    scoring_uniforms,
)
from shap_asv.backgrounds.structural.regression import Design, Trees, distribution_targets
from shap_asv.backgrounds.structural.scores import FittedNode, crps, log_score
from shap_asv.backgrounds.tables.codec import Column
from shap_asv.errors import MechanismError

FEW_VALUES = 12
#: More rows than these make a fit slower and hardly better; a root keeps all its values.
MOST_ROWS = 20_000
#: With more variables than these not all pairs of them can be fitted: a small forest says which matter.
FEW_VARIABLES = 6
N_RANKING_ROWS, N_RANKING_TREES, RANKING_LEAF = 1000, 8, 20


@dataclass(frozen=True, eq=False)
class NodeTask:
    """A node to be fitted: its coded training values (r,), those of its causes (r, p), and how to go about it."""

    values: np.ndarray
    parents: np.ndarray
    column: Column
    causes: Sequence[Column]
    how: Any
    seed: int
    copies: np.ndarray | None = None  # the row that each is a copy of, where there are copies

    def only(self, rows: np.ndarray) -> "NodeTask":
        copies = None if self.copies is None else self.copies[rows]
        return replace(self, values=self.values[rows], parents=self.parents[rows], copies=copies)

    def design(self) -> Design:
        design = Design.learn(self.parents, [cause.kind for cause in self.causes])
        known = np.isfinite(self.values)
        if len(design.variables) <= FEW_VARIABLES or not known.any():
            return design
        part = self.only(known).only(
            np.random.default_rng([self.seed, 2]).permutation(int(known.sum()))[:N_RANKING_ROWS]
        )
        targets = part.targets()
        trees = Trees.grow(design, part.parents, targets, RANKING_LEAF, N_RANKING_TREES, self.seed)
        return design.ranked(trees.importance())

    def targets(self) -> np.ndarray:
        """What trees split by to follow the whole distribution of the node, (r, targets)."""
        if not self.column.kind.category:
            return distribution_targets(self.values)
        return np.equal.outer(self.values, np.unique(self.values)).astype(float)

    def as_category(self, design: Design, codes: np.ndarray, n_codes: int) -> CategoryTask:
        return CategoryTask(design, self.parents, codes, n_codes, self.seed, self.copies)

    def fitted(self, *facts: Any) -> FittedNode:
        """The node with its mechanism, measure, score and marginal score."""
        return FittedNode(self.column.name, tuple(cause.name for cause in self.causes), *facts)

    def as_root(self) -> FittedNode:
        """The empirical distribution is its own marginal: nothing is gained."""
        root = Empirical.learn(self.values)
        if self.column.kind.category:
            codes = self.values.astype(np.intp)
            shares = np.bincount(codes, minlength=self.column.kind.n_codes) / len(codes)
            score = float(log_score(np.broadcast_to(shares, (len(codes), len(shares))), codes).mean())
            return self.fitted(root, "log score", score, score)
        known = self.values[np.isfinite(self.values)]
        score = _marginal_crps(known) if len(known) else 0.0
        return self.fitted(root, "CRPS", score, score)


def fit_node(task: NodeTask) -> FittedNode:
    """The mechanism of one node, and how well it does."""
    column, how, whole = task.column, task.how, task
    if callable(how):
        return scored(Given(how, column, tuple(task.causes)), task)
    _check_way(how, column)
    n_rows = len(task.values)
    if n_rows > MOST_ROWS and len(task.causes):
        task = task.only(np.sort(np.random.default_rng([task.seed, 1]).choice(n_rows, MOST_ROWS, replace=False)))
    design = task.design()
    if not design.variables or how == OWN or (column.kind.category and len(np.unique(task.values)) < 2):
        return whole.as_root()
    if column.kind.category:
        return _fit_category(task, design)
    known = np.isfinite(task.values)
    if known.all():
        return _fit_number(task, design)
    gaps = fit_category(task.as_category(design, (~known).astype(np.intp), 2))[0]
    if not known.any():
        return task.as_root()
    inner = _fit_number(task.only(known), design)
    return replace(inner, mechanism=WithGaps(gaps, inner.mechanism))


#: The word for a node that is drawn from its own distribution, whatever its causes are.
OWN = "own distribution"


def way_of(mechanism: Mechanism) -> str:
    """What to ask for to get such a mechanism from other rows; "auto" where no word says it."""
    if isinstance(mechanism, WithGaps):
        return way_of(mechanism.inner)
    if isinstance(mechanism, OneOf):
        return f"{mechanism.inner.describe()} over its values"
    if isinstance(mechanism, Empirical):
        return OWN
    name = mechanism.describe()
    return name if name in NAMED or name in CANDIDATES else "auto"


def _names(column: Column) -> tuple[str, ...]:
    if column.kind.category:
        return ("auto", OWN, *CANDIDATES)
    return ("auto", OWN, *NAMED, *(f"{name} over its values" for name in CANDIDATES))


def _check_way(how: Any, column: Column) -> None:
    kind = "category" if column.kind.category else "number"
    if not isinstance(how, str) or how not in _names(column):
        simple = [name for name in _names(column) if " + " not in name and " over " not in name]
        raise MechanismError(
            f"the mechanism {how!r} for {column.name!r}, a {kind}, is unknown; give one of "
            f"{', '.join(map(repr, simple))}, or a function of (parents, noise)"
        )


def _marginal_crps(values: np.ndarray) -> float:
    root = Empirical.learn(values)
    return float(crps(draws_at(root, np.empty((len(values), 0))), values).mean())


def _fit_number(task: NodeTask, design: Design) -> FittedNode:
    values, how = task.values, task.how
    if values.min() == values.max():
        return task.as_root()
    support = Support.learn(values, task.column.kind.whole)
    number = NumberTask(design, task.parents, values, support, task.seed, task.copies)
    over_values = how.endswith(" over its values")
    found = None if over_values else fit_number(number, how)
    few = support.values is not None and len(support.values) <= FEW_VALUES
    if over_values or (how == "auto" and few):
        as_category = _fit_few_values(task, design, support, how.removesuffix(" over its values"))
        if found is None or as_category.losses.mean() < found.losses.mean():
            found = as_category
    assert found is not None
    # as far off as a mean that has not seen the row: locations are scored on rows that they have not seen, too
    n = len(values) if task.copies is None else len(np.unique(task.copies))
    score, marginal = float(found.losses.mean()), _marginal_crps(values) * n / max(1, n - 1)
    if how == "auto" and score > marginal:  # few rows: the causes tell less than they cost
        return task.as_root()
    return task.fitted(found.mechanism, "CRPS", score, marginal)


def _fit_few_values(task: NodeTask, design: Design, support: Support, how: str) -> ScoredNumber:
    """A number as a category over the values that it takes."""
    values = np.unique(task.values) if support.values is None else support.values
    codes = np.searchsorted(values, task.values)
    inner, shares, kept = fit_category(task.as_category(design, codes, len(values)), how)
    bounds = np.cumsum(shares, axis=1)[:, None, :-1]
    places = (scoring_uniforms(1)[None, :, :1] >= bounds).sum(axis=2)
    return ScoredNumber(OneOf(inner, values), values[places], values[kept])


def _fit_category(task: NodeTask, design: Design) -> FittedNode:
    codes = task.values.astype(np.intp)
    mechanism, shares, kept = fit_category(task.as_category(design, codes, task.column.kind.n_codes), task.how)
    return task.fitted(mechanism, "log score", float(log_score(shares, kept).mean()), task.as_root().score)


def scored(mechanism: Mechanism, task: NodeTask) -> FittedNode:
    """The score of a mechanism that was given, on the table."""
    values, kind = task.values, task.column.kind
    draws, root = draws_at(mechanism, task.parents), task.as_root()
    if not kind.category:
        known = np.isfinite(values)
        measured = float(crps(draws[known], values[known]).mean()) if known.any() else 0.0
        return replace(root, mechanism=mechanism, score=measured)
    codes = values.astype(np.intp)
    counts = np.stack([(draws == code).sum(axis=1) for code in range(kind.n_codes)], axis=1) + 0.5
    shares = counts / counts.sum(axis=1, keepdims=True)
    return replace(root, mechanism=mechanism, score=float(log_score(shares, codes).mean()))
