"""The mechanism of a number: a location plus noise, each chosen by cross-validation.

    x = mu(parents) + noise(parents, u)

1. Locations (linear, smooth, bent, smooth with steps, boosting) are compared by the squared error of predictions for
   rows that they were not fitted to. A richer one has to be better by more than the standard error of the difference.
2. On the residuals of the chosen one, noises (even, scaled, shaped, local, and these scaled) are compared by CRPS,
   again on rows that they were not fitted to; beside them shaped noise about the linear location, and the
   distributional forest, which is local noise about nothing. A candidate that is clearly behind after a fold is not
   tried on the next.
3. Where the noise is uneven or has long tails, the location is fitted again with weights that follow from it, and kept
   if its CRPS is less.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shap_asv.backgrounds.structural.mechanisms import locations, noises
from shap_asv.backgrounds.structural.mechanisms.contract import Mechanism, Named, Support
from shap_asv.backgrounds.structural.mechanisms.design import Design
from shap_asv.backgrounds.structural.mechanisms.locations import FittedLocation, Location, LocationData
from shap_asv.backgrounds.structural.mechanisms.noises import Noise, NoiseData
from shap_asv.backgrounds.structural.mechanisms.scores import clearly_better, crps, race
from shap_asv.backgrounds.structural.mechanisms.splines import SmoothFit
from shap_asv.backgrounds.tables.copies import kept_together, repeats

N_SCORED_DRAWS = 40
N_SCORED_TREES = 16
N_TREES = 60
#: Rows that candidates are compared on; the chosen one is fitted to all.
MOST_COMPARED = 2000
#: Below so many rows only the linear location and even noise are tried.
FEWEST_FOR_SHAPES = 60


@dataclass(frozen=True, eq=False)
class LocationNoise(Named):
    """``x = support(mu(parents) + noise)``."""

    location: Location
    noise: Noise
    support: Support
    name: str

    @property
    def n_uniforms(self) -> int:
        return self.noise.n_uniforms

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        return self.support.hold(self.location(parents)[:, None] + self.noise.draw(parents, uniforms))


LOCATIONS: dict[str, Callable[[LocationData], FittedLocation]] = {
    "nothing": locations.fit_nothing,
    "linear": locations.fit_straight,
    "smooth": locations.fit_smooth,
    "smooth with steps": locations.fit_stepped,
    "bent": locations.fit_bent,
    "boosting": locations.fit_boosted,
}
#: Locations that can be fitted with weights -> the name of the fit with weights.
WEIGHTED = {name: f"weighted {name}" for name in ("linear", "smooth", "bent")}
LOCATIONS |= {weighted: partial(locations.fit_weighted, LOCATIONS[name]) for name, weighted in WEIGHTED.items()}
#: Variance that weights have to promise to save before they are tried: a quarter of it.
LEAST_PROMISE = 1.3
#: In the order of preference among equals.
NOISES: dict[str, Callable[[NoiseData], Noise]] = {
    "residuals": noises.learn_even,
    "scaled residuals": partial(noises.learn_scaled, noises.learn_even),
    "shaped residuals": noises.learn_shaped,
    "scaled shaped residuals": partial(noises.learn_scaled, noises.learn_shaped),
    "local residuals": noises.learn_local,
    "scaled local residuals": partial(noises.learn_scaled, noises.learn_local),
}
FOREST = "forest"

#: What users may ask for by name -> (location, noises to choose from).
NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "linear": ("linear", ("residuals", "scaled residuals")),
    "smooth": ("smooth", tuple(NOISES)),
    "bent": ("bent", tuple(NOISES)),
    "smooth with steps": ("smooth with steps", tuple(NOISES)),
    "boosting": ("boosting", tuple(NOISES)),
    FOREST: ("nothing", (FOREST,)),
}
#: The same for what a mechanism is called once it is chosen: "smooth + scaled residuals".
CHOSEN: dict[str, tuple[str, tuple[str, ...]]] = {
    f"{location} + {noise}": (location, (noise,)) for location in LOCATIONS if location != "nothing" for noise in NOISES
}


def draw_folds(n: int, rng: np.random.Generator, copies: np.ndarray | None = None) -> np.ndarray:
    """Fold of each row: five of them, fewer for few rows or for very many."""
    return kept_together(copies, n, 5 if n < 5000 else 3, rng)


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
    """Training rows of one node and what the comparison needs; ``rows`` are those compared on."""

    design: Design
    parents: np.ndarray
    target: np.ndarray
    support: Support
    seed: int
    copies: np.ndarray | None = None

    def _subset(self, rng: np.random.Generator) -> "NumberTask":
        if len(self.target) <= MOST_COMPARED:
            return self
        rows = np.sort(rng.choice(len(self.target), MOST_COMPARED, replace=False))
        copies = None if self.copies is None else self.copies[rows]
        return NumberTask(self.design, self.parents[rows], self.target[rows], self.support, self.seed, copies)

    def _data(self, rng: np.random.Generator) -> LocationData:
        folds = draw_folds(len(self.target), rng, self.copies)
        return LocationData(self.design, self.parents, self.target, folds, self.seed, repeats=repeats(self.copies))

    def choose(
        self, location: str | Callable | None = None, allowed: tuple[str, ...] | None = None
    ) -> tuple[Mechanism, np.ndarray, np.ndarray]:
        """The best mechanism; the draws (r', d) it is scored by and the rows' values (r',), both held out.

        By default any location and noise; else a location (a name, or a way to fit one) and the noises ``allowed``.
        """
        rng = np.random.default_rng(self.seed)
        part = self._subset(rng)
        data = part._data(rng)
        if location is not None and len(allowed or NOISES) == 1 and part is not self:
            return self._settled(location, (allowed or tuple(NOISES))[0], rng)
        if location is not None:
            fitted = _fit_location(location, data)
            candidates = [(fitted, noise) for noise in allowed or NOISES]
        elif len(part.target) < FEWEST_FOR_SHAPES:
            candidates = [(_fit_location("linear", data), "residuals")]
        else:
            candidates = part._candidates(data)
        (fitted, noise), draws = part._race(candidates, data)
        if location is None:
            fitted, draws = part._reweighted(fitted, noise, draws, data)
        if part is not self:  # the comparison saw a part of the rows: now all
            data = self._data(rng)
            fitted = _fit_location(fitted.name if location is None else location, data)
        return self._finished(fitted, noise, data), draws, part.target

    def _settled(
        self, location: str | Callable, noise: str, rng: np.random.Generator
    ) -> tuple[Mechanism, np.ndarray, np.ndarray]:
        """Nothing is left to compare: a fit to all rows, scored on some rows of one fold."""
        data = self._data(rng)
        fitted = _fit_location(location, data)
        out = np.zeros(len(self.target), dtype=bool)
        out[rng.permutation(np.flatnonzero(data.folds == 0))[:MOST_COMPARED]] = True
        draws = self._held_out_draws(fitted, noise, data, out)
        return self._finished(fitted, noise, data), draws, self.target[out]

    def _finished(self, fitted: FittedLocation, noise: str, data: LocationData) -> Mechanism:
        learned = self._learn(fitted, noise, data.smooth, np.ones(len(self.target), dtype=bool), N_TREES)
        return LocationNoise(fitted.function, learned, self.support, _named(fitted, noise))

    def _candidates(self, data: LocationData) -> list[tuple[FittedLocation, str]]:
        """Locations and noises worth comparing, in the order of preference among equals.

        The best location with all noises; if that is not the linear one, this too with shaped noise (a mean that bends
        because modes trade places is better left to the noise); and the forest.
        """
        straight = locations.fit_straight(data)
        fitted = [straight, locations.fit_smooth(data)]
        if data.design.n_linear > 1:
            fitted.append(locations.fit_bent(data))
        if data.smooth.basis.numbers:
            fitted.append(locations.fit_stepped(data))
        best = straight
        for one in fitted[1:]:
            best = self._better(one, best)
        if locations.boosting_promises(data, best):
            best = self._better(locations.fit_boosted(data), best)
        found = [(best, noise) for noise in NOISES]
        if best is not straight:
            found += [(straight, "shaped residuals"), (straight, "scaled shaped residuals")]
        return [*found, (locations.fit_nothing(data), FOREST)]

    def _better(self, one: FittedLocation, best: FittedLocation) -> FittedLocation:
        """The one, if it is better than the best so far by as much as it has to be."""
        errors, least = (self.target - one.held_out) ** 2, (self.target - best.held_out) ** 2
        better = clearly_better(errors, least, one.margin, self.copies) and errors.mean() < one.share * least.mean()
        return one if better else best

    def _learn(self, fitted: FittedLocation, noise: str, fit: SmoothFit, rows: np.ndarray, n_trees: int) -> Noise:
        between = not self.support.discrete
        residuals = self.target - fitted.held_out
        data = NoiseData(self.design, self.parents, residuals, fit, rows, between, self.seed, n_trees)
        return noises.learn_forest(data) if noise == FOREST else NOISES[noise](data)

    def _race(
        self, candidates: list[tuple[FittedLocation, str]], data: LocationData
    ) -> tuple[tuple[FittedLocation, str], np.ndarray]:
        """The candidate of least CRPS and its held-out draws (r, d)."""
        draws = np.empty((len(candidates), len(data.folds), N_SCORED_DRAWS))

        def score(k: int, out: np.ndarray) -> np.ndarray:
            draws[k, out] = self._held_out_draws(*candidates[k], data, out)
            return crps(draws[k, out], self.target[out])

        chosen = race(range(len(candidates)), data.folds, score, self.copies)
        return candidates[chosen], draws[chosen]

    def _reweighted(
        self, fitted: FittedLocation, noise: str, draws: np.ndarray, data: LocationData
    ) -> tuple[FittedLocation, np.ndarray]:
        """The location and its held-out draws (r, d), or those of its fit with weights, if that is better."""
        if fitted.name not in WEIGHTED or locations.noise_weights(data, fitted)[1] < LEAST_PROMISE:
            return fitted, draws
        again = _fit_location(WEIGHTED[fitted.name], data)
        other = np.empty_like(draws)
        for fold in np.unique(data.folds):
            out = data.folds == fold
            other[out] = self._held_out_draws(again, noise, data, out)
        better = crps(other, self.target).mean() < crps(draws, self.target).mean()
        return (again, other) if better else (fitted, draws)

    def _held_out_draws(self, fitted: FittedLocation, noise: str, data: LocationData, out: np.ndarray) -> np.ndarray:
        """Draws (rows out, d) of noise that was learned from the other rows, about held-out locations."""
        learned = self._learn(fitted, noise, data.smooth, ~out, N_SCORED_TREES)
        mechanism = LocationNoise(lambda _: fitted.held_out[out], learned, self.support, noise)
        return draws_at(mechanism, self.parents[out])


def _named(fitted: FittedLocation, noise: str) -> str:
    return FOREST if noise == FOREST else f"{fitted.name} + {noise}"


def _fit_location(location: str | Callable, data: LocationData) -> FittedLocation:
    return location(data) if callable(location) else LOCATIONS[location](data)
