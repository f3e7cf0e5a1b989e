"""Which form of the states a model takes: found out by asking it, at construction.

Networks have named states; models eat names, numbers or categories, in a DataFrame or an ndarray. The candidates are
tried on a few rows that hold every state (:mod:`~shap_asv.models.inputs`), in an order that depends on the model:

- a Pipeline, or a model behind ``encoder=``: labels first, then numbers; fitted encoders are asked for states that they
  never saw, so that ``handle_unknown="ignore"`` does not let a wrong form through;
- any other estimator: numbers first, then labels, then pandas categories for libraries that split on categories. State
  names are never turned into their codes behind the user's back: without an encoder that is an error;
- states that stand for values of a table (a network fitted to it): these values, and nothing else is tried;
- a callable: labels and numbers are both tried. When both work and disagree, a form to which the model does not
  react at all loses; otherwise the input is ambiguous and the user is asked to say what is meant.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shap_asv.errors import EncodingError, ModelError, listed
from shap_asv.frames import as_features, frame_columns
from shap_asv.models.calls import ModelCall, check_finite, describe, is_a, is_pipeline, shorten, split_stages
from shap_asv.models.inputs import (
    SEED,
    States,
    TableInputs,
    cover_rows,
    equal,
    number_of,
    numbers_of,
    one_at_a_time,
    random_rows,
    same_tables,
    suggest,
    table_inputs,
    tables_of_form,
    tables_of_mapping,
)
from shap_asv.models.readers import known_columns, known_width, reader_of


@dataclass(frozen=True)
class Path:
    """How codes become outputs: ``call(transformers(inputs(codes)))``."""

    inputs: TableInputs
    transformers: tuple[Any, ...]
    call: ModelCall

    def prepare(self, codes: np.ndarray) -> Any:
        return apply_transformers(self.transformers, self.inputs(codes))

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        return self.call(self.prepare(codes))


@dataclass(frozen=True)
class Trial:
    """What happened when a path was tried: the error, or whether the model warned."""

    path: Path
    error: Exception | None = None
    warned: bool = False


def find_path(
    call: ModelCall,
    features: Sequence[str],
    states: States,
    encoder: Any = None,
    values: tuple[Sequence[Any], Sequence[Any] | None] | None = None,
) -> Path:
    """The form and container that the model takes; EncodingError or ModelError, saying why, when there is none.

    ``values`` are arrays of what each state of each feature is to the model, and column labels (None: plain arrays).
    """
    owner = None if call.method is None else call.target
    steps = () if owner is None else split_stages(owner).transformers[:1]
    step = None
    if values is not None:
        paths, steps = [_path_of_values(call, owner, features, *values)], ()
    elif isinstance(encoder, Mapping):
        tables = tables_of_mapping(encoder, features, states)
        paths, steps = _paths(call, owner, features, [("encoder", tables)]), ()
    elif encoder is None:
        paths = _paths(call, owner, features, _forms(owner, states))
    elif hasattr(encoder, "transform"):
        step, steps = encoder, (encoder,)
        paths = _paths(call, encoder, features, _distinct(("labels", "numbers"), states))
    else:
        raise EncodingError(
            f"encoder= must be a fitted transformer or a mapping such as {{{features[0]!r}: {suggest(states[0])}}}; "
            f"got {type(encoder).__name__}"
        )
    opaque = owner is None and encoder is None and values is None
    trials = []
    for path in paths:
        trials.append(try_path(path, features, states, steps, step))
        if not opaque and trials[-1].error is None and not trials[-1].warned:
            break
    found = _of_callable(trials, states) if opaque else _first_good(trials)
    return found or _fail(trials, call, owner, features, states, {} if values is not None else encoder)


def _forms(owner: Any, states: States) -> list[tuple[str, list[Any]]]:
    """Candidate forms with their tables, best first, without repetitions."""
    names = ["labels", "numbers"]
    if owner is not None and not split_stages(owner).transformers:
        names.reverse()
        reader = reader_of(owner)
        if reader is not None and reader.categories(owner):
            names += ["categories", "all categories"]
    return _distinct(names, states)


def _distinct(names: Sequence[str], states: States) -> list[tuple[str, list[Any]]]:
    """Forms by name with their tables, without repetitions."""
    forms: list[tuple[str, list[Any]]] = []
    for name in names:
        tables = tables_of_form(name, states)
        if not any(same_tables(tables, other) for _, other in forms):
            forms.append((name, tables))
    return forms


def _path_of_values(
    call: ModelCall, owner: Any, features: Sequence[str], arrays: Sequence[Any], keys: Sequence[Any] | None
) -> Path:
    """Values as they are, in the order of the model's columns where it knows their names."""
    columns = None if owner is None else match_columns(owner, features)
    source = np.array([list(features).index(name) for name in columns or features], dtype=np.int64)
    labels = None if keys is None else tuple(keys[v] for v in source)
    return Path(TableInputs(source, tuple(arrays[v] for v in source), labels, "values of the table"), (), call)


