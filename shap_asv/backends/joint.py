"""phi of any model under a background that is drawn from: noises and causal orders are one sample, not a product.

A noise u (the uniform numbers behind a draw) and an order of the players give a sample of all phi_i at the price of one
walk along the order, with the same noise throughout:

    y_i = M(x(u, S + i)) - M(x(u, S)),    S = what precedes i,    x(u, S) = the draw given x_S

Each noise comes with g orders, g = all of them where the ideals are few. With D noises

    phi_i = mean over d of y_di,    variance (V_noise + V_order / g) / D,    model rows D * (coalitions of g orders)

and a pilot on rows that the background draws estimates both parts and takes the g for which variance times model rows
is least. Numbers of noises and of orders are coordinates of one scrambled Sobol set, which spreads noises several times
better than independent numbers, orders hardly: the part of the noise is divided by what was measured.

*Efficiency.* The y of a noise add up to ``M(x) - m`` with m its draw given nothing, whose mean over the noises is not
quite the base value E M(X). So ``pull_i (m - base)`` is added with fixed pulls that sum to one: the values then add up
to ``M(x) - base``, and stay unbiased since ``E m = base``. The base is the same for all rows, the mean of a larger
sample; the pulls are the regression of y on m in the pilot, so that variance is lost and not gained.

*How many draws.* ``n_draws`` fixes them. Else a row gets the power of two at which its standard errors are expected to
be a hundredth of the deviation of M(X), in the mean over players. What is expected comes from :data:`N_TRIAL` draws of
the row that are not used again, and from how the pilot's errors fall: a rule that looks at the very draws it goes on
with stops where they happen to agree, and is biased.

*Standard errors.* The draws of a row are G = 4 independent Sobol sets or a few more. With s^2 the variance of y over
all draws, s^2 / D would be the variance of their mean if they were independent; the spread of the G means tells what
Sobol sets make of it. G means know little of one value, so their gain is pooled with that of the row's other values,
which counts as much as up to :data:`PRIOR` degrees of freedom; what doubt is left is in Student's distribution, by
which the error is widened. Sets may agree by chance where a value hangs on one jump in one number: the spread is never
taken to be below that of sets of which two miss by 1 / size of a set (Agresti and Coull 1998).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from shap_asv.backends.coalitionwise import CoalitionwiseAttributor
from shap_asv.backends.conditioning import conditioning_obstacle, is_ancestral
from shap_asv.backends.contract import Attribution, Attributor, Backend, Problem, Settings
from shap_asv.backends.pace import Report, keep_silent, part_of
from shap_asv.backends.weight_columns import contract
from shap_asv.backends.workload import count_ideals, few_coalitions, ideal_columns
from shap_asv.backgrounds.contract import DrawsGivenEvidence
from shap_asv.costs import Cost
from shap_asv.orders.weights import weigh_orders
from shap_asv.strata import Coordinates, spread_uniforms
from shap_asv.values.contract import Workload, blocks, distinct_rows, drawing_cost, evidence_of
from shap_asv.values.monte_carlo import MONTE_CARLO, N_OFF, student

#: Independent Sobol sets of a row's draws (sizes are powers of two), and the fewest draws of a row.
N_SETS, FEWEST = 4, 64
#: Standard errors that a row gets without ``n_draws``, in deviations of the model over the background.
PRECISION = 0.01
#: Draws that tell how many a row needs; draws behind the base value.
N_TRIAL, N_BASE = 16, 4096
#: The pilot: rows, draws of each, orders for each draw.
PILOT_ROWS, PILOT_DRAWS, PILOT_ORDERS = 4, 64, 2
#: What Sobol sets divide the variance from the noise by, about, where all orders are averaged and where they are drawn.
GAIN_OF_ALL, GAIN_OF_SOME = 4.0, 1.5
#: Orders for each noise that are looked at; more coalitions than this are never asked for together.
ORDERS_PER_NOISE, MOST_COALITIONS = (1, 2, 4, 8), 4096
#: Degrees of freedom that the other values of a row count for, at most.
PRIOR = 3
#: Distinct rows explained at a time; values of pairs of coalition and noise held at a time.
ROW_BLOCK, HELD = 1024, 2**22
#: Points of a Sobol set that are taken together, at most; later ones are made again for every block of rows.
STAGE = 256
#: Libraries whose models let other Python threads run while they predict.
THREADED = ("sklearn", "xgboost", "lightgbm", "catboost")
# streams of random numbers
_BASE, _PILOT, _TRIAL, _DRAWS = range(1, 5)


class Block(NamedTuple):
    """A product of some coalitions with some noises of a stage, and which of its pairs that are."""

    coalitions: np.ndarray
    noises: np.ndarray
    pairs: np.ndarray


@dataclass(frozen=True, eq=False)
class Stage:
    """N noises, and the coalitions that the orders of each pass.

    Attributes
    ----------
    uniforms : float array (N, n_uniforms)
        The noises.
    coalitions : bool array (m, n)
        The empty one first, the full one last.
    noises : list of m int arrays
        For each coalition, the noises that meet it: all meet the empty one; of the full one, one stands for all.
    matrix : sparse (P, N * p)
        From values of the P pairs of coalition and noise, one coalition after the other, to y of each noise.
    """

    uniforms: np.ndarray
    coalitions: np.ndarray
    noises: list[np.ndarray]
    matrix: sp.csr_array

    @property
    def n_draws(self) -> int:
        return len(self.uniforms)

    def blocks(self, most: int) -> Iterator[Block]:
        """All pairs, as few products as there can be: a coalition with its noises, or a noise with its coalitions.

        A product has at most ``most`` pairs.
        """
        ends = np.cumsum([len(noises) for noises in self.noises])
        if len(self.coalitions) <= self.n_draws:
            for c, (noises, end) in enumerate(zip(self.noises, ends.tolist(), strict=True)):
                for part in blocks(len(noises), most):
                    pairs = np.arange(end - len(noises), end)[part]
                    yield Block(np.array([c]), noises[part], pairs)
            return
        inner = len(self.coalitions) - 1
        coalition = np.repeat(np.arange(inner), np.diff(ends[:-1], prepend=0))
        noise = np.concatenate(self.noises[:-1])
        order = np.argsort(noise, kind="stable")
        starts = np.flatnonzero(np.diff(noise[order], prepend=-1))
        for pairs in np.split(order, starts[1:]):
            for part in blocks(len(pairs), most):
                yield Block(coalition[pairs[part]], noise[pairs[:1]], pairs[part])
        yield Block(np.array([inner]), self.noises[-1], ends[-1:] - 1)


class JointAttributor:
    """The problem made ready: base value, pilot, and stages of draws as rows ask for them."""

    rowwise = True

    def __init__(self, problem: Problem, settings: Settings) -> None:
        assert isinstance(problem.background, DrawsGivenEvidence)
        self.problem, self.settings = problem, settings
        self.background: Any = problem.background
        self._entropy = cast(int, np.random.SeedSequence(settings.seed).entropy)
        self._stages: dict[tuple[int, int, int, int], Stage] = {}
        self.size, self.n_sets = sets_of(settings.n_draws)
        self.base, self.base_error, self.deviation = self._measure_base()
        self.pull, self.gain, self.n_orders = self._learn()

    @property
    def compiled(self) -> bool:
        """Whether draws and predictions are compiled code, which other threads run beside."""
        call = self.problem.predictor.call
        return call.method is not None and type(call.target).__module__.partition(".")[0] in THREADED

    # --- draws ------------------------------------------------------------------------------------------------------

    def _drawn(self, stream: int, first: int, size: int, n_sets: int, n_orders: int) -> tuple[np.ndarray, np.ndarray]:
        """Noises (N, n_uniforms) and orders (N, g, p): points from ``first`` on of each of so many Sobol sets."""
        from scipy.stats import qmc

        own, each = int(self.background.n_uniforms), 2 * self.problem.n_players
        width = min(own + n_orders * each, qmc.Sobol.MAXDIM)
        noises, orders = [], []
        for s in range(n_sets):
            seed = [self._entropy, stream, s]
            sobol = qmc.Sobol(width, seed=np.random.default_rng(seed))
            points = (sobol.fast_forward(first) if first else sobol).random(size)
            more = spread_uniforms(np.random.default_rng([*seed, first]), max(0, own - width), size, 1)
            noises.append(np.hstack([points[:, :own], more.T]))
            for j in range(n_orders):
                numbers = points[:, own + j * each : own + (j + 1) * each].T
                orders.append(self._orders(size, Coordinates(np.random.PCG64([*seed, first, j]), numbers)))
        p = self.problem.n_players
        found = np.array(orders, dtype=np.int64).reshape(n_sets, n_orders, size, p).transpose(0, 2, 1, 3)
        return np.concatenate(noises), found.reshape(n_sets * size, n_orders, p)

    def _stage(self, stream: int, first: int, size: int, n_sets: int) -> Stage:
        key = (stream, first, size, n_sets)
        if key not in self._stages:
            uniforms, orders = self._drawn(*key, self.n_orders)
            made = self._with_orders(uniforms, orders) if self.n_orders else self._with_all_orders(uniforms)
            if first >= STAGE:
                return made
            self._stages[key] = made
        return self._stages[key]

    def _orders(self, size: int, numbers: Coordinates) -> np.ndarray:
        """So many orders of the players, int (size, p)."""
        return self.problem.order.sample_topological_orders(size, numbers, n_groups=1)

    def _with_all_orders(self, uniforms: np.ndarray) -> Stage:
        columns, p = ideal_columns(self.problem, self.settings), self.problem.n_players
        weights, noise, full = columns.matrix.tocoo(), np.arange(len(uniforms)), len(columns.coalitions) - 1
        row = weights.row[:, None] * len(noise) + np.where(weights.row[:, None] == full, 0, noise)
        column = weights.col[:, None] + noise * p
        data = np.repeat(weights.data, len(noise))
        matrix = sp.csr_array((data, (row.ravel(), column.ravel())), shape=(full * len(noise) + 1, len(noise) * p))
        return Stage(uniforms, columns.coalitions, [noise] * full + [noise[:1]], matrix)

    def _with_orders(self, uniforms: np.ndarray, orders: np.ndarray) -> Stage:
        """Noises (N, n_uniforms) with orders (N, g, p)."""
        n, g, p = orders.shape
        orders = orders.reshape(n * g, p)
        weights = weigh_orders(orders)
        assert weights.paths is not None
        noise = np.repeat(np.arange(n), g)[:, None]
        keys = weights.paths * n + noise
        keys[:, -1] = weights.paths[:, -1] * n
        pairs, row = np.unique(keys, return_inverse=True)
        row, column = row.reshape(keys.shape), noise * p + orders
        share = np.repeat([1 / g, -1 / g], column.size)
        ends = np.concatenate([row[:, 1:].ravel(), row[:, :-1].ravel()])
        matrix = sp.csr_array((share, (ends, np.tile(column.ravel(), 2))), shape=(len(pairs), n * p))
        coalition, met = np.divmod(pairs, n)
        groups = self.problem.groups
        coalitions = weights.coalitions if groups is None else groups.expand(weights.coalitions)
        return Stage(uniforms, coalitions, np.split(met, np.flatnonzero(np.diff(coalition)) + 1), matrix)

    # --- values -----------------------------------------------------------------------------------------------------

    def _samples(self, stage: Stage, rows: np.ndarray, report: Report = keep_silent) -> tuple[np.ndarray, np.ndarray]:
        """y (r, N, p, k) and what m is above the base (N, k)."""
        nu = self._values(stage, rows, report)
        y = contract(nu, stage.matrix).reshape(len(rows), stage.n_draws, -1, nu.shape[2])
        return y, nu[0, : stage.n_draws] - self.base  # every noise meets the empty coalition, which stands first

    def _values(self, stage: Stage, rows: np.ndarray, report: Report) -> np.ndarray:
        """The model at every pair of coalition and noise, (r, P, k). A draw that rows share is drawn once."""
        nu = np.empty((len(rows), stage.matrix.shape[0], self.problem.n_outputs))
        n_values, done = np.array([len(np.unique(column)) for column in rows.T]), 0
        for wave in self._waves(stage, len(rows)):
            drawn, backs = [], []
            for coalitions, noises, _ in wave:
                evidence, back = self._evidence(stage.coalitions[coalitions], rows, n_values)
                whole = stage.coalitions[coalitions].all()
                one = evidence[:, None] if whole else self.background.draws(evidence, stage.uniforms[noises])
                drawn.append(one.reshape(-1, rows.shape[1]))
                backs.append(back)
            outputs = self._predict(np.concatenate(drawn))
            ends = np.cumsum([len(one) for one in drawn])[:-1]
            for (_, noises, pairs), back, own in zip(wave, backs, np.split(outputs, ends), strict=True):
                met = own.reshape(-1, len(noises), nu.shape[2])[back]
                nu[:, pairs] = met.reshape(len(rows), len(pairs), nu.shape[2])
                done += len(pairs)
            report(done / nu.shape[1])
        return nu

    def _evidence(
        self, coalitions: np.ndarray, rows: np.ndarray, n_values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What rows tell in each of the coalitions (c, n), and where (r, c) each pair of row and coalition is told."""
        found, backs, count = [], [], 0
        for members in coalitions:
            evidence, back = evidence_of(members[None], rows, self.background.free), np.arange(len(rows))
            if n_values[members].max(initial=1) <= len(rows) / 2:
                evidence, back = distinct_rows(evidence)
            found.append(evidence)
            backs.append(count + back)
            count += len(evidence)
        return np.concatenate(found), np.stack(backs, axis=1)

    def _waves(self, stage: Stage, n_rows: int) -> Iterator[list[Block]]:
        """All pairs in parts that fill a batch of the model."""
        most = max(1, self.settings.batch_size // n_rows)
        wave: list[Block] = []
        held = 0
        for block in stage.blocks(most):
            if wave and held + len(block.pairs) > most:
                yield wave
                wave, held = [], 0
            wave.append(block)
            held += len(block.pairs)
        yield wave

    def _predict(self, rows: np.ndarray) -> np.ndarray:
        batches = blocks(len(rows), self.settings.batch_size)
        return np.concatenate([self.problem.predictor.predict(rows[batch]) for batch in batches])

    # --- what is learned before the first row -----------------------------------------------------------------------

    def _measure_base(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E M(X), its standard error, and the deviation of M(X), each (k,)."""
        size = max(N_BASE // N_SETS, 2 ** int(np.log2(self.size * self.n_sets)))
        empty = np.zeros((1, self.problem.n_features), dtype=bool)
        sums, squares = np.zeros((2, N_SETS, self.problem.n_outputs))
        for block in blocks(size, STAGE):
            uniforms, _ = self._drawn(_BASE, block.start, block.stop - block.start, N_SETS, 0)
            count = len(uniforms)
            stage = Stage(uniforms, empty, [np.arange(count)], sp.csr_array((count, 0)))
            outputs = self._values(stage, self._nothing(), keep_silent)[0].reshape(N_SETS, -1, len(sums[0]))
            sums += outputs.sum(axis=1)
            squares += (outputs**2).sum(axis=1)
        means = sums / size
        single = np.maximum((squares / size).mean(axis=0) - means.mean(axis=0) ** 2, 0.0)
        single[single <= 1e-24 * means.mean(axis=0) ** 2] = 0.0
        spread = np.maximum(means.var(axis=0, ddof=1) / N_SETS, least_variance(single, size, N_SETS))
        return means.mean(axis=0), student(N_SETS - 1) * np.sqrt(spread), np.sqrt(single)

    def _nothing(self) -> np.ndarray:
        """Evidence of no feature."""
        return np.full((1, self.problem.n_features), self.background.free)

    def _learn(self) -> tuple[np.ndarray, float, int]:
        """The pulls (p, k), the gain of the pilot's Sobol sets over independent draws, and the orders for each noise.

        The variance of y over orders is that of two orders with one noise, the rest is that of the noise.
        """
        rng = np.random.default_rng([self._entropy, _PILOT])
        rows = self.background.draws(self._nothing(), rng.random((PILOT_ROWS, self.background.n_uniforms)))[0]
        size = PILOT_DRAWS // N_SETS
        uniforms, orders = self._drawn(_PILOT, 0, size, N_SETS, PILOT_ORDERS)
        p = orders.shape[2]
        each = self._with_orders(np.repeat(uniforms, PILOT_ORDERS, axis=0), orders.reshape(-1, 1, p))
        y, above = self._samples(each, rows)
        y = y.reshape(PILOT_ROWS, PILOT_DRAWS, PILOT_ORDERS, p, -1)
        by_noise, m = y.mean(axis=2), above[::PILOT_ORDERS, None]
        m = m - m.mean(axis=0)
        pull = -(by_noise * m).sum(axis=(0, 1))
        varies = self.deviation > 1e-12 * np.abs(self.base)
        with np.errstate(invalid="ignore", divide="ignore"):
            pull = np.where(varies & (pull.sum(axis=0) != 0), pull / pull.sum(axis=0), 1 / p)
            scaled = np.where(varies, 1 / self.deviation**2, 0.0)
        of_orders = float((y.var(axis=2, ddof=1) * scaled).mean())
        of_noise = max(0.0, float((y.var(axis=1, ddof=1) * scaled).mean()) - of_orders)
        sets = (by_noise + pull * m).reshape(PILOT_ROWS, N_SETS, size, p, -1)
        single = (sets.reshape(PILOT_ROWS, PILOT_DRAWS, p, -1).var(axis=1, ddof=1) * scaled).mean() / PILOT_DRAWS
        gain = (sets.mean(axis=2).var(axis=1, ddof=1) * scaled).mean() / N_SETS / single if single else 1.0
        return pull, float(np.clip(gain, 1 / PILOT_DRAWS, 1.0)), self._fewest_rows(of_noise, of_orders)

    def _fewest_rows(self, of_noise: float, of_orders: float) -> int:
        """Orders for each noise for which variance times model rows is least; 0 stands for all."""
        prices = {}
        count = count_ideals(self.problem, self.settings)
        if count is not None and count <= MOST_COALITIONS:
            prices[0] = of_noise / GAIN_OF_ALL * (count - 1)
        for g in ORDERS_PER_NOISE:
            uniforms, orders = self._drawn(_PILOT, 0, N_TRIAL, 1, g)
            n_pairs = self._with_orders(uniforms, orders).matrix.shape[0] / N_TRIAL
            prices[g] = (of_noise / GAIN_OF_SOME + of_orders / g) * n_pairs
        return min(prices, key=prices.__getitem__)

    # --- rows ---------------------------------------------------------------------------------------------------------

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        shape = (self.problem.n_players, self.problem.n_outputs)
        draws = self._draws_for(rows)
        sums, squares = np.zeros((len(rows), self.n_sets, *shape)), np.zeros((len(rows), *shape))
        first, done, total = 0, 0, int(draws.sum())
        while (asked := np.flatnonzero(draws > first * self.n_sets)).size:
            size = min(first or self.size, STAGE)
            stage = self._stage(_DRAWS, first, size, self.n_sets)
            for chosen in self._parts(stage, asked):
                n_done = len(chosen) * stage.n_draws
                y, above = self._samples(stage, rows[chosen], part_of(report, done / total, (done + n_done) / total))
                y += self.pull * above[:, None]
                sums[chosen] += y.reshape(len(y), self.n_sets, size, *shape).sum(axis=2)
                squares[chosen] += (y**2).sum(axis=1)
                done += n_done
            first += size
        phi, error = self._estimate(sums, squares, draws[:, None, None])
        return Attribution(phi, self.base, error, draws)

    def _parts(self, stage: Stage, asked: np.ndarray) -> Iterator[np.ndarray]:
        """Rows whose values can be held together."""
        for block in blocks(len(asked), HELD // (stage.matrix.shape[0] * self.problem.n_outputs)):
            yield asked[block]

    def _draws_for(self, rows: np.ndarray) -> np.ndarray:
        """How many draws each row gets, int (r,).

        The error of 2^a times as many draws as the pilot's is taken to fall by 2^(3a/4), between the 1/2 of independent
        draws and the 1 of smooth functions.
        """
        draws = np.full(len(rows), self.size * self.n_sets)
        if self.settings.n_draws is not None:
            return draws
        stage, deviation = self._stage(_TRIAL, 0, N_TRIAL, 1), np.empty(len(rows))
        scale = np.where(self.deviation > 0, self.deviation, np.inf)
        for chosen in self._parts(stage, np.arange(len(rows))):
            y, above = self._samples(stage, rows[chosen])
            y += self.pull * above[:, None]
            deviation[chosen] = (y.std(axis=1, ddof=1).mean(axis=1) / scale).max(axis=1)
        error = deviation * np.sqrt(self.gain / PILOT_DRAWS)
        with np.errstate(divide="ignore"):
            doublings = np.ceil(np.log2(error / PRECISION) / 0.75)
        most = np.log2(self.settings.most_draws / FEWEST)
        return draws * 2 ** np.clip(doublings, 0, most).astype(int)

    def describe(self, attribution: Attribution) -> str:
        """What was drawn, for the plan."""
        assert attribution.draws is not None
        assert attribution.error is not None
        fewest, most = int(attribution.draws.min()), int(attribution.draws.max())
        draws = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,} (mean {attribution.draws.mean():,.0f})"
        orders = f"{self.n_orders} order{'s' * (self.n_orders > 1)} each" if self.n_orders else "all orders"
        coalitions = len(self._stage(_DRAWS, 0, min(self.size, STAGE), self.n_sets).coalitions)
        scale = np.where(self.deviation > 0, self.deviation, np.inf)
        reached = (attribution.error.mean(axis=1) / scale).mean()
        return (
            f"{draws} draws of noise, {orders}, of {coalitions:,} coalitions; mean standard error {reached:.1%} of the "
            "model's deviation"
        )

    def _estimate(self, sums: np.ndarray, squares: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """phi and its standard error (r, p, k), from sums of y over sets (r, G, p, k) and of y^2 (r, p, k)."""
        own, size = self.n_sets - 1, draws / self.n_sets
        phi = sums.sum(axis=1) / draws
        single = np.maximum(squares / draws - phi**2, 0.0) * draws / (draws - 1)
        varies = single > 1e-24 * (phi**2 + self.base**2 + self.deviation**2)
        single = np.where(varies, single, 0.0)
        between = (sums / size[..., None]).var(axis=1, ddof=1)
        gains = np.divide(between * size, single, out=np.zeros_like(phi), where=varies)
        count = varies.sum(axis=(1, 2), keepdims=True)
        others = (gains.sum(axis=(1, 2), keepdims=True) - gains) / np.maximum(count - 1, 1)
        # values of a row add up to a constant, so that one of them says nothing new
        prior = np.minimum(PRIOR, own * np.maximum(count - 2, 0))
        variance = single / draws * (own * gains + prior * others) / (own + prior)
        variance = np.maximum(variance, least_variance(single, size, self.n_sets)) * student(own + prior) ** 2
        return phi, np.sqrt(variance + (self.pull * self.base_error) ** 2)


def sets_of(n_draws: int | None) -> tuple[int, int]:
    """Size and number of Sobol sets, for at least ``n_draws``; None for the first ones of a row that may get more.

    More draws come in more sets: where a value hangs on rare events, four large ones agree too often.

    >>> sets_of(None), sets_of(500), sets_of(600), sets_of(1), sets_of(4096)
    ((16, 4), (128, 4), (128, 5), (1, 2), (512, 8))
    """
    n = FEWEST if n_draws is None else n_draws
    size = 2 ** max(0, int(np.log2(1.1 * n / (N_SETS if n < N_SETS * STAGE else 2 * N_SETS))))
    return size, max(2, ceil(n / size))


def least_variance(single: np.ndarray, size: np.ndarray | int, n_sets: int) -> np.ndarray:
    """The variance of the mean of so many sets of which :data:`N_OFF` miss by 1 / size of ``single`` deviations."""
    return N_OFF * single / (np.asarray(size) ** 2 * n_sets * (n_sets - 1))


# --- the row of the table of backends -------------------------------------------------------------------------------


def _obstacle(problem: Problem, settings: Settings) -> str | None:
    return MONTE_CARLO.obstacle(problem.background, problem.predictor) or conditioning_obstacle(problem)


def _cost(problem: Problem, settings: Settings, n_rows: int) -> Cost:
    """As if each noise came with one order, or with all where they pass few coalitions; a row gets twice the fewest.

    The pilot and the trial of each row meet coalitions of their own, with a draw each.
    """
    size, n_sets = sets_of(settings.n_draws)
    draws = size * n_sets * (1 if settings.n_draws else 2)
    count, p, k = count_ideals(problem, settings), problem.n_players, problem.n_outputs
    each = p if count is None or count > 3 * p else count
    met = each * draws if count is None else min(count, each * draws)
    if problem.link is not None:
        met, each = few_coalitions(problem, settings).count(problem, settings), 0
    pairs = draws * (each or met)
    work = Workload(n_rows, met, problem.n_features, draws, is_ancestral(problem), settings.batch_size)
    asked = n_rows * pairs + N_BASE + PILOT_ROWS * PILOT_DRAWS * PILOT_ORDERS * p
    at_once = pairs * min(draws, STAGE * n_sets) // draws
    held = 3 * min(n_rows * at_once * k, max(HELD, at_once * k)) + (10 + p // 2) * at_once
    held += 3 * min(asked, settings.batch_size) * (problem.n_features + k)
    held += 3 * min(draws, STAGE * N_SETS) * int(problem.background.n_uniforms)  # type: ignore[attr-defined]
    own = Cost({"coalition": met}, 8 * held, asked, work.calls(problem.predictor, asked), met, draws)
    found = own + drawing_cost(problem.background, work, ceil(pairs / met))
    if problem.link is None:
        ahead = [(PILOT_ROWS, PILOT_DRAWS * PILOT_ORDERS), (0 if settings.n_draws else n_rows, N_TRIAL)]
        for rows, orders in ahead:
            more = orders * p if count is None else min(count, orders * p)
            found += drawing_cost(problem.background, replace(work, n_rows=rows, n_coalitions=more if rows else 0), 1)
    return found


def _prepare(problem: Problem, settings: Settings) -> Attributor:
    """A link needs the value of every coalition: then all noises meet all of a fixed set of them."""
    if problem.link is None:
        return JointAttributor(problem, settings)
    values = MONTE_CARLO.build(problem.background, problem.predictor, settings.value_options(problem))
    return CoalitionwiseAttributor(values, few_coalitions(problem, settings).columns(problem, settings), problem.link)


JOINT = Backend("monte_carlo", False, MONTE_CARLO, _obstacle, _cost, _prepare, ROW_BLOCK, by_coalitions=True)
