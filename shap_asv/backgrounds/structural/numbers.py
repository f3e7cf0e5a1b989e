"""The mechanism of a number: a location plus noise, each chosen by what it says of rows that it has not seen.

    x = mu(parents) + noise(parents, u)

1. Locations (linear, smooth, smooth with steps, boosted trees) are compared by the squared error of held-out
   predictions. A richer one has to be better by more than the standard error of the difference. Fits by least squares
   know what they would predict without a row (:class:`~shap_asv.backgrounds.structural.regression.LeastSquares`), trees
   are fitted again without each fold.
2. About the best one, noises (even, scaled, shaped, both) are compared by CRPS, again held out.
3. A distributional forest is compared with the winner on one fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from shap_asv.backgrounds.structural.mechanisms import Mechanism, Named, Support
from shap_asv.backgrounds.structural.regression import (
    Design,
    SmoothFit,
    SmoothFunction,
    Straight,
    Trees,
    Variable,
    distribution_targets,
    fit_straight,
)
from shap_asv.backgrounds.structural.scores import clearly_better, crps
from shap_asv.backgrounds.tables.border import quantile_between
from shap_asv.backgrounds.tables.copies import kept_together, repeats

N_SCORED_DRAWS = 40
N_SCORED_TREES, N_TREES, LEAF = 16, 60, 20
N_FOLDS = 4
#: Rows that candidates are compared on; the chosen one is fitted to all.
MOST_COMPARED = 2000
#: Below so many rows only the linear location and even noise are tried.
FEWEST_FOR_SHAPES = 60

Location = Callable[[np.ndarray], np.ndarray]


def scoring_uniforms(n_uniforms: int) -> np.ndarray:
    """The same well spread numbers (draws, n_uniforms) for all candidates."""
    grid = (np.arange(N_SCORED_DRAWS) + 0.5) / N_SCORED_DRAWS
    rng = np.random.default_rng(20)
    return np.stack([grid, *(rng.permutation(grid) for _ in range(n_uniforms - 1))], axis=1)


def draws_at(mechanism: Mechanism, parents: np.ndarray) -> np.ndarray:
    """The draws (m, N_SCORED_DRAWS) that a mechanism is scored by."""
    uniforms = scoring_uniforms(mechanism.n_uniforms)
    return mechanism.draw(parents, np.broadcast_to(uniforms, (len(parents), *uniforms.shape)))


@dataclass(frozen=True, eq=False)
class NumberTask:
    """Training rows of one node: causes (r, p), values (r,), and which rows are copies of which (None: none are)."""

    design: Design
    parents: np.ndarray
    target: np.ndarray
    support: Support
    seed: int
    copies: np.ndarray | None = None
    weights: np.ndarray | None = None  # of the rows, for the location alone

    def only(self, rows: np.ndarray) -> "NumberTask":
        copies = None if self.copies is None else self.copies[rows]
        return replace(self, parents=self.parents[rows], target=self.target[rows], copies=copies)

    def part(self) -> "NumberTask":
        """The rows that candidates are compared on."""
        if len(self.target) <= MOST_COMPARED:
            return self
        rng = np.random.default_rng(self.seed)
        return self.only(np.sort(rng.choice(len(self.target), MOST_COMPARED, replace=False)))

    @cached_property
    def roots(self) -> np.ndarray:
        """Of the weights, (r,)."""
        return np.ones(len(self.target)) if self.weights is None else np.sqrt(self.weights)

    @cached_property
    def smooth(self) -> SmoothFit:
        return SmoothFit.prepare(self.design, self.parents, self.roots, repeats(self.copies, len(self.target)))

    @cached_property
    def folds(self) -> np.ndarray:
        return kept_together(self.copies, len(self.target), N_FOLDS, np.random.default_rng([self.seed, 3]))


# --- locations ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FittedLocation:
    """A function of the causes and its prediction (r,) of each training row by a fit without that row.

    It takes the place of a simpler one if it has less than ``share`` of its squared error, and clearly so.
    """

    name: str
    function: Location
    held_out: np.ndarray
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class Stepped:
    """``g(x) + sum over k of height_k [x_j(k) > edge_k]``: splines blur a jump, trees need many leaves for a slope."""

    smooth: Location
    steps: tuple[tuple[Variable, float, float], ...]  # the variable, the edge, the height

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        total = self.smooth(parents)
        for variable, edge, height in self.steps:
            total += height * (variable.values(parents) > edge)
        return total


@dataclass(frozen=True, eq=False)
class Boosted:
    """The prediction of boosted trees."""

    design: Design
    estimator: Any

    @classmethod
    def fit(cls, task: NumberTask, rows: np.ndarray) -> "Boosted":
        from sklearn.ensemble import HistGradientBoostingRegressor

        estimator = HistGradientBoostingRegressor(
            max_iter=80,
            learning_rate=0.12,
            max_leaf_nodes=12,
            min_samples_leaf=20,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=0,
        )
        return cls(task.design, estimator.fit(task.design.rows(task.parents[rows]), task.target[rows]))

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return np.asarray(self.estimator.predict(self.design.rows(parents)))


def fit_linear(task: NumberTask) -> FittedLocation:
    copies = repeats(task.copies, len(task.target))
    b, held_out = fit_straight(task.design, task.parents, task.roots, copies).fit(task.target)
    return FittedLocation("linear", Straight(task.design, b), held_out)


def fit_smooth(task: NumberTask) -> FittedLocation:
    return FittedLocation("smooth", *task.smooth.fit(task.target))


MOST_STEPS = 4
FEWEST = 15  # rows on either side of a step
#: Squared error that is left by a step worth taking; the best edge of pure noise leaves almost as little.
LEAST_LEFT = 0.985


def fit_stepped(task: NumberTask) -> FittedLocation:
    """A smooth function with steps, one after the other.

    At a jump that a smooth function blurs, the best split of what it leaves over is near. Function and heights are
    fitted again together after each, so that a step gets its full height at once.
    """
    numbers = [variable for variable in task.design.variables if not variable.n_codes]
    columns = np.stack([variable.values(task.parents) for variable in numbers], axis=1)
    squares = task.smooth.squares(task.target)
    b, held_out = squares.fit(task.target)
    steps: list[tuple[Variable, float]] = []
    n_smooth = len(b)
    while len(steps) < MOST_STEPS:
        found = find_step(columns, task.target - squares.matrix @ b / task.roots)
        if found is None:
            break
        step = (columns[:, found[0]] > found[1]).astype(float)
        richer = squares.with_column(step)
        again, better = richer.fit(task.target)
        left, before = (np.sum((task.roots * (task.target - one)) ** 2) for one in (better, held_out))
        if left > LEAST_LEFT * before:
            break
        steps.append((numbers[found[0]], found[1]))
        squares, b, held_out = richer, again, better
    smooth = SmoothFunction(task.smooth.basis, b[:n_smooth])
    heights = tuple(
        (variable, edge, float(height)) for (variable, edge), height in zip(steps, b[n_smooth:], strict=True)
    )
    return FittedLocation("smooth with steps", Stepped(smooth, heights) if steps else smooth, held_out)


def find_step(columns: np.ndarray, residuals: np.ndarray) -> tuple[int, float] | None:
    """(column, edge) of the step that leaves the least squared residuals, or None where no column can be split."""
    from sklearn.tree import DecisionTreeRegressor

    if len(residuals) < 2 * FEWEST:
        return None
    tree = DecisionTreeRegressor(max_depth=1, min_samples_leaf=FEWEST, random_state=0).fit(columns, residuals).tree_
    return None if tree.node_count == 1 else (int(tree.feature[0]), float(tree.threshold[0]))


def fit_boosted(task: NumberTask) -> FittedLocation:
    held_out = np.empty(len(task.target))
    for fold in np.unique(task.folds):
        out = task.folds == fold
        held_out[out] = Boosted.fit(task, ~out)(task.parents[out])
    function = Boosted.fit(task, np.ones(len(held_out), dtype=bool))
    return FittedLocation("boosting", function, held_out, share=0.97)  # its trees cost many look-ups a draw


def boosting_promises(task: NumberTask, rival: FittedLocation) -> bool:
    """Whether boosted trees predict the first fold better than another location does: a fifth of the work of a fit."""
    out = task.folds == 0
    errors = Boosted.fit(task, ~out)(task.parents[out]) - task.target[out]
    return bool(np.mean(errors**2) < np.mean((rival.held_out[out] - task.target[out]) ** 2))


HUBER = 1.345  # robust standard deviations: past them, outliers count less
LEAST_WEIGHT = 1e-3  # of a row, where the mean is one
#: Variance that weights have to promise to save before they are tried: a quarter of it.
LEAST_PROMISE = 1.3


def noise_weights(task: NumberTask, fitted: FittedLocation) -> tuple[np.ndarray, float]:
    """Weights (r,) of mean one, ``1 / s(x)^2`` times Huber's, and by how much they promise to save variance.

    The promise is the variance of least squares over that of the weighted fit, both for a mean without causes.
    """
    residuals = task.target - fitted.held_out
    scales = Scale.learn(task.smooth, residuals)[1]
    z = residuals / scales
    z = z - np.median(z)
    bound = HUBER * float(np.median(np.abs(z))) / 0.6745
    if bound == 0:
        return np.ones(len(z)), 1.0
    inner = np.clip(z, -bound, bound)
    weights = np.minimum(1.0, bound / np.maximum(np.abs(z), bound)) / scales**2
    efficiency = float(np.mean(np.abs(z) <= bound) ** 2 / np.mean(inner**2))
    promise = float(residuals.var() * np.mean(1 / scales**2)) * efficiency
    return np.maximum(weights / weights.mean(), LEAST_WEIGHT), promise


def fit_weighted(fit: Callable[[NumberTask], FittedLocation], task: NumberTask) -> FittedLocation:
    """Fitted twice: evenly, then with little weight where the first fit says that noise is large, and on outliers."""
    first = fit(task)
    again = fit(replace(task, weights=noise_weights(task, first)[0]))
    return replace(again, name=f"weighted {first.name}")


LOCATIONS: dict[str, Callable[[NumberTask], FittedLocation]] = {
    "linear": fit_linear,
    "smooth": fit_smooth,
    "smooth with steps": fit_stepped,
    "boosting": fit_boosted,
}
#: Locations that can be fitted with weights -> the name of the fit with weights.
WEIGHTED = {name: f"weighted {name}" for name in ("linear", "smooth", "smooth with steps")}
LOCATIONS |= {weighted: partial(fit_weighted, LOCATIONS[name]) for name, weighted in WEIGHTED.items()}

# --- noise --------------------------------------------------------------------------------------------------

N_LEVELS = 10  # cells of the distribution function of shaped noise
LEAST_SHARE = 0.02  # of the distribution of all residuals in it
LEVELS = np.arange(N_LEVELS + 1) / N_LEVELS

#: In the order of preference among equals -> whether the noise has a scale, and a shape.
NOISES: dict[str, tuple[bool, bool]] = {
    "residuals": (False, False),
    "scaled residuals": (True, False),
    "shaped residuals": (False, True),
    "scaled shaped residuals": (True, True),
}


def noise_draws(
    ordered: np.ndarray, uniforms: np.ndarray, scales: np.ndarray | None, shares: np.ndarray | None
) -> np.ndarray:
    """Residuals (m, d) for uniforms (m, d), from sorted residuals: their quantiles, reshaped and scaled point by point.

    ``shares`` (m, levels) are the distribution function at the inner quantiles of all residuals: a uniform number
    between two of them becomes the residual that lies as far between these quantiles, in ranks. Two modes that trade
    places, skewness that comes and goes: one uniform number does it.
    """
    ranks = uniforms
    if shares is not None:
        # least squares knows nothing of order: shares are put in order, and kept apart from 0, from 1 and each other
        inner = (1 - LEAST_SHARE) * np.sort(np.clip(shares, 0.0, 1.0), axis=1) + LEAST_SHARE * LEVELS[1:-1]
        edges = np.concatenate([np.zeros((len(inner), 1)), inner, np.ones((len(inner), 1))], axis=1)
        cell = np.zeros(uniforms.shape, dtype=np.intp)
        for k in range(1, N_LEVELS):
            cell += uniforms >= edges[:, k, None]
        at = np.arange(len(uniforms))[:, None]
        low, high = edges[at, cell], edges[at, cell + 1]
        ranks = LEVELS[cell] + (uniforms - low) / (high - low) * (LEVELS[cell + 1] - LEVELS[cell])
    residuals = quantile_between(ordered, ranks)
    return residuals if scales is None else scales[:, None] * residuals


@dataclass(frozen=True, eq=False)
class Scale:
    """``s(x) = exp(smooth fit of log |residual|)``, held inside of the range met in training."""

    log_scale: SmoothFunction
    low: float
    high: float

    @classmethod
    def learn(cls, fit: SmoothFit, residuals: np.ndarray) -> tuple["Scale", np.ndarray]:
        """The function, and its held-out values (r,)."""
        # a residual of almost nothing has a logarithm far out, which least squares would chase
        size = np.abs(residuals)
        function, held_out = fit.fit(np.log(np.maximum(size, 0.1 * (size.mean() or 1.0))))
        low, high = (float(bound) for bound in np.quantile(held_out, [0.001, 0.999]))
        return cls(function, low, high), np.exp(np.clip(held_out, low, high))

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return np.exp(np.clip(self.log_scale(parents), self.low, self.high))


@dataclass(frozen=True, eq=False)
class Noise:
    """Residuals of fits that have not seen them, drawn evenly, or by a scale and a shape that follow the causes."""

    ordered: np.ndarray
    scale: Scale | None
    shares: SmoothFunction | None

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Residuals (m, d) at the parents (m, p) for uniforms (m, d)."""
        scales = None if self.scale is None else self.scale(parents)
        shares = None if self.shares is None else self.shares(parents)
        return noise_draws(self.ordered, uniforms, scales, shares)


