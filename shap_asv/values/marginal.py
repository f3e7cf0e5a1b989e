"""shap's own marginal expectation: hidden features are replaced by the rows of a background matrix.

    nu(S) = link( mean over background rows b of M(e_S, b_rest) )

Nothing here is causal or conditional; it is what ``shap.ExactExplainer`` computes, so that a matrix background
without a causal graph gives shap's own numbers. With a nonlinear link and ``linearize_link`` shap averages ``w_b *
link(M)`` instead, with weights chosen such that the empty coalition still gives ``link(mean M)``; so do we.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from shap_asv.errors import ModelError, NetworkError
from shap_asv.models.predictor import PlainPredictor
from shap_asv.values.contract import Cost, ValueMethod, ValueOptions, Workload, blocks


class MatrixBackground:
    """A shap masker as a background: a matrix of rows, or any callable masker of shap's protocol."""

    def __init__(self, masker: Any) -> None:
        self.masker = masker
        data = getattr(masker, "data", None)
        self.data = None if data is None or not type(masker).__module__.startswith("shap.maskers._tabular") else data
        self.n_samples = len(self.data) if self.data is not None else 1
        self.dataframe_columns: list[str] | None = (
            [str(name) for name in masker.feature_names] if getattr(masker, "output_dataframe", False) else None
        )
        self.labels = None if self.dataframe_columns is None else list(masker.feature_names)

    @property
    def n_features(self) -> int | None:
        shape = getattr(self.masker, "shape", None)
        return None if shape is None or callable(shape) else int(shape[1])

    def dressed(self, inputs: np.ndarray) -> Any:
        """As shap hands them to the model: a DataFrame where the background was one."""
        if self.dataframe_columns is None:
            return inputs
        import pandas as pd

        return pd.DataFrame(inputs, columns=self.labels)

    def masked_inputs(self, coalitions: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Model inputs for each coalition, stacked, and the number of inputs that belong to each."""
        if self.data is not None:
            inputs = np.where(coalitions[:, None, :], row, self.data[None])
            return inputs.reshape(-1, inputs.shape[-1]), np.full(len(coalitions), len(self.data))
        stacked, counts = [], []
        for members in coalitions:
            try:
                masked = self.masker(members, row)
                masked = np.array(masked[0] if isinstance(masked, tuple) else masked)
            except Exception as error:
                raise NetworkError(f"the masker raised {type(error).__name__}: {error}") from error
            if masked.ndim != 2 or masked.shape[1] != len(row):
                raise NetworkError(
                    f"the masker answered with shape {masked.shape} to a row of {len(row)} features; it must return "
                    "rows of the model's inputs (samples, features)"
                )
            stacked.append(masked)
            counts.append(len(masked))
        return np.concatenate(stacked), np.array(counts)


class MarginalValues:
    """nu by shap's masking, exactly as shap averages it."""

    exact = True

    def __init__(
        self,
        background: MatrixBackground,
        predictor: PlainPredictor,
        link: Callable[[np.ndarray], np.ndarray] | None = None,
        linearize_link: bool = True,
        batch_size: int = 65_536,
    ) -> None:
        self.background = background
        self.predictor = predictor
        assert predictor.n_outputs is not None
        self.n_outputs: int = predictor.n_outputs
        self.batch_size = batch_size
        self._link = link
        self._linearize = linearize_link and link is not None

    def values(self, coalitions: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """bool (m, n) and rows (r, n) of the model's own inputs -> float64 (r, m, k), the link already applied."""
        result = np.empty((len(rows), len(coalitions), self.n_outputs))
        per_call = max(1, self.batch_size // self.background.n_samples)
        for i, row in enumerate(rows):
            sample_weights = self._sample_weights(row)
            for block in blocks(len(coalitions), per_call):
                inputs, counts = self.background.masked_inputs(coalitions[block], row)
                outputs = self.predictor.predict(self.background.dressed(inputs))
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
        outputs = self.predictor.predict(self.background.dressed(inputs))
        mean = outputs.mean(axis=0)
        step = 1e-4  # shap's own difference quotient: its numbers are what we have to meet
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (self._link(mean + step) - self._link(mean)) / step
            weights = slope * (outputs - mean) / (self._link(outputs) - self._link(mean))
            weights = np.where(outputs == mean, 1.0, weights)  # the limit; shap divides 0 by 0 here
            return weights * (len(weights) / weights.sum(axis=0))


def _obstacle(background: object, predictor: PlainPredictor) -> str | None:
    return None if isinstance(background, MatrixBackground) else "needs a matrix or a shap masker as background"


def _cost(background: MatrixBackground, predictor: PlainPredictor, work: Workload) -> Cost:
    calls = work.n_rows * work.n_coalitions * background.n_samples
    memory = 8 * (65_536 * work.n_features + work.n_rows * work.n_coalitions * (predictor.n_outputs or 1))
    per_row = -(-work.n_coalitions * background.n_samples // work.rows_per_call(predictor))
    seconds = predictor.seconds(calls, work.n_rows * per_row)
    return Cost(model_calls=calls, queries=0, seconds=seconds, memory=memory)


def _build(background: MatrixBackground, predictor: PlainPredictor, options: ValueOptions) -> MarginalValues:
    return MarginalValues(background, predictor, options.link, options.linearize_link, options.batch_size)


MARGINAL = ValueMethod("marginal", True, _obstacle, _cost, _build)
