"""Random mutants: which places there are, that a number is a place, and that the copy is whole again afterwards."""

import ast
import os

import pytest

from tests.reliability import random_mutants
from tests.reliability.forked import TOO_LONG, Forked
from tests.reliability.mutants import environment
from tests.reliability.random_mutants import ROOT, all_places, mutated, places_in

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
    assert len({place.key for place in places}) == len(places)
    for place in places[:60]:
        source = (ROOT / "shap_asv" / place.file).read_text()
        broken = mutated(source, place)
        assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(source))
        assert broken.replace(place.new, place.old, 1) != broken


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_verdicts(tmp_path, monkeypatch):
    """One mutant that a test notices, one that it does not; the file is the same afterwards."""
    package, tests = tmp_path / "shap_asv" / "values", tmp_path / "tests" / "values"
    package.mkdir(parents=True)
    tests.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "mean.py").write_text(SOURCE)
    (tests / "test_mean.py").write_text(
        "import pytest\nfrom shap_asv.values.mean import mean\n\n@pytest.mark.parametrize('x', ['a - b'])\n"
        "def test_mean(x):\n    assert mean([1.0, 4.0]) == 2.0\n"
    )
    (tests.parent / "reliability").mkdir()
    for inside in ("tests", "tests/reliability"):
        (tmp_path / inside / "__init__.py").write_text("")
    (tests.parent / "reliability" / "forked.py").write_text((ROOT / "tests/reliability/forked.py").read_text())
    (tests / "test_slow.py").write_text("import time\n\ndef test_slow():\n    time.sleep(60)\n")
    (tests / "test_red.py").write_text("def test_red():\n    assert False\n")
    listed = [["tests/values/test_mean.py"]]
    monkeypatch.setattr(random_mutants, "stages", lambda file, whole: listed)
    places = {place.old: place for place in places_in("values/mean.py", SOURCE)}
    noticed = "tests/values/test_mean.py::test_mean[a - b]"
    with Forked(tmp_path, environment(tmp_path, tmp_path / "cache"), libraries=["pytest"]) as forked:
        for old, expected in (("2.5", f"caught: {noticed}"), ("len(values) > 3", "survives")):
            assert random_mutants.verdict(tmp_path, places[old], forked, 60, False) == expected
            assert (package / "mean.py").read_text() == SOURCE
        assert forked.run(["tests/values/test_slow.py"], 0.1)[0] == TOO_LONG
        listed[0] = ["tests/values/test_red.py"]
        with pytest.raises(SystemExit, match="test_red fails without any mutant"):
            random_mutants.verdict(tmp_path, places["2.5"], forked, 60, False)


def test_the_record_counts_what_is_left(tmp_path):
    path = tmp_path / "found.json"
    places = places_in("values/mean.py", SOURCE)
    for place, said in zip(places, ("equivalent: a reason", "survives", "caught: test"), strict=False):
        random_mutants.remember(place, said, path)
    figures = {figure.what: figure for figure in random_mutants.record_of(random_mutants.known(path), places).figures}
    assert [figures[what].value for what in ("random mutants tried", "noticed by the tests", "left")] == ["3", "1", "1"]
    assert figures["left"].holds is False
    gone = random_mutants.record_of(random_mutants.known(path), places[1:]).figures
    assert gone[0].value == "2"
