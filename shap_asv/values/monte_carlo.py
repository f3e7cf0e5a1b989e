"""Values of any model at any size: the mean of the model over draws of X | e_S, with a standard error.

The same uniform numbers drive the draws of every coalition and every row (common random numbers), so the difference
``nu(S + i) - nu(S)`` is far less noisy than either value, and a result does not depend on how the rows were split
into blocks. The draws come in independent groups, each spread evenly (:mod:`shap_asv.strata`); how
much the groups disagree is the standard error, of a value and of anything that is linear in the values.

Groups are scrambled Sobol sets, whose sizes are powers of two: a set of s draws errs like many more independent ones,
the more so the larger it is. But the error is known from the spread of the G sets alone, and few sets know little: of
four, one value in two thousand is ten errors off by the luck of the draw. So there are eight sets or more (unless there
are fewer draws), and their number grows with the draws, G ~ n^(1/3). A background with finitely many states, or donors,
takes more and smaller ones: a large set meets a state about as often as the next one does, to the draw. What is left of
the doubt is in Student's distribution, by which the spread is widened: mean +- 1.96 errors covers 95%.

Sets may agree by chance. Where a value hangs on one jump in one number, each set misses its probability by a part of
1 / s, and now and then all by the same part: no spread at all, as with a coin that falls on one side a few times in a
row. So the spread is never taken to be below that of sets of which two miss by ``sigma / s``, sigma being the deviation
of single draws (as two successes and two failures are added to a share, Agresti and Coull 1998):

    error^2 = widening^2 max(sum_g (mean_g - mean)^2, 2 (sigma / s)^2) / (G (G - 1))

An event that no draw has met leaves no trace in either, and the error says nothing of it.
"""

from typing import Any

import numpy as np

from shap_asv.backgrounds.contract import (
    DRAWS,
    Background,
    DrawsGivenEvidence,
    FiniteStates,
    WeightedRows,
    is_free,
)
from shap_asv.costs import Cost
from shap_asv.models.predictor import BLACK_BOX, Predictor
from shap_asv.strata import sobol_uniforms
from shap_asv.values.contract import (
    ValueMethod,
    ValueOptions,
    Workload,
    blocks,
    distinct_rows,
    drawing_cost,
    evidence_of,
)

#: Independent groups of draws, about (sizes are powers of two), up to a thousand draws; more of more draws.
N_GROUPS = 10
N_GROUPS_OF_STATES = 32
#: Sets that are off by as much as a set can tell, at least.
N_OFF = 2
#: Draws of each group, the first ones, that tell the deviation of single draws.
N_SAMPLED = 8
_STREAM = 1


