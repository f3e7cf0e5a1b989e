"""What the numbers say, in words: how much credit moves, who loses it to whom, where the methods agree.

A sentence is a list of parts: text, a feature ``{"feature": j}`` or a row ``{"row": r}``, which the page turns into
things to click. Nothing is said about a difference that is below two standard errors, or too small to matter.

Why a feature loses credit is a statement about orders: in every causal order its causes come before it, so what it
tells about the prediction and they tell already is theirs. The causes that are named are those whose own credit grows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shap_asv.report.reading import EXACTLY_ZERO, Block, Method

Part = str | dict[str, int]
Sentence = list[Part]

SAME_STORY = 0.02  # share of the credit below which two methods are said to agree
WORTH_TELLING = 0.03  # a feature's change, as a share of the largest importance
ALL_OF_IT = 0.95  # a loss beyond this share of the credit is "its credit"
SAME_BASE = 0.01  # mean predictions closer than this share of the largest importance are one
MOST_NAMED = 2


def share_moved(one: np.ndarray, other: np.ndarray) -> float:
    """``sum |a - b| / sum (a + b)`` of two importances: 0 where they are equal, 1 where no feature is in both.

    >>> share_moved(np.array([3.0, 1.0]), np.array([1.0, 3.0]))
    0.5
    """
    total = float(one.sum() + other.sum())
    return float(np.abs(one - other).sum() / total) if total > 0 else 0.0


def conclude(block: Block, output: int) -> list[Sentence]:
    """The conclusion for one output, the most important sentence first."""
    number = _formatter(block.decimals(output))
    pair = block.pair
    if pair is None:
        return [_largest(block.methods[0], output, number)]
    one, other = pair
    before, after = one.importance[:, output], other.importance[:, output]
    doubt = 2 * np.hypot(one.noise[:, output], other.noise[:, output])
    change = after - before
    floor = np.maximum(doubt, WORTH_TELLING * max(float(before.max()), float(after.max())))
    telling = np.abs(change) > floor
    moved = share_moved(before, after)
    sentences = []
    if moved < SAME_STORY or not telling.any():
        sentences.append(_same_story(one, other, before, after, moved, number))
    else:
        sentences.append(_headline(one, other, before, after, moved, number))
        # why credit moves is known for SHAP and ASV given what is known: one ignores the order, the other keeps to it
        above = block.above if block.causes_take_credit else np.zeros_like(block.above)
        sentences += _losses(above, before, after, telling, number)
        sentences += _gains(above, before, after, telling, number)
    sentences += _zeros(block, one, other, output)
    sentences += _others(block, output)
    if block.n_rows > 1 and moved > 0:
        apart = block.spread(output)
        row = int(apart.argmax())
        which = "The two" if len(block.methods) == 2 else "The methods"
        sentences.append([f"{which} differ most in ", {"row": row}, f", by {number(apart[row])} over its features."])
    if one.background and other.background and one.background != other.background:
        sentences.append(
            [f"{one.name} and {other.name} stand on different distributions, and some of the difference may be theirs."]
        )
    sentences += _bases(block, output, number)
    sampled = [method.name for method in pair if method.error is not None]
    if sampled:
        verb = "are" if len(sampled) > 1 else "is"
        sentences.append(
            [f"{' and '.join(sampled)} {verb} sampled; what is below two standard errors is not told here."]
        )
    return sentences


def _formatter(decimals: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{decimals}f}" if abs(value) >= 0.5 * 10.0**-decimals else "0"


def _largest(method: Method, output: int, number: Callable[[float], str]) -> Sentence:
    importance = method.importance[:, output]
    first = int(importance.argmax())
    return [f"{method.name} gives ", {"feature": first}, f" the most credit, {number(importance[first])} on average."]


def _same_story(
    one: Method, other: Method, before: np.ndarray, after: np.ndarray, moved: float, number: Callable[[float], str]
) -> Sentence:
    first = int(after.argmax())
    if moved < SAME_STORY:
        same = f"{one.name} and {other.name} tell the same story here: {_percent(moved)} of the credit moves. "
    else:
        same = (
            f"{one.name} and {other.name} cannot be told apart here: {_percent(moved)} of the credit moves, but no "
            "feature's by more than the noise. "
        )
    if int(before.argmax()) == first:
        return [same, {"feature": first}, f" has the most under both, {number(after[first])} on average."]
    return [same, {"feature": int(before.argmax())}, " and ", {"feature": first}, " lead."]


def _headline(
    one: Method, other: Method, before: np.ndarray, after: np.ndarray, moved: float, number: Callable[[float], str]
) -> Sentence:
    old, new = int(before.argmax()), int(after.argmax())
    lead = f"{_percent(moved)} of the credit moves between {one.name} and {other.name}. "
    if old == new:
        return [
            lead,
            {"feature": new},
            f" has the most under both: {number(before[new])} by {one.name}, {number(after[new])} by {other.name}.",
        ]
    return [
        lead,
        f"{one.name} gives the most to ",
        {"feature": old},
        f" ({number(before[old])}), {other.name} to ",
        {"feature": new},
        f" ({number(after[new])}).",
    ]


def _losses(
    above: np.ndarray, before: np.ndarray, after: np.ndarray, telling: np.ndarray, number: Callable[[float], str]
) -> list[Sentence]:
    change = after - before
    losers = [int(j) for j in np.argsort(change) if telling[j] and change[j] < 0]
    sentences = []
    for j in losers[:MOST_NAMED]:
        causes = _gainers_among(np.flatnonzero(above[:, j] > 0.5), change)
        whole = after[j] <= (1 - ALL_OF_IT) * before[j]
        figures = f" ({number(before[j])} \N{RIGHTWARDS ARROW} {number(after[j])})"
        sentence: Sentence = [{"feature": j}, f" loses {'its credit' if whole else 'part of its credit'}{figures}"]
        if causes:
            sentence += [": what it tells is " if whole else ": part of what it tells is ", "known from "]
            sentence += [*_listed(causes), ", which come before it." if len(causes) > 1 else ", which comes before it."]
        else:
            sentence.append(".")
        sentences.append(sentence)
    return sentences


def _gains(
    above: np.ndarray, before: np.ndarray, after: np.ndarray, telling: np.ndarray, number: Callable[[float], str]
) -> list[Sentence]:
    change = after - before
    gainers = [int(j) for j in np.argsort(-change) if telling[j] and change[j] > 0]
    sentences = []
    for j in gainers[:MOST_NAMED]:
        effects = _gainers_among(np.flatnonzero(above[j] > 0.5), -change)
        figures = f" ({number(before[j])} \N{RIGHTWARDS ARROW} {number(after[j])})"
        sentence: Sentence = [{"feature": j}, f" gains credit{figures}"]
        if effects:
            sentence += [": it comes before ", *_listed(effects), ", and what they say about it is counted as its own."]
            if len(effects) == 1:
                sentence[-1] = ", and what that says of it is counted as its own."
        else:
            sentence.append(".")
        sentences.append(sentence)
    return sentences


def _gainers_among(places: np.ndarray, change: np.ndarray) -> list[int]:
    """Those whose credit grows, the largest growth first, at most :data:`MOST_NAMED`."""
    growing = [int(i) for i in places if change[i] > 0]
    largest = max((change[i] for i in growing), default=0.0)
    return sorted((i for i in growing if change[i] > 0.1 * largest), key=lambda i: -change[i])[:MOST_NAMED]


def _zeros(block: Block, one: Method, other: Method, output: int) -> list[Sentence]:
    """Features that the second method gives nothing in any row, and the first does."""
    sizes = [np.abs(method.values[:, :, output]).max(axis=0) for method in (one, other)]
    tiny = EXACTLY_ZERO * max(float(size.max()) for size in sizes)
    told = sizes[0] > WORTH_TELLING * float(sizes[0].max())
    nothing = [int(j) for j in np.flatnonzero((sizes[1] <= tiny) & told)]
    if not nothing or other.error is not None:
        return []
    nothing.sort(key=lambda j: -sizes[0][j])
    rest = len(nothing) - 3
    listed = _listed(nothing) if rest <= 1 else [*_listed(nothing[:3], last=", "), f" and {rest} more features"]
    return [[f"{other.name} gives 0 in every row to ", *listed, f"; {one.name} does not."]]


def _others(block: Block, output: int) -> list[Sentence]:
    """Which of the pair each further method is closer to."""
    pair = block.pair
    assert pair is not None
    sentences: list[Sentence] = []
    for method in block.methods:
        if method in pair:
            continue
        gaps = [share_moved(method.importance[:, output], side.importance[:, output]) for side in pair]
        near, far = (0, 1) if gaps[0] <= gaps[1] else (1, 0)
        sentences.append(
            [
                f"{method.name} is closer to {pair[near].name} than to {pair[far].name}: "
                f"{_percent(gaps[near])} of the credit differs, against {_percent(gaps[far])}."
            ]
        )
    return sentences


def _bases(block: Block, output: int, number: Callable[[float], str]) -> list[Sentence]:
    """The mean predictions that the methods start from, where they are not all the same."""
    means = [float(method.base[:, output].mean()) for method in block.methods]
    gap = max(means) - min(means)
    if gap <= SAME_BASE * max(float(method.importance[:, output].max()) for method in block.methods):
        return []
    names: dict[str, list[str]] = {}
    for method, mean in zip(block.methods, means, strict=True):
        names.setdefault(number(mean), []).append(method.name)
    starts = ", ".join(f"{' and '.join(which)} from {mean}" for mean, which in names.items())
    return [
        [
            f"Values add up from the mean prediction, and not all methods have the same one: {starts}. So "
            f"{number(gap)} of what is between them has nothing to do with causes."
        ]
    ]


def _listed(features: Sequence[int], last: str = " and ") -> Sentence:
    parts: Sentence = []
    for place, feature in enumerate(features):
        if place:
            parts.append(last if place == len(features) - 1 else ", ")
        parts.append({"feature": feature})
    return parts


def _percent(share: float) -> str:
    return "less than 1%" if 0 < share < 0.01 else f"{share:.0%}"


def in_words(sentence: Sentence, features: Sequence[str]) -> str:
    """A sentence as plain text.

    >>> in_words([{"feature": 1}, " loses its credit."], ["smoker", "xray"])
    'xray loses its credit.'
    """
    return "".join(_word(part, features) for part in sentence)


def _word(part: Any, features: Sequence[str]) -> str:
    if isinstance(part, str):
        return part
    return features[part["feature"]] if "feature" in part else f"row {part['row']}"
