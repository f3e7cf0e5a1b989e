"""shap's own marginal expectation: hidden features are replaced by the rows of a background matrix.

    nu(S) = link( mean over background rows b of M(e_S, b_rest) )

Nothing here is causal or conditional; it is what ``shap.ExactExplainer`` computes, so that a matrix background
without a causal graph gives shap's own numbers. With a nonlinear link and ``linearize_link`` shap averages ``w_b *
link(M)`` instead, with weights chosen such that the empty coalition still gives ``link(mean M)``; so do we.
"""

import numpy as np

from shap_asv.backgrounds.contract import MASKED, MaskedInputs
from shap_asv.costs import Cost
from shap_asv.errors import ModelError
from shap_asv.models.predictor import BLACK_BOX, Predictor
from shap_asv.values.contract import ValueMethod, ValueOptions, Workload, blocks


class MarginalValues:
    """nu by shap's masking, exactly as shap averages it."""

    def __init__(self, background: MaskedInputs, predictor: Predictor, options: ValueOptions) -> None:
        self.background = background
        self.predictor = predictor
        self.n_outputs = predictor.n_outputs
        self.batch_size = options.batch_size
        self._link = options.link
        self._linearize = options.linearize_link and options.link is not None

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and rows (r, n) of the model's own inputs -> float64 (r, m, k), the link already applied."""
        result = np.empty((len(rows), len(coalitions), self.n_outputs))
        per_call = max(1, self.batch_size // self.background.n_samples)
        for i, row in enumerate(rows):
            sample_weights = self._sample_weights(row)
            for block in blocks(len(coalitions), per_call):
                inputs, counts = self.background.masked_inputs(coalitions[block], row)
                outputs = self.predictor.predict(inputs)
                ends = np.cumsum(counts)
                for position, (start, end) in enumerate(zip(ends - counts, ends, strict=True)):
                    result[i, block.start + position] = self._average(outputs[start:end], sample_weights)
        if not np.isfinite(result).all():
            if self._link is None:
                raise ModelError("the mean of the model's outputs is not finite: they are too large; rescale the model")
            raise ModelError(
                "the link function is not finite at the model's output (the logit of exactly 0 or 1?); "
                "use the identity link, or a model whose output stays inside the link's domain"
            )
        return result

    def _average(self, outputs: np.ndarray, sample_weights: np.ndarray | None) -> np.ndarray:
        if self._link is None:
            with np.errstate(over="ignore"):
                return outputs.mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            if sample_weights is not None:
                return (sample_weights * self._link(outputs)).mean(axis=0)
            return self._link(outputs.mean(axis=0))

    def _sample_weights(self, row: np.ndarray) -> np.ndarray | None:
        """Weights w_b with mean(w * link(M)) = link(mean(M)) over the background; the link is linearised at mean(M)."""
        if not self._linearize or self._link is None:
            return None
        inputs, _ = self.background.masked_inputs(np.zeros((1, len(row)), dtype=bool), row)
        outputs = self.predictor.predict(inputs)
        mean = outputs.mean(axis=0)
        step = 1e-4  # shap's own difference quotient: its numbers are what we have to meet
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (self._link(mean + step) - self._link(mean)) / step
            weights = slope * (outputs - mean) / (self._link(outputs) - self._link(mean))
            weights = np.where(outputs == mean, 1.0, weights)  # the limit; shap divides 0 by 0 here
            return weights * (len(weights) / weights.sum(axis=0))


def _cost(background: MaskedInputs, predictor: Predictor, work: Workload) -> Cost:
    calls = work.n_rows * work.n_coalitions * background.n_samples
    # a call of the model holds at least one coalition's rows, as masked and as the model takes them
    held = min(calls, max(work.batch_size, background.n_samples)) * (3 * work.n_features + predictor.n_outputs)
    memory = 8 * (held + work.n_rows * work.n_coalitions * predictor.n_outputs)
    per_row = work.calls(predictor, work.n_coalitions * background.n_samples)
    return Cost({"masked row": calls}, memory, calls, work.n_rows * per_row)


MARGINAL = ValueMethod("marginal", True, MASKED, BLACK_BOX, _cost, MarginalValues, applies_link=True)