def learn_noise(task: NumberTask, kind: str, residuals: np.ndarray) -> tuple[Noise, np.ndarray]:
    """The noise, and held-out draws (r, d) of it at the training rows."""
    scaled, shaped = NOISES[kind]
    scale = scales = function = shares = None
    if scaled:
        scale, scales = Scale.learn(task.smooth, residuals)
        residuals = residuals / scales
    if shaped:
        cuts = np.quantile(residuals, LEVELS[1:-1])
        function, shares = task.smooth.fit((residuals[:, None] <= cuts).astype(float))
    noise = Noise(np.sort(residuals), scale, function)
    uniforms = np.broadcast_to(scoring_uniforms(1)[:, 0], (len(residuals), N_SCORED_DRAWS))
    return noise, noise_draws(noise.ordered, uniforms, scales, shares)


# --- the choice ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LocationNoise(Named):
    """``x = support(mu(parents) + noise)``."""

    location: Location
    noise: Noise
    support: Support
    name: str
    n_uniforms = 1

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        return self.support.hold(self.location(parents)[:, None] + self.noise.draw(parents, uniforms[:, :, 0]))


@dataclass(frozen=True, eq=False)
class Forest(Named):
    """Sorted training values of the leaves of all trees: node v holds ``values[starts[v]:][:counts[v]]``."""

    trees: Trees
    starts: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    support: Support
    name = "forest"
    n_uniforms = 2

    @classmethod
    def grow(cls, task: NumberTask, n_trees: int) -> "Forest":
        trees = Trees.grow(task.design, task.parents, distribution_targets(task.target), LEAF, n_trees, task.seed)
        leaves = trees.leaves(task.parents)
        counts = np.bincount(leaves.ravel(), minlength=trees.starts[-1])
        tiled = np.broadcast_to(task.target, leaves.shape).ravel()
        return cls(trees, np.cumsum(counts) - counts, counts, tiled[np.lexsort((tiled, leaves.ravel()))], task.support)

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """The quantile of a leaf, and its tree; between the values of the leaf, or one of them where there are few."""
        node, level = self.trees.drawn_leaves(parents, uniforms[:, :, 1]), uniforms[:, :, 0]
        start, count = self.starts[node], self.counts[node]
        if self.support.values is None:
            return self.support.hold(quantile_between(self.values, level, start, count))
        return self.support.hold(self.values[start + np.minimum((level * count).astype(np.intp), count - 1)])