class MonteCarlo:
    """nu of any model under a background that can be drawn from, estimated.

    The draws per (row, coalition) are rounded up to groups of equal size, at least two per value.
    """

    def __init__(self, background: Background, predictor: Predictor, options: ValueOptions) -> None:
        assert isinstance(background, DrawsGivenEvidence)
        self.background = background
        self._free = background.free
        self.predictor = predictor
        self.n_outputs = predictor.n_outputs
        self.batch_size = options.batch_size
        self.n_groups, size = _groups(max(2, options.n_draws), _has_atoms(background))
        self.n_draws = self.n_groups * size
        #: What the spread of the groups is multiplied with, so that 1.96 errors are a 95% interval.
        self.widening = student(self.n_groups - 1)
        #: What the variance of single draws is multiplied with for the least variance of a mean.
        self.resolution = self.widening**2 * N_OFF / (size**2 * self.n_groups * (self.n_groups - 1))
        self._sampled = (size * np.arange(self.n_groups)[:, None] + np.arange(min(size, N_SAMPLED))).ravel()
        # a stream of its own: sampled orders start from the same seed, and must not know of the draws
        rng = np.random.default_rng(None if options.seed is None else [options.seed, _STREAM])
        self._uniforms = sobol_uniforms(rng, background.n_uniforms, self.n_draws, self.n_groups).T

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and rows (r, n) -> float64 (r, m, k)."""
        return self.groups(coalitions, rows).mean(axis=0)

    def estimate(self, coalitions: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and their standard errors, each float64 (r, m, k)."""
        groups, sample = self.groups_and_sample(coalitions, rows)
        between = self.widening**2 * groups.var(axis=0, ddof=1) / self.n_groups
        return groups.mean(axis=0), np.sqrt(np.maximum(between, self.resolution * sample.var(axis=0)))

    def groups(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Means of the groups of draws -> float64 (G, r, m, k)."""
        return self._drawn(coalitions, rows, self._sampled[:0])[0]

    def groups_and_sample(self, coalitions: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means of the groups (G, r, m, k), and some of the draws one by one (S, r, m, k)."""
        return self._drawn(coalitions, rows, self._sampled)

    def _drawn(self, coalitions: np.ndarray, rows: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        evidence, back = distinct_rows(evidence_of(coalitions, rows, self._free))
        means = np.empty((self.n_groups, len(evidence), self.n_outputs))
        sample = np.empty((len(kept), len(evidence), self.n_outputs))
        for block in blocks(len(evidence), self.batch_size // self.n_draws):
            outputs = self._outputs(evidence[block])
            grouped = outputs.reshape(len(outputs), self.n_groups, -1, self.n_outputs)
            means[:, block] = grouped.mean(axis=2).transpose(1, 0, 2)
            sample[:, block] = outputs[:, kept].transpose(1, 0, 2)
        shape = (len(rows), len(coalitions), self.n_outputs)
        return means[:, back].reshape(-1, *shape), sample[:, back].reshape(len(kept), *shape)

    def _outputs(self, evidence: np.ndarray) -> np.ndarray:
        """The model at every draw, (E, D, k)."""
        n = evidence.shape[1]
        complete = ~is_free(evidence, self._free).any(axis=1)
        outputs = np.empty((len(evidence), self.n_draws, self.n_outputs))
        if complete.any():  # nothing is random: one call each
            outputs[complete] = self.predictor.predict(evidence[complete])[:, None, :]
        if not complete.all():
            open_ = np.flatnonzero(~complete)
            per_piece = max(1, self.batch_size // len(open_))  # one evidence row may want more draws than a batch
            for piece in blocks(self.n_draws, per_piece):
                draws = self.background.draws(evidence[open_], self._uniforms[piece])
                predicted = self.predictor.predict(draws.reshape(-1, n))
                outputs[open_, piece] = predicted.reshape(len(open_), -1, self.n_outputs)
        return outputs


def _has_atoms(background: Any) -> bool:
    """Whether draws are some of finitely many rows: states of a network, donors of a table."""
    return isinstance(background, FiniteStates | WeightedRows)


def _groups(n_draws: int, finite: bool) -> tuple[int, int]:
    """Number and size of the groups, for at least ``n_draws``; Sobol sets are balanced where sizes are powers of two.

    >>> _groups(500, finite=False), _groups(4096, finite=False), _groups(500, finite=True), _groups(2, finite=True)
    ((8, 64), (16, 256), (32, 16), (2, 1))
    """
    size = n_draws / N_GROUPS_OF_STATES if finite else min(n_draws / N_GROUPS, n_draws ** (2 / 3))
    whole = 2 ** max(0, round(np.log2(size)))
    return -(-n_draws // whole), whole


def student(degrees: Any) -> Any:
    """How much longer a 95% interval is with Student's distribution than with the normal one."""
    from scipy.special import stdtrit

    return stdtrit(degrees, 0.975) / 1.96


def _cost(background: DrawsGivenEvidence, predictor: Predictor, work: Workload) -> Cost:
    n_groups, size = _groups(max(2, work.n_draws), _has_atoms(background))
    n_draws = n_groups * size
    asked = work.n_rows * work.n_coalitions * n_draws
    # the group means; outputs of the draws of one pair at least; a batch of draws, as drawn and as the model takes it;
    # and the random numbers behind them, which are spread, sorted and turned round
    held = n_groups * work.n_rows * work.n_coalitions * predictor.n_outputs
    held += max(min(asked, work.batch_size), n_draws) * 2 * predictor.n_outputs
    held += min(asked, work.batch_size) * 3 * work.n_features + 3 * n_draws * background.n_uniforms
    cost = Cost({}, 8 * held, asked, work.calls(predictor, asked), draws=n_draws)
    return cost + drawing_cost(background, work, n_draws)


MONTE_CARLO = ValueMethod("monte_carlo", False, DRAWS, BLACK_BOX, _cost, MonteCarlo, grows_with="n_draws")
