"""What the numbers say, in words: how much credit moves, who loses it to whom, where the methods agree.

A sentence is a list of parts: text, a feature ``{"feature": j}`` or a row ``{"row": r}``, which the page turns into
things to click. Nothing is said about a difference that is below two standard errors, or too small to matter.

Why a feature loses credit is a statement about orders: in every causal order its causes come before it, so what it
tells about the prediction and they tell already is theirs. The causes that are named are those whose own credit grows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shap_asv.report.reading import EXACTLY_ZERO, Method, PageData

Part = str | dict[str, int]
Sentence = list[Part]

SAME_STORY = 0.02  # share of the credit below which two methods are said to agree
WORTH_TELLING = 0.03  # a feature's change, as a share of the largest importance
ALL_OF_IT = 0.95  # a loss beyond this share of the credit is "its credit"
SAME_BASE = 0.01  # mean predictions closer than this share of the largest importance are one
MOST_NAMED = 2
MOST_LEADERS = 3

#: What nu(S) is, and which orders count, by the words in a method's name.
_VALUES = {
    "conditional": "what is not known yet follows its distribution given what is known",
    "causal": "what is known is set from outside, and what it causes responds",
    "marginal": "what is not known yet is filled in from other rows, whatever is known",
}
_ORDERS = {
    "SHAP": "features become known in any order",
    "ASV": "features become known in the order of causes, causes before effects",
}
_BY_LEVELS = "features become known level by level, what comes first before what comes after it"
AS_SHAP_DOES = "what shap.Explainer and TreeExplainer with background rows compute"


def describe_method(method: Method, levels: bool) -> str:
    """What a method is, in one line; empty for one that is not ours. ``levels`` say what comes first, not what causes.

    A value is how much the expected prediction changes when the feature becomes known.
    """
    *adjective, kind = method.title.split()
    if kind not in _ORDERS or len(adjective) > 1 or not set(adjective) <= set(_VALUES):
        return ""
    values = _VALUES["".join(adjective) or "conditional"] if adjective or method.conditional else method.background
    orders = _BY_LEVELS if levels and kind == "ASV" else _ORDERS[kind]
    line = f"{orders}; {values}" if values else orders
    return f"{AS_SHAP_DOES}: {line}" if method.title == "marginal SHAP" else line


def share_moved(one: np.ndarray, other: np.ndarray) -> float:
    """``sum |a - b| / sum (a + b)`` of two importances: 0 where they are equal, 1 where no feature is in both.

    >>> share_moved(np.array([3.0, 1.0]), np.array([1.0, 3.0]))
    0.5
    """
    total = float(one.sum() + other.sum())
    return float(np.abs(one - other).sum() / total) if total > 0 else 0.0


def conclude(block: PageData, output: int) -> list[Sentence]:
    """The conclusion for one output, the most important sentence first."""
    number = _formatter(block.decimals(output))
    pair = block.pair
    if not any(method.importance[:, output].any() for method in block.methods):
        return [["No feature gets credit: the prediction is the same whatever is known."]]
    if pair is None:
        return [_most(block.methods[0], output, number)]
    one, other = pair
    before, after = one.importance[:, output], other.importance[:, output]
    doubt = _doubt(one, other)[:, output]
    change = after - before
    floor = np.maximum(doubt, WORTH_TELLING * max(float(before.max()), float(after.max())))
    telling = np.abs(change) > floor
    beyond = np.abs(change) > doubt
    moved = float(np.abs(change)[beyond].sum() / max(float((before + after).sum()), 1e-300))
    sentences = []
    if not telling.any() or moved < SAME_STORY:
        sentences += _same_story(one, other, output, moved, float(doubt.max()), number)
    else:
        lead = f"{_percent(moved)} of the credit moves between {one.title} and {other.title}. "
        sentences.append([lead, *_leads(one, other, output, number)])
        # why credit moves is known for SHAP and ASV given what is known: one ignores the order, the other keeps to it
        above = block.above if block.causes_take_credit else np.zeros_like(block.above)
        sentences += _losses(above, before, after, telling, number)
        sentences += _gains(above, before, after, telling, number)
    sentences += _zeros(block, one, other, output)
    sentences += _others(block, output)
    sentences += _apart(block, output, number)
    if block.causes_take_credit and one.background and other.background and one.background != other.background:
        names = f"{one.title} and {other.title}"
        sentences.append([f"{names} stand on different distributions, and some of the difference may be theirs."])
    sentences += _bases(block, output, number)
    sampled = [method for method in pair if method.error is not None]
    if sampled:
        verb = "are" if len(sampled) > 1 else "is"
        largest = max(float(method.noise[:, output].max()) for method in sampled)
        names = " and ".join(method.title for method in sampled)
        sentences.append(
            [
                f"{names} {verb} sampled: standard errors of a feature's credit are at most {largest:.2g}, and what is "
                "below two of them is not told here."
            ]
        )
    return [_begun(sentence) for sentence in sentences]


def _begun(sentence: Sentence) -> Sentence:
    """The sentence with a capital letter, where it begins with a word of ours."""
    first = sentence[0]
    ours = isinstance(first, str) and first.split(" ")[0] in _VALUES
    return [first[0].upper() + first[1:], *sentence[1:]] if ours and isinstance(first, str) else sentence


def _doubt(one: Method, other: Method) -> np.ndarray:
    """Two standard errors of the difference of importances, (n, k)."""
    return 2 * np.hypot(one.noise, other.noise)


def _formatter(decimals: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{decimals}f}" if abs(value) >= 0.5 * 10.0**-decimals else "0"


def _leaders(method: Method, output: int) -> list[int]:
    """The feature with the most credit, and those that are within two standard errors of it."""
    importance, noise = method.importance[:, output], method.noise[:, output]
    first = int(importance.argmax())
    near = importance[first] - importance <= 2 * np.hypot(noise[first], noise)
    return [first, *(int(j) for j in np.flatnonzero(near & (noise + noise[first] > 0)) if j != first)]


def _most(method: Method, output: int, number: Callable[[float], str]) -> Sentence:
    """Who has the most credit, as far as errors let one say so."""
    leaders = _leaders(method, output)
    if len(leaders) > MOST_LEADERS:
        return [
            f"{method.title} gives {len(leaders)} features nearly the same, and the most: errors do not tell which."
        ]
    if len(leaders) > 1:
        return [f"{method.title} gives the most to ", *_listed(leaders, " or "), ": errors do not tell which."]
    size = number(method.importance[leaders[0], output])
    return [f"{method.title} gives the most to ", {"feature": leaders[0]}, f" ({size} on average)."]


def _leads(one: Method, other: Method, output: int, number: Callable[[float], str]) -> Sentence:
    tops = [_leaders(method, output) for method in (one, other)]
    if any(len(top) > 1 for top in tops):
        return [*_begun(_most(one, output, number)), " ", *_begun(_most(other, output, number))]
    (old,), (new,) = tops
    sizes = [number(method.importance[top[0], output]) for method, top in zip((one, other), tops, strict=True)]
    if old == new:
        return [{"feature": new}, f" has the most under both: {sizes[0]} by {one.title}, {sizes[1]} by {other.title}."]
    parts: Sentence = [f"{one.title} gives the most to ", {"feature": old}, f" ({sizes[0]}), {other.title} to "]
    return _begun([*parts, {"feature": new}, f" ({sizes[1]})."])


def _same_story(
    one: Method, other: Method, output: int, moved: float, doubt: float, number: Callable[[float], str]
) -> list[Sentence]:
    names = f"{one.title} and {other.title}"
    if doubt == 0 or doubt <= WORTH_TELLING * float(one.importance[:, output].max()):
        same = f"{names} tell the same story here: {_percent(moved)} of the credit moves. "
    else:
        same = (
            f"{names} cannot be told apart here: no feature's credit differs by more than two standard errors. "
            f"Differences below {doubt:.2g} would not show. "
        )
    return [[same, *_leads(one, other, output, number)]]


def _apart(block: PageData, output: int, number: Callable[[float], str]) -> list[Sentence]:
    """The row in which the methods differ most, where that is more than errors make."""
    if block.n_rows == 1 or len(block.methods) == 1:
        return []
    apart = block.spread(output)
    row = int(apart.argmax())
    errors = [0.0 * method.values if method.error is None else method.error for method in block.methods]
    doubt = 2 * np.sqrt(sum(error[row, :, output] ** 2 for error in errors)).sum()
    if apart[row] <= doubt:
        return []
    which = "The two" if len(block.methods) == 2 else "The methods"
    where = {"row": int(block.numbers[row])}
    return [[f"{which} differ most in ", where, f", by {number(apart[row])} over its features."]]


def _losses(
    above: np.ndarray, before: np.ndarray, after: np.ndarray, telling: np.ndarray, number: Callable[[float], str]
) -> list[Sentence]:
    change = after - before
    losers = [int(j) for j in np.argsort(change) if telling[j] and change[j] < 0]
    sentences = []
    for j in losers[:MOST_NAMED]:
        causes = _gainers_among(np.flatnonzero((above[:, j] > 0.5) & telling), change)
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
        effects = _gainers_among(np.flatnonzero((above[j] > 0.5) & telling), -change)
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


def _zeros(block: PageData, one: Method, other: Method, output: int) -> list[Sentence]:
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
    return [[f"{other.title} gives 0 in every row to ", *listed, f"; {one.title} does not."]]


def _others(block: PageData, output: int) -> list[Sentence]:
    """Which of the pair each further method is closer to."""
    pair = block.pair
    assert pair is not None
    sentences: list[Sentence] = []
    for method in block.methods:
        if method in pair:
            continue
        gaps = [share_moved(method.importance[:, output], side.importance[:, output]) for side in pair]
        total = sum(float(side.importance[:, output].sum()) for side in (method, *pair))
        doubt = sum(float(_doubt(method, side)[:, output].sum()) for side in pair) / total
        if abs(gaps[0] - gaps[1]) <= doubt:
            continue
        near, far = (0, 1) if gaps[0] <= gaps[1] else (1, 0)
        sentences.append(
            [
                f"{method.title} is closer to {pair[near].title} than to {pair[far].title}: "
                f"{_percent(gaps[near])} of the credit differs, against {_percent(gaps[far])}."
            ]
        )
    return sentences


def _bases(block: PageData, output: int, number: Callable[[float], str]) -> list[Sentence]:
    """The mean predictions that the methods start from, where they are not all the same."""
    means = [float(method.base[:, output].mean()) for method in block.methods]
    gap = max(means) - min(means)
    if gap <= SAME_BASE * max(float(method.importance[:, output].max()) for method in block.methods):
        return []
    names: dict[str, list[str]] = {}
    for method, mean in zip(block.methods, means, strict=True):
        names.setdefault(number(mean), []).append(method.title)
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
