"""The mechanism of a category: probabilities of its codes given the causes, chosen by log score on held-out rows.

Candidates: frequencies (whatever the causes), logistic on the straight columns, logistic on the smooth basis with the
penalties of its splines, and a forest whose leaves hold frequencies. A draw inverts the distribution function over the
codes with one uniform number; the forest takes a second one to choose a tree.

Every candidate is mixed with a little of the frequencies (one row's worth), so that nothing met in training is
impossible.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shap_asv.backgrounds.structural.mechanisms import Mechanism, Named
from shap_asv.backgrounds.structural.regression import Design, SmoothBasis, SmoothFunction, Straight, Trees
from shap_asv.backgrounds.structural.scores import clearly_better, log_score
from shap_asv.backgrounds.tables.copies import kept_together

FEWEST_FOR_SHAPES = 60
N_TREES, N_SCORED_TREES = 60, 16
LEAF = 15
SMOOTHNESS = (30.0, 3000.0)
N_FOLDS = 4
#: Rows that candidates are compared on; of these so many are held out, a fold at a time. The best is fitted to all.
MOST_COMPARED, MOST_SCORED = 2000, 500


def codes_of(bounds: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Number of bounds at or below each uniform number: bounds (m, d or 1, k - 1), uniforms (m, d) -> (m, d)."""
    return (uniforms[:, :, None] >= bounds).sum(axis=2).astype(float)


@dataclass(frozen=True, eq=False)
class Logistic(Named):
    """Softmax of one score function per code; ``columns`` are the codes that were met."""

    scores: Callable[[np.ndarray], np.ndarray]
    columns: np.ndarray
    shares: np.ndarray
    little: float
    name: str
    n_uniforms = 1

    def probabilities(self, parents: np.ndarray) -> np.ndarray:
        scores = self.scores(parents)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        result = np.zeros((len(parents), len(self.shares)))
        result[:, self.columns] = (1 - self.little) * scores
        return result + self.little * self.shares

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        bounds = np.cumsum(self.probabilities(parents), axis=1)[:, None, :-1]
        return codes_of(bounds, uniforms[:, :, 0])


@dataclass(frozen=True, eq=False)
class LeafShares(Named):
    """A forest of frequencies: ``leaf_shares[v]`` are those in node v."""

    trees: Trees
    leaf_shares: np.ndarray
    name = "forest"
    n_uniforms = 2

    def probabilities(self, parents: np.ndarray) -> np.ndarray:
        return self.leaf_shares[self.trees.leaves(parents)].mean(axis=0)

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        bounds = np.cumsum(self.leaf_shares, axis=1)[:, :-1]
        return codes_of(bounds[self.trees.drawn_leaves(parents, uniforms[:, :, 1])], uniforms[:, :, 0])


@dataclass(frozen=True, eq=False)
class OneOf:
    """A number with few values, drawn as a category: code k stands for ``values[k]``."""

    inner: Mechanism
    values: np.ndarray

    @property
    def n_uniforms(self) -> int:
        return self.inner.n_uniforms

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        return self.values[self.inner.draw(parents, uniforms).astype(np.intp)]

    def describe(self) -> str:
        return f"{self.inner.describe()} over {len(self.values)} values"


@dataclass(frozen=True, eq=False)
class CategoryTask:
    """Training rows of one node whose values are codes 0 .. n_codes - 1."""

    design: Design
    parents: np.ndarray
    codes: np.ndarray
    n_codes: int
    seed: int
    copies: np.ndarray | None = None

    @property
    def shares(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=self.n_codes) / len(self.codes)

    def only(self, rows: np.ndarray) -> "CategoryTask":
        copies = None if self.copies is None else self.copies[rows]
        return replace(self, parents=self.parents[rows], codes=self.codes[rows], copies=copies)