def _paths(call: ModelCall, owner: Any, features: Sequence[str], forms: list[tuple[str, list[Any]]]) -> list[Path]:
    """Every form in every container that the model may take."""
    columns = None if owner is None else match_columns(owner, features)
    if columns is not None:
        containers = [True]
    elif owner is not None and known_width(owner) is not None:
        containers = [False, True]
    else:
        containers = [True, False]
    return [
        Path(table_inputs(tables, features, columns, as_frame, form), (), call)
        for form, tables in forms
        for as_frame in containers
        if as_frame or "categories" not in form
    ]


def try_path(
    path: Path, features: Sequence[str], states: States, steps: Sequence[Any] = (), encoder: Any = None
) -> Trial:
    """Call the model on rows that hold every state; remember whether it warned.

    ``steps`` are what the states come to first, and have to know them; an ``encoder`` is put in front of the model.
    """
    rows = cover_rows([len(labels) for labels in states])
    whole = path
    try:
        for step in steps:
            check_categories(step, path.inputs, features)
        if encoder is not None:
            owner = None if path.call.method is None else path.call.target
            whole = replace(path, transformers=(encoder_step(encoder, owner, features, path.inputs(rows)),))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outputs = whole(rows)
        check_finite(outputs, path.call.name, lambda row: show_row(rows[row], features, states))
    except Exception as error:  # the model's own, or one that encoder= raised
        return Trial(path, error)
    return Trial(whole, None, any(issubclass(w.category, UserWarning) for w in caught))


def check_categories(encoder: Any, inputs: TableInputs, features: Sequence[str]) -> None:
    """EncodingError when an encoder knows none of the states of a feature in this form."""
    for name, unseen, labels in never_seen(encoder, inputs, features):
        if len(unseen) == len(labels):
            raise EncodingError(
                f"{describe(encoder)} was fitted on other values of {name!r}: it knows none of the states "
                f"{listed(labels)}"
            )


def never_seen(encoder: Any, inputs: TableInputs, features: Sequence[str]) -> list[tuple[str, list[Any], list[Any]]]:
    """(feature, states that the encoder never saw, all its states) in this form, for features with such states."""
    columns = [features[v] for v in inputs.source.tolist()]
    labels = {name: list(table) for name, table in zip(columns, inputs.tables, strict=True)}
    found = []
    for name, known in known_categories(encoder, columns).items():
        unseen = [label for label in labels[name] if not any(_same(label, value) for value in known)]
        if unseen:
            found.append((name, unseen, labels[name]))
    return found


def show_row(codes: np.ndarray, features: Sequence[str], states: States) -> str:
    """A row of codes for a message: ``Pollution='low', Smoker='True'``, cut after eight features."""
    pairs = [f"{features[v]}={states[v][code]!r}" for v, code in enumerate(codes[:8].tolist())]
    return ", ".join(pairs) + (", ..." if len(codes) > 8 else "")


def _first_good(trials: Sequence[Trial]) -> Path | None:
    good = [trial for trial in trials if trial.error is None]
    return min(good, key=lambda trial: trial.warned).path if good else None


def _of_callable(trials: Sequence[Trial], states: States) -> Path | None:
    """The form that a callable means, when it accepts several."""
    by_form = {form: [t for t in trials if t.path.inputs.form == form] for form in ("labels", "numbers")}
    labels, numbers = (_first_good(by_form[form]) for form in ("labels", "numbers"))
    if labels is None or numbers is None:
        return labels or numbers
    as_text, as_numbers = reactions(labels, states), reactions(numbers, states)
    if as_text is None or as_numbers is None:
        return numbers if as_text is None else labels
    if np.array_equal(as_text[0], as_numbers[0], equal_nan=True):
        return numbers if as_text[1].any() else labels  # numbers are quicker to hand over
    if (as_text[1] >= as_numbers[1]).all() and not (as_numbers[1] >= as_text[1]).all():
        return labels
    if (as_numbers[1] >= as_text[1]).all() and not (as_text[1] >= as_numbers[1]).all():
        return numbers
    label = next(s[0] for s in states if isinstance(s[0], str) and numbers_of(s) is not None)
    raise EncodingError(
        f"the model accepts states both as text and as numbers and answers differently (for example {label!r} and "
        f"{number_of(label):g}); say what is meant with encoder=, a mapping {{feature: {{state: value}}}} whose values "
        f"are what the model takes"
    )


