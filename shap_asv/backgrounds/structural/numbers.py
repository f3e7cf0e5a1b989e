"""The mechanism of a number: a location plus noise, each chosen by cross-validation.

    x = mu(parents) + noise(parents, u)

1. Locations (linear, smooth, smooth with steps, boosting) are compared by the squared error of predictions for rows
   that they were not fitted to. A richer one has to be better by more than the standard error of the difference.
2. On the residuals of the chosen one, noises (even, scaled, local, scaled and local) are compared by CRPS, again on
   rows that they were not fitted to; beside them the distributional forest, which is local noise about nothing. A
   candidate that is clearly behind after the first fold is not tried on the others.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shap_asv.backgrounds.structural import locations, noises
from shap_asv.backgrounds.structural.design import Design
from shap_asv.backgrounds.structural.locations import FittedLocation, Location
from shap_asv.backgrounds.structural.mechanism import Mechanism, Support
from shap_asv.backgrounds.structural.noises import Noise, NoiseData
from shap_asv.backgrounds.structural.scores import crps
from shap_asv.backgrounds.structural.splines import SmoothFit

N_SCORED_DRAWS = 40
N_SCORED_TREES = 16
N_TREES = 60
#: Rows that candidates are compared on; the chosen one is fitted to all.
MOST_COMPARED = 3000
#: Below so many rows only the linear location and even noise are tried.
FEWEST_FOR_SHAPES = 60


@dataclass(frozen=True, eq=False)
class LocationNoise:
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

    def describe(self) -> str:
        return self.name


#: In the order of preference among equals.
LOCATIONS: dict[str, Callable[[Design, np.ndarray, np.ndarray, np.ndarray, int], FittedLocation]] = {
    "linear": locations.fit_straight,
    "smooth": locations.fit_smooth,
    "smooth with steps": locations.fit_stepped,
    "boosting": locations.fit_boosted,
}
NOISES: dict[str, Callable[[NoiseData], Noise]] = {
    "residuals": noises.learn_even,
    "scaled residuals": noises.learn_scaled,
    "local residuals": noises.learn_local,
    "scaled local residuals": noises.learn_scaled_local,
}
FOREST = "forest"

#: What users may ask for by name -> (location, noises to choose from).
NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "linear": ("linear", ("residuals", "scaled residuals")),
    "smooth": ("smooth", tuple(NOISES)),
    "smooth with steps": ("smooth with steps", tuple(NOISES)),
    "boosting": ("boosting", tuple(NOISES)),
    FOREST: ("nothing", (FOREST,)),
}


def clearly_better(errors: np.ndarray, than: np.ndarray, margin: float = 1.0) -> bool:
    """Whether the mean of ``errors`` lies below that of ``than`` by ``margin`` standard errors of the difference."""
    gain = than - errors
    return bool(gain.mean() > 0 and gain.mean() > margin * gain.std() / np.sqrt(len(gain)))


def draw_folds(n: int, rng: np.random.Generator) -> np.ndarray:
    """Fold of each row: five of them, fewer for few rows or for very many."""
    count = 5 if n < 5000 else 3
    return rng.permutation(n) % min(count, n)


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

    def _subset(self, rng: np.random.Generator) -> "NumberTask":
        if len(self.target) <= MOST_COMPARED:
            return self
        rows = np.sort(rng.choice(len(self.target), MOST_COMPARED, replace=False))
        return NumberTask(self.design, self.parents[rows], self.target[rows], self.support, self.seed)

    def choose(
        self, location: str | Callable | None = None, allowed: tuple[str, ...] | None = None
    ) -> "tuple[Mechanism, np.ndarray, np.ndarray]":
        """The best mechanism; the draws (r', d) it is scored by and the rows' values (r',), both held out."""
        rng = np.random.default_rng(self.seed)
        part = self._subset(rng)
        folds = draw_folds(len(part.target), rng)
        small = len(part.target) < FEWEST_FOR_SHAPES
        fit = SmoothFit.prepare(part.design, part.parents)
        if location is None:
            name, fitted = part._choose_location(fit, folds, small)
        else:
            name, fitted = _named_location(location, part, folds)
        names = (("residuals",) if small else (*NOISES, FOREST)) if allowed is None else allowed
        noise, draws = part._choose_noise(fitted, fit, folds, names)
        return (
            self._finish(name, fitted, noise, location, fit if part is self else None, folds, rng),
            draws,
            part.target,
        )

    def _choose_location(self, fit: SmoothFit, folds: np.ndarray, small: bool) -> tuple[str, FittedLocation]:
        best: tuple[str, FittedLocation, np.ndarray] | None = None
        for name, make in LOCATIONS.items():
            if name == "smooth":
                fitted = locations.smooth_location(fit, self.target, folds)
            elif name == "smooth with steps":
                if not fit.basis.numbers:
                    continue
                fitted = locations.stepped_location(fit, self.design, self.parents, self.target, folds)
            else:
                fitted = make(self.design, self.parents, self.target, folds, self.seed)
            errors = (self.target - fitted.held_out) ** 2
            # its trees cost many look-ups a draw: boosting has to be worth it
            margin, share = (2.0, 0.97) if name == "boosting" else (1.0, 1.0)
            if best is None or (clearly_better(errors, best[2], margin) and errors.mean() < share * best[2].mean()):
                best = (name, fitted, errors)
            if small:
                break
        assert best is not None
        return best[0], best[1]

    def _noise_data(self, residuals: np.ndarray, fit: SmoothFit, rows: np.ndarray, n_trees: int) -> NoiseData:
        between = not self.support.discrete
        return NoiseData(self.design, self.parents, residuals, fit, rows, between, self.seed, n_trees)

    def _choose_noise(
        self, fitted: FittedLocation, fit: SmoothFit, folds: np.ndarray, names: tuple[str, ...]
    ) -> tuple[str, np.ndarray]:
        """The noise of least CRPS and its held-out draws (r, d); candidates race over the folds."""
        draws = {name: np.empty((len(folds), N_SCORED_DRAWS)) for name in names}
        scores = {name: np.empty(len(folds)) for name in names}
        alive = list(names)
        done = np.zeros(len(folds), dtype=bool)
        for fold in np.unique(folds):
            out = folds == fold
            for name in alive:
                location = np.zeros(int(out.sum())) if name == FOREST else fitted.held_out[out]
                residuals = self.target if name == FOREST else self.target - fitted.held_out
                noise = _learn_noise(name, self._noise_data(residuals, fit, ~out, N_SCORED_TREES))
                mechanism = LocationNoise(_Fixed(location), noise, self.support, name)
                draws[name][out] = draws_at(mechanism, self.parents[out])
                scores[name][out] = crps(draws[name][out], self.target[out])
            done |= out
            leader = min(alive, key=lambda name: scores[name][done].mean())
            alive = [
                name
                for name in alive
                if name == leader or not clearly_better(scores[leader][done], scores[name][done], margin=2.0)
            ]
        chosen = alive[0]
        for name in alive[1:]:
            if clearly_better(scores[name], scores[chosen]):
                chosen = name
        return chosen, draws[chosen]

    def _finish(
        self,
        name: str,
        fitted: FittedLocation,
        noise: str,
        given: str | Callable | None,
        fit: SmoothFit | None,
        folds: np.ndarray,
        rng: np.random.Generator,
    ) -> LocationNoise:
        """The chosen pair, fitted to all rows."""
        if fit is None:  # the comparison saw a part of the rows
            folds = draw_folds(len(self.target), rng)
            fit = SmoothFit.prepare(self.design, self.parents)
            if noise != FOREST:
                fitted = _named_location(name if given is None else given, self, folds)[1]
        everything = np.ones(len(self.target), dtype=bool)
        if noise == FOREST:
            data = self._noise_data(self.target, fit, everything, N_TREES)
            return LocationNoise(locations.Nothing(), _learn_noise(FOREST, data), self.support, FOREST)
        data = self._noise_data(self.target - fitted.held_out, fit, everything, N_TREES)
        return LocationNoise(fitted.function, _learn_noise(noise, data), self.support, f"{name} + {noise}")


@dataclass(frozen=True, eq=False)
class _Fixed:
    """Predictions already made for the rows at hand."""

    values: np.ndarray

    def __call__(self, parents: np.ndarray) -> np.ndarray:
        return self.values


def _learn_noise(name: str, data: NoiseData) -> Noise:
    return noises.learn_forest(data) if name == FOREST else NOISES[name](data)


def _named_location(location: str | Callable, task: NumberTask, folds: np.ndarray) -> tuple[str, FittedLocation]:
    if callable(location):
        fitted = location(task.design, task.parents, task.target, folds, task.seed)
        return fitted.name, fitted
    make = locations.fit_nothing if location == "nothing" else LOCATIONS[location]
    return location, make(task.design, task.parents, task.target, folds, task.seed)