def fit_category(task: CategoryTask, how: str = "auto") -> tuple[Logistic | LeafShares, np.ndarray, np.ndarray]:
    """The best candidate, or the one asked for; probabilities (r', n_codes) and codes (r',) of held-out rows.

    A richer candidate takes the place of a simpler one if it is clearly better.
    """
    rng = np.random.default_rng(task.seed)
    n = len(task.codes)
    part = task if n <= MOST_COMPARED else task.only(np.sort(rng.choice(n, MOST_COMPARED, replace=False)))
    tried: tuple[str, ...] = (how,)
    if how == "auto":
        tried = ("frequencies", "logistic") if len(part.codes) < FEWEST_FOR_SHAPES else tuple(CANDIDATES)
        if not task.design.variables or len(np.unique(part.codes)) < 2:
            tried = ("frequencies",)
    folds = kept_together(part.copies, len(part.codes), N_FOLDS, rng)
    n_folds = 1 + int(np.argmax(np.cumsum(np.bincount(folds)) >= min(MOST_SCORED, len(folds))))
    out = folds < n_folds
    held_out = {one: np.empty((len(folds), task.n_codes)) for one in tried}
    for fold in range(n_folds):
        inside, rows = part.only(folds != fold), folds == fold
        for one in tried:
            held_out[one][rows] = _fitted(inside, one, N_SCORED_TREES).probabilities(part.parents[rows])
    scores = {one: log_score(held_out[one][out], part.codes[out]) for one in tried}
    best, copies = tried[0], None if part.copies is None else part.copies[out]
    for one in tried[1:]:
        if clearly_better(scores[one], scores[best], copies=copies):
            best = one
    return _fitted(task, best, N_TREES), held_out[best][out], part.codes[out]


def _fitted(task: CategoryTask, how: str, n_trees: int) -> Logistic | LeafShares:
    """Of one code alone there is nothing to learn."""
    return CANDIDATES[how if len(np.unique(task.codes)) > 1 else "frequencies"](task, n_trees)


def _fit_frequencies(task: CategoryTask, n_trees: int) -> Logistic:
    met = np.flatnonzero(task.shares)
    weights = np.zeros((1 + task.design.n_linear, len(met)))
    weights[0] = np.log(task.shares[met])
    return Logistic(Straight(task.design, weights), met, task.shares, 0.0, "frequencies")


def _logistic_weights(
    matrix: np.ndarray, codes: np.ndarray, strength: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slopes (columns, met codes), constants and met codes of a ridge-penalised multinomial logistic regression."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps short of the optimum is as good a mechanism
        fitted = LogisticRegression(C=strength, max_iter=150, tol=1e-3).fit(matrix, codes)
    slopes, constants = fitted.coef_.T, fitted.intercept_
    if len(fitted.classes_) == 2:
        slopes, constants = np.column_stack([0 * slopes, slopes]), np.array([0.0, constants[0]])
    return slopes, constants, fitted.classes_


def _fit_logistic(task: CategoryTask, n_trees: int) -> Logistic:
    slopes, constants, met = _logistic_weights(task.design.linear(task.parents), task.codes, 10.0)
    scores = Straight(task.design, np.vstack([constants, slopes]))
    return Logistic(scores, met, task.shares, 1 / (len(task.codes) + 1), "logistic")


def _fit_smooth(task: CategoryTask, n_trees: int) -> Logistic:
    from scipy.linalg import solve_triangular

    basis = SmoothBasis.learn(task.design, task.parents)
    main, pair = basis.penalties()
    system = SMOOTHNESS[0] * main + SMOOTHNESS[1] * pair
    system[np.diag_indices_from(system)] += 1e-2
    root = np.linalg.cholesky(system)
    # in these coordinates the penalty is a plain ridge
    matrix = solve_triangular(root, basis.matrix(task.parents).T, lower=True).T
    slopes, constants, met = _logistic_weights(matrix, task.codes, 1.0)
    weights = solve_triangular(root, slopes, lower=True, trans="T")
    weights[0] += constants
    scores = SmoothFunction(basis, weights)
    return Logistic(scores, met, task.shares, 1 / (len(task.codes) + 1), "smooth logistic")


def _fit_forest(task: CategoryTask, n_trees: int) -> LeafShares:
    indicators = np.equal.outer(task.codes, np.flatnonzero(task.shares)[1:]).astype(float)
    trees = Trees.grow(task.design, task.parents, indicators, LEAF, n_trees, task.seed)
    cells = trees.leaves(task.parents) * task.n_codes + task.codes
    counts = np.bincount(cells.ravel(), minlength=trees.starts[-1] * task.n_codes).reshape(-1, task.n_codes)
    smoothed = counts + task.shares
    return LeafShares(trees, smoothed / smoothed.sum(axis=1, keepdims=True))


#: In the order of preference among equals.
CANDIDATES: dict[str, Callable[[CategoryTask, int], Logistic | LeafShares]] = {
    "frequencies": _fit_frequencies,
    "logistic": _fit_logistic,
    "smooth logistic": _fit_smooth,
    "forest": _fit_forest,
}
