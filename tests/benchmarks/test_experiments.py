"""Experiments run at their small size, keep their files, and reach the page.

A few of them here; all of them in ``make reliability``, by ``python -m benchmarks --small``.
"""

import csv
import json

import pytest

from benchmarks.__main__ import main
from benchmarks.page import page
from benchmarks.registry import EXPERIMENTS, find
from benchmarks.storage import Places, read, read_all

#: Draws of orders, with a figure; values that are sampled.
SAMPLE = ("sampling", "monte_carlo")


@pytest.mark.parametrize("experiment", map(find, SAMPLE), ids=lambda experiment: experiment.name)
def test_small_run(experiment, tmp_path, capsys):
    main([experiment.name, "--small", "--quiet", "--out", str(tmp_path)])
    places = Places.under(tmp_path)
    stored = read(places.results / f"{experiment.name}.json")
    result = stored.result
    assert stored.size == "small"
    assert result.claims
    assert all(claim.text and claim.measured for claim in result.claims)
    assert result.tables
    for table in result.tables:
        assert table.rows, f"table {table.name} is empty"
        with (places.results / f"{experiment.name}_{table.name}.csv").open(newline="") as file:
            written = list(csv.reader(file))
        assert tuple(written[0]) == table.columns
        assert len(written) == len(table.rows) + 1
    for name in stored.captions:
        assert (places.figures / name).stat().st_size > 5000
    text = places.page.read_text()
    assert f"## {experiment.title}" in text
    assert f"python -m benchmarks {experiment.name}" in text
    assert all(f"figures/{name}" in text for name in stored.captions)
    printed = capsys.readouterr().out
    assert all(claim.text in printed and claim.measured in printed for claim in result.claims)


def test_names_are_those_of_the_results():
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(set(names)) == len(names)


def test_the_page_is_made_of_the_stored_results():
    places = Places.in_repository()
    stored = [read(path) for path in sorted(places.results.glob("*.json"))]
    assert all(one.size == "full" for one in stored)
    assert places.page.read_text() == page(stored, "figures/benchmarks")
    for path in places.results.glob("*.csv"):
        assert any(path.stem.startswith(one.result.name) for one in stored)
    named = {name for one in stored for name in one.captions}
    assert named == {path.name for path in places.figures.glob("*.png")}


def test_no_stored_run_took_ten_minutes():
    seconds = {one.result.name: one.seconds for one in read_all(Places.in_repository().results)}
    assert set(seconds) == {experiment.name for experiment in EXPERIMENTS}
    assert all(0 < took < 600 for took in seconds.values()), seconds


def test_results_hold_no_paths():
    for path in Places.in_repository().results.glob("*.json"):
        text = json.dumps(json.loads(path.read_text()))
        assert "/home/" not in text
        assert "/tmp/" not in text
