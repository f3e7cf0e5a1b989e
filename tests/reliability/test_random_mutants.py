"""Random mutants: which places there are, that a number is a place, and that the copy is whole again afterwards."""

import ast

from tests.reliability import random_mutants
from tests.reliability.equivalent import EQUIVALENT
from tests.reliability.random_mutants import ROOT, all_places, draw, importers, mutated, places_in

SOURCE = '''"""Texts with 1 + 1 stay."""



def mean(values: "list[1]", weights=None) -> "2 * 3":
    """Also 1 < 2 here."""
    if weights is None and len(values) > 3:
        raise ValueError("no " + "weights")
    return (values[0] + values[1]) / 2.5


def cost(n):
    return 7 * n
'''


def test_what_is_flipped():
    found = {(place.function, place.old): place.new for place in places_in("values/mean.py", SOURCE)}
    assert found == {
        ("mean", "weights is None and len(values) > 3"): "(weights is None or len(values) > 3)",
        ("mean", "len(values) > 3"): "(len(values) >= 3)",
        ("mean", "3"): "4",
        ("mean", "(values[0] + values[1]) / 2.5"): "((values[0] + values[1]) * 2.5)",
        ("mean", "values[0] + values[1]"): "(values[0] - values[1])",
        ("mean", "0"): "1",
        ("mean", "1"): "2",
        ("mean", "2.5"): "5.0",
    }


def test_every_place_gives_a_source_that_differs_there_alone():
    places = all_places()
    assert len(places) > 5000
    for k in range(60):
        place = draw(k, places)
        assert draw(k, places) == place
        source = (ROOT / "shap_asv" / place.file).read_text()
        broken = mutated(source, place)
        assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(source))
        assert broken.replace(place.new, place.old, 1) != broken


def test_importers_are_found_anywhere():
    found = importers("orders/weights.py")
    assert "tests/orders/test_weights.py" in found
    assert all((ROOT / test).exists() for test in found)


def test_verdicts(tmp_path, monkeypatch):
    """One mutant that a test notices, one that it does not; the file is the same afterwards."""
    package, tests = tmp_path / "shap_asv" / "values", tmp_path / "tests" / "values"
    package.mkdir(parents=True)
    tests.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "mean.py").write_text(SOURCE)
    (tests / "test_mean.py").write_text(
        "from shap_asv.values.mean import mean\n\ndef test_mean():\n    assert mean([1.0, 4.0]) == 2.0\n"
    )
    monkeypatch.setattr(random_mutants, "stages", lambda file, whole: [["tests/values/test_mean.py"]])
    places = {place.old: place for place in places_in("values/mean.py", SOURCE)}
    for old, begins in (("2.5", "caught: tests/values/test_mean.py::test_mean"), ("len(values) > 3", "survives")):
        said = random_mutants.verdict(tmp_path, places[old], tmp_path / "cache", whole=False)
        assert said == begins
        assert (package / "mean.py").read_text() == SOURCE


def test_the_record_counts_what_is_left(tmp_path, monkeypatch):
    path = tmp_path / "found.json"
    places = places_in("values/mean.py", SOURCE)
    for place, said in zip(places, ("survives", "survives", "caught: test"), strict=False):
        random_mutants.remember(place, said, path)
    monkeypatch.setitem(EQUIVALENT, places[0].key, "nobody asks")
    figures = {figure.what: figure for figure in random_mutants.record_of(random_mutants.known(path)).figures}
    assert [figures[what].value for what in ("random mutants tried", "noticed by the tests", "left")] == ["3", "1", "1"]
    assert figures["left"].holds is False


def test_who_is_called_equivalent_is_there():
    """A reason belongs to a place that still exists; others are forgotten."""
    keys = {place.key for place in all_places()}
    assert set(EQUIVALENT) <= keys
    assert all(len(reason) > 20 for reason in EQUIVALENT.values())