def reactions(path: Path, states: States, n_bases: int = 8) -> tuple[np.ndarray, np.ndarray] | None:
    """Outputs at one-at-a-time variations of a few random rows, and which features they react to; None if it raises."""
    cards = [len(labels) for labels in states]
    bases = random_rows(cards, n_bases, np.random.default_rng(SEED))
    blocks = [one_at_a_time(base, cards) for base in bases]
    try:
        outputs = path(np.concatenate([rows for rows, _ in blocks]))
    except ModelError:
        return None
    cube = outputs.reshape(n_bases, -1, outputs.shape[1])
    starts = blocks[0][1]
    states_of = [cube[:, starts[v] : starts[v + 1]] for v in range(len(cards))]
    reacts = [not equal(block, block[:, :1]).all() for block in states_of]
    return outputs, np.array(reacts)


def _fail(
    trials: Sequence[Trial], call: ModelCall, owner: Any, features: Sequence[str], states: States, encoder: Any
) -> Path:
    """Raise the error that helps most."""
    errors = [trial.error for trial in trials if trial.error is not None]
    for error in errors:
        if isinstance(error, ModelError) and error.__cause__ is None:
            raise error  # the model did answer, but with labels, NaN or a wrong shape
    steps = () if owner is None else split_stages(owner).transformers
    cause = errors[0].__cause__ or errors[0]
    said = f"{type(cause).__name__}: {shorten(cause)}"
    first = encoder if hasattr(encoder, "transform") else next(iter(steps), None)
    if first is not None and not isinstance(encoder, Mapping):
        unseen = min((never_seen(first, trial.path.inputs, features) for trial in trials), key=len)
        if unseen and len(unseen[0][1]) < len(unseen[0][2]):
            name, missing, known = unseen[0]
            raise EncodingError(
                f"{describe(first)} never saw the state {listed(missing)} of feature {name!r} (its states are "
                f"{listed(known)}); fit it on all states of the network, for example with categories=[...], or set its "
                f"handle_unknown"
            ) from cause
    for error in errors:
        if isinstance(error, EncodingError):
            raise error
    named = [v for v, labels in enumerate(states) if numbers_of(labels) is None]
    if encoder is None and named and not steps:
        feature, labels = features[named[0]], states[named[0]]
        more = f" (and {len(named) - 1} more)" if len(named) > 1 else ""
        wants = (
            f"{describe(split_stages(owner).final)} does not take names"
            if owner is not None
            else f"the callable {call.name} does not take them in any form"
        )
        raise EncodingError(
            f"feature {feature!r}{more} has the states {listed(labels)}, but {wants} ({said}); pass encoder= the "
            f"fitted encoder "
            f"that the model was trained with, or a mapping such as encoder={{{feature!r}: {suggest(labels)}}}, or "
            f"explain a Pipeline that includes the encoder"
        ) from cause
    if steps:
        raise EncodingError(f"{describe(owner)} does not take the states of the network ({said})") from cause
    raise ModelError(f"{call.name} raised on rows of states ({said})") from cause


# --- models in steps --------------------------------------------------------------------------------------------------
#
# A Pipeline, or an ``encoder=`` in front of a model, is a chain ``transformers -> final estimator``. Each end is asked
# which columns it expects, and fitted encoders are looked into for states that they never saw, because an encoder with
# ``handle_unknown="ignore"`` accepts anything, silently.


def apply_transformers(transformers: Sequence[Any], inputs: Any) -> Any:
    """Run the transformers one after the other."""
    for transformer in transformers:
        inputs = transformer.transform(inputs)
    return inputs