@dataclass(frozen=True, eq=False)
class ScoredNumber:
    """A mechanism; draws (r, d) of it at rows that it has not seen, and the values (r,) of these rows."""

    mechanism: Mechanism
    draws: np.ndarray
    held: np.ndarray

    @cached_property
    def losses(self) -> np.ndarray:
        return crps(self.draws, self.held)


#: What users may ask for by name -> (location, noises to choose from).
NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "linear": ("linear", ("residuals", "scaled residuals")),
    **{name: (name, tuple(NOISES)) for name in LOCATIONS if name != "linear"},
    "forest": ("forest", ()),
    **{f"{location} + {noise}": (location, (noise,)) for location in LOCATIONS for noise in NOISES},
}


def fit_number(task: NumberTask, how: str = "auto") -> ScoredNumber:
    """A name, or "auto": a choice among all, on at most 2,000 rows and then fitted to all."""
    part = task.part()
    if how == "auto":
        found = _chosen(part)
        return found if part is task else fit_number(task, found.mechanism.describe())
    if how == "forest":
        return _forest(task, N_TREES)
    location, noises = NAMED[how]
    if part is not task and len(noises) > 1:
        fitted = LOCATIONS[location](part)
        noises = (_with_noise(part, [(fitted, noise) for noise in noises])[2],)
    fitted = LOCATIONS[location](task)
    return _with_noise(task, [(fitted, noise) for noise in noises])[0]


