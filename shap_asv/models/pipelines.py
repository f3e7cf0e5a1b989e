"""Models in steps: transformers, then a final estimator.

A Pipeline, or an ``encoder=`` in front of a model, is a chain ``transformers -> final estimator``. This module takes
the chain apart, asks each end which columns it expects, and looks into fitted encoders for states that they never saw,
because an encoder with ``handle_unknown="ignore"`` accepts anything, silently.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.errors import EncodingError
from shap_asv.models.calls.inputs import show
from shap_asv.models.calls.outputs import describe, is_pipeline, shorten, split_stages
from shap_asv.models.readers import known_columns, known_width, own_spelling


def apply_transformers(transformers: Sequence[Any], inputs: Any) -> Any:
    """Run the transformers one after the other."""
    for transformer in transformers:
        inputs = transformer.transform(inputs)
    return inputs


def match_columns(model: Any, features: Sequence[str]) -> tuple[str, ...] | None:
    """The columns of ``model`` if it knows names: they must be exactly ``features``, in any order."""
    columns = own_spelling(model, known_columns(model), features)
    if columns is not None:
        missing = [name for name in columns if name not in features]
        surplus = [name for name in features if name not in columns]
        if missing or surplus:
            parts = []
            if missing:
                parts.append(f"it was fitted on {show(missing)}, which is not a feature")
            if surplus:
                parts.append(f"the features hold {show(surplus)}, which it was not fitted on")
            raise EncodingError(
                f"the columns of {describe(model)} and the features differ: {'; '.join(parts)}. Name the features that "
                f"the model takes with feature_names=[...] (every other node of the network is latent), rename the "
                f"columns, or pass encoder= the transformer that made them"
            )
        return columns
    width = known_width(model)
    if width is not None and width != len(features):
        raise EncodingError(
            f"{describe(model)} was fitted on {width} columns, but there are {len(features)} features "
            f"({show(list(features))}); name the features that it takes with feature_names=[...], in its column order, "
            f"or pass encoder= when one feature becomes several columns"
        )
    return None


def unknown_states(
    transformer: Any, features: Sequence[str], labels: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """Per feature the states that a fitted encoder never saw, as far as ``categories_`` tells.

    ``features`` are the columns that the transformer receives, in order. Looks into ColumnTransformers and
    Pipelines; what it cannot look into it does not complain about.
    """
    if is_pipeline(transformer):
        return unknown_states(split_stages(transformer).transformers[0], features, labels) if transformer.steps else {}
    found: dict[str, list[Any]] = {}
    if hasattr(transformer, "transformers_"):
        for _, inner, columns in transformer.transformers_:
            with warnings.catch_warnings():  # sklearn < 1.7 warns when the columns of the remainder are looked at
                warnings.simplefilter("ignore", FutureWarning)
                chosen = _chosen(columns, features)
            if not isinstance(inner, str) and chosen:
                found.update(unknown_states(inner, chosen, labels))
        return found
    categories = getattr(transformer, "categories_", None)
    if not isinstance(categories, list) or len(categories) != len(features):
        return {}
    for name, known in zip(features, categories, strict=True):
        unseen = [label for label in labels[name] if not any(_same(label, value) for value in known)]
        if unseen:
            found[name] = unseen
    return found


def _same(first: Any, second: Any) -> bool:
    return bool(first == second) or (first != first and second != second)  # NaN is itself


def _chosen(columns: Any, features: Sequence[str]) -> list[str]:
    """The columns a ColumnTransformer hands to one of its transformers: names, positions, a slice or a mask."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, int | np.integer):
        return [features[int(columns)]]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            first = 0 if columns.start is None else list(features).index(columns.start)
            last = len(features) if columns.stop is None else list(features).index(columns.stop) + 1
            return list(features[first:last])
        return list(features[columns])
    chosen = np.asarray(columns)
    if chosen.dtype.kind == "b":
        return [name for name, used in zip(features, chosen, strict=True) if used]
    return [features[int(c)] if isinstance(c, int | np.integer) else str(c) for c in chosen.tolist()]


@dataclass(frozen=True)
class EncoderStep:
    """``encoder=`` as a step in front of a model: transform, then dress the result in the names the model expects."""

    encoder: Any
    positions: tuple[int, ...] | None = None
    names: tuple[str, ...] | None = None
    plain: bool = False

    def transform(self, inputs: Any) -> Any:
        encoded = self.encoder.transform(inputs)
        if hasattr(encoded, "toarray"):
            encoded = encoded.toarray()
        if self.names is None or self.positions is None:
            return np.asarray(encoded) if self.plain else encoded
        import pandas as pd

        return pd.DataFrame(np.asarray(encoded)[:, list(self.positions)], columns=list(self.names))


def encoder_step(encoder: Any, model: Any, features: Sequence[str], make_input: Callable[[], Any]) -> EncoderStep:
    """Try the encoder on a few rows (``make_input()``) and match the columns it puts out with those of the model."""
    try:
        encoded = encoder.transform(make_input())
    except Exception as error:
        raise EncodingError(
            f"encoder= ({describe(encoder)}) raised {type(error).__name__} on the states of the network: "
            f"{shorten(error)}"
        ) from error
    if len(np.shape(encoded)) != 2 or np.shape(encoded)[0] != len(make_input()):
        raise EncodingError(
            f"encoder= ({describe(encoder)}) answered with a {type(encoded).__name__} of shape {np.shape(encoded)} to "
            f"{len(make_input())} rows; its transform must return a table with as many rows"
        )
    width = encoded.shape[1]
    expected = known_width(model)
    if expected is not None and expected != width:
        raise EncodingError(
            f"encoder= ({describe(encoder)}) puts out {width} columns, but {describe(model)} was fitted on "
            f"{expected}; pass the encoder that the model was trained with"
        )
    columns = known_columns(model)
    if columns is None:
        return EncoderStep(encoder, plain=known_width(model) is not None)
    if hasattr(encoded, "columns"):
        given = [str(name) for name in encoded.columns]
    elif hasattr(encoder, "get_feature_names_out"):
        given = [str(name) for name in encoder.get_feature_names_out()]
    else:
        given = list(features)
    for names in (given, [name.split("__", 1)[-1] for name in given], _positional(given, features)):
        if len(set(names)) == len(names) and set(names) == set(columns):
            return EncoderStep(encoder, tuple(names.index(name) for name in columns), columns)
    raise EncodingError(
        f"encoder= ({describe(encoder)}) puts out the columns {show(given)}, but {describe(model)} was fitted on "
        f"{show(list(columns))}; pass the encoder that the model was trained with, or put both into one Pipeline"
    )


def _positional(names: Sequence[str], features: Sequence[str]) -> list[str]:
    """``x0, x1, ...`` (an encoder that never saw names) stand for the features in their order."""
    return [
        features[int(name[1:])] if re.fullmatch(r"x\d+", name) and int(name[1:]) < len(features) else name
        for name in names
    ]
