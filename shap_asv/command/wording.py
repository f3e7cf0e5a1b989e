"""Words that both jobs need: which output is the telling one, what it is called, what came out."""

from typing import Any

import numpy as np

from shap_asv.backgrounds.discrete.states.ranking import low_to_high
from shap_asv.command.checks import meant
from shap_asv.errors import UnknownFeatureError


def telling_output(model: Any, wanted: str | None) -> str | None:
    """The output to explain: the one that was asked for, the high one of two classes, or None for all."""
    classes = getattr(model, "classes_", None)
    if classes is None or np.ndim(classes) != 1:
        if wanted is not None:
            raise UnknownFeatureError(f"--output {wanted!r}: the model has no classes to choose from; leave it out")
        return None
    names = [str(name) for name in classes]
    if wanted is not None:
        if wanted not in names:
            raise UnknownFeatureError(f"{wanted!r} is not predicted by the model{meant(wanted, names, 'choose from')}")
        return wanted
    if len(names) != 2:
        return None
    return names[(low_to_high(list(classes)) or [0, 1])[-1]]


def explained_words(target: str, model: Any, output: str | None) -> str:
    """What the numbers on the page are: the target, or the probability of one of its states."""
    if output is None:
        return target
    return f"P({target} = {output})" if hasattr(model, "predict_proba") else f"{target} = {output}"


def summary_of(comparison: Any, explained: str) -> str:
    """The sentences that open the report, and the table of the output that it opens with."""
    from shap_asv.report.reading import read_block
    from shap_asv.report.sentences import conclude, in_words

    block = read_block(comparison, explained)
    lines = [in_words(sentence, block.features) for sentence in conclude(block, 0)]
    several = len(block.outputs) > 1
    heading = [f"{block.outputs[0]} ({len(block.outputs) - 1} more outputs are in the report)"] if several else []
    return "\n".join([*heading, *lines, "", repr(comparison.output(0) if several else comparison)])