def _chosen(task: NumberTask) -> ScoredNumber:
    straight = best = fit_linear(task)
    if len(task.target) < FEWEST_FOR_SHAPES:
        return _with_noise(task, [(best, "residuals")])[0]
    best = _better(task, fit_smooth(task), best)
    if any(not variable.n_codes for variable in task.design.variables):
        best = _better(task, fit_stepped(task), best)
    if boosting_promises(task, best):
        best = _better(task, fit_boosted(task), best)
    candidates = [(best, noise) for noise in NOISES]
    if best is not straight:  # a mean that bends because modes trade places is better left to the noise
        candidates += [(straight, "shaped residuals"), (straight, "scaled shaped residuals")]
    found, location, noise = _with_noise(task, candidates)
    if location.name in WEIGHTED and noise_weights(task, location)[1] > LEAST_PROMISE:
        again = _with_noise(task, [(LOCATIONS[WEIGHTED[location.name]](task), noise)])[0]
        found = again if again.losses.mean() < found.losses.mean() else found
    out = task.folds == 0
    forest = Forest.grow(task.only(~out), N_SCORED_TREES)
    losses = crps(draws_at(forest, task.parents[out]), task.target[out])
    copies = None if task.copies is None else task.copies[out]
    return _forest(task, N_TREES) if clearly_better(losses, found.losses[out], copies=copies) else found


