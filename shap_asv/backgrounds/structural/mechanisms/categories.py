"""The mechanism of a category: probabilities of its codes given the causes, chosen by cross-validated log score.

Candidates: frequencies (whatever the causes), logistic on the straight columns, logistic on the smooth basis with the
penalties of the splines, and a forest whose leaves hold frequencies. A draw inverts the distribution function over the
codes with one uniform number; the forest takes a second one to choose a tree.

Every candidate is mixed with a little of the frequencies (one row's worth), so that nothing met in training is
impossible. Who is clearly behind after a fold is not tried on the next.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.contract import Mechanism, Named, Support
from shap_asv.backgrounds.structural.mechanisms.design import Design
from shap_asv.backgrounds.structural.mechanisms.forests import Trees
from shap_asv.backgrounds.structural.mechanisms.scores import log_score, race
from shap_asv.backgrounds.structural.mechanisms.splines import SmoothBasis, SmoothFunction
from shap_asv.backgrounds.tables.copies import kept_together
from shap_asv.backgrounds.tables.evidence import rowwise_product

FEWEST_FOR_SHAPES = 60
N_TREES, N_SCORED_TREES = 60, 16
LEAF = 15
SMOOTHNESS = ((1.0, 10.0), (30.0, 3000.0))
MOST_COMPARED = 2000


def codes_of(bounds: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Number of bounds at or below each uniform number: bounds (m, d or 1, k - 1), uniforms (m, d) -> (m, d)."""
    return (uniforms[:, :, None] >= bounds).sum(axis=2).astype(float)


@dataclass(frozen=True, eq=False)
class Frequencies(Named):
    """The same probabilities everywhere."""

    shares: np.ndarray
    name = "frequencies"
    n_uniforms = 1

    def probabilities(self, parents: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.shares, (len(parents), len(self.shares)))

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        bounds = np.cumsum(self.shares)[:-1]
        return np.searchsorted(bounds, uniforms[:, :, 0], side="right").astype(float)


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
class StraightScores:
    design: Design
    slopes: np.ndarray
    constants: np.ndarray

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return rowwise_product(self.design.linear(parents), self.slopes) + self.constants


@dataclass(frozen=True, eq=False)
class SmoothScores:
    functions: tuple[SmoothFunction, ...]

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return np.stack([function(parents) for function in self.functions], axis=1)


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
        return CategoryTask(self.design, self.parents[rows], self.codes[rows], self.n_codes, self.seed, copies)

    def fit(self, name: str, n_trees: int = N_TREES) -> Any:
        """The candidate of that name, fitted to all rows of the task; of one code alone there is nothing to learn."""
        return CANDIDATES[name if len(np.unique(self.codes)) > 1 else "frequencies"](self, n_trees)

    def choose(self, names: tuple[str, ...] | None = None) -> tuple[Any, np.ndarray, np.ndarray]:
        """The best candidate, held-out probabilities (r', n_codes) and codes (r',)."""
        rng = np.random.default_rng(self.seed)
        n = len(self.codes)
        if names and len(names) == 1 and n > MOST_COMPARED:  # nothing to compare: scored on one of four folds
            mixed = rng.permutation(n)
            inside, rest = self.only(mixed[n // 4 :][:MOST_COMPARED]), self.only(mixed[: n // 4][:MOST_COMPARED])
            return self.fit(names[0]), inside.fit(names[0], N_SCORED_TREES).probabilities(rest.parents), rest.codes
        part = self if n <= MOST_COMPARED else self.only(np.sort(rng.choice(n, MOST_COMPARED, replace=False)))
        small = len(part.codes) < FEWEST_FOR_SHAPES
        tried = names or (("frequencies", "logistic") if small else tuple(CANDIDATES))
        if not self.design.variables or len(np.unique(part.codes)) < 2:
            tried = ("frequencies",)
        folds = kept_together(part.copies, len(part.codes), 4, rng)
        held_out = {name: np.empty((len(folds), self.n_codes)) for name in tried}

        def score(name: str, out: np.ndarray) -> np.ndarray:
            fitted = part.only(~out).fit(name, N_SCORED_TREES)
            held_out[name][out] = fitted.probabilities(part.parents[out])
            return log_score(held_out[name][out], part.codes[out])

        chosen = race(tried, folds, score, part.copies)
        return self.fit(chosen), held_out[chosen], part.codes


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


def _fit_logistic(task: CategoryTask, n_trees: int) -> Any:
    slopes, constants, met = _logistic_weights(task.design.linear(task.parents), task.codes, 10.0)
    scores = StraightScores(task.design, slopes, constants)
    return Logistic(scores, met, task.shares, 1 / (len(task.codes) + 1), "logistic")


def _fit_smooth(task: CategoryTask, penalty: tuple[float, float], name: str) -> Any:
    from scipy.linalg import solve_triangular

    basis = SmoothBasis.learn(task.design, task.parents)
    main, pair = basis.penalties()
    system = penalty[0] * main + penalty[1] * pair
    system[np.diag_indices_from(system)] += 1e-2
    root = np.linalg.cholesky(system)
    # in these coordinates the penalty is a plain ridge
    matrix = solve_triangular(root, basis.matrix(task.parents).T, lower=True).T
    slopes, constants, met = _logistic_weights(matrix, task.codes, 1.0)
    weights = solve_triangular(root, slopes, lower=True, trans="T")
    weights[0] += constants
    functions = tuple(basis.tabulated(column) for column in weights.T)
    return Logistic(SmoothScores(functions), met, task.shares, 1 / (len(task.codes) + 1), name)


def _fit_forest(task: CategoryTask, n_trees: int) -> Any:
    indicators = np.equal.outer(task.codes, np.flatnonzero(task.shares)[1:]).astype(float)
    trees = Trees.grow(task.design, task.parents, indicators, LEAF, n_trees, task.seed)
    cells = trees.leaves(task.parents) * task.n_codes + task.codes
    counts = np.bincount(cells.ravel(), minlength=trees.starts[-1] * task.n_codes).reshape(-1, task.n_codes)
    smoothed = counts + task.shares
    return LeafShares(trees, smoothed / smoothed.sum(axis=1, keepdims=True))


#: In the order of preference among equals.
CANDIDATES: dict[str, Callable[[CategoryTask, int], Any]] = {
    "frequencies": lambda task, n_trees: Frequencies(task.shares),
    "logistic": _fit_logistic,
    "smooth logistic": lambda task, n_trees: _fit_smooth(task, SMOOTHNESS[1], "smooth logistic"),
    "rough logistic": lambda task, n_trees: _fit_smooth(task, SMOOTHNESS[0], "rough logistic"),
    "forest": _fit_forest,
}


def discrete_codes(target: np.ndarray, support: Support) -> np.ndarray:
    """Positions of values among the few that a number takes."""
    assert support.values is not None
    return np.searchsorted(support.values, target)
