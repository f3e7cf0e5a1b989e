"""One mechanism per node from a table: what kind of node it is decides what is tried; scores decide what is taken.

- no causes, or causes that never change: the empirical distribution;
- a category: :mod:`~shap_asv.backgrounds.structural.categories`, by log score;
- a number: :mod:`~shap_asv.backgrounds.structural.numbers`, by CRPS; one with at most 12 distinct values is also tried
  as a category over these values;
- a number with gaps: first whether it is missing, as a category, then its value from the rows that have one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.categories import CANDIDATES, CategoryTask, OneOf, discrete_codes
from shap_asv.backgrounds.structural.design import Design
from shap_asv.backgrounds.structural.given import (
    EstimatedClasses,
    Given,
    RawInputs,
    estimator_name,
    fit_checked,
    fit_user_estimator,
)
from shap_asv.backgrounds.structural.mechanism import Empirical, Mechanism, Support, WithGaps
from shap_asv.backgrounds.structural.numbers import NAMED, NOISES, NumberTask, draws_at, scoring_uniforms
from shap_asv.backgrounds.structural.scores import crps, log_score, pit_of_draws, pit_of_probabilities
from shap_asv.backgrounds.tables.columns import Column
from shap_asv.errors import MechanismError

FEW_VALUES = 12
#: More rows than these make a fit slower and hardly better; a root keeps all its values.
MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class FittedNode:
    """A mechanism and how well it does on rows that it was not fitted to.

    ``score`` and ``marginal`` are mean CRPS or log scores of the mechanism and of the node's own distribution without
    its causes; ``pit`` (r,) is uniform if the mechanism is right.
    """

    mechanism: Mechanism
    measure: str
    score: float
    marginal: float
    pit: np.ndarray


def fit_node(
    values: np.ndarray, parents: np.ndarray, column: Column, causes: Sequence[Column], how: Any, seed: int
) -> FittedNode:
    """The mechanism of one node from coded training values (r,) and those of its causes (r, p)."""
    if callable(how) and not hasattr(how, "fit"):
        return scored(Given(how, column, tuple(causes)), values, parents, column, seed)
    _check_way(how, column)
    design = Design.learn(parents, [cause.kind for cause in causes])
    if not design.variables or (column.kind.category and len(np.unique(values)) < 2):
        return _scored_root(values, column, seed)
    if len(values) > MOST_ROWS:
        some = np.sort(np.random.default_rng([seed, 1]).choice(len(values), MOST_ROWS, replace=False))
        values, parents = values[some], parents[some]
        design = Design.learn(parents, [cause.kind for cause in causes])
    if column.kind.category:
        return _fit_category(values, parents, column, causes, design, how, seed)
    known = np.isfinite(values)
    if known.all():
        return _fit_number(values, parents, column, causes, design, how, seed)
    gaps = CategoryTask(design, parents, (~known).astype(np.intp), 2, seed).choose()[0]
    if not known.any():
        return _scored_root(values, column, seed)
    inner = _fit_number(values[known], parents[known], column, causes, design, how, seed)
    return replace(inner, mechanism=WithGaps(gaps, inner.mechanism))


def _check_way(how: Any, column: Column) -> None:
    if hasattr(how, "fit"):
        needed = "predict_proba" if column.kind.category else "predict"
        if not hasattr(how, needed):
            kind = "category" if column.kind.category else "number"
            raise MechanismError(f"{column.name!r} is a {kind}; its estimator {estimator_name(how)} has no {needed}")
        return
    names = ("auto", *(CANDIDATES if column.kind.category else NAMED))
    if not isinstance(how, str) or how not in names:
        kind = "category" if column.kind.category else "number"
        raise MechanismError(
            f"the mechanism {how!r} for {column.name!r}, a {kind}, is unknown; give one of "
            f"{', '.join(map(repr, names))}, an estimator with fit and predict, or a function of (parents, noise)"
        )


def _scored_root(values: np.ndarray, column: Column, seed: int) -> FittedNode:
    """The empirical distribution is its own marginal: nothing is gained, and its PIT is uniform by construction."""
    pit = (np.random.default_rng(seed).permutation(len(values)) + 0.5) / len(values)
    if column.kind.category:
        codes = values.astype(np.intp)
        shares = np.bincount(codes, minlength=column.kind.n_codes) / len(codes)
        score = float(log_score(np.broadcast_to(shares, (len(codes), len(shares))), codes).mean())
        return FittedNode(Empirical.learn(values), "log score", score, score, pit)
    known = values[np.isfinite(values)]
    score = _marginal_crps(known) if len(known) else 0.0
    return FittedNode(Empirical.learn(values), "CRPS", score, score, pit)


def _marginal_crps(values: np.ndarray) -> float:
    root = Empirical.learn(values)
    return float(crps(draws_at(root, np.empty((len(values), 0))), values).mean())


def _fit_number(
    values: np.ndarray,
    parents: np.ndarray,
    column: Column,
    causes: Sequence[Column],
    design: Design,
    how: Any,
    seed: int,
) -> FittedNode:
    if values.min() == values.max():
        return _scored_root(values, column, seed)
    support = Support.learn(values, column.kind.whole)
    task = NumberTask(design, parents, values, support, seed)
    if hasattr(how, "fit"):
        mechanism, draws, held = task.choose(fit_user_estimator(how, causes, column.name), tuple(NOISES))
    elif how == "auto":
        mechanism, draws, held = task.choose()
    else:
        mechanism, draws, held = task.choose(*NAMED[how])
    measured = crps(draws, held)
    if how == "auto" and support.values is not None and len(support.values) <= FEW_VALUES:
        codes = discrete_codes(values, support)
        inner, shares, kept = CategoryTask(design, parents, codes, len(support.values), seed).choose()
        bounds = np.cumsum(shares, axis=1)[:, None, :-1]
        places = (scoring_uniforms(1)[None, :, :1] >= bounds).sum(axis=2)
        few, truth = support.values[places], support.values[kept]
        if crps(few, truth).mean() < measured.mean():
            mechanism, draws, held, measured = OneOf(inner, support.values), few, truth, crps(few, truth)
    pit = pit_of_draws(draws, held, np.random.default_rng(seed))
    marginal = _marginal_crps(values)
    if how == "auto" and measured.mean() > marginal:  # few rows: the causes tell less than they cost
        return _scored_root(values, column, seed)
    return FittedNode(mechanism, "CRPS", float(measured.mean()), marginal, pit)


def _fit_category(
    values: np.ndarray,
    parents: np.ndarray,
    column: Column,
    causes: Sequence[Column],
    design: Design,
    how: Any,
    seed: int,
) -> FittedNode:
    codes = values.astype(np.intp)
    n_codes = column.kind.n_codes
    if hasattr(how, "fit"):
        mechanism, shares = _fit_classifier(how, codes, parents, column, causes, seed)
        kept = codes
    else:
        names = None if how == "auto" else (how,)
        mechanism, shares, kept = CategoryTask(design, parents, codes, n_codes, seed).choose(names)
    pit = pit_of_probabilities(shares, kept, np.random.default_rng(seed))
    marginal = _scored_root(values, column, seed).score
    return FittedNode(mechanism, "log score", float(log_score(shares, kept).mean()), marginal, pit)


def _fit_classifier(
    estimator: Any, codes: np.ndarray, parents: np.ndarray, column: Column, causes: Sequence[Column], seed: int
) -> tuple[EstimatedClasses, np.ndarray]:
    inputs = RawInputs(tuple(causes))
    n_codes = column.kind.n_codes

    def fitted(rows: np.ndarray) -> EstimatedClasses:
        model = fit_checked(estimator, inputs(parents[rows]), codes[rows], column.name)
        return EstimatedClasses(
            inputs, model, np.asarray(model.classes_, dtype=np.intp), n_codes, estimator_name(estimator)
        )

    folds = np.random.default_rng(seed).permutation(len(codes)) % min(4, len(codes))
    shares = np.empty((len(codes), n_codes))
    for fold in np.unique(folds):
        shares[folds == fold] = fitted(folds != fold).probabilities(parents[folds == fold])
    return fitted(np.ones(len(codes), dtype=bool)), shares


def scored(mechanism: Mechanism, values: np.ndarray, parents: np.ndarray, column: Column, seed: int) -> FittedNode:
    """The score of a mechanism that was given, on the table."""
    rng = np.random.default_rng(seed)
    draws = draws_at(mechanism, parents)
    root = _scored_root(values, column, seed)
    if not column.kind.category:
        known = np.isfinite(values)
        measured = float(crps(draws[known], values[known]).mean()) if known.any() else 0.0
        return replace(root, mechanism=mechanism, score=measured, pit=pit_of_draws(draws[known], values[known], rng))
    codes = values.astype(np.intp)
    counts = np.stack([(draws == code).sum(axis=1) for code in range(column.kind.n_codes)], axis=1) + 0.5
    shares = counts / counts.sum(axis=1, keepdims=True)
    measured = float(log_score(shares, codes).mean())
    return replace(root, mechanism=mechanism, score=measured, pit=pit_of_probabilities(shares, codes, rng))
