"""The comparison of two commits by their bits: what is equal, what is not, and by how much."""

import json

import numpy as np
import pytest

from tests.reliability import bits


def explanation(values, error=None, backend="ideals x table", features=("a", "b"), asked="auto"):
    return {
        "asked": asked,
        "backend": backend,
        "features": list(features),
        "values": bits.packed(values),
        "base": bits.packed([0.5]),
        "error": bits.packed(error),
    }


PLAIN = explanation([[1.0, -2.0]])


def exactly(x, backend="orders x trees", error=None):
    return explanation([[1.0, x]], error, backend)


@pytest.mark.parametrize(
    ("one", "other", "kind", "size"),
    [
        (PLAIN, PLAIN, bits.SAME, 0.0),
        (PLAIN, explanation([[1.0, np.nextafter(-2.0, 0)]]), bits.LAST_BITS, 1.1102230246251565e-16),
        (PLAIN, explanation([[1.0, -2.2]]), bits.NUMBERS, 0.1),
        (PLAIN, explanation([[1.0, -2.2]], backend="forest"), bits.OTHER, 0.1),
        (PLAIN, explanation([[-2.0, 1.0]], features=("b", "a")), bits.LAST_BITS, 0.0),  # in another sequence
        (exactly(2.0, error=[[0.0, 0.3]]), exactly(3.0, error=[[0.0, 0.3]]), bits.SAMPLE, 1 / np.hypot(0.3, 0.3)),
        # an error of zero is not a sample
        (exactly(2.0, "forest", [[0.0, 0.0]]), exactly(2.1, "paths", [[0.0, 0.0]]), bits.OTHER, 0.05),
        # the same draws give the same errors: XGBoost's float32 is no sampling error
        (exactly(2.0, error=[[0.0, 0.3]]), exactly(2 + 1e-8, "orders x table", [[0.0, 0.3]]), bits.OTHER, 5e-9),
        (exactly(2.0, error=[[0.0, 0.3]]), exactly(2 + 1e-8, "orders x table", [[0.0, 0.3 + 1e-8]]), bits.OTHER, 5e-9),
        (exactly(2.0, error=[[0.0, 0.3]]), exactly(2.0, "orders x table", [[0.0, 0.31]]), bits.SAMPLE, 0.0),
    ],
)
def test_kinds_of_differences(one, other, kind, size):
    found, by = bits.compare_explanations(one, other)
    assert found == kind
    assert by == pytest.approx(size)


def test_questions_are_matched_by_what_was_asked():
    found = [explanation([[k, k]], asked=asked) for k, asked in enumerate(["auto", "forest", "auto"])]
    assert list(bits.by_question(found)) == [("auto", 0), ("forest", 0), ("auto", 1)]


def side(path, found, failure=None):
    case = {"seed": 0, "model": "tree", "also": "nothing"}
    path.write_text(json.dumps({"case": case, "found": found, "failure": failure, "seconds": 0.1}) + "\n{cut sho")
    return path


def test_two_sides_are_counted_and_told(tmp_path, capsys):
    old = side(tmp_path / "old.jsonl", [PLAIN, explanation([[1.0, 1.0]], asked="forest")])
    new = side(tmp_path / "new.jsonl", [explanation([[1.0, -2.2]])], failure="AssertionError")
    counts, (difference,) = bits.compare_sides(old, new)
    assert (counts["cases"], counts["failures after"], counts["explanations"]) == (1, 1, 1)
    assert (difference.kind, difference.case) == (bits.NUMBERS, "case 0: tree, nothing")
    assert bits.tell(["before", "after"], [old, new]) == 1  # numbers changed, and no record is kept of one case
    assert "the same backend, other numbers: 1, at most 0.1" in capsys.readouterr().out
    assert old.read_text().endswith("}\n")  # a line that was cut short is gone


def test_this_tree_is_its_own_equal(tmp_path):
    words = tmp_path / "cases.jsonl"
    bits.write_cases(words, 2)
    sides = [tmp_path / f"{name}.jsonl" for name in "ab"]
    for path in sides:
        bits.write_side(path, words)
        bits.write_side(path, words)  # everything is there: nothing is added
    counts, differences = bits.compare_sides(*sides)
    assert counts["cases"] == 2
    assert differences == []
    assert counts["explanations"] >= 2
