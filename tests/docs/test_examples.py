"""Each script in ``examples/`` runs, and prints what the documentation shows of it."""

import re
import runpy
import sys
import warnings

import matplotlib
import matplotlib.pyplot as plt
import pytest

from docs.stories import NAMES, same_line
from tests.docs.pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PICTURES = {
    "admissions": {"fair.png", "unfair.png", "blind.png"},
    "cancer": {"causal_graph.png", "comparison.png", "comparison_waterfall.png", "shap_waterfall.png"},
    "child": {"causal_graph.png", "comparison.png", "comparison_beeswarm.png"},
    "large_graph": {"intervals.png"},
}


def comparable(text: str) -> list[str]:
    """Lines without what may change: the backend that was chosen, and where pictures were put."""
    return [line for line in text.splitlines() if not line.startswith(("Plan:", "pictures in"))]


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(script, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), "--out", str(tmp_path / "out")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script), run_name="__main__")
    plt.close("all")
    pictures = {path.name: path.stat().st_size for path in (tmp_path / "out").iterdir()}
    assert set(pictures) == PICTURES[script.stem]
    assert min(pictures.values()) > 3_000

    said = capsys.readouterr().out
    printed = comparable(said)
    shown = comparable((ROOT / "docs" / "figures" / f"{script.stem}.txt").read_text("utf-8"))
    assert len(printed) == len(shown), f"run docs/make_figures.py; the script printed:\n{said}"
    for line, expected in zip(printed, shown, strict=True):
        assert same_line(line, expected), f"the documentation shows {expected!r}, the script printed {line!r}"


def test_all_examples_are_known():
    assert {script.stem for script in EXAMPLES} == set(PICTURES)
    tutorials = {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert tutorials == {*PICTURES, *NAMES}


def test_pictures_of_pages_are_there():
    """Every picture that a page shows is kept, and every kept picture of a how-to page is shown."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {path for page in pages for path in re.findall(r"figures/([\w/]+\.png)", page.read_text("utf-8"))}
    kept = {
        path.relative_to(ROOT / "docs" / "figures").as_posix() for path in (ROOT / "docs").rglob("figures/**/*.png")
    }
    assert shown <= kept
    assert {"your_own_table_waterfall.png", "your_own_table_comparison.png"} <= shown