def match_columns(model: Any, features: Sequence[str]) -> tuple[str, ...] | None:
    """The columns of ``model`` if it knows names: they must be exactly ``features``, in any order."""
    columns = known_columns(model)
    if columns is not None:
        columns = tuple(as_features(columns, features))
        differ = [name for name in (*columns, *features) if name not in columns or name not in features]
        if differ:
            raise EncodingError(
                f"the columns that {describe(model)} was fitted on and the features differ in {listed(differ)}. Name "
                f"the features that the model takes with feature_names=[...] (every other node of the network is "
                f"latent), rename the columns, or pass encoder= the transformer that made them"
            )
        return columns
    width = known_width(model)
    if width is not None and width != len(features):
        raise EncodingError(
            f"{describe(model)} was fitted on {width} columns, but there are {len(features)} features "
            f"({listed(features)}); name the features that it takes with feature_names=[...], in its column order, "
            f"or pass encoder= when one feature becomes several columns"
        )
    return None


def known_categories(transformer: Any, features: Sequence[str]) -> dict[str, list[Any]]:
    """What fitted encoders have met in the columns ``features`` that a transformer receives, in order.

    Looks into ColumnTransformers and Pipelines, past imputers, as far as ``categories_`` tells.
    """
    if is_pipeline(transformer):
        steps = [step for _, step in transformer.steps if step is not None and step != "passthrough"]
        first = next((step for step in steps if not is_a(step, "sklearn", "SimpleImputer")), None)
        return {} if first is None else known_categories(first, features)
    found: dict[str, list[Any]] = {}
    if hasattr(transformer, "transformers_"):
        for _, inner, columns in transformer.transformers_:
            with warnings.catch_warnings():  # sklearn < 1.7 warns when the columns of the remainder are looked at
                warnings.simplefilter("ignore", FutureWarning)
                chosen = chosen_columns(columns, features)
            found.update(known_categories(inner, chosen))
        return found
    categories = getattr(transformer, "categories_", None)
    if not isinstance(categories, list) or len(categories) != len(features):
        return {}
    return {name: list(own) for name, own in zip(features, categories, strict=True)}


def _same(first: Any, second: Any) -> bool:
    return bool(first == second) or (first != first and second != second)  # NaN is itself


def chosen_columns(columns: Any, features: Sequence[str]) -> list[str]:
    """The columns a ColumnTransformer hands to one of its transformers: names, positions, a slice or a mask."""
    import pandas as pd

    named = columns.start or columns.stop if isinstance(columns, slice) else next(iter(np.ravel(columns).tolist()), 0)
    empty = pd.DataFrame(columns=list(features))
    picked = empty.loc[:, columns] if isinstance(named, str) else empty.iloc[:, columns]
    return [picked.name] if isinstance(picked, pd.Series) else list(picked.columns)


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


def encoder_step(encoder: Any, model: Any, features: Sequence[str], rows: Any) -> EncoderStep:
    """Try the encoder on a few rows, and match the columns it puts out with those of the model."""
    try:
        encoded = encoder.transform(rows)
    except Exception as error:
        raise EncodingError(
            f"encoder= ({describe(encoder)}) raised {type(error).__name__} on the states of the network: "
            f"{shorten(error)}"
        ) from error
    if len(np.shape(encoded)) != 2 or np.shape(encoded)[0] != len(rows):
        raise EncodingError(
            f"encoder= ({describe(encoder)}) answered with a {type(encoded).__name__} of shape {np.shape(encoded)} to "
            f"{len(rows)} rows; its transform must return a table with as many rows"
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
        return EncoderStep(encoder, plain=expected is not None)
    told = encoder.get_feature_names_out() if hasattr(encoder, "get_feature_names_out") else features
    given = frame_columns(encoded) or [str(name) for name in told]
    for names in (given, [name.split("__", 1)[-1] for name in given], _positional(given, features)):
        if len(set(names)) == len(names) and set(names) == set(columns):
            return EncoderStep(encoder, tuple(names.index(name) for name in columns), columns)
    raise EncodingError(
        f"encoder= ({describe(encoder)}) puts out the columns {listed(given)}, but {describe(model)} was fitted on "
        f"{listed(columns)}; pass the encoder that the model was trained with, or put both into one Pipeline"
    )


def _positional(names: Sequence[str], features: Sequence[str]) -> list[str]:
    """``x0, x1, ...`` (an encoder that never saw names) stand for the features in their order."""
    return [
        features[int(name[1:])] if re.fullmatch(r"x\d+", name) and int(name[1:]) < len(features) else name
        for name in names
    ]