def _better(task: NumberTask, one: FittedLocation, best: FittedLocation) -> FittedLocation:
    errors, least = (task.target - one.held_out) ** 2, (task.target - best.held_out) ** 2
    better = clearly_better(errors, least, copies=task.copies) and errors.mean() < one.share * least.mean()
    return one if better else best


def _with_noise(
    task: NumberTask, candidates: Sequence[tuple[FittedLocation, str]]
) -> tuple[ScoredNumber, FittedLocation, str]:
    """The location and noise of least CRPS; one that comes later has to be clearly better."""
    scored = []
    for fitted, kind in candidates:
        noise, residuals = learn_noise(task, kind, task.target - fitted.held_out)
        mechanism = LocationNoise(fitted.function, noise, task.support, f"{fitted.name} + {kind}")
        draws = task.support.hold(fitted.held_out[:, None] + residuals)
        scored.append((ScoredNumber(mechanism, draws, task.target), fitted, kind))
    best = scored[0]
    for one in scored[1:]:
        if clearly_better(one[0].losses, best[0].losses, copies=task.copies):
            best = one
    return best


def _forest(task: NumberTask, n_trees: int) -> ScoredNumber:
    out = task.folds == 0
    draws = draws_at(Forest.grow(task.only(~out), N_SCORED_TREES), task.parents[out])
    return ScoredNumber(Forest.grow(task, n_trees), draws, task.target[out])
